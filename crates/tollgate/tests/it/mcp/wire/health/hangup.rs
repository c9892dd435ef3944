//! A hangup ends no process and no call: policies are read and the log file is opened again.

use std::{fs, thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::failure;
use crate::{
    mcp::wire::peer::{Ask, Gate, Held, Open, Stdio, result, until},
    support::{Lines, TestEnv},
};

const READS: &str = "default_capability = \"L0\"\ntrust_annotations = true";
const LOG: &str = "[log]\nlevel = \"info\"\n";
const RULES: &str = "config/tollgate/policies/mine.cedar";
const NOTHING: &str = "// Nothing is forbidden.\n";
const FORBID: &str = r#"@id("mine.no") forbid (principal, action, resource) when { resource.name == "text.stats" };"#;

fn log_says(env: &TestEnv, event: &str) -> bool {
    let log = env.path("state/tollgate/tollgate.log");
    fs::read_to_string(log).is_ok_and(|text| text.contains(event))
}

#[test]
fn serve_finishes_its_calls_and_goes_on() {
    let (env, held) = Held::with(READS, "");
    let gate = Gate::open(&env);
    let stream = gate.send(&Ask::modern("tools/call", held.call()));
    until(|| {
        gate.ask(&Ask::new("GET", "/metrics"))
            .body
            .contains("\ntollgate_running 1\n")
    });
    gate.signal(Signal::HUP);
    thread::sleep(Duration::from_millis(200));
    held.end();
    let done = result(&Open::answering(stream).unwrap().whole().has(200).json());
    assert_eq!(done["content"][0]["text"], "waited");
    gate.ask(&Ask::new("GET", "/readyz")).has(200);
}

#[test]
fn jsonl_and_mcp_go_on() {
    let env = TestEnv::new();
    let mut lines = Lines::start(&env, &[]);
    lines.ask(r#"{"id":1,"method":"time.now"}"#);
    kill_process(Pid::from_child(&lines.child), Signal::HUP).unwrap();
    thread::sleep(Duration::from_millis(200));
    let answer = lines.ask(r#"{"id":2,"method":"text.stats","params":{"text":"a"}}"#);
    assert_eq!(answer["status"], "ok", "{answer}");
    let mut client = Stdio::modern(&env, &[]);
    client.call("time.now", json!({}));
    kill_process(Pid::from_child(&client.child), Signal::HUP).unwrap();
    thread::sleep(Duration::from_millis(200));
    client.call("text.stats", json!({"text": "b"}));
}

/// A gateway whose log is written to a file.
fn logging() -> TestEnv {
    let env = TestEnv::new();
    let file = env.path("state/tollgate/tollgate.log");
    env.configure(&format!("{LOG}file = \"{}\"\n", file.display()));
    env
}

fn decided(gate: &Gate) -> String {
    let result = gate.call("text.stats", json!({"text": "a"}));
    if result["isError"] == true {
        failure(&result)["kind"].as_str().unwrap().to_owned()
    } else {
        "ok".to_owned()
    }
}

#[test]
fn a_rule_that_was_added_holds_after_a_hangup() {
    let env = logging();
    env.write(RULES, NOTHING);
    let gate = Gate::open(&env);
    assert_eq!(decided(&gate), "ok");
    env.write(RULES, FORBID);
    assert_eq!(decided(&gate), "ok", "nobody has hung up");
    gate.signal(Signal::HUP);
    until(|| log_says(&env, "1 policy files were read again"));
    assert_eq!(decided(&gate), "policy_denied");
    // A file more counts as well, and one that is gone forbids nothing.
    env.write("config/tollgate/policies/other.cedar", NOTHING);
    gate.signal(Signal::HUP);
    until(|| log_says(&env, "2 policy files were read again"));
    assert_eq!(decided(&gate), "policy_denied");
    fs::remove_file(env.path(RULES)).unwrap();
    gate.signal(Signal::HUP);
    until(|| decided(&gate) == "ok");
}

#[test]
fn a_faulty_policy_file_leaves_the_rules_that_are_in_force() {
    let env = logging();
    env.write(RULES, FORBID);
    let gate = Gate::open(&env);
    for (text, why) in [("forbid (nonsense", "mine.cedar"), ("\u{0}", "mine.cedar")] {
        env.write(RULES, text);
        gate.signal(Signal::HUP);
        until(|| log_says(&env, "the policies in force stay"));
        assert!(log_says(&env, why));
        assert_eq!(decided(&gate), "policy_denied");
        fs::remove_file(env.path("state/tollgate/tollgate.log")).unwrap();
        env.write(RULES, FORBID);
        gate.signal(Signal::HUP);
        until(|| log_says(&env, "1 policy files were read again"));
        fs::remove_file(env.path("state/tollgate/tollgate.log")).unwrap();
        gate.signal(Signal::HUP);
        until(|| log_says(&env, "the log file was opened again"));
    }
}

#[test]
fn the_log_file_is_opened_again_after_it_was_moved_away() {
    let env = logging();
    let (file, moved) = ("state/tollgate/tollgate.log", "state/tollgate/old.log");
    let gate = Gate::open(&env);
    assert_eq!(decided(&gate), "ok");
    until(|| log_says(&env, "text.stats"));
    fs::rename(env.path(file), env.path(moved)).unwrap();
    gate.signal(Signal::HUP);
    until(|| log_says(&env, "the log file was opened again"));
    let before = fs::read_to_string(env.path(moved)).unwrap();
    assert_eq!(decided(&gate), "ok");
    until(|| log_says(&env, "text.stats"));
    assert_eq!(fs::read_to_string(env.path(moved)).unwrap(), before);
    gate.ask(&Ask::new("GET", "/healthz")).has(200);
}
