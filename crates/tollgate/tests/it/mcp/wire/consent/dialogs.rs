//! A human's answer in the client's own dialog, on stdio.

use serde_json::{Value, json};

use super::{NOTES, answered, effects, note, question, ran, waits, yes};
use crate::{mcp::wire::peer::Stdio, support::TestEnv};

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
    assert_eq!(schema["properties"]["approve"]["type"], "boolean");
    assert_eq!(schema["properties"]["approve"]["default"], false);
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
    let rows = env.recorded();
    let given = rows.iter().find(|row| row["kind"] == "approval").unwrap();
    assert!(
        given["by"].as_str().unwrap().contains("dialog:mcp"),
        "{given}"
    );
    question(&mut client, &call);
    assert_eq!(effects(&env), 1);
}

#[test]
fn a_dialog_that_is_not_accepted_refuses_the_call() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let call = note("milk");
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept", "content": {"approve": false}}),
        json!({"action": "accept", "content": {"approve": "true"}}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept"}),
    ] {
        let state = question(&mut client, &call);
        let refused = client.result("tools/call", answered(&call, &state, answer.clone()));
        assert_eq!(refused["isError"], true, "{answer}: {refused}");
        let failure = &refused["structuredContent"]["error"];
        assert_eq!(failure["kind"], "policy_denied", "{failure}");
    }
    assert_eq!(effects(&env), 0);
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
    let config = format!("{NOTES}[consent]\ndialogs = \"none\"\n");
    let env = TestEnv::with_config(&config);
    let mut client = Stdio::with_dialogs(&env);
    waits(&client.result("tools/call", note("milk")));
    let mut old = Stdio::legacy(&env, json!({"elicitation": {}}));
    waits(&old.result("tools/call", note("milk")));
    assert_eq!(effects(&env), 0);
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

#[test]
fn an_older_client_is_asked_while_its_call_is_open() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::legacy(&env, json!({"elicitation": {}}));
    for (answer, runs) in [
        (yes(), true),
        (json!({"action": "decline"}), false),
        (json!({"action": "cancel"}), false),
    ] {
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
