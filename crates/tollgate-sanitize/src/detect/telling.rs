//! Values beside telling names: `api_key=…`, `"password": "…"`, `fooToken: …`, `vendor SECRET …`.
//!
//! A name is read around the telling word; what stands before and after it in the name can make it harmless.

use super::context::{each_word, last_word};
use super::value::is_secret;
use super::{Finder, Hits, MOST_FAILURES};
use crate::prefilter::{Hit, Target, Word};
use crate::rules::{Bytes, Names};

/// What a name tells about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Telling {
    /// Something with access, only beside a very random value.
    Weak,
    /// A key of nothing in particular, as often a place in a map.
    BareKey,
    /// A key of something.
    Key,
    /// A secret or token.
    Secret,
    /// A password, which may be a word.
    Password,
}

/// How a value is attached to its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// `name = "value"`.
    Quoted,
    /// `name = value`.
    Assigned,
    /// `name value`.
    Spaced,
    /// `name-value`.
    Glued,
    /// A JSON field.
    Field,
}

/// What a value without quotes may consist of.
static VALUE: Bytes = Bytes::of(b"_-./+=~%:!@#$^*?").and_alphanumeric();

/// By how much of a value it is judged; the rest of a secret goes with it.
const LONGEST_VALUE: usize = 512;
const LONGEST_GAP: usize = 28;
/// How far a name is read before the telling word, and behind it.
const LONGEST_NAME: usize = 48;
const LONGEST_TAIL: usize = 32;

/// A value that is no secret, and how many names within it were looked at; a flood of names in one word costs no more
/// than the word is long.
#[derive(Debug, Default)]
pub(super) struct Judged {
    until: usize,
    failures: usize,
}

impl<'r> Finder<'r, '_> {
    pub(super) fn word(&mut self, word: Word, hit: Hit) {
        if self.around.identifier || self.is_masked(hit.start) || self.is_judged(hit.start) {
            return;
        }
        // Most words in prose fail early: by what follows them, then by the length of the next word.
        let names = &self.detector.rules.names;
        let Some(end) = right_side(self.text, hit.start, hit.end, names) else {
            return;
        };
        let Some(place) = value_after(self.text, end, names) else {
            return;
        };
        let length = place.end - place.start;
        if place.start < self.named_until || length < shortest(word, place.join) {
            return;
        }
        let Some(telling) = left_side(self.text, hit.start, word, names) else {
            return;
        };
        let judge = |place: &Place| {
            let value = &self.text[place.start..place.end];
            is_secret(value, telling, place.join).then(|| whole_end(self.text, place))
        };
        let mut end = judge(&place);
        if end.is_none() && matches!(place.cut, Cut::Quote(_)) {
            end = unquoted(self.text, place.start, Join::Assigned).and_then(|place| judge(&place));
        }
        match end {
            Some(end) => {
                self.named_until = end;
                self.add(place.start, end, &self.detector.named);
            }
            None if hit.start < self.judged.until => self.judged.failures += 1,
            None => {
                self.judged = Judged {
                    until: place.end,
                    failures: 1,
                };
            }
        }
    }

    /// Whether a name lies in a value that has been judged often enough.
    fn is_judged(&self, at: usize) -> bool {
        at < self.judged.until && self.judged.failures >= MOST_FAILURES
    }

    /// The whole string, if the JSON field it belongs to is telling.
    pub(super) fn whole_value(&mut self) {
        if let Some(telling) = self.around.telling
            && !self.around.identifier
            && !self.around.is_name
        {
            let value = self.text.trim();
            let start = self.text.len() - self.text.trim_start().len();
            let same_as_name = self
                .around
                .field
                .is_some_and(|field| field.eq_ignore_ascii_case(value));
            if !same_as_name && is_secret(value, telling, Join::Field) {
                self.add(start, start + value.len(), &self.detector.named);
            }
        }
    }
}

impl super::Detector {
    /// What a whole field name tells, given the prefilter's hits in it.
    pub(crate) fn tells(&self, name: &str, hits: Hits<'_>) -> Option<Telling> {
        let mut best = None;
        for hit in hits.list {
            let hit = hit.shifted(hits.offset);
            for target in self.prefilter.targets(hit) {
                if let Target::Word(word) = *target
                    && right_side(name, hit.start, hit.end, &self.rules.names) == Some(name.len())
                    && let Some(telling) = left_side(name, hit.start, word, &self.rules.names)
                {
                    best = best.max(Some(telling));
                }
            }
        }
        best
    }
}

