//! Servers that die, hang, shout or never begin.

use std::{fs, thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Session, section, text, with, with_one_start};
use crate::support::TestEnv;

fn pid(session: &mut Session) -> i32 {
    text(&session.call("mcp.s.pid", json!({}))).parse().unwrap()
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Whether a process runs; one that only waits to be buried does not.
fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !state.is_empty() && !state.starts_with(['Z', 'X'])
}

fn wait_for_end(pid: i32) {
    while runs(pid) {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Calls until the server answers again.
fn until_well(session: &mut Session) -> i32 {
    loop {
        let answer = session.call("mcp.s.pid", json!({}));
        if answer["isError"] != true {
            return text(&answer).parse().unwrap();
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn failure(answer: &Value) -> &Value {
    &answer["_meta"]["tollgate/result"]["error"]
}

#[test]
fn a_server_that_stops_reading_is_started_again() {
    let env = with("legacy", "timeout_ms = 120000");
    let mut session = Session::with_tool(&env, "mcp.s.wait");
    let first = pid(&mut session);
    let never = json!({"until": env.path("never").display().to_string()});
    let waits = json!({"name": "mcp.s.wait", "arguments": never, "_meta": {"progressToken": 1}});
    let waits = session.begin("tools/call", waits);
    session.until("notifications/progress");
    // More than a pipe holds.
    let long = json!({"name": "mcp.s.echo", "arguments": {"x": "x".repeat(1 << 18)}});
    let mut calls = vec![waits, session.begin("tools/call", long)];
    while !calls.is_empty() {
        let answer = session.line();
        let Some(at) = calls.iter().position(|id| answer["id"] == *id) else {
            continue;
        };
        calls.remove(at);
        let failed = failure(&answer["result"]);
        assert_eq!(failed["kind"], "connection_error", "{answer:#}");
        let message = failed["message"].as_str().unwrap();
        assert!(message.contains("does not read its input"), "{message}");
    }
    wait_for_end(first);
    assert_ne!(until_well(&mut session), first);
}

#[test]
fn a_server_that_closes_its_input_is_started_again() {
    let env = with("legacy", "timeout_ms = 120000");
    let mut session = Session::with_tool(&env, "mcp.s.wait");
    let first = pid(&mut session);
    assert_eq!(
        text(&session.call("mcp.s.wait", json!({"deaf": true}))),
        "deaf"
    );
    // What cannot be said to it is not waited for.
    let answer = session.call("mcp.s.echo", json!({}));
    assert_eq!(failure(&answer)["kind"], "connection_error", "{answer:#}");
    wait_for_end(first);
    assert_ne!(until_well(&mut session), first);
}

#[test]
fn a_server_that_is_slow_to_list_again_is_not_taken_for_hung() {
    let limits = "start_timeout_ms = 60000\ntimeout_ms = 400\nhealth_interval_ms = 100";
    let env = with("legacy ponders", limits);
    let mut session = Session::with_tool(&env, "mcp.s.change");
    let first = pid(&mut session);
    session.call("mcp.s.change", json!({}));
    session.until_listed("mcp.s.extra");
    assert_eq!(pid(&mut session), first);
}

#[test]
fn a_killed_server_is_started_again() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.pid");
        let first = pid(&mut session);
        let child = text(&session.call("mcp.s.children", json!({})));
        signal(first, Signal::KILL);
        let second = until_well(&mut session);
        assert_ne!(first, second, "{era}");
        // What it started ends with it.
        wait_for_end(child.parse().unwrap());
    }
}

#[test]
fn a_server_that_answers_nothing_more_is_replaced() {
    for era in ["modern", "legacy"] {
        let env = with(era, "health_interval_ms = 50\ntimeout_ms = 500");
        let mut session = Session::with_tool(&env, "mcp.s.hang");
        let first = pid(&mut session);
        assert_eq!(text(&session.call("mcp.s.hang", json!({}))), "hanging");
        // Nobody has to call it for that.
        wait_for_end(first);
        assert_ne!(until_well(&mut session), first, "{era}");
    }
}

#[test]
fn a_call_in_flight_fails_when_its_server_dies() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.crash");
    let answer = session.call("mcp.s.crash", json!({}));
    assert_eq!(failure(&answer)["kind"], "connection_error", "{answer:#}");
    assert_eq!(failure(&answer)["errorCode"], "ConnectionError");
    until_well(&mut session);
}

#[test]
fn a_stopped_server_is_noticed_and_replaced() {
    let env = with("legacy", "health_interval_ms = 50");
    let mut session = Session::with_tool(&env, "mcp.s.pid");
    let first = pid(&mut session);
    signal(first, Signal::STOP);
    wait_for_end(first);
    assert_ne!(until_well(&mut session), first);
}

#[test]
fn silence_ends_with_a_timeout_and_a_word_to_the_server() {
    for era in ["modern", "legacy"] {
        let env = with(era, "[mcp.servers.tools.silent]\ntimeout_ms = 300");
        let mut session = Session::with_tool(&env, "mcp.s.silent");
        let first = pid(&mut session);
        let answer = session.call("mcp.s.silent", json!({}));
        assert_eq!(failure(&answer)["kind"], "timeout", "{era}: {answer:#}");
        // A server that still answers otherwise is left alone, and it heard which call is over.
        let seen = text(&session.call("mcp.s.cancelled", json!({})));
        let seen: Value = serde_json::from_str(&seen).unwrap();
        assert_eq!(seen["silent"].as_array().unwrap().len(), 1, "{era}: {seen}");
        assert_eq!(seen["cancelled"], seen["silent"], "{era}");
        assert_eq!(pid(&mut session), first, "{era}");
    }
}

#[test]
fn garbage_double_answers_and_foreign_ids_harm_nobody() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.garbage");
    let first = pid(&mut session);
    assert_eq!(
        text(&session.call("mcp.s.garbage", json!({}))),
        "after garbage"
    );
    assert_eq!(text(&session.call("mcp.s.twice", json!({}))), "once");
    assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
    assert_eq!(pid(&mut session), first);
}

#[test]
fn a_thousand_lines_that_are_no_messages_are_borne_and_more_are_not() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.garbage");
    let first = pid(&mut session);
    for _ in 0..2 {
        // A message in between begins the count anew.
        let answer = session.call("mcp.s.garbage", json!({"lines": 1_000}));
        assert_eq!(text(&answer), "after garbage");
    }
    assert_eq!(pid(&mut session), first);
    let answer = session.call("mcp.s.garbage", json!({"lines": 1_001}));
    assert_eq!(failure(&answer)["kind"], "connection_error", "{answer:#}");
    let message = failure(&answer)["message"].as_str().unwrap();
    assert!(
        message.contains("it writes what is not the protocol"),
        "{message}"
    );
    assert_ne!(until_well(&mut session), first);
    wait_for_end(first);
}

