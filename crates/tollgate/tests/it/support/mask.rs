//! Replaces what differs from run to run, so that whole values can be compared.

use serde_json::Value;
use tollgate_sanitize::placeholder::{self, Part, Placeholder};

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
        Value::String(text) => *text = without_placeholder_ids(&without_approvals(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The ids of approvals in a text replaced.
fn without_approvals(text: &str) -> String {
    const BEFORE: &str = "tollgate approvals approve ap-";
    let mut parts = text.split(BEFORE);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        masked.push_str("tollgate approvals approve [approval_id]");
        masked.push_str(rest);
    }
    masked
}

/// The ids of placeholders in a text replaced.
fn without_placeholder_ids(text: &str) -> String {
    let parts = placeholder::parts(text).into_iter();
    let parts = parts.map(|part| match part {
        Part::Text(text) => text.to_owned(),
        Part::Escaped(text) => format!("{text}\\"),
        Part::Placeholder(Placeholder { rule, id }) => match id {
            Some(_) => format!("[REDACTED:{rule}#[id]]"),
            None => format!("[REDACTED:{rule}]"),
        },
    });
    parts.collect()
}

/// The value without what differs, indented.
pub(crate) fn masked(value: &Value) -> String {
    let mut value = value.clone();
    mask(&mut value);
    serde_json::to_string_pretty(&value).unwrap()
}
