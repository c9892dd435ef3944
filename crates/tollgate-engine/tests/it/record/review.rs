//! When a human should look, and that only a human closes what was opened.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tollgate_core::{
    Annotations, ErrorCode, Principal, ProviderError, RiskLevel, Status, Store, StoreError,
    Surface, ToolResult, ToolSpec, UpstreamTool, Warning, store::ReviewStatus,
};
use tollgate_engine::{Caller, Decided};
use tollgate_sanitize::placeholder::without_ids;
use tollgate_testkit::fakes::{fails, says};

use crate::support::{
    Setup, World, body, caller, done, result, said, spec_kept, spec_read, spec_sink, spec_write,
};

#[tokio::test]
async fn each_rule_opens_an_item_and_says_which() {
    let world = shop().await;
    let rules = [
        ("shelf.doubts", json!(["uncertain_verdict"])),
        ("shelf.unsure", json!(["low_confidence"])),
        ("shelf.sure", json!([])),
        ("shelf.blurred", json!(["missing_evidence"])),
        ("shelf.found", json!([])),
        ("shelf.personal", json!(["heavy_redaction"])),
        ("shelf.thin", json!(["missing_evidence"])),
        ("shelf.failed_sources", json!(["missing_evidence"])),
        (
            "mcp.s.doubts",
            json!(["uncertain_verdict", "low_confidence"]),
        ),
        ("shelf.elsewhere", json!([])),
        ("shelf.destroy", json!([])),
        ("shelf.send", json!([])),
        ("shelf.unasked", json!(["sensitive_tool"])),
        ("shelf.write", json!([])),
        ("shelf.both", json!(["uncertain_verdict", "low_confidence"])),
    ];
    for (tool, reasons) in rules {
        assert_eq!(opened(&world, tool).await, reasons, "{tool}");
    }
}

#[tokio::test]
async fn an_item_names_its_call_and_shows_a_clean_preview() {
    let world = shop().await;
    let outcome = world.call("shelf.doubts", "{}").await;
    let item = item(&world, &body(&outcome)).await;
    assert_eq!(
        [
            &item["request_id"],
            &item["session_id"],
            &item["principal"],
            &item["subject"],
            &item["status"],
            &json!(without_ids(item["preview"].as_str().unwrap())),
        ],
        [
            outcome.call.as_str(),
            "s1",
            "user:1000",
            "shelf.doubts",
            "open",
            r#"{"verdict":"uncertain","by":"[REDACTED:email]"}"#,
        ]
    );
    assert_eq!(item["warning_codes"], json!(["pii_redacted"]));
    assert_eq!(
        world.ending(&outcome).await["reviews"],
        json!([item["item_id"]])
    );
}

#[tokio::test]
async fn an_answer_from_the_cache_is_not_put_before_a_human_twice() {
    let world = shop().await;
    world.call("shelf.kept_doubts", "{}").await;
    let hit = world.call("shelf.kept_doubts", "{}").await;
    assert_eq!(said(&hit), "hit");
    assert_eq!(hit.envelope.get().meta.review_items, Vec::<String>::new());
    let open = world
        .gateway
        .store()
        .reviews(Some(ReviewStatus::Open), 10)
        .await
        .unwrap();
    assert_eq!(open.len(), 1);
}

