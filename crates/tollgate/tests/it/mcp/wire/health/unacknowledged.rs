//! A gateway on a state that is not the one that was acknowledged, and the operator who accepts it.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::failure;
use crate::{
    mcp::wire::peer::{Ask, Gate},
    support::{Lines, TestEnv, approval_id, at_a_terminal},
};

const WRITES: &str = "[providers.stub]\ntools = [\"a.write\"]\nwrites = [\"a.write\"]\n";
const REFUSED: &str = "tool.gate.store.not_acknowledged";

/// Asks for consent to a write, and gives it.
fn approved(env: &TestEnv, number: u64) -> String {
    let arguments = json!({"n": number}).to_string();
    let asked = env.call("a.write", &arguments, &[]).exits(3).json();
    let token = env.approver();
    env.run(&["approve", &approval_id(&asked), "--token", &token])
        .exits(0);
    arguments
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn accept(env: &TestEnv) {
    let seen = at_a_terminal(env, &["state", "accept"], str::to_owned);
    assert!(seen.shown.contains("may work again"), "{}", seen.shown);
    seen.ran.exits(0);
}

fn ready(env: &TestEnv) -> (u16, String) {
    let heard = Gate::open(env).ask(&Ask::new("GET", "/readyz"));
    (heard.status, heard.body)
}

fn reasons(found: &Value) -> Vec<&str> {
    let accepted = found["accepted"].as_array().unwrap();
    accepted
        .iter()
        .map(|it| it["reasons"][0].as_str().unwrap())
        .collect()
}

#[test]
fn a_used_approval_does_not_work_again_in_a_rolled_back_copy() {
    let env = TestEnv::with_config(WRITES);
    let token = env.approver();
    let arguments = approved(&env, 1);
    copy(&env.state_dir(), &env.path("backup"));
    env.ok("a.write", &arguments);
    fs::remove_dir_all(env.state_dir()).unwrap();
    copy(&env.path("backup"), &env.state_dir());
    let error = env.call("a.write", &arguments, &[]).exits(1).json()["error"].clone();
    assert_eq!(error["code"], REFUSED, "{error}");
    assert!(
        error["message"].as_str().unwrap().contains("rolled_back"),
        "{error}"
    );
    let advice = error["recovery_suggestion"].as_str().unwrap();
    assert!(advice.contains("tollgate state accept"), "{advice}");
    env.ok("time.now", "{}");
    // Reads go on, so the log has grown past the anchor by now, with other entries.
    let (status, said) = ready(&env);
    assert!(status == 503 && said.contains("diverged"), "{said}");
    let said = env.run(&["doctor"]).exits(1).out;
    assert!(said.contains("tollgate state accept"), "{said}");
    // A pipe cannot accept it, nor can a token that lies in it.
    env.run(&["state", "accept"]).exits(2);
    let mut bearer = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
    bearer.args(["state", "accept"]);
    let refused = bearer.env("TOLLGATE_APPROVER_TOKEN", token).output();
    assert_eq!(refused.unwrap().status.code(), Some(2));
    env.run(&["state", "check"]).exits(1);
    accept(&env);
    env.run(&["state", "check"]).exits(0);
    assert_eq!(ready(&env).0, 200);
    let found = env.whole();
    assert_eq!(reasons(&found), ["diverged"]);
    let verified = env.run(&["audit", "verify"]).exits(0);
    assert!(verified.err.contains("epoch 2"), "{verified:?}");
}

#[test]
fn nothing_is_acknowledged_into_a_database_that_was_deleted() {
    let env = TestEnv::with_config(WRITES);
    let gate = Gate::open(&env);
    let mut lines = Lines::start(&env, &[]);
    gate.call("time.now", json!({}));
    lines.ask(r#"{"id":1,"method":"time.now"}"#);
    for name in ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"] {
        fs::remove_file(env.state_dir().join(name)).unwrap();
    }
    for number in 0..20 {
        let error = failure(&gate.call("text.stats", json!({"text": format!("{number}")})));
        assert_eq!(error["code"], REFUSED, "{error}");
    }
    let said = gate.ask(&Ask::new("GET", "/readyz")).has(503).body;
    assert!(said.contains("deleted"), "{said}");
    let answer = lines.ask(r#"{"id":2,"method":"text.stats","params":{"text":"a"}}"#);
    assert_eq!(answer["error"]["code"], REFUSED, "{answer}");
    // Another process makes a new one, which is none that was acknowledged.
    let arguments = approved(&env, 1);
    let error = env.call("a.write", &arguments, &[]).exits(1).json()["error"].clone();
    assert_eq!(error["code"], REFUSED, "{error}");
    let error = failure(&gate.call("text.stats", json!({"text": "still"})));
    assert!(
        error["message"].as_str().unwrap().contains("replaced"),
        "{error}"
    );
    accept(&env);
    env.ok("a.write", &arguments);
}

#[test]
fn nothing_is_acknowledged_into_a_database_that_was_truncated() {
    let env = TestEnv::with_config(WRITES);
    let arguments = approved(&env, 1);
    let gate = Gate::open(&env);
    gate.call("time.now", json!({}));
    let database = fs::OpenOptions::new()
        .write(true)
        .open(env.state_dir().join("tollgate.db"));
    database.unwrap().set_len(0).unwrap();
    for number in 0..20 {
        let error = failure(&gate.call("text.stats", json!({"text": format!("{number}")})));
        let code = error["code"].as_str().unwrap();
        assert!(code.starts_with("tool.gate.store."), "{error}");
    }
    let said = gate.ask(&Ask::new("GET", "/readyz")).has(503).body;
    assert!(said.contains("truncated"), "{said}");
    drop(gate);
    // What is left of it is not what was acknowledged.
    let error = env.call("a.write", &arguments, &[]).json()["error"].clone();
    assert_ne!(error, Value::Null);
    assert!(!env.run(&["state", "check"]).out.is_empty());
}

#[test]
fn a_state_that_others_can_write_is_named_until_it_is_accepted() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::with_config(WRITES);
    let arguments = approved(&env, 1);
    fs::set_permissions(env.state_dir(), fs::Permissions::from_mode(0o777)).unwrap();
    let error = env.call("a.write", &arguments, &[]).exits(1).json()["error"].clone();
    assert_eq!(error["code"], REFUSED, "{error}");
    let (status, said) = ready(&env);
    assert!(
        status == 503 && said.contains("folder of the state"),
        "{said}"
    );
    accept(&env);
    env.ok("a.write", &arguments);
    assert_eq!(reasons(&env.whole()), ["writable"]);
}

#[test]
fn a_deleted_anchor_stays_to_be_seen() {
    let env = TestEnv::with_config(WRITES);
    env.ok("time.now", "{}");
    let arguments = approved(&env, 1);
    fs::remove_dir_all(env.path("state/tollgate")).unwrap();
    env.ok("time.now", "{}");
    env.ok("text.stats", r#"{"text":"a"}"#);
    let found = env.run(&["audit", "verify", "--json"]).exits(1).json();
    assert_eq!(found["problems"], json!(["anchor: it is gone"]));
    let error = env.call("a.write", &arguments, &[]).exits(1).json()["error"].clone();
    assert!(
        error["message"].as_str().unwrap().contains("anchor_lost"),
        "{error}"
    );
    accept(&env);
    env.ok("a.write", &arguments);
    assert_eq!(reasons(&env.whole()), ["anchor_lost"]);
}

#[test]
fn a_key_of_approvals_that_was_made_anew_is_noted() {
    let env = TestEnv::new();
    let file = env.path("state/tollgate.log");
    env.configure(&format!("[log]\nfile = \"{}\"\n", file.display()));
    let noted = || {
        let log = fs::read_to_string(&file).unwrap();
        log.matches("keys.approval_key_new").count()
    };
    env.ok("time.now", "{}");
    env.ok("time.now", "{}");
    assert_eq!(noted(), 0);
    fs::remove_file(env.state_dir().join("approval.key")).unwrap();
    env.ok("time.now", "{}");
    env.ok("time.now", "{}");
    assert_eq!(noted(), 1);
}
