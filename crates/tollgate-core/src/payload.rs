//! JSON kept as it was spelled, with a tree of it built only when asked for.
//!
//! Invariant: a payload is valid JSON no deeper than [`crate::depth::MAX_DEPTH`],
//! so reading its tree cannot fail, and printing it gives back the same bytes.

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
    value: OnceLock<Value>,
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

    /// The parsed tree, built on first use.
    pub fn value(&self) -> &Value {
        self.0
            .value
            .get_or_init(|| serde_json::from_str(self.raw()).unwrap_or_default())
    }

    fn from_raw(raw: Box<RawValue>) -> Self {
        Self(Arc::new(Kept {
            raw,
            value: OnceLock::new(),
        }))
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        let raw = RawValue::from_string(value.to_string()).unwrap_or_default();
        Self(Arc::new(Kept {
            raw,
            value: OnceLock::from(value),
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
    fn depth_is_an_error_not_a_crash() {
        let text = "[".repeat(10_000) + &"]".repeat(10_000);
        let raw = RawValue::from_string("[".repeat(100) + &"]".repeat(100)).unwrap();
        let deep = Payload::try_from(&*raw);
        assert!(matches!(deep, Err(PayloadError::TooDeep)));
        assert!(matches!(Payload::parse(text), Err(PayloadError::TooDeep)));
    }
}
