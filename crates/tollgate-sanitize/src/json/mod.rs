//! Walks JSON bytes and rewrites string tokens only.
//!
//! Everything else keeps its spelling: numbers, whitespace, key order, duplicate keys. The walk is iterative, so depth
//! costs memory only and is bounded.

mod escape;
mod key_lines;
mod lexer;

use std::borrow::Cow;

use crate::detect::{Hits, Surroundings, Telling};
use crate::prefilter::{Hit, Target};
use crate::sanitizer::Sanitizer;
use crate::scope::Segment;
use crate::strip::visible;
use crate::{Cleaned, Findings, Scope, placeholder, taint};
use key_lines::KeyLines;
use lexer::{Frame, Lexer, Token};

/// Text that is not JSON, or nested too deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The text stops being JSON at this byte.
    #[error("not valid json at byte {offset}")]
    Syntax {
        /// Where it stops being JSON.
        offset: usize,
    },
    /// Arrays and objects are nested too deep.
    #[error("json is nested deeper than {limit} levels")]
    TooDeep {
        /// How deep it may be.
        limit: usize,
    },
}

/// Cleans a JSON text.
pub(crate) fn clean<'a>(
    sanitizer: &Sanitizer,
    raw: &'a str,
    scope: &Scope<'_>,
) -> Result<Cleaned<'a>, JsonError> {
    let mut rewriter = Rewriter {
        sanitizer,
        scope,
        raw,
        hits: Vec::new(),
        next_hit: 0,
        out: String::new(),
        copied: 0,
        names: Vec::new(),
        known: Vec::new(),
        key_lines: KeyLines::default(),
        findings: Findings::default(),
        escapes: scope.escapes && may_look_like_placeholder(raw),
    };
    sanitizer.detector().prefilter.scan(raw, &mut rewriter.hits);
    let mut lexer = Lexer::new(raw);
    while let Some(token) = lexer.next()? {
        rewriter.string(&token, lexer.stack());
    }
    let text = if rewriter.copied == 0 {
        Cow::Borrowed(raw)
    } else {
        rewriter.out.push_str(&raw[rewriter.copied..]);
        Cow::Owned(rewriter.out)
    };
    Ok(Cleaned {
        text,
        findings: rewriter.findings,
    })
}

/// Rewrites the strings of a JSON text for which `change` has another text; it is told which are names.
pub fn with_strings<'a>(
    raw: &'a str,
    mut change: impl FnMut(&str, bool) -> Option<String>,
) -> Result<Cow<'a, str>, JsonError> {
    let mut out = String::new();
    let mut copied = 0;
    let mut lexer = Lexer::new(raw);
    while let Some(token) = lexer.next()? {
        let body = &raw[token.start..token.end];
        let text = if token.has_escapes() {
            escape::decode(body)
        } else {
            Cow::Borrowed(body)
        };
        if let Some(text) = change(&text, token.is_name()) {
            out.push_str(&raw[copied..token.start]);
            escape::encode(&text, &mut out);
            copied = token.end;
        }
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(raw));
    }
    out.push_str(&raw[copied..]);
    Ok(Cow::Owned(out))
}

/// Whether a string in it may look like a placeholder, also where its characters are escaped.
pub fn may_look_like_placeholder(raw: &str) -> bool {
    let has = |part: &str| memchr::memmem::find(raw.as_bytes(), part.as_bytes()).is_some();
    has("REDACTED") || has("\\u00")
}

/// How many names are remembered; looking through more would cost what it saves.
const MOST_KNOWN: usize = 16;

/// The field name in force at one depth of the walk.
#[derive(Debug, Clone, Default)]
struct Name<'a> {
    text: Cow<'a, str>,
    telling: Option<Telling>,
}

