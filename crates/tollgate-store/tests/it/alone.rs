//! A caller who is alone writes for itself: the same record, and nobody waits for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tollgate_core::store::{AuditLog as _, Durability, Store as _, StoreError};
use tollgate_store::{Limits, Settings};

use crate::world::{World, entries, verify, write_rows};

/// More than enough transactions of one commit each.
const MANY: u64 = 40;

#[tokio::test]
async fn callers_alone_and_in_a_crowd_make_one_whole_chain() {
    let world = World::new();
    let store = Arc::new(world.open());
    for round in 0..6_u64 {
        write_rows(&store, MANY).await;
        let tasks: Vec<_> = (0..MANY)
            .map(|number| {
                let store = Arc::clone(&store);
                let durability = if number % 8 == round {
                    Durability::Disk
                } else {
                    Durability::Process
                };
                tokio::spawn(async move { store.commit(entries([number], durability)).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    }
    store.close().await;
    let refused = store.commit(entries([1], Durability::Process)).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    drop(store);
    let found = verify(&world).await;
    assert_eq!((found.rows, found.problems), (12 * MANY, vec![]));
}

#[tokio::test(flavor = "current_thread")]
async fn a_locked_database_holds_up_no_caller_who_is_alone() {
    let world = World::new();
    let store = world
        .try_open(Settings {
            limits: Limits {
                busy: Duration::from_millis(300),
                ..Limits::default()
            },
            ..world.settings()
        })
        .unwrap();
    write_rows(&store, MANY).await;
    let other = world.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let commit = store.commit(entries([1], Durability::Process));
    tokio::pin!(commit);
    // With one thread only, this is asked while the commit waits, or never.
    let early = futures_util::poll!(&mut commit);
    assert!(early.is_pending(), "{early:?}");
    other.execute_batch("ROLLBACK").unwrap();
    let receipt = commit.await.unwrap();
    assert_eq!(receipt.places[0].seq, MANY + 1);
    assert_eq!(store.verify().await.unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn two_processes_that_are_each_alone_share_one_chain() {
    let world = World::new();
    let (one, other) = (world.open(), world.open());
    for number in 0..4 * MANY {
        let store = if number % 3 == 0 { &other } else { &one };
        let batch = entries([number], Durability::Process);
        let receipt = store.commit(batch).await.unwrap();
        assert_eq!(receipt.places[0].seq, number + 1);
    }
    drop((one, other));
    let found = verify(&world).await;
    assert_eq!((found.rows, found.problems), (4 * MANY, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_is_alone_starves_no_other_process() {
    let world = World::new();
    let (busy, other) = (world.open(), world.open());
    write_rows(&busy, MANY).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_over);
    let hammer = tokio::spawn(async move {
        let mut written = 0;
        while !seen.load(Ordering::Relaxed) {
            let batch = entries([written], Durability::Process);
            busy.commit(batch).await.unwrap();
            written += 1;
        }
        written
    });
    for number in 0..MANY {
        let batch = entries([number], Durability::Disk);
        other.commit(batch).await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    let written = hammer.await.unwrap();
    drop(other);
    let found = verify(&world).await;
    assert_eq!((found.rows, found.problems), (2 * MANY + written, vec![]));
}
