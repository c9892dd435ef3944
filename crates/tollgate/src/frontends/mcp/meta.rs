//! What a request says about itself in `_meta`.
//!
//! Every modern request carries it, so only what means something here is read.
//! Invariants: an entry that is `null` was said, and is told from one that was not. What cannot
//! be read, or is there twice, is refused: nobody's `dry_run` or session is passed over.

use std::{borrow::Cow, fmt::Display};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    params::{self, Member, Params},
    rpc::{RpcError, present},
};

/// The entries that mean something; others are left unread.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Meta<'a> {
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/protocolVersion",
        deserialize_with = "present"
    )]
    pub(super) version: Option<&'a RawValue>,
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/clientCapabilities",
        deserialize_with = "present"
    )]
    pub(super) capabilities: Option<&'a RawValue>,
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/clientInfo",
        deserialize_with = "present"
    )]
    pub(super) client: Option<&'a RawValue>,
    #[serde(
        borrow,
        rename = "io.modelcontextprotocol/logLevel",
        deserialize_with = "present"
    )]
    pub(super) log_level: Option<&'a RawValue>,
    #[serde(borrow, rename = "progressToken", deserialize_with = "present")]
    pub(super) progress_token: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "present")]
    pub(super) traceparent: Option<&'a RawValue>,
    #[serde(borrow, rename = "tollgate/call", deserialize_with = "present")]
    pub(super) call: Option<&'a RawValue>,
    #[serde(borrow, rename = "tollgate/session", deserialize_with = "present")]
    pub(super) session: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    /// That of a request's parameters, if there is one.
    pub(super) fn of(params: &'a Params) -> Result<Option<Self>, RpcError> {
        let unreadable = |error: &dyn Display| {
            RpcError::invalid_params(format!("`_meta` cannot be read: {error}"))
        };
        let meta = params.get(Member::Meta)?.filter(|raw| *raw != "null");
        let Some(meta) = meta else {
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
    pub(super) fn version(&self) -> Option<Cow<'a, str>> {
        text(self.version)
    }
}

/// The text of an entry, if it is one.
pub(super) fn text(entry: Option<&RawValue>) -> Option<Cow<'_, str>> {
    entry.and_then(|raw| params::text(raw.get()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tollgate_core::Payload;

    use super::*;
    use crate::frontends::mcp::{
        era::{CAPABILITIES_KEY, VERSION_KEY},
        rpc::code,
    };

    fn params(meta: Value) -> Params {
        Payload::from(json!({"_meta": meta, "name": "x"})).into()
    }

    #[test]
    fn null_is_told_from_nothing() {
        let asked = params(json!({
            VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, "tollgate/call": null, "other": [1],
        }));
        let said = Meta::of(&asked).unwrap().unwrap();
        assert_eq!(said.version().as_deref(), Some("2026-07-28"));
        assert_eq!(said.capabilities.map(RawValue::get), Some("{}"));
        assert_eq!(said.call.map(RawValue::get), Some("null"));
        assert!(said.session.is_none());
        assert!(Meta::of(&params(Value::Null)).unwrap().is_none());
        assert!(Meta::of(&Payload::empty_object().into()).unwrap().is_none());
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
            let params = Payload::parse(text.to_owned()).unwrap().into();
            let refused = Meta::of(&params).unwrap_err();
            assert_eq!(refused.code, code::INVALID_PARAMS, "{text}");
        }
    }
}
