//! Replaces what differs from run to run, so that whole values can be compared.

use serde_json::Value;

/// Values that differ every time, by the name of their field.
const NAMES: &[&str] = &[
    "approval_id",
    "at",
    "by",
    "call_id",
    "created",
    "created_at",
    "duration_ms",
    "duration_us",
    "expires",
    "hash",
    "input_fingerprint",
    "item_id",
    "key",
    "principal",
    "receipt",
    "request_id",
    "review_id",
    "review_items",
    "signature",
    "span_id",
    "token_id",
    "trace_id",
];

/// Puts `[name]` in place of every value that differs from run to run.
pub(crate) fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                if NAMES.contains(&name.as_str()) && !value.is_null() {
                    *value = Value::String(format!("[{name}]"));
                } else {
                    mask(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The value without what differs, indented.
pub(crate) fn masked(value: &Value) -> String {
    let mut value = value.clone();
    mask(&mut value);
    serde_json::to_string_pretty(&value).unwrap()
}
