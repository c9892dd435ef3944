//! Task runs at a shell: one approval, one result, and what can be looked at afterwards.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::support::{Lines, TestEnv, approval_id, at_a_terminal, can_run};

fn snippet(code: &str, more: Value) -> String {
    let mut inputs = json!({"language": "python", "code": code});
    if let (Value::Object(inputs), Value::Object(more)) = (&mut inputs, more) {
        inputs.extend(more);
    }
    json!({"templateId": "run_code_snippet", "inputs": inputs}).to_string()
}

/// Starts a run that a human agrees to; gives its envelope.
#[track_caller]
fn agreed(env: &TestEnv, token: &str, arguments: &str) -> Value {
    let refused = env
        .call("run_task_template", arguments, &["--yes"])
        .exits(3)
        .json();
    let preview = &refused["error"]["details"]["preview"];
    assert_eq!(preview["capability"], "L2");
    assert_eq!(preview["plan"]["template"], "run_code_snippet");
    assert_eq!(preview["plan"]["steps"][1]["tool"], "sandbox.exec");
    let id = approval_id(&refused);
    env.run(&["approve", &id, "--token", token]).exits(0);
    env.call("run_task_template", arguments, &[]).json()
}

#[test]
fn a_snippet_runs_when_a_human_agrees_once() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let ran = agreed(&env, &token, &snippet("print(6*7)", json!({})));
    assert_eq!(ran["status"], "ok", "{ran}");
    let run = &ran["data"];
    assert_eq!(run["status"], "succeeded");
    assert_eq!(run["result"]["stdout"], "42\n");
    assert_eq!(run["result"]["tier"], "native");
    assert_eq!(run["artifacts"][0]["name"], "stdout");
    let session = run["sessionId"].as_str().unwrap();
    assert!(session.starts_with("rs-"), "it is no secret: {session}");
    // The approval was for one run.
    let again = snippet("print(6*7)", json!({}));
    env.call("run_task_template", &again, &[]).exits(3);
    let id = run["runId"].as_str().unwrap();
    let shown = env.run(&["runs", "show", id, "--json"]).exits(0).json();
    let states: Vec<&Value> = shown["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["state"])
        .collect();
    assert_eq!(states, ["succeeded", "succeeded", "skipped"], "{shown}");
    let listed = env.run(&["runs", "list", "--json"]).exits(0).json();
    assert_eq!(listed["runs"][0]["runId"], *id);
    for (template, count) in [("run_code_snippet", 1), ("edit_docs", 0)] {
        let listed = env.run(&["runs", "list", "--template", template, "--json"]);
        let listed = listed.exits(0).json();
        assert_eq!(listed["runs"].as_array().unwrap().len(), count, "{listed}");
    }
    let newest = env.run(&["runs", "watch", "--json"]).exits(0).json();
    assert_eq!(newest["runId"], *id, "{newest}");
    let watched = env.run(&["runs", "watch", id]).exits(0);
    let bar = format!("[{}] 3/3 succeeded", "#".repeat(30));
    assert!(watched.err.contains(&bar), "{watched:?}");
    let played = env.run(&["runs", "replay", id, "--json"]).exits(0).json();
    assert_eq!(played["steps"][0]["data"]["stdout"], "42\n", "{played}");
    env.whole();
}

#[test]
fn who_agrees_at_a_terminal_sees_template_version_and_steps() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let arguments = snippet("print(6*7)", json!({}));
    let refused = env.call("run_task_template", &arguments, &[]).exits(3);
    let id = approval_id(&refused.json());
    let seen = at_a_terminal(&env, &["approve", &id], str::to_owned);
    for line in [
        "template   run_code_snippet 1.1.0",
        "step       write_files: sandbox.write_files",
        "step       exec: sandbox.exec",
        "step       collect_outputs: sandbox.collect_outputs",
    ] {
        assert!(seen.shown.contains(line), "{line}: {}", seen.shown);
    }
    env.call("run_task_template", &arguments, &[]).exits(0);
}

