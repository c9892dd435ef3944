//! Bodies that lie with the entries about their calls.

use std::{sync::Arc, time::Duration};

use tollgate_core::{
    CallId, HeldClock, Timestamp,
    store::{AuditLog as _, Batch, Body, Change, Durability, Store as _},
};
use tollgate_store::{Retention, Settings, SqliteStore, schema_sql};

use crate::world::{World, entries, verify};

/// More than lies with an entry.
const LARGE: usize = 1025;

#[tokio::test]
async fn a_small_body_lies_with_its_entry_and_is_found_at_once_and_later() {
    let world = World::new();
    let store = world.open();
    for number in 0..600 {
        store.commit(ended(number, "{}")).await.unwrap();
    }
    assert_eq!(world.count("bodies"), 0);
    for number in [0, 1, 255, 256, 511, 512, 598, 599] {
        assert_eq!(data(&store, number).await.as_deref(), Some("{}"));
    }
    assert_eq!(data(&store, 600).await, None);
    assert_eq!(verify(&world).await.problems, [""; 0]);
}

#[tokio::test]
async fn what_is_large_or_empty_or_has_no_entry_of_its_own_lies_apart() {
    let world = World::new();
    let store = world.open();
    let large = "x".repeat(LARGE);
    store.commit(ended(0, &large)).await.unwrap();
    assert_eq!(world.count("bodies"), 1);
    assert_eq!(data(&store, 0).await, Some(large));

    let mut batch = ended(1, "{}");
    batch.changes = vec![keep(1, None)];
    store.commit(batch).await.unwrap();
    let empty = Body {
        call: CallId("call-1".into()),
        arguments: None,
        data: None,
    };
    let found = store.body(&empty.call).await.unwrap();
    assert_eq!(found, Some(empty));

    let mut batch = ended(2, "{}");
    batch.changes.push(keep(77, Some("apart")));
    store.commit(batch).await.unwrap();
    assert_eq!(world.count("bodies"), 3);
    assert_eq!(data(&store, 2).await.as_deref(), Some("{}"));
    assert_eq!(data(&store, 77).await.as_deref(), Some("apart"));
}

#[tokio::test]
async fn of_entries_too_far_back_only_the_record_stays() {
    let world = World::new();
    let settings = Settings {
        retention: Retention {
            body_rows: 100,
            ..Retention::default()
        },
        ..world.settings()
    };
    let store = SqliteStore::open(settings, Arc::new(tollgate_core::SystemClock)).unwrap();
    for number in 0..2100 {
        store.commit(ended(number, "{}")).await.unwrap();
    }
    let kept = world.count("audit_entries WHERE data IS NOT NULL");
    assert!((100..=100 + 1024).contains(&kept), "{kept}");
    assert_eq!(data(&store, 0).await, None);
    assert_eq!(data(&store, 2099).await.as_deref(), Some("{}"));
    let found = verify(&world).await;
    assert_eq!((found.rows, found.problems), (2100, vec![]));
}

#[tokio::test]
async fn what_lies_with_old_entries_is_forgotten_and_younger_ones_keep_theirs() {
    const START: i64 = 1_795_000_000_000;
    let world = World::new();
    let clock = Arc::new(HeldClock::new(Timestamp(START)));
    let store = SqliteStore::open(world.settings(), Arc::clone(&clock) as Arc<_>).unwrap();
    store.commit(ended(0, "{}")).await.unwrap();
    store.commit(ended(1, "{}")).await.unwrap();
    // The entries say a millisecond more each; the second is the first that is young enough.
    let bodies = Retention::default().bodies;
    clock.set(Timestamp(START + 1).plus(bodies));
    store
        .commit(entries(10..1100, Durability::Process))
        .await
        .unwrap();
    assert_eq!(data(&store, 0).await, None);
    assert_eq!(data(&store, 1).await.as_deref(), Some("{}"));

    clock.set(Timestamp(START + 2).plus(bodies));
    store
        .commit(entries(1100..2100, Durability::Process))
        .await
        .unwrap();
    assert_eq!(data(&store, 1).await, None);
    assert_eq!(verify(&world).await.problems, [""; 0]);
}

#[tokio::test]
async fn bodies_of_the_seventh_version_are_found() {
    let world = World::new();
    std::fs::create_dir_all(world.path("state")).unwrap();
    let older = schema_sql();
    let older = &older[..older.find("-- version 8").unwrap()];
    let database = world.sql();
    database.execute_batch(older).unwrap();
    database
        .execute_batch(
            "INSERT INTO bodies (call, at, arguments, data) VALUES ('call-5', 0, NULL, '[]');
             PRAGMA user_version = 7",
        )
        .unwrap();
    drop(database);
    let store = world.open();
    assert_eq!(data(&store, 5).await.as_deref(), Some("[]"));
    store.commit(ended(6, "{}")).await.unwrap();
    assert_eq!(data(&store, 6).await.as_deref(), Some("{}"));
}

#[tokio::test]
async fn a_lone_commit_writes_fewer_pages_for_a_small_body() {
    let mut lengths = Vec::new();
    for size in [LARGE - 1, LARGE] {
        let world = World::new();
        let store = world.open();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let log = world.path("state/tollgate.db-wal");
        let before = std::fs::metadata(&log).unwrap().len();
        for number in 0..100 {
            store
                .commit(ended(number, &"x".repeat(size)))
                .await
                .unwrap();
        }
        lengths.push(std::fs::metadata(&log).unwrap().len() - before);
    }
    assert!(lengths[0] * 4 < lengths[1] * 3, "{lengths:?}");
}

/// The ending of a call with what replay needs.
fn ended(number: u64, data: &str) -> Batch {
    Batch {
        changes: vec![keep(number, Some(data))],
        ..entries([number], Durability::Process)
    }
}

fn keep(number: u64, data: Option<&str>) -> Change {
    Change::KeepBody(Body {
        call: CallId(format!("call-{number}").into()),
        arguments: None,
        data: data.map(str::to_owned),
    })
}

pub(crate) async fn data(store: &SqliteStore, number: u64) -> Option<String> {
    let call = CallId(format!("call-{number}").into());
    let body = store.body(&call).await.unwrap()?;
    assert_eq!(body.call, call);
    body.data
}

#[tokio::test]
async fn entries_that_nobody_signs_for_long_are_indexed_all_the_same() {
    let world = World::new();
    let settings = Settings {
        sync_interval: Duration::from_secs(3600),
        ..world.settings()
    };
    let store = SqliteStore::open(settings, Arc::new(tollgate_core::SystemClock)).unwrap();
    for number in 0..20 {
        let batch = entries(number * 256..(number + 1) * 256, Durability::Process);
        store.commit(batch).await.unwrap();
        let indexed = world.count("audit_index");
        let waiting = (number + 1) * 256 - indexed;
        assert!(waiting <= 17 * 256, "{waiting}");
    }
    assert!(world.count("audit_index") >= 16 * 256);
    let query = tollgate_core::audit::AuditQuery {
        call_id: Some("call-5119".to_owned()),
        limit: 1,
        ..Default::default()
    };
    assert_eq!(store.records(&query).await.unwrap().len(), 1);
}
