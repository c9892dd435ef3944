//! Servers that begin and never become ready.

use std::{path::Path, thread, time::Duration};

use serde_json::json;

use super::{Session, text, with_script};
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
