//! A document is edited: shown, agreed to, made, taken back.

use std::{
    fs,
    os::unix::fs::{MetadataExt, chown},
};

use serde_json::{Value, json};

use crate::support::{Ran, TestEnv, approval_id, at_a_terminal};

const GUIDE: &str = "# Guide\n\nFirst step.\nSecond step.\n";

fn office() -> TestEnv {
    let env = TestEnv::new();
    env.write("docs/guide.md", GUIDE);
    let folder = env.path("docs");
    env.configure(&format!(
        "[docs.roots]\nhandbook = {:?}\n",
        folder.display()
    ));
    env
}

fn guide(env: &TestEnv) -> String {
    fs::read_to_string(env.path("docs/guide.md")).unwrap()
}

#[track_caller]
fn proposed(env: &TestEnv, old: &str, new: &str) -> String {
    let arguments = json!({"file": "handbook/guide.md", "edits": [{"old": old, "new": new}]});
    let answer = env.ok("docs.propose_edit", &arguments.to_string());
    let id = answer["data"]["proposal_id"].as_str().unwrap();
    json!({"proposal_id": id}).to_string()
}

#[test]
fn a_person_sees_the_diff_and_agrees_to_that_diff() {
    let env = office();
    let edit = proposed(&env, "First", "1st");
    let refused = env
        .call("docs.apply_edit", &edit, &["--yes"])
        .exits(3)
        .json();
    let preview = &refused["error"]["details"]["preview"];
    let effect = preview["effect"].as_str().unwrap();
    assert!(effect.contains("-First step.\n+1st step.\n"), "{effect}");
    assert_eq!(guide(&env), GUIDE);

    let id = approval_id(&refused);
    let seen = at_a_terminal(&env, &["approve", &id], str::to_owned);
    assert_eq!(seen.ran.code, 0, "{seen:?}");
    let shown = seen.shown.replace("\r\n", "\n");
    assert!(shown.contains("WHAT IT WOULD DO"), "{shown}");
    assert!(
        shown.contains("  | -First step.\n  | +1st step.\n"),
        "{shown}"
    );
    assert!(shown.contains("sha256"), "{shown}");
    // Another edit is another question.
    let other = proposed(&env, "Second", "2nd");
    env.call("docs.apply_edit", &other, &[]).exits(3);
    assert_eq!(env.ok("docs.apply_edit", &edit)["data"]["changed"], true);
    assert_eq!(guide(&env), GUIDE.replace("First", "1st"));

    let token = env.approver();
    let refused = env.call("docs.revert", &edit, &[]).exits(3).json();
    env.run(&["approve", &approval_id(&refused), "--token", &token])
        .exits(0);
    env.ok("docs.revert", &edit);
    assert_eq!(guide(&env), GUIDE);
    env.whole();
}

#[test]
fn a_disk_without_room_leaves_the_old_text_and_nothing_else() {
    let env = office();
    let token = env.approver();
    let edit = proposed(&env, "First", &"many words ".repeat(2000));
    let refused = env.call("docs.apply_edit", &edit, &[]).exits(3).json();
    env.run(&["approve", &approval_id(&refused), "--token", &token])
        .exits(0);
    // Only this one process sees the small disk, with the same document on it.
    let script = "cp \"$FOLDER/guide.md\" \"$COPY\" && mount -t tmpfs -o size=8k small \"$FOLDER\" || exit 77
        cp \"$COPY\" \"$FOLDER/guide.md\" && \"$@\"
        code=$?; echo -- >&2; ls -A \"$FOLDER\" >&2; echo -- >&2; cat \"$FOLDER/guide.md\" >&2; exit $code";
    let program = env!("CARGO_BIN_EXE_tollgate");
    let start = ["--map-root-user", "--mount", "sh", "-c", script, "sh"];
    let call = ["call", "docs.apply_edit", "--args", &edit, "--json"];
    let all: Vec<&str> = start.into_iter().chain([program]).chain(call).collect();
    let mut command = env.other("unshare", &all);
    let command = command.env("FOLDER", env.path("docs"));
    let ran = command.env("COPY", env.path("copy")).output();
    let Some(ran) = ran.ok().map(Ran::from).filter(|ran| ran.code != 77) else {
        eprintln!("skipped: nothing can be mounted here");
        return;
    };
    let failed = ran.exits(1);
    let error = &failed.json()["error"];
    assert_eq!(error["details"]["reason"], "disk_full", "{failed:?}");
    let left = format!("--\nguide.md\n--\n{GUIDE}");
    assert!(failed.err.ends_with(&left), "{failed:?}");
    assert_eq!(guide(&env), GUIDE);
    env.whole();
}

