//! When a human should look, and that only a human closes what was opened.

use serde_json::{Value, json};
use tollgate_core::{
    Annotations, Principal, Status, StoreError, Surface, ToolResult, ToolSpec, Warning,
    store::ReviewStatus,
};
use tollgate_engine::{Caller, Decided};
use tollgate_testkit::fakes::says;

use crate::support::{
    Setup, World, body, done, result, said, spec_kept, spec_read, spec_sink, spec_write,
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
        ("shelf.destroy", json!(["sensitive_tool"])),
        ("shelf.send", json!(["sensitive_tool"])),
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
            &item["preview"],
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
        .tool(spec_read("shelf.personal"), says(json!({"mails": mails})))
        .tool(destroy, says(json!({})))
        .tool(send, says(json!({})))
        .tool(spec_write("shelf.write"), says(json!({})))
        .build()
        .await
}
