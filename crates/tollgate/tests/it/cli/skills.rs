//! Skills: on, off, changed while a process runs, and checked.

use std::{fs, thread, time::Duration};

use serde_json::{Value, json};

use crate::support::{Lines, TestEnv, envelope};

const MANIFEST: &str = "skill_name: greeting\ndescription: Greets people.\n\
                        required_tools: [shelf.greet]\nallowed_run_types: [greet]\n";
const GUIDE: &str = "---\nname: greeting\n---\n\n# Greeting\n\nSay hello first.\n";
const STUBS: &str = "[providers.stub]\ntools = [\"shelf.greet\", \"shelf.other\"]\n";

fn env() -> TestEnv {
    let env = TestEnv::with_config(STUBS);
    env.write("config/tollgate/skills/greeting.yaml", MANIFEST);
    env.write("config/tollgate/skills/greeting/SKILL.md", GUIDE);
    env
}

#[track_caller]
fn listed(env: &TestEnv, name: &str) -> Value {
    let all = env.run(&["skills", "list", "--json"]).exits(0).json();
    let all = all["skills"].as_array().unwrap().clone();
    all.into_iter()
        .find(|skill| skill["skill_name"] == name)
        .unwrap()
}

#[test]
fn shipped_skills_say_whether_and_why_not() {
    let env = TestEnv::new();
    for (name, enabled, reason) in [
        ("edit_docs", false, "there is no tool `docs.propose_edit`"),
        (
            "guided_consultation",
            false,
            "there is no tool `initiate_session`",
        ),
        ("keepa_research", true, ""),
        ("research_report", true, ""),
        ("run_code_snippet", true, ""),
    ] {
        let skill = listed(&env, name);
        assert_eq!(skill["enabled"], enabled, "{skill}");
        let told = skill["reason"].as_str().unwrap_or_default();
        assert!(told.starts_with(reason), "{told}");
    }
    env.configure("[web]\nenabled = false\n");
    let skill = listed(&env, "research_report");
    let told = skill["reason"].as_str().unwrap_or_default();
    assert!(told.starts_with("there is no tool `web.search`"), "{told}");
    let folder = env.path("docs");
    fs::create_dir(&folder).unwrap();
    env.configure(&format!(
        "[docs.roots]\nhandbook = {:?}\n",
        folder.display()
    ));
    assert_eq!(listed(&env, "edit_docs")["enabled"], true);
    let shown = env.run(&["skills", "show", "edit_docs"]).exits(0).out;
    assert!(shown.contains("# Editing documents") && shown.contains("docs.apply_edit"));
    let lint = env.run(&["skills", "lint", "--json"]).exits(0).json();
    assert_eq!(lint["errors"], json!([]), "{lint}");
    let told = lint["warnings"].to_string();
    assert!(!told.contains("there is no template"), "{lint}");
}

#[test]
fn a_disabled_skill_hides_what_only_it_allows_until_a_human_turns_it_on() {
    let env = env();
    env.ok("shelf.greet", "{}");
    let off = env
        .run(&["skills", "disable", "greeting", "--json"])
        .exits(0)
        .json();
    assert_eq!(off["reason"], "turned off by the operator");
    let refused = env.call("shelf.greet", "{}", &[]).exits(2);
    assert!(refused.out.contains("unknown_tool"), "{refused:?}");
    let tools = env.run(&["tools", "list", "--json"]).exits(0).out;
    assert!(!tools.contains("shelf.greet") && tools.contains("shelf.other"));
    env.ok("shelf.other", "{}");

    // Nobody is there to agree.
    env.run(&["skills", "enable", "greeting"]).exits(2);
    env.call("shelf.greet", "{}", &[]).exits(2);
    let token = env.approver();
    let on = env.run(&["skills", "enable", "greeting", "--token", &token, "--json"]);
    assert_eq!(on.exits(0).json()["enabled"], true);
    env.ok("shelf.greet", "{}");
    let kinds: Vec<Value> = env.recorded();
    let turned: Vec<&Value> = kinds.iter().filter(|row| row["kind"] == "skill").collect();
    assert_eq!(turned.len(), 2);
    env.run(&["skills", "disable", "nothing"]).exits(2);
    env.whole();
}

#[test]
fn what_another_skill_allows_too_is_not_hidden() {
    let env = env();
    let other = MANIFEST
        .replace("greeting", "farewell")
        .replace("[greet]", "[leave]");
    env.write("config/tollgate/skills/farewell.yaml", other);
    env.run(&["skills", "disable", "greeting"]).exits(0);
    env.ok("shelf.greet", "{}");
    env.run(&["skills", "disable", "farewell"]).exits(0);
    env.call("shelf.greet", "{}", &[]).exits(2);
}

