//! Private keys in the format of OpenSSH (`PROTOCOL.key`), read to their last byte.

use super::der::is_point;
use super::plain_text::reads_as_text;

const MAGIC: &[u8] = b"openssh-key-v1\0";
const CIPHERS: &[&[u8]] = &[
    b"aes128-cbc",
    b"aes192-cbc",
    b"aes256-cbc",
    b"aes128-ctr",
    b"aes192-ctr",
    b"aes256-ctr",
    b"aes128-gcm@openssh.com",
    b"aes256-gcm@openssh.com",
    b"chacha20-poly1305@openssh.com",
    b"3des-cbc",
];
/// Characters of a comment, which is `user@host`.
const LONGEST_COMMENT: usize = 64;
/// Bytes of a number of RSA.
const LONGEST_NUMBER: usize = 2_049;

/// Whether the bytes are one private key and nothing else.
pub(super) fn is_private_key(bytes: &[u8]) -> bool {
    key(bytes).is_some()
}

fn key(bytes: &[u8]) -> Option<()> {
    let mut outer = Strings(bytes.strip_prefix(MAGIC)?);
    let cipher = outer.string()?;
    let derivation = outer.string()?;
    let options = outer.string()?;
    if outer.count()? != 1 {
        return None;
    }
    let public = outer.string()?;
    let private = outer.string()?;
    let mut fields = Strings(public);
    let kind = fields.string()?;
    public_fields(kind, &mut fields)?;
    fields.end()?;
    if cipher == b"none" {
        (derivation == b"none" && options.is_empty()).then_some(())?;
        outer.end()?;
        return plain(kind, private);
    }
    let mut salt = Strings(options);
    (salt.string()?.len() <= 32 && salt.count()? < 1 << 20).then_some(())?;
    salt.end()?;
    // What authenticates the encrypted part stands behind it.
    let is_sealed = matches!(outer.0.len(), 0 | 16);
    let is_encrypted = private.len() >= 32
        && private.len().is_multiple_of(8)
        && private.len() <= 8 * LONGEST_NUMBER
        && !reads_as_text(private);
    let is_known = CIPHERS.contains(&cipher) && derivation == b"bcrypt";
    (is_sealed && is_encrypted && is_known).then_some(())
}

/// The private part without a passphrase: two equal numbers, the key, a comment, and counting bytes.
fn plain(kind: &[u8], private: &[u8]) -> Option<()> {
    let mut fields = Strings(private);
    let checks = (fields.count()?, fields.count()?);
    (checks.0 == checks.1 && fields.string()? == kind).then_some(())?;
    match kind {
        b"ssh-ed25519" => {
            fields.random(32..=32)?;
            fields.random(64..=64)?;
        }
        b"ssh-rsa" => {
            for _ in 0..6 {
                fields.random(1..=LONGEST_NUMBER)?;
            }
        }
        b"ssh-dss" => {
            for _ in 0..5 {
                fields.random(1..=LONGEST_NUMBER)?;
            }
        }
        _ => {
            curve(&mut fields)?;
            fields.random(20..=67)?;
        }
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._@+-".contains(byte);
    let comment = fields.string()?;
    let is_comment = comment.len() <= LONGEST_COMMENT && comment.iter().all(is_plain);
    let counts = fields
        .0
        .iter()
        .zip(1_u8..)
        .all(|(byte, count)| *byte == count);
    (is_comment && counts && fields.0.len() < 16).then_some(())
}

fn public_fields(kind: &[u8], fields: &mut Strings<'_>) -> Option<()> {
    match kind {
        b"ssh-ed25519" => fields.random(32..=32),
        b"ssh-rsa" => fields
            .random(1..=8)
            .and_then(|()| fields.random(64..=LONGEST_NUMBER)),
        b"ssh-dss" => (0..4).try_for_each(|_| fields.random(1..=LONGEST_NUMBER)),
        b"ecdsa-sha2-nistp256" | b"ecdsa-sha2-nistp384" | b"ecdsa-sha2-nistp521" => curve(fields),
        _ => None,
    }
}

/// The name of a curve and a point on it.
fn curve(fields: &mut Strings<'_>) -> Option<()> {
    let width = match fields.string()? {
        b"nistp256" => 32,
        b"nistp384" => 48,
        b"nistp521" => 66,
        _ => return None,
    };
    let point = fields.string()?;
    (is_point(point, width) && !reads_as_text(point)).then_some(())
}

/// Strings with their lengths before them.
struct Strings<'a>(&'a [u8]);

impl<'a> Strings<'a> {
    fn count(&mut self) -> Option<u32> {
        let (count, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*count))
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.count()?).ok()?;
        let (string, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(string)
    }

    /// Passes a string of random bytes.
    fn random(&mut self, length: std::ops::RangeInclusive<usize>) -> Option<()> {
        let string = self.string()?;
        (length.contains(&string.len()) && !reads_as_text(string)).then_some(())
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}
