//! Several messages in one: taken from whoever agreed on the version that has them.

use serde_json::{Value, json};

use super::peer::{Ask, Gate, LEGACY, Stdio, code, request, result};
use crate::support::TestEnv;

const VERSION: &str = "2025-03-26";

fn call(id: u64, text: &str) -> Value {
    let params = json!({"name": "text.stats", "arguments": {"text": text}});
    request(id, "tools/call", &params)
}

/// A batch with a call, something that is none, a notification, and another call.
fn batch() -> Value {
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    json!([call(1, "one"), {"jsonrpc": "2.0", "id": 2}, told, call(3, "three")])
}

/// Fails unless this answers [`batch`].
#[track_caller]
fn answers(all: &Value) {
    let all = all.as_array().unwrap_or_else(|| panic!("{all}"));
    assert_eq!(all.len(), 3, "{all:?}");
    let by_id = |id: u64| all.iter().find(|one| one["id"] == id).unwrap();
    for (id, characters) in [(1, 3), (3, 5)] {
        let done = result(by_id(id));
        let data = &done["structuredContent"];
        assert_eq!(data["characters"], characters, "{done}");
    }
    assert_eq!(code(by_id(2)), -32600);
}

fn session(gate: &Gate, version: &str) -> String {
    let params = json!({"protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "mcp", "version": "1"}});
    let heard = gate.ask(&Ask::legacy("", "initialize", params)).has(200);
    heard.header("mcp-session-id").unwrap().to_owned()
}

fn post(session: &str, body: &Value) -> Ask {
    Ask::post(body.to_string()).header("mcp-session-id", session)
}

#[test]
fn a_batch_is_answered_in_one_message_on_stdio() {
    let env = TestEnv::new();
    let mut client = Stdio::silent(&env, &[]);
    client.shake_hands(VERSION, json!({}));
    client.send(&batch());
    answers(&client.next());
    client.send(&json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]));
    assert_eq!(
        client.result("ping", json!({})),
        json!({}),
        "nothing to answer"
    );
    let shake = request(8, "initialize", &json!({"protocolVersion": VERSION}));
    client.send(&json!([shake]));
    assert_eq!(code(&client.next()[0]), -32600, "a handshake stands alone");
    let many: Vec<Value> = (0..101).map(|id| request(id, "ping", &json!({}))).collect();
    for wrong in [json!([]), Value::Array(many)] {
        client.send(&wrong);
        assert_eq!(code(&client.next()), -32600);
    }
    client.line("[{\"jsonrpc\":");
    assert_eq!(code(&client.next()), -32700);
    assert_eq!(client.result("ping", json!({})), json!({}));
}

#[test]
fn a_batch_is_answered_in_one_document_over_http() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let session = session(&gate, VERSION);
    answers(&gate.ask(&post(&session, &batch())).has(200).json());
    let told = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    gate.ask(&post(&session, &told)).has(202);
    let heard = gate.ask(&post(&session, &json!([]))).has(400);
    assert_eq!(code(&heard.json()), -32600);
    gate.ask(&post("0123456789abcdef", &batch())).has(404);
}

#[test]
fn in_every_other_version_a_batch_is_no_message() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for version in LEGACY.into_iter().filter(|version| *version != VERSION) {
        let mut client = Stdio::silent(&env, &[]);
        client.shake_hands(version, json!({}));
        client.send(&batch());
        assert_eq!(code(&client.next()), -32600, "{version}");
        let session = session(&gate, version);
        let heard = gate.ask(&post(&session, &batch())).has(400);
        assert_eq!(code(&heard.json()), -32600, "{version}");
    }
    let heard = gate.ask(&Ask::post(batch().to_string())).has(400);
    assert_eq!(code(&heard.json()), -32600);
}