/// Below this length no value is looked at.
fn shortest(word: Word, join: Join) -> usize {
    match (word, join) {
        (Word::Weak, _) => 15,
        (_, Join::Spaced | Join::Glued) => 14,
        (_, Join::Quoted | Join::Assigned | Join::Field) => 4,
    }
}

/// What the word tells, given what stands before it in the name.
fn left_side(text: &str, start: usize, word: Word, names: &Names) -> Option<Telling> {
    let before = &text[text.ceil_char_boundary(start.saturating_sub(LONGEST_NAME))..start];
    let first = text.as_bytes().get(start).copied().unwrap_or_default();
    let last = before.bytes().next_back().unwrap_or(b' ');
    let same_case =
        last.is_ascii_alphabetic() && last.is_ascii_lowercase() == first.is_ascii_lowercase();
    let hump = last.is_ascii_alphabetic() && !same_case;
    // A capital followed by small letters begins a word; small letters after capitals may still be inside one.
    let prefix = before
        .rsplit(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    if same_case && !may_be_glued(prefix, word, names) {
        return None;
    }
    let qualifier = if same_case || hump {
        last_word(prefix)
    } else {
        let trimmed = before.trim_end_matches([' ', '_', '-', '.']);
        if trimmed.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            trimmed
                .rsplit(|c: char| !c.is_ascii_alphanumeric())
                .next()
                .and_then(last_word)
        } else {
            None
        }
    };
    let harmless = qualifier.is_some_and(|word| names.harmless_before.has(word));
    match word {
        Word::Password => Some(Telling::Password),
        Word::Secret if harmless && first.eq_ignore_ascii_case(&b't') => None,
        Word::Secret => Some(Telling::Secret),
        Word::Key if harmless => None,
        Word::Key => match qualifier {
            Some(word) if !is_filler(word) => Some(Telling::Key),
            _ => Some(Telling::BareKey),
        },
        Word::Weak => Some(Telling::Weak),
    }
}

fn may_be_glued(prefix: &str, word: Word, names: &Names) -> bool {
    match word {
        Word::Secret => true,
        Word::Password => prefix.len() >= 2,
        Word::Key => {
            let ends_with = |glued: &str| {
                prefix
                    .get(prefix.len().wrapping_sub(glued.len())..)
                    .is_some_and(|end| end.eq_ignore_ascii_case(glued))
            };
            names.glued.iter().any(ends_with)
        }
        Word::Weak => false,
    }
}

/// Words before `key` that say nothing about it.
fn is_filler(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    matches!(
        word.as_str(),
        "the"
            | "a"
            | "an"
            | "this"
            | "that"
            | "your"
            | "my"
            | "its"
            | "with"
            | "by"
            | "for"
            | "of"
            | "as"
            | "and"
            | "is"
            | "to"
            | "in"
            | "on"
            | "new"
            | "old"
            | "let"
            | "const"
            | "var"
            | "mut"
            | "self"
            | "if"
            | "or"
            | "string"
            | "str"
            | "pub"
            | "static"
            | "final"
            | "int"
            | "by_"
            | "data"
            | "e"
            | "s"
    )
}

/// Follows the name past the word; a harmless tail ends the matter.
fn right_side(text: &str, start: usize, end: usize, names: &Names) -> Option<usize> {
    let bytes = text.as_bytes();
    let shouted = bytes[start..end]
        .iter()
        .all(|byte| !byte.is_ascii_lowercase());
    let mut at = end;
    loop {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_digit() => {
                let run = bytes[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit())
                    .count();
                // A short number belongs to the name, a long one to the value.
                return (run <= 2 && !bytes.get(at + run).is_some_and(u8::is_ascii_alphanumeric))
                    .then_some(at + run);
            }
            Some(byte) if byte.is_ascii_alphabetic() => {
                let hump = (byte.is_ascii_uppercase() && !shouted)
                    || (byte.is_ascii_lowercase() && shouted);
                if at == end && !hump {
                    return None;
                }
                at = tail_word(text, at, names)?;
            }
            Some(b'_' | b'-') => match tail_after_separator(text, at, names) {
                Tail::Word(next) => at = next,
                Tail::Value => return Some(at),
                Tail::Harmless => return None,
            },
            _ => return Some(at),
        }
        if at > end + LONGEST_TAIL {
            return None;
        }
    }
}

