//! What a call answers: the envelope, and the same as text.

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Stdio, request, result, with_meta};
use crate::support::TestEnv;

const STUBS: &str = "[providers.stub]\ntools = [\"echo.back\"]\n";

/// The text of a result, as JSON.
#[track_caller]
fn text_of(result: &Value) -> Value {
    assert_eq!(result["content"][0]["type"], "text");
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

/// An envelope without what is `null` at its top.
fn without_nulls(envelope: &Value) -> Value {
    let fields = envelope.as_object().unwrap().clone();
    let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(kept.collect())
}

#[test]
fn the_text_is_the_envelope_without_nulls() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut old = Stdio::legacy(&env, json!({}));
    let mut new = Stdio::modern(&env, &[]);
    for (arguments, is_error) in [(json!({"text": "hello"}), false), (json!({}), true)] {
        for done in [
            old.call("text.stats", arguments.clone()),
            new.call("text.stats", arguments.clone()),
            gate.call("text.stats", arguments.clone()),
        ] {
            assert_eq!(done["isError"], is_error);
            assert_eq!(done["content"].as_array().unwrap().len(), 1);
            let envelope = &done["structuredContent"];
            assert_eq!(envelope["ok"], !is_error);
            assert_eq!(envelope["tool"], "text.stats");
            assert_eq!(text_of(&done), without_nulls(envelope));
            let text = done["content"][0]["text"].as_str().unwrap();
            assert_eq!(text, text_of(&done).to_string(), "compact");
        }
    }
}

#[test]
fn an_envelope_has_everything_it_promises() {
    let env = TestEnv::new();
    let done = Stdio::modern(&env, &[]).call("text.stats", json!({"text": "hello"}));
    let envelope = &done["structuredContent"];
    assert_eq!(envelope["status"], "ok");
    assert_eq!(envelope["warnings"], json!([]));
    assert_eq!(envelope["error"], Value::Null);
    assert_eq!(envelope["cache_hit"], false);
    let key = envelope["cache_key"].as_str().unwrap();
    assert!(
        key.starts_with("text.stats:") && key.len() == 11 + 24,
        "{key}"
    );
    assert_eq!(envelope["budget_ledger"]["session_consumed"], 0);
    let meta = &envelope["meta"];
    assert_eq!(meta["provider"], "builtin");
    assert_eq!(meta["capability"], "L0");
    for name in [
        "call_id",
        "trace_id",
        "input_fingerprint",
        "output_fingerprint",
    ] {
        assert!(meta[name].is_string(), "{name}: {meta}");
    }
}

#[test]
fn numbers_and_the_order_of_keys_survive() {
    let env = TestEnv::with_config(STUBS);
    let arguments = r#"{"zebra":9007199254740993,"apple":-9223372036854775808,"mango":18446744073709551615,"half":0.1,"deep":{"b":1,"a":[3,2,1]}}"#;
    let params = with_meta(json!({"name": "echo.back"}), &super::peer::meta());
    let line = request(1, "tools/call", &params).to_string();
    let line = line.replace(
        r#""name":"echo.back""#,
        &format!(r#""name":"echo.back","arguments":{arguments}"#),
    );
    assert!(line.contains(arguments));
    let mut client = Stdio::modern(&env, &[]);
    client.line(&line);
    let here = client.next_line().unwrap();
    assert!(here.contains(arguments), "structured: {here}");
    let answer: Value = serde_json::from_str(&here).unwrap();
    let text = result(&answer)["content"][0]["text"].clone();
    assert!(text.as_str().unwrap().contains(arguments), "text: {text}");

    let gate = Gate::open(&env);
    let ask = Ask::post(line)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "echo.back");
    assert!(gate.ask(&ask).has(200).body.contains(arguments));
}

#[test]
fn what_a_tool_does_wrong_is_a_result_and_what_is_no_tool_is_an_error() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    for (tool, arguments, kind) in [
        ("text.stats", json!({"text": 5}), "invalid_arguments"),
        (
            "text.find",
            json!({"text": "a", "pattern": "(", "regex": true}),
            "input_rejected",
        ),
        ("result.slice", json!({"result": "none"}), "not_found"),
    ] {
        let here = client.call(tool, arguments.clone());
        assert_eq!(here["isError"], true);
        let failure = &here["structuredContent"]["error"];
        assert_eq!(failure["kind"], kind, "{failure}");
        assert!(failure["code"].as_str().unwrap().starts_with("tool."));
        let there = gate.call(tool, arguments);
        assert_eq!(there["structuredContent"]["error"]["kind"], kind);
    }
    for params in [
        json!({"name": "moon.walk"}),
        json!({"name": ""}),
        json!({"name": 5}),
        json!({}),
    ] {
        let refused = client.error("tools/call", params.clone());
        assert_eq!(refused["code"], -32602, "{params}");
    }
    let unknown = client.error("tools/call", json!({"name": "text.stat"}));
    assert!(unknown.to_string().contains("text.stats"), "{unknown}");
}

#[test]
fn a_dry_run_says_what_would_happen_and_does_nothing() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"notes.add\"]\nwrites = [\"notes.add\"]\n",
    );
    let mut client = Stdio::modern(&env, &[]);
    let params = json!({"name": "notes.add", "arguments": {"text": "x"},
        "_meta": {"tollgate/call": {"dry_run": true}}});
    let dry = client.result("tools/call", params);
    assert_eq!(dry["structuredContent"]["data"]["verdict"], "needs_human");
    let odd = json!({"name": "notes.add", "_meta": {"tollgate/call": {"dry_run": 7}}});
    assert_eq!(client.error("tools/call", odd)["code"], -32602);
    assert!(env.recorded().iter().all(|row| row["kind"] != "intent"));
}

#[test]
fn content_of_other_servers_stays_as_it_is() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &["--conformance-fixtures"]);
    let done = client.call("test_multiple_content_types", json!({}));
    let kinds: Vec<&str> = done["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "image", "resource"]);
    assert!(done.get("structuredContent").is_none(), "{done}");
    let about = &done["_meta"]["tollgate/result"];
    assert_eq!(about["tool"], "test_multiple_content_types");
    assert_eq!(about["status"], "ok");
    assert!(about["meta"]["call_id"].is_string() && about.get("data").is_none());
    let failed = client.call("test_error_handling", json!({}));
    assert_eq!(failed["isError"], true);
}
