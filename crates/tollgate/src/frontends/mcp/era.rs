//! Which protocol a request speaks, and what it says about its client.
//!
//! From 2026-07-28 on every request says all of it; before that a handshake did, once.

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tollgate_core::{AskKinds, Control, LogLevel};

use super::{
    meta::{self, Meta},
    params::Params,
    rpc::{RpcError, code},
};

/// The era of explicit, stateless requests.
pub(super) const MODERN: &str = "2026-07-28";
/// The last version with a handshake.
pub(super) const LEGACY: &str = "2025-11-25";
/// Every version that begins with a handshake, newest first.
pub(super) const LEGACY_VERSIONS: [&str; 4] = [LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"];

/// Keys that the protocol reserves in `_meta`.
pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// The extension with which clients show pages of tools.
const PAGES_KEY: &str = "io.modelcontextprotocol/ui";
/// The extension for calls that go on by themselves.
pub(super) const TASKS_KEY: &str = "io.modelcontextprotocol/tasks";
pub(super) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Which protocol a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// With a handshake, up to 2025-11-25.
    Legacy,
    /// Every request for itself, from 2026-07-28.
    Modern,
}

/// What is known of a client.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) era: Era,
    /// The negotiated version.
    pub(super) version: String,
    /// The name it gives itself.
    pub(super) name: Option<String>,
    /// Its own version.
    pub(super) build: Option<String>,
    pub(super) asks: AskKinds,
    /// Whether it shows pages that come with tools.
    pub(super) pages: bool,
    /// Whether it understands that a call goes on as a task.
    pub(super) tasks: bool,
    /// From which importance on it wants log lines; `None` is none at all.
    pub(super) log_level: Option<LogLevel>,
}

impl Client {
    /// A client that spoke no handshake and says nothing.
    pub(super) fn unknown(version: &str) -> Self {
        Self {
            era: Era::Legacy,
            version: version.to_owned(),
            name: None,
            build: None,
            asks: AskKinds::default(),
            pages: false,
            tasks: false,
            log_level: Some(LogLevel::Info),
        }
    }

    /// What a handshake says; an unknown version is answered with one we know.
    pub(super) fn of_handshake(params: &Value) -> Self {
        let wanted = params["protocolVersion"].as_str().unwrap_or_default();
        let version = LEGACY_VERSIONS
            .into_iter()
            .find(|version| *version == wanted)
            .unwrap_or(LEGACY);
        Self {
            name: text_of(&params["clientInfo"]["name"]),
            build: text_of(&params["clientInfo"]["version"]),
            asks: asks_of(&params["capabilities"]),
            pages: shows_pages(&params["capabilities"]),
            ..Self::unknown(version)
        }
    }

    /// What a modern request says; what it must say and does not is an error.
    pub(super) fn of_request(meta: &Meta<'_>) -> Result<Self, RpcError> {
        let capabilities = meta.capabilities.map(RawValue::get);
        let capabilities: Option<Value> = capabilities
            .filter(|raw| raw.starts_with('{'))
            .and_then(|raw| serde_json::from_str(raw).ok());
        let version = meta.version();
        let (Some(version), Some(capabilities)) = (&version, &capabilities) else {
            let missing: Vec<&str> = [
                (VERSION_KEY, version.is_none()),
                (CAPABILITIES_KEY, capabilities.is_none()),
            ]
            .into_iter()
            .filter_map(|(key, is_missing)| is_missing.then_some(key))
            .collect();
            let message = format!("`_meta` must carry {}", missing.join(" and "));
            return Err(RpcError::invalid_params(message));
        };
        if version != MODERN {
            return Err(unsupported(version));
        }
        let level_name = meta::text(meta.log_level);
        let (name, build) = meta.client.map_or((None, None), info_in);
        Ok(Self {
            era: Era::Modern,
            version: MODERN.to_owned(),
            name,
            build,
            asks: asks_of(capabilities),
            pages: shows_pages(capabilities),
            tasks: capabilities["extensions"][TASKS_KEY].is_object(),
            log_level: level_name.as_deref().and_then(level),
        })
    }
}

/// The error for a version nobody here speaks.
pub(super) fn unsupported(version: &str) -> RpcError {
    let shown: String = version.chars().take(64).collect();
    let supported: Vec<&str> = std::iter::once(MODERN).chain(LEGACY_VERSIONS).collect();
    RpcError::new(
        code::UNSUPPORTED_VERSION,
        format!("protocol version `{shown}` is not supported"),
    )
    .with(json!({"supported": supported, "requested": shown}))
}

/// Every version, newest first.
pub(super) fn all_versions() -> Vec<&'static str> {
    std::iter::once(MODERN).chain(LEGACY_VERSIONS).collect()
}

fn text_of(said: &Value) -> Option<String> {
    said.as_str().map(short)
}

/// Name and version of what a request says, which is read for nothing else.
fn info_in(info: &RawValue) -> (Option<String>, Option<String>) {
    #[derive(Default, Deserialize)]
    struct Info<'a> {
        #[serde(borrow, default)]
        name: Option<&'a RawValue>,
        #[serde(borrow, default)]
        version: Option<&'a RawValue>,
    }
    let raw = Some(info.get()).filter(|raw| raw.starts_with('{'));
    let info: Info<'_> = raw
        .and_then(|raw| serde_json::from_str(raw).ok())
        .unwrap_or_default();
    let text = |said| meta::text(said).as_deref().map(short);
    (text(info.name), text(info.version))
}

