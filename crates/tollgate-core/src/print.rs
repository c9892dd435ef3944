//! Objects printed field by field into one text.
//!
//! Every call is printed several times: for the caller, for the log, for whoever replays it.
//! Those few shapes say themselves how they are spelled, which costs half of what asking a
//! general serializer for every field does; everything else is left to that.
//!
//! Invariant: what is printed here is what `serde_json` prints of the same fields.

use serde::{Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;

/// Something that is printed as an object.
pub trait Print {
    /// Prints its fields in their order.
    fn print(&self, object: &mut ObjectText<'_>);
}

/// Something that stands in a list.
pub trait Item {
    /// Prints it at the end of `text`.
    fn print(&self, text: &mut String);
}

/// Prints something into a text that has room for it.
pub fn printed(value: &impl Print, room: usize) -> String {
    let mut text = String::with_capacity(room);
    ObjectText::write(&mut text, |object| value.print(object));
    text
}

/// Gives what prints itself to a general serializer.
pub fn serialize<S: Serializer>(value: &impl Print, serializer: S) -> Result<S::Ok, S::Error> {
    let raw = RawValue::from_string(printed(value, 1024)).map_err(S::Error::custom)?;
    raw.serialize(serializer)
}

/// An object that is being printed.
pub struct ObjectText<'t> {
    text: &'t mut String,
    is_empty: bool,
}

impl ObjectText<'_> {
    /// Prints an object at the end of `text`.
    pub fn write(text: &mut String, fields: impl FnOnce(&mut ObjectText<'_>)) {
        text.push('{');
        fields(&mut ObjectText {
            text,
            is_empty: true,
        });
        text.push('}');
    }

    /// A field that holds a text.
    pub fn text(&mut self, name: &'static str, value: &str) {
        self.name(name);
        quote(self.text, value);
    }

    /// A field that holds a text made of several.
    pub fn joined(&mut self, name: &'static str, parts: [&str; 2]) {
        self.name(name);
        self.text.push('"');
        parts.iter().for_each(|part| escape(self.text, part));
        self.text.push('"');
    }

    /// A field that holds a text or `null`.
    pub fn maybe_text(&mut self, name: &'static str, value: Option<&str>) {
        match value {
            Some(value) => self.text(name, value),
            None => self.json(name, "null"),
        }
    }

    /// A field that is there only if it has a text.
    pub fn some_text(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// A field that holds a number.
    pub fn number(&mut self, name: &'static str, value: u64) {
        self.name(name);
        count(self.text, value);
    }

    /// A field that holds a number which may be below zero.
    pub fn signed(&mut self, name: &'static str, value: i64) {
        self.name(name);
        if value < 0 {
            self.text.push('-');
        }
        count(self.text, value.unsigned_abs());
    }

    /// A field that holds a number or `null`.
    pub fn maybe_number(&mut self, name: &'static str, value: Option<u64>) {
        match value {
            Some(value) => self.number(name, value),
            None => self.json(name, "null"),
        }
    }

    /// A field that holds yes or no.
    pub fn flag(&mut self, name: &'static str, value: bool) {
        self.json(name, if value { "true" } else { "false" });
    }

    /// A field whose value is JSON already.
    pub fn json(&mut self, name: &'static str, value: &str) {
        self.name(name);
        self.text.push_str(value);
    }

    /// A field of somebody else's: its name may be anything, its value is JSON already.
    pub fn foreign(&mut self, name: &str, value: &str) {
        self.separate();
        quote(self.text, name);
        self.text.push(':');
        self.text.push_str(value);
    }

    /// A field that holds a list of texts.
    pub fn texts<'v>(&mut self, name: &'static str, values: impl IntoIterator<Item = &'v str>) {
        self.items(name, values.into_iter(), quote);
    }

    /// A field that holds a list of anything.
    pub fn list(&mut self, name: &'static str, items: &[impl Item]) {
        self.items(name, items.iter(), |text, item| item.print(text));
    }

    fn items<T>(
        &mut self,
        name: &'static str,
        items: impl Iterator<Item = T>,
        print: impl Fn(&mut String, T),
    ) {
        self.name(name);
        self.text.push('[');
        for (number, item) in items.enumerate() {
            if number > 0 {
                self.text.push(',');
            }
            print(self.text, item);
        }
        self.text.push(']');
    }

    /// A field that holds another object.
    pub fn object(&mut self, name: &'static str, value: &impl Print) {
        self.name(name);
        ObjectText::write(self.text, |object| value.print(object));
    }

    /// A field that holds anything else; what cannot be printed is `null`.
    pub fn value(&mut self, name: &'static str, value: &impl Serialize) {
        let printed = serde_json::to_string(value);
        self.json(name, printed.as_deref().unwrap_or("null"));
    }

    /// Our own names have nothing to escape.
    fn name(&mut self, name: &'static str) {
        debug_assert!(is_plain(name.as_bytes()), "{name}");
        self.separate();
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
    }

    fn separate(&mut self) {
        if !self.is_empty {
            self.text.push(',');
        }
        self.is_empty = false;
    }
}

fn quote(text: &mut String, value: &str) {
    text.push('"');
    escape(text, value);
    text.push('"');
}

/// Most texts have nothing to escape, which is seen without looking at each of their bytes.
fn escape(text: &mut String, value: &str) {
    if is_plain(value.as_bytes()) {
        text.push_str(value);
        return;
    }
    let mut rest = value;
    while let Some(at) = rest.bytes().position(is_special) {
        text.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            0x08 => text.push_str("\\b"),
            0x0c => text.push_str("\\f"),
            control => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                text.push_str("\\u00");
                text.push(char::from(DIGITS[usize::from(control >> 4)]));
                text.push(char::from(DIGITS[usize::from(control & 15)]));
            }
        }
        rest = &rest[at + 1..];
    }
    text.push_str(rest);
}

