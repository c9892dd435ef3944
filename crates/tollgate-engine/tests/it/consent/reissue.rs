//! An effect whose answer did not arrive is asked for again, and still runs once.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use tollgate_core::{ErrorCode, ProviderError, ToolSpec};
use tollgate_engine::{Decided, Outcome, Request};
use tollgate_testkit::fakes::{fails, says};

use crate::support::{
    Setup, World, body, caller, details, error, request, said, spec_read, spec_write, waits,
};

#[tokio::test]
async fn an_undelivered_answer_is_shown_again() {
    let world = shop().await;
    let ran = approved(&world, "shelf.write", "{}").await;
    assert_eq!((said(&ran), ran.wants_receipt), ("ok", true));
    for _ in 0..2 {
        let again = world.call("shelf.write", "{}").await;
        assert_eq!(said(&again), "ok");
        assert_eq!(body(&again)["data"], body(&ran)["data"]);
        assert_eq!(body(&again)["warnings"], json!(["recorded_ending"]));
        assert_eq!(again.call, ran.call, "the effect that is delivered");
        assert_ne!(
            again.envelope.get().meta.call_id,
            ran.envelope.get().meta.call_id
        );
        assert_eq!(world.ending(&again).await["cache"], "recorded");
    }
    assert_eq!(world.fake.count(), 1);
    world.check(4).await;
}

