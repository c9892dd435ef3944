//! Placeholders that name what was taken out: `[REDACTED:email#k3v9q2aabbcc]`.
//!
//! Invariant: a placeholder is told from text that looks like one. Text from elsewhere that looks like a placeholder
//! gets a backslash before its colon, and loses exactly one when it is written back, so both directions are lossless.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// How every placeholder begins.
const START: &str = "[REDACTED";
/// Characters of an id: five bits each.
pub const ID_LENGTH: usize = 12;

/// The longest name of a rule in a placeholder.
const LONGEST_RULE: usize = 64;

/// Who keeps what is taken out of a text and names it.
pub trait Seals: fmt::Debug {
    /// Keeps `text[span]` and says by which id: [`ID_LENGTH`] characters of `a-z2-7`. Nothing if it cannot be kept.
    fn seal(&self, rule: &str, text: &str, span: Range<usize>) -> Option<String>;
}

/// A placeholder within a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder<'a> {
    /// The rule that took the value out.
    pub rule: &'a str,
    /// The id of what was kept; none if nothing was.
    pub id: Option<&'a str>,
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Anything else.
    Text(&'a str),
    /// What looked like a placeholder before it was escaped; `[REDACTED` and the backslashes that are left.
    Escaped(&'a str),
    /// A placeholder.
    Placeholder(Placeholder<'a>),
}

/// Whether there may be anything for [`parts`] to find.
pub fn may_hold_placeholder(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), START.as_bytes()).is_some()
}

/// The text in parts, in order.
pub fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find(START) {
        let start = from + found;
        let after = start + START.len();
        from = after;
        let slashes = text[after..].bytes().take_while(|it| *it == b'\\').count();
        let part = if slashes > 0 && text[after + slashes..].starts_with(':') {
            let kept = after + slashes - 1;
            Some((Part::Escaped(&text[start..kept]), kept + 1))
        } else {
            read(&text[after..])
                .map(|(placeholder, length)| (Part::Placeholder(placeholder), after + length))
        };
        if let Some((part, end)) = part {
            if copied < start {
                parts.push(Part::Text(&text[copied..start]));
            }
            parts.push(part);
            (copied, from) = (end, end);
        }
    }
    if copied < text.len() || parts.is_empty() {
        parts.push(Part::Text(&text[copied..]));
    }
    parts
}

/// Reads `:rule]` or `:rule#id]`; gives the length as well.
pub(crate) fn read(rest: &str) -> Option<(Placeholder<'_>, usize)> {
    let body = rest.strip_prefix(':')?;
    let rule = run(body, |it| {
        it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-'
    });
    if rule.is_empty() || rule.len() > LONGEST_RULE {
        return None;
    }
    let after = &body[rule.len()..];
    let id = after.strip_prefix('#').map(|id| run(id, is_of_id));
    if id.is_some_and(|id| id.len() != ID_LENGTH) {
        return None;
    }
    let length = rule.len() + id.map_or(0, |id| id.len() + 1);
    body[length..]
        .starts_with(']')
        .then_some((Placeholder { rule, id }, length + 2))
}

fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte)
}

fn run(text: &str, is_part: impl Fn(u8) -> bool) -> &str {
    let length = text.bytes().take_while(|it| is_part(*it)).count();
    &text[..length]
}

/// A text from elsewhere, in which nothing can be taken for a placeholder of ours.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (start, _) in text.match_indices(START) {
        let after = start + START.len();
        let slashes = text[after..].bytes().take_while(|it| *it == b'\\').count();
        if text[after + slashes..].starts_with(':') {
            out.push_str(&text[copied..after]);
            out.push('\\');
            copied = after;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// A text with the placeholders in it, but without their ids: the same for the same content in every session.
pub fn without_ids(text: &str) -> Cow<'_, str> {
    if !may_hold_placeholder(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, _) in text.match_indices(START) {
        let after = start + START.len();
        if let Some((found, length)) = read(&text[after..])
            && let Some(id) = found.id
        {
            let end = after + length - 1;
            out.push_str(&text[copied..end - id.len() - 1]);
            copied = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// What to write for what was found: its placeholder, with an id if it is kept.
pub(crate) fn named(replacement: &str, rule: &str, id: Option<&str>) -> String {
    match id {
        Some(id) => format!("{START}:{rule}#{id}]"),
        None => replacement.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_what_looks_like_one() {
        let text = "a [REDACTED:email#abcdefghij27] b [REDACTED:phone] [REDACTED:x#short] [REDACTED\\:email]";
        let found = parts(text);
        let email = Placeholder {
            rule: "email",
            id: Some("abcdefghij27"),
        };
        let phone = Placeholder {
            rule: "phone",
            id: None,
        };
        assert_eq!(
            found,
            [
                Part::Text("a "),
                Part::Placeholder(email),
                Part::Text(" b "),
                Part::Placeholder(phone),
                Part::Text(" [REDACTED:x#short] "),
                Part::Escaped("[REDACTED"),
                Part::Text(":email]"),
            ]
        );
    }

    #[test]
    fn ids_are_no_part_of_what_was_said() {
        let text = "a [REDACTED:email#abcdefghij27][REDACTED:phone] [REDACTED:x#short]";
        let bare = "a [REDACTED:email][REDACTED:phone] [REDACTED:x#short]";
        assert_eq!(without_ids(text), bare);
        assert_eq!(without_ids(bare), bare);
    }

    #[test]
    fn what_is_escaped_comes_back_byte_by_byte() {
        for text in [
            "",
            "plain",
            "[REDACTED",
            "[REDACTED:",
            "[REDACTED:email]",
            "[REDACTED\\:email]",
            "[REDACTED\\\\:email#abcdefghij27] [REDACTED:a]",
            "\\[REDACTED\\x",
            "é[REDACTED:é]",
        ] {
            let sent = escaped(text);
            let back: String = parts(&sent)
                .into_iter()
                .map(|part| match part {
                    Part::Text(text) | Part::Escaped(text) => text,
                    Part::Placeholder(found) => panic!("{found:?} in {sent}"),
                })
                .collect();
            assert_eq!(back, text);
        }
    }
}