#[test]
fn manifests_that_cannot_be_used_are_off_and_told_with_their_line() {
    let env = env();
    env.write(
        "config/tollgate/skills/greeting.yaml",
        format!("{MANIFEST}colour: red\n"),
    );
    let skill = listed(&env, "greeting");
    assert_eq!(skill["enabled"], false);
    assert!(
        skill["reason"]
            .as_str()
            .unwrap()
            .contains("greeting.yaml:5:1"),
        "{skill}"
    );
    let lint = env.run(&["skills", "lint"]).exits(1);
    assert!(lint.out.contains("greeting.yaml:5:1"), "{lint:?}");
    let doctor = env.run(&["doctor", "--json"]).out;
    assert!(doctor.contains("greeting is off"), "{doctor}");

    let permits = "risk_policy: '@id(\"mine\") permit (principal, action, resource);'\n";
    env.write(
        "config/tollgate/skills/greeting.yaml",
        format!("{MANIFEST}{permits}"),
    );
    let skill = listed(&env, "greeting");
    assert!(
        skill["reason"]
            .as_str()
            .unwrap()
            .contains("may only forbid"),
        "{skill}"
    );
    env.ok("shelf.other", "{}");

    env.write("data/tollgate/skills.json", "{");
    assert_eq!(listed(&env, "run_code_snippet")["enabled"], false);
}

#[test]
fn lint_warns_of_templates_that_are_not_there() {
    let env = env();
    let manifest = format!("{MANIFEST}templates: [run_code_snippet, gone_for_good]\n");
    env.write("config/tollgate/skills/greeting.yaml", manifest);
    let lint = env.run(&["skills", "lint", "--json"]).exits(0).json();
    let warnings = lint["warnings"].to_string();
    assert!(
        warnings.contains("there is no template `gone_for_good`"),
        "{lint}"
    );
    assert!(!warnings.contains("`run_code_snippet`"), "{lint}");
    let told = env.run(&["skills", "lint"]).exits(0).out;
    assert!(
        told.contains("warning: ") && told.contains("gone_for_good"),
        "{told}"
    );
}

#[test]
fn rules_of_a_skill_hold_while_it_is_on() {
    let env = env();
    let forbids = "risk_policy: '@id(\"no-other\") forbid (principal, action, resource == Tool::\"shelf.other\");'\n";
    env.write(
        "config/tollgate/skills/greeting.yaml",
        format!("{MANIFEST}{forbids}"),
    );
    let lint = env.run(&["skills", "lint"]).exits(0);
    assert!(lint.out.contains("context.skill"), "{lint:?}");
    env.call("shelf.other", "{}", &[]).exits(4);
    env.run(&["skills", "disable", "greeting"]).exits(0);
    env.ok("shelf.other", "{}");
}

#[test]
fn runs_of_a_skill_that_is_off_are_refused_when_they_are_made() {
    let env = TestEnv::new();
    env.run(&["skills", "disable", "run_code_snippet"]).exits(0);
    let run = json!({"templateId": "run_code_snippet", "inputs": {"language": "python", "code": "print(1)"}});
    let refused = env
        .call("run_task_template", &run.to_string(), &["--yes"])
        .exits(1)
        .json();
    assert_eq!(refused["error"]["kind"], "inactive_tool", "{refused}");
    assert_eq!(refused["error"]["details"]["skill"], "run_code_snippet");
    // Its files are not configured, so it says what is missing.
    let run = json!({"templateId": "edit_docs", "inputs": {"file": "a/b.md", "edits": [{"old": "a", "new": "b"}]}});
    let refused = env
        .call("run_task_template", &run.to_string(), &[])
        .exits(1)
        .json();
    let reason = refused["error"]["details"]["inactive_reason"].as_str();
    assert!(reason.unwrap().contains("docs.propose_edit"), "{refused}");
}

/// A client that speaks to a process that stays.
struct Client(Lines, u64);

