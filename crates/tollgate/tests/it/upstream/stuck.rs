//! Servers that begin and never become ready.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    Session, text,
    web::{Then, Web, modern, tool},
    with_script,
};
use crate::support::TestEnv;

fn wait_for(path: &Path) {
    while !path.exists() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_that_failed_counts_as_down_until_it_is_up_again() {
    let env = with_script(
        "mkdir \"$0.ran\" || { mkdir \"$0.again\"; exec sleep 1000; }\nexec python3 \"$@\"",
    );
    let mut session = Session::with_tool(&env, "mcp.s.crash");
    session.call("mcp.s.crash", json!({}));
    wait_for(&env.path("start.sh.again"));
    let listed = session.tool("mcp.s.echo").unwrap();
    assert_eq!(listed["_meta"]["tollgate/active"], false, "{listed:#}");
    let reason = &listed["_meta"]["tollgate/inactive_reason"];
    assert!(reason.as_str().unwrap().contains("exit code 3"), "{reason}");
    let answer = session.call("mcp.s.echo", json!({}));
    let failed = &answer["structuredContent"]["error"];
    assert_eq!(failed["kind"], "unavailable", "{failed:#}");
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("exit code 3"), "{message}");
    assert_eq!(failed["retry_after_seconds"], 1, "{failed:#}");
}

#[test]
fn a_server_that_is_stuck_while_it_starts_can_be_started_again() {
    let env = with_script("mkdir \"$0.ran\" && exec sleep 1000\nexec python3 \"$@\"");
    let mut session = Session::start(&env);
    wait_for(&env.path("start.sh.ran"));
    let ran = env.run(&["mcp", "restart", "s", "--json"]).exits(0).json();
    assert_eq!(ran["restarted"][0]["ready"], true, "{ran:#}");
    assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
    let logs = env.run(&["mcp", "logs", "s"]).exits(0).out;
    assert!(logs.contains("mcp.restarted"), "{logs}");
    // Nobody waited for its time to be over.
    assert!(!logs.contains("mcp.spawn.failed"), "{logs}");
}

#[test]
fn an_address_where_nothing_is_answered_any_more_is_noticed_and_comes_back() {
    let hangs = Arc::new(AtomicBool::new(false));
    let is_hung = Arc::clone(&hangs);
    let web = Web::start(move |got| {
        if is_hung.load(Ordering::SeqCst) {
            return Then::Hang(String::new());
        }
        modern(got, &json!([tool("good")]))
    });
    let limits = "timeout_ms = 1500\nstart_timeout_ms = 1000";
    let env = TestEnv::with_config(&web.section(limits));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    hangs.store(true, Ordering::SeqCst);
    let answer = session.call("mcp.s.good", json!({}));
    let failed = &answer["structuredContent"]["error"];
    assert_eq!(failed["kind"], "timeout", "{answer:#}");
    let is_active = |session: &mut Session| {
        let listed = session.tool("mcp.s.good").unwrap();
        listed["_meta"]["tollgate/active"] == true
    };
    while is_active(&mut session) {
        thread::sleep(Duration::from_millis(20));
    }
    // From now on nobody waits for it in vain.
    let since = Instant::now();
    let answer = session.call("mcp.s.good", json!({}));
    assert!(since.elapsed() < Duration::from_millis(1400), "{answer:#}");
    let failed = &answer["structuredContent"]["error"];
    assert_eq!(failed["kind"], "unavailable", "{answer:#}");
    assert!(failed["retry_after_seconds"].as_u64().unwrap() >= 1);
    let logs = env.run(&["mcp", "logs", "s"]).exits(0).out;
    assert!(logs.contains("it does not answer any more"), "{logs}");
    hangs.store(false, Ordering::SeqCst);
    while !is_active(&mut session) {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
}

#[test]
fn an_address_that_is_slow_with_one_call_is_left_alone() {
    let web = Web::start(move |got| match got.body["params"]["name"].as_str() {
        Some("slow") => Then::Hang(String::new()),
        _ => modern(got, &json!([tool("good"), tool("slow")])),
    });
    let env = TestEnv::with_config(&web.section("timeout_ms = 300"));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    let answer = session.call("mcp.s.slow", json!({}));
    let failed = &answer["structuredContent"]["error"];
    assert_eq!(failed["kind"], "timeout", "{answer:#}");
    while web.of("server/discover").len() < 2 {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    let logs = env.run(&["mcp", "logs", "s"]).exits(0).out;
    assert!(!logs.contains("mcp.ended"), "{logs}");
}

#[test]
fn a_program_that_is_not_there_is_told_with_its_own_code() {
    let env = TestEnv::with_config(
        "[[mcp.servers]]\nname = \"missing\"\ncommand = \"/nowhere/at/all\"\n",
    );
    let mut session = Session::start(&env);
    let failed = loop {
        let answer = session.call("mcp.missing.echo", json!({}));
        let failed = answer["structuredContent"]["error"].clone();
        if failed["kind"] == "spawn_failed" {
            break failed;
        }
        // It takes a moment until it has failed.
        assert_eq!(failed["kind"], "unavailable", "{failed:#}");
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(failed["errorCode"], "SpawnFailed", "{failed:#}");
    assert!(failed["retry_after_seconds"].as_u64().unwrap() >= 1);
}
