//! Clients that are easy to misbehave with: lines on stdio, and HTTP by hand on a socket.

mod held;
mod http;
mod serve;
mod stdio;

pub(super) use held::Held;
pub(super) use http::{Ask, Heard, Open};
pub(super) use serve::Gate;
pub(super) use stdio::Stdio;

use std::{thread, time::Duration};

use serde_json::{Value, json};

/// The version in which every request speaks for itself.
pub(super) const MODERN: &str = "2026-07-28";
/// Versions that begin with a handshake, newest first.
pub(super) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// How long a peer is waited for before a test gives up on it.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
pub(super) const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
pub(super) const LOG_KEY: &str = "io.modelcontextprotocol/logLevel";

/// What a modern client says with every request: its name takes dots in tool names.
pub(super) fn meta() -> Value {
    json!({
        VERSION_KEY: MODERN,
        CAPABILITIES_KEY: {},
        CLIENT_KEY: {"name": "mcp", "version": "1"},
    })
}

/// The same of a client that can show a dialog.
pub(super) fn meta_with_dialogs() -> Value {
    let mut meta = meta();
    meta[CAPABILITIES_KEY] = json!({"elicitation": {"form": {}}});
    meta
}

/// Puts `_meta` under what the parameters say there themselves.
pub(super) fn with_meta(mut params: Value, meta: &Value) -> Value {
    let mut all = meta.clone();
    if let Some(own) = params["_meta"].as_object() {
        for (key, value) in own {
            all[key] = value.clone();
        }
    }
    params["_meta"] = all;
    params
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The result of an answer; anything else fails the test.
#[track_caller]
pub(super) fn result(answer: &Value) -> Value {
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}

/// The error of an answer; anything else fails the test.
#[track_caller]
pub(super) fn error(answer: &Value) -> Value {
    assert!(answer["error"].is_object(), "{answer}");
    answer["error"].clone()
}

/// The code of an answer that is an error.
#[track_caller]
pub(super) fn code(answer: &Value) -> i64 {
    error(answer)["code"].as_i64().unwrap()
}

/// Waits until something is so.
#[track_caller]
pub(super) fn until(mut is_so: impl FnMut() -> bool) {
    let pause = Duration::from_millis(20);
    for _ in 0..PATIENCE.as_millis() / pause.as_millis() {
        if is_so() {
            return;
        }
        thread::sleep(pause);
    }
    panic!("it never came to that");
}

/// The names of a list, in order.
pub(super) fn names(result: &Value) -> Vec<&str> {
    let tools = result["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect()
}
