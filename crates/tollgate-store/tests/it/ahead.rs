//! Looking ahead for a commit that will come: it misses nothing that others write meanwhile,
//! and holds nothing up if the commit never comes.

use std::time::Duration;

use rusqlite::Connection;
use tollgate_core::{
    Principal, Timestamp,
    store::{Batch, Change, Durability, Store as _, StoreError},
};
use tollgate_store::SqliteStore;

use crate::world::{World, entries, verify};

/// More than enough transactions of one commit each.
const MANY: u64 = 40;

async fn one_row(store: &SqliteStore) -> u64 {
    let receipt = store.commit(entries([7], Durability::Process)).await;
    receipt.unwrap().places[0].seq
}

/// A store whose callers are alone, with commits that are still to be signed.
async fn alone(world: &World) -> SqliteStore {
    let store = world.open();
    for _ in 0..MANY {
        one_row(&store).await;
    }
    assert!(store.can_look_ahead());
    store
}

#[tokio::test]
async fn nobody_looks_ahead_who_is_not_alone() {
    let world = World::new();
    assert!(!world.open().can_look_ahead());
    let reads = SqliteStore::open_read_only(world.settings()).unwrap();
    assert!(!reads.can_look_ahead());
    reads.look_ahead();
}

#[tokio::test]
async fn what_others_write_meanwhile_is_before_what_comes() {
    let world = World::new();
    let (one, other) = (alone(&world).await, alone(&world).await);
    let mut last = 2 * MANY;
    for round in 0..3 * MANY {
        one_row(&one).await;
        one.look_ahead();
        if round % 2 == 0 {
            assert_eq!(one_row(&other).await, last + 2);
            last += 1;
        }
        // A second look changes nothing.
        one.look_ahead();
        assert_eq!(one_row(&one).await, last + 2);
        last += 2;
    }
    drop((one, other));
    let found = verify(&world).await;
    assert_eq!((found.rows, found.problems), (last, vec![]));
}

fn put(version: Option<u64>) -> Batch {
    Batch {
        changes: vec![Change::PutState {
            namespace: "files".to_owned(),
            principal: Principal::user(1000),
            key: "place".to_owned(),
            version,
            value: b"here".to_vec(),
            until: None,
            at: Timestamp(0),
        }],
        ..entries([8], Durability::Process)
    }
}

#[tokio::test]
async fn nothing_is_refused_for_what_was_so_when_somebody_looked() {
    let world = World::new();
    let (one, other) = (alone(&world).await, alone(&world).await);
    one_row(&one).await;
    one.look_ahead();
    let version = other.commit(put(None)).await.unwrap().version;
    let next = one.commit(put(version)).await.unwrap().version;
    assert!(next > version);
    // What is so now is refused as ever.
    one.look_ahead();
    let refused = one.commit(put(version)).await;
    assert!(matches!(refused, Err(StoreError::Conflict)), "{refused:?}");
}

#[tokio::test]
async fn a_disk_commit_and_a_crowd_come_after_a_look() {
    let world = World::new();
    let store = alone(&world).await;
    store.look_ahead();
    let kept = store.commit(entries([9], Durability::Disk)).await.unwrap();
    assert_eq!(kept.places[0].seq, MANY + 1);
    store.look_ahead();
    let crowd = (0..MANY).map(|it| store.commit(entries([it], Durability::Process)));
    for receipt in futures_util::future::join_all(crowd).await {
        receipt.unwrap();
    }
    drop(store);
    let found = verify(&world).await;
    assert_eq!((found.rows, found.problems), (2 * MANY + 1, vec![]));
}

/// Whether the log could be emptied: not while somebody looks at an older state.
fn is_emptied(other: &Connection) -> bool {
    let busy = other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    busy.is_ok_and(|busy: i64| busy == 0)
}

#[tokio::test]
async fn whoever_looks_ahead_in_vain_soon_looks_away() {
    let world = World::new();
    let store = alone(&world).await;
    let other = world.sql();
    other.busy_timeout(Duration::ZERO).unwrap();
    one_row(&store).await;
    store.look_ahead();
    while !is_emptied(&other) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // With everything signed nobody would look away, so nobody looks.
    while signed(&other) < MANY + 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    one_row(&world.open()).await;
    store.look_ahead();
    one_row(&world.open()).await;
    assert!(is_emptied(&other));
    assert_eq!(one_row(&store).await, MANY + 4);
}

fn signed(other: &Connection) -> u64 {
    let last = other.query_row("SELECT max(seq) FROM audit_signed_heads", [], |row| {
        row.get::<_, Option<i64>>(0)
    });
    last.unwrap().unwrap_or_default().unsigned_abs()
}