/// Without the capability `CAP_LEASE`, the kernel tells only the owner of a file whether a program
/// has it open for writing.
#[test]
fn an_edit_of_a_file_of_another_user_says_that_nobody_can_know_who_writes_it() {
    let env = office();
    let path = env.path("docs/guide.md");
    let own = fs::metadata(&path).unwrap().uid();
    if !cfg!(target_os = "linux") || chown(&path, Some(own + 1), None).is_err() {
        eprintln!("skipped: only root on Linux has files of two users");
        return;
    }
    let token = env.approver();
    let edit = proposed(&env, "First", "1st");
    let made = |tool: &str| {
        let refused = env.call(tool, &edit, &[]).exits(3).json();
        let id = approval_id(&refused);
        env.run(&["approvals", "approve", &id, "--token", &token])
            .exits(0);
        let program = env!("CARGO_BIN_EXE_tollgate");
        let words = ["--bounding-set=-lease", "--", program, "call", tool];
        let words = [&words[..], &["--args", &edit, "--json"]].concat();
        let ran = Ran::from(env.other("setpriv", &words).output().unwrap());
        let answer = ran.exits(0).json();
        assert_eq!(answer["data"]["changed"], true, "{answer:#}");
        answer["data"]["exclusive"].clone()
    };
    assert_eq!(made("docs.apply_edit"), false);
    assert_eq!(guide(&env), GUIDE.replace("First", "1st"));
    assert_eq!(fs::metadata(&path).unwrap().uid(), own + 1);
    chown(&path, Some(own), None).unwrap();
    assert_eq!(made("docs.revert"), true);
    assert_eq!(guide(&env), GUIDE);
}

#[test]
fn no_grant_covers_an_edit_nobody_has_seen() {
    let env = office();
    let token = env.approver();
    let edit = proposed(&env, "First", "1st");
    let refused = env.call("docs.apply_edit", &edit, &[]).exits(3).json();
    let id = approval_id(&refused);
    let granted = env.run(&["approve", &id, "--for-session", "--token", &token]);
    assert!(granted.exits(2).err.contains("call by call"));
    env.run(&["approve", &id, "--token", &token]).exits(0);
    env.ok("docs.apply_edit", &edit);
    assert_eq!(guide(&env), GUIDE.replace("First", "1st"));
}

#[test]
fn an_edit_of_another_version_asks_nobody() {
    let env = office();
    let edit = proposed(&env, "First", "1st");
    env.write("docs/guide.md", "# Another\n");
    let refused = env.call("docs.apply_edit", &edit, &[]).exits(1).json();
    assert_eq!(refused["error"]["details"]["reason"], "file_changed");
    assert_eq!(refused["error"]["next_steps"], json!(["docs.propose_edit"]));
    let waiting = env.run(&["approvals", "--json"]).exits(0).json();
    assert_eq!(waiting["approvals"], json!([]));
    let unknown = json!({"proposal_id": "pe-00"}).to_string();
    let refused = env.call("docs.apply_edit", &unknown, &[]).exits(1).json();
    assert_eq!(refused["error"]["kind"], "not_found");
}

