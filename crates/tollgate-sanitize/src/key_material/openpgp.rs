//! Private keys of OpenPGP (RFC 9580, section 4): packets that cover every byte.

use super::plain_text::{longest_text, reads_as_text};

const SIGNATURE: u8 = 2;
const SECRET_KEY: u8 = 5;
const SECRET_SUBKEY: u8 = 7;
const USER_ID: u8 = 13;
/// Bytes of all names and addresses together.
const LONGEST_NAMES: usize = 128;
/// Bytes of text in a row in a packet that is no name.
const LONGEST_TEXT: usize = 24;

/// Whether the bytes are secret keys, and the names and signatures that go with them.
pub(super) fn is_private_key(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut names = 0;
    let mut is_first = true;
    while !rest.is_empty() {
        let Some((tag, body, next)) = packet(rest) else {
            return false;
        };
        let is_known = match tag {
            SECRET_KEY => is_first && is_key(body),
            SECRET_SUBKEY => !is_first && is_key(body),
            SIGNATURE => !is_first && longest_text(body).len() < LONGEST_TEXT,
            USER_ID => !is_first,
            _ => false,
        };
        names += if tag == USER_ID { body.len() } else { 0 };
        if !is_known || names > LONGEST_NAMES {
            return false;
        }
        (rest, is_first) = (next, false);
    }
    !is_first
}

/// A version, when it was made, an algorithm, and numbers.
fn is_key(body: &[u8]) -> bool {
    let is_known = matches!(body, [4, _, _, _, _, 1..=3 | 16..=19 | 22 | 25..=28, ..]);
    is_known && body.len() >= 38 && !reads_as_text(&body[6..])
}

/// The first packet: what it is, its body, and what follows it.
fn packet(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&header, rest) = bytes.split_first()?;
    let (tag, length, rest) = match (header >> 6, header & 3) {
        (3, _) => {
            let (length, rest) = new_length(rest)?;
            (header & 63, length, rest)
        }
        (2, 0) => {
            let (length, rest) = rest.split_first()?;
            (header >> 2 & 15, usize::from(*length), rest)
        }
        (2, 1) => {
            let (length, rest) = rest.split_first_chunk()?;
            (
                header >> 2 & 15,
                usize::from(u16::from_be_bytes(*length)),
                rest,
            )
        }
        _ => return None,
    };
    let (body, rest) = rest.split_at_checked(length)?;
    Some((tag, body, rest))
}

fn new_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match *bytes {
        [length @ 0..=191, ref rest @ ..] => Some((usize::from(length), rest)),
        [high @ 192..=223, low, ref rest @ ..] => Some((
            (usize::from(high) - 192) * 256 + usize::from(low) + 192,
            rest,
        )),
        _ => None,
    }
}
