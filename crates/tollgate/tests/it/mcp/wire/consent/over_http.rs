//! Dialogs over HTTP: nobody's word, unless the operator says otherwise.

use serde_json::{Value, json};

use super::{NOTES, STUBS, answered, effects, note, ran, refusals, waits, yes};
use crate::{
    mcp::wire::peer::{Ask, Gate, code, meta_with_dialogs, result},
    support::TestEnv,
};

const TRUSTED: &str = "[consent]\ndialogs = \"all\"\n";

fn call(params: Value) -> Ask {
    Ask::saying(&meta_with_dialogs(), "tools/call", params)
}

/// Begins a session of an older client that can show a dialog.
fn old_session(gate: &Gate) -> String {
    let params = json!({"protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}}, "clientInfo": {"name": "mcp", "version": "1"}});
    let heard = gate.ask(&Ask::legacy("", "initialize", params)).has(200);
    heard.header("mcp-session-id").unwrap().to_owned()
}

#[test]
fn dialogs_over_http_do_not_count_by_default() {
    let env = TestEnv::with_config(NOTES);
    let gate = Gate::open(&env);
    waits(&gate.result(&call(note("milk"))));
    let session = old_session(&gate);
    let old = gate.ask(&Ask::legacy(&session, "tools/call", note("milk")));
    waits(&result(&old.has(200).json()));
    assert_eq!(effects(&env), 0);
}

#[test]
fn a_state_made_where_dialogs_count_is_refused_where_they_do_not() {
    let config = format!("{STUBS}{TRUSTED}");
    let env = TestEnv::with_config(&config);
    let trusting = Gate::open(&env);
    env.configure(NOTES);
    let strict = Gate::open(&env);
    let asked = trusting.result(&call(note("milk")));
    let answer = answered(&note("milk"), &asked["requestState"], yes());
    let heard = strict.ask(&call(answer));
    assert_eq!(code(&heard.json()), -32602);
    assert_eq!(effects(&env), 0);
    assert_eq!(refusals(&env, "tool.gate.input.state_rejected"), 1);
}

#[test]
fn dialogs_over_http_count_where_the_operator_says_so() {
    let env = TestEnv::with_config(&format!("{STUBS}{TRUSTED}"));
    let gate = Gate::open(&env);
    let asked = gate.result(&call(note("milk")));
    assert_eq!(asked["resultType"], "input_required");
    let answer = answered(&note("milk"), &asked["requestState"], yes());
    let token = env.run(&["token", "create", "--quiet"]).exits(0).out;
    let stolen = gate.ask(&call(answer.clone()).bearing(token.trim()));
    assert_eq!(code(&stolen.json()), -32602, "another's question");
    assert_eq!(effects(&env), 0);
    ran(&gate.result(&call(answer)));
    assert_eq!(effects(&env), 1);
}

#[test]
fn an_older_client_over_http_is_asked_on_the_stream_of_its_call() {
    let env = TestEnv::with_config(&format!("{STUBS}{TRUSTED}"));
    let gate = Gate::open(&env);
    let session = old_session(&gate);
    let mut open = gate.begin(&Ask::legacy(&session, "tools/call", note("milk")));
    assert_eq!(open.status(), 200);
    let asked = open.event().unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes()});
    let post = Ask::post(answer.to_string()).header("mcp-session-id", &session);

    let token = env.run(&["token", "create", "--quiet"]).exits(0).out;
    gate.ask(&post.clone().bearing(token.trim())).has(404);
    gate.ask(&post.clone().without("mcp-session-id")).has(400);
    assert_eq!(effects(&env), 0, "nobody else answers for them");

    gate.ask(&post).has(202);
    let rest = open.events();
    ran(&result(rest.last().unwrap()));
    assert_eq!(effects(&env), 1);
}

#[test]
fn an_older_client_over_http_hears_that_its_dialog_can_be_closed() {
    let env = TestEnv::with_config(&format!("{STUBS}{TRUSTED}"));
    let gate = Gate::open(&env);
    let session = old_session(&gate);
    let mut open = gate.begin(&Ask::legacy(&session, "tools/call", note("milk")));
    let asked = open.event().unwrap();
    let back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    let back = Ask::post(back.to_string()).header("mcp-session-id", &session);
    gate.ask(&back).has(202);
    let rest = open.events();
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["method"], "notifications/cancelled");
    assert_eq!(rest[0]["params"]["requestId"], asked["id"]);
    assert_eq!(effects(&env), 0);
}
