//! States that are altered, used, over, or somebody else's: refused, recorded, nothing runs.

use serde_json::{Value, json};

use super::{NOTES, answered, decided, effects, note, question, ran, refusals, yes};
use crate::{
    mcp::wire::peer::{Stdio, until},
    support::TestEnv,
};

const REJECTED: &str = "tool.gate.input.state_rejected";

/// Sends a call that must be refused as no answer to an open question.
#[track_caller]
fn refuses(client: &mut Stdio, call: Value) {
    let refused = client.error("tools/call", call);
    assert_eq!(refused["code"], -32602, "{refused}");
}

#[test]
fn an_altered_state_is_refused() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let call = note("milk");
    let state = question(&mut client, &call);
    let good = state.as_str().unwrap();
    let last = if good.ends_with('0') { "1" } else { "0" };
    let another = good.replacen("ap-", "ap-0", 1);
    let altered = [
        format!("{}{last}", &good[..good.len() - 1]),
        good[..good.len() - 1].to_owned(),
        format!("{good}0"),
        another,
        "c.".to_owned(),
        "c.ap-1.00".to_owned(),
    ];
    for (number, state) in altered.iter().enumerate() {
        refuses(&mut client, answered(&call, &json!(state), yes()));
        assert_eq!(refusals(&env, REJECTED), number + 1, "{state}");
    }
    for state in [json!("x.ap"), json!(""), json!(7), json!("t.%%")] {
        refuses(&mut client, answered(&call, &state, yes()));
    }
    assert_eq!(effects(&env), 0);
    ran(&client.result("tools/call", answered(&call, &state, yes())));
}

#[test]
fn a_used_state_is_refused() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let call = note("milk");
    let state = question(&mut client, &call);
    ran(&client.result("tools/call", answered(&call, &state, yes())));
    refuses(&mut client, answered(&call, &state, yes()));
    assert_eq!(effects(&env), 1);
    assert_eq!(refusals(&env, REJECTED), 1);

    let call = note("bread");
    let state = question(&mut client, &call);
    let no = answered(&call, &state, decided("no"));
    client.result("tools/call", no);
    refuses(&mut client, answered(&call, &state, yes()));
    assert_eq!(effects(&env), 1);
    assert_eq!(refusals(&env, REJECTED), 2);
}

#[test]
fn a_state_counts_for_its_own_arguments_and_tool_only() {
    let config = NOTES.replace("\"notes.add\"", "\"notes.add\", \"notes.burn\"");
    let env = TestEnv::with_config(&config);
    let mut client = Stdio::with_dialogs(&env);
    let state = question(&mut client, &note("milk"));
    refuses(&mut client, answered(&note("poison"), &state, yes()));
    let burn = json!({"name": "notes.burn", "arguments": {"text": "milk"}});
    refuses(&mut client, answered(&burn, &state, yes()));
    assert_eq!(effects(&env), 0);
    assert_eq!(refusals(&env, REJECTED), 2);
    let spaced = json!({"name": "notes_add", "arguments": {"text": "milk"}});
    ran(&client.result("tools/call", answered(&spaced, &state, yes())));
}

#[test]
fn a_state_of_another_session_is_refused() {
    let env = TestEnv::with_config(NOTES);
    let mut client = Stdio::with_dialogs(&env);
    let mut other = Stdio::with_dialogs(&env);
    let call = note("milk");
    let state = question(&mut client, &call);
    refuses(&mut other, answered(&call, &state, yes()));
    let mut moved = answered(&call, &state, yes());
    moved["_meta"] = json!({"tollgate/session": "elsewhere"});
    refuses(&mut client, moved);
    assert_eq!(effects(&env), 0);
    assert_eq!(refusals(&env, REJECTED), 2);
    ran(&client.result("tools/call", answered(&call, &state, yes())));
}

#[test]
fn a_state_that_waited_too_long_is_refused() {
    let config = format!("{NOTES}approval_ttl_seconds = 10\n");
    let env = TestEnv::with_config(&config);
    let mut client = Stdio::with_dialogs(&env);
    let call = note("milk");
    let state = question(&mut client, &call);
    until(|| {
        let open = env.run(&["approvals", "--json"]).exits(0).json();
        open["approvals"] == json!([])
    });
    refuses(&mut client, answered(&call, &state, yes()));
    assert_eq!(effects(&env), 0);
    assert_eq!(refusals(&env, REJECTED), 1);
}
