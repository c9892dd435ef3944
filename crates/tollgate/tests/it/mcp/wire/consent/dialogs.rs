//! A human's answer in the client's own dialog, on stdio.

use serde_json::{Value, json};

use super::{
    NOTES, STUBS, answered, decided, decisions, effects, note, open_dialog, question, ran, waits,
    yes,
};
use crate::{mcp::wire::peer::Stdio, support::TestEnv};

const DENIED: &str = "tool.gate.policy.denied";

#[test]
fn a_dialog_shows_what_would_happen() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let asked = client.result("tools/call", note("milk"));
    assert_eq!(asked["resultType"], "input_required");
    let question = &asked["inputRequests"]["tollgate_consent"];
    assert_eq!(question["method"], "elicitation/create");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("notes.add"), "{message}");
    assert!(message.contains(r#"{"text":"milk"}"#), "{message}");
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(schema["required"], json!(["decision"]));
    let decision = &schema["properties"]["decision"];
    assert_eq!(decision["type"], "string");
    assert_eq!(decision["enum"], json!(["once", "session", "no"]));
    assert_eq!(decision["enumNames"].as_array().unwrap().len(), 3);
    assert_eq!(decision.get("default"), None);
    assert_eq!(schema["properties"].as_object().unwrap().len(), 1);
    assert!(asked.get("content").is_none());
    assert_eq!(effects(&env), 0);
}

#[test]
fn an_accepted_dialog_lets_exactly_this_call_through() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let call = note("milk");
    let state = question(&mut client, &call);
    ran(&client.result("tools/call", answered(&call, &state, yes())));
    assert_eq!(effects(&env), 1);
    let rows = decisions(&env);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["status"], "granted");
    assert_eq!(rows[0]["by"], "dialog:mcp");
    question(&mut client, &call);
    assert_eq!(effects(&env), 1);
}

#[test]
fn a_no_refuses_the_call() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let call = note("milk");
    let state = question(&mut client, &call);
    let refused = client.result("tools/call", answered(&call, &state, decided("no")));
    assert_eq!(refused["isError"], true, "{refused}");
    let failure = &refused["_meta"]["tollgate/result"]["error"];
    assert_eq!(failure["kind"], "policy_denied", "{failure}");
    assert_eq!(effects(&env), 0);
    let rows = decisions(&env);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["status"], "denied");
    assert_eq!(rows[0]["by"], "dialog:mcp");
    let tool = &call["name"];
    let ended = env.recorded();
    let denied = ended
        .iter()
        .filter(|row| row["verdict"] != "allow" && row["error_code"] == DENIED);
    let denied: Vec<_> = denied.map(|row| &row["tool"]).collect();
    assert_eq!(denied, [tool], "{ended:#?}");
    assert_eq!(refused["_meta"]["tollgate/result"]["tool"], *tool);
}

#[test]
fn a_no_to_a_tool_that_was_called_by_name_names_that_tool() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let inner = note("milk");
    let call = json!({"name": "tools.call", "arguments": inner});
    let state = question(&mut client, &call);
    client.result("tools/call", answered(&call, &state, decided("no")));
    let ended = env.recorded();
    let mut denied = ended.iter().filter(|row| row["error_code"] == DENIED);
    assert_eq!(denied.next().unwrap()["tool"], inner["name"], "{ended:#?}");
}

#[test]
fn a_missing_answer_is_asked_for_again() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let call = note("milk");
    let state = question(&mut client, &call);
    let mut without = call.clone();
    without["requestState"] = state;
    let again = question(&mut client, &without);
    let odd = answered(&call, &again, json!({"action": "perhaps"}));
    let again = question(&mut client, &odd);
    assert_eq!(effects(&env), 0);
    ran(&client.result("tools/call", answered(&call, &again, yes())));
    assert_eq!(effects(&env), 1);
}

#[test]
fn dialogs_do_not_count_where_the_operator_says_so() {
    let config = format!("{STUBS}[consent]\ndialogs = \"none\"\n");
    let env = TestEnv::with_config(&config);
    let mut client = Stdio::with_dialogs(&env);
    waits(&client.result("tools/call", note("milk")));
    let mut old = Stdio::legacy(&env, json!({"elicitation": {}}));
    waits(&old.result("tools/call", note("milk")));
    assert_eq!(effects(&env), 0);
}

#[test]
fn an_older_client_is_asked_while_its_call_is_open() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::legacy(&env, json!({"elicitation": {}}));
    for (answer, runs) in [(yes(), true), (decided("no"), false)] {
        let before = effects(&env);
        let (call, id) = open_dialog(&mut client);
        assert_eq!(effects(&env), before);
        client.send(&json!({"jsonrpc": "2.0", "id": id, "result": answer}));
        let done = client.next();
        assert_eq!(done["id"], call);
        assert_eq!(done["result"]["isError"], !runs, "{done}");
        assert_eq!(effects(&env), before + usize::from(runs));
    }
    let (call, id) = open_dialog(&mut client);
    let failed = json!({"code": -1, "message": "no window"});
    client.send(&json!({"jsonrpc": "2.0", "id": id, "error": failed}));
    let done = client.next();
    assert_eq!(done["id"], call);
    waits(&done["result"]);
}

#[test]
fn a_dialog_waits_without_holding_up_anything_else() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::legacy(&env, json!({"elicitation": {}}));
    let (call, id) = open_dialog(&mut client);
    client.send(&json!({"jsonrpc": "2.0", "id": "tollgate-999", "result": yes()}));
    assert_eq!(client.result("ping", json!({})), json!({}));
    assert_eq!(
        effects(&env),
        0,
        "an answer to no question counts for nothing"
    );
    client.send(&json!({"jsonrpc": "2.0", "id": id, "result": yes()}));
    let done = client.next();
    assert_eq!(done["id"], call);
    ran(&done["result"]);
}

#[test]
fn a_call_can_be_taken_back_while_its_dialog_is_open() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::legacy(&env, json!({"elicitation": {}}));
    let (call, id) = open_dialog(&mut client);
    let params = json!({"requestId": call});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    let closes = client.next();
    assert_eq!(closes["method"], "notifications/cancelled", "{closes}");
    assert_eq!(
        closes["params"]["requestId"], id,
        "the dialog can be closed"
    );
    client.send(&json!({"jsonrpc": "2.0", "id": id, "result": yes()}));
    assert_eq!(client.result("ping", json!({})), json!({}));
    assert_eq!(
        client.end(),
        Vec::<Value>::new(),
        "no answer to what was taken back"
    );
    assert_eq!(effects(&env), 0);
}

#[test]
fn a_client_that_leaves_during_a_dialog_leaves_nothing_behind() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::legacy(&env, json!({"elicitation": {}}));
    open_dialog(&mut client);
    let (code, _) = client.finish();
    assert_eq!(code, Some(0));
    assert_eq!(effects(&env), 0);
}
