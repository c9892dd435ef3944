//! One spelling for JSON that means the same, for digests and cache keys.
//!
//! Works on the text as sent, not on a parsed `Value`: a number too long for a
//! double keeps its digits, and a key given twice is an error, so two calls that a
//! provider could tell apart never share a digest.

use std::{borrow::Cow, fmt::Write as _, io};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::payload::Payload;

/// JSON with its numbers as they were spelled.
#[derive(Debug, Clone, PartialEq)]
pub enum Node<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as spelled.
    Number(&'a str),
    /// A string, decoded.
    String(Cow<'a, str>),
    /// An array, in order.
    Array(Vec<Node<'a>>),
    /// An object, in the order sent.
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
}

/// Why there is no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// Two readers could see two different values.
    #[error("the key `{0}` is given twice")]
    DuplicateKey(String),
    /// The text is not JSON; a [`Payload`] never is.
    #[error("not valid JSON")]
    Syntax,
}

/// How numbers and keys are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// RFC 8785: keys by UTF-16 units, numbers as ECMAScript prints them.
    Jcs,
    /// The origin's cache keys: keys by code point, numbers as Python prints them.
    CacheKey,
}

/// The SHA-256 of something, in lower-case hex.
pub fn hex_digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The SHA-256 of what something is printed as, in lower-case hex; the text is never there as a
/// whole.
pub fn printed_digest(value: &impl Serialize) -> serde_json::Result<String> {
    struct Sink(Sha256);
    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut sink = Sink(Sha256::new());
    serde_json::to_writer(&mut sink, value)?;
    Ok(hex(&sink.0.finalize()))
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = vec![0; bytes.len() * 2];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    String::from_utf8(text).unwrap_or_default()
}

impl<'a> Node<'a> {
    /// Reads a payload without losing anything.
    pub fn of(payload: &'a Payload) -> Result<Self, CanonicalError> {
        let mut reader = Reader {
            text: payload.raw(),
            at: 0,
        };
        reader.value()
    }

    /// Prints the canonical text.
    pub fn print(&self, form: Form) -> String {
        let mut out = String::with_capacity(128);
        self.write(form, &mut out);
        out
    }

    fn write(&self, form: Form, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(text) => write_number(text, form, out),
            Self::String(text) => write_string(text, out),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(form, out);
                }
                out.push(']');
            }
            Self::Object(fields) => write_object(fields, form, out),
        }
    }
}

fn write_object(fields: &[(Cow<'_, str>, Node<'_>)], form: Form, out: &mut String) {
    let mut sorted: Vec<_> = fields.iter().collect();
    match form {
        Form::Jcs => sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16())),
        Form::CacheKey => sorted.sort_by(|a, b| a.0.cmp(&b.0)),
    }
    out.push('{');
    for (index, (key, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(key, out);
        out.push(':');
        value.write(form, out);
    }
    out.push('}');
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0x00..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[written..at]);
        written = at + 1;
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[written..]);
    out.push('"');
}

/// Digits a double certainly keeps apart.
const EXACT_DIGITS: usize = 15;

fn write_number(text: &str, form: Form, out: &mut String) {
    let is_integer = !text.contains(['.', 'e', 'E']);
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if is_integer && (form == Form::CacheKey || digits > EXACT_DIGITS) {
        out.push_str(if text == "-0" { "0" } else { text });
        return;
    }
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let significant = mantissa.bytes().filter(u8::is_ascii_digit).count();
    match text.parse::<f64>() {
        Ok(number)
            if is_held(number, mantissa)
                && (form == Form::CacheKey || significant <= EXACT_DIGITS) =>
        {
            match form {
                Form::Jcs => write_ecmascript(number, out),
                Form::CacheKey => write_python(number, out),
            }
        }
        Ok(_) | Err(_) => out.push_str(text),
    }
}

/// Whether a double is close enough to what was spelled that no other spelling of so few digits
/// shares it: not beyond its range, and not among the subnormal numbers, where digits are lost.
fn is_held(number: f64, mantissa: &str) -> bool {
    let is_zero = !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    is_zero || number.is_normal()
}

/// The shortest digits of a double and the position of its decimal point.
fn shortest(number: f64) -> (String, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    (digits, exponent.parse::<i32>().unwrap_or(0) + 1)
}

fn write_ecmascript(number: f64, out: &mut String) {
    if number == 0.0 {
        out.push('0');
        return;
    }
    write_decimal(number, 21, -6, out);
}

fn write_python(number: f64, out: &mut String) {
    if number == 0.0 {
        out.push_str(if number.is_sign_negative() {
            "-0.0"
        } else {
            "0.0"
        });
        return;
    }
    let before = out.len();
    write_decimal(number, 16, -4, out);
    let written = &out[before..];
    if !written.contains(['.', 'e']) {
        out.push_str(".0");
    }
}

/// Prints without an exponent while the decimal point lies in `(low, high]`.
fn write_decimal(number: f64, high: i32, low: i32, out: &mut String) {
    let (digits, point) = shortest(number);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    if number < 0.0 {
        out.push('-');
    }
    if point > low && point <= high {
        if point <= 0 {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize));
            out.push_str(&digits);
        } else if count <= point {
            out.push_str(&digits);
            out.extend(std::iter::repeat_n(
                '0',
                (point - count).unsigned_abs() as usize,
            ));
        } else {
            let (whole, fraction) = digits.split_at(point.unsigned_abs() as usize);
            out.push_str(whole);
            out.push('.');
            out.push_str(fraction);
        }
        return;
    }
    let (first, rest) = digits.split_at(1);
    out.push_str(first);
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
    let exponent = point - 1;
    let sign = if exponent < 0 { '-' } else { '+' };
    let width = if high == 16 { 2 } else { 1 };
    let _ = write!(out, "e{sign}{:0width$}", exponent.unsigned_abs());
}