#[test]
fn secrets_in_a_document_are_shown_to_nobody() {
    let env = office();
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    env.write("docs/guide.md", format!("{GUIDE}token {key}\nlast\n"));
    let arguments = json!({"file": "handbook/guide.md", "edits": [{"old": "last", "new": "end"}]});
    let answer = env
        .call("docs.propose_edit", &arguments.to_string(), &[])
        .exits(0);
    assert!(!answer.out.contains(&key));
    let data: Value = answer.json()["data"].clone();
    let edit = json!({"proposal_id": data["proposal_id"]}).to_string();
    let refused = env.call("docs.apply_edit", &edit, &[]).exits(3);
    assert!(!refused.out.contains(&key));
    let preview = refused.json()["error"]["details"]["preview"].clone();
    assert_eq!(preview["effect_cleaned"], true);
    let token = env.approver();
    env.run(&["approve", &approval_id(&refused.json()), "--token", &token])
        .exits(0);
    env.ok("docs.apply_edit", &edit);
    assert!(
        guide(&env).contains(&key),
        "the file itself keeps what it holds"
    );
}

#[test]
fn what_can_be_edited_can_be_read() {
    let env = office();
    let mut lines = crate::support::Lines::command(&env, &["mcp"]);
    lines.send(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#);
    lines.next();
    lines.send(r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"files://handbook/guide.md"}}"#);
    let read = loop {
        let message = lines.next().unwrap();
        if message["id"] == 2 {
            break message;
        }
    };
    assert_eq!(read["result"]["contents"][0]["text"], GUIDE);
}

fn edit_run() -> String {
    let edits = json!([{"old": "First", "new": "1st"}]);
    let inputs = json!({"file": "handbook/guide.md", "edits": edits});
    json!({"templateId": "edit_docs", "inputs": inputs}).to_string()
}

#[test]
fn the_template_shows_the_diff_and_waits_and_applies_it_after_the_consent() {
    let env = office();
    // Nobody has to be asked for the run itself; it answers at once and says what it waits for.
    let first = env.call("run_task_template", &edit_run(), &[]).exits(3);
    let run = &first.json()["data"];
    assert_eq!(run["status"], "running", "{run}");
    let waits = &run["waitingFor"][0];
    assert_eq!(waits["step"], "apply");
    assert_eq!(waits["tool"], "docs.apply_edit");
    let effect = waits["preview"]["effect"].as_str().unwrap();
    assert!(effect.contains("-First step.\n+1st step.\n"), "{effect}");
    let id = waits["approvalId"].as_str().unwrap();
    assert!(
        first
            .err
            .contains(&format!("tollgate approvals approve {id}")),
        "{first:?}"
    );
    assert_eq!(guide(&env), GUIDE);
    let run = run["runId"].as_str().unwrap();
    let shown = env.run(&["runs", "show", run]).exits(0);
    assert!(shown.out.contains(id), "{shown:?}");
    let seen = at_a_terminal(&env, &["approve", id], str::to_owned);
    assert_eq!(seen.ran.code, 0, "{seen:?}");
    assert!(
        seen.shown
            .contains(&format!("run        {run}, step apply")),
        "{seen:?}"
    );
    assert_eq!(guide(&env), GUIDE, "nobody drives it");
    let over = env.run(&["runs", "watch", run, "--json"]).exits(0).json();
    assert_eq!(over["status"], "succeeded", "{over}");
    assert_eq!(over["result"]["changed"], true, "{over}");
    assert_eq!(over["artifacts"][0]["name"], "change.diff");
    assert_eq!(guide(&env), GUIDE.replace("First", "1st"));
    env.whole();
}

#[test]
fn a_run_whose_diff_a_human_refuses_fails_and_writes_nothing() {
    let env = office();
    let token = env.approver();
    let first = env
        .call("run_task_template", &edit_run(), &[])
        .exits(3)
        .json();
    let id = first["data"]["waitingFor"][0]["approvalId"]
        .as_str()
        .unwrap();
    env.run(&["approve", id, "--deny", "--token", &token])
        .exits(0);
    let run = first["data"]["runId"].as_str().unwrap();
    let over = env.run(&["runs", "watch", run, "--json"]).exits(1).json();
    assert_eq!(over["error"]["details"]["failedStep"], "apply", "{over}");
    assert_eq!(over["error"]["details"]["code"], "tool.gate.policy.denied");
    assert_eq!(guide(&env), GUIDE);
    env.whole();
}
