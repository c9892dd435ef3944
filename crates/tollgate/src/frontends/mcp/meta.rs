//! What a request says about itself in `_meta`.
//!
//! Every modern request carries it, so it is read once, and only what means something here.
//! Invariant: an entry that is `null` was said, and is told from one that was not.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tollgate_core::Payload;

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
    /// That of a request's parameters; `None` where there is none that can be read.
    pub(super) fn of(params: &Payload) -> Option<Self> {
        #[derive(Deserialize)]
        struct With {
            #[serde(default, rename = "_meta")]
            meta: Option<Meta>,
        }
        serde_json::from_str::<With>(params.raw()).ok()?.meta
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
    use crate::frontends::mcp::era::{CAPABILITIES_KEY, VERSION_KEY};

    #[test]
    fn null_is_told_from_nothing() {
        let of = |meta: Value| Meta::of(&Payload::from(json!({"_meta": meta, "name": "x"})));
        let said = of(json!({
            VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, "tollgate/call": null, "other": [1],
        }));
        let said = said.unwrap();
        assert_eq!(said.version(), Some("2026-07-28"));
        assert_eq!(said.capabilities, Some(json!({})));
        assert_eq!(said.call, Some(Value::Null));
        assert_eq!(said.session, None);
        assert!(of(json!(7)).is_none());
        assert!(Meta::of(&Payload::empty_object()).is_none());
    }
}