fn short(name: &str) -> String {
    name.chars().take(128).collect()
}

fn asks_of(capabilities: &Value) -> AskKinds {
    let elicitation = &capabilities["elicitation"];
    // An empty object is a form: that is all there was before modes had names.
    let form = elicitation
        .as_object()
        .is_some_and(|modes| modes.is_empty() || modes.contains_key("form"));
    AskKinds {
        elicitation: form,
        elicitation_url: elicitation["url"].is_object(),
        sampling: capabilities["sampling"].is_object(),
        roots: capabilities["roots"].is_object(),
    }
}

/// Whether a client has the extension for pages, and for the kind that there are.
fn shows_pages(capabilities: &Value) -> bool {
    let extension = &capabilities["extensions"][PAGES_KEY];
    let kinds = extension["mimeTypes"].as_array();
    let is_html = |kind: &Value| kind == "text/html;profile=mcp-app";
    extension.is_object() && kinds.is_none_or(|kinds| kinds.iter().any(is_html))
}

/// Reads a level's name.
pub(super) fn level(name: &str) -> Option<LogLevel> {
    Some(match name {
        "debug" => LogLevel::Debug,
        "info" => LogLevel::Info,
        "notice" => LogLevel::Notice,
        "warning" => LogLevel::Warning,
        "error" => LogLevel::Error,
        "critical" => LogLevel::Critical,
        "alert" => LogLevel::Alert,
        "emergency" => LogLevel::Emergency,
        _ => return None,
    })
}

/// What a request says beside its own parameters.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) progress_token: Option<Value>,
    pub(super) traceparent: Option<String>,
    /// What means nothing here, for whoever serves the request: fields as they were spelled.
    pub(super) aside: Option<Arc<str>>,
    pub(super) control: Control,
    pub(super) session: Option<String>,
}

impl Said {
    /// What a request with these parameters says.
    pub(super) fn of(params: &Params) -> Result<Self, RpcError> {
        match Meta::of(params)? {
            Some(meta) => Self::in_meta(&meta),
            None => Ok(Self::default()),
        }
    }

    /// What this `_meta` says.
    pub(super) fn in_meta(meta: &Meta<'_>) -> Result<Self, RpcError> {
        let control = match meta.call {
            None => Control::default(),
            Some(control) => serde_json::from_str(control.get()).map_err(|error| {
                let message = format!("`_meta[\"tollgate/call\"]` cannot be read: {error}");
                RpcError::invalid_params(message)
            })?,
        };
        let session = match (meta.session, meta::text(meta.session)) {
            (None, _) => None,
            (Some(_), Some(handle)) if (1..=128).contains(&handle.len()) => {
                Some(handle.into_owned())
            }
            (Some(_), _) => {
                let message = "`_meta[\"tollgate/session\"]` is a text of 1 to 128 bytes";
                return Err(RpcError::invalid_params(message));
            }
        };
        let token = meta.progress_token.map(RawValue::get);
        let token = token.and_then(|raw| serde_json::from_str::<Value>(raw).ok());
        Ok(Self {
            progress_token: token.filter(|it| it.is_string() || it.is_number()),
            traceparent: meta::text(meta.traceparent).map(Cow::into_owned),
            aside: meta.aside(),
            control,
            session,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_is_answered_with_a_version_we_speak() {
        for (wanted, spoken) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("1999-01-01", "2025-11-25"),
        ] {
            let client = Client::of_handshake(&json!({"protocolVersion": wanted}));
            assert_eq!(client.version, spoken);
        }
    }

    #[test]
    fn a_modern_request_must_say_who_it_is() {
        let read = |meta: Value| {
            let text = meta.to_string();
            let meta: Meta<'_> = serde_json::from_str(&text).unwrap();
            Client::of_request(&meta)
        };
        let missing = read(json!({VERSION_KEY: MODERN})).unwrap_err();
        assert_eq!(missing.code, code::INVALID_PARAMS);
        let odd = json!({VERSION_KEY: "2030-01-01", CAPABILITIES_KEY: {}});
        let odd = read(odd).unwrap_err();
        assert_eq!(odd.code, code::UNSUPPORTED_VERSION);
        assert_eq!(odd.data.unwrap()["requested"], "2030-01-01");
        let asks = |capabilities: Value| {
            let meta = json!({VERSION_KEY: MODERN, CAPABILITIES_KEY: capabilities});
            read(meta).unwrap().asks
        };
        assert!(asks(json!({"elicitation": {}})).elicitation);
        assert!(asks(json!({"elicitation": {"form": {}}})).elicitation);
        assert!(!asks(json!({"elicitation": {"url": {}}})).elicitation);
        assert!(asks(json!({"elicitation": {"url": {}}})).elicitation_url);
        assert!(!asks(json!({"elicitation": {}})).elicitation_url);
        assert_eq!(asks(json!({})), AskKinds::default());
    }
}
