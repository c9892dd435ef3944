//! What a request says about itself in `_meta`.
//!
//! Every modern request carries it, so only what means something here is read; what means
//! nothing here is given to the engine, which forwards only what a server's operator has named.
//! Invariants: an entry that is `null` was said, and is told from one that was not. What cannot
//! be read, or is there twice, is refused: nobody's `dry_run` or session is passed over.

use std::{
    borrow::Cow,
    fmt::{self, Display},
    sync::Arc,
};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    era::{CAPABILITIES_KEY, VERSION_KEY},
    params::{self, Member, Params},
    rpc::RpcError,
};

const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
const PROGRESS_KEY: &str = "progressToken";
const TRACE_KEY: &str = "traceparent";
const CALL_KEY: &str = "tollgate/call";
const SESSION_KEY: &str = "tollgate/session";
/// Beginnings of names that are the protocol's or ours, and nobody else's to hear.
const RESERVED: [&str; 3] = [
    "io.modelcontextprotocol/",
    "modelcontextprotocol.io/",
    "tollgate/",
];
/// Of a trace, only `traceparent` goes on, and that is read and written anew.
const DROPPED: [&str; 2] = ["tracestate", "baggage"];

/// The entries that mean something, and what is for others.
#[derive(Debug, Default)]
pub(super) struct Meta<'a> {
    pub(super) version: Option<&'a RawValue>,
    pub(super) capabilities: Option<&'a RawValue>,
    pub(super) client: Option<&'a RawValue>,
    pub(super) log_level: Option<&'a RawValue>,
    pub(super) progress_token: Option<&'a RawValue>,
    pub(super) traceparent: Option<&'a RawValue>,
    pub(super) call: Option<&'a RawValue>,
    pub(super) session: Option<&'a RawValue>,
    /// Most requests have none of these.
    others: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Meta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Meta<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut meta = Meta::default();
                while let Some(Name(name)) = map.next_key()? {
                    let value: &RawValue = map.next_value()?;
                    let place = match &*name {
                        VERSION_KEY => &mut meta.version,
                        CAPABILITIES_KEY => &mut meta.capabilities,
                        CLIENT_KEY => &mut meta.client,
                        LEVEL_KEY => &mut meta.log_level,
                        PROGRESS_KEY => &mut meta.progress_token,
                        TRACE_KEY => &mut meta.traceparent,
                        CALL_KEY => &mut meta.call,
                        SESSION_KEY => &mut meta.session,
                        _ => {
                            meta.others.push((name, value));
                            continue;
                        }
                    };
                    if place.replace(value).is_some() {
                        return Err(A::Error::custom(format!("`{name}` is there twice")));
                    }
                }
                let mut names: Vec<&str> = meta.others.iter().map(|(name, _)| &**name).collect();
                names.sort_unstable();
                if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                    let name: String = twice[0].chars().take(64).collect();
                    return Err(A::Error::custom(format!("`{name}` is there twice")));
                }
                Ok(meta)
            }
        }
        deserializer.deserialize_map(Entries)
    }
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

    /// What the operator of a server may let through to it, as fields of an object.
    pub(super) fn aside(&self) -> Option<Arc<str>> {
        let is_ours = |name: &str| {
            DROPPED.contains(&name) || RESERVED.iter().any(|prefix| name.starts_with(prefix))
        };
        let others = self.others.iter().filter(|(name, _)| !is_ours(name));
        let fields: Vec<String> = others
            .map(|(name, value)| Ok(format!("{}:{value}", serde_json::to_string(name)?)))
            .collect::<serde_json::Result<_>>()
            .ok()?;
        (!fields.is_empty()).then(|| fields.join(",").into())
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
        assert_eq!(said.aside().as_deref(), Some(r#""other":[1]"#));
        assert!(Meta::of(&params(Value::Null)).unwrap().is_none());
        assert!(Meta::of(&Payload::empty_object().into()).unwrap().is_none());
    }

    #[test]
    fn what_is_for_others_is_kept_as_it_is_spelled() {
        let text = r#"{"_meta": {"progressToken": 1, "b\"": {"n": 1.50}, "tollgate/x": 1,
            "a": 1e2, "io.modelcontextprotocol/new": 1, "traceparent": "t",
            "tracestate": "v=1", "baggage": "k=v"}}"#;
        let asked = Payload::parse(text.to_owned()).unwrap().into();
        let said = Meta::of(&asked).unwrap().unwrap();
        let aside = said.aside();
        assert_eq!(aside.as_deref(), Some(r#""b\"":{"n": 1.50},"a":1e2"#));
        let nothing = params(json!({"progressToken": 1}));
        assert_eq!(Meta::of(&nothing).unwrap().unwrap().aside(), None);
    }

    #[test]
    fn what_cannot_be_read_or_is_said_twice_is_refused() {
        let twice = r#"{"_meta": {"tollgate/call": {"dry_run": true}, "tollgate/call": {}}}"#;
        let two = r#"{"_meta": {"tollgate/call": {"dry_run": true}}, "_meta": {}}"#;
        for text in [
            twice,
            two,
            r#"{"_meta": {"com.vendor/x": 1, "y": 2, "com.vendor\/x": 3}}"#,
            r#"{"_meta": 7}"#,
            r#"{"_meta": ["2026-07-28", {}]}"#,
        ] {
            let params = Payload::parse(text.to_owned()).unwrap().into();
            let refused = Meta::of(&params).unwrap_err();
            assert_eq!(refused.code, code::INVALID_PARAMS, "{text}");
        }
    }
}
