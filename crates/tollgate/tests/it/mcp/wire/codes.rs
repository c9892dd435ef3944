//! Every error code that the document on runs fixes, each by a real call over the wire: its
//! hint is there, and so are its facts. The codes of pages come from a real Chromium.

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Held, Stdio, until};
use crate::{
    browser::{Site, browsers, kill, world},
    support::{TestEnv, database, envelope},
};

/// What a run can end with or be refused with, and the facts that go with it.
const OF_RUNS: [(&str, &[&str]); 9] = [
    ("TEMPLATE_NOT_FOUND", &["templates"]),
    ("TEMPLATE_VERSION_UNSUPPORTED", &["versions"]),
    (
        "TRUST_LEVEL_NOT_ALLOWED",
        &["trustLevel", "trustLevelSupport"],
    ),
    ("RUN_NOT_FOUND", &["runId"]),
    ("RUN_TIMEOUT", &["runId"]),
    ("RUN_CANCELED", &["runId"]),
    (
        "STEP_EXECUTION_FAILED",
        &["runId", "failedStep", "stepErrorCode"],
    ),
    ("ARTIFACT_NOT_FOUND", &["artifactId"]),
    ("ARTIFACT_EXPIRED", &["artifactId"]),
];

/// What a tool can fail with, and the facts that go with it.
const OF_TOOLS: [(&str, &[&str]); 6] = [
    ("SESSION_NOT_FOUND", &[]),
    ("ELEMENT_NOT_FOUND", &["candidates"]),
    ("NAVIGATION_TIMEOUT", &[]),
    ("INVALID_PARAMETER", &[]),
    ("EXECUTION_ERROR", &[]),
    ("PAGE_CRASHED", &[]),
];

/// Upstream tools that only read.
const READS: &str = "default_capability = \"L0\"\ntrust_annotations = true";
/// A tool that nobody waits for to the end.
const SLOW: &str = "[providers.stub]\ntools = [\"shelf.slow\"]\ndelay_ms = 60000\n";

const TEMPLATES: [(&str, &str); 5] = [
    (
        "plain",
        "steps:\n  - {id: count, tool: text.stats, args: {text: a b}, artifacts: [{name: words, content: '{{ data.words }}'}]}\n",
    ),
    (
        "near",
        "trustLevelSupport: [local]\nsteps:\n  - {id: count, tool: text.stats, args: {text: a}}\n",
    ),
    ("slow", "steps:\n  - {id: wait, tool: shelf.slow}\n"),
    (
        "held",
        "steps:\n  - {id: wait, tool: mcp.s.wait, args: {until: '{{ inputs.until }}'}}\n  - {id: then, tool: text.stats, args: {text: a}}\n",
    ),
    (
        "lost",
        "steps:\n  - {id: read, tool: browser.get_page_content, args: {sessionId: sess_none}}\n",
    ),
];

fn office(own: &str, config: &str) -> (TestEnv, Held) {
    let (env, held) = Held::with(own, config);
    for (id, rest) in TEMPLATES {
        let text = format!("id: {id}\nversion: 1.0.0\nname: {id}\n{rest}");
        env.write(&format!("config/tollgate/templates/{id}.yaml"), text);
    }
    (env, held)
}

/// What a call failed with.
#[track_caller]
fn failed(result: &Value) -> Value {
    let envelope = envelope(result);
    assert_eq!(envelope["ok"], false, "{envelope:#}");
    assert_eq!(result["isError"], true);
    envelope["error"].clone()
}

/// The parts that every error of the document has.
#[track_caller]
fn check(error: &Value, code: &str, facts: &[&str]) {
    assert_eq!(error["errorCode"], code, "{error:#}");
    let hint = error["recoverHint"].as_str().unwrap_or_default();
    assert!(!hint.trim().is_empty(), "{code} has no hint: {error:#}");
    let details = error["details"].as_object();
    let details = details.unwrap_or_else(|| panic!("{code} has no details: {error:#}"));
    for fact in facts {
        let fact = details.get(*fact).filter(|fact| !fact.is_null());
        assert!(fact.is_some(), "{code} lacks a fact: {error:#}");
    }
}

/// A call that started a run answers the run that a look-up gives, and both as text, too.
#[track_caller]
fn is_the_run(answer: &Value, looked_up: &Value) {
    let run = &answer["structuredContent"];
    assert!(run["runId"].is_string(), "{answer:#}");
    assert_eq!(*run, looked_up["structuredContent"]);
    for one in [answer, looked_up] {
        let text = one["content"][0]["text"].as_str().unwrap();
        let text: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text, *run, "{one:#}");
    }
}