const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Looks at blocks of bytes, each of which takes compilers few instructions; the last one
/// may reach back into the one before it.
fn is_plain(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<16>();
    let last = match bytes.last_chunk::<16>() {
        Some(last) => *last,
        None => {
            let mut padded = [b' '; 16];
            padded[..rest.len()].copy_from_slice(rest);
            padded
        }
    };
    let is_plain = |block: &[u8; 16]| {
        !block
            .iter()
            .fold(false, |any, byte| any | is_special(*byte))
    };
    blocks.iter().all(is_plain) && (rest.is_empty() || is_plain(&last))
}

fn count(text: &mut String, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    text.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    struct Sample<'a>(&'a str);

    impl Print for Sample<'_> {
        fn print(&self, object: &mut ObjectText<'_>) {
            object.text("text", self.0);
            object.joined("joined", ["tool.", self.0]);
            object.maybe_text("none", None);
            object.some_text("absent", None);
            object.number("least", 0);
            object.number("most", u64::MAX);
            object.signed("before", i64::MIN);
            object.signed("after", 12);
            object.maybe_number("maybe", Some(7));
            object.flag("flag", true);
            object.json("raw", "1.50");
            object.texts("texts", [self.0, "b"]);
            object.texts("empty", []);
            object.value("value", &json!({"a": [self.0]}));
            object.foreign(self.0, "{}");
        }
    }

    fn expected(text: &str) -> String {
        let quoted = serde_json::to_string(text).unwrap();
        let joined = serde_json::to_string(&format!("tool.{text}")).unwrap();
        format!(
            r#"{{"text":{quoted},"joined":{joined},"none":null,"least":0,"most":{},"before":{},"after":12,"maybe":7,"flag":true,"raw":1.50,"texts":[{quoted},"b"],"empty":[],"value":{{"a":[{quoted}]}},{quoted}:{{}}}}"#,
            u64::MAX,
            i64::MIN
        )
    }

    #[test]
    fn it_prints_what_a_serializer_prints() {
        let every: String = (0..=0x7f_u8).map(char::from).collect();
        let later = format!("{}\u{1}{}\"", "a".repeat(31), "é漢字\u{2028}".repeat(9));
        for text in ["", "plain", "\\", "\"", "a\nb", &every, &later] {
            assert_eq!(printed(&Sample(text), 0), expected(text));
        }
        for byte in 0..=0x7f_u8 {
            let text = format!("{}{}{}", "x".repeat(17), char::from(byte), "y".repeat(5));
            assert_eq!(printed(&Sample(&text), 0), expected(&text));
        }
    }

    #[test]
    fn a_serializer_gets_the_same() {
        struct Whole<'a>(Sample<'a>);
        impl Serialize for Whole<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serialize(&self.0, serializer)
            }
        }
        let whole = Whole(Sample("a\"b"));
        assert_eq!(serde_json::to_string(&whole).unwrap(), expected("a\"b"));
        let value: Value = serde_json::from_str(&expected("a\"b")).unwrap();
        assert_eq!(serde_json::to_value(&whole).unwrap(), value);
    }
}
