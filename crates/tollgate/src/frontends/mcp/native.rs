//! Results of other MCP servers, passed on as they are.
//!
//! Unknown fields and content types stay, in their order and spelling; what the gate has to
//! say about the call stands in `_meta["tollgate/result"]`.

use serde_json::{Value, json, value::RawValue};
use tollgate_core::{Fields, Shape};
use tollgate_engine::Outcome;

use super::{Exchange, era::SERVER_KEY, reply};

pub(super) fn is_native(outcome: &Outcome) -> bool {
    outcome.shape == Shape::Native && outcome.envelope.get().data.is_some()
}

/// The upstream's own result with our `_meta`.
pub(super) fn result(exchange: &Exchange, outcome: &Outcome) -> String {
    let envelope = outcome.envelope.get();
    let raw = envelope.data.as_ref().map_or("{}", |data| data.raw());
    let mut fields: Fields = serde_json::from_str(raw).unwrap_or_default();
    let mut meta: Value = fields
        .get("_meta")
        .and_then(|meta| serde_json::from_str(meta.get()).ok())
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({}));
    let mut rest = serde_json::to_value(envelope).unwrap_or_default();
    if let Value::Object(rest) = &mut rest {
        rest.remove("data");
    }
    meta["tollgate/result"] = rest;
    meta["traceparent"] = Value::String(outcome.traceparent.clone());
    if exchange.is_modern() {
        meta[SERVER_KEY] = reply::server_info();
        if fields.get("resultType").is_none() {
            set(&mut fields, "resultType", &json!("complete"));
        }
    }
    set(&mut fields, "_meta", &meta);
    serde_json::to_string(&fields).unwrap_or_default()
}

fn set(fields: &mut Fields, name: &str, value: &Value) {
    if let Ok(raw) = RawValue::from_string(value.to_string()) {
        fields.set(name, raw);
    }
}
