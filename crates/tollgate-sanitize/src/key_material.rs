//! Key material by its real form, for views in which nothing else may be hidden.
//!
//! Invariant: a place is reported only if its own bytes have the form of a key: a PEM block whose
//! body is base64 of a DER, OpenSSH or OpenPGP structure of exactly that length, a JWT whose header
//! and claims are JSON, or one unbroken token of a vendor's format. Text between the lines of a
//! key, or around a token, is never part of it.

use std::ops::Range;

use crate::detect::{Hits, Surroundings};
use crate::sanitizer::Sanitizer;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// Bytes of a key's body: from an Ed25519 key to an RSA key of 16,384 bits.
const KEY_BYTES: Range<usize> = 32..16_384;
/// Bytes of a line of base64 in a PEM block.
const LONGEST_LINE: usize = 100;
/// Bytes of a token.
const TOKEN_BYTES: Range<usize> = 16..513;
const LONGEST_JWT: usize = 2_048;

/// Rules whose whole match is one token in a vendor's own format.
const FORMATS: &[&str] = &[
    "anthropic-key",
    "aws-access-key",
    "aws-bedrock-key",
    "cloud-platform-token",
    "github-token",
    "gitlab-token",
    "google-api-key",
    "google-oauth-secret",
    "mail-service-key",
    "model-host-key",
    "observability-token",
    "openai-key",
    "package-registry-token",
    "shop-token",
    "slack-token",
    "stripe-key",
    "telegram-token",
    "terraform-token",
    "work-tool-token",
];

/// A place in a text that is key material.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMaterial {
    /// Its bytes.
    pub range: Range<usize>,
    /// What sort of key it is, a rule's id.
    pub rule: &'static str,
}

impl Sanitizer {
    /// The places of a text that have the real form of key material, in order, without overlap.
    pub fn key_material(&self, text: &str) -> Vec<KeyMaterial> {
        let mut places = pem_blocks(text);
        places.extend(self.tokens(text));
        places.sort_by_key(|place| place.range.start);
        let mut end = 0;
        places.retain(|place| {
            let is_apart = place.range.start >= end;
            if is_apart {
                end = place.range.end;
            }
            is_apart
        });
        places
    }

    fn tokens(&self, text: &str) -> Vec<KeyMaterial> {
        let mut list = Vec::new();
        self.detector().prefilter.scan(text, &mut list);
        let hits = Hits {
            list: &list,
            offset: 0,
        };
        // What a text could be decoded to is no token of the text itself.
        let around = Surroundings {
            is_view: true,
            ..Surroundings::default()
        };
        let search = self.detector().find(text, hits, &around);
        let found = search.found.iter();
        let token = |(range, id): (Range<usize>, &str)| {
            let token = text.get(range.clone())?;
            let rule = match id {
                "jwt" if is_jwt(token) => "jwt",
                _ => FORMATS.iter().find(|known| **known == id)?,
            };
            (rule == "jwt" || is_token(token)).then_some(KeyMaterial { range, rule })
        };
        found
            .filter_map(|found| token((found.start..found.end, &*found.label.id)))
            .collect()
    }
}

fn is_token(token: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+/=:".contains(&byte);
    TOKEN_BYTES.contains(&token.len()) && token.bytes().all(is_plain)
}

/// Header and claims are JSON objects, and the header names an algorithm.
fn is_jwt(token: &str) -> bool {
    let object = |part: Option<&str>| {
        let bytes = base64(part?.as_bytes())?;
        let value: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        value.is_object().then_some(value)
    };
    if token.len() > LONGEST_JWT {
        return false;
    }
    let mut parts = token.split('.');
    let header = object(parts.next());
    let claims = object(parts.next());
    let signature = parts.next().and_then(|part| base64(part.as_bytes()));
    let names_algorithm = header.is_some_and(|header| header["alg"].is_string());
    names_algorithm && claims.is_some() && signature.is_some() && parts.next().is_none()
}

/// The PEM blocks of private keys; the search goes on behind every line that begins one.
fn pem_blocks(text: &str) -> Vec<KeyMaterial> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(step) = text[at..].find(BEGIN) {
        let start = at + step;
        at = start + BEGIN.len();
        if let Some(end) = pem_block(text, start) {
            places.push(KeyMaterial {
                range: start..end,
                rule: "private-key",
            });
            at = end;
        }
    }
    places
}

/// Where the block ends that begins here, if it is a private key.
fn pem_block(text: &str, start: usize) -> Option<usize> {
    let rest = &text[start + BEGIN.len()..];
    let (label, rest) = rest.split_once(DASHES)?;
    let is_label = label.len() <= 40
        && label.contains("PRIVATE KEY")
        && label
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    if !is_label {
        return None;
    }
    let (body, rest) = rest.split_once(END)?;
    let rest = rest.strip_prefix(label)?.strip_prefix(DASHES)?;
    is_key(body, label).then_some(text.len() - rest.len())
}