/// Passes one word of the name's tail, unless it makes the name harmless.
fn tail_word(text: &str, at: usize, names: &Names) -> Option<usize> {
    let rest = &text[at..];
    let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let mut harmless = false;
    each_word(&rest[..length], |word| {
        harmless |= names.harmless_after.has(word);
    });
    (!harmless).then_some(at + length)
}

enum Tail {
    Word(usize),
    Value,
    Harmless,
}

fn tail_after_separator(text: &str, at: usize, names: &Names) -> Tail {
    let rest = &text.as_bytes()[at + 1..];
    let alnum = rest
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let letters = rest
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    if alnum == 0 {
        return Tail::Value;
    }
    if letters == 0 && alnum <= 2 {
        return Tail::Word(at + 1 + alnum);
    }
    // Something with digits, or longer than words are, is the value itself.
    if letters < alnum || letters > 14 {
        return Tail::Value;
    }
    tail_word(text, at + 1, names).map_or(Tail::Harmless, Tail::Word)
}

struct Place {
    start: usize,
    end: usize,
    join: Join,
    cut: Cut,
}

/// Whether a value goes on after its `LONGEST_VALUE` bytes.
#[derive(Debug, Clone, Copy)]
enum Cut {
    No,
    /// It goes on without quotes.
    Bare,
    /// It goes on up to this quote.
    Quote(u8),
}

/// Where a value ends that was cut for judging it.
fn whole_end(text: &str, place: &Place) -> usize {
    let rest = &text.as_bytes()[place.end..];
    let length = match place.cut {
        Cut::No => 0,
        Cut::Bare => rest.iter().take_while(|byte| VALUE.has(**byte)).count(),
        Cut::Quote(quote) => {
            let line = memchr::memchr2(quote, b'\n', rest).unwrap_or(rest.len());
            if rest.get(line) == Some(&quote) {
                line - usize::from(rest[..line].ends_with(b"\\"))
            } else {
                // The quote never closes: what follows the value is something else.
                rest.iter()
                    .take_while(|byte| byte.is_ascii_graphic())
                    .count()
            }
        }
    };
    place.end + length
}

/// Finds the value that follows a name, and how it is attached.
fn value_after(text: &str, from: usize, names: &Names) -> Option<Place> {
    let bytes = text.as_bytes();
    if let Some(at) = value_of_pair(bytes, from) {
        return match bytes.get(at) {
            Some(&quote @ (b'"' | b'\'')) => quoted(text, at + 1, quote, true),
            _ => unquoted(text, at, Join::Assigned),
        };
    }
    let mut at = from;
    let (mut assigned, mut spaced, mut compared, mut newlines) = (false, false, false, 0);
    loop {
        if at - from > LONGEST_GAP {
            return None;
        }
        match (
            *bytes.get(at)?,
            bytes.get(at + 1).copied().unwrap_or_default(),
        ) {
            (b':', b':') | (b'-', b'>') => return None,
            (b'=', b'=') => {
                compared = true;
                assigned = true;
                at += 1;
            }
            (b'=' | b':', _) => assigned = true,
            (b'>', next) => {
                if next == b'<' {
                    return None;
                }
                assigned = true;
            }
            (b',', _) if spaced || at > from => spaced = true,
            (b'(', b'"' | b'\'' | b'`') => spaced = true,
            (b'\n' | b'\r', _) => {
                newlines += 1;
                if newlines > 2 || assigned && newlines > 1 {
                    return None;
                }
                spaced = true;
            }
            (b' ' | b'\t' | b'|', _) => spaced = true,
            (b'\\', b'"' | b'\'') => {}
            (quote @ (b'"' | b'\'' | b'`'), _) => {
                let opening = assigned || spaced || (at > from && matches!(bytes[at - 1], b'('));
                if opening {
                    return quoted(text, at + 1, quote, assigned);
                }
            }
            (b']' | b')', _) if at > from => {}
            (b'-' | b'_' | b'.', next) if at == from && next.is_ascii_alphanumeric() => {
                return unquoted(text, at + 1, Join::Glued);
            }
            (b'-', b' ') if spaced => {}
            (b'b' | b'r' | b'u' | b'f' | b'@' | b'L' | b'N', b'"' | b'\'')
                if assigned || spaced => {}
            (0x80.., _) if !assigned && is_sign(&bytes[at..]) => {
                assigned = true;
                at += 2;
            }
            (first, _) if assigned || spaced => {
                if compared || !(first.is_ascii_graphic() || first >= 0x80) {
                    return None;
                }
                if let Some(next) = after_scheme(text, at, names) {
                    at = next;
                    continue;
                }
                let is_element = bytes.get(from) == Some(&b'>');
                let join = if is_element {
                    // `<name>value</name>` has an end as a quoted value has.
                    Join::Quoted
                } else if assigned {
                    Join::Assigned
                } else {
                    Join::Spaced
                };
                return unquoted(text, at, join);
            }
            _ => return None,
        }
        at += 1;
    }
}

