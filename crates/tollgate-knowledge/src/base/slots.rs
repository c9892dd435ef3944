//! The `slots` of a file.

use std::{borrow::Cow, collections::BTreeSet};

use super::{
    Phrase, Slot, SlotKind,
    draft::Draft,
    fields::{PICK, SLOT},
    hash,
    slot::{MAX_TEXT, Pick, date},
};
use crate::{
    problem::ProblemCode,
    read::{Field, Item, Kind},
};

/// The most slots of a base; each is looked for by its name.
const MOST_SLOTS: usize = 5000;

/// The types an author can name.
pub(crate) const TYPES: &[&str] = &["text", "number", "choice", "date", "yes_no"];

impl Draft {
    pub(super) fn slots(&mut self, item: &Item<'_>) {
        let Kind::Map(fields) = &item.kind else {
            return self.wrong(item, "slots by their names");
        };
        for field in fields {
            let is_plain = |c: char| c.is_alphanumeric() || c == '_';
            let is_word = ["and", "or", "not", "in", "known", "visited"];
            if !field.key.chars().all(is_plain) || is_word.contains(&&*field.key) {
                let message = "a slot's name has letters, digits and _ only".to_owned();
                self.complain(ProblemCode::Field, field.place, message);
            }
            if self.slots.len() >= MOST_SLOTS {
                let message = format!("a base has at most {MOST_SLOTS} slots");
                return self.complain(ProblemCode::Limit, field.place, message);
            }
            if self.slots.iter().any(|slot| slot.name == field.key) {
                let message = format!("the slot `{}` stands twice", crate::short(&field.key));
                self.complain(ProblemCode::Duplicate, field.place, message);
                continue;
            }
            let slot = self.slot(field);
            self.slots.push(slot);
        }
    }

    fn slot(&mut self, field: &Field<'_>) -> Slot {
        let item = &field.value;
        self.group(item, SLOT);
        let kind = item.get("type").map(|kind| (kind, kind.word()));
        let kind = match kind.as_ref().map(|(item, word)| (*item, word.as_deref())) {
            None | Some((_, Some("text"))) => SlotKind::Text {
                max: self.limit(item, "max").map_or(MAX_TEXT, |max| {
                    // A length; a negative or huge one becomes the nearest that makes sense.
                    (max.max(1.0) as usize).min(MAX_TEXT)
                }),
            },
            Some((_, Some("number"))) => SlotKind::Number {
                min: self.limit(item, "min"),
                max: self.limit(item, "max"),
                units: self.units(item),
            },
            Some((_, Some("choice"))) => SlotKind::Choice(self.picks(item)),
            Some((_, Some("date"))) => SlotKind::Date {
                min: self.day(item, "min"),
                max: self.day(item, "max"),
            },
            Some((_, Some("yes_no"))) => SlotKind::YesNo {
                yes: self.said(item, "yes"),
                no: self.said(item, "no"),
                yes_words: self.spelled(item, "yes_words"),
                no_words: self.spelled(item, "no_words"),
            },
            Some((at, _)) => {
                self.wrong(at, &format!("one of {}", TYPES.join(", ")));
                SlotKind::Text { max: MAX_TEXT }
            }
        };
        Slot {
            name: field.key.to_string(),
            kind,
            description: self.said(item, "description"),
            invalid: self.said(item, "invalid"),
        }
    }

    fn said(&mut self, item: &Item<'_>, key: &str) -> Phrase {
        item.get(key)
            .map_or_else(Phrase::default, |value| self.top_text(value))
    }

    fn spelled(&mut self, item: &Item<'_>, key: &str) -> Vec<String> {
        item.get(key)
            .map_or_else(Vec::new, |value| self.strings(value))
            .into_iter()
            .map(Cow::into_owned)
            .collect()
    }

    fn limit(&mut self, item: &Item<'_>, key: &str) -> Option<f64> {
        let value = item.get(key)?;
        self.number(value)
    }

    fn day(&mut self, item: &Item<'_>, key: &str) -> Option<String> {
        let value = item.get(key)?;
        let day = value.word().and_then(|word| date(&word));
        if day.is_none() {
            self.wrong(value, "a date such as 2026-05-31");
        }
        day
    }

    /// The slot's own unit, and what others are worth in it.
    fn units(&mut self, item: &Item<'_>) -> Vec<(String, f64)> {
        let mut units = Vec::new();
        if let Some(unit) = item.get("unit").and_then(|unit| self.string(unit)) {
            units.push((unit.into_owned(), 1.0));
        }
        if let Some(others) = item.get("units") {
            let Kind::Map(fields) = &others.kind else {
                self.wrong(others, "units and what one of each is worth");
                return units;
            };
            for field in fields {
                if let Some(worth) = self.number(&field.value) {
                    units.push((field.key.to_string(), worth));
                }
            }
        }
        units
    }

    fn picks(&mut self, item: &Item<'_>) -> Vec<Pick> {
        let Some(list) = item.get("choices") else {
            let message = "a choice needs `choices`".to_owned();
            self.complain(ProblemCode::Field, item.place, message);
            return Vec::new();
        };
        let mut picks: Vec<Pick> = Vec::new();
        let mut ids = BTreeSet::new();
        for one in self.list(list) {
            self.group(one, PICK);
            let Some(id) = one.get("id").and_then(|id| self.id(id)) else {
                let message = "a choice needs an `id`".to_owned();
                self.complain(ProblemCode::Field, one.place, message);
                continue;
            };
            if !ids.insert(hash(&id)) && picks.iter().any(|pick| pick.id == id) {
                let message = format!("the choice `{}` stands twice", crate::short(&id));
                self.complain(ProblemCode::Duplicate, one.place, message);
            }
            let description = self.said(one, "description");
            let keywords = one
                .get("keywords")
                .map_or_else(Vec::new, |words| self.words(words));
            picks.push(Pick {
                id: id.into_owned(),
                description,
                keywords,
            });
        }
        picks
    }
}