#[test]
fn files_go_in_and_come_out_as_artifacts_and_a_failure_says_what_was_said() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let files = json!({"files": [{"path": "n.txt", "content": "5"}], "stdin": "x"});
    let code = "import sys\nopen('out.txt','w').write(open('n.txt').read()*3 + sys.stdin.read())";
    let ran = agreed(&env, &token, &snippet(code, files));
    let artifacts = ran["data"]["artifacts"].as_array().unwrap();
    let out = artifacts.iter().find(|it| it["name"] == "out.txt").unwrap();
    let args = json!({"artifactId": out["artifactId"]}).to_string();
    let piece = env.ok("get_artifact", &args);
    let bytes = STANDARD
        .decode(piece["data"]["data"].as_str().unwrap())
        .unwrap();
    assert_eq!(bytes, b"555x");
    // A large answer of a step is no file of the program, and a file that is too large is named.
    let code =
        "open('big.bin','wb').write(bytes(5_000_000))\nopen('mid.txt','w').write('x' * 300_000)";
    let large = agreed(&env, &token, &snippet(code, json!({})));
    let result = &large["data"]["result"];
    let names: Vec<&Value> = result["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["mid.txt"], "{result}");
    assert_eq!(result["files_left_out"], json!(["big.bin"]), "{result}");
    let failed = agreed(
        &env,
        &token,
        &snippet("import sys\nprint('said')\nsys.exit(3)", json!({})),
    );
    let error = &failed["error"];
    assert_eq!(error["errorCode"], "STEP_EXECUTION_FAILED", "{failed}");
    assert_eq!(error["details"]["failedStep"], "exec");
    assert_eq!(error["details"]["stepErrorCode"], "EXECUTION_ERROR");
    // The run that failed is answered as it is.
    let run = &failed["data"];
    assert_eq!(run["status"], "failed", "{failed}");
    assert_eq!(run["result"]["stdout"], "said\n");
    assert_eq!(run["result"]["exit_code"], 3);
    let own = &run["error"];
    assert_eq!(own["errorCode"], "STEP_EXECUTION_FAILED", "{failed}");
    // A failure can be played back, with all that it said.
    let id = error["details"]["runId"].as_str().unwrap();
    let played = env.run(&["runs", "replay", id, "--json"]).exits(0).json();
    let exec = &played["steps"][0];
    assert_eq!(exec["run_step"], "exec", "{played}");
    assert_eq!(exec["replayable"], true, "{played}");
    assert_eq!(exec["data"]["stdout"], "said\n", "{played}");
    assert_eq!(exec["data"]["exit_code"], 3, "{played}");
    // Limits of a run reach its sandbox.
    let limits = json!({"limits": {"output_bytes": 5}});
    let cut = agreed(&env, &token, &snippet("print('x' * 100)", limits));
    assert_eq!(cut["data"]["result"]["stdout"], "xxxxx", "{cut}");
    env.whole();
}

#[test]
fn an_async_run_is_done_before_the_command_leaves() {
    let env = stubbed();
    let args = json!({"templateId": "three", "options": {"mode": "async"}}).to_string();
    let ran = env.call("run_task_template", &args, &[]).exits(0);
    assert!(ran.err.contains("the run goes on"), "{ran:?}");
    let id = ran.json()["data"]["runId"].as_str().unwrap().to_owned();
    let shown = env.run(&["runs", "show", &id, "--json"]).exits(0).json();
    assert_eq!(shown["status"], "succeeded", "{shown}");
}

fn stubbed() -> TestEnv {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"a.one\", \"a.two\", \"a.three\"]\ndelay_ms = 20\n",
    );
    let text = "id: three\nversion: 1.0.0\nname: Three\nsteps:\n  - {id: one, tool: a.one}\n  - {id: two, tool: a.two}\n  - {id: three, tool: a.three}\n";
    env.write("config/tollgate/templates/three.yaml", text);
    env
}

