//! Runs and the death of processes: killed anywhere, a run still ends, and no step twice.

use std::{collections::BTreeMap, thread, time::Duration};

use serde_json::{Value, json};

use crate::support::{Lines, TestEnv};

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
    let args = json!({"templateId": "many", "options": {"mode": "async"}});
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
