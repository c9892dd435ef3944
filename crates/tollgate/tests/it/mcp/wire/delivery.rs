//! Answers that were on their way when the line broke.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Held, meta, request, result, until, with_meta};
use crate::support::{TestEnv, approval_id, envelope};

const FIXTURES: [&str; 1] = ["--conformance-fixtures"];

fn rows(env: &TestEnv, kind: &str, tool: &str) -> Vec<Value> {
    let rows = env.recorded().into_iter();
    rows.filter(|row| row["kind"] == kind && row["tool"] == tool)
        .collect()
}

/// Waits until the side effect has happened.
fn happened(env: &TestEnv) {
    until(|| {
        let endings = rows(env, "ending", Held::TOOL);
        endings.iter().any(|row| row["status"] == "ok")
    });
}

/// Fails the test unless this is the answer that was lost.
#[track_caller]
fn is_the_lost_answer(env: &TestEnv, result: &Value) {
    let envelope = &result["_meta"]["tollgate/result"];
    assert_eq!(envelope["status"], "ok", "{result}");
    assert_eq!(envelope["warnings"], json!(["recorded_ending"]));
    assert_eq!(rows(env, "intent", Held::TOOL).len(), 1);
}

#[test]
fn an_answer_lost_after_a_dialog_is_given_again() {
    let (env, held) = Held::with("", "[consent]\ndialogs = \"all\"\n");
    let gate = Gate::open(&env);
    let params = json!({"protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}}, "clientInfo": {"name": "mcp", "version": "1"}});
    let heard = gate.ask(&Ask::legacy("", "initialize", params)).has(200);
    let session = heard.header("mcp-session-id").unwrap();
    let call = Ask::legacy(session, "tools/call", held.call());
    let mut open = gate.begin(&call);
    let asked = open.event().unwrap();
    let yes = json!({"action": "accept", "content": {"decision": "once"}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes});
    gate.ask(&Ask::post(answer.to_string()).header("mcp-session-id", session))
        .has(202);
    env.wait_for_intent();
    drop(open);
    held.end();
    happened(&env);
    let again = gate.ask(&call.again(2)).has(200);
    is_the_lost_answer(&env, &result(&again.json()));
}

#[test]
fn an_answer_that_nobody_read_on_stdio_is_given_again() {
    let (env, held) = Held::with("", "");
    let mut params = held.call();
    params["_meta"] = json!({"tollgate/session": "mine"});
    let line = request(1, "tools/call", &with_meta(params, &meta())).to_string();
    let ask = |lines: u8| {
        let mut child = env.start(&["mcp"]);
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        for _ in 0..lines {
            output.read_line(&mut answer).unwrap();
        }
        if lines == 0 {
            env.wait_for_intent();
        }
        drop(output);
        drop(input);
        if lines == 0 {
            held.end();
        }
        child.wait().unwrap();
        answer
    };
    let refused: Value = serde_json::from_str(&ask(1)).unwrap();
    let id = approval_id(&envelope(&result(&refused)));
    env.run(&["approve", &id, "--token", &env.approver()])
        .exits(0);
    ask(0);
    happened(&env);
    let again: Value = serde_json::from_str(&ask(1)).unwrap();
    is_the_lost_answer(&env, &result(&again));
}

fn progress() -> Value {
    json!({"name": "test_tool_with_progress", "_meta": {"progressToken": 1}})
}

#[test]
fn closing_the_stream_of_a_modern_call_cancels_it() {
    let (env, held) = Held::with("default_capability = \"L0\"\ntrust_annotations = true", "");
    let gate = Gate::open(&env);
    let mut params = held.call();
    params["_meta"] = json!({"progressToken": 1});
    let mut open = gate.begin(&Ask::modern("tools/call", params));
    assert_eq!(open.event().unwrap()["params"]["progress"], 1.0);
    drop(open);
    let ended = || rows(&env, "ending", Held::TOOL);
    until(|| !ended().is_empty());
    assert_eq!(ended()[0]["error_code"], "tool.gate.invoke.cancelled");
    gate.call("time.now", json!({}));
}

#[test]
fn an_older_client_reads_on_where_its_stream_broke() {
    let env = TestEnv::new();
    let gate = Gate::open_with(&env, &FIXTURES);
    let session = gate.session(|ask| ask);
    let mut open = gate.begin(&Ask::legacy(&session, "tools/call", progress()));
    let (last, first) = open.numbered().unwrap();
    assert_eq!(first["params"]["progress"], 0.0);
    drop(open);
    let again = Ask::new("GET", "/mcp")
        .header("mcp-session-id", &session)
        .header("last-event-id", &last);
    let rest = gate.begin(&again).events();
    assert_eq!(rest.len(), 3);
    assert_eq!(rest[0]["params"]["progress"], 50.0);
    assert_eq!(rest[2]["id"], 1);
    assert_eq!(result(&rest[2])["isError"], Value::Null);
    let token = env.run(&["token", "create", "--quiet"]).exits(0).out;
    gate.ask(&again.bearing(token.trim())).has(404);
}