fn is_key(body: &str, label: &str) -> bool {
    let is_armour = label.starts_with("PGP ");
    let mut encoded = Vec::new();
    let mut is_encrypted = false;
    for line in body.lines().map(str::trim) {
        if line.is_empty() || is_armour && (is_checksum(line) || is_armour_header(line)) {
            continue;
        }
        if is_header(line) {
            is_encrypted = true;
            continue;
        }
        if line.len() > LONGEST_LINE {
            return false;
        }
        encoded.extend_from_slice(line.as_bytes());
    }
    let Some(bytes) = base64(&encoded).filter(|bytes| KEY_BYTES.contains(&bytes.len())) else {
        return false;
    };
    match label {
        "OPENSSH PRIVATE KEY" => bytes.starts_with(b"openssh-key-v1\0"),
        // Secret-key packets of OpenPGP, in the old and the new format.
        _ if is_armour => matches!(bytes.first(), Some(0x94..=0x97 | 0xc5)),
        _ => is_encrypted && bytes.len().is_multiple_of(8) || is_der(&bytes),
    }
}

/// The two headers of an encrypted PEM block, as they are written and in no other form.
fn is_header(line: &str) -> bool {
    let is_algorithm = |text: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        text.split_once(',').is_some_and(|(cipher, iv)| {
            let is_cipher = cipher.len() <= 20 && cipher.bytes().all(is_plain);
            is_cipher && iv.len() <= 32 && iv.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    let cipher = line.strip_prefix("DEK-Info: ");
    line == "Proc-Type: 4,ENCRYPTED" || cipher.is_some_and(is_algorithm)
}

fn is_armour_header(line: &str) -> bool {
    let version = line.strip_prefix("Version: ");
    version.is_some_and(|it| {
        it.len() <= 40
            && it
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b" .()/-".contains(&byte))
    })
}

fn is_checksum(line: &str) -> bool {
    line.len() == 5 && line.starts_with('=')
}

/// A DER sequence that is as long as it says.
fn is_der(bytes: &[u8]) -> bool {
    let length = match *bytes {
        [0x30, short @ 0..=0x7f, ..] => 2 + usize::from(short),
        [0x30, 0x81, length, ..] => 3 + usize::from(length),
        [0x30, 0x82, high, low, ..] => 4 + usize::from(u16::from_be_bytes([high, low])),
        _ => return false,
    };
    length == bytes.len()
}

/// Base64 in either alphabet, with or without padding.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = &text[..text.len() - padding];
    if padding > 2 || digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in digits {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----";

    fn rules(text: &str) -> Vec<&'static str> {
        let places = Sanitizer::shipped().key_material(text);
        places.into_iter().map(|place| place.rule).collect()
    }

    #[test]
    fn real_keys_are_found_alone_and_among_text() {
        let found = Sanitizer::shipped().key_material(&format!("a {KEY} b {KEY}"));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].range, 2..2 + KEY.len());
        let wrapped = KEY.replace("VpguoRK9", "VpguoRK9\r\n");
        assert_eq!(rules(&wrapped), ["private-key"]);
        let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        assert_eq!(
            rules(&format!("git clone https://{token}@x")),
            ["github-token"]
        );
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
        assert_eq!(rules(jwt), ["jwt"]);
    }

    #[test]
    fn what_only_calls_itself_a_key_is_none() {
        let label = |body: &str| {
            KEY.replace(
                "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g",
                body,
            )
        };
        let long = "QUFB".repeat(12);
        for text in [
            label("import os; os.remove('x')"),
            label(&long),
            label("MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v\nrm -rf /\n/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g"),
            label(""),
            KEY.replace("END PRIVATE", "END RSA PRIVATE"),
            KEY.replace("BEGIN PRIVATE KEY", "BEGIN ; rm PRIVATE KEY"),
            "eyJhbGciOiJIUzI1NiJ9.cm0gLXJmIC8gJiYgZWNobyBvaw.c2lnbmF0dXJl".to_owned(),
            "password=correcthorsebatterystaple1X".to_owned(),
            "anna@example.com 4111 1111 1111 1111".to_owned(),
        ] {
            assert_eq!(rules(&text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_false_beginning_does_not_take_in_what_stands_before_a_real_key() {
        let text = format!("-----BEGIN PRIVATE KEY-----\ncurl x | sh\n{KEY}");
        let found = Sanitizer::shipped().key_material(&text);
        assert_eq!(found.len(), 1);
        assert_eq!(&text[found[0].range.clone()], KEY);
    }
}
