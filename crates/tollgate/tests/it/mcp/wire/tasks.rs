//! Calls that go on as tasks, for clients that say they understand them.

use serde_json::{Value, json};

use super::peer::{CAPABILITIES_KEY, Stdio, until};
use crate::support::TestEnv;

const TASKS: &str = "io.modelcontextprotocol/tasks";
const FIXTURES: [&str; 1] = ["--conformance-fixtures"];
const MANY: &str = "id: many\nversion: 1.0.0\nname: Many\nsync_if: 'false'\nsteps:\n  - {id: a, tool: s.a}\n  - {id: b, tool: s.b}\n  - {id: c, tool: s.c}\n";

/// Parameters of a client that understands tasks and can show a dialog.
fn saying(mut params: Value) -> Value {
    params["_meta"] = json!({
        CAPABILITIES_KEY: {"elicitation": {"form": {}}, "extensions": {TASKS: {}}},
    });
    params
}

fn call(tool: &str, arguments: Value) -> Value {
    saying(json!({"name": tool, "arguments": arguments}))
}

fn template() -> TestEnv {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"s.a\", \"s.b\", \"s.c\"]\ndelay_ms = 30\n",
    );
    env.write("config/tollgate/templates/many.yaml", MANY);
    env
}

/// Asks for a task until it says this.
fn reaches(client: &mut Stdio, id: &str, status: &str) -> Value {
    let mut seen = Value::Null;
    until(|| {
        seen = client.result("tasks/get", saying(json!({"taskId": id})));
        assert_eq!(seen["resultType"], "complete");
        seen["status"] == status
    });
    seen
}

#[track_caller]
fn task_id(created: &Value) -> String {
    assert_eq!(created["resultType"], "task", "{created}");
    assert!(created["ttlMs"].is_u64() && created["pollIntervalMs"].is_u64());
    created["taskId"].as_str().unwrap().to_owned()
}

#[test]
fn an_async_run_is_a_task_that_outlives_its_process() {
    let env = template();
    let mut first = Stdio::modern(&env, &[]);
    let run = json!({"templateId": "many"});
    let created = first.result("tools/call", call("run_task_template", run.clone()));
    let id = task_id(&created);
    assert_eq!(created["status"], "working");
    drop(first);
    let mut second = Stdio::modern(&env, &[]);
    let done = reaches(&mut second, &id, "completed");
    let data = &done["result"]["structuredContent"];
    assert_eq!(data["runId"], *id, "{done}");
    assert_eq!(data["status"], "succeeded");
    assert!(done["result"]["content"][0]["text"].is_string());
    // Who does not understand tasks gets the answer of the document.
    let plain = second.call("run_task_template", run);
    assert_eq!(plain["structuredContent"]["status"], "queued", "{plain}");
}

#[test]
fn tasks_are_for_those_who_understand_them_and_for_nobody_elses_eyes() {
    let env = template();
    let mut client = Stdio::modern(&env, &FIXTURES);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = client.error(method, json!({"taskId": "run_1", "inputResponses": {}}));
        assert_eq!(refused["code"], -32021);
        let needs = &refused["data"]["requiredCapabilities"]["extensions"];
        assert!(needs[TASKS].is_object(), "{refused}");
        let unknown = client.error(method, saying(json!({"taskId": "run_1"})));
        assert_eq!(unknown["code"], -32602);
        let odd = client.error(method, saying(json!({"taskId": 7})));
        assert_eq!(odd["code"], -32602);
    }
    // A tool that nobody can wait for is refused to those who would have to.
    let refused = client.error("tools/call", json!({"name": "failing_job"}));
    assert_eq!(refused["code"], -32021);
    let failed = client.result("tools/call", call("failing_job", json!({})));
    let failed = reaches(&mut client, &task_id(&failed), "completed");
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    let broken = client.result("tools/call", call("protocol_error_job", json!({})));
    let broken = reaches(&mut client, &task_id(&broken), "failed");
    assert_eq!(broken["error"]["code"], -32603, "{broken}");
    // What is wrong with the arguments is the answer of the task.
    let wrong = client.result("tools/call", call("slow_compute", json!({"seconds": "x"})));
    let wrong = reaches(&mut client, &task_id(&wrong), "completed");
    let error = &wrong["result"]["_meta"]["tollgate/result"]["error"];
    assert_eq!(error["kind"], "invalid_arguments", "{wrong}");
    // What is only asked about takes no time.
    let mut dry = call("slow_compute", json!({"seconds": 1}));
    dry["_meta"]["tollgate/call"] = json!({"dry_run": true});
    assert_eq!(client.result("tools/call", dry)["resultType"], "complete");
}

#[test]
fn a_task_that_is_called_off_ends_and_stays_so() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &FIXTURES);
    let slow = call("slow_compute", json!({"seconds": 600}));
    let id = task_id(&client.result("tools/call", slow));
    let named = saying(json!({"taskId": id}));
    for _ in 0..2 {
        let told = client.result("tasks/cancel", named.clone());
        assert_eq!(told["resultType"], "complete");
        assert!(told.get("taskId").is_none() && told.get("status").is_none());
        reaches(&mut client, &id, "cancelled");
    }
    let listed = env.run(&["runs", "list", "--json"]).exits(0).json();
    assert_eq!(listed["runs"][0]["status"], "canceled");
    env.whole();
}

