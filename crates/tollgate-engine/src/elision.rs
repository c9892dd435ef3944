//! Elision: a JSON text that is too long for its reader, shortened by one rule for every tool.
//!
//! Scalars and small fields stay, the largest parts are shortened first, a list keeps its first
//! items and says how many follow, a string is cut on a character boundary and says how long it
//! is. Parts that stay are copied as they were spelled.
//!
//! Invariants: what comes out is JSON of the same kind (an object stays an object), is not longer
//! than the limit, and depends on nothing but the text and the limits.

use std::borrow::Cow;

use serde_json::value::RawValue;
use tollgate_core::Fields;

/// Any value can be printed in this many bytes, with a note of what is missing.
const LEAST: usize = 48;
/// Scalars up to this length are kept before anything else gets room.
const SMALL: usize = 256;
/// The part of its room that a list gives each item before it drops the items after it.
const ITEM_PART: usize = 8;
/// Fields that say how a call went: they stay whole up to a quarter of their object's room.
const OUTCOME: [&str; 4] = ["\"status\"", "\"progress\"", "\"metrics\"", "\"summary\""];
/// What stands around the fields of an object and the items of a list.
const BRACKETS: usize = 2;
/// The key of the note in an object.
const NOTE: &str = "…";

/// How long a text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLimits {
    /// All of it, in bytes of JSON.
    pub bytes: usize,
    /// One string in it, in bytes.
    pub string_bytes: usize,
}

/// A text that was shortened where it had to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elision {
    /// JSON.
    pub text: String,
    /// Whether all of the original is in it.
    pub is_complete: bool,
}

/// Shortens a JSON text to its limits; nothing if it is within them.
///
/// A limit below [`LEAST`] bytes counts as that many.
pub fn elided(json: &str, limits: TextLimits) -> Option<Elision> {
    if json.len() <= limits.bytes.min(limits.string_bytes) {
        return None;
    }
    let value: &RawValue = serde_json::from_str(json).ok()?;
    let mut writer = Writer {
        string_bytes: limits.string_bytes.max(LEAST),
        is_complete: true,
    };
    match writer.fit(value, limits.bytes.max(LEAST)) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) if writer.is_complete && text.len() >= json.len() => None,
        Cow::Owned(text) => Some(Elision {
            text,
            is_complete: writer.is_complete,
        }),
    }
}

struct Writer {
    string_bytes: usize,
    is_complete: bool,
}

/// The least room a value needs.
fn least(value: &RawValue) -> usize {
    value.get().len().min(LEAST)
}

impl Writer {
    /// A value in at most `room` bytes, which is never less than it needs.
    fn fit<'v>(&mut self, value: &'v RawValue, room: usize) -> Cow<'v, str> {
        let text = value.get();
        if text.len() <= room.min(self.string_bytes) {
            return Cow::Borrowed(text);
        }
        match text.as_bytes().first() {
            Some(b'{') => self.object(text, room),
            Some(b'[') => self.list(text, room),
            Some(b'"') => self.string(text, room),
            // A number of any length is a number; only one that does not fit is quoted.
            _ if text.len() <= room => Cow::Borrowed(text),
            _ => Cow::Owned(self.cut(text, room)),
        }
    }

    fn object<'v>(&mut self, text: &'v str, room: usize) -> Cow<'v, str> {
        // Names that are no text (a lone surrogate) cannot be printed again.
        let Ok(fields) = serde_json::from_str::<Fields<'_>>(text) else {
            return self.unreadable(text, room);
        };
        let fields: Vec<(String, &RawValue)> = fields
            .iter()
            .map(|(name, value)| (quoted(name), value))
            .collect();
        let kept = kept_fields(&fields, room);
        let missing = fields.len() - kept.len();
        let note = note_of_fields(missing);
        let names: usize = kept.iter().map(|at| fields[*at].0.len() + 1).sum();
        let commas = (kept.len() + usize::from(missing > 0)).saturating_sub(1);
        let values: Vec<(&RawValue, Turn)> = kept
            .iter()
            .map(|at| (fields[*at].1, turn(&fields[*at], room)))
            .collect();
        let around = BRACKETS + note.len() + names + commas;
        let printed = self.share(&values, room.saturating_sub(around));
        let named = kept.iter().zip(&printed);
        let named = named.map(|(at, value)| format!("{}:{value}", fields[*at].0));
        let mut parts: Vec<String> = named.collect();
        if missing > 0 {
            self.is_complete = false;
            parts.push(note);
        }
        Cow::Owned(format!("{{{}}}", parts.join(",")))
    }

    fn list<'v>(&mut self, text: &'v str, room: usize) -> Cow<'v, str> {
        let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) else {
            return self.unreadable(text, room);
        };
        let room = room.saturating_sub(BRACKETS);
        let (kept, room) = kept_items(&items, room);
        let values = items[..kept].iter().map(|it| (*it, turn_of_value(it)));
        let values: Vec<(&RawValue, Turn)> = values.collect();
        let mut parts = self.share(&values, room.saturating_sub(kept));
        if kept < items.len() {
            self.is_complete = false;
            parts.push(Cow::Owned(note_of_items(items.len() - kept)));
        }
        Cow::Owned(format!("[{}]", parts.join(",")))
    }

    /// Values side by side in `room` bytes. Those that go first get what they need, then the
    /// others from the shortest to the longest an equal part of what is left.
    fn share<'v>(&mut self, values: &[(&'v RawValue, Turn)], mut room: usize) -> Vec<Cow<'v, str>> {
        let mut printed = vec![Cow::Borrowed(""); values.len()];
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(|at| (values[*at].1, values[*at].0.get().len()));
        let mut needed: usize = values.iter().map(|(value, _)| least(value)).sum();
        for (done, at) in order.into_iter().enumerate() {
            let (value, turn) = values[at];
            needed -= least(value);
            let most = room.saturating_sub(needed);
            let part = if turn < Turn::Share {
                most
            } else {
                (room / (values.len() - done)).clamp(least(value).min(most), most)
            };
            printed[at] = self.fit(value, part);
            room = room.saturating_sub(printed[at].len());
        }
        printed
    }

    fn string<'v>(&mut self, text: &'v str, room: usize) -> Cow<'v, str> {
        let Ok(said) = serde_json::from_str::<Cow<'_, str>>(text) else {
            return self.unreadable(text, room);
        };
        if text.len() <= room && said.len() <= self.string_bytes {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.cut(&said, room))
    }

    /// The beginning of a string, and how long it is.
    fn cut(&mut self, said: &str, room: usize) -> String {
        self.is_complete = false;
        let note = format!("… ({} bytes in all)", said.len());
        let decoded = self.string_bytes.saturating_sub(note.len());
        let mut printed = room.saturating_sub(note.len() + 2);
        let mut end = 0;
        for (at, letter) in said.char_indices() {
            let size = printed_size(letter);
            if size > printed || at + letter.len_utf8() > decoded {
                break;
            }
            printed -= size;
            end = at + letter.len_utf8();
        }
        quoted(&format!("{}{note}", &said[..end]))
    }

    /// JSON that has no value: a string of half a character (`"\ud800"`) somewhere in it.
    fn unreadable<'v>(&mut self, text: &'v str, room: usize) -> Cow<'v, str> {
        if text.len() <= room {
            return Cow::Borrowed(text);
        }
        self.is_complete = false;
        Cow::Owned(quoted(&format!("… ({} bytes in all)", text.len())))
    }
}

