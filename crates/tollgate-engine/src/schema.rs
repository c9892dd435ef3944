//! Schemas as compiled validators.
//!
//! A schema may come from an upstream server, so it is hostile input: bounded in
//! size and depth, patterns in linear time, formats asserted, and no reference
//! that leads out of the document.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

const MAX_BYTES: usize = 512 << 10;
const MAX_DEPTH: usize = 64;
const MAX_PROBLEMS: usize = 8;
const PATTERN_BYTES: usize = 1 << 20;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("the schema is larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("the schema nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("the schema refers to something outside itself: {0}")]
    Remote(String),
    #[error("the schema is not valid: {0}")]
    Invalid(String),
}

/// What one value does wrong, at most a few of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) at: String,
    pub(crate) message: String,
}

/// Compiles a schema once.
pub(crate) fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    if schema.to_string().len() > MAX_BYTES {
        return Err(SchemaError::TooLarge);
    }
    inspect(schema, 0)?;
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
        .build(schema)
        .map_err(|error| SchemaError::Invalid(error.to_string()))
}

/// What is wrong with a value; empty if nothing is.
pub(crate) fn problems(validator: &Validator, value: &Value) -> Vec<Problem> {
    if validator.is_valid(value) {
        return Vec::new();
    }
    validator
        .iter_errors(value)
        .take(MAX_PROBLEMS)
        .map(|error| Problem {
            at: error.instance_path().to_string(),
            message: bounded(error.masked().to_string()),
        })
        .collect()
}

/// A message that names thousands of keys helps nobody.
fn bounded(mut message: String) -> String {
    const MAX_MESSAGE: usize = 500;
    if let Some((at, _)) = message.char_indices().nth(MAX_MESSAGE) {
        message.truncate(at);
        message.push('…');
    }
    message
}

fn inspect(schema: &Value, depth: usize) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH {
        return Err(SchemaError::TooDeep);
    }
    match schema {
        Value::Object(fields) => {
            for (key, inner) in fields {
                if matches!(key.as_str(), "$ref" | "$dynamicRef")
                    && let Value::String(target) = inner
                    && !target.starts_with('#')
                {
                    return Err(SchemaError::Remote(target.clone()));
                }
                inspect(inner, depth + 1)?;
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| inspect(item, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_that_leads_out_is_refused() {
        for target in [
            "https://example.test/s.json",
            "file:///etc/passwd",
            "other.json",
        ] {
            let schema = json!({"properties": {"a": {"$ref": target}}});
            assert!(matches!(compile(&schema), Err(SchemaError::Remote(_))));
        }
        let inner = json!({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"});
        assert!(compile(&inner).is_ok());
    }

    #[test]
    fn hostile_schemas_are_bounded() {
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({"not": deep});
        }
        assert_eq!(compile(&deep).err(), Some(SchemaError::TooDeep));
        let large = json!({"description": "x".repeat(MAX_BYTES)});
        assert_eq!(compile(&large).err(), Some(SchemaError::TooLarge));
        assert!(compile(&json!({"type": 3})).is_err());
        let backtracking = json!({"pattern": "^(a+)+$"});
        let validator = compile(&backtracking).unwrap();
        assert!(!validator.is_valid(&json!(format!("{}!", "a".repeat(50_000)))));
    }

    #[test]
    fn formats_are_asserted() {
        let validator = compile(&json!({"format": "date"})).unwrap();
        assert!(validator.is_valid(&json!("2026-02-28")));
        assert!(!validator.is_valid(&json!("2026-02-30")));
    }
}
