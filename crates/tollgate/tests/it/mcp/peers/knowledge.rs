//! Real clients walk a whole guided session, with a restart of the server in the middle.

use std::path::Path;

use serde_json::{Value, json};

use super::{Peers, Served, script};
use crate::support::TestEnv;

/// A user with both shipped bases.
fn env() -> TestEnv {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge");
    let folder = folder.canonicalize().unwrap();
    TestEnv::with_config(&format!(
        "[knowledge]\npaths = [\"{0}/home-network\", \"{0}/technology-investment\"]\n",
        folder.display()
    ))
}

/// Walks in two goes, each with a server of its own; gives what each answer says.
fn walk(go: impl Fn(&TestEnv, &[&str]) -> Value) -> Vec<Value> {
    let env = env();
    let first = go(&env, &["begin", "my internet is slow", "=250 Mbps", "yes"]);
    let id = first["session"].as_str().unwrap();
    let second = go(
        &env,
        &[id, "=about 240 Mbps", "coffee", "wifi", "=the attic", "=4"],
    );
    assert_eq!(second["session"], first["session"]);
    let [one, two] = [&first, &second].map(|half| half["answers"].as_array().unwrap());
    one.iter().chain(two).cloned().collect()
}

#[track_caller]
fn went(answers: &[Value]) {
    let steps: Vec<&str> = answers
        .iter()
        .filter_map(|answer| answer["path"].as_array()?.last()?.as_str())
        .collect();
    assert_eq!(
        steps,
        [
            "paid",
            "has_cable",
            "wired",
            "line_is_fine",
            "wifi_where",
            "wifi_walls",
            "wifi_repeater"
        ]
    );
    let fields: Vec<&String> = answers[0].as_object().unwrap().keys().take(5).collect();
    assert_eq!(
        fields,
        [
            "session_id",
            "response",
            "current_step",
            "options",
            "is_complete"
        ]
    );
    assert!(
        answers[3]["response"]
            .as_str()
            .unwrap()
            .starts_with("240 of 250 Mbps")
    );
    let refused = &answers[4];
    assert_eq!(
        refused["details"]["options"],
        json!(["wifi", "end", "back", "restart", "provide_more_info"])
    );
    let last = answers.last().unwrap();
    assert_eq!(
        (&last["is_complete"], &last["options"]),
        (&json!(true), &json!([]))
    );
}

fn through(env: &TestEnv, is_http: bool, client: impl Fn(&[&str]) -> Value) -> Value {
    if is_http {
        let served = Served::start(env);
        client(&[&served.url])
    } else {
        client(&[env!("CARGO_BIN_EXE_tollgate"), "mcp"])
    }
}

fn python(is_http: bool) {
    let peers = Peers::installed();
    let answers = walk(|env, words| {
        through(env, is_http, |server| {
            let all = [words, &["--"], server].concat();
            peers.python(env, &script("walk.py"), &all).exits(0).json()
        })
    });
    went(&answers);
}

fn typescript(is_http: bool) {
    let peers = Peers::installed();
    let answers = walk(|env, words| {
        through(env, is_http, |server| {
            let folder = peers.path("");
            let all = [&[folder.as_str()], words, &["--"], server].concat();
            peers.node(env, &script("walk.mjs"), &all).exits(0).json()
        })
    });
    went(&answers);
}

#[test]
fn python_walks_over_stdio() {
    python(false);
}

#[test]
fn python_walks_over_http() {
    python(true);
}

#[test]
fn typescript_walks_over_stdio() {
    typescript(false);
}

#[test]
fn typescript_walks_over_http() {
    typescript(true);
}