#[test]
fn templates_are_listed_checked_shown_and_drawn() {
    let env = stubbed();
    let listed = env.run(&["templates", "list", "--json"]).exits(0).json();
    let ids: Vec<&Value> = listed["templates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["templateId"])
        .collect();
    let known = [
        "batch_extract_pages",
        "edit_docs",
        "login_keep_session",
        "multi_tab_compare",
        "paginated_extract",
        "research_report",
        "run_code_snippet",
        "search_extract",
        "three",
    ];
    assert_eq!(ids, known);
    env.run(&["templates", "lint"]).exits(0);
    let drawn = env.run(&["templates", "graph", "three"]).exits(0);
    assert!(drawn.out.contains("one --> two"), "{drawn:?}");
    let shown = env.run(&["templates", "show", "three"]).exits(0);
    assert!(shown.out.starts_with("id: three"));
    env.run(&["templates", "show", "nothing"]).exits(2);
    let bad = env.write("project/bad.yaml", "id: bad\nversion: 1\nname: B\nsteps:\n  - {id: a, tool: gone.tool}\n  - {id: b, after: [b], tool: a.one}\n");
    let said = env.run(&["templates", "lint", &bad]).exits(1);
    assert!(said.out.contains("bad.yaml:6:"), "{said:?}");
    let lame = env.write(
        "project/lame.yaml",
        "id: lame\nversion: 1.0.0\nname: L\nsteps:\n  - {id: a, tool: gone.tool}\n",
    );
    let said = env.run(&["templates", "lint", &lame]).exits(1);
    assert!(said.out.contains("gone.tool"), "{said:?}");
}

#[test]
fn no_step_makes_calls_of_its_own_however_it_is_spelled() {
    let env = TestEnv::new();
    for tool in ["run_task_template", "tools.call", "tools_call"] {
        let inner = "{name: run_task_template, arguments: {templateId: nested}}";
        let text = format!(
            "id: nested\nversion: 1.0.0\nname: N\nmaxTimeoutMs: 5000\nsteps:\n  - {{id: a, tool: {tool}, args: {inner}}}\n"
        );
        env.write("config/tollgate/templates/nested.yaml", text);
        let said = env.run(&["templates", "lint"]).exits(1);
        assert!(said.out.contains("makes calls of its own"), "{said:?}");
        let args = r#"{"templateId":"nested"}"#;
        let refused = env.call("run_task_template", args, &["--yes"]).exits(1);
        assert!(refused.out.contains("may not call others"), "{refused:?}");
        let listed = env.run(&["runs", "list", "--json"]).exits(0).json();
        assert_eq!(listed["runs"], json!([]), "{listed}");
    }
}

/// The workspaces of conversations that are not over.
fn workspaces(env: &TestEnv) -> usize {
    let Ok(entries) = std::fs::read_dir(env.path("data/tollgate/sandbox")) else {
        return 0;
    };
    let folders = entries.filter(|entry| entry.as_ref().unwrap().path().is_dir());
    folders.count()
}

#[test]
fn a_session_of_its_own_ends_with_the_run_and_one_that_was_named_stays() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let code = "open('kept.txt','w').write('5')";
    let ran = agreed(&env, &token, &snippet(code, json!({})));
    assert_eq!(ran["data"]["status"], "succeeded", "{ran}");
    assert_eq!(workspaces(&env), 0);
    let named = |code: &str| {
        let mut run: Value = serde_json::from_str(&snippet(code, json!({}))).unwrap();
        run["sessionId"] = json!("mine");
        run.to_string()
    };
    agreed(&env, &token, &named(code));
    assert_eq!(workspaces(&env), 1);
    let ran = agreed(&env, &token, &named("print(open('kept.txt').read())"));
    assert_eq!(ran["data"]["result"]["stdout"], "5\n", "{ran}");
    assert_eq!(ran["data"]["sessionId"], "mine");
}

