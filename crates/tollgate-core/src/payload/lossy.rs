//! A tree of JSON that no tree holds exactly, so that whoever looks for something in it still finds it.
//!
//! A half of a surrogate pair becomes the replacement character, a number beyond the range of a
//! double the text it was spelled as. Invariant: nothing else is changed, left out or moved.

use serde_json::Value;

/// The tree of valid JSON that `serde_json` refuses.
pub(super) fn tree(text: &str) -> Value {
    serde_json::from_str(&replaced(text)).unwrap_or_default()
}

fn replaced(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len() + 16);
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let (length, instead) = match byte {
            b'"' => {
                at += 1;
                in_string(text, &mut at, &mut copied, &mut out);
                continue;
            }
            b'-' | b'0'..=b'9' => number(&text[at..]),
            _ => (1, None),
        };
        if let Some(instead) = instead {
            out.push_str(&text[copied..at]);
            out.push_str(&instead);
            copied = at + length;
        }
        at += length;
    }
    out.push_str(&text[copied..]);
    out
}

/// Passes a string whose opening quote is passed already.
fn in_string(text: &str, at: &mut usize, copied: &mut usize, out: &mut String) {
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(*at) {
        match (byte, bytes.get(*at + 1)) {
            (b'"', _) => {
                *at += 1;
                return;
            }
            (b'\\', Some(b'u')) => {
                let is_half = |at: usize, halves: std::ops::RangeInclusive<u16>| {
                    unit(text, at).is_some_and(|unit| halves.contains(&unit))
                };
                let is_pair = is_half(*at, 0xd800..=0xdbff) && is_half(*at + 6, 0xdc00..=0xdfff);
                if !is_pair && is_half(*at, 0xd800..=0xdfff) {
                    out.push_str(&text[*copied..*at]);
                    out.push_str("\\ufffd");
                    *copied = *at + 6;
                }
                *at += if is_pair { 12 } else { 6 };
            }
            (b'\\', _) => *at += 2,
            _ => *at += 1,
        }
    }
}

/// The code unit that an escape at this place stands for.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

/// The length of a number, and a text in its place if no double holds it.
fn number(rest: &str) -> (usize, Option<String>) {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
    let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let spelled = &rest[..length];
    let is_held = spelled.parse::<f64>().is_ok_and(f64::is_finite);
    (length, (!is_held).then(|| format!("\"{spelled}\"")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::tree;

    #[test]
    fn only_what_no_tree_holds_is_replaced() {
        let text = r#"{"a\ud800":[1e999,-1E+400,1.50,"1e999"],"b":"\ud83d\ude00 \udc00\u0041\\ud800 \"","c":null}"#;
        assert!(serde_json::from_str::<Value>(text).is_err());
        assert_eq!(
            tree(text),
            json!({
                "a\u{fffd}": ["1e999", "-1E+400", 1.5, "1e999"],
                "b": "\u{1f600} \u{fffd}A\\ud800 \"",
                "c": null,
            })
        );
    }
}
