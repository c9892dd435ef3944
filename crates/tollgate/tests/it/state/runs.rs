//! Runs and the death of processes: killed anywhere, a run still ends, and no step twice.

use std::{collections::BTreeMap, fs, thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    support::{Lines, Ran, TestEnv},
    upstream,
};

const STEPS: usize = 6;

fn world(delay: u32) -> TestEnv {
    let names: Vec<String> = (0..STEPS).map(|at| format!("\"s.n{at}\"")).collect();
    let env = TestEnv::with_config(&format!(
        "[providers.stub]\ntools = [{}]\ndelay_ms = {delay}\n",
        names.join(", ")
    ));
    let steps: Vec<String> = (0..STEPS)
        .map(|at| format!("  - {{id: n{at}, tool: s.n{at}}}\n"))
        .collect();
    let text = format!(
        "id: many\nversion: 1.0.0\nname: Many\nsteps:\n{}",
        steps.concat()
    );
    env.write("config/tollgate/templates/many.yaml", text);
    env
}

fn start(lines: &mut Lines) -> String {
    start_of(lines, "many", json!({}))
}

fn start_of(lines: &mut Lines, template: &str, inputs: Value) -> String {
    let args = json!({"templateId": template, "inputs": inputs, "options": {"mode": "async"}});
    let asked = json!({"id": 1, "method": "run_task_template", "params": args});
    let answer = lines.ask(&asked.to_string());
    answer["data"]["runId"].as_str().unwrap().to_owned()
}

fn shown(env: &TestEnv, id: &str) -> Value {
    env.run(&["runs", "show", id, "--json"]).exits(0).json()
}

/// How often each step of a run ended well, by the record.
fn ended(env: &TestEnv, id: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for row in env.recorded() {
        if row["kind"] == "ending" && row["run"] == *id && row["status"] == "ok" {
            *counts
                .entry(row["run_step"].as_str().unwrap().to_owned())
                .or_default() += 1;
        }
    }
    counts
}

#[test]
fn a_run_that_is_killed_anywhere_ends_and_repeats_nothing_that_was_kept() {
    let env = world(15);
    for pause in [0, 5, 12, 25, 40, 60, 85] {
        let mut lines = Lines::start(&env, &[]);
        let id = start(&mut lines);
        // The place of the blow differs; what must hold does not depend on it.
        thread::sleep(Duration::from_millis(pause));
        lines.child.kill().unwrap();
        lines.wait();
        let before = shown(&env, &id);
        let run = env.run(&["runs", "watch", &id, "--json"]).exits(0).json();
        assert_eq!(run["status"], "succeeded", "{run}");
        assert_eq!(run["progress"]["doneSteps"], STEPS);
        let kept: Vec<&Value> = before["steps"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|step| step["state"] == "succeeded")
            .collect();
        let counts = ended(&env, &id);
        assert_eq!(counts.len(), STEPS, "{counts:?}");
        for step in kept {
            assert_eq!(counts[step["id"].as_str().unwrap()], 1, "{counts:?}");
        }
    }
    env.whole();
}

#[test]
fn two_processes_share_the_queue_and_no_step_runs_twice() {
    let env = world(5);
    let mut one = Lines::start(&env, &[]);
    let mut other = Lines::start(&env, &[]);
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(start(&mut one));
        ids.push(start(&mut other));
    }
    for id in &ids {
        let run = env.run(&["runs", "watch", id, "--json"]).exits(0).json();
        assert_eq!(run["status"], "succeeded", "{run}");
        let counts = ended(&env, id);
        assert_eq!(counts.len(), STEPS);
        assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    }
    for lines in [&mut one, &mut other] {
        lines.end();
        lines.wait();
    }
    env.whole();
}

const HELD: &str = "id: held\nversion: 1.0.0\nname: Held\nsteps:\n  - {id: wait, tool: mcp.s.wait, args: {until: '{{ inputs.until }}'}}\n  - {id: then, tool: text.stats, args: {text: a}}\n";

