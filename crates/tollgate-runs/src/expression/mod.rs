//! A small language for conditions and references: paths, literals, comparisons, `&&`,
//! `||`, `!` and a few functions.
//!
//! Invariant: evaluating never fails and never loops. What is not there is `null`, and a
//! comparison of things that cannot be compared is false.

mod evaluate;
mod parse;
mod shape;

use serde_json::Value;

pub(crate) use evaluate::{Scope, Steps, is_true};
pub(crate) use shape::Shape;

/// An expression, parsed once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Literal(Value),
    Path(Vec<Segment>),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Compare(Comparison, Box<Self>, Box<Self>),
    Apply(Function, Vec<Self>),
}

/// One part of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    Name(String),
    Index(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// How many characters, items or fields.
    Size,
    /// Whether it is there.
    Exists,
    /// The first of its arguments that is there.
    Default,
    /// Whether a list, a text or fields hold something.
    Contains,
    /// The least of its arguments.
    Min,
    /// The texts of a list as one.
    Join,
    /// The second of its arguments if the first counts as yes, else the third.
    If,
    /// So many characters or items from the beginning.
    First,
}

impl Function {
    const ALL: [(&'static str, Self, usize); 8] = [
        ("size", Self::Size, 1),
        ("exists", Self::Exists, 1),
        ("default", Self::Default, 2),
        ("contains", Self::Contains, 2),
        ("min", Self::Min, 2),
        ("join", Self::Join, 2),
        ("if", Self::If, 3),
        ("first", Self::First, 2),
    ];
}

impl Expression {
    /// Reads an expression, with or without `{{ }}` around it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let bare = trimmed
            .strip_prefix("{{")
            .and_then(|rest| rest.strip_suffix("}}"))
            .filter(|inner| !inner.contains("{{"))
            .unwrap_or(trimmed);
        parse::parse(bare)
    }

    /// Every path it reads.
    pub(crate) fn paths<'a>(&'a self, found: &mut Vec<&'a [Segment]>) {
        match self {
            Self::Literal(_) => {}
            Self::Path(path) => found.push(path),
            Self::Not(inner) => inner.paths(found),
            Self::And(one, other) | Self::Or(one, other) | Self::Compare(_, one, other) => {
                one.paths(found);
                other.paths(found);
            }
            Self::Apply(_, arguments) => arguments.iter().for_each(|it| it.paths(found)),
        }
    }
}

#[cfg(test)]
mod tests;
