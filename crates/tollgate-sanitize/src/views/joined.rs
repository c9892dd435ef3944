//! Literals that a program joins (`"ghp_" + "abc"`), also over several lines, and long words that were wrapped at the
//! end of a line.
//!
//! Tokens whose dots are their only sign are marked here as well, because dots are looked at anyway.

use memchr::{memchr3_iter, memmem};

use super::{Accepts, Mark, View};

/// The shortest word that may go on in the next line.
const SHORTEST_WRAPPED: usize = 8;
/// How much may stand between two literals, to either side of where it is noticed.
const LONGEST_GAP: usize = 64;

pub(super) fn marks(text: &str, marks: &mut Vec<Mark>) {
    let bytes = text.as_bytes();
    let mut gaps = Gaps::default();
    for at in memchr3_iter(b'+', b'.', b'\n', bytes) {
        if bytes[at] == b'.' && is_dotted_token(bytes, at) {
            marks.push(at..at + 1);
        } else if bytes[at] == b'\n'
            && let Some(joint) = wrapped(bytes, at)
        {
            marks.push(joint);
        } else if let Some(joint) = gaps.joint(bytes, at) {
            marks.push(joint);
        }
    }
    side_by_side(bytes, marks);
}

pub(super) fn views(text: &str, views: &mut Vec<View>) {
    let bytes = text.as_bytes();
    let (mut wrapped_words, mut literals) = (Vec::new(), Vec::new());
    let mut gaps = Gaps::default();
    for at in memchr3_iter(b'+', b'.', b'\n', bytes) {
        if bytes[at] == b'\n'
            && let Some(joint) = wrapped(bytes, at)
        {
            wrapped_words.push(joint);
        } else if let Some(joint) = gaps.joint(bytes, at) {
            literals.push(joint);
        }
    }
    side_by_side(bytes, &mut literals);
    literals.sort_unstable_by_key(|joint| (joint.start, joint.end));
    literals.dedup_by(|next, last| next.start < last.end);
    super::decoded(text, &literals, Accepts::Forms, |_, _| {}, views);
    // The next line is as often another thing, so a secret that is whole without it ends with its line.
    super::decoded(
        text,
        &wrapped_words,
        Accepts::FormsNotFound,
        |_, _| {},
        views,
    );
}

/// Literals with nothing or a space between them, or an operator that is looked for nowhere else.
fn side_by_side(bytes: &[u8], marks: &mut Vec<Mark>) {
    for pair in [b"\" ", b"' ", b"\"\""] {
        let mut gaps = Gaps::default();
        for at in memmem::find_iter(bytes, pair) {
            if bytes[at + 1] == b' ' {
                marks.extend(gaps.joint(bytes, at + 1));
            } else if is_part(bytes.get(at.wrapping_sub(1))) && is_part(bytes.get(at + 2)) {
                marks.push(at..at + 2);
            }
        }
    }
}

/// What stands between literals; each place is looked at once, however often it is noticed.
#[derive(Default)]
struct Gaps {
    until: usize,
}

impl Gaps {
    /// The end of one literal, what joins it to the next, and that one's beginning.
    fn joint(&mut self, bytes: &[u8], at: usize) -> Option<Mark> {
        if at < self.until {
            return None;
        }
        let left = at - gap_before(&bytes[..at]);
        let right = at + gap_after(&bytes[at..]);
        self.until = right;
        let is_quote = |at: usize| matches!(bytes.get(at), Some(b'"' | b'\'' | b'`'));
        let start = left.checked_sub(1).filter(|start| is_quote(*start))?;
        let has_prefix = matches!(
            bytes.get(right),
            Some(b'r' | b'b' | b'f' | b'u' | b'L' | b'$' | b'@')
        );
        let open = right + usize::from(has_prefix);
        if !is_quote(open) {
            return None;
        }
        let is_escaped = start > 0 && bytes[start - 1] == b'\\';
        let start = start - usize::from(is_escaped);
        let continues = is_part(bytes.get(start.wrapping_sub(1))) && is_part(bytes.get(open + 1));
        continues.then_some(start..open + 1)
    }
}

/// White space, what goes on in the next line, and operators that join text.
fn is_gap(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(byte, b'+' | b'.' | b'&' | b'|' | b'~' | b'\\' | b'<' | b'>')
}

/// The letter of an escaped line end or tab.
fn is_escape(byte: u8) -> bool {
    matches!(byte, b'n' | b'r' | b't')
}

fn gap_before(bytes: &[u8]) -> usize {
    let mut length = 0;
    let from = bytes.len().saturating_sub(LONGEST_GAP);
    let mut rest = &bytes[from..];
    while let [before @ .., last] = rest {
        if !(is_gap(*last) || is_escape(*last) && before.last() == Some(&b'\\')) {
            break;
        }
        length += 1;
        rest = before;
    }
    length
}

fn gap_after(bytes: &[u8]) -> usize {
    let (mut length, mut last) = (0, 0);
    for &byte in bytes.iter().take(LONGEST_GAP) {
        if !(is_gap(byte) || last == b'\\' && is_escape(byte)) {
            break;
        }
        length += 1;
        last = byte;
    }
    length
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
