//! A process that was stopped while it held a lock of the state.

use std::{
    io::{BufRead, BufReader},
    process::Child,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::failure;
use crate::{
    mcp::wire::peer::{Ask, Gate, until},
    support::{TestEnv, can_run},
};

/// Takes the lock of a state and waits.
const HOLD: &str = "import fcntl, sys, time
lock = open(sys.argv[1])
fcntl.flock(lock, fcntl.LOCK_EX)
print('held', flush=True)
time.sleep(600)";
/// Far below the five seconds for which a commit otherwise waits.
const FAST: Duration = Duration::from_secs(3);

struct Stopped(Child);

impl Stopped {
    fn holding(env: &TestEnv) -> Self {
        Self::keeping(env, "write.lock")
    }

    fn keeping(env: &TestEnv, lock: &str) -> Self {
        let lock = env.state_dir().join(lock);
        let mut child = env
            .other("python3", &["-c", HOLD, lock.to_str().unwrap()])
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        Self(child)
    }

    fn named(&self) -> String {
        format!("process {}", self.0.id())
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn a_command_fails_fast_and_names_the_process() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    env.ok("time.now", "{}");
    let stopped = Stopped::holding(&env);
    let begun = Instant::now();
    let error = env
        .call("text.stats", r#"{"text":"a"}"#, &[])
        .exits(1)
        .json()["error"]
        .clone();
    assert!(begun.elapsed() < FAST, "{:?}", begun.elapsed());
    assert_eq!(error["code"], "tool.gate.store.held", "{error}");
    assert_eq!(error["can_retry"], true);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&stopped.named()), "{message}");
    assert!(
        error["recovery_suggestion"]
            .as_str()
            .unwrap()
            .contains("kill -CONT")
    );
    let said = env.run(&["doctor"]).exits(1).out;
    let line = said.lines().find(|line| line.contains(&stopped.named()));
    assert!(line.is_some_and(|line| line.contains("stopped")), "{said}");
    drop(stopped);
    env.ok("text.stats", r#"{"text":"a"}"#);
    let rows = env.recorded();
    assert_eq!(
        rows.iter().filter(|row| row["status"] == "ok").count(),
        2,
        "{rows:?}"
    );
    env.whole();
}

#[test]
fn a_gateway_is_not_ready_fails_fast_and_goes_on_afterwards() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    gate.call("time.now", json!({}));
    let stopped = Stopped::holding(&env);
    for number in 0..4 {
        let begun = Instant::now();
        let result = gate.call("text.stats", json!({"text": format!("{number}")}));
        assert!(begun.elapsed() < FAST, "{:?}", begun.elapsed());
        let error = failure(&result);
        assert_eq!(error["code"], "tool.gate.store.held", "{error}");
    }
    let said = gate.ask(&Ask::new("GET", "/readyz")).has(503).body;
    assert!(
        said.contains(&stopped.named()) && said.contains("stopped"),
        "{said}"
    );
    kill_process(Pid::from_child(&stopped.0), Signal::CONT).unwrap();
    drop(stopped);
    until(|| gate.ask(&Ask::new("GET", "/readyz")).status == 200);
    gate.call("text.stats", json!({"text": "after"}));
    drop(gate);
    env.whole();
}

#[test]
fn a_command_does_not_wait_for_whoever_was_stopped_with_the_anchor() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    env.ok("time.now", "{}");
    let stopped = Stopped::keeping(&env, "anchor.lock");
    let begun = Instant::now();
    env.ok("text.stats", r#"{"text":"a"}"#);
    assert!(begun.elapsed() < FAST, "{:?}", begun.elapsed());
    drop(stopped);
    // The next process anchors what that one could not.
    env.ok("text.stats", r#"{"text":"b"}"#);
    env.whole();
}
