//! Numbers that a tree of JSON would print in another way than they were written.
//!
//! A definition is looked at, cleaned and put together anew as a tree, and a tree knows 1.50
//! only as 1.5. Invariant: a number is printed as it was written only where the tree still
//! holds that very number; where nothing is spelled oddly nothing is kept.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Number, Value, value::RawValue};

/// How the numbers of one JSON value were written, as far as that is not the usual way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spelled(Option<Arc<Node>>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Number(Box<str>),
    /// By name, or by place.
    Below(BTreeMap<String, Node>),
}

impl Spelled {
    /// What is odd about this text; nothing if it is no JSON.
    pub fn of(text: &str) -> Self {
        let raw = has_odd_number(text).then(|| serde_json::from_str::<&RawValue>(text).ok());
        let odd = raw.flatten().and_then(node);
        Self(odd.map(Arc::new))
    }

    /// The same of the member of this name.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        let found = match self.0.as_deref() {
            Some(Node::Below(below)) => below.get(name).cloned(),
            Some(Node::Number(_)) | None => None,
        };
        Self(found.map(Arc::new))
    }

    /// The same of an object that has these members, or of an array that has them at these
    /// places.
    pub fn of_members<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let odd = members.into_iter().filter_map(|(name, member)| {
            let node = member.0.map(Arc::unwrap_or_clone)?;
            Some((name.to_owned(), node))
        });
        let odd: BTreeMap<_, _> = odd.collect();
        Self((!odd.is_empty()).then(|| Arc::new(Node::Below(odd))))
    }

    /// Whether everything is printed as it was written anyway.
    pub fn is_usual(&self) -> bool {
        self.0.is_none()
    }

    /// Prints a value; what is in the place of an oddly spelled number, and equal to it, is
    /// spelled like it.
    pub fn print(&self, value: &Value) -> String {
        match &self.0 {
            None => value.to_string(),
            Some(node) => {
                let mut text = String::new();
                print(value, Some(node), &mut text);
                text
            }
        }
    }
}

fn node(raw: &RawValue) -> Option<Node> {
    let below = |all: BTreeMap<String, &RawValue>| {
        let odd = all
            .into_iter()
            .filter_map(|(name, raw)| Some((name, node(raw)?)));
        let odd: BTreeMap<_, _> = odd.collect();
        (!odd.is_empty()).then_some(Node::Below(odd))
    };
    match raw.get().as_bytes().first()? {
        b'{' => below(serde_json::from_str(raw.get()).ok()?),
        b'[' => {
            let all: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
            let by_place = all.into_iter().enumerate();
            below(
                by_place
                    .map(|(place, raw)| (place.to_string(), raw))
                    .collect(),
            )
        }
        b'-' | b'0'..=b'9' => (!is_usual(raw.get())).then(|| Node::Number(raw.get().into())),
        _ => None,
    }
}

fn print(value: &Value, node: Option<&Node>, text: &mut String) {
    match (value, node) {
        (Value::Number(number), Some(Node::Number(written))) if is_same(number, written) => {
            text.push_str(written);
        }
        (Value::Object(fields), Some(Node::Below(below))) => {
            text.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                print(value, below.get(name), text);
            }
            text.push('}');
        }
        (Value::Array(entries), Some(Node::Below(below))) => {
            text.push('[');
            for (at, value) in entries.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                print(value, below.get(&at.to_string()), text);
            }
            text.push(']');
        }
        (other, _) => text.push_str(&other.to_string()),
    }
}

fn is_same(number: &Number, written: &str) -> bool {
    serde_json::from_str::<Number>(written).is_ok_and(|written| written == *number)
}

/// Whether a number is printed as it is written here.
fn is_usual(written: &str) -> bool {
    let is_short = written.len() < 16 && written.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = is_short && (written.len() == 1 || !written.starts_with('0'));
    let printed = || serde_json::from_str::<Number>(written).map(|number| number.to_string());
    is_short || printed().is_ok_and(|printed| printed == written)
}

/// Looks through the numbers of a text without reading it.
fn has_odd_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let rest = &text[at..];
                let ends = |byte: char| !matches!(byte, '-' | '+' | '.' | 'e' | 'E' | '0'..='9');
                let length = rest.find(ends).unwrap_or(rest.len());
                if !is_usual(&rest[..length]) {
                    return true;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut value = serde_json::from_str(text).unwrap();
        change(&mut value);
        Spelled::of(text).print(&value)
    }

    #[test]
    fn numbers_are_printed_as_they_were_written() {
        for text in [
            r#"{"a":1.50,"b":[1,12345678901234567890123,{"c":1e2}],"d":-0,"1.50":"1.50"}"#,
            r#"[1E5,0.10,1.0e-7,"\"1.50",18446744073709551616]"#,
            "1.50",
        ] {
            assert!(!Spelled::of(text).is_usual(), "{text}");
            assert_eq!(printed(text, |_| ()), text);
        }
    }

    #[test]
    fn nothing_is_kept_of_what_is_usual() {
        for text in [
            r#"{"a":[0,-1,1.5,"1.50\\"],"b\"":9007199254740993}"#,
            "no",
            "\"",
            "\"\\",
        ] {
            assert!(Spelled::of(text).is_usual(), "{text}");
        }
    }

    #[test]
    fn what_is_moved_keeps_its_spelling() {
        let odd = Spelled::of(r#"{"a":{"b":[1.50]},"c":1e2,"d":1}"#);
        let moved = Spelled::of_members([("0", odd.member("a")), ("1", odd.member("d"))]);
        let value = serde_json::json!([{"b": [1.5]}, 1]);
        assert_eq!(moved.print(&value), r#"[{"b":[1.50]},1]"#);
        assert!(odd.member("d").is_usual());
        assert!(odd.member("c").member("x").is_usual());
        assert!(Spelled::of_members([("0", odd.member("d"))]).is_usual());
    }

    #[test]
    fn what_was_changed_is_printed_as_it_is_now() {
        let text = r#"{"a":1.50,"b":[2.50],"c":3.50}"#;
        let changed = printed(text, |value| {
            value["a"] = 7.into();
            value["b"] = "x".into();
            value["d"] = true.into();
        });
        assert_eq!(changed, r#"{"a":7,"b":"x","c":3.50,"d":true}"#);
    }
}
