//! Approved elsewhere, by a human at the command line.

use serde_json::json;

use super::{NOTES, effects, note, ran, waits};
use crate::{
    mcp::wire::{
        access::BESIDE,
        peer::{Ask, Gate, Stdio},
    },
    support::TestEnv,
};

#[test]
fn without_a_dialog_a_call_asks_at_once_and_runs_once_when_approved() {
    let env = TestEnv::with_config(NOTES);
    let token = env.approver();
    for mut client in [Stdio::modern(&env, &[]), Stdio::legacy(&env, json!({}))] {
        let before = effects(&env);
        let refused = client.result("tools/call", note("milk"));
        let id = waits(&refused);
        let details = &refused["_meta"]["tollgate/result"]["error"]["details"];
        assert_eq!(details["consent"], "human");
        let resume = json!({"tool": "notes.add", "params": {"text": "milk"}});
        assert_eq!(details["resume_with"], resume);
        assert_eq!(waits(&client.result("tools/call", note("milk"))), id);
        assert_eq!(effects(&env), before);

        env.run(&["approve", &id, "--token", &token]).exits(0);
        waits(&client.result("tools/call", note("bread")));
        ran(&client.result("tools/call", note("milk")));
        assert_eq!(effects(&env), before + 1);
        let again = waits(&client.result("tools/call", note("milk")));
        assert_ne!(again, id, "a delivered answer is not given again");
        assert_eq!(effects(&env), before + 1);
    }
}

#[test]
fn an_approval_is_of_one_session_and_one_principal() {
    let env = TestEnv::with_config(&format!("{BESIDE}{NOTES}"));
    let approver = env.approver();
    let bearer = env.run(&["token", "create", "--quiet"]).exits(0).out;
    let gate = Gate::open(&env);
    let call = Ask::modern("tools/call", note("milk"));
    let id = waits(&gate.result(&call));
    env.run(&["approve", &id, "--token", &approver]).exits(0);
    waits(&gate.result(&call.clone().bearing(bearer.trim())));
    let mut elsewhere = note("milk");
    elsewhere["_meta"] = json!({"tollgate/session": "elsewhere"});
    waits(&gate.result(&Ask::modern("tools/call", elsewhere)));
    waits(&Stdio::modern(&env, &[]).result("tools/call", note("milk")));
    assert_eq!(effects(&env), 0);
    ran(&gate.result(&call));
    assert_eq!(effects(&env), 1);
}

#[test]
fn an_approval_survives_the_end_of_the_clients_process() {
    let env = TestEnv::with_config(NOTES);
    let token = env.approver();
    let mut first = Stdio::modern(&env, &[]);
    let id = waits(&first.result("tools/call", note("milk")));
    drop(first);
    env.run(&["approve", &id, "--token", &token]).exits(0);
    let mut next = Stdio::modern(&env, &[]);
    ran(&next.result("tools/call", note("milk")));
    assert_eq!(effects(&env), 1);
    let again = waits(&Stdio::modern(&env, &[]).result("tools/call", note("milk")));
    assert_ne!(again, id, "it works once");
    let mut named = Stdio::modern(&env, &["--session", "work"]);
    assert_ne!(waits(&named.result("tools/call", note("milk"))), again);
}

#[test]
fn a_call_by_name_is_approved_as_what_it_calls() {
    let env = TestEnv::with_config(NOTES);
    let token = env.approver();
    let mut client = Stdio::modern(&env, &[]);
    let by_name = json!({"name": "tools.call", "arguments": note("milk")});
    let id = waits(&client.result("tools/call", by_name.clone()));
    env.run(&["approve", &id, "--token", &token]).exits(0);
    ran(&client.result("tools/call", by_name));
    assert_eq!(effects(&env), 1);
}
