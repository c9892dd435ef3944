//! Binary content inside JSON, kept away from rules that are made for text.
//!
//! An image in base64 holds every pattern there is. Only what says its type, and
//! really is base64, counts as binary; everything else is text and is cleaned.
//!
//! The text is read once and its contents are never copied before they are put back:
//! neither their size nor their number may make this slow.

use std::ops::Range;

use memchr::{memchr2, memmem};
use tollgate_core::Payload;

/// What shorter strings are is not worth asking.
const SHORTEST: usize = 64;
/// How many spellings of the word that stands for a content are tried.
const SPELLINGS: usize = 8;

/// A payload whose binary content was taken out.
pub(crate) struct Emptied<'a> {
    /// The payload with a word in the place of each content.
    pub(crate) payload: Payload,
    /// The contents with their quotes, in the order of the text.
    taken: Vec<&'a str>,
    word: String,
}

/// Takes binary content out; nothing if there is none.
pub(crate) fn take(payload: &Payload) -> Option<Emptied<'_>> {
    let raw = payload.raw();
    memmem::find(raw.as_bytes(), b"\"mimeType\"")?;
    let spans = Reader::new(raw).spans();
    if spans.is_empty() {
        return None;
    }
    let gaps = gaps(raw, &spans);
    let word = unused(&gaps)?;
    let mut text = String::with_capacity(gaps.iter().map(|gap| gap.len() + 32).sum());
    for (number, gap) in gaps.iter().enumerate() {
        if number > 0 {
            text.push_str(&numbered(&word, number - 1));
        }
        text.push_str(gap);
    }
    Some(Emptied {
        payload: Payload::parse(text).ok()?,
        taken: spans.into_iter().map(|span| &raw[span]).collect(),
        word,
    })
}

impl Emptied<'_> {
    /// Puts the content back. What cannot be told any more stays away.
    pub(crate) fn refill(&self, clean: &Payload) -> Option<Payload> {
        let mut rest = clean.raw();
        let taken: usize = self.taken.iter().map(|content| content.len()).sum();
        let mut text = String::with_capacity(rest.len() + taken);
        for (number, content) in self.taken.iter().enumerate() {
            let word = numbered(&self.word, number);
            if let Some((before, after)) = rest.split_once(&word) {
                text.push_str(before);
                text.push_str(content);
                rest = after;
            }
        }
        text.push_str(rest);
        Payload::parse(text).ok()
    }
}

/// What stands between the contents.
fn gaps<'a>(raw: &'a str, spans: &[Range<usize>]) -> Vec<&'a str> {
    let starts = std::iter::once(0).chain(spans.iter().map(|span| span.end));
    let ends = spans.iter().map(|span| span.start);
    starts
        .zip(ends.chain(std::iter::once(raw.len())))
        .map(|(start, end)| &raw[start..end])
        .collect()
}

/// A word that says nothing in this text yet.
fn unused(gaps: &[&str]) -> Option<String> {
    let mut word = "binary content".to_owned();
    for _ in 0..SPELLINGS {
        if !gaps.iter().any(|gap| gap.contains(&word)) {
            return Some(word);
        }
        word.push_str(" here");
    }
    None
}

fn numbered(word: &str, number: usize) -> String {
    format!("\"({word} {number})\"")
}

/// Looks for contents in text that is known to be well-formed and not too deep.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    found: Vec<Range<usize>>,
}

/// An object whose end was not seen yet.
#[derive(Default)]
struct Open {
    is_typed: bool,
    /// What is binary if it says its type, before or after.
    contents: Vec<Range<usize>>,
    key: Key,
}

/// What the next value of an object is.
#[derive(Clone, Copy, Default, PartialEq)]
enum Key {
    Type,
    Content,
    #[default]
    Other,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            found: Vec::new(),
        }
    }

    /// The strings that are binary content, with their quotes, in order.
    fn spans(mut self) -> Vec<Range<usize>> {
        // One entry for each array or object that is open; arrays have no keys.
        let mut open: Vec<Option<Open>> = Vec::new();
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b'{' => open.push(Some(Open::default())),
                b'[' => open.push(None),
                b'}' | b']' => {
                    if let Some(Some(object)) = open.pop()
                        && object.is_typed
                    {
                        self.found.extend(object.contents);
                    }
                }
                b'"' => {
                    let span = self.string();
                    if let Some(Some(object)) = open.last_mut() {
                        self.string_in(object, span);
                    }
                    continue;
                }
                b',' => {
                    if let Some(Some(object)) = open.last_mut() {
                        object.key = Key::Other;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        self.found.sort_unstable_by_key(|span| span.start);
        self.found
    }

    /// A string inside an object: a key if a colon follows, else a value.
    fn string_in(&self, object: &mut Open, span: Range<usize>) {
        let after = self.text.as_bytes()[self.at..]
            .iter()
            .find(|byte| !byte.is_ascii_whitespace());
        let inside = &self.text[span.start + 1..span.end - 1];
        if after == Some(&b':') {
            object.key = match inside {
                "mimeType" => Key::Type,
                "data" | "blob" => Key::Content,
                _ => Key::Other,
            };
            return;
        }
        match object.key {
            Key::Type => object.is_typed = true,
            Key::Content if is_base64(inside) => object.contents.push(span),
            Key::Content | Key::Other => {}
        }
    }

    /// Passes a string; its place, quotes included.
    fn string(&mut self) -> Range<usize> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(rest) = bytes.get(self.at..) {
            match memchr2(b'"', b'\\', rest) {
                Some(next) if rest[next] == b'"' => {
                    self.at += next + 1;
                    break;
                }
                Some(next) => self.at += next + 2,
                None => self.at = bytes.len() + 1,
            }
        }
        self.at = self.at.min(bytes.len());
        start..self.at
    }
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() >= SHORTEST
        && text.len() - body.len() <= 2
        && body.as_bytes().chunks(SHORTEST).all(are_digits)
}