struct Rewriter<'a, 's> {
    sanitizer: &'s Sanitizer,
    scope: &'s Scope<'s>,
    raw: &'a str,
    hits: Vec<Hit>,
    next_hit: usize,
    out: String,
    copied: usize,
    names: Vec<Name<'a>>,
    /// The last names that needed a closer look and passed it: the objects of a list repeat them.
    known: Vec<(&'a str, Option<Telling>)>,
    key_lines: KeyLines,
    findings: Findings,
    /// Something in it looks like a placeholder and is none.
    escapes: bool,
}

impl<'a> Rewriter<'a, '_> {
    fn string(&mut self, token: &Token, stack: &[Frame]) {
        let (from, to) = self.hits_in(token.start, token.end);
        let body = &self.raw[token.start..token.end];
        if token.is_name() {
            self.name(token, body, from..to, stack.len());
            return;
        }
        let may_be_key = from < to || !token.is_plain() || !self.key_lines.is_idle();
        if may_be_key && self.key_lines.is_line(&seen(token, body), stack) {
            self.key_line(token, body);
            return;
        }
        // An array hands its own field name on to its elements.
        let owner = stack
            .iter()
            .rposition(|frame| matches!(frame, Frame::Object));
        let name = owner.and_then(|depth| self.names.get(depth));
        let telling = name.and_then(|name| name.telling);
        if !self.escapes && !token.is_suspect() && telling.is_none() && self.is_harmless(from..to) {
            return;
        }
        let text = if token.has_escapes() {
            escape::decode(body)
        } else {
            Cow::Borrowed(body)
        };
        let around = Surroundings {
            field: name.map(|name| name.text.as_ref()),
            telling,
            identifier: !self.scope.identifiers.is_empty()
                && self
                    .scope
                    .identifiers
                    .covers(name.map(|name| name.text.as_ref()), &self.path(stack)),
            is_name: false,
            is_plain: token.is_plain(),
            is_view: false,
            seals: self.scope.seals,
            escapes: self.scope.escapes,
        };
        if from == to
            && !self.escapes
            && token.is_plain()
            && telling.is_none()
            && !self.sanitizer.detector().has_numbers(body, &around)
        {
            return;
        }
        let hits = (!token.has_escapes()).then(|| self.hits(from..to, token));
        let cleaned = self.sanitizer.pass(text, hits, &around);
        if self.scope.open_world && (cleaned.phrases || taint::has_wide_letters(&cleaned.text)) {
            let pointer = || pointer(&self.path(stack));
            let mut spans = Vec::new();
            taint::mark(
                self.sanitizer.detector(),
                &cleaned.text,
                taint::MOST_SPANS,
                &pointer,
                &mut spans,
            );
            self.findings.tainted.extend(spans);
        }
        if cleaned.changed {
            self.replace(token, &cleaned.text);
        }
        self.findings.merge(cleaned.findings);
    }

    fn key_line(&mut self, token: &Token, body: &str) {
        let label = self.sanitizer.detector().private_key();
        self.findings.add(&label.id, label.kind, 1);
        let line = if token.has_escapes() {
            escape::decode(body)
        } else {
            Cow::Borrowed(body)
        };
        let seals = self.scope.seals;
        let id = seals.and_then(|seals| seals.seal(&label.id, &line, 0..line.len()));
        let text = placeholder::named(&label.replacement, &label.id, id.as_deref());
        self.replace(token, &text);
    }

    /// Whether nothing can come of these hits in a string that is not suspect: a link without `@` has no password.
    fn is_harmless(&self, hits: std::ops::Range<usize>) -> bool {
        let prefilter = &self.sanitizer.detector().prefilter;
        let mut hits = self.hits.get(hits).unwrap_or_default().iter();
        hits.all(|hit| prefilter.targets(*hit) == [Target::Link])
    }

    fn name(&mut self, token: &Token, body: &'a str, hits: std::ops::Range<usize>, depth: usize) {
        if self.names.len() < depth {
            self.names.resize(depth, Name::default());
        }
        let name = if token.has_escapes() || self.escapes {
            self.cleaned_name(token, body, hits)
        } else if !hits.is_empty() || token.is_suspect() {
            self.looked_up_name(token, body, hits)
        } else {
            Name {
                text: Cow::Borrowed(body),
                telling: None,
            }
        };
        if let Some(known) = self.names.get_mut(depth.wrapping_sub(1)) {
            *known = name;
        }
    }

