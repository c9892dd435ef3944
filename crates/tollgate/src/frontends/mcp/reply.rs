//! How answers are dressed: what every result carries, and which failure is which code.

use serde_json::{Map, Value, json};
use tollgate_core::{
    ErrorCode, Failure,
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

/// The `_meta` of a result, an object whatever somebody else put in its place.
pub(super) fn meta(result: &mut Map<String, Value>) -> &mut Value {
    let meta = result.entry("_meta").or_insert_with(|| json!({}));
    if !meta.is_object() {
        *meta = json!({});
    }
    meta
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
pub(super) fn read_reusable(exchange: &Exchange, result: &mut Map<String, Value>) {
    const LIVE: [&str; 3] = ["session/", "audit/", "policy"];
    if exchange.client.era != Era::Modern {
        return;
    }
    let uri = exchange.params()["uri"].as_str().unwrap_or_default();
    let is_steady = uri
        .strip_prefix("tollgate://")
        .is_some_and(|own| !LIVE.iter().any(|live| own.starts_with(live)));
    if is_steady || !result.get("ttlMs").is_some_and(Value::is_u64) {
        let ttl = if is_steady { TTL_MS } else { 0 };
        result.insert("ttlMs".to_owned(), json!(ttl));
    }
    result.insert("cacheScope".to_owned(), json!("private"));
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
        | ErrorCode::StateRejected
        | ErrorCode::RequestTooLarge
        | ErrorCode::InputRequired
        | ErrorCode::CacheMiss => code::INVALID_PARAMS,
        ErrorCode::PolicyDenied
        | ErrorCode::PolicyError
        | ErrorCode::TrustLevelNotAllowed
        | ErrorCode::ConfirmationRequired
        | ErrorCode::Unauthorized
        | ErrorCode::BudgetExceeded => code::DENIED,
        ErrorCode::Overloaded | ErrorCode::RateLimited => code::OVERLOADED,
        ErrorCode::TimedOut
        | ErrorCode::Cancelled
        | ErrorCode::Interrupted
        | ErrorCode::InvalidOutput
        | ErrorCode::OutputTooLarge
        | ErrorCode::Unavailable
        | ErrorCode::ProviderClosed
        | ErrorCode::ConnectionLost
        | ErrorCode::SpawnFailed
        | ErrorCode::Panicked
        | ErrorCode::ToolFailed
        | ErrorCode::Unsupported
        | ErrorCode::StoreUnavailable
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
