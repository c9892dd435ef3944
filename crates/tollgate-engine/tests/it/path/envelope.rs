//! The one shape every answer has.

use std::time::Duration;

use insta::assert_json_snapshot;
use serde_json::{Value, json};
use tollgate_core::{
    Annotations, ErrorCode, ProviderError, ServiceInfo, Status, ToolResult, ToolSpec, Usage,
    Warning, canonical::hex,
};
use tollgate_engine::Disposition;
use tollgate_testkit::fakes::fails;

use crate::support::{
    Setup, World, body, done, error, result, spec_kept, spec_paid, spec_read, spec_write,
};

#[tokio::test]
async fn answers_and_errors_fit_the_schema_that_describe_shows() {
    let world = shop().await;
    let described = world
        .call("tools.describe", r#"{"name":"keepa.products_get"}"#)
        .await;
    let schema = body(&described)["data"]["output_schema"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let answer = body(&world.call("keepa.products_get", r#"{"asin":"B1"}"#).await);
    assert!(validator.is_valid(&answer), "{answer}");
    let refusal = body(&world.call("keepa.products_get", "[]").await);
    assert!(validator.is_valid(&refusal), "{refusal}");
    let mut stray = answer;
    stray["status"] = json!("fine");
    assert!(!validator.is_valid(&stray));
}

#[tokio::test]
async fn an_answer_carries_everything_the_contract_names() {
    let world = shop().await;
    let outcome = world.call("keepa.products_get", r#"{"asin":"B1"}"#).await;
    assert_eq!(outcome.disposition, Disposition::Done);
    assert_json_snapshot!(steady(body(&outcome)), @r#"
    {
      "ok": true,
      "status": "ok",
      "tool": "keepa.products_get",
      "command": "products.get",
      "data": {
        "asin": "B1",
        "price": 12.5
      },
      "warnings": [],
      "error": null,
      "request": {
        "path": "/product",
        "key": "[REDACTED:openai-key]"
      },
      "token_bucket": {
        "tokens_left": 59
      },
      "cache_key": "products.get:559ffcd68c12c44dfa05e9cd",
      "cache_hit": false,
      "budget_ledger": {
        "session_estimated": 1,
        "session_consumed": 1,
        "remaining_limit": null,
        "blocked_actions": [],
        "cache_hits": 0,
        "consumed_source": "token_bucket"
      },
      "meta": {
        "call_id": "[call_id]",
        "trace_id": "[trace_id]",
        "duration_ms": 0,
        "provider": "fake",
        "capability": "L0",
        "cache_hit": false,
        "input_fingerprint": "0bb56152f6f33f41bbb770d5ce838d2a7903c223579fb573be7d77fc1c9e192e",
        "output_fingerprint": "11002844df58bf4a8f413c8b178bbd7359e9e274e5e944246b93cfb54bcebbe1",
        "redaction_applied": false,
        "tainted": false,
        "receipt": "[receipt]"
      }
    }
    "#);
}

#[tokio::test]
async fn an_empty_answer_is_no_failure() {
    let world = shop().await;
    let outcome = world.call("shelf.empty", "{}").await;
    assert_eq!(outcome.disposition, Disposition::Done);
    assert_json_snapshot!(steady(body(&outcome)), @r#"
    {
      "ok": true,
      "status": "empty",
      "tool": "shelf.empty",
      "data": {
        "hits": []
      },
      "warnings": [],
      "error": null,
      "cache_key": "shelf.empty:44136fa355b3678a1146ad16",
      "cache_hit": false,
      "budget_ledger": {
        "session_estimated": 0,
        "session_consumed": 0,
        "remaining_limit": null,
        "blocked_actions": [],
        "cache_hits": 0,
        "consumed_source": "none"
      },
      "meta": {
        "call_id": "[call_id]",
        "trace_id": "[trace_id]",
        "duration_ms": 0,
        "provider": "fake",
        "capability": "L0",
        "cache_hit": false,
        "input_fingerprint": "f30f4d261c10b3d54596badb39f6c84693ec85ac4a41bd53a34798567662fff4",
        "output_fingerprint": "723b75472cdd38d74a085a0d3839783a6009cf0b0ca8e7fbdbd6948c5aff0222",
        "redaction_applied": false,
        "tainted": false,
        "receipt": "[receipt]"
      }
    }
    "#);
}

#[tokio::test]
async fn a_degraded_answer_says_why() {
    let world = shop().await;
    let outcome = world.call("shelf.blurred", "{}").await;
    assert_eq!(outcome.disposition, Disposition::Done);
    assert_json_snapshot!(steady(body(&outcome)), @r#"
    {
      "ok": true,
      "status": "degraded",
      "tool": "shelf.blurred",
      "data": {
        "text": "only words"
      },
      "warnings": [
        "diagram_roi_not_found"
      ],
      "error": null,
      "cache_key": "shelf.blurred:44136fa355b3678a1146ad16",
      "cache_hit": false,
      "budget_ledger": {
        "session_estimated": 0,
        "session_consumed": 0,
        "remaining_limit": null,
        "blocked_actions": [],
        "cache_hits": 0,
        "consumed_source": "none"
      },
      "meta": {
        "call_id": "[call_id]",
        "trace_id": "[trace_id]",
        "duration_ms": 0,
        "provider": "fake",
        "capability": "L0",
        "cache_hit": false,
        "input_fingerprint": "f30f4d261c10b3d54596badb39f6c84693ec85ac4a41bd53a34798567662fff4",
        "output_fingerprint": "3b228d13e0a3abfe9218fbb73ad74090ed453a09ba1cf27865b672906471b7a4",
        "redaction_applied": false,
        "tainted": false,
        "review_items": [
          "[item]"
        ],
        "receipt": "[receipt]"
      }
    }
    "#);
}

#[tokio::test]
async fn a_failure_helps_to_recover() {
    let world = shop().await;
    let outcome = world.call("shelf.locked", "{}").await;
    assert_eq!(
        outcome.disposition,
        Disposition::Failed(ErrorCode::Unauthorized)
    );
    assert_json_snapshot!(steady(body(&outcome)), @r#"
    {
      "ok": false,
      "status": "error",
      "tool": "shelf.locked",
      "data": null,
      "warnings": [],
      "error": {
        "kind": "unauthorized",
        "code": "tool.provider.auth.refused",
        "message": "the service wants another key",
        "detail": "HTTP 401",
        "recovery_suggestion": "Tell the operator to check the credentials of this provider.",
        "next_steps": [
          "shelf.empty"
        ],
        "can_retry": false,
        "retry_after_seconds": null,
        "details": {}
      },
      "cache_key": "shelf.locked:44136fa355b3678a1146ad16",
      "cache_hit": false,
      "budget_ledger": {
        "session_estimated": 0,
        "session_consumed": 0,
        "remaining_limit": null,
        "blocked_actions": [],
        "cache_hits": 0,
        "consumed_source": "none"
      },
      "meta": {
        "call_id": "[call_id]",
        "trace_id": "[trace_id]",
        "duration_ms": 0,
        "provider": "fake",
        "capability": "L0",
        "cache_hit": false,
        "input_fingerprint": "f30f4d261c10b3d54596badb39f6c84693ec85ac4a41bd53a34798567662fff4",
        "output_fingerprint": null,
        "redaction_applied": false,
        "tainted": false,
        "receipt": "[receipt]"
      }
    }
    "#);
}

#[tokio::test]
async fn errors_of_every_stage_carry_the_cache_key() {
    let world = shop().await;
    let keys = [
        ("shelf.locked", "{}", "unauthorized"),
        ("shelf.strict", r#"{"n":"x"}"#, "invalid_arguments"),
        ("shelf.burn", r#"{"n":1}"#, "confirmation_required"),
    ];
    for (tool, arguments, kind) in keys {
        let envelope = body(&world.call(tool, arguments).await);
        assert_eq!(envelope["error"]["kind"], kind);
        let (name, digest) = envelope["cache_key"]
            .as_str()
            .and_then(|key| key.split_once(':'))
            .unwrap();
        assert_eq!((name, digest.len()), (tool, 24));
    }
    world.check(3).await;
}

#[tokio::test]
async fn can_retry_follows_from_the_kind_and_from_what_a_repeat_would_do() {
    let world = shop().await;
    let harmless = error(&world.call("shelf.down", "{}").await);
    let harmful = error(&world.call("shelf.write_down", "{}").await);
    assert_eq!(
        (&harmless["kind"], &harmless["can_retry"]),
        (&json!("unavailable"), &json!(true))
    );
    assert_eq!(
        (&harmful["kind"], &harmful["can_retry"]),
        (&json!("unavailable"), &json!(false))
    );
    let later = error(&world.call("shelf.busy", "{}").await);
    assert_eq!(
        (&later["can_retry"], &later["retry_after_seconds"]),
        (&json!(true), &json!(7))
    );
}

#[tokio::test]
async fn the_cause_of_a_failure_stays_behind_and_its_message_is_cleaned() {
    let world = shop().await;
    let shown = world.call("shelf.leaky", "{}").await;
    let text = body(&shown).to_string();
    assert!(!text.contains("/home/ann"), "{text}");
    assert!(!text.contains("ann@example.com"), "{text}");
    assert_eq!(error(&shown)["message"], "no account for [REDACTED:email]");
}

#[tokio::test]
async fn the_receipt_names_the_row_of_the_log() {
    let world = shop().await;
    let outcome = world.call("shelf.empty", "{}").await;
    let row = &world.memory.rows()[0];
    let receipt = format!("memory:1:{}", hex(&row.hash));
    assert_eq!(outcome.envelope.get().meta.receipt, Some(receipt));
    assert_eq!(row.columns.call_id.as_deref(), Some(outcome.call.as_str()));
}

/// Tools that answer in each of the four ways.
async fn shop() -> World {
    let products = ToolSpec {
        service_command: Some("products.get".to_owned()),
        ..spec_paid("keepa.products_get", 1, false)
    };
    let answer = ToolResult {
        usage: Usage { consumed: Some(1) },
        service: Some(Box::new(ServiceInfo {
            request: json!({"path": "/product", "key": "sk-live-0123456789abcdefABCDEF01"}),
            token_bucket: json!({"tokens_left": 59}),
            cache_key: None,
        })),
        ..done(json!({"asin": "B1", "price": 12.50}))
    };
    let strict = ToolSpec {
        input_schema: json!({"properties": {"n": {"type": "integer"}}}).into(),
        ..spec_read("shelf.strict")
    };
    let not_idempotent = ToolSpec {
        annotations: Annotations {
            idempotent: false,
            ..Annotations::READ
        },
        ..spec_read("shelf.write_down")
    };
    Setup::new()
        .tool(products, result(answer))
        .tool(
            spec_kept("shelf.empty"),
            result(ToolResult {
                status: Status::Empty,
                ..done(json!({"hits": []}))
            }),
        )
        .tool(
            spec_kept("shelf.blurred"),
            result(ToolResult {
                status: Status::Degraded,
                warnings: vec![Warning::DiagramRoiNotFound],
                ..done(json!({"text": "only words"}))
            }),
        )
        .tool(
            spec_read("shelf.locked"),
            fails(|| ProviderError {
                detail: Some("HTTP 401".to_owned()),
                next_steps: vec!["shelf.empty".to_owned(), "shelf.unheard_of".to_owned()],
                ..ProviderError::new(ErrorCode::Unauthorized, "the service wants another key")
            }),
        )
        .tool(strict, result(done(json!({}))))
        .tool(spec_write("shelf.burn"), result(done(json!({}))))
        .tool(
            spec_read("shelf.down"),
            fails(|| ProviderError::unavailable("no route")),
        )
        .tool(
            not_idempotent,
            fails(|| ProviderError::unavailable("no route")),
        )
        .tool(
            spec_read("shelf.busy"),
            fails(|| ProviderError {
                retry_after: Some(Duration::from_secs(7)),
                ..ProviderError::new(ErrorCode::RateLimited, "slow down")
            }),
        )
        .tool(
            spec_read("shelf.leaky"),
            fails(|| ProviderError {
                source: Some("cannot read /home/ann/.netrc".into()),
                ..ProviderError::not_found("no account for ann@example.com")
            }),
        )
        .build()
        .await
}

/// Replaces what differs from run to run, after checking that it is there.
fn steady(mut envelope: Value) -> Value {
    let meta = &mut envelope["meta"];
    for (name, length) in [("call_id", 32), ("trace_id", 32)] {
        assert_eq!(meta[name].as_str().unwrap().len(), length, "{name}");
        meta[name] = json!(format!("[{name}]"));
    }
    assert!(meta["receipt"].as_str().unwrap().starts_with("memory:"));
    assert!(meta["duration_ms"].is_u64());
    if let Some(items) = meta.get_mut("review_items") {
        *items = items.as_array().unwrap().iter().map(|_| "[item]").collect();
    }
    meta["receipt"] = json!("[receipt]");
    meta["duration_ms"] = json!(0);
    envelope
}
