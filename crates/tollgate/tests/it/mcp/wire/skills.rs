//! How careful a skill is, by its own manifest and for every caller: `risk_policy` as a named
//! level and as rules.

use serde_json::{Value, json};

use super::peer::{Ask, Gate};
use crate::support::{TestEnv, approval_id, envelope};

const GREET: &str = "id: greet\nversion: 1.0.0\nname: Greet\nsteps:\n  - {id: hello, tool: shelf.greet, args: {to: '{{ inputs.to }}'}}\n";
const NOTE: &str = "id: note\nversion: 1.0.0\nname: Note\nsteps:\n  - {id: look, tool: sandbox.collect_outputs}\n  - {id: put, tool: sandbox.write_files, args: {files: [{path: a.txt, content: hi}]}}\n";

/// A user with a skill of this care over these runs.
fn office(tools: &str, runs: &str, risk: &str) -> TestEnv {
    let env = TestEnv::with_config("[providers.stub]\ntools = [\"shelf.greet\"]\n");
    env.write("config/tollgate/templates/greet.yaml", GREET);
    env.write("config/tollgate/templates/note.yaml", NOTE);
    careful(&env, tools, runs, risk);
    env
}

fn careful(env: &TestEnv, tools: &str, runs: &str, risk: &str) {
    let manifest = format!(
        "skill_name: desk\ndescription: A desk.\nrequired_tools: [{tools}]\n\
         allowed_run_types: [{runs}]\nrisk_policy: {risk}\n"
    );
    env.write("config/tollgate/skills/desk.yaml", manifest);
    env.write(
        "config/tollgate/skills/desk/SKILL.md",
        "---\nname: desk\n---\n",
    );
}

fn bearer(env: &TestEnv, trust: &str) -> String {
    let made = env.run(&["token", "create", "--quiet", "--trust", trust]);
    made.exits(0).out.trim().to_owned()
}

fn greet(gate: &Gate, token: &str, to: &str) -> Value {
    let run = json!({"templateId": "greet", "inputs": {"to": to}, "options": {"mode": "sync"}});
    let ask = Ask::call("run_task_template", run).bearing(token);
    envelope(&gate.result(&ask))
}

/// A run that a rule ended at this step, and what is said of it.
#[track_caller]
fn denied(envelope: &Value, step: &str, words: &str) {
    let error = &envelope["error"];
    assert_eq!(error["errorCode"], "STEP_EXECUTION_FAILED", "{envelope:#}");
    assert_eq!(error["details"]["failedStep"], step, "{envelope:#}");
    assert_eq!(error["details"]["code"], "tool.gate.policy.denied");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(words), "{message}");
}

#[test]
fn a_local_skill_refuses_callers_from_elsewhere() {
    let env = office("shelf.greet", "greet", "local");
    let gate = Gate::open(&env);
    let (near, far) = (bearer(&env, "local"), bearer(&env, "remote"));
    denied(&greet(&gate, &far, "ann"), "hello", "skill.desk.local");
    let ran = greet(&gate, &near, "ann");
    assert_eq!(ran["data"]["status"], "succeeded", "{ran:#}");
    // It speaks for the runs of the skill; the tool by itself is everybody's.
    let alone = Ask::call("shelf.greet", json!({})).bearing(&far);
    assert_eq!(gate.result(&alone)["isError"], false);
    let rows = env.recorded();
    let refused = rows.iter().filter(|row| row["rule"] == "skill.desk.local");
    assert_eq!(refused.count(), 1);
}

#[test]
fn a_skill_that_only_reads_refuses_the_step_that_writes() {
    let tools = "sandbox.write_files, sandbox.collect_outputs";
    let env = office(tools, "note", "read_only");
    let token = env.approver();
    let ran = |code: i32| {
        let args = r#"{"templateId":"note","options":{"mode":"sync"}}"#;
        let asked = env.call("run_task_template", args, &["--yes"]).exits(3);
        let id = approval_id(&asked.json());
        env.run(&["approve", &id, "--token", &token]).exits(0);
        env.call("run_task_template", args, &[]).exits(code).json()
    };
    denied(&ran(1), "put", "skill.desk.read_only");
    let left = env.ok("sandbox.collect_outputs", "{}");
    assert_eq!(left["data"]["files"], json!([]), "nothing was written");
    careful(&env, tools, "note", "standard");
    let run = ran(0);
    assert_eq!(run["data"]["status"], "succeeded", "{run:#}");
}

#[test]
fn rules_of_a_skill_hold_for_its_runs_and_see_their_arguments() {
    let rule = "'@id(\"desk.names\") @reason(\"Nobody greets Mallory.\") forbid (principal, action == Action::\"call\", resource == Tool::\"shelf.greet\") when { context has skill && context.skill == \"desk\" && context.arguments has to && context.arguments.to == \"mallory\" };'";
    let env = office("shelf.greet", "greet", rule);
    env.run(&["skills", "lint"]).exits(0);
    let gate = Gate::open(&env);
    let token = bearer(&env, "local");
    denied(&greet(&gate, &token, "mallory"), "hello", "desk.names");
    let ran = greet(&gate, &token, "ann");
    assert_eq!(ran["data"]["status"], "succeeded", "{ran:#}");
    let alone = Ask::call("shelf.greet", json!({"to": "mallory"})).bearing(&token);
    assert_eq!(gate.result(&alone)["isError"], false, "no run, no skill");
}