    /// A name without escapes means the same wherever it stands.
    fn looked_up_name(
        &mut self,
        token: &Token,
        body: &'a str,
        hits: std::ops::Range<usize>,
    ) -> Name<'a> {
        if let Some(&(_, telling)) = self.known.iter().find(|(known, _)| *known == body) {
            return Name {
                text: Cow::Borrowed(body),
                telling,
            };
        }
        let name = self.cleaned_name(token, body, hits);
        if matches!(name.text, Cow::Borrowed(_)) {
            self.known.truncate(MOST_KNOWN - 1);
            self.known.insert(0, (body, name.telling));
        }
        name
    }

    fn cleaned_name(
        &mut self,
        token: &Token,
        body: &'a str,
        hits: std::ops::Range<usize>,
    ) -> Name<'a> {
        let text = if token.has_escapes() {
            escape::decode(body)
        } else {
            Cow::Borrowed(body)
        };
        let given = (!token.has_escapes()).then(|| self.hits(hits, token));
        let around = Surroundings {
            is_name: true,
            is_plain: token.is_plain(),
            seals: self.scope.seals,
            escapes: self.scope.escapes,
            ..Surroundings::default()
        };
        let cleaned = self.sanitizer.pass(text, given, &around);
        let telling = match given {
            Some(given) if !cleaned.changed => {
                self.sanitizer.detector().tells(&cleaned.text, given)
            }
            _ => self.tells(&cleaned.text),
        };
        if cleaned.changed {
            self.replace(token, &cleaned.text);
        }
        self.findings.merge(cleaned.findings);
        Name {
            text: cleaned.text,
            telling,
        }
    }

    fn replace(&mut self, token: &Token, text: &str) {
        self.out.push_str(&self.raw[self.copied..token.start]);
        escape::encode(text, &mut self.out);
        self.copied = token.end;
    }

    /// The hits that lie within a string; strings are asked for in order.
    fn hits_in(&mut self, start: usize, end: usize) -> (usize, usize) {
        while self
            .hits
            .get(self.next_hit)
            .is_some_and(|hit| hit.start < start)
        {
            self.next_hit += 1;
        }
        let from = self.next_hit;
        while self
            .hits
            .get(self.next_hit)
            .is_some_and(|hit| hit.start < end)
        {
            self.next_hit += 1;
        }
        (from, self.next_hit)
    }

    fn hits(&self, range: std::ops::Range<usize>, token: &Token) -> Hits<'_> {
        Hits {
            list: self.hits.get(range).unwrap_or_default(),
            offset: token.start,
        }
    }

    fn tells(&self, name: &str) -> Option<Telling> {
        let mut list = Vec::new();
        self.sanitizer.detector().prefilter.scan(name, &mut list);
        self.sanitizer.detector().tells(
            name,
            Hits {
                list: &list,
                offset: 0,
            },
        )
    }

    fn path(&self, stack: &[Frame]) -> Vec<Segment<'_>> {
        stack
            .iter()
            .enumerate()
            .map(|(depth, frame)| match *frame {
                Frame::Array(index) => Segment::Index(index),
                Frame::Object => Segment::Key(
                    self.names
                        .get(depth)
                        .map_or("".into(), |name| name.text.as_ref().into()),
                ),
            })
            .collect()
    }
}

/// A string as it reads once it is clean of what cannot be seen.
fn seen<'a>(token: &Token, body: &'a str) -> Cow<'a, str> {
    if token.is_plain() {
        return Cow::Borrowed(body);
    }
    let text = if token.has_escapes() {
        escape::decode(body)
    } else {
        Cow::Borrowed(body)
    };
    Cow::Owned(visible(&text).into_owned())
}

fn pointer(path: &[Segment<'_>]) -> String {
    let mut out = String::new();
    for segment in path {
        out.push('/');
        match segment {
            Segment::Key(key) => out.push_str(&key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(index) => out.push_str(&index.to_string()),
        }
    }
    out
}
