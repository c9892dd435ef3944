//! Base64 and hexadecimal of text. Most long words are neither of anything; their first bytes tell.

use super::{Accepts, Mark, View};

/// The shortest run that is looked at: 16 bytes in base64.
const SHORTEST: usize = 24;
/// So many decoded bytes tell text from anything else.
const TELLING: usize = 12;
/// Longer texts in base64 are files; their beginning is read.
const LONGEST: usize = 64 * 1024;

const NONE: u8 = 0xff;

/// The value of each digit, in both alphabets.
static VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut value = 0_u8;
    while value < 26 {
        table[(b'A' + value) as usize] = value;
        table[(b'a' + value) as usize] = value + 26;
        if value < 10 {
            table[(b'0' + value) as usize] = value + 52;
        }
        value += 1;
    }
    table[b'+' as usize] = 62;
    table[b'-' as usize] = 62;
    table[b'/' as usize] = 63;
    table[b'_' as usize] = 63;
    table
}

fn is_digit(byte: u8) -> bool {
    VALUES[usize::from(byte)] != NONE
}

pub(super) fn marks(text: &str, marks: &mut Vec<Mark>) {
    let bytes = text.as_bytes();
    // A run of the shortest length covers one of these places at least.
    let mut at = SHORTEST - 1;
    while at < bytes.len() {
        if !is_digit(bytes[at]) {
            at += SHORTEST;
            continue;
        }
        let before = bytes[..at]
            .iter()
            .rev()
            .take_while(|&&byte| is_digit(byte))
            .count();
        let after = bytes[at..]
            .iter()
            .take_while(|&&byte| is_digit(byte))
            .count();
        let (start, end) = (at - before, at + after);
        let run = &bytes[start..end];
        let tells = |read: Vec<u8>| read.len() >= TELLING;
        if run.len() >= SHORTEST && (tells(decode(run, TELLING)) || tells(unhex(run, TELLING))) {
            marks.push(start..end);
        }
        at = end + SHORTEST;
    }
}

pub(super) fn views(text: &str, views: &mut Vec<View>) {
    let mut found = Vec::new();
    marks(text, &mut found);
    for mark in found {
        let bytes = &text.as_bytes()[mark.clone()];
        // Text in hexadecimal is as good as never text in base64 as well.
        let hex = unhex(bytes, LONGEST);
        let is_hex = hex.len() >= TELLING;
        let read = if is_hex { hex } else { decode(bytes, LONGEST) };
        // What is padded is longer than it seems.
        let padding = text.as_bytes()[mark.end..]
            .iter()
            .take(2)
            .take_while(|&&byte| byte == b'=')
            .count();
        if let Ok(read) = String::from_utf8(read) {
            let mut view = View::new(Accepts::Secrets);
            view.coded(&read, mark.start..mark.end + padding);
            views.push(view);
        }
    }
}

/// The printable text at the beginning of what is encoded, up to a length.
fn decode(encoded: &[u8], most: usize) -> Vec<u8> {
    let mut decoded = Vec::new();
    for four in encoded.chunks(4) {
        let bits = four.iter().fold(0_u32, |bits, &byte| {
            bits << 6 | u32::from(VALUES[usize::from(byte)] & 63)
        }) << (6 * (4 - four.len()));
        for byte in bits.to_be_bytes().into_iter().skip(1).take(four.len() - 1) {
            if !matches!(byte, 0x20..=0x7e | b'\t' | b'\n' | b'\r') || decoded.len() >= most {
                return decoded;
            }
            decoded.push(byte);
        }
    }
    decoded
}

/// The printable text at the beginning of what is written in hexadecimal, up to a length.
fn unhex(digits: &[u8], most: usize) -> Vec<u8> {
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks_exact(2).take(most);
    pairs
        .map_while(|pair| {
            let byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
            matches!(byte, 0x20..=0x7e | b'\t' | b'\n' | b'\r').then_some(byte)
        })
        .collect()
}