#[tokio::test]
async fn a_failed_ending_is_shown_again_too() {
    let world = shop().await;
    let ran = approved(&world, "shelf.break", "{}").await;
    assert_eq!(said(&ran), "tool_failed");
    let again = world.call("shelf.break", "{}").await;
    assert_eq!(error(&again), error(&ran));
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn once_the_answer_arrived_the_same_call_asks_again() {
    let world = shop().await;
    approved(&world, "shelf.write", "{}").await;
    let again = world.call("shelf.write", "{}").await;
    world.gateway.delivered(&again).await.unwrap();
    assert_eq!(
        said(&world.call("shelf.write", "{}").await),
        "confirmation_required"
    );
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn after_the_window_the_same_call_asks_again() {
    let world = shop().await;
    approved(&world, "shelf.write", "{}").await;
    world.later(world.gateway.settings().reissue_window * 2);
    assert_eq!(
        said(&world.call("shelf.write", "{}").await),
        "confirmation_required"
    );
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn an_effect_that_still_runs_is_not_run_again() {
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .tool(spec_write("shelf.slow"), waits(&turnstile, json!({"n": 1})))
        .build()
        .await;
    let asked = world.call("shelf.slow", "{}").await;
    world.decide(&asked, Decided::Once).await;
    let running = world.start(request("shelf.slow", "{}"));
    world.until_seen(1).await;
    let impatient = world.call("shelf.slow", "{}").await;
    assert_eq!(said(&impatient), "overloaded");
    assert_eq!(error(&impatient)["retry_after_seconds"], 1);
    turnstile.add_permits(1);
    assert_eq!(said(&running.await.unwrap()), "ok");
    let patient = world.call("shelf.slow", "{}").await;
    assert_eq!(body(&patient)["warnings"], json!(["recorded_ending"]));
    assert_eq!(world.fake.count(), 1);
    world.check(4).await;
}

#[tokio::test]
async fn an_effect_with_a_key_runs_once_delivered_or_not() {
    let world = shop().await;
    let ran = keyed(&world, "shelf.free_write", r#"{"n":1}"#, "k1").await;
    world.gateway.delivered(&ran).await.unwrap();
    world.later(world.gateway.settings().reissue_window * 2);
    let again = keyed(&world, "shelf.free_write", r#"{ "n": 1 }"#, "k1").await;
    assert_eq!(body(&again)["data"], body(&ran)["data"]);
    assert_eq!(body(&again)["warnings"], json!(["recorded_ending"]));
    assert_eq!(world.fake.count(), 1);
    let other = keyed(&world, "shelf.free_write", r#"{"n":1}"#, "k2").await;
    assert_eq!(body(&other)["warnings"], json!([]));
    assert_eq!(world.fake.count(), 2);
    let unnamed = world.call("shelf.free_write", r#"{"n":1}"#).await;
    assert_eq!(said(&unnamed), "ok");
    assert_eq!(world.fake.count(), 3);
}

#[tokio::test]
async fn a_key_names_one_call_of_one_session() {
    let world = shop().await;
    keyed(&world, "shelf.free_write", r#"{"n":1}"#, "k1").await;
    for (tool, arguments) in [
        ("shelf.free_write", r#"{"n":2}"#),
        ("shelf.free_erase", r#"{"n":1}"#),
    ] {
        let outcome = keyed(&world, tool, arguments, "k1").await;
        assert_eq!(said(&outcome), "invalid_arguments", "{tool} {arguments}");
        assert_eq!(
            error(&outcome)["message"],
            "this idempotency key names another call"
        );
    }
    assert_eq!(world.fake.count(), 1);
    let mut elsewhere = request("shelf.free_write", r#"{"n":2}"#);
    elsewhere.control.idempotency_key = Some("k1".to_owned());
    let outcome = world.gateway.call(&caller("s2"), elsewhere).await;
    assert_eq!(said(&outcome), "ok");
}

#[tokio::test]
async fn a_key_still_needs_the_consent_the_call_needs() {
    let world = shop().await;
    let asked = keyed(&world, "shelf.write", "{}", "k1").await;
    assert_eq!(said(&asked), "confirmation_required");
    world.decide(&asked, Decided::Once).await;
    assert_eq!(said(&keyed(&world, "shelf.write", "{}", "k1").await), "ok");
    let again = keyed(&world, "shelf.write", "{}", "k1").await;
    assert_eq!(body(&again)["warnings"], json!(["recorded_ending"]));
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn a_recorded_ending_is_shown_only_to_whom_the_rules_still_permit() {
    let rule = r#"@id("never.two") forbid (principal, action == Action::"call",
        resource == Tool::"shelf.free_write")
        when { context.trust == "remote" };"#;
    let world = free_shop().rules(rule).build().await;
    keyed(&world, "shelf.free_write", "{}", "k1").await;
    let mut request = request("shelf.free_write", "{}");
    request.control.idempotency_key = Some("k1".to_owned());
    let mut remote = caller("s1");
    remote.trust = tollgate_core::TrustLevel::Remote;
    let outcome = world.gateway.call(&remote, request).await;
    assert_eq!(said(&outcome), "policy_denied");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_with_one_key_at_once_exactly_one_runs() {
    let world = free_shop().on_disk().build().await;
    let all: Vec<_> = (0..16)
        .map(|_| {
            let mut request = request("shelf.free_write", "{}");
            request.control.idempotency_key = Some("k1".to_owned());
            world.start(request)
        })
        .collect();
    for task in all {
        let outcome = task.await.unwrap();
        assert!(
            matches!(said(&outcome), "ok" | "overloaded"),
            "{}",
            body(&outcome)
        );
    }
    assert_eq!(world.fake.count(), 1);
    world.check(16).await;
}

#[tokio::test]
async fn a_read_with_a_key_is_just_a_read() {
    let world = shop().await;
    for _ in 0..2 {
        let outcome = keyed(&world, "shelf.look", "{}", "k1").await;
        assert_eq!(body(&outcome)["warnings"], json!([]));
    }
    assert_eq!(world.fake.count(), 2);
}

/// Has a call approved, and makes it.
async fn approved(world: &World, tool: &str, arguments: &str) -> Outcome {
    let asked = world.call(tool, arguments).await;
    assert_eq!(details(&asked)["consent"], "human");
    world.decide(&asked, Decided::Once).await;
    world.call(tool, arguments).await
}

async fn keyed(world: &World, tool: &str, arguments: &str, key: &str) -> Outcome {
    let mut request: Request = request(tool, arguments);
    request.control.idempotency_key = Some(key.to_owned());
    world.ask(request).await
}

async fn shop() -> World {
    free_shop().build().await
}

fn free_shop() -> Setup {
    let free = |name: &str| ToolSpec {
        toolsets: vec!["free".to_owned()],
        ..spec_write(name)
    };
    Setup::new()
        .tool(spec_read("shelf.look"), says(json!({"n": 0})))
        .tool(spec_write("shelf.write"), says(json!({"n": 1})))
        .tool(free("shelf.free_write"), says(json!({"n": 2})))
        .tool(free("shelf.free_erase"), says(json!({"n": 3})))
        .tool(
            spec_write("shelf.break"),
            fails(|| ProviderError::new(ErrorCode::ToolFailed, "half written")),
        )
        .rules(
            r#"@id("free") permit (principal, action == Action::"call", resource)
                when { resource.toolsets.contains("free") };"#,
        )
}