/// One user at work, and what the calls of a test need.
struct Desk {
    env: TestEnv,
    held: Held,
    client: Stdio,
}

impl Desk {
    fn run(&mut self, template: &str, options: Value) -> Value {
        let args = json!({"templateId": template, "options": options});
        self.client.call("run_task_template", args)
    }

    /// Makes the call that ends with this code; gives its answer.
    fn provoked(&mut self, code: &str) -> Value {
        let sync = || json!({"mode": "sync"});
        match code {
            "TEMPLATE_NOT_FOUND" => self.run("none", sync()),
            "TEMPLATE_VERSION_UNSUPPORTED" => {
                let args = json!({"templateId": "plain", "templateVersion": "9.9.9"});
                self.client.call("run_task_template", args)
            }
            "TRUST_LEVEL_NOT_ALLOWED" => {
                let token = self.env.run(&["token", "create", "--quiet"]).exits(0).out;
                let gate = Gate::open(&self.env);
                let ask = Ask::call("run_task_template", json!({"templateId": "near"}));
                gate.result(&ask.bearing(token.trim()))
            }
            "RUN_NOT_FOUND" => {
                let args = json!({"runId": "run_none"});
                let canceled = self.client.call("cancel_task_run", args.clone());
                check(&failed(&canceled), code, &["runId"]);
                self.client.call("get_task_run", args)
            }
            "RUN_TIMEOUT" => self.run("slow", json!({"mode": "sync", "timeoutMs": 50})),
            "RUN_CANCELED" => self.canceled(),
            "STEP_EXECUTION_FAILED" => {
                let lost = self.run("lost", sync());
                let details = &lost["_meta"]["tollgate/result"]["error"]["details"];
                assert_eq!(details["failedStep"], "read", "{lost:#}");
                assert_eq!(details["stepErrorCode"], "SESSION_NOT_FOUND", "{lost:#}");
                lost
            }
            "ARTIFACT_NOT_FOUND" => {
                let args = json!({"artifactId": "art_none"});
                self.client.call("get_artifact", args)
            }
            "ARTIFACT_EXPIRED" => {
                let ran = self.run("plain", sync());
                let artifact = &ran["structuredContent"]["artifacts"][0];
                let args = json!({"artifactId": artifact["artifactId"]});
                let read = self.client.call("get_artifact", args.clone());
                assert_eq!(read["isError"], false, "{read:#}");
                let changed = database(&self.env).execute("UPDATE artifacts SET until = 1", ());
                assert_eq!(changed.unwrap(), 1);
                self.client.call("get_artifact", args)
            }
            other => panic!("nobody knows how to come to {other}"),
        }
    }

    /// What whoever waits for a run is told when somebody else calls it off.
    fn canceled(&mut self) -> Value {
        let mut waiting = Stdio::modern(&self.env, &[]);
        let inputs = self.held.call()["arguments"].clone();
        let args = json!({"templateId": "held", "inputs": inputs, "options": {"mode": "sync"}});
        let call = json!({"name": "run_task_template", "arguments": args});
        let id = waiting.begin("tools/call", call);
        let mut run = Value::Null;
        let of_held = json!({"templateId": "held", "status": "running"});
        until(|| {
            let listed = self.client.call("list_task_runs", of_held.clone());
            run = listed["structuredContent"]["runs"][0]["runId"].clone();
            run.is_string()
        });
        let told = self.client.call("cancel_task_run", json!({"runId": run}));
        let told = &told["structuredContent"];
        assert_eq!(told["cancelRequested"], true, "{told}");
        self.held.end();
        let answer = waiting.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }
}

#[test]
fn every_code_of_runs_has_a_hint_and_facts() {
    let (env, held) = office(READS, SLOW);
    let client = Stdio::modern(&env, &[]);
    let mut desk = Desk { env, held, client };
    let mut started = Vec::new();
    for (code, facts) in OF_RUNS {
        let answer = desk.provoked(code);
        let error = failed(&answer);
        check(&error, code, facts);
        // A run that is over says the same to whoever looks at it later.
        let Some(run) = error["details"]["runId"].as_str() else {
            continue;
        };
        let seen = desk.client.call("get_task_run", json!({"runId": run}));
        let kept = &seen["structuredContent"]["error"];
        if code != "RUN_NOT_FOUND" {
            check(kept, code, facts);
            let said = kept["error"].as_str().unwrap_or_default();
            assert!(!said.is_empty(), "{kept:#}");
            is_the_run(&answer, &seen);
            started.push(code);
        }
    }
    let ended = ["RUN_TIMEOUT", "RUN_CANCELED", "STEP_EXECUTION_FAILED"];
    assert_eq!(started, ended, "the runs that were started and failed");
    desk.env.whole();
}

