//! A call that a server says failed is a failed call, wherever somebody looks.

use serde_json::{Value, json};

use super::{Session, section, text, with};
use crate::support::{Ran, TestEnv};

const FAILED: &str = "tool.provider.run.failed";
const MESSAGE: &str = "the server `s` says: no luck";

/// `mcp.s.answers` with this as the server's whole result.
fn answers(env: &TestEnv, result: &Value) -> Ran {
    let arguments = json!({"result": result}).to_string();
    env.call("mcp.s.answers", &arguments, &[])
}

fn unified(status: &str, error: &Value) -> Value {
    json!({"status": status, "data": {"n": 1}, "warnings": ["used_cache", "blurred"], "error": error, "meta": {}})
}

#[test]
fn a_result_that_says_is_error_is_an_error_in_envelope_log_and_audit() {
    let env = with("legacy", "[log]\nfile = \"gate.log\"\n");
    let failed = env.call("mcp.s.fails", "{}", &[]).exits(1).json();
    assert_eq!(
        (&failed["ok"], &failed["status"]),
        (&json!(false), &json!("error"))
    );
    assert_eq!(failed["error"]["code"], FAILED, "{failed:#}");
    assert_eq!(failed["error"]["kind"], "tool_failed");
    assert_eq!(failed["error"]["message"], MESSAGE);
    // What the server sent is still there.
    assert_eq!(failed["data"]["content"][0]["text"], "no luck");
    let recorded = env.recorded();
    let ending = recorded.iter().find(|row| row["kind"] == "ending").unwrap();
    assert_eq!(ending["error_code"], FAILED, "{ending:#}");
    assert_eq!(ending["status"], "error");
    let log = std::fs::read_to_string(env.path("config/tollgate/gate.log")).unwrap();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let done = lines
        .into_iter()
        .find(|line| line["event"] == "agent_tool_done")
        .unwrap();
    assert_eq!(
        (&done["status"], &done["error_code"]),
        (&json!("error"), &json!(FAILED))
    );
}

#[test]
fn a_person_reads_on_standard_error_why_a_call_of_a_server_failed() {
    let env = with("legacy", "");
    let ran = env.run(&["call", "mcp.s.fails"]).exits(1);
    assert!(ran.err.contains(MESSAGE), "{}", ran.err);
    assert!(ran.err.contains(FAILED), "{}", ran.err);
}

#[test]
fn a_client_still_reads_the_content_of_the_server_that_failed() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.fails");
    let answer = session.call("mcp.s.fails", json!({}));
    assert_eq!(answer["isError"], true);
    assert_eq!(text(&answer), "no luck");
}

#[test]
fn a_client_that_is_sent_envelopes_reads_the_error_object_in_the_text() {
    let env = with("legacy", "results = \"envelope\"");
    let mut session = Session::with_tool(&env, "mcp.s.fails");
    let answer = session.call("mcp.s.fails", json!({}));
    assert_eq!(answer["isError"], true);
    let error: Value = serde_json::from_str(&text(&answer)).unwrap();
    assert_eq!(error["code"], FAILED, "{answer:#}");
    assert!(error["message"].as_str().unwrap().contains("no luck"));
    let data = &answer["structuredContent"]["data"];
    assert_eq!(data["content"][0]["text"], "no luck", "{answer:#}");
}

#[test]
fn a_call_of_a_server_that_fails_again_and_again_is_put_before_a_human() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.fails");
    for _ in 0..3 {
        session.call("mcp.s.fails", json!({}));
    }
    let listed = env.run(&["review", "list", "--json"]).exits(0).json();
    assert!(
        listed.to_string().contains("retries_exhausted"),
        "{listed:#}"
    );
}

#[test]
fn a_step_whose_server_says_that_it_failed_is_a_failed_step() {
    let env = with("legacy", "");
    let template =
        "id: tries\nversion: 1.0.0\nname: Tries\nsteps:\n  - {id: one, tool: mcp.s.fails}\n";
    env.write("config/tollgate/templates/tries.yaml", template);
    let arguments = json!({"templateId": "tries"}).to_string();
    env.call("run_task_template", &arguments, &["--yes"])
        .exits(1);
    let runs = env.run(&["runs", "list", "--json"]).exits(0).json();
    let run = &runs["runs"][0];
    assert_eq!(run["status"], "failed", "{runs:#}");
    let id = run["runId"].as_str().unwrap();
    let shown = env.run(&["runs", "show", id, "--json"]).exits(0).json();
    assert_eq!(shown["steps"][0]["state"], "failed", "{shown:#}");
    assert!(shown.to_string().contains("no luck"), "{shown:#}");
}