impl Client {
    fn new(env: &TestEnv) -> Self {
        let mut client = Self(Lines::command(env, &["mcp", "--toolsets", "all"]), 0);
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        client.ask("initialize", &hello);
        client
            .0
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.1 += 1;
        let id = self.1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.0.send(&request.to_string());
        loop {
            let message = self.0.next().unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }

    /// Waits for the notification of a change.
    fn hears(&mut self, method: &str) {
        while self.0.next().unwrap()["method"] != method {}
    }

    fn prompts(&mut self) -> Vec<String> {
        let listed = self.ask("prompts/list", &json!({}));
        let prompts = listed["prompts"].as_array().unwrap();
        prompts
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect()
    }

    fn sees(&mut self, tool: &str) -> bool {
        let mut cursor = Value::Null;
        loop {
            let listed = self.ask("tools/list", &json!({"cursor": cursor}));
            let tools = listed["tools"].as_array().unwrap();
            if tools.iter().any(|it| it["_meta"]["tollgate/name"] == tool) {
                return true;
            }
            cursor = listed["nextCursor"].clone();
            if cursor.is_null() {
                return false;
            }
        }
    }
}

#[test]
fn skills_come_change_and_go_while_a_process_runs() {
    let env = TestEnv::with_config(STUBS);
    let mut client = Client::new(&env);
    assert!(!client.prompts().contains(&"skill_greeting".to_owned()));
    env.write("config/tollgate/skills/greeting/SKILL.md", GUIDE);
    env.write("config/tollgate/skills/greeting.yaml", MANIFEST);
    client.hears("notifications/prompts/list_changed");
    assert!(client.prompts().contains(&"skill_greeting".to_owned()));
    let prompt = client.ask(
        "prompts/get",
        &json!({"name": "skill_greeting", "arguments": {"task": "greet Ann"}}),
    );
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(
        text.contains("Say hello first.") && text.contains("greet Ann"),
        "{text}"
    );
    let read = client.ask(
        "resources/read",
        &json!({"uri": "skill://greeting/SKILL.md"}),
    );
    assert_eq!(read["contents"][0]["text"], GUIDE);
    assert!(client.sees("shelf.greet"));

    env.run(&["skills", "disable", "greeting"]).exits(0);
    client.hears("notifications/tools/list_changed");
    assert!(!client.sees("shelf.greet"));
    assert!(!client.prompts().contains(&"skill_greeting".to_owned()));

    // What was turned off stays off when its manifest is gone, until a human turns it on.
    fs::remove_file(env.path("config/tollgate/skills/greeting.yaml")).unwrap();
    assert_eq!(
        listed(&env, "greeting")["reason"],
        "turned off by the operator"
    );
    assert!(!client.sees("shelf.greet"));
    env.call("shelf.greet", "{}", &[]).exits(2);
    let token = env.approver();
    let on = env.run(&["skills", "enable", "greeting", "--token", &token, "--json"]);
    let reason = on.exits(0).json()["reason"].clone();
    assert!(
        reason.as_str().unwrap().contains("manifest is gone"),
        "{reason}"
    );
    client.hears("notifications/tools/list_changed");
    assert!(client.sees("shelf.greet"), "nothing names it any more");
}

#[test]
fn turning_off_holds_in_the_next_call_of_every_process() {
    let env = env();
    env.write("config/tollgate/templates/greet.yaml", GREET);
    let (mut one, mut other) = (Client::new(&env), Client::new(&env));
    for client in [&mut one, &mut other] {
        assert_eq!(client.refuses(), None);
        assert!(client.sees("shelf.greet"));
    }
    env.run(&["skills", "disable", "greeting"]).exits(0);
    for client in [&mut one, &mut other] {
        // No step of a run that is made now, no call and no list is a second behind.
        let reason = client.refuses();
        assert_eq!(reason.as_deref(), Some("turned off by the operator"));
        let greet = json!({"name": "shelf.greet", "arguments": {}});
        let refused = client.ask("tools/call", &greet).to_string();
        assert!(!refused.contains("\"isError\":false"), "{refused}");
        assert!(!client.sees("shelf.greet"));
    }
}

#[test]
fn what_was_turned_off_before_manifests_were_remembered_stays_off() {
    let env = env();
    env.write(
        "data/tollgate/skills.json",
        r#"{"disabled":["greeting","gone"]}"#,
    );
    assert_eq!(
        listed(&env, "greeting")["reason"],
        "turned off by the operator"
    );
    let gone = listed(&env, "gone");
    assert_eq!(gone["allowed_run_types"], json!(["gone"]), "{gone}");
    env.call("shelf.greet", "{}", &[]).exits(2);
}

#[test]
fn runs_that_no_skill_names_are_allowed_or_refused_by_a_setting_that_doctor_shows() {
    let env = env();
    env.write("config/tollgate/templates/greet.yaml", GREET);
    env.write(
        "config/tollgate/templates/other.yaml",
        GREET.replace("greet\n", "other\n"),
    );
    let run = |id: &str| {
        let run = json!({"templateId": id}).to_string();
        env.call("run_task_template", &run, &["--yes"])
    };
    let doctor = |env: &TestEnv| env.run(&["doctor", "--json"]).out;
    run("other").exits(0);
    let told = doctor(&env);
    assert!(
        told.contains("run types without a skill are allowed"),
        "{told}"
    );
    env.configure(&format!("{STUBS}\n[skills]\nother_runs = \"refuse\"\n"));
    run("greet").exits(0);
    let refused = run("other").exits(1).json();
    assert_eq!(refused["error"]["kind"], "inactive_tool", "{refused}");
    let reason = &refused["error"]["details"]["inactive_reason"];
    assert!(
        reason.as_str().unwrap().contains("skills.other_runs"),
        "{refused}"
    );
    let told = doctor(&env);
    assert!(
        told.contains("run types without a skill are refused"),
        "{told}"
    );
    assert!(told.contains("other"), "{told}");
}

const GREET: &str =
    "id: greet\nversion: 1.0.0\nname: Greet\nsteps:\n  - {id: greet, tool: shelf.greet}\n";

impl Client {
    /// Why a run of the skill is refused; nothing if it is made.
    fn refuses(&mut self) -> Option<String> {
        let run = json!({"name": "run_task_template", "arguments": {"templateId": "greet"}});
        let ran = envelope(&self.ask("tools/call", &run));
        if ran["ok"] == true {
            assert_eq!(ran["data"]["status"], "succeeded", "{ran:#}");
            return None;
        }
        let step = &ran["error"]["details"]["code"];
        if step == "tool.gate.resolve.unknown_tool" {
            // It was made before the change, and its step after it.
            return Some("its tool is hidden".to_owned());
        }
        assert_eq!(ran["error"]["kind"], "inactive_tool", "{ran:#}");
        assert_eq!(ran["error"]["details"]["skill"], "greeting", "{ran:#}");
        let reason = &ran["error"]["details"]["inactive_reason"];
        Some(reason.as_str().unwrap().to_owned())
    }

