//! How answers are dressed: what every result carries, and which failure is which code.

use serde::Serialize;
use serde_json::{Map, Value, json, value::to_raw_value};
use tollgate_core::{
    ErrorCode, Failure, Fields,
    print::{ObjectText, Print},
};

use super::{
    Era, Exchange,
    era::SERVER_KEY,
    rpc::{RpcError, code},
};

/// How long a list or a document may be reused, in milliseconds.
const TTL_MS: u64 = 60_000;

/// Who we are, to be printed.
pub(super) struct ServerInfo;

impl ServerInfo {
    const FIELDS: [(&'static str, &'static str); 3] = [
        ("name", "tollgate"),
        ("title", "Tollgate"),
        ("version", env!("CARGO_PKG_VERSION")),
    ];
}

impl Print for ServerInfo {
    fn print(&self, object: &mut ObjectText<'_>) {
        for (name, value) in Self::FIELDS {
            object.text(name, value);
        }
    }
}

/// Who we are, as part of something larger.
pub(super) fn server_info() -> Value {
    ServerInfo::FIELDS.into_iter().collect()
}

/// Prints a result with what its era expects of every result.
pub(super) fn dressed(exchange: &Exchange, mut result: Map<String, Value>) -> String {
    if exchange.client.era == Era::Modern {
        result
            .entry("resultType")
            .or_insert_with(|| Value::String("complete".to_owned()));
        meta(&mut result)[SERVER_KEY] = server_info();
    }
    Value::Object(result).to_string()
}

/// Adds a field to an object that is printed already, as it is spelled.
pub(super) fn with(mut object: String, name: &str, text: &str) -> String {
    object.pop();
    object.push_str(&format!(",\"{name}\":{text}}}"));
    object
}

/// The same of somebody else's result, whose fields stay as they are spelled; `said` is what we
/// say about it in `_meta`.
pub(super) fn dressed_as_it_is(
    exchange: &Exchange,
    mut result: Fields<'_>,
    said: &[(&str, Value)],
) -> String {
    let theirs = result.get("_meta").map(|meta| meta.get().to_owned());
    // An object, whatever somebody else put in its place.
    let meta = theirs
        .as_deref()
        .and_then(|meta| serde_json::from_str(meta).ok());
    let mut meta: Fields<'_> = meta.unwrap_or_default();
    for (name, value) in said {
        set(&mut meta, name, value);
    }
    if exchange.client.era == Era::Modern {
        if result.get("resultType").is_none() {
            set(&mut result, "resultType", "complete");
        }
        set(&mut meta, SERVER_KEY, &server_info());
    }
    set(&mut result, "_meta", &meta);
    serde_json::to_string(&result).unwrap_or_else(|_| "{}".to_owned())
}

/// Gives a field a value of ours.
fn set<T: Serialize + ?Sized>(fields: &mut Fields<'_>, name: &str, value: &T) {
    if let Ok(value) = to_raw_value(value) {
        fields.set(name, value);
    }
}

/// The `_meta` of a result of ours.
pub(super) fn meta(result: &mut Map<String, Value>) -> &mut Value {
    result.entry("_meta").or_insert_with(|| json!({}))
}

/// Marks a result as one caller's own, to be reused for a while.
pub(super) fn reusable(exchange: &Exchange, result: &mut Map<String, Value>) {
    if exchange.client.era == Era::Modern {
        result.insert("ttlMs".to_owned(), json!(TTL_MS));
        result.insert("cacheScope".to_owned(), json!("private"));
    }
}

/// Marks what was read as one caller's own. Documents of the gate that only change with its
/// lists may be reused; for anything else it is what its owner says, or not at all.
pub(super) fn read_reusable(exchange: &Exchange, result: &mut Fields<'_>) {
    const LIVE: [&str; 3] = ["session/", "audit/", "policy"];
    if exchange.client.era != Era::Modern {
        return;
    }
    let uri = exchange.params()["uri"].as_str().unwrap_or_default();
    let is_steady = uri
        .strip_prefix("tollgate://")
        .is_some_and(|own| !LIVE.iter().any(|live| own.starts_with(live)));
    let theirs = result.get("ttlMs").map(|ttl| ttl.get().parse::<u64>());
    if is_steady || !matches!(theirs, Some(Ok(_))) {
        let ttl = if is_steady { TTL_MS } else { 0 };
        set(result, "ttlMs", &ttl);
    }
    set(result, "cacheScope", "private");
}

/// The failure of anything but a tool call, which has results of its own for most of them.
pub(super) fn error(exchange: &Exchange, failure: &Failure) -> RpcError {
    let number = match failure.code {
        ErrorCode::NotFound if exchange.asked.method == "resources/read" => {
            match exchange.client.era {
                Era::Modern => code::INVALID_PARAMS,
                Era::Legacy => code::RESOURCE_NOT_FOUND,
            }
        }
        ErrorCode::NotFound
        | ErrorCode::UnknownTool
        | ErrorCode::InactiveTool
        | ErrorCode::MalformedRequest
        | ErrorCode::InvalidArguments
        | ErrorCode::InputRejected
        | ErrorCode::MissingInputs
        | ErrorCode::PlaceholderInArgument
        | ErrorCode::StateRejected
        | ErrorCode::RequestTooLarge
        | ErrorCode::InputRequired
        | ErrorCode::CacheMiss => code::INVALID_PARAMS,
        ErrorCode::PolicyDenied
        | ErrorCode::PolicyError
        | ErrorCode::TrustLevelNotAllowed
        | ErrorCode::ConfirmationRequired
        | ErrorCode::CannotBeShown
        | ErrorCode::Unauthorized
        | ErrorCode::BudgetExceeded => code::DENIED,
        ErrorCode::Overloaded | ErrorCode::RateLimited => code::OVERLOADED,
        ErrorCode::TimedOut
        | ErrorCode::Cancelled
        | ErrorCode::Interrupted
        | ErrorCode::InvalidOutput
        | ErrorCode::OutputTooLarge
        | ErrorCode::ResultTooLarge
        | ErrorCode::Unavailable
        | ErrorCode::ProviderClosed
        | ErrorCode::ConnectionLost
        | ErrorCode::SpawnFailed
        | ErrorCode::Panicked
        | ErrorCode::ToolFailed
        | ErrorCode::Unsupported
        | ErrorCode::StoreUnavailable
        | ErrorCode::StoreHeld
        | ErrorCode::StateNotAcknowledged
        | ErrorCode::StoreCorrupt
        | ErrorCode::Internal => code::INTERNAL,
    };
    let mut data = Map::new();
    if let Some(uri) = exchange.params().get("uri") {
        data.insert("uri".to_owned(), uri.clone());
    }
    data.insert("tollgate/error".to_owned(), json!(failure));
    RpcError::new(number, failure.message.clone()).with(Value::Object(data))
}