#[test]
fn a_line_beyond_measure_costs_its_call_only() {
    let env = with("legacy", "message_bytes = 100000");
    let mut session = Session::with_tool(&env, "mcp.s.huge");
    let first = pid(&mut session);
    let answer = session.call("mcp.s.huge", json!({"bytes": 300_000}));
    assert_eq!(failure(&answer)["kind"], "output_too_large", "{answer:#}");
    assert_eq!(pid(&mut session), first);
    let answer = session.call("mcp.s.huge", json!({"bytes": 5_000_000}));
    assert_eq!(answer["isError"], true);
    assert_ne!(until_well(&mut session), first);
}

#[test]
fn a_server_that_talks_without_end_is_replaced() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.flood");
    let first = pid(&mut session);
    let answer = session.call("mcp.s.flood", json!({}));
    assert_eq!(failure(&answer)["kind"], "connection_error", "{answer:#}");
    assert_ne!(until_well(&mut session), first);
    wait_for_end(first);
}

#[test]
fn one_bad_server_takes_nothing_from_another() {
    let config = [
        section("s", "legacy noisy", "trust_annotations = true"),
        section("exits", "exits", ""),
        section("sleeps", "sleeps", ""),
        "[[mcp.servers]]\nname = \"missing\"\ncommand = \"/nowhere/at/all\"\n".to_owned(),
    ];
    let env = TestEnv::with_config(&config.concat());
    let mut session = Session::with_tool(&env, "mcp.s.echo");
    assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
}

