//! Calls whose process died are ended once; calls that live are left alone.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use tollgate_core::{
    CallId, Estimate, Principal, SessionKey, Timestamp,
    store::{Batch, Change, Intent, Session, Store},
};
use tollgate_engine::Decided;
use tollgate_testkit::{MemoryStore, fakes::says};

use crate::support::{Setup, World, details, request, said, spec_paid, spec_write, waits};

#[tokio::test]
async fn an_intent_of_the_dead_is_ended_once_as_interrupted() {
    let world = shop().await;
    announce(&world, "call-read", "dead-1", false).await;
    announce(&world, "call-write", "dead-1", true).await;
    announce(&world, "call-other", "alive-2", true).await;
    assert_eq!(world.session("s1").await.reserved, 9);
    world.memory.bury("dead-1");
    assert_eq!(world.gateway.recover().await.unwrap(), 2);
    assert_eq!(world.gateway.recover().await.unwrap(), 0);

    let endings = world.rows("ending").await;
    let told: Vec<_> = endings
        .iter()
        .map(|row| {
            [
                "call_id",
                "status",
                "error_code",
                "owner",
                "recovered",
                "consumed",
            ]
            .map(|name| row[name].clone())
        })
        .collect();
    let interrupted = |call: &str| {
        [
            json!(call),
            json!("error"),
            json!("tool.gate.record.interrupted"),
            json!("dead-1"),
            json!(true),
            json!(3),
        ]
    };
    assert_eq!(told, [interrupted("call-read"), interrupted("call-write")]);
    let session = world.session("s1").await;
    assert_eq!((session.consumed, session.reserved), (6, 3));

    world.memory.bury("alive-2");
    assert_eq!(world.gateway.recover().await.unwrap(), 1);
    world.check(3).await;
}

#[tokio::test]
async fn two_who_recover_at_once_end_each_call_once() {
    let world = Arc::new(shop().await);
    for call in 0..20 {
        announce(&world, &format!("call-{call}"), "dead-1", true).await;
    }
    world.memory.bury("dead-1");
    let others: Vec<_> = (0..4)
        .map(|_| {
            let gateway = world.gateway.clone();
            tokio::spawn(async move { gateway.recover().await.unwrap() })
        })
        .collect();
    let mut ended = 0;
    for other in others {
        ended += other.await.unwrap();
    }
    assert_eq!(ended, 20);
    world.check(20).await;
}

#[tokio::test]
async fn a_call_that_runs_here_is_not_touched() {
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .on_disk()
        .tool(
            spec_paid("shelf.slow", 3, false),
            waits(&turnstile, json!({})),
        )
        .build()
        .await;
    let running = world.start(request("shelf.slow", "{}"));
    world.until_seen(1).await;
    assert_eq!(world.gateway.recover().await.unwrap(), 0);
    turnstile.add_permits(1);
    assert_eq!(said(&running.await.unwrap()), "ok");
    world.check(1).await;
}

#[tokio::test]
async fn whoever_asks_again_for_an_effect_of_the_dead_is_told_how_it_ended() {
    let turnstile = Arc::new(Semaphore::new(0));
    let store = Arc::new(MemoryStore::new());
    let open = async || {
        Setup::new()
            .store(Arc::clone(&store) as Arc<dyn Store>)
            .tool(spec_write("shelf.write"), waits(&turnstile, json!({})))
            .build()
            .await
    };
    let (dies, lives) = (open().await, open().await);
    let asked = dies.call("shelf.write", "{}").await;
    dies.decide(&asked, Decided::Once).await;
    let running = dies.start(request("shelf.write", "{}"));
    dies.until_seen(1).await;
    let again = lives.call("shelf.write", "{}").await;
    assert_eq!(said(&again), "overloaded", "its process lives");
    store.bury("memory-owner");
    let again = lives.call("shelf.write", "{}").await;
    assert_eq!(said(&again), "interrupted");
    assert_eq!(details(&again), json!({"outcome": "unknown"}));
    assert_eq!(lives.fake.count(), 0);
    lives.check(4).await;
    running.abort();
}

/// Announces a call as a process of this name would.
async fn announce(world: &World, call: &str, owner: &str, effect: bool) {
    let key = SessionKey::new(Principal::user(1000), "s1");
    let store: &dyn Store = world.gateway.store().as_ref();
    let changes = vec![
        Change::OpenSession(Session::new(key.clone(), Timestamp(0))),
        Change::Reserve {
            session: key.clone(),
            estimate: Estimate::exactly(3),
        },
        Change::OpenIntent(Intent {
            call: CallId(call.into()),
            owner: owner.to_owned(),
            session: key,
            tool: "shelf.write".to_owned(),
            trace_id: "t".to_owned(),
            reserved: 3,
            effect,
            digest: None,
            idempotency_key: None,
            at: Timestamp(0),
        }),
    ];
    let batch = Batch {
        changes,
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
}

async fn shop() -> World {
    Setup::new()
        .tool(spec_write("shelf.write"), says(json!({})))
        .build()
        .await
}