#[test]
fn every_code_of_tools_has_a_hint_and_details() {
    let site = Site::start();
    let env = world(&site);
    let mut client = Stdio::modern(&env, &[]);
    let open = json!({"url": site.url("/shop")});
    let opened = client.call("browser.navigate", open);
    assert_eq!(opened["isError"], false, "{opened:#}");
    for (code, facts) in OF_TOOLS {
        let answer = match code {
            "SESSION_NOT_FOUND" => {
                let args = json!({"sessionId": "sess_none"});
                client.call("browser.get_page_content", args)
            }
            "ELEMENT_NOT_FOUND" => {
                client.call("browser.hover", json!({"element_id": "btn_Order_99999"}))
            }
            "NAVIGATION_TIMEOUT" => {
                let never =
                    json!({"condition": "selector", "selector": "#never", "milliseconds": 1});
                client.call("browser.wait", never)
            }
            "INVALID_PARAMETER" => client.call("browser.wait", json!({"condition": "selector"})),
            "EXECUTION_ERROR" => {
                client.call("browser.navigate", json!({"url": site.url("/broken")}))
            }
            "PAGE_CRASHED" => {
                let args = json!({"url": site.url("/held/1")});
                let call = json!({"name": "browser.navigate", "arguments": args});
                let id = client.begin("tools/call", call);
                // The page is on its way and never comes.
                site.wait_for("/held/", 1);
                for browser in browsers(client.child.id()) {
                    kill(&env, &browser);
                }
                let answer = client.next();
                assert_eq!(answer["id"], id, "{answer}");
                answer["result"].clone()
            }
            other => panic!("nobody knows how to come to {other}"),
        };
        check(&failed(&answer), code, facts);
    }
    env.whole();
}

#[test]
fn the_seven_tools_answer_with_the_shapes_of_the_document() {
    let (env, _held) = office(READS, SLOW);
    let mut client = Stdio::modern(&env, &[]);
    let mut asked = |tool: &str, args: Value| {
        let answer = client.call(tool, args);
        assert_eq!(answer["isError"], false, "{tool}: {answer:#}");
        answer["structuredContent"].clone()
    };
    let has = |data: &Value, names: &[&str]| {
        for name in names {
            assert!(!data[*name].is_null(), "{name} in {data:#}");
        }
    };
    let profile = asked("get_runtime_profile", json!({}));
    let limits = [
        "maxConcurrentRuns",
        "maxRunTimeoutMs",
        "maxArtifactInlineBytes",
    ];
    has(&profile, &["runtimeVersion"]);
    has(&profile["limits"], &limits);
    let templates = asked("list_task_templates", json!({}));
    let plain = templates["templates"].as_array().unwrap().iter();
    let plain = plain.clone().find(|it| it["templateId"] == "plain");
    let fields = [
        "version",
        "name",
        "trustLevelSupport",
        "limits",
        "inputsSchema",
        "outputsSchema",
    ];
    has(plain.unwrap(), &fields);
    let queued = json!({"templateId": "plain", "options": {"mode": "async"}});
    let queued = asked("run_task_template", queued);
    assert_eq!(queued["status"], "queued", "{queued}");
    assert!(queued["createdAt"].is_i64(), "{queued}");
    let waited = json!({"templateId": "plain", "options": {"mode": "sync"}});
    let waited = asked("run_task_template", waited);
    let ended = [
        "runId",
        "templateId",
        "status",
        "progress",
        "metrics",
        "result",
        "artifacts",
    ];
    has(&waited, &ended);
    has(&waited["progress"], &["totalSteps", "doneSteps"]);
    has(&waited["metrics"], &["elapsedMs"]);
    has(&waited["artifacts"][0], &["artifactId", "type", "size"]);
    let named = json!({"runId": waited["runId"]});
    // What is waited for and what is looked up are the same.
    assert_eq!(asked("get_task_run", named.clone()), waited);
    let listed = json!({"status": "succeeded", "templateId": "plain", "limit": 1, "offset": 0});
    let listed = asked("list_task_runs", listed);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
    let short = ["runId", "templateId", "status", "createdAt", "updatedAt"];
    has(&listed["runs"][0], &short);
    let late = asked("cancel_task_run", named);
    let over = json!({"cancelRequested": false, "currentStatus": "succeeded"});
    assert_eq!(late, over);
    let piece = json!({"artifactId": waited["artifacts"][0]["artifactId"]});
    let piece = asked("get_artifact", piece);
    assert_eq!(piece["data"], "Mg==", "{piece}");
    has(&piece, &["artifactId", "mimeType", "size"]);
    assert_eq!(piece["complete"], true, "{piece}");
}
