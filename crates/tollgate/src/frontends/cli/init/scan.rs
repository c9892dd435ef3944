//! Finds places in JSON, so that one spot can be edited and the rest stays byte for byte.
//!
//! Invariant: what [`blanked`] gives has the length of what it got, so places in one are
//! places in the other.

use std::ops::Range;

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where its key begins.
    pub(super) start: usize,
    pub(super) value: Range<usize>,
}

/// The text with comments and the byte order mark turned into spaces.
pub(super) fn uncommented(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if text.starts_with('\u{feff}') {
        bytes[..3].fill(b' ');
    }
    let mut at = 0;
    while at < bytes.len() {
        at = match (bytes[at], bytes.get(at + 1)) {
            (b'"', _) => string_end(&bytes, at),
            (b'/', Some(b'/')) => blank(&mut bytes, at, line_end),
            (b'/', Some(b'*')) => blank(&mut bytes, at, block_end),
            _ => at + 1,
        };
    }
    // Whole comments were replaced, so no character was cut in two.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The text with trailing commas turned into spaces too: plain JSON, if it was JSON with
/// comments.
pub(in super::super) fn blanked(text: &str) -> String {
    let text = uncommented(text);
    let mut bytes = text.clone().into_bytes();
    let mut at = 0;
    let mut last = b'[';
    let mut comma = None;
    while at < bytes.len() {
        let byte = bytes[at];
        if !byte.is_ascii_whitespace() {
            if let (Some(place), b'}' | b']') = (comma, byte) {
                bytes[place] = b' ';
            }
            let follows_value = !matches!(last, b'[' | b'{' | b',' | b':');
            comma = (byte == b',' && follows_value).then_some(at);
            last = byte;
        }
        at = if byte == b'"' {
            string_end(&bytes, at)
        } else {
            at + 1
        };
    }
    String::from_utf8(bytes).unwrap_or(text)
}

fn blank(bytes: &mut [u8], at: usize, end: fn(&[u8], usize) -> usize) -> usize {
    let end = end(bytes, at);
    for byte in &mut bytes[at..end] {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    end
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes[at..].iter();
    let length = rest.take_while(|byte| **byte != b'\n').count();
    at + length
}

fn block_end(bytes: &[u8], at: usize) -> usize {
    let mut body = bytes[at + 2..].windows(2);
    body.position(|pair| pair == b"*/")
        .map_or(bytes.len(), |length| at + length + 4)
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut place = at + 1;
    while place < bytes.len() {
        match bytes[place] {
            b'"' => return place + 1,
            b'\\' => place += 2,
            _ => place += 1,
        }
    }
    bytes.len()
}

/// The members of the object that begins at a place of valid JSON; nothing for other values.
pub(super) fn members(json: &str, object: usize) -> Option<Vec<Member>> {
    let bytes = json.as_bytes();
    if bytes.get(object) != Some(&b'{') {
        return None;
    }
    let mut found = Vec::new();
    let mut at = skip(bytes, object + 1);
    while bytes.get(at) == Some(&b'"') {
        let key_end = string_end(bytes, at);
        let name = serde_json::from_str(json.get(at..key_end)?).ok()?;
        let colon = skip(bytes, key_end);
        let start = skip(bytes, colon + 1);
        let value = start..value_end(bytes, start);
        let next = skip(bytes, value.end);
        found.push(Member {
            name,
            start: at,
            value,
        });
        at = if bytes.get(next) == Some(&b',') {
            skip(bytes, next + 1)
        } else {
            next
        };
    }
    Some(found)
}

/// Where a value of valid JSON ends.
pub(super) fn value_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = string_end(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + depth,
            b'}' | b']' => depth -= 1,
            b',' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

/// The first place from here that is not white.
pub(super) fn skip(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let white = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
    at + white.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        let cases = [
            ("{\"a\": 1, // x, }\n}", "{\"a\": 1         \n}"),
            ("[1, /* ] */ ]", "[1          ]"),
            ("{\"//\": \"/* \\\" */\",}", "{\"//\": \"/* \\\" */\" }"),
            ("[,]", "[,]"),
            ("[1,,]", "[1,,]"),
            ("{} /* open", "{}        "),
            ("\u{feff}{}", "   {}"),
        ];
        for (text, plain) in cases {
            assert_eq!(blanked(text), plain);
        }
        assert_eq!(blanked("// ü\n{}").len(), "// ü\n{}".len());
    }

    #[test]
    fn members_have_places() {
        let json = r#" {"a" : {"b":[1,{"}":"]"}]}, "c\"":-1.5 ,"d":"x"}"#;
        let found = members(json, 1).unwrap();
        let shown: Vec<_> = found
            .iter()
            .map(|member| (member.name.as_str(), &json[member.value.clone()]))
            .collect();
        let expected = [
            ("a", r#"{"b":[1,{"}":"]"}]}"#),
            ("c\"", "-1.5"),
            ("d", "\"x\""),
        ];
        assert_eq!(shown, expected);
        assert!(members("[]", 0).is_none());
        assert_eq!(value_end(json.as_bytes(), 1), json.len());
    }
}
