//! The audit entry of a call, and the spans that tell of it elsewhere.

use insta::assert_json_snapshot;
use serde_json::{Value, json};
use tollgate_core::{ErrorCode, Principal, Surface};
use tollgate_engine::{Caller, Decided, Request};
use tollgate_testkit::fakes::says;

use crate::support::{Setup, World, body, request, said, spec_paid, spec_write};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn what_a_secret_name_holds_is_never_written_down_however_plain_it_is() {
    let world = shop().await;
    let outcome = world
        .call(
            "shelf.buy",
            r#"{"login":{"password":"correct horse battery"}}"#,
        )
        .await;
    let ending = world.ending(&outcome).await;
    assert_eq!(
        ending["args_preview"],
        json!(r#"{"login":{"password":"[REDACTED:argument]"}}"#)
    );
    assert_eq!(ending["not_replayable"], json!("redacted"));
    let asked = world
        .call("shelf.write", r#"{"apiKey":"open sesame"}"#)
        .await;
    assert!(!body(&asked).to_string().contains("sesame"));
    for row in world.rows("ending").await {
        assert!(!row.to_string().contains("horse") && !row.to_string().contains("sesame"));
    }
}

#[tokio::test]
async fn an_ending_says_all_the_contract_asks_for() {
    let world = shop().await;
    let outcome = world
        .ask(Request {
            traceparent: Some(PARENT.to_owned()),
            ..request("shelf.buy", r#"{"n":1}"#)
        })
        .await;
    assert_json_snapshot!(steady(world.ending(&outcome).await), @r#"
    {
      "v": 1,
      "kind": "ending",
      "at": 1800000000000,
      "call_id": "[call_id]",
      "trace_id": "0af7651916cd43dd8448eb211c80319c",
      "span_id": "[span_id]",
      "parent_span": "b7ad6b7169203331",
      "step": "tool.shelf.buy",
      "tool": "shelf.buy",
      "principal": "user:1000",
      "session": "s1",
      "surface": "jsonl",
      "trust": "local",
      "provider": "fake",
      "capability": "L0",
      "consent": "none",
      "verdict": "allow",
      "rule": "default.read",
      "cache": "miss",
      "cache_key": "shelf.buy:2bfd14f43d17fc7cea24e091",
      "status": "ok",
      "error_code": null,
      "warnings": [],
      "estimated": 2,
      "worst_case": 2,
      "consumed": 2,
      "consumed_source": "estimated_fallback",
      "duration_us": 0,
      "attempt": 1,
      "input_fingerprint": "4c6b6015453fe658822e7461e017182a8c29be76828f7084725f494ad94d1e16",
      "output_fingerprint": "2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd",
      "spec_digest": "[spec_digest]",
      "args_preview": "{\"n\":1}",
      "result_preview": "{\"n\":1}",
      "redactions": 0,
      "tainted": false,
      "replayable": true
    }
    "#);
}

#[tokio::test]
async fn an_effect_is_announced_before_it_happens() {
    let world = shop().await;
    let asked = world.call("shelf.write", r#"{"n":1}"#).await;
    world.decide(&asked, Decided::Once).await;
    let ran = world.call("shelf.write", r#"{"n":1}"#).await;
    let rows = world.memory.rows();
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.columns.kind.as_str(), row.columns.status.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            ("ending", Some("error")),
            ("approval", Some("granted")),
            ("intent", Some("running")),
            ("ending", Some("ok")),
        ]
    );
    let intent = &world.rows("intent").await[0];
    assert_eq!(
        [
            &intent["call_id"],
            &intent["consent"],
            &intent["args_preview"]
        ],
        [ran.call.as_str(), "human", r#"{"n":1}"#]
    );
}

#[tokio::test]
async fn previews_are_cut_on_characters() {
    let world = shop().await;
    let long = "é".repeat(500);
    let outcome = world
        .call("shelf.buy", &format!(r#"{{"text":"{long}"}}"#))
        .await;
    let preview = world.ending(&outcome).await["args_preview"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(preview.chars().count(), 201);
    assert!(preview.ends_with("é…"));
}

#[tokio::test]
async fn a_finished_call_is_a_span_below_its_callers() {
    let world = shop().await;
    let outcome = world
        .ask(Request {
            traceparent: Some(PARENT.to_owned()),
            ..request("shelf.buy", r#"{"n":1}"#)
        })
        .await;
    let span = world.spans.exported().remove(0);
    assert_eq!(span.trace_id, "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span.parent_span_id.as_deref(), Some("b7ad6b7169203331"));
    assert_eq!(span.name, "execute_tool shelf.buy");
    assert_eq!(span.error, None);
    assert_eq!(body(&outcome)["meta"]["trace_id"], span.trace_id);
    assert_eq!(
        world.fake.seen()[0].traceparent,
        format!("00-{}-{}-01", span.trace_id, span.span_id),
        "the provider hands our own span on"
    );
    let attributes: Value = span
        .attributes
        .iter()
        .filter(|(name, _)| *name != "gen_ai.tool.call.id")
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_json_snapshot!(attributes, @r#"
    {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "shelf.buy",
      "gen_ai.tool.type": "function",
      "mcp.method.name": "tools/call",
      "tollgate.session": "s1",
      "tollgate.surface": "jsonl",
      "tollgate.consent": "none",
      "tollgate.cache": "miss",
      "tollgate.status": "ok",
      "tollgate.provider": "fake",
      "tollgate.policy.rule": "default.read"
    }
    "#);
}

#[tokio::test]
async fn a_failed_call_is_a_span_with_its_code_and_a_bad_parent_is_none() {
    let world = shop().await;
    let outcome = world
        .ask(Request {
            traceparent: Some("00-nonsense-b7ad6b7169203331-01".to_owned()),
            ..request("shelf.unheard_of", "{}")
        })
        .await;
    assert_eq!(said(&outcome), "unknown_tool");
    let span = world.spans.exported().remove(0);
    assert_eq!(span.parent_span_id, None);
    assert_eq!(span.trace_id.len(), 32);
    assert_eq!(span.error, Some(ErrorCode::UnknownTool));
}

#[tokio::test]
async fn a_caller_sees_its_own_record_and_no_other() {
    let world = shop().await;
    let outcome = world.call("shelf.buy", "{}").await;
    let show = format!(r#"{{"call_id":"{}"}}"#, outcome.call);
    let shown = world.call("audit.show", &show).await;
    assert_eq!(
        body(&shown)["data"]["entries"][0]["body"]["tool"],
        "shelf.buy"
    );
    let verified = body(&world.call("audit.verify", "{}").await);
    assert_eq!(verified["data"]["whole"], true);
    let stranger = Caller::local(Principal::user(1001), "s1", Surface::Jsonl);
    let hidden = world.call_as(&stranger, "audit.show", &show).await;
    assert_eq!(said(&hidden), "not_found");
    let listed = body(&world.call_as(&stranger, "audit.list", "{}").await);
    assert!(!listed["data"].to_string().contains("shelf.buy"));
}

/// Replaces what differs from run to run.
fn steady(mut ending: Value) -> Value {
    for (name, length) in [("call_id", 32), ("span_id", 16), ("spec_digest", 64)] {
        assert_eq!(ending[name].as_str().unwrap().len(), length, "{name}");
        ending[name] = json!(format!("[{name}]"));
    }
    assert!(ending["duration_us"].is_u64());
    ending["duration_us"] = json!(0);
    ending
}

async fn shop() -> World {
    Setup::new()
        .tool(spec_paid("shelf.buy", 2, false), says(json!({"n": 1})))
        .tool(spec_write("shelf.write"), says(json!({"n": 2})))
        .build()
        .await
}
