//! Consent over the wire: only a human's, only once, only for what they saw.

mod approved;
mod dialogs;
mod forged;
mod never;
mod over_http;

use serde_json::{Value, json};

use super::peer::Stdio;
use crate::support::TestEnv;

const NOTES: &str = "[providers.stub]\ntools = [\"notes.add\"]\nwrites = [\"notes.add\"]\n";

fn note(text: &str) -> Value {
    json!({"name": "notes.add", "arguments": {"text": text}})
}

/// How many side effects were begun.
fn effects(env: &TestEnv) -> usize {
    let rows = env.recorded();
    rows.iter().filter(|row| row["kind"] == "intent").count()
}

/// How many endings have this code.
fn refusals(env: &TestEnv, code: &str) -> usize {
    let rows = env.recorded();
    let endings = rows.iter().filter(|row| row["kind"] == "ending");
    endings.filter(|row| row["error_code"] == code).count()
}

#[track_caller]
fn ran(result: &Value) {
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(result["structuredContent"]["data"]["stub"], true);
}

/// The id of the approval that a refused call waits for.
#[track_caller]
fn waits(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    let envelope = &result["structuredContent"];
    assert_eq!(envelope["error"]["kind"], "confirmation_required");
    crate::support::approval_id(envelope)
}

/// The same call with an answer to the question about it.
fn answered(call: &Value, state: &Value, answer: Value) -> Value {
    let mut call = call.clone();
    call["requestState"] = state.clone();
    call["inputResponses"] = json!({"tollgate_consent": answer});
    call
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

/// Makes a call that is answered with a question; gives the state to bring back.
#[track_caller]
fn question(client: &mut Stdio, call: &Value) -> Value {
    let asked = client.result("tools/call", call.clone());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(asked["requestState"].is_string());
    asked["requestState"].clone()
}
