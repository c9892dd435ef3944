//! Literals that a program joins (`"ghp_" + "abc"`), and long words that were wrapped at the end of a line.
//!
//! Tokens whose dots are their only sign are marked here as well, because dots are looked at anyway.

use memchr::memchr3_iter;

use super::{Accepts, Mark, View};

/// The shortest word that may go on in the next line.
const SHORTEST_WRAPPED: usize = 8;

pub(super) fn marks(text: &str, marks: &mut Vec<Mark>) {
    let bytes = text.as_bytes();
    for at in memchr3_iter(b'+', b'.', b'\n', bytes) {
        if bytes[at] == b'.' && is_dotted_token(bytes, at) {
            marks.push(at..at + 1);
        } else if let Some(joint) = joint(bytes, at) {
            marks.push(joint);
        }
    }
}

pub(super) fn views(text: &str, views: &mut Vec<View>) {
    let bytes = text.as_bytes();
    let (mut wrapped, mut literals) = (Vec::new(), Vec::new());
    for at in memchr3_iter(b'+', b'.', b'\n', bytes) {
        if let Some(joint) = joint(bytes, at) {
            let joints = if bytes[at] == b'\n' {
                &mut wrapped
            } else {
                &mut literals
            };
            joints.push(joint);
        }
    }
    super::decoded(text, &literals, Accepts::Forms, |_, _| {}, views);
    // The next line is as often another thing, so a secret that is whole without it ends with its line.
    super::decoded(text, &wrapped, Accepts::FormsNotFound, |_, _| {}, views);
}

/// What stands between two parts of one word.
fn joint(bytes: &[u8], at: usize) -> Option<Mark> {
    if bytes[at] == b'\n' {
        return wrapped(bytes, at);
    }
    let left = skip_back(bytes, at, |byte| {
        matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
    });
    let right = at
        + 1
        + bytes[at + 1..]
            .iter()
            .take(64)
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
    let quote = |at: Option<&u8>| matches!(at, Some(b'"' | b'\'' | b'`'));
    if !quote(bytes.get(left.wrapping_sub(1))) {
        return None;
    }
    let escaped = usize::from(bytes.get(right) == Some(&b'\\'));
    if !quote(bytes.get(right + escaped)) {
        return None;
    }
    let mut start = left - 1;
    start -= usize::from(start > 0 && bytes[start - 1] == b'\\');
    let end = right + escaped + 1;
    let continues = is_part(bytes.get(start.wrapping_sub(1))) && is_part(bytes.get(end));
    continues.then_some(start..end)
}

/// The end of a line within a long word.
fn wrapped(bytes: &[u8], at: usize) -> Option<Mark> {
    let mut start = at - usize::from(at > 0 && bytes[at - 1] == b'\r');
    start -= usize::from(start > 0 && matches!(bytes[start - 1], b'\\' | b'='));
    let word = bytes[..start]
        .iter()
        .rev()
        .take(64)
        .take_while(|&byte| is_part(Some(byte)));
    let (mut length, mut tells) = (0, false);
    for byte in word {
        length += 1;
        tells |= byte.is_ascii_digit() || *byte == b'_';
    }
    if length < SHORTEST_WRAPPED || !tells {
        return None;
    }
    let indentation = bytes[at + 1..]
        .iter()
        .take(64)
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let end = at + 1 + indentation;
    is_part(bytes.get(end)).then_some(start..end)
}

fn skip_back(bytes: &[u8], at: usize, is_skipped: impl Fn(u8) -> bool) -> usize {
    at - bytes[..at]
        .iter()
        .rev()
        .take(64)
        .take_while(|&&byte| is_skipped(byte))
        .count()
}

fn is_part(byte: Option<&u8>) -> bool {
    byte.is_some_and(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// Whether the dot at `at` ends the first of the three parts of a bot's token: a number in base64, six characters of
/// time, and a signature.
pub(crate) fn is_dotted_token(bytes: &[u8], at: usize) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if bytes.get(at + 7) != Some(&b'.') || !bytes[at + 1..at + 7].iter().all(is_digit) {
        return false;
    }
    let number = bytes[..at]
        .iter()
        .rev()
        .take(29)
        .take_while(|byte| is_digit(byte))
        .count();
    let signature = bytes[at + 8..]
        .iter()
        .take(27)
        .take_while(|byte| is_digit(byte))
        .count();
    let first = bytes.get(at - number.min(at));
    (23..=28).contains(&number) && signature == 27 && matches!(first, Some(b'M' | b'N' | b'O'))
}
