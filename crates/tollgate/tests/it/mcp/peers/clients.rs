//! The official Python and TypeScript clients, in both eras and over both transports.
//!
//! Each script drives the same conversation and prints what it saw; all of them have to have
//! seen the same.

use serde_json::{Value, json};

use super::{Peers, Transport, reached, script};
use crate::support::{Ran, TestEnv};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

#[test]
fn python_finds_the_era_over_stdio() {
    python("auto", Transport::Stdio, MODERN);
}

#[test]
fn python_finds_the_era_over_http() {
    python("auto", Transport::Http, MODERN);
}

#[test]
fn python_shakes_hands_over_stdio() {
    python("legacy", Transport::Stdio, LEGACY);
}

#[test]
fn python_shakes_hands_over_http() {
    python("legacy", Transport::Http, LEGACY);
}

#[test]
fn python_insists_on_a_version_over_stdio() {
    python(MODERN, Transport::Stdio, MODERN);
}

#[test]
fn python_insists_on_a_version_over_http() {
    python(MODERN, Transport::Http, MODERN);
}

#[test]
fn typescript_finds_the_era_over_stdio() {
    typescript("auto", Transport::Stdio, MODERN);
}

#[test]
fn typescript_finds_the_era_over_http() {
    typescript("auto", Transport::Http, MODERN);
}

#[test]
fn typescript_shakes_hands_over_stdio() {
    typescript("default", Transport::Stdio, LEGACY);
}

#[test]
fn typescript_shakes_hands_over_http() {
    typescript("default", Transport::Http, LEGACY);
}

fn python(mode: &str, transport: Transport, version: &str) {
    let saw = converse(transport, |env, peers, server| {
        let mut words = vec![mode];
        words.extend(server);
        peers.python(env, &script("client.py"), &words)
    });
    let unknown_resource = if version == MODERN { -32602 } else { -32002 };
    // Whoever insists on a version asks nobody who they are.
    let server = if mode == version {
        Value::Null
    } else {
        json!("tollgate")
    };
    assert_eq!(saw, expected(version, &server, unknown_resource));
}

fn typescript(mode: &str, transport: Transport, version: &str) {
    let saw = converse(transport, |env, peers, server| {
        let folder = peers.path("");
        let mut words = vec![folder.as_str(), mode];
        words.extend(server);
        peers.node(env, &script("client.mjs"), &words)
    });
    // This client spells the older code in the newer way.
    assert_eq!(saw, expected(version, &json!("tollgate"), -32602));
}

/// What every client has to see.
fn expected(version: &str, server: &Value, unknown_resource: i64) -> Value {
    json!({
        "version": version,
        "server": server,
        "stats": {"characters": 5, "bytes": 5, "words": 1, "lines": 1},
        "wrong": [true, "tool.gate.input.invalid_arguments"],
        "unknown": [-32602, unknown_resource],
        "progress": [[0, 100], [50, 100], [100, 100]],
        "logged": ["Tool execution started", "Tool processing data", "Tool execution completed"],
        "asked": "Hello, Alice!",
        "image": "image/png",
        "read": {"id": "7", "templateTest": true, "data": "Data for ID: 7"},
        "prompt": "Prompt with arguments: arg1='one', arg2='two'",
        "told": ["resources/updated", "tools/list_changed"],
        "changed": true,
    })
}

/// Has the conversation; gives what can be compared of it.
fn converse(transport: Transport, client: impl FnOnce(&TestEnv, &Peers, &[&str]) -> Ran) -> Value {
    let (env, peers) = (TestEnv::new(), Peers::installed());
    let ran = reached(&env, transport, |server| client(&env, &peers, server)).exits(0);
    let saw = ran.json();
    holds(&saw["tools"], &["test_simple_text", "tools.search"]);
    holds(
        &saw["resources"],
        &["test://static-text", "tollgate://tools"],
    );
    holds(&saw["prompts"], &["start_task", "test_simple_prompt"]);
    assert_eq!(saw["stats_text"], saw["stats"]);
    json!({
        "version": saw["version"],
        "server": saw["server"],
        "stats": saw["stats"],
        "wrong": [saw["wrong"]["is_error"], saw["wrong"]["error"]["code"]],
        "unknown": [saw["unknown_tool"], saw["unknown_resource"]],
        "progress": saw["progress"],
        "logged": saw["logged"],
        "asked": saw["asked"],
        "image": saw["image"],
        "read": saw["read"],
        "prompt": saw["prompt"],
        "told": saw["told"],
        "changed": saw["changed"],
    })
}

/// Fails the test unless a list of names holds these.
#[track_caller]
fn holds(names: &Value, wanted: &[&str]) {
    let names = names.as_array().unwrap();
    for name in wanted {
        assert!(names.contains(&json!(name)), "no {name} in {names:?}");
    }
}
