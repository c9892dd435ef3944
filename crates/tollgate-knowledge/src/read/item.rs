//! A value from a file, with its place.

use std::borrow::Cow;

use crate::problem::Place;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// The number as it was written.
    Number(String),
    Text(String),
    List(Vec<Item>),
    Map(Vec<Field>),
}

/// A named value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) value: Item,
}

impl Item {
    /// What an author would call it.
    pub(crate) fn what(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a group of fields",
        }
    }

    /// The text, also of a value that an author could mean as one.
    pub(crate) fn word(&self) -> Option<Cow<'_, str>> {
        match &self.kind {
            Kind::Text(text) | Kind::Number(text) => Some(Cow::Borrowed(text)),
            Kind::Bool(truth) => Some(Cow::Borrowed(if *truth { "true" } else { "false" })),
            Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The value of a field.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(fields) => fields
                .iter()
                .find(|field| field.key == key)
                .map(|field| &field.value),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => None,
        }
    }
}
