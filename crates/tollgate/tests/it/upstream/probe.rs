//! Servers that take longer to begin than they are asked in the modern way alone.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde_json::json;

use super::{
    Session, logs, text,
    web::{Then, Web, modern, tool},
    with,
};
use crate::support::TestEnv;

/// So short that every server takes longer.
const PROBE: &str = "probe_timeout_ms = 10\n";

/// A server of these words answers a call at its first start, in this version.
fn begins(words: &str, version: &str) {
    let env = with(words, PROBE);
    env.ok("mcp.s.echo", "{}");
    began(&env, words, version);
}

/// It began in this version, and never in vain.
fn began(env: &TestEnv, what: &str, version: &str) {
    let logs = logs(env);
    assert!(
        logs.contains(&format!("it speaks {version}")),
        "{what}: {logs}"
    );
    assert!(!logs.contains("mcp.spawn.failed"), "{what}: {logs}");
}

#[test]
fn an_older_server_that_does_not_answer_the_modern_question_is_asked_in_its_own_way() {
    begins("legacy deaf", "2025-11-25");
}

#[test]
fn an_older_server_that_refuses_the_modern_question_late_is_not_asked_again() {
    begins("legacy late", "2025-11-25");
}

#[test]
fn an_older_server_that_leaves_at_the_modern_question_is_started_again_without_it() {
    for words in ["legacy leaves", "legacy leaves late"] {
        begins(words, "2025-11-25");
    }
}

#[test]
fn a_modern_server_that_refuses_the_older_way_first_is_waited_for() {
    begins("modern late", "2026-07-28");
}

#[test]
fn the_modern_answer_counts_if_both_are_there() {
    let env = with("modern late together", PROBE);
    let mut session = Session::with_tool(&env, "mcp.s.echo");
    // Which of them is seen first would be chance.
    for _ in 0..8 {
        env.run(&["mcp", "restart", "s"]).exits(0);
    }
    assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
    began(&env, "together", "2026-07-28");
}

/// What becomes of the older handshake at an address of 2026-07-28.
#[derive(Clone, Copy, Debug)]
enum Older {
    Refused,
    Unanswered,
}

#[test]
fn a_slow_address_is_spoken_to_in_the_modern_way_once_it_answered_so() {
    for older in [Older::Refused, Older::Unanswered] {
        let asked = AtomicBool::new(false);
        let web = Web::start(move |got| {
            match got.rpc() {
                "server/discover" => {
                    while !asked.load(Ordering::SeqCst) {
                        thread::sleep(Duration::from_millis(5));
                    }
                    // The other answer is there first.
                    thread::sleep(Duration::from_millis(200));
                }
                "initialize" => {
                    asked.store(true, Ordering::SeqCst);
                    if let Older::Unanswered = older {
                        return Then::Hang(String::new());
                    }
                }
                method if got.header("mcp-method") != Some(method) => {
                    let error = json!({"code": -32020, "message": "a header is missing"});
                    let id = &got.body["id"];
                    let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
                    return Then::json(400, &body);
                }
                _ => {}
            }
            modern(got, &json!([tool("good")]))
        });
        let env = TestEnv::with_config(&web.section(PROBE));
        env.ok("mcp.s.good", "{}");
        let call = web.of("tools/call").remove(0);
        assert_eq!(call.header("mcp-method"), Some("tools/call"), "{older:?}");
        assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
        began(&env, &format!("{older:?}"), "2026-07-28");
    }
}
