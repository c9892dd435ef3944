//! Results of other MCP servers, passed on as they are.
//!
//! Unknown fields and content types stay, in their order and spelling; what the gate has to
//! say about the call stands in `_meta["tollgate/result"]`.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Value, json, value::RawValue};
use tollgate_core::Shape;
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
            fields.set("resultType", &json!("complete"));
        }
    }
    fields.set("_meta", &meta);
    serde_json::to_string(&fields).unwrap_or_default()
}

/// The fields of an object in their order, their values as they were spelled.
#[derive(Default)]
pub(super) struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| &**value)
    }

    pub(super) fn set(&mut self, name: &str, value: &Value) {
        let Ok(raw) = RawValue::from_string(value.to_string()) else {
            return;
        };
        match self.0.iter_mut().find(|(own, _)| own == name) {
            Some((_, old)) => *old = raw,
            None => self.0.push((name.to_owned(), raw)),
        }
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Each)
    }
}
