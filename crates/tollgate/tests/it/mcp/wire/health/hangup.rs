//! A hangup ends no process and no call.

use std::{thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    mcp::wire::peer::{Ask, Gate, Held, Open, Stdio, result, until},
    support::{Lines, TestEnv},
};

const READS: &str = "default_capability = \"L0\"\ntrust_annotations = true";
const LOG: &str = "[log]\nlevel = \"info\"\n";

fn log_says(env: &TestEnv, event: &str) -> bool {
    let log = env.path("state/tollgate/tollgate.log");
    std::fs::read_to_string(log).is_ok_and(|text| text.contains(event))
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

#[test]
fn the_log_says_that_nothing_was_reloaded() {
    let env = TestEnv::new();
    let file = env.path("state/tollgate/tollgate.log");
    env.configure(&format!("{LOG}file = \"{}\"\n", file.display()));
    let gate = Gate::open(&env);
    gate.signal(Signal::HUP);
    until(|| log_says(&env, "signal.hangup"));
    gate.ask(&Ask::new("GET", "/healthz")).has(200);
}
