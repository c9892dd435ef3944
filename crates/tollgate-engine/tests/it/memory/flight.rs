//! Identical calls in flight run once, and nobody is robbed of the answer.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tokio::sync::Semaphore;
use tollgate_core::{Answer, ErrorCode, ProviderError};
use tollgate_engine::Request;

use crate::support::{Setup, World, body, done, request, said, spec_kept, waits};

#[tokio::test]
async fn two_identical_calls_in_flight_run_once() {
    let (world, turnstile) = held().await;
    let leader = world.start(request("shelf.look", r#"{"n":1}"#));
    world.until_seen(1).await;
    let follower = world.start(request("shelf.look", r#"{ "n": 1 }"#));
    let other = world.start(request("shelf.look", r#"{"n":2}"#));
    world.until_seen(2).await;
    settle().await;
    assert_eq!(world.fake.count(), 2, "the follower waits");
    turnstile.add_permits(2);
    let (leader, follower) = (leader.await.unwrap(), follower.await.unwrap());
    assert_eq!((said(&leader), said(&follower)), ("ok", "hit"));
    assert_eq!(body(&leader)["data"], body(&follower)["data"]);
    assert_eq!(world.ending(&follower).await["cache"], "shared");
    assert_eq!(said(&other.await.unwrap()), "ok");
    assert_eq!(world.fake.count(), 2);
    world.check(3).await;
}

#[tokio::test]
async fn a_leader_that_goes_away_does_not_rob_its_followers() {
    let (world, turnstile) = held().await;
    let leader = world.start(request("shelf.look", "{}"));
    world.until_seen(1).await;
    let follower = world.start(request("shelf.look", "{}"));
    settle().await;
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    settle().await;
    turnstile.add_permits(1);
    assert_eq!(said(&follower.await.unwrap()), "hit");
    assert_eq!(world.fake.count(), 1);
    world.check(2).await;
}

#[tokio::test]
async fn when_the_last_who_waits_goes_away_the_call_is_cancelled() {
    let (world, _) = held().await;
    let leader = world.start(request("shelf.look", "{}"));
    world.until_seen(1).await;
    let follower = world.start(request("shelf.look", "{}"));
    settle().await;
    leader.abort();
    settle().await;
    follower.abort();
    while world.rows("ending").await.len() < 2 {
        settle().await;
    }
    let endings = world.rows("ending").await;
    let codes: Vec<_> = endings.iter().map(|row| &row["error_code"]).collect();
    assert_eq!(codes, [ErrorCode::Cancelled.as_str(); 2]);
    world.check(2).await;
}

#[tokio::test]
async fn a_follower_that_goes_away_leaves_the_leader_alone() {
    let (world, turnstile) = held().await;
    let leader = world.start(request("shelf.look", "{}"));
    world.until_seen(1).await;
    let following = request("shelf.look", "{}");
    let cancel = following.cancel.clone();
    let follower = world.start(following);
    settle().await;
    cancel.cancel();
    assert_eq!(said(&follower.await.unwrap()), "cancelled");
    turnstile.add_permits(1);
    assert_eq!(said(&leader.await.unwrap()), "ok");
    world.check(2).await;
}

#[tokio::test]
async fn a_failure_is_not_shared() {
    let turnstile = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&turnstile);
    let world = Setup::new()
        .tool(spec_kept("shelf.look"), move |_, _| {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                if gate.available_permits() > 0 {
                    Err(ProviderError::new(ErrorCode::ToolFailed, "the first fails"))
                } else {
                    Ok(Answer::Done(done(json!({}))))
                }
            }
        })
        .build()
        .await;
    let leader = world.start(request("shelf.look", "{}"));
    world.until_seen(1).await;
    let follower = world.start(request("shelf.look", "{}"));
    settle().await;
    turnstile.add_permits(2);
    assert_eq!(said(&leader.await.unwrap()), "tool_failed");
    assert_eq!(said(&follower.await.unwrap()), "ok");
    assert_eq!(world.fake.count(), 2);
    world.check(2).await;
}

#[tokio::test]
async fn after_a_failure_one_of_those_who_waited_runs_for_the_rest() {
    assert_eq!(fails_first(1).await, (9, 2));
}

#[tokio::test]
async fn nobody_waits_for_everyone_else_to_fail() {
    let (answered, runs) = fails_first(usize::MAX).await;
    assert_eq!((answered, runs), (0, 10));
}

/// Ten ask the same of a tool that fails so many times; how many were answered, by how many runs.
async fn fails_first(times: usize) -> (usize, usize) {
    let turnstile = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&turnstile);
    let runs = Arc::new(AtomicUsize::new(0));
    let world = Setup::new()
        .tool(spec_kept("shelf.look"), move |_, _| {
            let (gate, run) = (Arc::clone(&gate), runs.fetch_add(1, Ordering::SeqCst));
            async move {
                let _turn = gate.acquire().await.unwrap();
                if run < times {
                    return Err(ProviderError::new(ErrorCode::ToolFailed, "not yet"));
                }
                Ok(Answer::Done(done(json!({}))))
            }
        })
        .build()
        .await;
    let all: Vec<_> = (0..10)
        .map(|_| world.start(request("shelf.look", "{}")))
        .collect();
    world.until_seen(1).await;
    settle().await;
    turnstile.add_permits(1);
    let mut answered = 0;
    for task in all {
        answered += usize::from(said(&task.await.unwrap()) != "tool_failed");
    }
    (answered, world.fake.count())
}

#[tokio::test]
async fn sessions_do_not_share_a_flight() {
    let (world, turnstile) = held().await;
    let first = world.start(request("shelf.look", "{}"));
    world.until_seen(1).await;
    turnstile.add_permits(2);
    let other = world
        .call_as(&crate::support::caller("s2"), "shelf.look", "{}")
        .await;
    assert_eq!(said(&other), "ok");
    assert_eq!(said(&first.await.unwrap()), "ok");
    assert_eq!(world.fake.count(), 2);
}

#[tokio::test]
async fn a_thousand_who_ask_the_same_are_answered_by_one_run() {
    let (world, turnstile) = held().await;
    let all: Vec<_> = (0..1000)
        .map(|_| world.start(Request::clone(&request("shelf.look", "{}"))))
        .collect();
    world.until_seen(1).await;
    settle().await;
    turnstile.add_permits(1);
    let mut said_all = std::collections::BTreeMap::new();
    for task in all {
        *said_all.entry(said(&task.await.unwrap())).or_insert(0) += 1;
    }
    assert_eq!(said_all, [("hit", 999), ("ok", 1)].into());
    assert_eq!(world.fake.count(), 1);
}

/// Lets everything that can go on go on.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

async fn held() -> (World, Arc<Semaphore>) {
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .tool(spec_kept("shelf.look"), waits(&turnstile, json!({"n": 1})))
        .build()
        .await;
    (world, turnstile)
}
