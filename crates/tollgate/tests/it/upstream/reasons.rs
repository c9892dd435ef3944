//! Why a server is down is told in a few clean words, wherever it is told.

use std::fs;

use serde_json::{Value, json};

use super::{Session, section};
use crate::support::TestEnv;

/// The longest reason that anybody has to read.
const LONGEST: usize = 400;

fn key() -> String {
    ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

/// Last words with a key, a character that nobody sees, and more than anybody reads.
fn words(fault: &str) -> String {
    // Of what is said on standard error only the last 64 KiB are kept.
    let more = if fault == "dies" { 5_000 } else { 100_000 };
    let more = "refused ".repeat(more);
    format!("bad\u{200b} key {} was {more}", key())
}

/// A user whose server is well until a file says what it dies with, or refuses its list with.
fn with_fault(word: &str) -> (TestEnv, String) {
    let env = TestEnv::new();
    let path = env.path("fault").display().to_string();
    let more = "trust_annotations = true";
    env.configure(&section("s", &format!("legacy {word}={path}"), more));
    (env, path)
}

/// A text that tells the reason and nothing that was hidden in it.
fn is_clean(told: &str, place: &str) {
    let shown: String = told.chars().take(2_000).collect();
    assert!(told.contains("bad key "), "{place}: {shown}");
    lacks(told, place);
}

fn lacks(told: &str, place: &str) {
    let shown: String = told.chars().take(2_000).collect();
    assert!(!told.contains(&key()), "{place}: {shown}");
    assert!(!told.contains('\u{200b}'), "{place}: {shown}");
    assert!(!told.contains("\\u{200b}"), "{place}: {shown}");
    assert!(!told.contains(&"refused ".repeat(50)), "{place}: {shown}");
}

fn reason<'a>(told: &'a Value, place: &str) -> &'a str {
    let reason = told.as_str().unwrap_or_else(|| panic!("{place}: {told}"));
    is_clean(reason, place);
    let length = reason.chars().count();
    assert!(length <= LONGEST, "{place}: {length} characters");
    reason
}

#[test]
fn why_a_server_is_down_is_told_without_its_secrets_and_in_short() {
    for fault in ["dies", "refuses"] {
        let (env, path) = with_fault(fault);
        let mut session = Session::with_tool(&env, "mcp.s.echo");
        fs::write(&path, words(fault)).unwrap();
        let ran = env.run(&["mcp", "restart", "s", "--json"]).exits(1).json();
        reason(&ran["restarted"][0]["reason"], "restart --json");
        is_clean(&env.run(&["mcp", "restart", "s"]).exits(1).out, "restart");
        // What clients of the running gate see.
        let listed = loop {
            let listed = session.tool("mcp.s.echo").unwrap();
            if listed["_meta"]["tollgate/active"] == false {
                break listed;
            }
            session.until("notifications/tools/list_changed");
        };
        reason(&listed["_meta"]["tollgate/inactive_reason"], "tools/list");
        let whole = session.ask("tools/list", json!({})).to_string();
        lacks(&whole, "tools/list");
        for (tool, arguments) in [
            ("tools.search", json!({"query": "echo what it was given"})),
            ("tools.describe", json!({"name": "mcp.s.echo"})),
        ] {
            let answer = session.call(tool, arguments);
            assert_ne!(answer["isError"], true, "{answer:#}");
            lacks(&answer.to_string(), tool);
        }
        let failed = session.call("mcp.s.echo", json!({}));
        reason(
            &failed["_meta"]["tollgate/result"]["error"]["message"],
            "a call",
        );
        // What an operator sees from another shell.
        let ran = env.run(&["mcp", "status", "--json"]).exits(1).json();
        reason(&ran["servers"][0]["reason"], "status --json");
        is_clean(&env.run(&["mcp", "status"]).exits(1).out, "status");
        for words in [&["mcp", "list"][..], &["mcp", "list", "--json"]] {
            lacks(&env.run(words).exits(0).out, "list");
        }
        for words in [&["tools", "list"][..], &["doctor"]] {
            let ran = env.run(words);
            lacks(&ran.out, "another command");
            lacks(&ran.err, "another command");
        }
    }
}

#[test]
fn a_server_that_was_never_there_is_told_of_as_cleanly() {
    let (env, path) = with_fault("dies");
    fs::write(&path, words("dies")).unwrap();
    for words in [&["tools", "list"][..], &["doctor"], &["mcp", "status"]] {
        let ran = env.run(words);
        is_clean(&[ran.out, ran.err].concat(), &words.join(" "));
    }
    let failed = env.call("mcp.s.echo", "{}", &[]).exits(1).json();
    reason(&failed["error"]["message"], "a call");
}