/// When a value is printed: the first two get what they need, the last an equal part of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Outcome,
    Scalar,
    Share,
}

fn turn(field: &(String, &RawValue), room: usize) -> Turn {
    if is_outcome(field, room) {
        return Turn::Outcome;
    }
    turn_of_value(field.1)
}

fn turn_of_value(value: &RawValue) -> Turn {
    if is_small_scalar(value) {
        Turn::Scalar
    } else {
        Turn::Share
    }
}

fn is_outcome((name, value): &(String, &RawValue), room: usize) -> bool {
    OUTCOME.contains(&name.as_str()) && value.get().len() <= room / OUTCOME.len()
}

/// Which fields stay, in their order: all if each can have the least it needs, else those that say
/// how it went, then scalars.
fn kept_fields(fields: &[(String, &RawValue)], room: usize) -> Vec<usize> {
    let is_outcome = |at: &usize| is_outcome(&fields[*at], room);
    let cost = |at: &usize| {
        let (name, value) = &fields[*at];
        let value = if is_outcome(at) {
            value.get().len()
        } else {
            least(value)
        };
        name.len() + 2 + value
    };
    let all = 0..fields.len();
    if all.clone().map(|at| cost(&at)).sum::<usize>() <= room.saturating_sub(BRACKETS) + 1 {
        return all.collect();
    }
    let mut left = room.saturating_sub(BRACKETS + note_of_fields(fields.len()).len());
    let mut order: Vec<usize> = all.collect();
    order.sort_by_key(|at| turn(&fields[*at], room));
    order.retain(|at| {
        let stays = cost(at) <= left;
        left -= if stays { cost(at) } else { 0 };
        stays
    });
    order.sort_unstable();
    order
}

/// How many of the first items stay, and the room for them with a comma each: as many as fit
/// whole or get a fair part of the room.
fn kept_items(items: &[&RawValue], room: usize) -> (usize, usize) {
    let whole: usize = items.iter().map(|item| item.get().len() + 1).sum();
    if whole <= room + 1 {
        return (items.len(), room + 1);
    }
    let room = room.saturating_sub(note_of_items(items.len()).len());
    let part = (room / ITEM_PART).max(LEAST);
    let fits = |count: usize| {
        let mut sizes: Vec<usize> = items[..count].iter().map(|it| it.get().len()).collect();
        sizes.sort_unstable();
        let mut left = room.saturating_sub(count);
        for (done, size) in sizes.into_iter().enumerate() {
            let share = left / (count - done);
            if size > share {
                return share >= part;
            }
            left -= size;
        }
        room >= count
    };
    let counts: Vec<usize> = (1..=items.len().min(room)).collect();
    (counts.partition_point(|count| fits(*count)), room)
}

fn is_small_scalar(value: &RawValue) -> bool {
    let text = value.get();
    !text.starts_with(['{', '[']) && text.len() <= SMALL
}

fn note_of_fields(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!("{}:\"{count} more fields\"", quoted(NOTE)),
    }
}

fn note_of_items(count: usize) -> String {
    format!("\"… {count} more items\"")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How many bytes a character takes inside a JSON string.
fn printed_size(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        letter if u32::from(letter) < 0x20 => 6,
        letter => letter.len_utf8(),
    }
}

#[cfg(test)]
mod tests;
