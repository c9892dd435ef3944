//! JSON string escapes, both ways.

use std::borrow::Cow;
use std::fmt::Write;

/// Decodes the inside of a checked JSON string; a lone surrogate becomes the replacement character.
pub(super) fn decode(body: &str) -> Cow<'_, str> {
    let Some(first) = body.find('\\') else {
        return Cow::Borrowed(body);
    };
    let mut out = String::with_capacity(body.len());
    out.push_str(&body[..first]);
    let mut rest = &body[first..];
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (c, length) = escape_at(&rest[at..]);
        out.push(c);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character an escape stands for, and the escape's length.
fn escape_at(escape: &str) -> (char, usize) {
    match escape.as_bytes().get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => {
            let Some(first) = unit(escape) else {
                return ('\u{fffd}', 6.min(escape.len()));
            };
            let second = escape
                .get(6..)
                .filter(|next| next.starts_with("\\u"))
                .and_then(unit);
            match (first, second) {
                (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                    let code = 0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(code).unwrap_or('\u{fffd}'), 12)
                }
                _ => (char::from_u32(first).unwrap_or('\u{fffd}'), 6),
            }
        }
        Some(&other) => (char::from(other), 2),
        None => ('\\', 1),
    }
}

fn unit(escape: &str) -> Option<u32> {
    escape
        .get(2..6)
        .and_then(|hex| u32::from_str_radix(hex, 16).ok())
}

/// Writes text as the inside of a JSON string.
pub(super) fn encode(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn decodes_every_escape() {
        assert_eq!(
            decode(r#"a\"\\\/\b\f\n\r\tA\u0042"#),
            "a\"\\/\u{8}\u{c}\n\r\tAB"
        );
        assert_eq!(
            decode(r"\ud83d\ude00 \ud83d x \udc00"),
            "😀 \u{fffd} x \u{fffd}"
        );
    }

    #[test]
    fn encodes_what_must_be() {
        let mut out = String::new();
        encode("a\"\\\n\u{1}é", &mut out);
        assert_eq!(out, "a\\\"\\\\\\n\\u0001é");
    }
}
