//! `session` in a client's dialog: a grant for the tool, for as long as the session lives.

use serde_json::{Value, json};

use super::{
    NOTES, answered, decided, decisions, effects, note, open_dialog, question, ran, waits,
};
use crate::{mcp::wire::peer::Stdio, support::TestEnv};

#[test]
fn a_grant_for_the_session_covers_the_tool_and_nothing_else() {
    let config = NOTES.replace("\"notes.add\"", "\"notes.add\", \"notes.burn\"");
    let env = TestEnv::with_config(&config);
    let mut client = Stdio::with_dialogs(&env);
    let call = note("milk");
    let state = question(&mut client, &call);
    ran(&client.result("tools/call", answered(&call, &state, decided("session"))));
    ran(&client.result("tools/call", note("bread")));
    assert_eq!(effects(&env), 2);
    let rows = decisions(&env);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["status"], "granted_tool_for_session");
    assert_eq!(rows[0]["by"], "dialog:mcp");

    let burn = json!({"name": "notes.burn", "arguments": {"text": "milk"}});
    question(&mut client, &burn);
    question(&mut Stdio::with_dialogs(&env), &note("milk"));
    assert_eq!(effects(&env), 2);
}

#[test]
fn an_older_client_grants_its_session_too() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::legacy(&env, json!({"elicitation": {}}));
    let (call, id) = open_dialog(&mut client);
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": decided("session")});
    client.send(&answer);
    let done = client.next();
    assert_eq!(done["id"], call);
    ran(&done["result"]);
    ran(&client.result("tools/call", note("bread")));
    assert_eq!(effects(&env), 2);
}

#[test]
fn a_tool_that_asks_for_each_call_offers_no_session() {
    let env = TestEnv::new();
    env.write("docs/guide.md", "First step.\n");
    env.configure(&format!(
        "[consent]\ndialogs = \"stdio\"\n[docs.roots]\nhandbook = {:?}\n",
        env.path("docs")
    ));
    let mut client = Stdio::with_dialogs(&env);
    let edits = json!({"file": "handbook/guide.md", "edits": [{"old": "First", "new": "1st"}]});
    let proposed = client.result("tools/call", call("docs.propose_edit", edits));
    let id = &proposed["structuredContent"]["proposal_id"];
    let apply = call("docs.apply_edit", json!({"proposal_id": id}));
    let asked = client.result("tools/call", apply.clone());
    let params = &asked["inputRequests"]["tollgate_consent"]["params"];
    let decision = &params["requestedSchema"]["properties"]["decision"];
    assert_eq!(decision["enum"], json!(["once", "no"]), "{asked}");
    assert_eq!(decision["enumNames"].as_array().unwrap().len(), 2);

    let state = &asked["requestState"];
    waits(&client.result("tools/call", answered(&apply, state, decided("session"))));
    assert_eq!(decisions(&env), Vec::<Value>::new());
    assert_eq!(effects(&env), 0);
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}
