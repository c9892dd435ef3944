//! Values with gaps: what a step is called with, and what becomes of its answer.
//!
//! A text that is one `{{ expression }}` keeps the type of what it stands for; elsewhere
//! the expression becomes part of the text. A field that stands for nothing is left out,
//! so an optional input needs no condition.

use serde_json::{Map, Value};

use super::{Expression, Scope, Segment, evaluate::text};
use crate::read::{Fault, Kind, Node};

/// A value with gaps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Fixed(Value),
    Gap(Expression),
    Text(Vec<Piece>),
    List(Vec<Self>),
    Fields(Vec<(String, Self)>),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Plain(String),
    Gap(Expression),
}

impl Shape {
    /// Reads a value; every gap is parsed.
    pub(crate) fn read(node: &Node) -> Result<Self, Fault> {
        match &node.kind {
            Kind::Plain(Value::String(text)) => {
                Self::of_text(text).map_err(|message| Fault::new(node.place, message))
            }
            Kind::Plain(value) => Ok(Self::Fixed(value.clone())),
            Kind::List(items) => {
                let items: Result<_, _> = items.iter().map(Self::read).collect();
                items.map(Self::List)
            }
            Kind::Map(fields) => {
                let field = |field: &crate::read::Field| {
                    Self::read(&field.value).map(|shape| (field.name.clone(), shape))
                };
                let fields: Result<_, _> = fields.iter().map(field).collect();
                fields.map(Self::Fields)
            }
        }
    }

    fn of_text(written: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = written;
        while let Some(begin) = rest.find("{{") {
            let inner = &rest[begin + 2..];
            let end = inner.find("}}").ok_or("`{{` is not closed")?;
            if begin > 0 {
                pieces.push(Piece::Plain(rest[..begin].to_owned()));
            }
            pieces.push(Piece::Gap(Expression::parse(&inner[..end])?));
            rest = &inner[end + 2..];
        }
        if pieces.is_empty() {
            return Ok(Self::Fixed(Value::String(written.to_owned())));
        }
        if !rest.is_empty() {
            pieces.push(Piece::Plain(rest.to_owned()));
        }
        match pieces.as_slice() {
            [Piece::Gap(_)] => match pieces.pop() {
                Some(Piece::Gap(expression)) => Ok(Self::Gap(expression)),
                Some(Piece::Plain(_)) | None => Ok(Self::Text(pieces)),
            },
            [..] => Ok(Self::Text(pieces)),
        }
    }

    /// The value with its gaps filled.
    pub(crate) fn fill(&self, scope: &Scope<'_>) -> Value {
        match self {
            Self::Fixed(value) => value.clone(),
            Self::Gap(expression) => expression.evaluate(scope).into_owned(),
            Self::Text(pieces) => {
                let filled = pieces.iter().map(|piece| match piece {
                    Piece::Plain(plain) => plain.clone(),
                    Piece::Gap(expression) => text(&expression.evaluate(scope)),
                });
                Value::String(filled.collect())
            }
            Self::List(items) => items.iter().map(|item| item.fill(scope)).collect(),
            Self::Fields(fields) => {
                let mut filled = Map::new();
                for (name, shape) in fields {
                    let value = shape.fill(scope);
                    if !(value.is_null() && matches!(shape, Self::Gap(_))) {
                        filled.insert(name.clone(), value);
                    }
                }
                Value::Object(filled)
            }
        }
    }

    /// Every path its gaps read.
    pub(crate) fn paths<'a>(&'a self, found: &mut Vec<&'a [Segment]>) {
        match self {
            Self::Fixed(_) => {}
            Self::Gap(expression) => expression.paths(found),
            Self::Text(pieces) => {
                for piece in pieces {
                    if let Piece::Gap(expression) = piece {
                        expression.paths(found);
                    }
                }
            }
            Self::List(items) => items.iter().for_each(|item| item.paths(found)),
            Self::Fields(fields) => fields.iter().for_each(|(_, shape)| shape.paths(found)),
        }
    }

    /// Whether its gaps read nothing but the inputs and the run itself.
    pub(crate) fn is_known_early(&self) -> bool {
        let mut found = Vec::new();
        self.paths(&mut found);
        found.iter().all(|path| {
            matches!(path.first(), Some(Segment::Name(root)) if root == "inputs" || root == "run")
        })
    }
}
