//! Sessions in cookies: `Cookie: theme=dark; session_id=…`, `Set-Cookie: sid=…`, `--cookie 'session=…'`.

use super::Finder;
use super::shape::Shape;
use super::value::is_stand_in;
use crate::prefilter::Hit;

/// Shorter values are settings.
const SHORTEST: usize = 16;
const LONGEST_NAME: usize = 64;

impl Finder<'_, '_> {
    /// Reads the pairs behind the word `cookie`; those that were read are not read again.
    pub(super) fn cookies(&mut self, hit: Hit) {
        if self.around.identifier || hit.start < self.cookies_until {
            return;
        }
        let text = self.text;
        let bytes = text.as_bytes();
        let Some(mut at) = first_pair(bytes, hit.end) else {
            return;
        };
        while let Some((name, end)) = name(text, at) {
            let start = end + 1;
            let length = bytes[start..].iter().take_while(|byte| is_value(**byte));
            at = start + length.count();
            let value = &text[start..at];
            if self.is_session(name) && is_secret(value) {
                self.add(start, at, &self.detector.named);
            }
            if bytes.get(at) != Some(&b';') {
                break;
            }
            at += 1 + usize::from(bytes.get(at + 1) == Some(&b' '));
        }
        self.cookies_until = at;
    }

    fn is_session(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let cookies = &self.detector.rules.names.cookies;
        cookies.iter().any(|word| name.contains(word.as_str()))
    }
}

/// Where the first pair begins behind the word: after a colon, an equals sign, a comma or a space.
fn first_pair(bytes: &[u8], from: usize) -> Option<usize> {
    let joins = |byte: &&u8| matches!(**byte, b' ' | b'"' | b'\'' | b':' | b'=' | b',' | b'\\');
    let length = bytes.get(from..)?.iter().take(6).take_while(joins).count();
    (length > 0).then_some(from + length)
}

/// The name of a pair and where its equals sign stands.
fn name(text: &str, at: usize) -> Option<(&str, usize)> {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.$".contains(byte);
    let bytes = text.as_bytes().get(at..)?;
    let length = bytes.iter().take(LONGEST_NAME).take_while(is_name).count();
    (length > 0 && bytes.get(length) == Some(&b'='))
        .then_some((&text[at..at + length], at + length))
}

fn is_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b";\"',\\[<>{}".contains(&byte)
}

fn is_secret(value: &str) -> bool {
    value.len() >= SHORTEST && Shape::of(value).is_token() && !is_stand_in(value)
}
