//! What a request says about itself in `_meta`.
//!
//! Every modern request carries it, so only what means something here is read.
//! Invariants: an entry that is `null` was said, and is told from one that was not. What cannot
//! be read, or is there twice, is refused: nobody's `dry_run` or session is passed over.

use std::fmt::Display;

use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};
use tollgate_core::Payload;

use super::rpc::RpcError;

/// The entries that mean something; others are left unread.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Meta {
    #[serde(
        rename = "io.modelcontextprotocol/protocolVersion",
        deserialize_with = "said"
    )]
    pub(super) version: Option<Value>,
    #[serde(
        rename = "io.modelcontextprotocol/clientCapabilities",
        deserialize_with = "said"
    )]
    pub(super) capabilities: Option<Value>,
    #[serde(
        rename = "io.modelcontextprotocol/clientInfo",
        deserialize_with = "said"
    )]
    pub(super) client: Option<Value>,
    #[serde(rename = "io.modelcontextprotocol/logLevel", deserialize_with = "said")]
    pub(super) log_level: Option<Value>,
    #[serde(rename = "progressToken", deserialize_with = "said")]
    pub(super) progress_token: Option<Value>,
    #[serde(deserialize_with = "said")]
    pub(super) traceparent: Option<Value>,
    #[serde(rename = "tollgate/call", deserialize_with = "said")]
    pub(super) call: Option<Value>,
    #[serde(rename = "tollgate/session", deserialize_with = "said")]
    pub(super) session: Option<Value>,
}

impl Meta {
    /// That of a request's parameters, if there is one.
    pub(super) fn of(params: &Payload) -> Result<Option<Self>, RpcError> {
        #[derive(Deserialize)]
        struct With<'a> {
            #[serde(borrow, default, rename = "_meta")]
            meta: Option<&'a RawValue>,
        }
        let unreadable = |error: &dyn Display| {
            RpcError::invalid_params(format!("`_meta` cannot be read: {error}"))
        };
        let with: With<'_> =
            serde_json::from_str(params.raw()).map_err(|error| unreadable(&error))?;
        let Some(meta) = with.meta.map(RawValue::get) else {
            return Ok(None);
        };
        // A list of the same values would be taken for one.
        if !meta.starts_with('{') {
            return Err(unreadable(&"it is no object"));
        }
        let meta = serde_json::from_str(meta).map_err(|error| unreadable(&error))?;
        Ok(Some(meta))
    }

    /// The version it names.
    pub(super) fn version(&self) -> Option<&str> {
        self.version.as_ref().and_then(Value::as_str)
    }
}

fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frontends::mcp::{
        era::{CAPABILITIES_KEY, VERSION_KEY},
        rpc::code,
    };

    fn of(meta: Value) -> Result<Option<Meta>, RpcError> {
        Meta::of(&Payload::from(json!({"_meta": meta, "name": "x"})))
    }

    #[test]
    fn null_is_told_from_nothing() {
        let said = of(json!({
            VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, "tollgate/call": null, "other": [1],
        }));
        let said = said.unwrap().unwrap();
        assert_eq!(said.version(), Some("2026-07-28"));
        assert_eq!(said.capabilities, Some(json!({})));
        assert_eq!(said.call, Some(Value::Null));
        assert_eq!(said.session, None);
        assert!(of(Value::Null).unwrap().is_none());
        assert!(Meta::of(&Payload::empty_object()).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_read_or_is_said_twice_is_refused() {
        let twice = r#"{"_meta": {"tollgate/call": {"dry_run": true}, "tollgate/call": {}}}"#;
        let two = r#"{"_meta": {"tollgate/call": {"dry_run": true}}, "_meta": {}}"#;
        for text in [
            twice,
            two,
            r#"{"_meta": 7}"#,
            r#"{"_meta": ["2026-07-28", {}]}"#,
        ] {
            let refused = Meta::of(&Payload::parse(text.to_owned()).unwrap());
            assert_eq!(refused.unwrap_err().code, code::INVALID_PARAMS, "{text}");
        }
    }
}