/// Where the value begins in `name="…" value="…"` and `{"name": "…", "value": "…"}`.
fn value_of_pair(bytes: &[u8], from: usize) -> Option<usize> {
    let skip = |at: usize, most: usize, skipped: &[u8]| {
        let rest = bytes.get(at..).unwrap_or_default();
        let run = rest
            .iter()
            .take(most)
            .take_while(|byte| skipped.contains(byte));
        at + run.count()
    };
    let between = skip(skip(from, 1, b"\"'"), LONGEST_GAP, b", \t\r\n");
    let name = skip(between, 1, b"\"'");
    let word = bytes.get(name..name + 5)?;
    let behind = skip(skip(name + 5, 1, b"\"'"), 2, b" ");
    let is_pair = between > from && word.eq_ignore_ascii_case(b"value");
    let is_set = matches!(bytes.get(behind), Some(b':' | b'='));
    (is_pair && is_set).then(|| skip(behind + 1, 2, b" "))
}

/// Whether a full-width `:` or `=`, or a Chinese or Japanese word for "is", begins here; each has three bytes.
fn is_sign(rest: &[u8]) -> bool {
    ["：", "＝", "为", "為", "是", "は"]
        .iter()
        .any(|sign| rest.starts_with(sign.as_bytes()))
}

/// Skips `Bearer` and its like before the value itself.
fn after_scheme(text: &str, at: usize, names: &Names) -> Option<usize> {
    let rest = &text[at..];
    let length = rest
        .bytes()
        .take(20)
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        .count();
    (rest.as_bytes().get(length) == Some(&b' ') && names.schemes.has(&rest[..length]))
        .then_some(at + length + 1)
}

fn quoted(text: &str, start: usize, quote: u8, strong: bool) -> Option<Place> {
    let bytes = text.as_bytes();
    let limit = bytes.len().min(start + LONGEST_VALUE);
    let mut end = start;
    while end < limit && bytes[end] != quote && bytes[end] != b'\n' {
        end += if bytes[end] == b'\\' && end + 1 < limit && bytes[end + 1] != quote {
            2
        } else {
            1
        };
    }
    let end = end.min(limit);
    let join = if strong { Join::Quoted } else { Join::Spaced };
    if end == limit && limit < bytes.len() && !matches!(bytes[end], b'\n') && bytes[end] != quote {
        return Some(Place {
            start,
            end: text.floor_char_boundary(end),
            join,
            cut: Cut::Quote(quote),
        });
    }
    if bytes.get(end) != Some(&quote) {
        return unquoted(text, start, Join::Assigned);
    }
    let end = if end > start && bytes[end - 1] == b'\\' {
        end - 1
    } else {
        end
    };
    (end > start && text.is_char_boundary(end)).then_some(Place {
        start,
        end,
        join,
        cut: Cut::No,
    })
}

fn unquoted(text: &str, start: usize, join: Join) -> Option<Place> {
    let bytes = text.as_bytes();
    let rest = &bytes[start..bytes.len().min(start + LONGEST_VALUE)];
    let length = rest.iter().take_while(|byte| VALUE.has(**byte)).count();
    let mut end = start + length;
    if length == LONGEST_VALUE && bytes.get(end).is_some_and(|byte| VALUE.has(*byte)) {
        let cut = Cut::Bare;
        return Some(Place {
            start,
            end,
            join,
            cut,
        });
    }
    // A call, an index, a block or a type is code.
    let closing_tag = bytes[end..].starts_with(b"</");
    if matches!(bytes.get(end), Some(b'(' | b'[' | b'{' | b'<')) && !closing_tag {
        return None;
    }
    while !closing_tag && end > start && matches!(bytes[end - 1], b'.' | b':' | b'?') {
        end -= 1;
    }
    (end > start).then_some(Place {
        start,
        end,
        join,
        cut: Cut::No,
    })
}
