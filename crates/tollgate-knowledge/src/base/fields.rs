//! Values of fields, with a complaint where one does not fit.
//!
//! A wrong field never stops the reading, so an author sees all that is wrong at once.

use std::borrow::Cow;

use tollgate_text::edit_distance;

use super::{Phrase, Spoken, Text, draft::Draft};
use crate::{
    problem::{Place, ProblemCode},
    read::{Field, Item, Kind},
};

/// Fields at the top of a file.
pub(crate) const TOP: &[&str] = &[
    "id",
    "title",
    "description",
    "language",
    "root",
    "fallback",
    "closing",
    "choose",
    "offer",
    "keywords",
    "synonyms",
    "include",
    "slots",
    "nodes",
];
/// Fields of a node.
pub(crate) const NODE: &[&str] = &[
    "title",
    "response",
    "options",
    "keywords",
    "ask",
    "next_node",
    "then",
    "fallback",
    "entry",
];
/// Fields of an option.
pub(crate) const OPTION: &[&str] = &[
    "id",
    "description",
    "next_node",
    "then",
    "keywords",
    "when",
    "set",
];
/// Fields of a branch.
pub(crate) const BRANCH: &[&str] = &["when", "next_node", "then"];
/// Fields of a slot.
pub(crate) const SLOT: &[&str] = &[
    "type",
    "description",
    "invalid",
    "min",
    "max",
    "unit",
    "units",
    "choices",
    "yes",
    "no",
    "yes_words",
    "no_words",
];
/// Fields of one of the answers to a choice.
pub(crate) const PICK: &[&str] = &["id", "description", "keywords"];

/// The most characters of an id.
const MAX_ID: usize = 200;
/// The most languages of a base.
const MAX_LANGUAGES: usize = 32;

impl Draft {
    pub(super) fn complain(&mut self, code: ProblemCode, place: Place, message: String) {
        self.report(code, place, message);
    }

    pub(super) fn wrong(&mut self, item: &Item<'_>, wanted: &str) {
        let message = format!("expected {wanted}, found {}", item.what());
        self.complain(ProblemCode::Field, item.place, message);
    }

    /// The fields of a group; names that nobody knows are complained about.
    pub(super) fn group<'i>(&mut self, item: &'i Item<'i>, known: &[&str]) -> &'i [Field<'i>] {
        let Kind::Map(fields) = &item.kind else {
            self.wrong(item, "a group of fields");
            return &[];
        };
        for field in fields {
            self.known(&field.key, field.place, known);
        }
        fields
    }

    pub(super) fn known(&mut self, key: &str, place: Place, known: &[&str]) {
        if known.contains(&key) || key.starts_with("x-") || key.starts_with(['$', '_']) {
            return;
        }
        let close = known.iter().min_by_key(|name| edit_distance(name, key));
        let hint = match close {
            Some(name) if edit_distance(name, key) <= 2 => format!("; did you mean `{name}`?"),
            Some(_) | None => format!("; there are: {}", known.join(", ")),
        };
        let message = format!("there is no field `{}` here{hint}", crate::short(key));
        self.complain(ProblemCode::UnknownField, place, message);
    }

    pub(super) fn string<'i>(&mut self, item: &'i Item<'_>) -> Option<Cow<'i, str>> {
        let word = item.word();
        if word.is_none() {
            self.wrong(item, "a text");
        }
        word
    }

    pub(super) fn id<'i>(&mut self, item: &'i Item<'_>) -> Option<Cow<'i, str>> {
        let id = self.string(item)?;
        if id.is_empty() || (id.len() > MAX_ID && id.chars().count() > MAX_ID) {
            let message = format!("an id has 1 to {MAX_ID} characters");
            self.complain(ProblemCode::Field, item.place, message);
            return None;
        }
        Some(id)
    }

    pub(super) fn number(&mut self, item: &Item<'_>) -> Option<f64> {
        let number = item.word().and_then(|word| word.parse().ok());
        if number.is_none() {
            self.wrong(item, "a number");
        }
        number
    }

    pub(super) fn truth(&mut self, item: &Item<'_>) -> Option<bool> {
        match item.word().as_deref() {
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(_) | None => {
                self.wrong(item, "true or false");
                None
            }
        }
    }

    pub(super) fn list<'i>(&mut self, item: &'i Item<'i>) -> &'i [Item<'i>] {
        match &item.kind {
            Kind::List(items) => items,
            Kind::Null => &[],
            Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => {
                self.wrong(item, "a list");
                &[]
            }
        }
    }

    /// A list of words, or one text with commas between them.
    pub(super) fn strings<'i>(&mut self, item: &'i Item<'_>) -> Vec<Cow<'i, str>> {
        match &item.kind {
            Kind::Text(text) => text
                .split([',', '，', '、'])
                .map(|word| Cow::Borrowed(word.trim()))
                .filter(|word| !word.is_empty())
                .collect(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => {
                let items = self.list(item);
                items.iter().filter_map(|one| self.string(one)).collect()
            }
        }
    }

    /// Words in the arena; a group by language is read as all of its words.
    pub(super) fn words(&mut self, item: &Item<'_>) -> Vec<Text> {
        let lists: Vec<&Item<'_>> = match &item.kind {
            Kind::Map(fields) => fields.iter().map(|field| &field.value).collect(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => {
                vec![item]
            }
        };
        let mut words = Vec::new();
        for list in lists {
            for word in self.strings(list) {
                words.push(self.keep(&word));
            }
        }
        words
    }

    /// A text of the whole base, of which an author wants to know where it stands.
    pub(super) fn top_text(&mut self, item: &Item<'_>) -> Phrase {
        let phrase = self.phrase(item);
        let spot = self.spot(item.place);
        self.top_texts.push((phrase, spot));
        phrase
    }

    /// A text, or a group of texts by language; an empty one is none.
    pub(super) fn phrase(&mut self, item: &Item<'_>) -> Phrase {
        let start = u32::try_from(self.phrases.len()).unwrap_or(u32::MAX);
        match &item.kind {
            Kind::Null => return Phrase::default(),
            Kind::Map(fields) => {
                for field in fields {
                    let Some(language) = self.language(&field.key) else {
                        let message = "a base has at most 32 languages".to_owned();
                        self.complain(ProblemCode::Limit, field.place, message);
                        continue;
                    };
                    if let Some(text) = self.string(&field.value) {
                        self.spoken(language, &text);
                    }
                }
            }
            Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => {
                if let Some(text) = self.string(item) {
                    self.spoken(0, &text);
                }
            }
        }
        let count = self.phrases.len() - start as usize;
        Phrase {
            start,
            count: u16::try_from(count).unwrap_or(0),
        }
    }

    fn spoken(&mut self, language: u8, text: &str) {
        if !text.trim_start().is_empty() {
            let text = self.keep(text);
            self.phrases.push(Spoken { language, text });
        }
    }

    fn language(&mut self, name: &str) -> Option<u8> {
        let known = self.languages.iter().position(|known| known == name);
        let number = match known {
            Some(number) => number,
            None if self.languages.len() < MAX_LANGUAGES => {
                self.languages.push(name.to_owned());
                self.languages.len() - 1
            }
            None => return None,
        };
        u8::try_from(number).ok()
    }
}
