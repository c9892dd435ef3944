//! Removes terminal escapes, control characters and invisible characters.
//!
//! Joiners and variation selectors stay where scripts and emoji need them; a second run finds nothing to remove.

use std::borrow::Cow;

/// How much was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stripped {
    pub(crate) terminal: usize,
    pub(crate) invisible: usize,
}

/// Bytes that can begin something to remove: controls and the lead bytes of suspicious characters.
const SUSPECT: [bool; 256] = suspects();

const fn suspects() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = byte != 0x09 && byte != 0x0a && byte != 0x0d;
        byte += 1;
    }
    table[0x7f] = true;
    // U+0080..U+00AD, U+034F, U+061C, U+115F.., U+17B4.., U+180B.., U+200B.., U+3164, U+FE00.., U+FEFF, U+E0000..
    table[0xc2] = true;
    table[0xcd] = true;
    table[0xd8] = true;
    table[0xe1] = true;
    table[0xe2] = true;
    table[0xe3] = true;
    table[0xef] = true;
    table[0xf0] = true;
    table[0xf3] = true;
    table
}

pub(crate) const fn is_suspect(byte: u8) -> bool {
    SUSPECT[byte as usize]
}

/// The next suspicious byte; whole blocks of plain text are passed over at once.
fn next_suspect(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<32>()) {
        let odd = block.iter().fold(0_u8, |odd, &byte| {
            odd | u8::from(byte >= 0x7f)
                | u8::from((byte < 0x20) & (byte != 9) & (byte != 10) & (byte != 13))
        });
        if odd != 0
            && let Some(step) = block.iter().position(|&byte| is_suspect(byte))
        {
            return Some(at + step);
        }
        at += block.len();
    }
    let rest = bytes.get(at..)?;
    rest.iter()
        .position(|&byte| is_suspect(byte))
        .map(|step| at + step)
}

/// The text without what terminals obey and eyes cannot see.
pub fn visible(text: &str) -> Cow<'_, str> {
    strip(text).0
}

/// The same, and how much of it there was.
pub(crate) fn strip(text: &str) -> (Cow<'_, str>, Stripped) {
    let bytes = text.as_bytes();
    let mut stripped = Stripped::default();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = next_suspect(bytes, at) {
        at = next;
        let Some(c) = text[at..].chars().next() else {
            break;
        };
        let previous = if copied == at {
            out.chars().next_back()
        } else {
            text[copied..at].chars().next_back()
        };
        let (remove, keep) = match verdict(&text[at..], c, previous) {
            Verdict::Keep(bytes) => (0, bytes),
            Verdict::Terminal(bytes) => {
                stripped.terminal += 1;
                (bytes, 0)
            }
            Verdict::Invisible(bytes) => {
                stripped.invisible += 1;
                (bytes, 0)
            }
        };
        if remove > 0 {
            out.push_str(&text[copied..at]);
            copied = at + remove;
        }
        at += remove + keep;
    }
    if copied == 0 {
        return (Cow::Borrowed(text), stripped);
    }
    out.push_str(&text[copied..]);
    (Cow::Owned(out), stripped)
}

enum Verdict {
    Keep(usize),
    Terminal(usize),
    Invisible(usize),
}

fn verdict(rest: &str, c: char, previous: Option<char>) -> Verdict {
    let width = c.len_utf8();
    match c {
        '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => {
            Verdict::Terminal(escape_length(rest.as_bytes()))
        }
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => {
            Verdict::Terminal(width)
        }
        '\u{200c}' | '\u{200d}' if joins(previous, c, rest[width..].chars().next()) => {
            Verdict::Keep(width)
        }
        '\u{fe00}'..='\u{fe0f}' if previous.is_some_and(takes_selector) => Verdict::Keep(width),
        '\u{e0100}'..='\u{e01ef}' if previous.is_some_and(is_ideograph) => Verdict::Keep(width),
        '\u{1f3f4}' => Verdict::Keep(width + flag_length(&rest[width..])),
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Verdict::Invisible(width),
        _ => Verdict::Keep(width),
    }
}

/// The length of the escape sequence at the start of `rest`; an unfinished one loses its introducer only.
fn escape_length(rest: &[u8]) -> usize {
    let (introducer, body) = match rest {
        [0x1b, second @ (b'[' | b']' | b'P' | b'X' | b'^' | b'_'), ..] => (2, *second),
        [0x1b, ..] => return plain_escape_length(rest),
        [0xc2, 0x9b, ..] => (2, b'['),
        _ => (2, b']'),
    };
    if body == b'[' {
        let parameters = run(&rest[introducer..], 0x30..=0x3f);
        let intermediates = run(&rest[introducer + parameters..], 0x20..=0x2f);
        let end = introducer + parameters + intermediates;
        return match rest.get(end) {
            Some(0x40..=0x7e) => end + 1,
            _ => introducer,
        };
    }
    string_length(rest, introducer).unwrap_or(introducer)
}

