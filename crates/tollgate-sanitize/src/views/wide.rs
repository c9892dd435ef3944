//! Letters and digits of other alphabets that read as those of ASCII: full-width (`１２３`) and mathematical ones.

use memchr::memchr2_iter;

use super::{Accepts, Mark, View, decoded};

/// How far a full-width character is from the one it stands for.
const DISTANCE: u32 = 0xfee0;
/// Mathematical letters: alphabets of capitals and small letters, one after the other.
const LETTERS: std::ops::RangeInclusive<u32> = 0x1d400..=0x1d6a3;
/// Mathematical digits: five times ten.
const DIGITS: std::ops::RangeInclusive<u32> = 0x1d7ce..=0x1d7ff;

pub(super) fn marks(text: &str, marks: &mut Vec<Mark>) {
    let bytes = text.as_bytes();
    let mut until = 0;
    for at in memchr2_iter(0xef, 0xf0, bytes) {
        // Punctuation alone is Chinese or Japanese text; beside letters it belongs to what they spell.
        if at < until || !is_letter(&bytes[at..]) {
            continue;
        }
        let mut start = at;
        while start >= until + 3 && is_wide(&bytes[start - 3..]) {
            start -= 3;
        }
        let mut end = at;
        while let Some(length) = wide_length(&bytes[end..]) {
            end += length;
        }
        until = end;
        marks.push(start..end);
    }
}

pub(super) fn views(text: &str, views: &mut Vec<View>) {
    let mut found = Vec::new();
    marks(text, &mut found);
    // One character at a time, so that what is found in the middle of a run is replaced alone.
    let mut single: Vec<Mark> = Vec::new();
    for mark in found {
        let chars = text[mark.clone()].char_indices();
        single.extend(chars.map(|(at, c)| mark.start + at..mark.start + at + c.len_utf8()));
    }
    let read = |wide: &str, read: &mut String| read.extend(wide.chars().filter_map(reading));
    decoded(text, &single, Accepts::All, read, views);
}

/// The character of ASCII that another one reads as.
fn reading(c: char) -> Option<char> {
    let code = u32::from(c);
    let place = |code: u32, of: &[u8; 52]| {
        let place = usize::try_from(code % 52).ok()?;
        of.get(place).copied().map(char::from)
    };
    if LETTERS.contains(&code) {
        place(
            code - LETTERS.start(),
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        )
    } else if DIGITS.contains(&code) {
        char::from_digit((code - DIGITS.start()) % 10, 10)
    } else {
        char::from_u32(code.wrapping_sub(DISTANCE))
    }
}

/// Whether a full-width letter or digit, or a mathematical one, begins here.
fn is_letter(bytes: &[u8]) -> bool {
    match bytes {
        [0xef, 0xbc, 0x90..=0x99 | 0xa1..=0xba, ..] | [0xef, 0xbd, 0x81..=0x9a, ..] => true,
        _ => is_mathematical(bytes),
    }
}

/// Whether a full-width character of any kind begins here.
fn is_wide(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0xef, 0xbc, 0x81..=0xbf, ..] | [0xef, 0xbd, 0x80..=0x9e, ..]
    )
}

fn is_mathematical(bytes: &[u8]) -> bool {
    let Some(&[0xf0, 0x9d, high @ 0x90..=0x9f, low]) = bytes.first_chunk() else {
        return false;
    };
    let code = 0x1d000 | u32::from(high & 0x3f) << 6 | u32::from(low & 0x3f);
    LETTERS.contains(&code) || DIGITS.contains(&code)
}

/// How long the character is that begins here, if it belongs to a run.
fn wide_length(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        0xef => is_wide(bytes).then_some(3),
        0xf0 => is_mathematical(bytes).then_some(4),
        _ => None,
    }
}
