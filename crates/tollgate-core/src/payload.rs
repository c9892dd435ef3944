//! JSON kept as it was spelled, with a tree of it built only when asked for.
//!
//! Invariant: a payload is valid JSON no deeper than [`crate::depth::MAX_DEPTH`],
//! so there always is a tree of it, and printing it gives back the same bytes.

mod lossy;

use std::{
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, value::RawValue};

use crate::depth::{MAX_DEPTH, within_depth};

/// Raw JSON beside its lazily parsed value.
///
/// Number spelling, key order and unknown fields survive because nothing is
/// ever printed from the tree.
#[derive(Clone)]
pub struct Payload(Arc<Kept>);

struct Kept {
    raw: Box<RawValue>,
    tree: OnceLock<Tree>,
}

struct Tree {
    value: Value,
    is_exact: bool,
}

/// Why bytes are not a payload.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// Not JSON.
    #[error("not valid JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// Valid perhaps, but too deep to look at.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl Payload {
    /// Takes JSON text as it came.
    pub fn parse(text: String) -> Result<Self, PayloadError> {
        if !within_depth(text.as_bytes()) {
            return Err(PayloadError::TooDeep);
        }
        Ok(Self::from_raw(RawValue::from_string(text)?))
    }

    /// Prints a value once.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, PayloadError> {
        Self::parse(serde_json::to_string(value)?)
    }

    /// Takes a part of JSON that is known to be shallow.
    pub fn within_shallow(raw: &RawValue) -> Self {
        debug_assert!(within_depth(raw.get().as_bytes()));
        Self::from_raw(raw.to_owned())
    }

    /// The empty object.
    pub fn empty_object() -> Self {
        static EMPTY: LazyLock<Payload> = LazyLock::new(|| {
            Payload::from_raw(RawValue::from_string("{}".to_owned()).unwrap_or_default())
        });
        EMPTY.clone()
    }

    /// The JSON text.
    pub fn raw(&self) -> &str {
        self.0.raw.get()
    }

    /// The same text as serde_json's raw value.
    pub fn raw_value(&self) -> &RawValue {
        &self.0.raw
    }

    /// The parsed tree, built on first use. Where no tree holds what was sent (half a surrogate
    /// pair, a number beyond the range of a double), something else stands in its place.
    pub fn value(&self) -> &Value {
        &self.tree().value
    }

    /// Whether the tree holds what was sent, so that a program that reads the tree and one that
    /// reads the text see the same.
    pub fn is_exact(&self) -> bool {
        self.tree().is_exact
    }

    fn tree(&self) -> &Tree {
        let read = || match serde_json::from_str(self.raw()) {
            Ok(value) => Tree {
                value,
                is_exact: true,
            },
            Err(_) => Tree {
                value: lossy::tree(self.raw()),
                is_exact: false,
            },
        };
        self.0.tree.get_or_init(read)
    }

    fn from_raw(raw: Box<RawValue>) -> Self {
        Self(Arc::new(Kept {
            raw,
            tree: OnceLock::new(),
        }))
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        let raw = RawValue::from_string(value.to_string()).unwrap_or_default();
        Self(Arc::new(Kept {
            raw,
            tree: OnceLock::from(Tree {
                value,
                is_exact: true,
            }),
        }))
    }
}

/// What is JSON already needs only to be shallow.
impl TryFrom<&RawValue> for Payload {
    type Error = PayloadError;

    fn try_from(raw: &RawValue) -> Result<Self, Self::Error> {
        if within_depth(raw.get().as_bytes()) {
            Ok(Self::from_raw(raw.to_owned()))
        } else {
            Err(PayloadError::TooDeep)
        }
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.raw())
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if within_depth(raw.get().as_bytes()) {
            Ok(Self::from_raw(raw))
        } else {
            Err(serde::de::Error::custom(PayloadError::TooDeep))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_survives() {
        let text = r#"{"b":1.50,"a":12345678901234567890123,"c":1e2,"b":"é"}"#;
        let payload = Payload::parse(text.to_owned()).unwrap();
        assert_eq!(payload.value()["c"], 100.0);
        assert_eq!(serde_json::to_string(&payload).unwrap(), text);
    }

    #[test]
    fn there_is_a_tree_of_what_no_tree_holds_exactly() {
        for (text, exact) in [
            (r#"{"a":1e400,"b":"x"}"#, false),
            (r#"{"a":"\ud800","b":"x"}"#, false),
            (r#"{"a":1e40,"b":"x"}"#, true),
        ] {
            let payload = Payload::parse(text.to_owned()).unwrap();
            assert_eq!(payload.value()["b"], "x", "{text}");
            assert_eq!(payload.is_exact(), exact, "{text}");
            assert_eq!(payload.raw(), text);
        }
    }

    #[test]
    fn depth_is_an_error_not_a_crash() {
        let text = "[".repeat(10_000) + &"]".repeat(10_000);
        let raw = RawValue::from_string("[".repeat(100) + &"]".repeat(100)).unwrap();
        let deep = Payload::try_from(&*raw);
        assert!(matches!(deep, Err(PayloadError::TooDeep)));
        assert!(matches!(Payload::parse(text), Err(PayloadError::TooDeep)));
    }
}
