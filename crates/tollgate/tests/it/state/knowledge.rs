//! Guided sessions over restarts, crashes and several processes on one state folder.

use std::{
    fs::{self, File},
    path::PathBuf,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Lines, TestEnv};

fn tea(degrees: &str) -> String {
    format!(
        r#"{{"nodes": {{"root": {{"response": "Tea?", "options": [
            {{"id": "green", "description": "Green", "next_node": "green"}}]}},
          "green": {{"response": "{degrees} degrees", "options": [
            {{"id": "more", "description": "More", "next_node": "green"}}]}}}}}}"#
    )
}

fn env() -> TestEnv {
    let env = TestEnv::new();
    let path = env.write("project/tea.json", tea("Eighty"));
    env.configure(&format!("[knowledge]\npaths = [\"{path}\"]\n"));
    env
}

fn begin(lines: &mut Lines) -> Value {
    let begin = json!({"id": 1, "method": "initiate_session", "params": {"user_query": "hello"}});
    lines.ask(&begin.to_string())["data"].clone()
}

fn step(session: &Value, option: &str) -> String {
    let params = json!({"session_id": session["session_id"], "selected_option_id": option});
    json!({"id": 2, "method": "navigate_session", "params": params}).to_string()
}

/// The files of versions that are kept.
fn kept(env: &TestEnv) -> Vec<PathBuf> {
    let entries = fs::read_dir(env.state_dir().join("knowledge")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "kept"))
        .collect()
}

#[test]
fn killed_while_the_file_changes_a_session_goes_on_with_its_version() {
    let env = env();
    let mut lines = Lines::start(&env, &[]);
    let session = begin(&mut lines);
    assert_eq!(session["response"], "Tea?");
    // Nothing is said to it; it is gone from one moment to the next.
    lines.child.kill().unwrap();
    lines.wait();
    env.write("project/tea.json", tea("Ninety"));

    let mut lines = Lines::start(&env, &[]);
    let fresh = begin(&mut lines);
    assert_ne!(fresh["version"], session["version"]);
    let old = lines.ask(&step(&session, "green"));
    assert_eq!(old["data"]["response"], "Eighty degrees", "{old}");
    assert_eq!(old["data"]["version"], session["version"]);
    let new = lines.ask(&step(&fresh, "green"));
    assert_eq!(new["data"]["response"], "Ninety degrees", "{new}");
    lines.child.kill().unwrap();
    lines.wait();

    // Whoever takes the kept version away is told what to do, and nothing else breaks.
    assert_eq!(kept(&env).len(), 2);
    for path in kept(&env) {
        fs::remove_file(path).unwrap();
    }
    let mut lines = Lines::start(&env, &[]);
    let gone = lines.ask(&step(&session, "more"));
    assert_eq!(gone["status"], "error", "{gone}");
    let error = &gone["error"];
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("is no longer kept"), "{gone}");
    let advice = error["recovery_suggestion"].as_str().unwrap();
    assert!(advice.contains("`initiate_session`"), "{gone}");
    let same = lines.ask(&step(&fresh, "more"));
    assert_eq!(same["data"]["response"], "Ninety degrees", "{same}");
}

#[test]
fn one_short_call_after_the_other_keeps_the_version() {
    let env = env();
    let begun = env.ok("initiate_session", r#"{"user_query": "hello"}"#);
    env.write("project/tea.json", tea("Ninety"));
    let params = json!({"session_id": begun["data"]["session_id"], "selected_option_id": "green"});
    let old = env.ok("navigate_session", &params.to_string());
    assert_eq!(old["data"]["response"], "Eighty degrees", "{old}");
}

/// Whether a process waits for one of the locks of the state; unknown is no.
fn waits(process: u32) -> bool {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let process = process.to_string();
    let mut waiting = locks.lines().filter(|line| line.contains("->"));
    waiting.any(|line| line.split_whitespace().any(|word| word == process))
}

#[test]
fn of_two_processes_that_step_at_once_one_wins_and_the_other_is_told() {
    let env = env();
    let mut all = [Lines::start(&env, &[]), Lines::start(&env, &[])];
    for _ in 0..3 {
        let session = begin(&mut all[0]);
        // While nobody can write, both read the same place and want to leave it.
        let lock = File::open(env.state_dir().join("write.lock")).unwrap();
        lock.lock().unwrap();
        for lines in &mut all {
            lines.send(&step(&session, "green"));
        }
        // A writer is refused who has to wait too long, so nobody waits for this for long.
        for _ in 0..60 {
            if all.iter().all(|lines| waits(lines.child.id())) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        lock.unlock().unwrap();
        let answers = all.each_mut().map(|lines| {
            let response = lines.until("response");
            lines.until("done");
            response["payload"].clone()
        });
        let (won, lost): (Vec<&Value>, Vec<&Value>) =
            answers.iter().partition(|answer| answer["status"] == "ok");
        assert_eq!((won.len(), lost.len()), (1, 1), "{answers:?}");
        assert_eq!(won[0]["data"]["path"], json!(["root", "green"]));
        // One that was slow to read saw the place after the step, where there is no such option.
        let told = lost[0]["error"]["message"].as_str().unwrap();
        assert!(
            told.contains("came first") || told.contains("no option `green`"),
            "{told}"
        );
        let why = all[1].ask(&step(&session, "why"));
        assert_eq!(why["data"]["path"], json!(["root", "green"]), "{why}");
    }
}
