//! Key material by its real form, for views in which nothing else may be hidden.
//!
//! Invariant: a place is reported only if its own bytes have the form of a key: a PEM block whose
//! body is base64 of a private key that is read to its last byte (DER, OpenSSH, OpenPGP), the
//! signature of a JWT, or one unbroken token of a vendor's format. What reads as text once it is
//! decoded is no key, and text between the lines of a key, or around a token, is never part of it.

mod der;
mod jwt;
mod openpgp;
mod openssh;
mod plain_text;

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
/// Bytes of readable text without white space that a token may have in base64: some vendors put a
/// small JSON object there.
const LONGEST_PAYLOAD: usize = 200;
/// How many names or schemes before a token are looked behind.
const MOST_NAMES: u8 = 2;
/// Bytes of text in a row that no random token has.
const LONGEST_TEXT: usize = 24;
/// Digits of base64 or hexadecimal that are worth decoding.
const SHORTEST_RUN: usize = 32;

/// Rules whose whole match is one token in a vendor's own format.
const FORMATS: &[&str] = &[
    "anthropic-key",
    "app-token",
    "aws-access-key",
    "aws-bedrock-key",
    "cloud-platform-token",
    "delivery-token",
    "docker-token",
    "firebase-key",
    "github-token",
    "gitlab-token",
    "google-api-key",
    "google-oauth-secret",
    "hosting-key",
    "mail-service-key",
    "maxmind-key",
    "model-host-key",
    "observability-token",
    "openai-key",
    "package-registry-token",
    "payment-key",
    "shop-token",
    "slack-token",
    "stripe-key",
    "telegram-token",
    "terraform-token",
    "word-like-token",
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
        places.extend(self.tokens(text, MOST_NAMES));
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

    fn tokens(&self, text: &str, names: u8) -> Vec<KeyMaterial> {
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
        let mut places = Vec::new();
        for found in &search.found {
            let range = found.start..found.end;
            let Some(token) = text.get(range.clone()) else {
                continue;
            };
            match token_place(token, &found.label.id) {
                Some((part, rule)) => places.push(KeyMaterial {
                    range: range.start + part.start..range.start + part.end,
                    rule,
                }),
                // A name or a scheme before a token does not change what the token is.
                None if names > 0 && token.len() < text.len() => {
                    places.extend(self.tokens(token, names - 1).into_iter().map(|place| {
                        KeyMaterial {
                            range: range.start + place.range.start..range.start + place.range.end,
                            rule: place.rule,
                        }
                    }));
                }
                None => {}
            }
        }
        places
    }
}

/// Which part of a token is key material, and the rule that names it.
fn token_place(token: &str, id: &str) -> Option<(Range<usize>, &'static str)> {
    if id == "jwt" {
        return Some((jwt::signature(token)?, "jwt"));
    }
    let rule = FORMATS.iter().find(|known| **known == id)?;
    is_token(token).then_some((0..token.len(), *rule))
}

fn is_token(token: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+/=:".contains(&byte);
    TOKEN_BYTES.contains(&token.len())
        && token.bytes().all(is_plain)
        && !is_words(token)
        && !is_readable(token)
}

/// Whether nearly all letters and digits of a token are words: small letters that stand together.
fn is_words(token: &str) -> bool {
    let words = token.split(|c: char| !c.is_ascii_lowercase());
    let letters: usize = words.map(str::len).filter(|length| *length >= 2).sum();
    let all = token.bytes().filter(u8::is_ascii_alphanumeric).count();
    letters * 100 >= all * 85
}

