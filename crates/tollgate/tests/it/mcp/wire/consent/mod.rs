//! Consent over the wire: only a human's, only once, only for what they saw.

mod approved;
mod dialogs;
mod dismissed;
mod forged;
mod installed;
mod never;
mod over_http;
mod sessions;
mod shown;

use serde_json::{Value, json};

use super::peer::Stdio;
use crate::support::{TestEnv, envelope};

const STUBS: &str = "[providers.stub]\ntools = [\"notes.add\"]\nwrites = [\"notes.add\"]\n";
/// Where the dialogs of all programs that start the gate count.
const NOTES: &str = "[providers.stub]\ntools = [\"notes.add\"]\nwrites = [\"notes.add\"]\n[consent]\ndialogs = \"stdio\"\n";

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
    assert_eq!(result["structuredContent"]["stub"], true);
}

/// The id of the approval that a refused call waits for.
#[track_caller]
fn waits(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    let envelope = envelope(result);
    assert_eq!(envelope["error"]["kind"], "confirmation_required");
    crate::support::approval_id(&envelope)
}

/// The same call with an answer to the question about it.
fn answered(call: &Value, state: &Value, answer: Value) -> Value {
    let mut call = call.clone();
    call["requestState"] = state.clone();
    call["inputResponses"] = json!({"tollgate_consent": answer});
    call
}

fn decided(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

fn yes() -> Value {
    decided("once")
}

/// Answers of clients whose human saw no question, or left it.
fn dismissals() -> Vec<Value> {
    vec![
        json!({"action": "decline"}),
        json!({"action": "decline", "content": {"decision": "no"}}),
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": null}),
        json!({"action": "accept", "content": {"decision": ""}}),
        json!({"action": "accept", "content": {"decision": true}}),
        json!({"action": "accept", "content": {"decision": "yes"}}),
        json!({"action": "accept", "content": {"approve": true}}),
    ]
}

/// Makes a call that is answered with a question; gives the state to bring back.
#[track_caller]
fn question(client: &mut Stdio, call: &Value) -> Value {
    let asked = client.result("tools/call", call.clone());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(asked["requestState"].is_string());
    asked["requestState"].clone()
}

/// Makes a call of an older client and gives the question that it is asked.
fn open_dialog(client: &mut Stdio) -> (u64, Value) {
    let call = client.begin("tools/call", note("milk"));
    let asked = client.next();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert!(
        asked["params"]["message"]
            .as_str()
            .unwrap()
            .contains("notes.add")
    );
    (call, asked["id"].clone())
}

/// What was decided about approvals, by whom and how.
fn decisions(env: &TestEnv) -> Vec<Value> {
    let rows = env.recorded();
    let decided = rows.into_iter().filter(|row| row["kind"] == "approval");
    decided.collect()
}