fn plain_escape_length(rest: &[u8]) -> usize {
    let end = 1 + run(&rest[1..], 0x20..=0x2f);
    match rest.get(end) {
        Some(0x30..=0x7e) => end + 1,
        _ => 1,
    }
}

/// A control string ends with BEL or ST; any other control character means it was never finished.
fn string_length(rest: &[u8], introducer: usize) -> Option<usize> {
    let at = introducer
        + rest[introducer..]
            .iter()
            .position(|&byte| is_suspect(byte) && (byte < 0x20 || byte == 0xc2))?;
    match &rest[at..] {
        [0x07, ..] => Some(at + 1),
        [0x1b, b'\\', ..] | [0xc2, 0x9c, ..] => Some(at + 2),
        _ => None,
    }
}

fn run(bytes: &[u8], range: std::ops::RangeInclusive<u8>) -> usize {
    bytes.iter().take_while(|byte| range.contains(byte)).count()
}

fn joins(previous: Option<char>, joiner: char, next: Option<char>) -> bool {
    let (Some(previous), Some(next)) = (previous, next) else {
        return false;
    };
    let emoji =
        joiner == '\u{200d}' && (is_emoji(previous) || previous == '\u{fe0f}') && is_emoji(next);
    emoji || (has_joiners(previous) && has_joiners(next))
}

/// Scripts whose spelling uses joiners: Arabic and its kin, the Indic scripts, Khmer, Myanmar, Mongolian.
fn has_joiners(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6ff}' | '\u{700}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}' | '\u{900}'..='\u{dff}'
        | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}' | '\u{1820}'..='\u{18aa}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn takes_selector(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*' | '©' | '®') || is_emoji(c) || is_ideograph(c) || is_symbol(c)
}

fn is_symbol(c: char) -> bool {
    matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2100}'..='\u{2bff}'
        | '\u{3000}'..='\u{303f}' | '\u{3297}' | '\u{3299}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// The tags that follow a black flag in the three regional flags in use.
fn flag_length(rest: &str) -> usize {
    ["gbeng", "gbsct", "gbwls"]
        .iter()
        .map(|region| {
            region
                .chars()
                .filter_map(|c| char::from_u32(0xe0000 + u32::from(c)))
                .chain(['\u{e007f}'])
                .collect::<String>()
        })
        .find(|tags| rest.starts_with(tags.as_str()))
        .map_or(0, |tags| tags.len())
}

#[cfg(test)]
mod tests {
    use super::strip;

    fn clean(text: &str) -> String {
        let once = strip(text).0.into_owned();
        assert_eq!(strip(&once).0, once, "a second run changes something");
        once
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        let text = "plain\ttext\r\nwith 中文 and é";
        assert!(matches!(strip(text).0, std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn removes_escape_sequences() {
        assert_eq!(clean("\x1b[31mred\x1b[0m"), "red");
        assert_eq!(
            clean("\x1b]8;;http://e.example\x1b\\link\x1b]8;;\x07"),
            "link"
        );
        assert_eq!(clean("\x1b]0;never finished"), "0;never finished");
        assert_eq!(clean("a\x1bPq#1\u{9c}b"), "ab");
        assert_eq!(clean("a\u{9b}2Jb\x08\x7f"), "ab");
        assert_eq!(clean("\x1b(Bx\x1bcy\x1b"), "xy");
    }

    #[test]
    fn removes_what_cannot_be_seen() {
        assert_eq!(
            clean("a\u{200b}b\u{202e}c\u{2066}d\u{feff}e\u{ad}f"),
            "abcdef"
        );
        assert_eq!(clean("hi\u{e0068}\u{e0069}"), "hi");
        assert_eq!(
            clean("x\u{fe01}\u{fe02}😀\u{fe0f}\u{fe01}\u{e0101}"),
            "x😀\u{fe0f}"
        );
    }

    #[test]
    fn keeps_what_scripts_and_emoji_need() {
        for text in [
            "👩\u{200d}🔬",
            "❤\u{fe0f}\u{200d}🔥",
            "1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "葛\u{e0100}",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        ] {
            assert_eq!(clean(text), text);
        }
        assert_eq!(clean("a\u{200d}b\u{200c}c"), "abc");
    }
}
