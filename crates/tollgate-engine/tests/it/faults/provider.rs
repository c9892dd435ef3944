//! Providers that break, hang, lie or are too many at once.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::sync::Semaphore;
use tollgate_core::{Annotations, Cost, ErrorCode, ProviderError, Store, ToolSpec};
use tollgate_engine::{Decided, Request};
use tollgate_testkit::{
    MemoryStore,
    fakes::{Reply, fails, says},
};

use crate::support::{
    Setup, World, deaf, details, error, never, panics, request, said, spec_read, spec_write, waits,
};

#[tokio::test]
async fn a_provider_that_breaks_costs_one_call() {
    let world = Setup::new()
        .tool(spec_read("shelf.break"), panics())
        .tool(spec_read("shelf.break_early"), |_, _| -> Reply {
            panic!("before there is anything to wait for")
        })
        .tool(spec_read("shelf.look"), says(json!({"n": 1})))
        .build()
        .await;
    for tool in ["shelf.break", "shelf.break_early"] {
        let broken = world.call(tool, "{}").await;
        let failure = error(&broken);
        assert_eq!(
            [&failure["kind"], &failure["message"]],
            [
                "provider_crashed",
                &format!("the provider of `{tool}` crashed on this call")
            ]
        );
        assert!(!failure.to_string().contains("bug of the provider"));
        assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
    }
    world.check(4).await;
}

#[tokio::test]
async fn a_spec_that_breaks_costs_one_call() {
    let estimates = ToolSpec {
        cost: Cost::Estimated(Arc::new(|_| panic!("a bug of the estimator"))),
        ..spec_read("shelf.guess")
    };
    let world = Setup::new()
        .tool(estimates, says(json!({})))
        .tool(spec_read("shelf.look"), says(json!({"n": 1})))
        .build()
        .await;
    let broken = world.call("shelf.guess", "{}").await;
    assert_eq!(said(&broken), "internal");
    world.ending(&broken).await;
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
    assert_eq!(world.fake.count(), 1);
    world.check(2).await;
}

