//! What is different in every answer to the same question: times, random ids, durations.
//!
//! A tool declares such fields in its output schema with `"x-volatile": true`; replay compares
//! answers without them. Invariant: a schema is hostile input, so depth and visits are bounded.

use serde_json::{Map, Value};

/// Says that a field differs in every answer.
const KEYWORD: &str = "x-volatile";
/// Stands for the value of such a field.
const MARK: &str = "(volatile)";
const MAX_DEPTH: usize = 64;
const MAX_VISITS: usize = 100_000;

/// Puts the same mark in the place of every volatile field of an answer.
pub(crate) fn mask(answer: &mut Value, schema: &Value) {
    let mut walk = Walk {
        root: schema,
        visits: 0,
    };
    walk.visit(answer, schema, 0);
}

struct Walk<'s> {
    root: &'s Value,
    visits: usize,
}

impl<'s> Walk<'s> {
    fn visit(&mut self, value: &mut Value, schema: &'s Value, depth: usize) {
        self.visits += 1;
        if depth > MAX_DEPTH || self.visits > MAX_VISITS {
            return;
        }
        let Some(schema) = schema.as_object() else {
            return;
        };
        // Whether it is there is no matter of time.
        if schema.get(KEYWORD) == Some(&Value::Bool(true)) && !value.is_null() {
            *value = Value::String(MARK.to_owned());
            return;
        }
        if let Some(target) = self.target(schema) {
            self.visit(value, target, depth + 1);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let each = schema.get(keyword).and_then(Value::as_array);
            for each in each.into_iter().flatten() {
                self.visit(value, each, depth + 1);
            }
        }
        match value {
            Value::Object(fields) => self.fields(fields, schema, depth + 1),
            Value::Array(items) => self.items(items, schema, depth + 1),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn fields(
        &mut self,
        fields: &mut Map<String, Value>,
        schema: &'s Map<String, Value>,
        depth: usize,
    ) {
        let named = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        for (name, value) in fields {
            let own = named.and_then(|named| named.get(name)).or(others);
            if let Some(own) = own {
                self.visit(value, own, depth);
            }
        }
    }

    fn items(&mut self, items: &mut [Value], schema: &'s Map<String, Value>, depth: usize) {
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let others = schema.get("items");
        for (at, value) in items.iter_mut().enumerate() {
            let own = first.and_then(|first| first.get(at)).or(others);
            if let Some(own) = own {
                self.visit(value, own, depth);
            }
        }
    }

    /// What a reference within the schema leads to.
    fn target(&self, schema: &Map<String, Value>) -> Option<&'s Value> {
        let reference = schema.get("$ref").and_then(Value::as_str)?;
        self.root.pointer(reference.strip_prefix('#')?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn volatile_fields_are_marked_wherever_the_schema_says_so() {
        let when = json!({"type": "integer", "x-volatile": true});
        let schema = json!({
            "$defs": {"run": {"properties": {"at": when}}},
            "properties": {
                "at": when,
                "runs": {"items": {"$ref": "#/$defs/run"}},
                "by_name": {"additionalProperties": {"anyOf": [{"$ref": "#/$defs/run"}, {"type": "null"}]}},
                "pair": {"prefixItems": [{}, when]},
            },
        });
        let mut answer = json!({
            "at": 1, "n": 1, "runs": [{"at": 1, "n": 2}], "by_name": {"a": {"at": 1}, "b": null}, "pair": [1, 1],
        });
        mask(&mut answer, &schema);
        assert_eq!(
            answer,
            json!({
                "at": MARK, "n": 1, "runs": [{"at": MARK, "n": 2}], "by_name": {"a": {"at": MARK}, "b": null}, "pair": [1, MARK],
            })
        );
    }

    #[test]
    fn what_is_absent_stays_absent() {
        let schema = json!({"properties": {"at": {"x-volatile": true}}});
        for (before, after) in [
            (json!({}), json!({})),
            (json!({"at": null}), json!({"at": null})),
        ] {
            let mut answer = before;
            mask(&mut answer, &schema);
            assert_eq!(answer, after);
        }
    }

    #[test]
    fn a_schema_that_leads_to_itself_comes_to_an_end() {
        let schema =
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {"$ref": "#"}}});
        let mut answer = json!({"a": {"a": 1}});
        mask(&mut answer, &schema);
        assert_eq!(answer, json!({"a": {"a": 1}}));
    }
}
