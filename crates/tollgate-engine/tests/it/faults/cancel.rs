//! The gate owns a running call: whoever goes away cancels it in order.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::json;
use tokio::sync::Semaphore;
use tollgate_core::{Answer, ErrorCode};
use tollgate_engine::Decided;

use crate::support::{
    Setup, World, deaf, details, done, error, request, said, spec_read, spec_write, waits,
};

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_ends_as_cancelled() {
    let (world, _) = held().await;
    let wanted = request("shelf.read", "{}");
    let cancel = wanted.cancel.clone();
    let running = world.start(wanted);
    world.until_seen(1).await;
    cancel.cancel();
    let outcome = running.await.unwrap();
    let failure = error(&outcome);
    assert_eq!(
        [&failure["kind"], &failure["can_retry"], &failure["details"]],
        [&json!("cancelled"), &json!(true), &json!({})]
    );
    world.check(1).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_cancelled_effect_did_is_not_known() {
    let (world, _) = held().await;
    approve(&world).await;
    let wanted = request("shelf.write", "{}");
    let cancel = wanted.cancel.clone();
    let running = world.start(wanted);
    world.until_seen(1).await;
    cancel.cancel();
    let outcome = running.await.unwrap();
    assert_eq!(said(&outcome), "cancelled");
    assert_eq!(details(&outcome), json!({"outcome": "unknown"}));
    assert_eq!(error(&outcome)["can_retry"], false);
    let again = world.call("shelf.write", "{}").await;
    assert_eq!(error(&again), error(&outcome), "it is not run again");
    assert_eq!(world.fake.count(), 1);
    world.check(3).await;
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_not_begun() {
    let (world, turnstile) = held().await;
    turnstile.add_permits(10);
    approve(&world).await;
    let gone = request("shelf.write", "{}");
    gone.cancel.cancel();
    let outcome = world.ask(gone).await;
    assert_eq!(said(&outcome), "cancelled");
    let failure = error(&outcome);
    assert_eq!(
        [&failure["details"], &failure["can_retry"]],
        [&json!({}), &json!(true)],
        "it is known that nothing has happened"
    );
    assert_eq!(world.fake.count(), 0);
    let wanted = world.call("shelf.write", "{}").await;
    assert_eq!(said(&wanted), "ok", "its approval was not used up");
    world.check(3).await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_leaves_an_ending_behind() {
    let (world, _) = held().await;
    approve(&world).await;
    for (tool, seen) in [("shelf.read", 1), ("shelf.write", 2)] {
        let running = world.start(request(tool, "{}"));
        world.until_seen(seen).await;
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        ended(&world, seen + 1).await;
    }
    let endings = world.rows("ending").await;
    let codes: Vec<_> = endings[1..].iter().map(|row| &row["error_code"]).collect();
    assert_eq!(codes, [ErrorCode::Cancelled.as_str(); 2]);
    world.check(3).await;
}

#[tokio::test(start_paused = true)]
async fn the_provider_is_told_and_its_late_answer_is_written_down() {
    let told = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&told);
    let world = Setup::new()
        .tool(spec_read("shelf.polite"), move |_, cx| {
            let flag = Arc::clone(&flag);
            async move {
                cx.cancel.cancelled().await;
                flag.store(true, Ordering::SeqCst);
                Ok(Answer::Done(done(json!({"half": true}))))
            }
        })
        .build()
        .await;
    let running = world.start(request("shelf.polite", "{}"));
    world.until_seen(1).await;
    running.abort();
    ended(&world, 1).await;
    assert!(told.load(Ordering::SeqCst));
    let late = &world.rows("late_answer").await[0];
    assert_eq!([&late["tool"], &late["status"]], ["shelf.polite", "ok"]);
    world.check(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_deaf_provider_cannot_hold_a_cancelled_call() {
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .tool(spec_read("shelf.deaf"), deaf(&turnstile, json!({})))
        .build()
        .await;
    let wanted = request("shelf.deaf", "{}");
    let cancel = wanted.cancel.clone();
    let running = world.start(wanted);
    world.until_seen(1).await;
    cancel.cancel();
    assert_eq!(said(&running.await.unwrap()), "cancelled");
    assert_eq!(world.rows("late_answer").await.len(), 0);
    turnstile.add_permits(1);
    while world.rows("late_answer").await.is_empty() {
        tokio::task::yield_now().await;
    }
    world.check(1).await;
}

#[tokio::test]
async fn a_call_cancelled_before_its_turn_never_runs() {
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .tool(spec_write("shelf.write"), waits(&turnstile, json!({})))
        .tool(spec_read("shelf.read"), waits(&turnstile, json!({})))
        .settings(|settings| settings.concurrent_calls = 1)
        .build()
        .await;
    approve(&world).await;
    let first = world.start(request("shelf.read", "{}"));
    world.until_seen(1).await;
    let waiting = request("shelf.write", "{}");
    let cancel = waiting.cancel.clone();
    let queued = world.start(waiting);
    tokio::task::yield_now().await;
    cancel.cancel();
    let outcome = queued.await.unwrap();
    assert_eq!(said(&outcome), "cancelled");
    assert_eq!(
        details(&outcome),
        json!({}),
        "it is known: nothing happened"
    );
    turnstile.add_permits(2);
    assert_eq!(said(&first.await.unwrap()), "ok");
    assert_eq!(
        said(&world.call("shelf.write", "{}").await),
        "ok",
        "its approval was not used up"
    );
    world.check(4).await;
}

async fn approve(world: &World) {
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Once).await;
}

/// Waits until so many endings are written.
async fn ended(world: &World, count: usize) {
    while world.rows("ending").await.len() < count {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

async fn held() -> (World, Arc<Semaphore>) {
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .tool(spec_read("shelf.read"), deaf(&turnstile, json!({})))
        .tool(spec_write("shelf.write"), deaf(&turnstile, json!({})))
        .build()
        .await;
    (world, turnstile)
}