#[tokio::test]
async fn calls_of_a_tool_under_a_grant_share_one_item_a_day() {
    let world = shop().await;
    let grant = || async {
        let asked = world.call("shelf.send", r#"{"n":0}"#).await;
        world.decide(&asked, Decided::ToolForSession).await;
    };
    grant().await;
    for (n, items) in [(1, 1), (2, 0), (3, 0)] {
        let sent = world.call("shelf.send", &format!(r#"{{"n":{n}}}"#)).await;
        let opened = &sent.envelope.get().meta.review_items;
        assert_eq!(opened.len(), items, "{n}");
    }
    world.later(Duration::from_secs(24 * 60 * 60));
    grant().await;
    let next_day = world.call("shelf.send", r#"{"n":4}"#).await;
    assert_eq!(next_day.envelope.get().meta.review_items.len(), 1);
    let all = world.gateway.store().reviews(None, 10).await.unwrap();
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|item| item.reasons == ["sensitive_tool"]));
}

#[tokio::test]
async fn failures_of_a_call_are_counted_in_its_session_whatever_process_makes_it() {
    let shop = |store: Option<Arc<dyn Store>>| {
        let broken = fails(|| ProviderError::new(ErrorCode::ToolFailed, "broken"));
        let failed = || ToolResult {
            status: Status::Error,
            ..done(json!({"isError": true}))
        };
        let setup = Setup::new()
            .tool(spec_read("shelf.broken"), broken)
            .tool(spec_read("mcp.s.fails"), result(failed()));
        match store {
            Some(store) => setup.store(store),
            None => setup,
        }
    };
    let first = shop(None).build().await;
    let store = Arc::clone(first.gateway.store());
    for tool in ["shelf.broken", "mcp.s.fails"] {
        let mut items = Vec::new();
        for _ in 0..3 {
            let process = shop(Some(Arc::clone(&store))).build().await;
            let failed = process.call(tool, "{}").await;
            // Another call, and one of another session, are not the same call.
            process.call(tool, r#"{"n":1}"#).await;
            process
                .call_as(&caller("s2"), "shelf.broken", r#"{"n":2}"#)
                .await;
            items.push(failed.envelope.get().meta.review_items.clone());
        }
        let [one, two, three] = items.as_slice() else {
            unreachable!()
        };
        assert!(one.is_empty() && two.is_empty(), "{tool}: {items:?}");
        let item = store.review(&three[0]).await.unwrap().unwrap();
        assert_eq!(item.reasons, ["retries_exhausted"], "{tool}");
    }
}

#[tokio::test]
async fn an_item_is_resolved_once_and_the_log_says_by_whom() {
    let world = shop().await;
    let outcome = world.call("shelf.doubts", "{}").await;
    let id = outcome.envelope.get().meta.review_items[0].clone();
    let item = world.gateway.store().review(&id).await.unwrap().unwrap();
    world
        .gateway
        .resolve_review(&item, "approve", Some("asked ann@example.com"), "bob")
        .await
        .unwrap();
    let twice = world
        .gateway
        .resolve_review(&item, "reject", None, "mallory")
        .await;
    assert!(matches!(twice, Err(StoreError::Conflict)));
    let closed = world.gateway.store().review(&id).await.unwrap().unwrap();
    assert_eq!(
        (
            closed.status,
            closed.resolution.as_deref(),
            closed.note.as_deref(),
            closed.resolved_by.as_deref(),
        ),
        (
            ReviewStatus::Resolved,
            Some("approve"),
            Some("asked [REDACTED:email]"),
            Some("bob"),
        )
    );
    let rows = world.rows("review").await;
    assert_eq!(rows.len(), 1);
    assert_eq!(
        [&rows[0]["review_id"], &rows[0]["status"], &rows[0]["by"]],
        [id.as_str(), "approve", "bob"]
    );
}

#[tokio::test]
async fn a_caller_sees_its_own_items_and_no_other() {
    let world = shop().await;
    world.call("shelf.doubts", "{}").await;
    let own = body(&world.call("review.list", "{}").await);
    assert_eq!(own["data"]["items"].as_array().unwrap().len(), 1);
    let stranger = Caller::local(Principal::user(1001), "s1", Surface::Jsonl);
    let none = body(&world.call_as(&stranger, "review.list", "{}").await);
    assert_eq!(none["data"]["items"], json!([]));
    let id = own["data"]["items"][0]["item_id"].clone();
    let arguments = json!({"item_id": id}).to_string();
    let hidden = world.call_as(&stranger, "review.show", &arguments).await;
    assert_eq!(said(&hidden), "not_found");
}

/// The reasons a call of this tool gives a human to look.
async fn opened(world: &World, tool: &str) -> Value {
    let mut outcome = world.call(tool, "{}").await;
    if said(&outcome) == "confirmation_required" {
        world.decide(&outcome, Decided::Once).await;
        outcome = world.call(tool, "{}").await;
    }
    assert!(outcome.envelope.get().ok);
    let envelope = body(&outcome);
    if envelope["meta"].get("review_items").is_none() {
        return json!([]);
    }
    item(world, &envelope).await["reasons"].clone()
}

async fn item(world: &World, envelope: &Value) -> Value {
    let id = envelope["meta"]["review_items"][0].as_str().unwrap();
    json!(world.gateway.store().review(id).await.unwrap().unwrap())
}

async fn shop() -> World {
    let doubts = || says(json!({"verdict": "uncertain", "by": "ann@example.com"}));
    let with = |warning: Warning, status: Status| {
        result(ToolResult {
            status,
            warnings: vec![warning],
            ..done(json!({"text": "x"}))
        })
    };
    let mails: Vec<String> = (0..12).map(|n| format!("a{n}@example.com")).collect();
    let destroy = ToolSpec {
        annotations: Annotations {
            destructive: true,
            ..spec_write("x").annotations
        },
        ..spec_write("shelf.destroy")
    };
    let send = spec_sink("shelf.send");
    let unasked = spec_sink("shelf.unasked");
    let structured = || {
        let own = json!({"verdict": "uncertain", "confidence": 0.1});
        says(json!({"content": [], "structuredContent": own}))
    };
    let of_server = ToolSpec {
        upstream: Some(UpstreamTool {
            risk_level: RiskLevel::ReadOnly,
            silence_ms: 1000,
        }),
        ..spec_read("mcp.s.doubts")
    };
    Setup::new()
        .tool(spec_read("shelf.doubts"), doubts())
        .tool(spec_kept("shelf.kept_doubts"), doubts())
        .tool(spec_read("shelf.unsure"), says(json!({"confidence": 0.79})))
        .tool(
            spec_read("shelf.sure"),
            says(json!({"confidence": 0.8, "verdict": "yes"})),
        )
        .tool(
            spec_read("shelf.both"),
            says(json!({"confidence": 0, "verdict": "uncertain"})),
        )
        .tool(
            spec_read("shelf.blurred"),
            with(Warning::DiagramRoiNotFound, Status::Degraded),
        )
        .tool(
            spec_read("shelf.found"),
            with(Warning::CompressedImage, Status::Degraded),
        )
        .tool(
            spec_read("shelf.thin"),
            with(Warning::ThinEvidence, Status::Ok),
        )
        .tool(
            spec_read("shelf.failed_sources"),
            with(Warning::SourcesFailed, Status::Degraded),
        )
        .tool(of_server, structured())
        .tool(spec_read("shelf.elsewhere"), structured())
        .tool(unasked, says(json!({})))
        .rules(
            r#"@id("unasked") @lifts("human")
               permit (principal, action == Action::"call", resource == Tool::"shelf.unasked");"#,
        )
        .tool(spec_read("shelf.personal"), says(json!({"mails": mails})))
        .tool(destroy, says(json!({})))
        .tool(send, says(json!({})))
        .tool(spec_write("shelf.write"), says(json!({})))
        .build()
        .await
}
