//! JSON as people write it: comments and trailing commas are read, everything else is
//! strict. Written by hand because places, comments and one node at a time are wanted
//! together.

use std::borrow::Cow;

use super::{
    Fault, Item, Kind, MAX_DEPTH, Sink,
    nested::{self, Each, Nested},
    stretch,
};
use crate::problem::Place;

pub(super) fn read<'t>(text: &'t str, sink: Sink<'_, 't>) -> Result<(), Fault> {
    let mut reader = Reader::new(text);
    reader.space()?;
    nested::entries(&mut reader, sink)?;
    reader.end()
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    /// Where the line begins.
    start: usize,
    /// How many bytes since then do not begin a character.
    inner: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            line: 1,
            start: 0,
            inner: 0,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Where the reader is; everything that is passed keeps count of lines and characters.
    fn place(&self) -> Place {
        let column = self.at - self.start - self.inner + 1;
        Place {
            line: self.line,
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    /// Passes a byte that can be any.
    fn pass(&mut self, byte: u8) {
        self.at += 1;
        if byte == b'\n' {
            self.line = self.line.saturating_add(1);
            self.start = self.at;
            self.inner = 0;
        } else if stretch::is_inner(byte) {
            self.inner += 1;
        }
    }

    fn wanted<T>(&self, what: &str) -> Result<T, Fault> {
        let found = match self.text[self.at..].chars().next() {
            None => "the end of the file".to_owned(),
            Some(found) => format!("`{}`", found.escape_debug()),
        };
        let message = format!("expected {what}, found {found}");
        Err(Fault::syntax(self.place(), message))
    }

    /// Passes white space and comments.
    #[inline]
    fn space(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b' ' | b'\t' | b'\r' | b'\n' | b'#' | b'/') => self.some_space(),
            Some(_) | None => Ok(()),
        }
    }

    fn some_space(&mut self) -> Result<(), Fault> {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.pass(byte),
                b'#' => self.line_comment(),
                b'/' if self.bytes.get(self.at + 1) == Some(&b'/') => self.line_comment(),
                b'/' if self.bytes.get(self.at + 1) == Some(&b'*') => self.block_comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    fn line_comment(&mut self) {
        while let Some(byte) = self.peek().filter(|&byte| byte != b'\n') {
            self.pass(byte);
        }
    }

    fn block_comment(&mut self) -> Result<(), Fault> {
        let start = self.place();
        self.at += 2;
        while let Some(byte) = self.peek() {
            if byte == b'*' && self.bytes.get(self.at + 1) == Some(&b'/') {
                self.at += 2;
                return Ok(());
            }
            self.pass(byte);
        }
        Err(Fault::syntax(start, "this comment is never closed"))
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Item<'a>>, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space()?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(items);
            }
            items.push(self.item(depth + 1)?);
            self.space()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {}
                Some(_) | None => return self.wanted("`,` or `]`"),
            }
        }
    }

    fn word(&mut self, word: &str, kind: Kind<'a>) -> Result<Kind<'a>, Fault> {
        let rest = &self.bytes[self.at..];
        let ends = |byte: &u8| !byte.is_ascii_alphanumeric();
        if rest.starts_with(word.as_bytes()) && rest.get(word.len()).is_none_or(ends) {
            self.at += word.len();
            return Ok(kind);
        }
        self.wanted("a value")
    }

    fn number(&mut self) -> Result<Kind<'a>, Fault> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let written = &rest[..length];
        let parsed: Result<serde_json::Number, _> = serde_json::from_str(written);
        if parsed.is_err() {
            return self.wanted("a number");
        }
        self.at += length;
        Ok(Kind::Number(Cow::Borrowed(written)))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let start = self.at + 1;
        let (mut end, mut inner) = (start, 0);
        let mut is_plain = true;
        loop {
            let plain = stretch::plain(self.bytes.get(end..).unwrap_or_default());
            end += plain.length;
            inner += plain.inner;
            match self.bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    is_plain = false;
                    // What it stands before must be ASCII, or the text is refused.
                    end += 2;
                }
                Some(_) | None => {
                    return Err(Fault::syntax(
                        self.place(),
                        "this text has no closing quote on its line (a new line is written \\n)",
                    ));
                }
            }
        }
        let text = if is_plain {
            Cow::Borrowed(&self.text[start..end])
        } else {
            let quoted = &self.text[start - 1..=end];
            let read: Result<String, _> = serde_json::from_str(quoted);
            let bad = "this text has a bad `\\` escape";
            Cow::Owned(read.map_err(|_| Fault::syntax(self.place(), bad))?)
        };
        self.at = end + 1;
        self.inner += inner;
        Ok(text)
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.space()?;
        match self.peek() {
            None => Ok(()),
            Some(_) => self.wanted("the end of the file"),
        }
    }
}

impl<'a> Nested<'a> for Reader<'a> {
    fn is_at_map(&mut self) -> bool {
        self.peek() == Some(b'{')
    }

    fn item(&mut self, depth: usize) -> Result<Item<'a>, Fault> {
        let place = self.place();
        if depth > MAX_DEPTH {
            return Err(Fault::too_deep(place));
        }
        let kind = match self.peek() {
            Some(b'{') => Kind::Map(nested::fields(self, depth)?),
            Some(b'[') => Kind::List(self.list(depth)?),
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(_) | None => return self.wanted("a value"),
        };
        Ok(Item { place, kind })
    }

    fn map(&mut self, each: Each<'_, 'a, Self>) -> Result<(), Fault> {
        if self.peek() != Some(b'{') {
            return self.wanted("`{`");
        }
        self.at += 1;
        loop {
            self.space()?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(());
            }
            let place = self.place();
            if self.peek() != Some(b'"') {
                return self.wanted("a name in quotes or `}`");
            }
            let key = self.string()?;
            self.space()?;
            if self.peek() != Some(b':') {
                return self.wanted("`:`");
            }
            self.at += 1;
            self.space()?;
            each(self, key, place)?;
            self.space()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {}
                Some(_) | None => return self.wanted("`,` or `}`"),
            }
        }
    }
}