/// Whether all of them are digits of base64; without a branch, so that many are looked at at once.
fn are_digits(bytes: &[u8]) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() | (byte == b'+') | (byte == b'/');
    bytes.iter().fold(true, |all, byte| all & is_digit(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(text: &str) -> Payload {
        Payload::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn only_typed_base64_is_binary() {
        let content = "QUtJ".repeat(20);
        let typed = payload(&format!(
            r#"{{"type":"image","mimeType":"image/png","data":"{content}","x":1.50}}"#
        ));
        let emptied = take(&typed).unwrap();
        assert!(!emptied.payload.raw().contains("QUtJ"));
        assert_eq!(emptied.refill(&emptied.payload).unwrap(), typed);
        for text in [
            format!(r#"{{"data":"{content}"}}"#),
            format!(r#"{{"mimeType":"a/b","text":"{content}"}}"#),
            format!(r#"{{"mimeType":7,"data":"{content}"}}"#),
            format!(r#"{{"mimeType":{{"mimeType":"a/b"}},"data":"{content}"}}"#),
            format!(r#"{{"mimeType":"a/b","data":["{content}"]}}"#),
            format!(r#"{{"mimeType":"a/b","data":{{"x":"{content}"}}}}"#),
            format!(r#"{{"x":"\"mimeType\":\"a/b\"","data":"{content}","y":["mimeType"]}}"#),
            format!(r#"{{"mimeType":"a/b","data":"{content}A"}}"#),
            r#"{"mimeType":"text/plain","data":"call me at 13800138000"}"#.to_owned(),
            r#"{"mimeType":"image/png","data":"AKIAIOSFODNN7EXAMPLE"}"#.to_owned(),
        ] {
            assert!(take(&payload(&text)).is_none(), "{text}");
        }
    }

    #[test]
    fn many_contents_come_back_to_their_places() {
        let content = "QUtJ".repeat(20);
        // They begin alike, one stands there twice, one before its type, one further inside.
        let (one, other) = (format!("{content}QUtK"), format!("{content}QUtM"));
        let several = payload(&format!(
            r#"[{{"data" : "{one}" , "mimeType" : "a/b"}},{{"mimeType":"a/b","blob":"{other}",
                "more":{{"mimeType":"a/b","data":"{content}"}}}},{{"mimeType":"a/b","data":"{one}"}}]"#
        ));
        let emptied = take(&several).unwrap();
        assert_eq!(emptied.taken.len(), 4);
        assert!(!emptied.payload.raw().contains("QUt"));
        assert_eq!(emptied.refill(&emptied.payload).unwrap(), several);
    }

    #[test]
    fn a_text_that_says_our_word_changes_nothing() {
        let content = "QUtJ".repeat(20);
        let text = format!(
            r#"{{"a":"(binary content 0)","b":"binary content here","mimeType":"a/b","data":"{content}"}}"#
        );
        let text = payload(&text);
        let emptied = take(&text).unwrap();
        assert!(!emptied.payload.raw().contains("QUt"));
        assert_eq!(emptied.refill(&emptied.payload).unwrap(), text);
        // Somebody who wants to be found out is: then it is text like any other.
        let all = (0..=SPELLINGS).fold(String::new(), |all, _| all + " here");
        let hostile = payload(&format!(
            r#"{{"a":"binary content{all}","mimeType":"a/b","data":"{content}"}}"#
        ));
        assert!(take(&hostile).is_none());
    }

    #[test]
    fn tens_of_thousands_of_contents_are_read_once() {
        let one = format!(r#"{{"mimeType":"a/b","data":"{}"}}"#, "QUtJ".repeat(20));
        let all = payload(&format!("[{}]", vec![one; 30_000].join(",")));
        let emptied = take(&all).unwrap();
        assert_eq!(emptied.taken.len(), 30_000);
        assert_eq!(emptied.refill(&emptied.payload).unwrap(), all);
    }
}