#[test]
fn a_run_is_played_again_for_real_and_differences_are_shown_step_by_step() {
    let env = TestEnv::new();
    let text = "id: texts\nversion: 1.0.0\nname: Texts\nsteps:\n  - {id: same, tool: text.stats, args: {text: a b}}\n  - {id: differs, tool: audit.verify}\n";
    env.write("config/tollgate/templates/texts.yaml", text);
    let ran = env.ok("run_task_template", r#"{"templateId":"texts"}"#);
    let id = ran["data"]["runId"].as_str().unwrap();
    let played = env.run(&["runs", "replay", id, "--json"]).exits(0).json();
    assert_eq!(played["steps"].as_array().unwrap().len(), 2, "{played}");
    let live = env
        .run(&["runs", "replay", id, "--live", "--json"])
        .exits(1)
        .json();
    let steps = live["steps"].as_array().unwrap();
    assert_eq!(steps[0]["run_step"], "same", "{live}");
    assert_eq!(steps[0]["again"]["same"], true, "{live}");
    assert_eq!(steps[1]["run_step"], "differs");
    assert_eq!(steps[1]["again"]["same"], false, "{live}");
}

#[test]
fn cancelling_what_is_over_and_reading_past_the_end_say_so() {
    let env = stubbed();
    let ran = env.ok("run_task_template", r#"{"templateId":"three"}"#);
    let id = ran["data"]["runId"].as_str().unwrap();
    let late = env.run(&["runs", "cancel", id, "--json"]).exits(0).json();
    assert_eq!(late["data"]["cancelRequested"], false, "{late}");
    assert_eq!(late["data"]["currentStatus"], "succeeded");
    let none = env
        .run(&["runs", "cancel", "run_none", "--json"])
        .exits(1)
        .json();
    assert_eq!(none["error"]["errorCode"], "RUN_NOT_FOUND", "{none}");
    env.run(&["runs", "show", "run_none"]).exits(2);
    env.run(&["runs", "watch", "run_none"]).exits(2);
    env.run(&["runs", "replay", "run_none"]).exits(2);
}

#[test]
fn a_snippet_in_node_says_its_answer_in_plain_text() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let languages: &[&str] = match std::fs::exists("/usr/bin/node").unwrap_or(false) {
        true => &["python", "node"],
        false => {
            eprintln!("skipped for node: there is no /usr/bin/node");
            &["python"]
        }
    };
    for language in languages {
        let code = match *language {
            "node" => "console.log(6*7)",
            _ => "print(6*7)",
        };
        let arguments = snippet(code, json!({"language": language}));
        let refused = env.call("run_task_template", &arguments, &[]).exits(3);
        let id = approval_id(&refused.json());
        env.run(&["approve", &id, "--token", &token]).exits(0);
        let said = env
            .run(&["call", "run_task_template", "--args", &arguments])
            .exits(0);
        assert!(said.out.contains("42"), "{language}: {said:?}");
        assert!(said.out.contains("native"), "{language}: {said:?}");
    }
}

#[test]
fn a_snippet_that_is_made_again_has_a_workspace_of_its_own() {
    if !can_run() {
        return;
    }
    let env = TestEnv::new();
    let token = env.approver();
    let code = "print(open('n.txt').read()); open('left.txt', 'w').write('5')";
    let files = json!({"files": [{"path": "n.txt", "content": "6*7"}]});
    let ran = agreed(&env, &token, &snippet(code, files));
    assert_eq!(ran["data"]["result"]["stdout"], "6*7\n", "{ran}");
    let id = ran["data"]["runId"].as_str().unwrap();
    let replay = ["runs", "replay", id, "--live", "--json"];
    // Whoever agreed to the run did not agree to its steps being made again.
    let asked = env.run(&replay).exits(3).json();
    let steps = asked["steps"].as_array().unwrap();
    let questions = steps
        .iter()
        .filter_map(|step| step.pointer("/again/error/details/approval_id"));
    let questions: Vec<&str> = questions.map(|id| id.as_str().unwrap()).collect();
    assert_eq!(questions.len(), 2, "{asked}");
    for question in questions {
        env.run(&["approve", question, "--token", &token]).exits(0);
    }
    let made = env.run(&replay).json();
    let steps = made["steps"].as_array().unwrap();
    let states: Vec<(&Value, &Value)> = steps
        .iter()
        .map(|step| (&step["run_step"], &step["again"]["status"]))
        .collect();
    let ok = json!("ok");
    assert_eq!(states[0], (&json!("write_files"), &ok), "{made}");
    assert_eq!(states[1], (&json!("exec"), &ok), "{made}");
    // It read what was written again, and nothing is left of it anywhere.
    let difference = made["steps"][1]["again"]["difference"].to_string();
    assert!(!difference.contains("stdout"), "{made}");
    let own = env.ok("sandbox.collect_outputs", "{}");
    assert_eq!(own["data"]["files"], json!([]), "{own}");
}

#[test]
fn a_careful_skill_asks_before_its_runs_and_a_local_one_does_not() {
    let env = TestEnv::with_config("[providers.stub]\ntools = [\"shelf.greet\"]\n");
    let text =
        "id: greet\nversion: 1.0.0\nname: Greet\nsteps:\n  - {id: greet, tool: shelf.greet}\n";
    env.write("config/tollgate/templates/greet.yaml", text);
    env.write(
        "config/tollgate/skills/greeting/SKILL.md",
        "---\nname: greeting\n---\n",
    );
    for (level, exit) in [("careful", 3), ("local", 0), ("read_only", 0)] {
        let manifest = format!(
            "skill_name: greeting\ndescription: Greets.\nrequired_tools: [shelf.greet]\n\
             allowed_run_types: [greet]\nrisk_policy: {level}\n"
        );
        env.write("config/tollgate/skills/greeting.yaml", manifest);
        let ran = env.call("run_task_template", r#"{"templateId":"greet"}"#, &[]);
        assert_eq!(ran.code, exit, "{level}: {ran:?}");
    }
}

#[test]
fn lint_names_the_line_of_a_tool_that_is_not_there_and_of_a_schema_that_is_none() {
    let env = TestEnv::new();
    let text = "id: bad\nversion: 1.0.0\nname: Bad\nsteps:\n  - id: a\n    tool: shelf.gone\n";
    env.write("config/tollgate/templates/bad.yaml", text);
    let lint = env.run(&["templates", "lint"]).exits(1);
    let line = "bad.yaml:6:5: step `a` calls `shelf.gone`, which is not offered here";
    assert!(lint.out.contains(line), "{lint:?}");
    let schema = format!("{text}outputsSchema: {{type: objekt}}\n");
    env.write("config/tollgate/templates/bad.yaml", schema);
    let lint = env.run(&["templates", "lint"]).exits(1);
    assert!(
        lint.out.contains("bad.yaml:7:1: `outputsSchema`"),
        "{lint:?}"
    );
}

#[test]
fn a_failed_run_that_is_made_again_shows_step_by_step_what_differs() {
    let env = TestEnv::new();
    let folder = env.path("docs");
    std::fs::create_dir(&folder).unwrap();
    env.configure(&format!(
        "[docs.roots]\nhandbook = {:?}\n",
        folder.display()
    ));
    let text = "id: edit\nversion: 1.0.0\nname: Edit\nsteps:\n  - {id: count, tool: text.stats, args: {text: a b}}\n  - {id: propose, tool: docs.propose_edit, args: {file: handbook/late.md, edits: [{old: First, new: 1st}]}}\n  - {id: never, tool: time.now}\n";
    env.write("config/tollgate/templates/edit.yaml", text);
    let failed = env.call("run_task_template", r#"{"templateId":"edit"}"#, &[]);
    let failed = failed.exits(1).json();
    let details = &failed["error"]["details"];
    assert_eq!(details["failedStep"], "propose", "{failed}");
    let id = details["runId"].as_str().unwrap();
    // Played back, it is the run as it was, with the reason at its step.
    let played = env.run(&["runs", "replay", id]).exits(0).out;
    let code = "failed: tool.provider.input.not_found";
    assert!(played.contains(code), "{played}");
    assert!(!played.contains("never"), "what never ran: {played}");
    let live = ["runs", "replay", id, "--live", "--json"];
    let again = env.run(&live).exits(0).json();
    let steps = again["steps"].as_array().unwrap();
    let same = |at: usize| steps[at]["again"]["same"] == true;
    assert!(same(0) && same(1), "it fails as before: {again}");
    // Now the file is there.
    env.write("docs/late.md", "First step.\n");
    let again = env.run(&live).exits(1).json();
    let steps = again["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2, "{again}");
    assert_eq!(steps[0]["again"]["same"], true, "{again}");
    assert_eq!(steps[1]["run_step"], "propose");
    let told = &steps[1]["again"];
    assert_eq!(
        (&told["same"], &told["status"]),
        (&json!(false), &json!("ok"))
    );
    assert_eq!(
        told["difference"][0],
        "- ended: error (tool.provider.input.not_found)"
    );
    assert_eq!(told["difference"][1], "+ ended: ok");
    assert!(
        told["difference"].to_string().contains("1st step."),
        "{told}"
    );
    let shown = env.run(&["runs", "replay", id, "--live"]).exits(1).out;
    let (one, other) = shown.split_once("propose").unwrap();
    assert!(one.contains("the same again"), "{shown}");
    assert!(other.contains("not the same"), "{shown}");
    assert!(other.contains("+ ended: ok"), "{shown}");
    // The run itself is what it was.
    let run = env.run(&["runs", "show", id, "--json"]).exits(0).json();
    assert_eq!(run["status"], "failed", "{run}");
    env.whole();
}

#[test]
fn as_many_runs_are_listed_as_the_tool_lists_and_more_are_told_of() {
    let env = TestEnv::new();
    let text = "id: count\nversion: 1.0.0\nname: Count\nsteps:\n  - {id: count, tool: text.stats, args: {text: a}}\n";
    env.write("config/tollgate/templates/count.yaml", text);
    let mut lines = Lines::start(&env, &[]);
    let ran = |lines: &mut Lines| {
        let asked =
            json!({"id": 1, "method": "run_task_template", "params": {"templateId": "count"}});
        let ran = lines.ask(&asked.to_string());
        assert_eq!(ran["data"]["status"], "succeeded", "{ran}");
    };
    let listed = |more: &[&str]| {
        let mut all = vec!["runs", "list"];
        all.extend(more);
        env.run(&all).exits(0)
    };
    for _ in 0..50 {
        ran(&mut lines);
    }
    let all = listed(&["--json"]).json();
    assert_eq!(all["runs"].as_array().unwrap().len(), 50);
    assert_eq!(all["hasMore"], false);
    assert_eq!(listed(&[]).err, "");
    ran(&mut lines);
    let some = listed(&["--json"]).json();
    assert_eq!(some["runs"].as_array().unwrap().len(), 50);
    assert_eq!(some["hasMore"], true);
    let told = listed(&[]);
    assert_eq!(told.out.lines().count(), 51, "a head and fifty: {told:?}");
    assert!(told.err.contains("--offset 50"), "{told:?}");
    let rest = listed(&["--offset", "50", "--json"]).json();
    assert_eq!(rest["runs"].as_array().unwrap().len(), 1);
    assert_eq!(rest["runs"][0], all["runs"][49]);
    assert_eq!(listed(&["-n", "51"]).err, "");
    let odd = env.run(&["runs", "list", "--status", "finished"]).exits(2);
    assert!(odd.err.contains("partial_success"), "{odd:?}");
}
