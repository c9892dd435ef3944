//! A value from a file, with its place. Texts are those of the file wherever they can be.

use std::borrow::Cow;

use crate::problem::Place;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Item<'t> {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub kind: Kind<'t>,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind<'t> {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// The number as it was written.
    Number(Cow<'t, str>),
    /// A text.
    Text(Cow<'t, str>),
    /// Values in order.
    List(Vec<Item<'t>>),
    /// Named values.
    Map(Vec<Field<'t>>),
}

/// A named value.
#[derive(Debug, Clone, PartialEq)]
pub struct Field<'t> {
    /// The name.
    pub key: Cow<'t, str>,
    /// Where the name stands.
    pub place: Place,
    /// The value.
    pub value: Item<'t>,
}

impl Item<'_> {
    /// What an author would call it.
    pub fn what(&self) -> &'static str {
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
    pub fn word(&self) -> Option<Cow<'_, str>> {
        match &self.kind {
            Kind::Text(text) | Kind::Number(text) => Some(Cow::Borrowed(text)),
            Kind::Bool(truth) => Some(Cow::Borrowed(if *truth { "true" } else { "false" })),
            Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The value of a field.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(fields) => fields
                .iter()
                .find(|field| field.key == key)
                .map(|field| &field.value),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => None,
        }
    }
}