/// Reads JSON that is known to be well-formed and not too deep.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self) -> Result<Node<'a>, CanonicalError> {
        match self.peek()? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => Ok(Node::String(self.string()?)),
            b't' => self.word("true", Node::Bool(true)),
            b'f' => self.word("false", Node::Bool(false)),
            b'n' => self.word("null", Node::Null),
            _ => self.number(),
        }
    }

    fn peek(&mut self) -> Result<u8, CanonicalError> {
        let bytes = self.text.as_bytes();
        while bytes
            .get(self.at)
            .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
        {
            self.at += 1;
        }
        bytes.get(self.at).copied().ok_or(CanonicalError::Syntax)
    }

    fn word(&mut self, word: &str, node: Node<'a>) -> Result<Node<'a>, CanonicalError> {
        self.at += word.len();
        Ok(node)
    }

    fn number(&mut self) -> Result<Node<'a>, CanonicalError> {
        let rest = self.text.get(self.at..).ok_or(CanonicalError::Syntax)?;
        let length = rest
            .bytes()
            .take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .count();
        if length == 0 {
            return Err(CanonicalError::Syntax);
        }
        self.at += length;
        Ok(Node::Number(&rest[..length]))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, CanonicalError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        self.at += 1;
        loop {
            match bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(_) => self.at += 1,
                None => return Err(CanonicalError::Syntax),
            }
        }
        self.at += 1;
        let token = &self.text[start..self.at];
        if escaped {
            let decoded: String =
                serde_json::from_str(token).map_err(|_| CanonicalError::Syntax)?;
            Ok(Cow::Owned(decoded))
        } else {
            Ok(Cow::Borrowed(&token[1..token.len() - 1]))
        }
    }

    fn array(&mut self) -> Result<Node<'a>, CanonicalError> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            match self.peek()? {
                b']' => {
                    self.at += 1;
                    return Ok(Node::Array(items));
                }
                b',' => self.at += 1,
                _ => items.push(self.value()?),
            }
        }
    }

    fn object(&mut self) -> Result<Node<'a>, CanonicalError> {
        self.at += 1;
        let mut fields: Vec<(Cow<'a, str>, Node<'a>)> = Vec::new();
        loop {
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Self::unique(fields);
                }
                b',' => self.at += 1,
                _ => {
                    let key = self.string()?;
                    self.peek()?;
                    self.at += 1;
                    fields.push((key, self.value()?));
                }
            }
        }
    }

    fn unique(fields: Vec<(Cow<'a, str>, Node<'a>)>) -> Result<Node<'a>, CanonicalError> {
        let mut keys: Vec<&str> = fields.iter().map(|(key, _)| key.as_ref()).collect();
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(CanonicalError::DuplicateKey(pair[0].to_owned())),
            None => Ok(Node::Object(fields)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str, form: Form) -> String {
        let payload = Payload::parse(text.to_owned()).unwrap();
        Node::of(&payload).unwrap().print(form)
    }

    #[test]
    fn rfc_8785_numbers_and_keys() {
        let text = r#" {"\u20ac":"\u20ac$","b":[56.0,1e30,4.50,2e-3,1e-27,-0.0], "a":"\u000f\nA'\"\\\/"} "#;
        assert_eq!(
            canonical(text, Form::Jcs),
            r#"{"a":"\u000f\nA'\"\\/","b":[56,1e+30,4.5,0.002,1e-27,0],"€":"€$"}"#
        );
    }

    #[test]
    fn long_numbers_stay_apart() {
        let one = canonical("[12345678901234567890123]", Form::Jcs);
        let other = canonical("[12345678901234567890124]", Form::Jcs);
        assert_ne!(one, other);
        assert_ne!(
            canonical("[0.10000000000000000001]", Form::Jcs),
            canonical("[0.1]", Form::Jcs)
        );
    }

    #[test]
    fn numbers_that_no_double_holds_keep_their_spelling() {
        for form in [Form::Jcs, Form::CacheKey] {
            let texts = [
                "0",
                "1e-400",
                "2e-400",
                "-1e-400",
                "0.1e-399",
                "1E-400",
                "4e-324",
                "5e-324",
                "1e-323",
                "1.1e-310",
                "1.10001e-310",
                "1e400",
                "2e400",
                "-1e400",
            ];
            let mut seen = std::collections::HashSet::new();
            for text in texts {
                assert!(seen.insert(canonical(&format!("[{text}]"), form)), "{text}");
            }
        }
        for zero in ["0", "-0", "0.0", "0e5", "0e-400", "-0.000e999"] {
            assert_eq!(canonical(&format!("[{zero}]"), Form::Jcs), "[0]");
        }
        assert_eq!(
            canonical("[2.5e-308,1.5e308]", Form::Jcs),
            "[2.5e-308,1.5e+308]"
        );
    }

    #[test]
    fn cache_keys_print_numbers_as_python_does() {
        assert_eq!(
            canonical(
                "[1, 1.0, 1e2, 1e16, 0.0001, 0.00001, 1.50, -2.5e-7]",
                Form::CacheKey
            ),
            "[1,1.0,100.0,1e+16,0.0001,1e-05,1.5,-2.5e-07]"
        );
    }

    #[test]
    fn a_key_given_twice_is_refused() {
        let payload = Payload::parse(r#"{"a":1,"\u0061":2}"#.to_owned()).unwrap();
        assert_eq!(
            Node::of(&payload),
            Err(CanonicalError::DuplicateKey("a".to_owned()))
        );
    }
}
