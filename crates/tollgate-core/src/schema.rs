//! A JSON Schema that is made when somebody looks at it.
//!
//! A program that starts to serve one call offers some two hundred tools, and the schemas are
//! nearly all of what they weigh. Invariant: a schema is made at most once, however often its
//! spec is copied, and looks the same to whoever reads it first or last.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, LazyLock},
};

use serde::{Serialize, Serializer};
use serde_json::Value;

type Make = Box<dyn FnOnce() -> Value + Send>;

/// A JSON Schema 2020-12; reads like the value it is.
#[derive(Clone)]
pub struct Schema(Arc<LazyLock<Value, Make>>);

impl Schema {
    /// A schema that is made on the first look.
    pub fn later(make: impl FnOnce() -> Value + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        let schema = Self::later(move || value);
        LazyLock::force(&schema.0);
        schema
    }
}

impl Deref for Schema {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_made_on_the_first_look_and_once_for_all_copies() {
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let schema = Schema::later(move || {
            count.fetch_add(1, Ordering::Relaxed);
            json!({"type": "object"})
        });
        let copy = schema.clone();
        assert_eq!(made.load(Ordering::Relaxed), 0);
        assert_eq!(copy["type"], "object");
        assert_eq!(
            json!({"schema": schema}),
            json!({"schema": {"type": "object"}})
        );
        assert_eq!(made.load(Ordering::Relaxed), 1);
        assert_eq!(
            format!("{copy:?}"),
            format!("{:?}", json!({"type": "object"}))
        );
    }
}
