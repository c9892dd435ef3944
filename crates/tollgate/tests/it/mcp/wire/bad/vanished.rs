//! Clients that go away in the middle of a call.

use std::net::TcpStream;

use serde_json::{Value, json};

use super::undisturbed;
use crate::{
    mcp::wire::peer::{Ask, Gate, Held, Stdio, result, until},
    support::{TestEnv, approval_id, envelope},
};

const SLOW: &str = "[providers.stub]\ntools = [\"slow.read\", \"slow.write\"]\n\
                    writes = [\"slow.write\"]\ndelay_ms = 4000\n";
const CANCELLED: &str = "tool.gate.invoke.cancelled";

fn rows(env: &TestEnv, kind: &str, tool: &str) -> Vec<Value> {
    let rows = env.recorded().into_iter();
    rows.filter(|row| row["kind"] == kind && row["tool"] == tool)
        .collect()
}

/// Waits until a call of this gate is running.
fn running(gate: &Gate) {
    until(|| {
        let figures = gate.ask(&Ask::new("GET", "/metrics")).body;
        figures
            .lines()
            .any(|line| line.contains("running") && line.ends_with(" 1"))
    });
}

/// Waits for the ending of the last refusal or run of a tool; gives them all.
fn ended(env: &TestEnv, tool: &str, count: usize) -> Vec<Value> {
    until(|| rows(env, "ending", tool).len() >= count);
    rows(env, "ending", tool)
}

/// Has the write of `text` approved.
fn approved(env: &TestEnv, refused: &Value) {
    let token = env.approver();
    let id = approval_id(&envelope(refused));
    env.run(&["approve", &id, "--token", &token]).exits(0);
}

#[test]
fn a_client_that_vanishes_cancels_its_call() {
    let env = TestEnv::with_config(SLOW);
    let gate = Gate::open(&env);
    let stream: TcpStream = gate.send(&Ask::call("slow.read", json!({})));
    running(&gate);
    drop(stream);
    let endings = ended(&env, "slow.read", 1);
    assert_eq!(endings.len(), 1);
    assert_eq!(endings[0]["error_code"], CANCELLED);
    undisturbed(&gate);
    env.whole();
}

#[test]
fn a_client_that_vanishes_takes_nothing_from_others() {
    let env = TestEnv::with_config(&SLOW.replace("4000", "1500"));
    let gate = Gate::open(&env);
    let first = gate.send(&Ask::call("slow.read", json!({"same": 1})));
    running(&gate);
    let second = gate.send(&Ask::call("slow.read", json!({"same": 1})));
    undisturbed(&gate);
    drop(first);
    let heard = crate::mcp::wire::peer::Open::answering(second).unwrap();
    let done = result(&heard.whole().has(200).json());
    assert_eq!(done["_meta"]["tollgate/result"]["status"], "ok");
}

#[test]
fn a_vanished_side_effect_runs_once() {
    let env = TestEnv::with_config(SLOW);
    let gate = Gate::open(&env);
    let call = Ask::call("slow.write", json!({"text": "milk"}));
    approved(&env, &gate.result(&call));
    let stream = gate.send(&call);
    env.wait_for_intent();
    drop(stream);
    let endings = ended(&env, "slow.write", 2);
    assert_eq!(endings[1]["error_code"], CANCELLED);

    let again = gate.result(&call);
    assert_eq!(
        rows(&env, "intent", "slow.write").len(),
        1,
        "not a second time"
    );
    let envelope = envelope(&again);
    assert_eq!(envelope["error"]["kind"], "cancelled", "{envelope}");
    assert_eq!(envelope["warnings"], json!(["recorded_ending"]));
    let third = gate.result(&call);
    let kind = &third["_meta"]["tollgate/result"]["error"]["kind"];
    assert_eq!(
        kind, "confirmation_required",
        "once delivered, it asks again"
    );
    env.whole();
}

#[test]
fn an_older_client_that_vanishes_finds_its_answer() {
    let (env, held) = Held::with("", "");
    let gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    let call = Ask::legacy(&session, "tools/call", held.call());
    let ask = |id| result(&gate.ask(&call.again(id)).has(200).json());
    approved(&env, &ask(2));
    let stream = gate.send(&call);
    env.wait_for_intent();
    drop(stream);
    held.end();
    let endings = ended(&env, Held::TOOL, 2);
    assert_eq!(
        endings[1]["status"], "ok",
        "a broken line cancels nothing here"
    );
    let again = ask(3);
    let envelope = &again["_meta"]["tollgate/result"];
    assert_eq!(envelope["status"], "ok", "{again}");
    assert_eq!(envelope["warnings"], json!(["recorded_ending"]));
    assert_eq!(rows(&env, "intent", Held::TOOL).len(), 1);
    let third = ask(4);
    let kind = &third["_meta"]["tollgate/result"]["error"]["kind"];
    assert_eq!(kind, "confirmation_required");
}

#[test]
fn a_named_side_effect_runs_once_however_often_it_is_sent() {
    let env = TestEnv::with_config(&SLOW.replace("4000", "0"));
    let mut client = Stdio::modern(&env, &[]);
    let params = json!({"name": "slow.write", "arguments": {"text": "milk"},
        "_meta": {"tollgate/call": {"idempotency_key": "milk-1"}}});
    approved(&env, &client.result("tools/call", params.clone()));
    let first = client.result("tools/call", params.clone());
    let second = client.result("tools/call", params);
    assert_eq!(first["structuredContent"], second["structuredContent"]);
    assert_eq!(rows(&env, "intent", "slow.write").len(), 1);
}

#[test]
fn a_client_that_closes_its_side_lets_a_short_call_finish() {
    let env = TestEnv::with_config(&SLOW.replace("4000", "50"));
    let mut client = Stdio::modern(&env, &[]);
    client.begin("tools/call", json!({"name": "slow.read"}));
    let rest = client.end();
    assert_eq!(rest.len(), 1);
    assert_eq!(
        rest[0]["result"]["_meta"]["tollgate/result"]["status"],
        "ok"
    );
}

#[test]
fn a_client_that_is_gone_cancels_what_it_left() {
    let env = TestEnv::with_config(SLOW);
    let mut client = Stdio::modern(&env, &[]);
    client.begin("tools/call", json!({"name": "slow.read"}));
    let (code, _) = client.finish();
    assert_eq!(code, Some(0));
    let endings = rows(&env, "ending", "slow.read");
    assert_eq!(endings.len(), 1);
    assert_eq!(endings[0]["error_code"], CANCELLED);
    env.whole();
}