#[test]
fn a_tool_of_a_server_that_never_came_says_why_it_is_not_there() {
    let config = [
        section("exits", "exits", ""),
        section("sleeps", "sleeps", ""),
    ];
    let env = TestEnv::with_config(&config.concat());
    let mut session = Session::start(&env);
    for (tool, why) in [
        ("mcp.exits.echo", "no such file: config"),
        ("mcp_exits_echo", "no such file: config"),
        ("mcp.sleeps.echo", "still starting"),
    ] {
        let failed = loop {
            let answer = session.call(tool, json!({}));
            let failed = failure(&answer).clone();
            // It takes a moment until it has failed.
            if failed["message"].as_str().unwrap_or_default().contains(why) {
                break failed;
            }
            thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(failed["kind"], "unavailable", "{failed:#}");
        assert!(failed["retry_after_seconds"].as_u64().unwrap() >= 1);
    }
    let unknown = session.ask("tools/call", json!({"name": "mcp.other.echo"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown:#}");
}

#[test]
fn a_slow_server_appears_when_it_is_there() {
    let env = TestEnv::new();
    let file = env.path("begin");
    let words = format!("legacy until={}", file.display());
    env.configure(&section("s", &words, "trust_annotations = true"));
    let mut session = Session::start(&env);
    assert!(session.tool("mcp.s.echo").is_none());
    fs::write(file, "").unwrap();
    session.until("notifications/tools/list_changed");
    assert!(session.tool("mcp.s.echo").is_some());
}

#[test]
fn a_server_that_is_down_stays_listed_with_the_reason() {
    let env = with_one_start();
    let mut session = Session::with_tool(&env, "mcp.s.crash");
    session.call("mcp.s.crash", json!({}));
    let reason = loop {
        let listed = session.tool("mcp.s.crash").unwrap();
        if listed["_meta"]["tollgate/active"] == false {
            break listed["_meta"]["tollgate/inactive_reason"]
                .as_str()
                .unwrap()
                .to_owned();
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(!reason.is_empty());
    // After some failures the waits are long enough to be told.
    let refused = loop {
        let answer = session.call("mcp.s.echo", json!({}));
        let failed = failure(&answer).clone();
        if failed["message"]
            .as_str()
            .unwrap_or_default()
            .contains("worn out")
        {
            break failed;
        }
        thread::sleep(Duration::from_millis(20));
    };
    assert!(
        refused["retry_after_seconds"].as_u64().unwrap() >= 1,
        "{refused:#}"
    );
}

#[test]
fn nothing_survives_us_not_even_grandchildren() {
    for how in [Signal::KILL, Signal::TERM] {
        let env = with("legacy", "");
        let mut session = Session::with_tool(&env, "mcp.s.pid");
        let server = pid(&mut session);
        let grandchild = text(&session.call("mcp.s.children", json!({})));
        let grandchild: i32 = grandchild.parse().unwrap();
        assert!(runs(server) && runs(grandchild));
        signal(i32::try_from(session.child.id()).unwrap(), how);
        wait_for_end(server);
        wait_for_end(grandchild);
    }
}

/// A server, and a process of its making that left its session.
fn with_daemon(env: &TestEnv) -> (Session, i32) {
    let mut session = Session::with_tool(env, "mcp.s.pid");
    let daemon = session.call("mcp.s.children", json!({"detached": true}));
    let daemon = text(&daemon).parse().unwrap();
    assert!(runs(daemon));
    (session, daemon)
}

#[test]
fn who_left_the_session_ends_when_the_server_is_started_again() {
    let env = with("legacy", "");
    let (mut session, daemon) = with_daemon(&env);
    env.run(&["mcp", "restart", "s"]).exits(0);
    wait_for_end(daemon);
    until_well(&mut session);
}

#[test]
fn who_left_the_session_ends_when_the_server_dies() {
    let env = with("legacy", "");
    let (mut session, daemon) = with_daemon(&env);
    signal(pid(&mut session), Signal::KILL);
    wait_for_end(daemon);
}

#[test]
fn who_left_the_session_ends_with_the_gate_however_it_ends() {
    for how in [Signal::TERM, Signal::KILL] {
        let env = with("legacy", "");
        let (session, daemon) = with_daemon(&env);
        signal(i32::try_from(session.child.id()).unwrap(), how);
        wait_for_end(daemon);
    }
}

#[test]
fn a_killed_keeper_costs_its_server_only() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.pid");
    let first = pid(&mut session);
    let child = text(&session.call("mcp.s.children", json!({})));
    signal(parent(first), Signal::KILL);
    wait_for_end(first);
    wait_for_end(child.parse().unwrap());
    assert_ne!(until_well(&mut session), first);
}

fn parent(pid: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    rest.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_command_leaves_no_server_behind() {
    let env = with("legacy", "");
    let said = env.ok("mcp.s.pid", "{}");
    let server = said["data"]["content"][0]["text"].as_str().unwrap();
    wait_for_end(server.parse().unwrap());
}
