//! Requests, their events, and how a process ends.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Lines, TestEnv, approval_id};

const STATS: &str = r#"{"id":1,"method":"text.stats","params":{"text":"hello"}}"#;

/// Two tools that take their time: long enough that only a cancel ends them in a test.
const SLOW: &str = "[providers.stub]\ntools = [\"slow.read\", \"slow.write\"]\n\
                    writes = [\"slow.write\"]\ndelay_ms = 4000\n";
const BRISK: &str = "[providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 200\n";

fn events(env: &TestEnv, input: &str) -> Vec<Value> {
    let ran = env.feed(&["jsonl"], input).exits(0);
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

fn signal(lines: &Lines, signal: Signal) {
    let pid = Pid::from_child(&lines.child);
    kill_process(pid, signal).unwrap();
}

#[test]
fn a_request_has_four_events_in_order() {
    let env = TestEnv::new();
    let events = events(&env, &format!("{STATS}\n"));
    assert_eq!(
        names(&events),
        ["started", "budget_estimated", "response", "done"]
    );
    assert!(events.iter().all(|event| event["id"] == 1));
    assert_eq!(events[0]["method"], "text.stats");
    assert_eq!(events[1]["estimated_tokens"], 0);
    assert_eq!(events[2]["payload"]["data"]["characters"], 5);
    assert_eq!(events[2]["payload"]["status"], "ok");
}

#[test]
fn ids_of_every_type_come_back_as_they_were_sent() {
    let env = TestEnv::new();
    let ids = [
        "1",
        "-7",
        "1.50",
        "12345678901234567890123",
        "\"text\"",
        "\"\\u00e9\"",
        "null",
        "true",
        "[1, \"a\"]",
        "{\"a\" :1}",
    ];
    let mut lines = Lines::start(&env, &[]);
    for id in ids {
        lines.send(&format!(
            r#"{{"id":{id},"method":"text.stats","params":{{"text":"a"}}}}"#
        ));
    }
    lines.send(r#"{"method":"text.stats","params":{"text":"a"}}"#);
    lines.end();
    let raw = lines.rest_of_text();
    let mut starts = raw.lines().filter(|line| line.contains("\"started\""));
    for id in ids {
        let line = starts.next().unwrap();
        assert!(line.starts_with(&format!("{{\"id\":{id},")), "{id}: {line}");
    }
    assert!(starts.next().unwrap().starts_with("{\"id\":null,"));
}

#[test]
fn a_process_is_a_session_of_its_own() {
    let env = TestEnv::new();
    let mut first = Lines::start(&env, &[]);
    assert_eq!(first.ask(STATS)["cache_hit"], false);
    assert_eq!(first.ask(STATS)["cache_hit"], true);
    let mut second = Lines::start(&env, &[]);
    assert_eq!(second.ask(STATS)["cache_hit"], false);
    assert_eq!(
        env.ok("text.stats", r#"{"text":"hello"}"#)["cache_hit"],
        false
    );
}

#[test]
fn parameters_may_be_left_out_and_names_spelled_safely() {
    let env = TestEnv::new();
    let mut lines = Lines::start(&env, &[]);
    assert_eq!(lines.ask(r#"{"id":1,"method":"time.now"}"#)["status"], "ok");
    let safe = lines.ask(r#"{"id":2,"method":"text_stats","params":{"text":"a"}}"#);
    assert_eq!(safe["tool"], "text.stats");
}

#[test]
fn control_travels_beside_the_arguments() {
    let env = TestEnv::with_config(SLOW);
    let mut lines = Lines::start(&env, &[]);
    let dry = r#"{"id":1,"method":"slow.write","_meta":{"tollgate/call":{"dry_run":true}}}"#;
    assert_eq!(lines.ask(dry)["data"]["verdict"], "needs_human");
    let cached = r#"{"id":2,"method":"slow.read","_meta":{"tollgate/call":{"from_cache":true}}}"#;
    assert_eq!(lines.ask(cached)["error"]["kind"], "cache_miss");
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let traced = format!(
        r#"{{"id":3,"method":"time.now","_meta":{{"traceparent":"00-{trace}-b7ad6b7169203331-01"}}}}"#
    );
    assert_eq!(lines.ask(&traced)["meta"]["trace_id"], trace);
}

#[test]
fn consent_given_at_the_command_line_lets_the_repeated_request_through_once() {
    let env = TestEnv::new();
    let token = env.approver();
    let mut lines = Lines::start(&env, &[]);
    let forget = r#"{"id":1,"method":"session.forget"}"#;
    let refused = lines.ask(forget);
    assert_eq!(refused["error"]["kind"], "confirmation_required");
    let id = approval_id(&refused);
    env.run(&["approve", &id, "--token", &token]).exits(0);
    assert_eq!(lines.ask(forget)["status"], "ok");
    assert_eq!(lines.ask(forget)["error"]["kind"], "confirmation_required");
}

#[test]
fn a_running_call_is_cancelled_and_recorded() {
    let env = TestEnv::with_config(SLOW);
    let mut lines = Lines::start(&env, &[]);
    lines.send(r#"{"id":"\u0061","method":"slow.read"}"#);
    lines.until("budget_estimated");
    lines.send(r#"{"method":"$/cancel","params":{"id":"nobody"}}"#);
    lines.send(r#"{"method":"$/cancel","params":{"id":"a"}}"#);
    let response = lines.until("response");
    assert_eq!(response["payload"]["error"]["kind"], "cancelled");
    lines.until("done");
    assert_eq!(lines.ask(STATS)["status"], "ok");
    let recorded = env.recorded();
    let ending = recorded.iter().find(|row| row["kind"] == "ending").unwrap();
    assert_eq!(ending["error_code"], "tool.gate.invoke.cancelled");
}

#[test]
fn a_request_that_still_waits_is_cancelled_too() {
    let env = TestEnv::with_config(SLOW);
    let mut lines = Lines::start(&env, &[]);
    lines.send(r#"{"id":1,"method":"slow.read","params":{"n":1}}"#);
    lines.until("budget_estimated");
    lines.send(r#"{"id":2,"method":"slow.read","params":{"n":2}}"#);
    lines.send(r#"{"method":"$/cancel","params":{"id":2}}"#);
    lines.send(r#"{"method":"$/cancel","params":{"id":1}}"#);
    for id in [1, 2] {
        let response = lines.until("response");
        assert_eq!(response["id"], id);
        assert_eq!(response["payload"]["error"]["kind"], "cancelled");
    }
}

#[test]
fn the_end_of_input_lets_running_calls_finish() {
    let env = TestEnv::with_config(BRISK);
    let input = "{\"id\":1,\"method\":\"slow.read\"}\n{\"id\":2,\"method\":\"time.now\"}";
    let events = events(&env, input);
    assert_eq!(
        names(&events)
            .iter()
            .filter(|name| **name == "done")
            .count(),
        2
    );
    assert_eq!(events[2]["payload"]["status"], "ok");
    assert_eq!(env.recorded().len(), 2);
}

#[test]
fn one_at_a_time_answers_in_order() {
    let env = TestEnv::with_config(BRISK);
    let input = "{\"id\":1,\"method\":\"slow.read\"}\n[\n{\"id\":3,\"method\":\"time.now\"}\n";
    let events = events(&env, input);
    let done = events.iter().filter(|event| event["event"] == "done");
    let order: Vec<&Value> = done.map(|event| &event["id"]).collect();
    assert_eq!(order, [&json!(1), &Value::Null, &json!(3)]);
}

#[test]
fn several_at_once_do_not_wait_for_a_slow_one() {
    let env = TestEnv::with_config(SLOW);
    let mut lines = Lines::start(&env, &["--concurrent", "3"]);
    lines.send(r#"{"id":1,"method":"slow.read"}"#);
    lines.send(r#"{"id":2,"method":"time.now"}"#);
    assert_eq!(lines.until("done")["id"], 2);
    lines.send(r#"{"method":"$/cancel","params":{"id":1}}"#);
    assert_eq!(lines.until("done")["id"], 1);
}

#[test]
fn two_identical_requests_at_once_run_once() {
    let env = TestEnv::with_config(
        "[limits]\nsession_tokens = 5\n[providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 300\nunits = 5\n",
    );
    let mut lines = Lines::start(&env, &["--concurrent", "2"]);
    lines.send(r#"{"id":1,"method":"slow.read"}"#);
    lines.send(r#"{"id":2,"method":"slow.read"}"#);
    for _ in 0..2 {
        let payload = lines.until("response")["payload"].clone();
        assert_eq!(payload["status"], "ok", "{payload}");
        assert_eq!(payload["budget_ledger"]["session_consumed"], 5);
    }
}

#[test]
fn half_a_line_survives_other_calls_that_end_meanwhile() {
    let env = TestEnv::with_config(BRISK);
    let mut lines = Lines::start(&env, &["--concurrent", "2"]);
    lines.send(r#"{"id":1,"method":"slow.read"}"#);
    lines.until("budget_estimated");
    let text = "x".repeat(200_000);
    let long = format!(r#"{{"id":2,"method":"text.stats","params":{{"text":"{text}"}}}}"#);
    let (half, rest) = long.split_at(150_000);
    lines.raw(half.as_bytes());
    lines.until("done");
    lines.send(rest);
    let response = lines.until("response");
    assert_eq!(response["id"], 2);
    assert_eq!(response["payload"]["data"]["characters"], 200_000);
}

#[test]
fn a_reader_that_goes_away_ends_the_process_and_its_calls_in_order() {
    let env = TestEnv::with_config(SLOW);
    let mut lines = Lines::start(&env, &["--concurrent", "2"]);
    lines.send(r#"{"id":1,"method":"slow.read"}"#);
    lines.until("budget_estimated");
    lines.hang_up();
    lines.send(r#"{"id":2,"method":"time.now"}"#);
    assert!(lines.wait().is_some(), "it was no crash");
    let recorded = env.recorded();
    let ended = |tool: &str| {
        let mut rows = recorded.iter().filter(|row| row["kind"] == "ending");
        rows.find(|row| row["tool"] == tool)
            .cloned()
            .unwrap_or_default()
    };
    assert_eq!(
        ended("slow.read")["error_code"],
        "tool.gate.invoke.cancelled"
    );
    assert_eq!(ended("time.now")["kind"], "ending");
    env.whole();
}

#[test]
fn a_request_to_end_is_followed_although_input_stays_open() {
    let env = TestEnv::new();
    let mut lines = Lines::start(&env, &[]);
    lines.ask(STATS);
    signal(&lines, Signal::TERM);
    assert_eq!(lines.wait(), Some(0));
}

#[test]
fn more_requests_than_may_wait_are_all_answered() {
    let env = TestEnv::with_config("[limits]\nqueued_calls = 2\nconcurrent_calls = 1\n");
    let lines = (0..12).map(|id| format!("{{\"id\":{id},\"method\":\"time.now\"}}\n"));
    let events = events(&env, &lines.collect::<String>());
    let answers = events.iter().filter(|event| event["event"] == "response");
    let answers: Vec<&Value> = answers.map(|event| &event["payload"]["status"]).collect();
    assert_eq!(answers, ["ok"; 12]);
}

#[test]
fn killed_in_the_middle_of_a_write_the_next_command_ends_it_as_interrupted() {
    let env = TestEnv::with_config(SLOW);
    let token = env.approver();
    let mut lines = Lines::start(&env, &[]);
    let write = r#"{"id":1,"method":"slow.write","params":{"n":1}}"#;
    let id = approval_id(&lines.ask(write));
    env.run(&["approve", &id, "--token", &token]).exits(0);
    lines.send(write);
    lines.until("budget_estimated");
    env.wait_for_intent();
    signal(&lines, Signal::KILL);
    assert_eq!(lines.wait(), None);

    let looked = env.run(&["doctor", "--json"]).exits(0);
    assert!(looked.out.contains("dead process"), "{}", looked.out);
    let next = env.call("time.now", "{}", &[]).exits(0);
    assert!(
        next.err.contains("1 call(s) of a process that died"),
        "{}",
        next.err
    );
    let recorded = env.recorded();
    let interrupted = recorded
        .iter()
        .filter(|row| row["error_code"] == "tool.gate.record.interrupted");
    assert_eq!(interrupted.count(), 1);
    env.whole();
    let again = env.call("time.now", "{}", &[]).exits(0);
    assert_eq!(again.err, "");
}

#[test]
fn state_is_private_to_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    events(&env, STATS);
    for name in ["approval.key", "audit-signing.key"] {
        let mode = fs::metadata(env.state_dir().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }
    let folder = fs::metadata(env.state_dir()).unwrap().permissions().mode();
    assert_eq!(folder & 0o077, 0, "{folder:o}");
}