    /// Waits until a run is refused for a reason with these words, or made if there are none.
    fn until_refuses(&mut self, words: Option<&str>) {
        loop {
            let reason = self.refuses();
            let is_so = match (&reason, words) {
                (Some(reason), Some(words)) => reason.contains(words),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if is_so {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Puts a whole file in the place of another, so that nobody reads half of it.
fn replace(env: &TestEnv, text: &str) {
    let fresh = env.write("config/tollgate/skills/greeting.fresh", text);
    fs::rename(fresh, env.path("config/tollgate/skills/greeting.yaml")).unwrap();
}

#[test]
fn a_manifest_that_is_edited_under_a_running_process_holds_or_says_why_not() {
    let env = env();
    env.write("config/tollgate/templates/greet.yaml", GREET);
    let mut client = Client::new(&env);
    assert_eq!(client.refuses(), None);
    assert!(client.sees("shelf.greet"));
    // It wants a tool that is not there.
    let more = MANIFEST.replace("[shelf.greet]", "[shelf.greet, shelf.gone]");
    replace(&env, &more);
    client.until_refuses(Some("there is no tool `shelf.gone`"));
    assert!(!client.sees("shelf.greet"), "only it names the tool");
    replace(&env, MANIFEST);
    client.until_refuses(None);
    assert!(client.sees("shelf.greet"));
    // It cannot be read any more: what it allowed is refused, with the place of the fault.
    replace(&env, &format!("{MANIFEST}colour: red\n"));
    client.until_refuses(Some("greeting.yaml:5:1"));
    assert!(!client.sees("shelf.greet"));
    replace(&env, "skill_name: [greeting\n");
    client.until_refuses(Some("greeting.yaml:"));
    assert!(!client.sees("shelf.greet"));
    // Rules that permit turn it off; rules that forbid hold at once.
    let permits = "risk_policy: '@id(\"mine\") permit (principal, action, resource);'\n";
    replace(&env, &format!("{MANIFEST}{permits}"));
    client.until_refuses(Some("may only forbid"));
    let forbids = "risk_policy: '@id(\"no-other\") forbid (principal, action, resource == Tool::\"shelf.other\");'\n";
    replace(&env, &format!("{MANIFEST}{forbids}"));
    client.until_refuses(None);
    let other = json!({"name": "shelf.other", "arguments": {}});
    let denied = envelope(&client.ask("tools/call", &other));
    assert_eq!(denied["error"]["kind"], "policy_denied", "{denied:#}");
    assert_eq!(denied["error"]["details"]["rule"], "no-other");
    // Without it the tools and the runs are free again, and so is what it forbade.
    fs::remove_file(env.path("config/tollgate/skills/greeting.yaml")).unwrap();
    loop {
        let free = envelope(&client.ask("tools/call", &other));
        if free["ok"] == true {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(client.refuses(), None);
    assert!(client.sees("shelf.greet"));
}