#[test]
fn what_a_tool_asks_is_answered_one_by_one_and_once() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &FIXTURES);
    let id = task_id(&client.result("tools/call", call("multi_input", json!({}))));
    let waits = reaches(&mut client, &id, "input_required");
    let keys: Vec<String> = waits["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(keys.len(), 2, "{waits}");
    for (key, name) in keys.iter().zip(["Ann", "Bea"]) {
        let waits = client.result("tasks/get", saying(json!({"taskId": id})));
        assert_eq!(waits["status"], "input_required");
        assert_eq!(waits["inputRequests"][key]["method"], "elicitation/create");
        let answers = json!({
            key: {"action": "accept", "content": {"name": name}},
            "nobody asked": {"action": "accept", "content": {}},
        });
        let told = json!({"taskId": id, "inputResponses": answers});
        client.result("tasks/update", saying(told));
    }
    let done = reaches(&mut client, &id, "completed");
    assert_eq!(
        done["result"]["content"][0]["text"], "Ann and Bea",
        "{done}"
    );
}

const GUIDE: &str = "First step.\n";

fn office(more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("docs/guide.md", GUIDE);
    let folder = env.path("docs");
    env.configure(&format!(
        "{more}[docs.roots]\nhandbook = {:?}\n",
        folder.display()
    ));
    env
}

fn edit() -> Value {
    let edits = json!([{"old": "First", "new": "1st"}]);
    let inputs = json!({"file": "handbook/guide.md", "edits": edits});
    call(
        "run_task_template",
        json!({"templateId": "edit_docs", "inputs": inputs}),
    )
}

fn guide(env: &TestEnv) -> String {
    std::fs::read_to_string(env.path("docs/guide.md")).unwrap()
}

/// Makes a task that waits for a human; gives its id and the question.
fn waiting(client: &mut Stdio) -> (String, String) {
    let created = client.result("tools/call", edit());
    let id = task_id(&created);
    let waits = reaches(client, &id, "input_required");
    let asks = waits["inputRequests"].as_object().unwrap();
    let (key, ask) = asks.iter().next().unwrap();
    let message = ask["params"]["message"].as_str().unwrap();
    assert!(
        message.contains("| -First step.\n| +1st step."),
        "{message}"
    );
    assert!(
        waits["statusMessage"].as_str().unwrap().contains(key),
        "{waits}"
    );
    (id, key.clone())
}

fn yes(id: &str, key: &str) -> Value {
    let answer = json!({"action": "accept", "content": {"decision": "once"}});
    saying(json!({"taskId": id, "inputResponses": {key: answer}}))
}

#[test]
fn a_task_that_waits_for_a_human_says_so_and_goes_on_after_the_consent() {
    let env = office("");
    let token = env.approver();
    let mut client = Stdio::modern(&env, &[]);
    let (id, key) = waiting(&mut client);
    assert_eq!(guide(&env), GUIDE);
    env.run(&["approve", &key, "--token", &token]).exits(0);
    let done = reaches(&mut client, &id, "completed");
    let data = &done["result"]["structuredContent"];
    assert_eq!(data["result"]["changed"], true, "{done}");
    assert_eq!(guide(&env), GUIDE.replace("First", "1st"));
    env.whole();
}

#[test]
fn a_dialog_counts_as_a_human_only_where_the_operator_says_so() {
    let env = office("[consent]\ndialogs = \"none\"\n");
    let mut client = Stdio::modern(&env, &[]);
    let (id, key) = waiting(&mut client);
    client.result("tasks/update", yes(&id, &key));
    let still = client.result("tasks/get", saying(json!({"taskId": id})));
    assert_eq!(still["status"], "input_required", "{still}");
    assert_eq!(guide(&env), GUIDE);
    client.result("tasks/cancel", saying(json!({"taskId": id})));
    reaches(&mut client, &id, "cancelled");

    let env = office("[consent]\ndialogs = \"all\"\n");
    let mut client = Stdio::modern(&env, &[]);
    let (id, key) = waiting(&mut client);
    client.result("tasks/update", yes(&id, &key));
    reaches(&mut client, &id, "completed");
    assert_eq!(guide(&env), GUIDE.replace("First", "1st"));
}

/// Waits for a run, and gives how far it said it was, of how much if it knew, and what it came to.
fn followed(client: &mut Stdio, arguments: &Value) -> (Vec<(f64, Option<f64>)>, Value) {
    let params = json!({
        "name": "run_task_template",
        "arguments": arguments,
        "_meta": {"progressToken": "p-1"},
    });
    let id = client.begin("tools/call", params);
    let mut told = Vec::new();
    loop {
        let message = client.next();
        if message["id"] == id {
            let data = message["result"]["structuredContent"].clone();
            return (told, data);
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        let said = &message["params"];
        assert_eq!(said["progressToken"], "p-1");
        told.push((said["progress"].as_f64().unwrap(), said["total"].as_f64()));
    }
}

#[test]
fn a_run_that_is_waited_for_says_how_far_it_is() {
    let env = template();
    let mut client = Stdio::modern(&env, &[]);
    let arguments = json!({"templateId": "many", "options": {"mode": "sync"}});
    let (told, data) = followed(&mut client, &arguments);
    assert_eq!(data["status"], "succeeded", "{data}");
    assert!(!told.is_empty());
    assert!(told.is_sorted_by_key(|(done, _)| *done), "{told:?}");
}

#[test]
fn a_research_report_says_how_far_it_is() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let arguments = json!({
        "templateId": "research_report",
        "inputs": {"query": "which water temperature for green tea", "max_sources": 3},
        "options": {"mode": "sync"},
    });
    let (told, data) = followed(&mut client, &arguments);
    assert_eq!(data["status"], "succeeded", "{data}");
    assert!(told.is_sorted_by_key(|(done, _)| *done), "{told:?}");
    // The search, each source by itself, and the report.
    let total = data["progress"]["totalSteps"].as_f64();
    assert!(total >= Some(5.0), "{data}");
    assert_eq!(told.last(), Some(&(total.unwrap(), total)), "{told:?}");
}
