//! A dialog that no human answered: neither a refusal nor a consent.

use serde_json::{Value, json};

use super::{
    NOTES, answered, decided, decisions, dismissals, effects, note, open_dialog, question, ran,
    waits,
};
use crate::{mcp::wire::peer::Stdio, support::TestEnv};

/// The id of the approval, and that the answer says what a human types.
#[track_caller]
fn stays_open(result: &Value) -> String {
    let id = waits(result);
    let failure = &result["_meta"]["tollgate/result"]["error"];
    let command = format!("tollgate approvals approve {id}");
    assert_eq!(failure["details"]["approve"], json!(command));
    let advice = failure["recovery_suggestion"].as_str().unwrap();
    assert!(advice.contains(&command), "{advice}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(&command), "{text}");
    id
}

#[track_caller]
fn is_pending(env: &TestEnv, id: &str) {
    let open = env.run(&["approvals", "--json"]).exits(0).json();
    assert_eq!(open["approvals"][0]["id"], json!(id), "{open}");
    assert_eq!(open["approvals"].as_array().unwrap().len(), 1);
}

#[test]
fn a_dismissed_dialog_leaves_the_question_open() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let call = note("milk");
    let mut ids = Vec::new();
    for answer in dismissals() {
        let state = question(&mut client, &call);
        let left = client.result("tools/call", answered(&call, &state, answer));
        ids.push(stays_open(&left));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "one question: {ids:?}");
    is_pending(&env, &ids[0]);
    assert_eq!(effects(&env), 0);
    assert_eq!(decisions(&env), Vec::<Value>::new(), "nobody decided");
    let state = question(&mut client, &call);
    ran(&client.result("tools/call", answered(&call, &state, decided("once"))));
}

#[test]
fn an_older_client_that_dismisses_its_dialog_leaves_the_question_open() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::legacy(&env, json!({"elicitation": {}}));
    let mut ids = Vec::new();
    for answer in dismissals() {
        let (call, id) = open_dialog(&mut client);
        client.send(&json!({"jsonrpc": "2.0", "id": id, "result": answer}));
        let done = client.next();
        assert_eq!(done["id"], call);
        ids.push(stays_open(&done["result"]));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "one question: {ids:?}");
    is_pending(&env, &ids[0]);
    assert_eq!(effects(&env), 0);
    assert_eq!(decisions(&env), Vec::<Value>::new(), "nobody decided");
}

#[test]
fn a_call_that_was_approved_elsewhere_meanwhile_runs_though_its_dialog_is_dismissed() {
    let env = TestEnv::with_config(NOTES);
    let token = env.approver();
    let mut client = Stdio::legacy(&env, json!({"elicitation": {}}));
    let (call, id) = open_dialog(&mut client);
    let open = env.run(&["approvals", "--json"]).exits(0).json();
    let approval = open["approvals"][0]["id"].as_str().unwrap();
    env.run(&["approve", approval, "--token", &token]).exits(0);
    let dismissed = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "cancel"}});
    client.send(&dismissed);
    let done = client.next();
    assert_eq!(done["id"], call);
    ran(&done["result"]);
    assert_eq!(effects(&env), 1);

    let mut client = Stdio::with_dialogs(&env);
    let call = note("bread");
    let state = question(&mut client, &call);
    let open = env.run(&["approvals", "--json"]).exits(0).json();
    let approval = open["approvals"][0]["id"].as_str().unwrap();
    env.run(&["approve", approval, "--token", &token]).exits(0);
    let dismissed = answered(&call, &state, json!({"action": "cancel"}));
    ran(&client.result("tools/call", dismissed));
    assert_eq!(effects(&env), 2);
}
