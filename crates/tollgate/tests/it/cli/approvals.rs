//! Consent from the refusal to the one call it allows.

use serde_json::{Value, json};

use crate::support::{TestEnv, approval_id, at_a_terminal, database};

const STUBS: &str = "[providers.stub]\ntools = [\"shelf.write\", \"shelf.burn\"]\n\
                     writes = [\"shelf.write\", \"shelf.burn\"]\n";

const BOOK: &str = r#"{"book":"atlas"}"#;

/// A refused call and the id of the approval it waits for.
#[track_caller]
fn asked(env: &TestEnv, arguments: &str) -> String {
    let refused = env.call("shelf.write", arguments, &[]).exits(3).json();
    assert_eq!(refused["error"]["kind"], "confirmation_required");
    approval_id(&refused)
}

#[test]
fn a_refusal_says_everything_needed_to_go_on() {
    let env = TestEnv::with_config(STUBS);
    let refused = env.call("shelf.write", BOOK, &["--yes"]).exits(3).json();
    let details = &refused["error"]["details"];
    assert_eq!(details["consent"], "human");
    assert_eq!(details["rule"], "default.write");
    let resume = json!({"tool": "shelf.write", "params": {"book": "atlas"}});
    assert_eq!(details["resume_with"], resume);
    assert_eq!(details["preview"]["arguments"], r#"{"book":"atlas"}"#);
    let id = approval_id(&refused);

    let listed = env.run(&["approvals", "--json"]).exits(0).json();
    assert_eq!(listed["approvals"][0]["id"], id.as_str());
    assert_eq!(listed["approvals"][0]["state"], "pending");
    let people = env.run(&["approvals"]).exits(0).out;
    assert!(people.contains(&id) && people.contains("shelf.write"));

    let again = env.call("shelf.write", BOOK, &[]).exits(3).json();
    assert_eq!(
        approval_id(&again),
        id,
        "the same call waits for the same approval"
    );
    let blocked = &again["budget_ledger"]["blocked_actions"];
    assert_eq!(blocked[0]["tool"], "shelf.write");
}

#[test]
fn without_a_terminal_or_a_token_nobody_consents() {
    let env = TestEnv::with_config(STUBS);
    let id = asked(&env, BOOK);
    let mut command = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
    let output = command.args(["approve", &id]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("at a terminal, or with an approver token"),
        "{said}"
    );
    env.call("shelf.write", BOOK, &[]).exits(3);
}

#[test]
fn an_approved_call_goes_through_exactly_once() {
    let env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    let approved = env.run(&["approve", &id, "--token", &token, "--json"]);
    let approved = approved.exits(0).json();
    assert_eq!(approved["granted"], true);
    assert!(approved["by"].as_str().unwrap().starts_with("token:tk-"));

    env.call("shelf.write", r#"{"book":"other"}"#, &[]).exits(3);
    let other = ["call", "shelf.burn", "--args", BOOK];
    env.run(&other).exits(3);
    env.call("shelf.write", BOOK, &["--session", "other"])
        .exits(3);
    let done = env.ok("shelf.write", r#"{ "book": "atlas" }"#);
    assert_eq!(done["data"]["arguments"], json!({"book": "atlas"}));
    env.call("shelf.write", BOOK, &[]).exits(3);

    let endings: Vec<Value> = env.recorded();
    let done = endings.iter().filter(|row| {
        row["kind"] == "ending" && row["tool"] == "shelf.write" && row["status"] == "ok"
    });
    let done: Vec<&Value> = done.collect();
    assert_eq!(done.len(), 1);
    assert_eq!(done[0]["consent"], "human");
    env.whole();
}

#[test]
fn an_approval_cannot_be_given_twice() {
    let env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    env.run(&["approve", &id, "--token", &token]).exits(0);
    let again = env.run(&["approve", &id, "--token", &token]).exits(2);
    assert!(again.err.contains("no longer open"), "{}", again.err);
    env.ok("shelf.write", BOOK);
    env.run(&["approve", &id, "--token", &token]).exits(2);
    let unknown = env.run(&["approve", "ap-nothing", "--token", &token]);
    assert!(unknown.exits(2).err.contains("ap-nothing"));
}

#[test]
fn a_denial_is_final_for_its_question() {
    let env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    let denied = env.run(&["approve", &id, "--deny", "--token", &token, "--json"]);
    assert_eq!(denied.exits(0).json()["granted"], false);
    env.call("shelf.write", BOOK, &["--approval", &id]).exits(3);
    env.run(&["approve", &id, "--token", &token]).exits(2);
    let all = env.run(&["approvals", "--all", "--json"]).exits(0).json();
    let states = all["approvals"].as_array().unwrap().iter();
    let mut states = states.filter(|one| one["id"] == id.as_str());
    assert_eq!(states.next().unwrap()["state"], "denied");
}

#[test]
fn a_grant_covers_one_tool_in_one_session() {
    let env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    let granted = env.run(&["approve", &id, "--for-session", "--token", &token]);
    assert!(granted.exits(0).out.contains("for this session"));
    env.ok("shelf.write", BOOK);
    env.ok("shelf.write", r#"{"book":"another"}"#);
    env.run(&["call", "shelf.burn"]).exits(3);
    env.call("shelf.write", BOOK, &["--session", "other"])
        .exits(3);
    let both = env.run(&["approve", &id, "--for-session", "--deny", "--token", &token]);
    both.exits(2);
}

#[test]
fn only_a_live_approver_token_counts() {
    let env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    let refused = |token: &str| {
        let ran = env.run(&["approve", &id, "--token", token]).exits(2);
        assert!(ran.err.contains("not a live approver token"), "{}", ran.err);
        assert!(token.is_empty() || !ran.err.contains(token));
    };
    refused("tga_000000000000000000000000000000000000000000000000");
    refused("");
    refused(&token[..token.len() - 1]);

    let expired = env.approver_with(&["--quiet", "--expires", "1"]);
    let expired = expired.out.trim().to_owned();
    database(&env)
        .execute(
            "UPDATE credentials SET expires = 1 WHERE expires IS NOT NULL",
            [],
        )
        .unwrap();
    refused(&expired);

    let listed = env.run(&["token", "list", "--json"]).exits(0).json();
    let first = listed["tokens"].as_array().unwrap().iter();
    let live = first.filter(|one| one["expires"].is_null());
    let live: Vec<&str> = live.map(|one| one["id"].as_str().unwrap()).collect();
    env.run(&["token", "revoke", live[0]]).exits(0);
    refused(&token);
    env.call("shelf.write", BOOK, &[]).exits(3);
}

#[test]
fn a_token_is_read_from_standard_input_or_the_environment_too() {
    let mut env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    env.feed(&["approve", &id, "--token", "-"], format!("{token}\n"))
        .exits(0);
    env.ok("shelf.write", BOOK);
    let id = asked(&env, BOOK);
    env.set("TOLLGATE_APPROVER_TOKEN", &token);
    env.run(&["approve", &id]).exits(0);
    env.ok("shelf.write", BOOK);
}

#[test]
fn an_approval_that_waited_too_long_is_worth_nothing() {
    let env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    env.run(&["approve", &id, "--token", &token]).exits(0);
    database(&env)
        .execute("UPDATE approvals SET expires = 1", [])
        .unwrap();
    env.call("shelf.write", BOOK, &[]).exits(3);
    let listed = env.run(&["approvals", "--json"]).exits(0).json();
    let open = listed["approvals"].as_array().unwrap();
    assert!(open.iter().all(|one| one["id"] != id.as_str()));
    env.run(&["approve", &id, "--token", &token]).exits(2);
}

#[test]
fn a_named_effect_runs_once_however_often_it_is_sent() {
    let env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    env.run(&["approve", &id, "--token", &token]).exits(0);
    let key = ["--idempotency-key", "atlas-1"];
    let first = env.call("shelf.write", BOOK, &key).exits(0).json();
    let second = env.call("shelf.write", BOOK, &key).exits(0).json();
    assert_eq!(first["data"], second["data"]);
    assert_eq!(second["warnings"], json!(["recorded_ending"]));
    assert_eq!(intents(&env), 1);
    env.call("shelf.write", BOOK, &["--idempotency-key", "atlas-2"])
        .exits(3);
}

#[test]
fn the_name_of_an_effect_is_short() {
    let env = TestEnv::with_config(STUBS);
    for key in [String::new(), "x".repeat(256)] {
        let refused = env.call("shelf.write", BOOK, &["--idempotency-key", &key]);
        assert_eq!(refused.json()["error"]["kind"], "invalid_arguments");
    }
    let key = "名".repeat(255);
    env.call("shelf.write", BOOK, &["--idempotency-key", &key])
        .exits(3);
    assert_eq!(intents(&env), 0);
}

#[test]
fn an_answer_that_never_arrived_is_given_again_without_a_second_effect() {
    let env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    env.run(&["approve", &id, "--token", &token]).exits(0);
    let mut lost = env.start(&["call", "shelf.write", "--args", BOOK, "--json"]);
    drop(lost.stdout.take());
    assert_eq!(lost.wait().unwrap().code(), Some(1));
    assert_eq!(intents(&env), 1);
    let again = env.ok("shelf.write", BOOK);
    assert_eq!(again["warnings"], json!(["recorded_ending"]));
    assert_eq!(intents(&env), 1);
    env.call("shelf.write", BOOK, &[]).exits(3);
}

/// How many side effects were announced.
fn intents(env: &TestEnv) -> usize {
    let recorded = env.recorded();
    recorded
        .iter()
        .filter(|row| row["kind"] == "intent")
        .count()
}

#[test]
fn the_typed_code_consents_and_is_shown_on_the_terminal_only() {
    let env = TestEnv::with_config(STUBS);
    let id = asked(&env, BOOK);
    let seen = at_a_terminal(&env, &["approve", &id], str::to_owned);
    assert_eq!(seen.ran.code, 0, "{seen:?}");
    assert!(seen.shown.contains("ALLOW ONCE") && seen.shown.contains("shelf.write"));
    assert!(seen.shown.contains(r#"{"book":"atlas"}"#));
    assert!(!seen.ran.out.contains(&seen.code) && !seen.ran.err.contains(&seen.code));
    env.ok("shelf.write", BOOK);
    let recorded = env.recorded();
    let decided = recorded
        .iter()
        .find(|row| row["kind"] == "approval")
        .unwrap();
    assert!(decided["by"].as_str().unwrap().ends_with("at a terminal"));
}

#[test]
fn a_wrong_code_changes_nothing() {
    let env = TestEnv::with_config(STUBS);
    let id = asked(&env, BOOK);
    for typed in ["", "yes", "y"] {
        let seen = at_a_terminal(&env, &["approve", &id], |_| typed.to_owned());
        assert_eq!(seen.ran.code, 1, "{seen:?}");
        assert!(seen.ran.err.contains("nothing was changed"));
        assert_eq!(seen.ran.out, "");
    }
    env.call("shelf.write", BOOK, &[]).exits(3);
    let deny = at_a_terminal(&env, &["approve", &id, "--deny"], str::to_owned);
    assert_eq!(deny.ran.code, 0);
    assert!(deny.shown.contains("REFUSE"));
}

#[test]
fn each_question_at_the_terminal_has_a_code_of_its_own() {
    let env = TestEnv::with_config(STUBS);
    let id = asked(&env, BOOK);
    let left = || at_a_terminal(&env, &["approve", &id], |_| String::new()).code;
    // Three equal codes come by chance once in 2^40 runs.
    let codes = [left(), left(), left()];
    assert!(codes.iter().any(|code| *code != codes[0]), "{codes:?}");
    let old = &codes[2];
    let last = at_a_terminal(&env, &["approve", &id], |_| old.clone());
    assert_eq!(last.ran.code == 0, last.code == *old);
}

#[test]
fn nothing_an_agent_sends_can_paint_the_terminal() {
    let env = TestEnv::with_config(STUBS);
    let paint = "a\u{1b}[2J\n  tool       text.stats\r\u{202e}b";
    let hostile = json!({"book": paint}).to_string();
    let asked = env.call("shelf.write", &hostile, &[]);
    let id = approval_id(&asked.exits(3).json());
    env.call(paint, "{}", &[]).exits(2);
    env.call("time.now", "{}", &["--session", paint]).exits(2);
    let seen = at_a_terminal(&env, &["approve", &id], |_| String::new());
    let mut shown = vec![seen.shown.replace("\r\n", "\n")];
    for command in [
        &["approvals"][..],
        &["session", "--all"],
        &["audit", "list"],
        &["tools", "list"],
    ] {
        shown.push(env.run(command).exits(0).out);
    }
    for text in shown {
        let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(hidden), "{text:?}");
        assert!(!text.contains("\n  tool       text.stats"), "{text:?}");
    }
}

#[test]
fn a_grant_is_listed_and_taken_back() {
    let env = TestEnv::with_config(STUBS);
    let token = env.approver();
    let id = asked(&env, BOOK);
    env.run(&["approve", &id, "--for-session", "--token", &token])
        .exits(0);
    let granted = env.run(&["grants", "--json"]).exits(0).json();
    assert_eq!(granted["grants"].as_array().unwrap().len(), 1);
    assert!(env.run(&["grants"]).exits(0).out.contains("shelf.write"));
    env.ok("shelf.write", BOOK);
    env.run(&["grants", "--revoke", "shelf.burn"]).exits(2);
    let left = env.run(&["grants", "--revoke", "shelf.write", "--json"]);
    assert_eq!(left.exits(0).json()["grants"], json!([]));
    env.call("shelf.write", r#"{"book":"other"}"#, &[]).exits(3);
}
