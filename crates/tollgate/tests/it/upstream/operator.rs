//! What an operator does from another shell: look at logs, start a server again.

use std::{fs, os::unix::fs::PermissionsExt};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Session, section, text, with, with_one_start};
use crate::support::{Lines, TestEnv};

fn lines(env: &TestEnv, server: &str) -> Vec<Value> {
    let ran = env.run(&["mcp", "logs", server, "--json"]).exits(0).json();
    ran["servers"][0]["lines"].as_array().unwrap().clone()
}

fn said(lines: &[Value], words: &str) -> bool {
    let has = |line: &Value| line["text"].as_str().unwrap().contains(words);
    lines.iter().any(has)
}

#[test]
fn what_a_server_said_can_be_read_while_another_process_runs_it() {
    let env = with("legacy", "");
    let empty = env.run(&["mcp", "logs"]).exits(0).out;
    assert!(empty.contains("never started"), "{empty}");
    let mut session = Session::with_tool(&env, "mcp.s.pid");
    let pid: u64 = text(&session.call("mcp.s.pid", json!({}))).parse().unwrap();
    let lines = loop {
        let lines = lines(&env, "s");
        if said(&lines, "fixture begins") {
            break lines;
        }
    };
    let own = lines.iter().find(|line| line["process"] == pid).unwrap();
    assert_eq!(own["text"], "fixture begins");
    let ready = lines.iter().find(|line| line["process"].is_null()).unwrap();
    assert!(ready["text"].as_str().unwrap().starts_with("mcp.ready: "));
    let folder = env.state_dir().join("mcp");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join("s.log"))), (0o700, 0o600));
}

#[test]
fn who_follows_hears_what_is_said_from_now_on() {
    let env = with("legacy", "");
    let mut follows = Lines::command(&env, &["mcp", "logs", "s", "--follow", "--json"]);
    let mut session = Session::with_tool(&env, "mcp.s.loud");
    let begins = follows.next().unwrap();
    assert_eq!(begins["server"], "s", "{begins:#}");
    session.call("mcp.s.loud", json!({"bytes": 1}));
    loop {
        let line = follows.next().unwrap();
        if line["text"] == "the last shout" {
            assert!(line["process"].is_u64(), "{line:#}");
            break;
        }
    }
    kill_process(Pid::from_child(&follows.child), Signal::TERM).unwrap();
    assert_eq!(follows.wait(), Some(0));
}

#[test]
fn last_words_survive_and_secrets_do_not() {
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let config = section(
        "dies",
        "exits",
        &format!("plain_env = {{ SAYS = \"{key}\" }}"),
    );
    let env = TestEnv::with_config(&config);
    env.run(&["mcp", "status"]).exits(1);
    let lines = lines(&env, "dies");
    assert!(said(&lines, "no such file: config"), "{lines:#?}");
    assert!(said(&lines, "mcp.spawn.failed: "), "{lines:#?}");
    assert!(said(&lines, "the key is "), "{lines:#?}");
    assert!(!said(&lines, &key), "{lines:#?}");
    let shown = env.run(&["mcp", "logs", "dies", "-n", "1"]).exits(0).out;
    assert_eq!(shown.lines().count(), 1);
}

#[test]
fn a_server_is_started_again_in_every_process_that_runs_it() {
    let env = with("legacy", "");
    let nobody = env.run(&["mcp", "restart", "s"]).exits(0).out;
    assert!(nobody.contains("no process runs `s`"), "{nobody}");
    let unknown = env.run(&["mcp", "restart", "other"]).exits(2).err;
    assert!(unknown.contains("there are s"), "{unknown}");
    let mut one = Session::with_tool(&env, "mcp.s.pid");
    let mut two = Session::with_tool(&env, "mcp.s.pid");
    let pid = |session: &mut Session| text(&session.call("mcp.s.pid", json!({})));
    let before = [pid(&mut one), pid(&mut two)];
    // Wanted restarts are no failures, however many there are.
    for _ in 0..7 {
        let ran = env.run(&["mcp", "restart", "s", "--json"]).exits(0).json();
        let restarted = ran["restarted"].as_array().unwrap();
        assert_eq!(restarted.len(), 2, "{ran:#}");
        assert!(restarted.iter().all(|one| one["ready"] == true), "{ran:#}");
    }
    let after = [pid(&mut one), pid(&mut two)];
    assert!(before.iter().all(|pid| !after.contains(pid)));
    drop(one);
    // A process that was killed leaves its socket behind, and nobody minds.
    let ran = env.run(&["mcp", "restart", "s", "--json"]).exits(0).json();
    assert_eq!(ran["restarted"].as_array().unwrap().len(), 1, "{ran:#}");
}

#[test]
fn a_server_that_does_not_come_back_is_told() {
    let env = with_one_start();
    let _session = Session::with_tool(&env, "mcp.s.pid");
    let ran = env.run(&["mcp", "restart", "s", "--json"]).exits(1).json();
    let reason = ran["restarted"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("worn out"), "{reason}");
}

#[test]
fn a_process_that_is_stopped_keeps_no_operator_waiting() {
    let env = with("legacy", "");
    let stopped = Session::with_tool(&env, "mcp.s.pid");
    let mut runs = Session::with_tool(&env, "mcp.s.pid");
    // What is known already is only started when it is wanted.
    assert_eq!(text(&runs.call("mcp.s.echo", json!({}))), "{}");
    kill_process(Pid::from_child(&stopped.child), Signal::STOP).unwrap();
    let ran = env.run(&["mcp", "restart", "s", "--json"]).exits(1).json();
    let restarted = ran["restarted"].as_array().unwrap();
    let of = |process: u32| {
        let found = restarted.iter().find(|one| one["process"] == process);
        found.unwrap_or_else(|| panic!("{ran:#}"))
    };
    let told = of(stopped.child.id());
    assert_eq!(told["ready"], false, "{ran:#}");
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.contains("does not answer"), "{reason}");
    // It costs nobody else the restart.
    assert_eq!(of(runs.child.id())["ready"], true, "{ran:#}");
    assert_eq!(text(&runs.call("mcp.s.echo", json!({}))), "{}");
}

#[test]
fn a_secret_in_a_command_or_an_address_is_not_listed() {
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let program = format!("command = \"serve\"\nargs = [\"--key\", \"{key}\"]");
    let address = format!("url = \"https://example.com/mcp/{key}\"");
    let env = TestEnv::with_config(&format!(
        "[[mcp.servers]]\nname = \"one\"\n{program}\n[[mcp.servers]]\nname = \"two\"\n{address}\n"
    ));
    for words in [&["mcp", "list"][..], &["mcp", "list", "--json"]] {
        let listed = env.run(words).exits(0).out;
        assert!(!listed.contains(&key), "{listed}");
        for shown in ["serve --key", "https://example.com/mcp"] {
            assert!(listed.contains(shown), "{listed}");
        }
    }
}