#[test]
fn another_process_calls_a_run_off_and_the_step_under_way_ends_first() {
    let env = upstream::with("legacy", "default_capability = \"L0\"");
    env.write("config/tollgate/templates/held.yaml", HELD);
    env.run(&["mcp", "status"]).exits(0);
    let file = env.path("let-it-end");
    let mut lines = Lines::start(&env, &[]);
    let id = start_of(
        &mut lines,
        "held",
        json!({"until": file.display().to_string()}),
    );
    while shown(&env, &id)["steps"][0]["state"] != "running" {
        thread::sleep(Duration::from_millis(20));
    }
    let told = env.run(&["runs", "cancel", &id, "--json"]).exits(0).json();
    let taken = json!({"cancelRequested": true, "currentStatus": "running"});
    assert_eq!(told["data"], taken, "{told}");
    // Nobody breaks off what is under way: it ends when it ends.
    let run = shown(&env, &id);
    assert_eq!(run["status"], "running", "{run}");
    assert_eq!(run["steps"][0]["state"], "running", "{run}");
    fs::write(&file, "").unwrap();
    let run = env.run(&["runs", "watch", &id, "--json"]).exits(1).json();
    assert_eq!(run["status"], "canceled", "{run}");
    assert_eq!(run["error"]["errorCode"], "RUN_CANCELED", "{run}");
    let states: Vec<&Value> = run["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["state"])
        .collect();
    assert_eq!(states, ["succeeded", "skipped"], "{run}");
    // It is over for good, for whoever asks.
    let late = env.run(&["runs", "cancel", &id, "--json"]).exits(0).json();
    let over = json!({"cancelRequested": false, "currentStatus": "canceled"});
    assert_eq!(late["data"], over, "{late}");
    let listed = env.run(&["runs", "list", "--status", "canceled", "--json"]);
    assert_eq!(listed.exits(0).json()["runs"][0]["runId"], *id);
    assert_eq!(ended(&env, &id), BTreeMap::from([("wait".to_owned(), 1)]));
    lines.end();
    lines.wait();
    env.whole();
}

const LEAVES: &str = "id: leaves\nversion: 1.0.0\nname: Leaves\nsteps:\n  - {id: count, tool: text.stats, args: {text: a}, artifacts: [{name: note, content: '{{ inputs.text }}'}]}\n  - {id: then, tool: text.stats, args: {text: b}}\n";

#[test]
fn a_disk_without_room_for_an_artifact_fails_its_step_and_nothing_else() {
    let env = TestEnv::new();
    let folder = env.path("small");
    fs::create_dir(&folder).unwrap();
    env.configure(&format!(
        "[runs]\nartifacts = {:?}\n",
        folder.display().to_string()
    ));
    env.write("config/tollgate/templates/leaves.yaml", LEAVES);
    let args = json!({"templateId": "leaves", "inputs": {"text": "x".repeat(100_000)}}).to_string();
    // Only this one process sees the small disk.
    let script = "mount -t tmpfs -o size=64k small \"$FOLDER\" || exit 77; exec \"$@\"";
    let program = env!("CARGO_BIN_EXE_tollgate");
    let start = ["--map-root-user", "--mount", "sh", "-c", script, "sh"];
    let call = ["call", "run_task_template", "--args", &args, "--json"];
    let all: Vec<&str> = start.into_iter().chain([program]).chain(call).collect();
    let mut command = env.other("unshare", &all);
    let ran = command.env("FOLDER", &folder).output().map(Ran::from);
    let Some(ran) = ran.ok().filter(|ran| ran.code != 77) else {
        eprintln!("skipped: nothing can be mounted here");
        return;
    };
    let failed = ran.exits(1).json();
    let error = &failed["error"];
    assert_eq!(error["errorCode"], "STEP_EXECUTION_FAILED", "{failed}");
    assert_eq!(error["details"]["failedStep"], "count", "{failed}");
    assert_eq!(error["details"]["code"], "tool.gate.store.unavailable");
    let run = shown(&env, error["details"]["runId"].as_str().unwrap());
    let steps = run["steps"].as_array().unwrap();
    let states: Vec<&Value> = steps.iter().map(|step| &step["state"]).collect();
    assert_eq!(states, ["failed", "skipped"], "{run}");
    assert!(run["artifacts"].is_null(), "{run}");
    // With room it is made.
    let ran = env.ok("run_task_template", &args);
    assert_eq!(ran["data"]["artifacts"][0]["size"], 100_000, "{ran}");
    env.whole();
}
