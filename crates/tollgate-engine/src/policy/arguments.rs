//! A call's arguments as typed values.
//!
//! Invariants: no caller's JSON reaches Cedar's JSON readers, so `__entity` and
//! `__extn` are names like any others; and what is too large or too deep is an error,
//! never a value left out, because a rule must not be blind to part of a call.

use cedar_policy::RestrictedExpression;
use tollgate_core::{
    Payload,
    canonical::{CanonicalError, Node},
};

use super::{mention::Arguments, number::Number};

/// The deepest nesting a rule can look into.
pub(super) const MAX_DEPTH: usize = 16;
/// The most values in the arguments that rules mention.
pub(super) const MAX_VALUES: usize = 4_096;
/// The most text in the arguments that rules mention.
pub(super) const MAX_BYTES: usize = 256 * 1024;

/// Why rules cannot be shown the arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ArgumentError {
    /// Two readers could see two different calls.
    #[error("the arguments cannot be read one way only: {0}")]
    Ambiguous(#[from] CanonicalError),
    /// Arguments have names.
    #[error("the arguments are not an object")]
    NotAnObject,
    /// Too many levels.
    #[error("the argument `{0}` is nested deeper than {MAX_DEPTH} levels")]
    TooDeep(String),
    /// Too many values or too much text.
    #[error(
        "the arguments that rules mention exceed {MAX_VALUES} values or {MAX_BYTES} bytes, at `{0}`"
    )]
    TooLarge(String),
    /// Cedar refuses a value that we thought it would take.
    #[error("the argument `{0}` cannot be given to the rules")]
    Unrepresentable(String),
}

/// Converts those arguments that rules mention into a record.
pub(super) fn convert(
    arguments: &Payload,
    mentioned: &Arguments,
) -> Result<RestrictedExpression, ArgumentError> {
    if mentioned.is_none() {
        return record(Vec::new(), "arguments");
    }
    let Node::Object(fields) = Node::of(arguments)? else {
        return Err(ArgumentError::NotAnObject);
    };
    let mut room = Room {
        values: MAX_VALUES,
        bytes: MAX_BYTES,
    };
    let mut converted = Vec::new();
    for (name, node) in &fields {
        if mentioned.includes(name) {
            let mut reader = Reader {
                argument: name,
                room: &mut room,
            };
            if let Some(value) = reader.field(name, node, MAX_DEPTH)? {
                converted.push((name.to_string(), value));
            }
        }
    }
    record(converted, "arguments")
}

/// What is left of the bounds.
struct Room {
    values: usize,
    bytes: usize,
}

struct Reader<'a> {
    argument: &'a str,
    room: &'a mut Room,
}

impl Reader<'_> {
    fn field(
        &mut self,
        name: &str,
        node: &Node<'_>,
        depth: usize,
    ) -> Result<Option<RestrictedExpression>, ArgumentError> {
        self.take(1, name.len())?;
        self.value(node, depth)
    }

    /// `None` for `null`, which is the same as absent.
    fn value(
        &mut self,
        node: &Node<'_>,
        depth: usize,
    ) -> Result<Option<RestrictedExpression>, ArgumentError> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| ArgumentError::TooDeep(self.argument.to_owned()))?;
        Ok(Some(match node {
            Node::Null => return Ok(None),
            Node::Bool(value) => RestrictedExpression::new_bool(*value),
            Node::Number(spelling) => {
                self.take(0, spelling.len())?;
                number(spelling)
            }
            Node::String(text) => {
                self.take(0, text.len())?;
                RestrictedExpression::new_string(text.to_string())
            }
            Node::Array(items) => self.set(items, depth)?,
            Node::Object(fields) => {
                let mut converted = Vec::with_capacity(fields.len().min(MAX_VALUES));
                for (name, node) in fields {
                    if let Some(value) = self.field(name, node, depth)? {
                        converted.push((name.to_string(), value));
                    }
                }
                record(converted, self.argument)?
            }
        }))
    }

    fn set(
        &mut self,
        items: &[Node<'_>],
        depth: usize,
    ) -> Result<RestrictedExpression, ArgumentError> {
        let mut converted = Vec::with_capacity(items.len().min(MAX_VALUES));
        for item in items {
            self.take(1, 0)?;
            converted.extend(self.value(item, depth)?);
        }
        Ok(RestrictedExpression::new_set(converted))
    }

    fn take(&mut self, values: usize, bytes: usize) -> Result<(), ArgumentError> {
        let left = self
            .room
            .values
            .checked_sub(values)
            .zip(self.room.bytes.checked_sub(bytes));
        let Some((values, bytes)) = left else {
            return Err(ArgumentError::TooLarge(self.argument.to_owned()));
        };
        *self.room = Room { values, bytes };
        Ok(())
    }
}

fn number(spelling: &str) -> RestrictedExpression {
    match Number::of(spelling) {
        Number::Long(value) => RestrictedExpression::new_long(value),
        Number::Decimal(text) => RestrictedExpression::new_decimal(text),
        Number::Text(text) => RestrictedExpression::new_string(text),
    }
}

fn record(
    fields: Vec<(String, RestrictedExpression)>,
    argument: &str,
) -> Result<RestrictedExpression, ArgumentError> {
    RestrictedExpression::new_record(fields)
        .map_err(|_| ArgumentError::Unrepresentable(argument.to_owned()))
}