/// Whether a part of a token is text in base64 or hexadecimal.
fn is_readable(token: &str) -> bool {
    let runs = token.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '/'));
    runs.filter(|run| run.len() >= SHORTEST_RUN).any(|run| {
        let decoded = (0..4).filter_map(|skipped| {
            let rest = run.as_bytes().get(skipped..)?;
            base64(&rest[..rest.len() / 4 * 4])
        });
        let hex = run
            .as_bytes()
            .chunks_exact(2)
            .map_while(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        decoded.chain([hex.collect()]).any(|bytes| {
            let text = plain_text::longest_text(&bytes);
            text.len() > LONGEST_PAYLOAD
                || text.len() >= LONGEST_TEXT && text.iter().any(u8::is_ascii_whitespace)
        })
    })
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
    let Some(block) = Block::read(body, label.starts_with("PGP ")) else {
        return false;
    };
    let Some(bytes) = base64(&block.encoded).filter(|bytes| KEY_BYTES.contains(&bytes.len()))
    else {
        return false;
    };
    match label {
        "OPENSSH PRIVATE KEY" => !block.is_encrypted && openssh::is_private_key(&bytes),
        "PGP PRIVATE KEY BLOCK" => openpgp::is_private_key(&bytes),
        _ if block.is_encrypted => {
            bytes.len().is_multiple_of(8) && !plain_text::reads_as_text(&bytes)
        }
        _ => der::is_private_key(&bytes),
    }
}

/// What stands between the first and the last line of a PEM block.
struct Block {
    encoded: Vec<u8>,
    /// The two headers of an encrypted block stand before it.
    is_encrypted: bool,
}

impl Block {
    /// Reads headers that are known, then lines of base64, then the checksum of an armour.
    fn read(body: &str, is_armour: bool) -> Option<Block> {
        let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut line = lines.next();
        let mut is_encrypted = false;
        if is_armour {
            if line.is_some_and(is_armour_header) {
                line = lines.next();
            }
        } else if line == Some("Proc-Type: 4,ENCRYPTED") {
            lines.next().filter(|header| is_cipher_header(header))?;
            is_encrypted = true;
            line = lines.next();
        }
        let mut encoded = Vec::new();
        while let Some(part) = line {
            line = lines.next();
            if is_armour && line.is_none() && is_checksum(part) {
                break;
            }
            if part.len() > LONGEST_LINE {
                return None;
            }
            encoded.extend_from_slice(part.as_bytes());
        }
        Some(Block {
            encoded,
            is_encrypted,
        })
    }
}

/// The cipher and initial value of an encrypted PEM block, as OpenSSL writes them.
fn is_cipher_header(line: &str) -> bool {
    const CIPHERS: [&str; 10] = [
        "AES-128-CBC",
        "AES-192-CBC",
        "AES-256-CBC",
        "ARIA-256-CBC",
        "BF-CBC",
        "CAMELLIA-128-CBC",
        "CAMELLIA-256-CBC",
        "CAST5-CBC",
        "DES-CBC",
        "DES-EDE3-CBC",
    ];
    let cipher = line.strip_prefix("DEK-Info: ");
    cipher
        .and_then(|text| text.split_once(','))
        .is_some_and(|(cipher, initial)| {
            let is_hex = initial.bytes().all(|byte| byte.is_ascii_hexdigit());
            CIPHERS.contains(&cipher) && matches!(initial.len(), 16 | 32) && is_hex
        })
}

/// `Version: GnuPG v2.2.19 (GNU/Linux)` and its like.
fn is_armour_header(line: &str) -> bool {
    const PROGRAMS: [&str; 8] = [
        "GnuPG",
        "BCPG",
        "OpenPGP.js",
        "Keybase",
        "OpenPGP",
        "Mailvelope",
        "PGP",
        "SKS",
    ];
    let version = line.strip_prefix("Version: ").unwrap_or_default();
    let mut words = version.split(' ');
    let is_program = words.next().is_some_and(|word| PROGRAMS.contains(&word));
    let is_detail = |word: &str| {
        let number = word.strip_prefix(['v', 'V', 'C']).unwrap_or(word);
        let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.' || byte == b'#';
        number.bytes().all(is_number)
            || matches!(word, "(GNU/Linux)" | "(MingW32)" | "(Darwin)" | "OpenPGP")
    };
    is_program && version.len() <= 40 && words.all(is_detail)
}

fn is_checksum(line: &str) -> bool {
    line.len() == 5 && line.starts_with('=')
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