#[test]
fn a_unified_result_gives_the_envelope_its_status_warnings_and_error() {
    let env = with("legacy", "");
    for status in ["ok", "degraded", "empty"] {
        let told = unified(status, &Value::Null);
        let envelope = answers(&env, &json!({"content": [], "structuredContent": told}));
        let envelope = envelope.exits(0).json();
        assert_eq!(envelope["status"], status, "{envelope:#}");
        assert_eq!(
            envelope["warnings"],
            json!(["used_cache", "upstream_warning"])
        );
        assert_eq!(
            envelope["data"]["structuredContent"], told,
            "it stays as it was"
        );
    }
    let error = json!({
        "code": "tool.ocr.engine.busy", "message": "engine busy", "recovery_suggestion": "wait",
        "next_steps": ["echo", "nothing_there"], "can_retry": true, "retry_after_seconds": 15,
    });
    let told = unified("error", &error).to_string();
    let result = json!({"content": [{"type": "text", "text": told}]});
    let envelope = answers(&env, &result).exits(1).json();
    let failure = &envelope["error"];
    assert_eq!(failure["code"], FAILED, "{envelope:#}");
    assert_eq!(failure["message"], "the server `s` says: engine busy");
    assert_eq!(failure["recovery_suggestion"], "wait");
    assert_eq!(
        failure["next_steps"],
        json!(["mcp.s.echo"]),
        "only what is there"
    );
    assert_eq!(failure["retry_after_seconds"], 15);
    assert_eq!(failure["details"]["upstream_code"], "tool.ocr.engine.busy");
    assert_eq!(failure["can_retry"], true, "it only reads");
    let mut session = Session::with_tool(&env, "mcp.s.answers");
    let answer = session.call("mcp.s.answers", json!({"result": result}));
    assert_eq!(answer["isError"], true, "clients are told too: {answer:#}");
}

#[test]
fn a_server_that_is_set_to_unified_results_is_held_to_them() {
    let set = "trust_annotations = true\nresult_format = \"tool_result\"";
    let env = TestEnv::with_config(&section("s", "legacy", set));
    let told = json!({"content": [], "structuredContent": {"status": "empty"}});
    let envelope = answers(&env, &told).exits(0).json();
    assert_eq!(envelope["status"], "empty");
    let plain = json!({"content": [{"type": "text", "text": "42"}]});
    let envelope = answers(&env, &plain).exits(1).json();
    assert_eq!(envelope["error"]["kind"], "invalid_output", "{envelope:#}");
}

#[test]
fn markup_that_would_run_or_load_something_is_marked_and_disarmed_for_people() {
    let env = with("legacy", "");
    let said = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    for (active, safe) in [
        ("<script>steal()</script>", "&lt;script>steal()"),
        (
            "[go](javascript:steal())",
            "[go](blocked:javascript:steal())",
        ),
        ("<img src=\"x\" onerror=\"steal()\">", "&lt;img src="),
        (
            "![](https://evil.example/p.png?q=1)",
            "[](https://evil.example/p.png?q=1)",
        ),
    ] {
        let envelope = answers(&env, &said(active)).exits(0).json();
        assert_eq!(envelope["warnings"], json!(["active_content"]), "{active}");
        let text = &envelope["data"]["content"][0]["text"];
        assert_eq!(text, active, "programs get it as it was");
        let arguments = json!({"result": said(active)}).to_string();
        let ran = env
            .run(&["call", "mcp.s.answers", "--args", &arguments])
            .exits(0);
        assert!(ran.out.contains(safe), "{}", ran.out);
        assert!(!ran.out.contains(active), "{}", ran.out);
        assert!(ran.err.contains("active_content"), "{}", ran.err);
    }
    let plain = said("a <b>word</b> and [a link](https://example.com)");
    let envelope = answers(&env, &plain).exits(0).json();
    assert_eq!(envelope["warnings"], json!([]));
    let failed = json!({"isError": true, "content": [{"type": "text", "text": "<script>x"}]});
    let arguments = json!({"result": failed}).to_string();
    let ran = env
        .run(&["call", "mcp.s.answers", "--args", &arguments])
        .exits(1);
    assert!(ran.err.contains("&lt;script>x"), "{}", ran.err);
}