#[tokio::test]
async fn a_broken_effect_may_have_happened() {
    let world = Setup::new()
        .tool(spec_write("shelf.break"), panics())
        .build()
        .await;
    let asked = world.call("shelf.break", "{}").await;
    world.decide(&asked, Decided::Once).await;
    let broken = world.call("shelf.break", "{}").await;
    assert_eq!(details(&broken), json!({"outcome": "unknown"}));
    assert_eq!(error(&broken)["can_retry"], false);
    world.check(2).await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_never_answers_is_given_up() {
    let world = timed(spec_read("shelf.hang"), Duration::from_secs(600)).await;
    let outcome = world.call("shelf.hang", "{}").await;
    let failure = error(&outcome);
    assert_eq!(
        [&failure["kind"], &failure["message"], &failure["can_retry"]],
        [
            &json!("timeout"),
            &json!("`shelf.hang` did not answer within 2000 ms"),
            &json!(true)
        ]
    );
    assert_eq!(failure["details"], json!({}));
    world.check(1).await;
}

#[tokio::test(start_paused = true)]
async fn no_tool_may_take_longer_than_the_operator_allows() {
    let world = timed(spec_read("shelf.hang"), Duration::from_secs(1)).await;
    let outcome = world.call("shelf.hang", "{}").await;
    assert_eq!(
        error(&outcome)["message"],
        "`shelf.hang` did not answer within 1000 ms"
    );
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_written_beside_the_one_ending() {
    let turnstile = Arc::new(Semaphore::new(0));
    let slow = ToolSpec {
        timeout_ms: 1000,
        ..spec_write("shelf.slow")
    };
    let world = Setup::new()
        .tool(slow, deaf(&turnstile, json!({"to": "ann@example.com"})))
        .build()
        .await;
    let asked = world.call("shelf.slow", "{}").await;
    world.decide(&asked, Decided::Once).await;
    let outcome = world.call("shelf.slow", "{}").await;
    assert_eq!(said(&outcome), "timeout");
    assert_eq!(details(&outcome), json!({"outcome": "unknown"}));
    assert_eq!(error(&outcome)["can_retry"], false);
    assert_eq!(world.rows("late_answer").await.len(), 0);

    turnstile.add_permits(1);
    while world.rows("late_answer").await.is_empty() {
        tokio::task::yield_now().await;
    }
    let late = &world.rows("late_answer").await[0];
    let expected = tollgate_core::canonical::hex_digest(br#"{"to":"[REDACTED:email]"}"#);
    assert_eq!(
        [
            &late["call_id"],
            &late["status"],
            &late["output_fingerprint"]
        ],
        [outcome.call.as_str(), "ok", &expected]
    );
    world.check(2).await;
    let again = world.call("shelf.slow", "{}").await;
    assert_eq!(said(&again), "timeout", "the ending stands");
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_asked_to_stop_and_told_how_long_it_has() {
    let turnstile = Arc::new(Semaphore::new(0));
    let slow = ToolSpec {
        timeout_ms: 1000,
        ..spec_read("shelf.slow")
    };
    let world = Setup::new()
        .tool(slow, waits(&turnstile, json!({})))
        .tool(spec_read("shelf.time"), |_, cx| async move {
            let left = u64::try_from(cx.time_left.as_millis()).unwrap();
            Ok(tollgate_core::Answer::Done(crate::support::done(
                json!({"left": left}),
            )))
        })
        .build()
        .await;
    assert_eq!(said(&world.call("shelf.slow", "{}").await), "timeout");
    let late = &world.rows("late_answer").await[0];
    assert_eq!(late["status"], "ok", "it stopped when asked, and said so");
    let told = world.call("shelf.time", "{}").await;
    assert_eq!(crate::support::body(&told)["data"], json!({"left": 30_000}));
    world.check(2).await;
}

#[tokio::test]
async fn a_full_queue_answers_overloaded_and_the_rest_wait_their_turn() {
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .tool(spec_read("shelf.slow"), waits(&turnstile, json!({})))
        .settings(|settings| {
            settings.concurrent_calls = 2;
            settings.queued_calls = 3;
        })
        .build()
        .await;
    let admitted: Vec<_> = (0..5)
        .map(|_| world.start(request("shelf.slow", "{}")))
        .collect();
    world.until_seen(2).await;
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.fake.count(), 2);
    let refused = world.call("shelf.slow", "{}").await;
    let failure = error(&refused);
    assert_eq!(
        [
            &failure["kind"],
            &failure["can_retry"],
            &failure["retry_after_seconds"]
        ],
        [&json!("overloaded"), &json!(true), &json!(1)]
    );
    turnstile.add_permits(5);
    for task in admitted {
        assert_eq!(said(&task.await.unwrap()), "ok");
    }
    assert_eq!(world.fake.count(), 5);
    world.check(6).await;
}

#[tokio::test]
async fn the_same_failure_over_and_over_asks_a_human_to_look() {
    let world = Setup::new()
        .tool(
            spec_read("shelf.fails"),
            fails(|| ProviderError::new(ErrorCode::ToolFailed, "no")),
        )
        .build()
        .await;
    let mut opened = Vec::new();
    for _ in 0..3 {
        let outcome = world.call("shelf.fails", "{}").await;
        opened.push(outcome.envelope.get().meta.review_items.len());
    }
    assert_eq!(opened, [0, 0, 1]);
    let told = world
        .ask(Request {
            attempt: 3,
            ..request("shelf.fails", r#"{"n":2}"#)
        })
        .await;
    assert_eq!(told.envelope.get().meta.review_items.len(), 1);
}

/// A tool that never answers within the two seconds it promises.
async fn timed(spec: ToolSpec, limit: Duration) -> World {
    let spec = ToolSpec {
        timeout_ms: 2000,
        annotations: Annotations::READ,
        ..spec
    };
    Setup::new()
        .tool(spec, never())
        .settings(|settings| settings.call_timeout = limit)
        .build()
        .await
}

#[tokio::test]
async fn the_store_is_told_how_many_calls_may_still_commit() {
    let store = Arc::new(MemoryStore::new());
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .store(Arc::clone(&store) as Arc<dyn Store>)
        .tool(spec_read("shelf.look"), waits(&turnstile, json!({"n": 1})))
        .build()
        .await;
    let calls: Vec<_> = (0..4)
        .map(|_| world.start(request("shelf.look", "{}")))
        .collect();
    world.until_seen(4).await;
    let mut told = Vec::new();
    // They are let through in the order in which they came.
    for call in calls {
        turnstile.add_permits(1);
        assert_eq!(said(&call.await.unwrap()), "ok");
        told.push(store.foreseen());
    }
    assert_eq!(told, [3, 2, 1, 0]);
}
