//! The first of a crowd writes for all of it, and nobody depends on what becomes of that caller.

use std::{fs::File, sync::Arc, time::Duration};

use tokio::runtime;
use tollgate_core::store::{AuditLog as _, Durability, Store as _};
use tollgate_store::{Limits, Settings, SqliteStore};

use crate::world::{World, entries, remember, verify};

const CROWD: u64 = 32;

fn one_thread() -> runtime::Runtime {
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// How many transactions the log of the database holds.
fn transactions(world: &World) -> usize {
    log(world).1
}

/// What tells the log from one that began anew, and how many transactions it holds.
fn log(world: &World) -> ([u8; 8], usize) {
    const HEADER: usize = 32;
    const FRAME: usize = 24 + 4096;
    let log = std::fs::read(world.path("state/tollgate.db-wal")).unwrap();
    let salt = log[16..24].try_into().unwrap();
    // What an earlier log left behind has another one.
    let frames = log[HEADER..].chunks_exact(FRAME);
    let frames = frames.filter(|frame| frame[8..16] == salt);
    // A frame that ends a transaction says how large the database is then.
    let ends = frames.filter(|frame| frame[4..8] != [0; 4]);
    (salt, ends.count())
}

/// Long enough for whoever leads to have tried.
async fn others_go_first() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

/// Has so many write, each of them so many turns after the one before.
async fn write(store: &Arc<SqliteStore>, count: u64, apart: u64) {
    let one = |number: u64| {
        let store = Arc::clone(store);
        async move {
            for _ in 0..apart * number {
                tokio::task::yield_now().await;
            }
            store.commit(entries([number], Durability::Process)).await
        }
    };
    let tasks: Vec<_> = (0..count).map(|number| tokio::spawn(one(number))).collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
}

/// Has many write at once.
async fn crowd(store: &Arc<SqliteStore>) {
    write(store, CROWD, 0).await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_crowd_shares_transactions() {
    let world = World::new();
    let store = Arc::new(world.open());
    let before = transactions(&world);
    crowd(&store).await;
    let shared = transactions(&world) - before;
    // Beside theirs there may be those that sign.
    assert!((1..8).contains(&shared), "{shared}");
    let found = verify(&world).await;
    assert_eq!((found.rows, found.problems), (CROWD, vec![]));
}

#[tokio::test(flavor = "current_thread")]
async fn calls_that_are_foreseen_share_transactions_though_they_end_one_after_the_other() {
    let world = World::new();
    let store = Arc::new(world.open());
    let mut shared = 0;
    for _ in 0..200 {
        crowd(&store).await;
        let (before, held) = log(&world);
        store.foresee(CROWD.try_into().unwrap());
        write(&store, 6, 8).await;
        store.foresee(0);
        let (after, holds) = log(&world);
        shared += usize::from(after == before && holds - held < 3);
    }
    // A machine that is busy with other things may be too slow for those who wait, and the
    // thread that signs may gather some by chance.
    assert!(shared >= 20, "{shared}");
    assert_eq!(verify(&world).await.problems, Vec::<String>::new());
}

#[tokio::test(flavor = "current_thread")]
async fn nobody_waits_for_ever_for_calls_that_do_not_come() {
    let world = World::new();
    let store = Arc::new(world.open());
    crowd(&store).await;
    for number in 0..4 {
        store.foresee(1_000);
        let lone = store.commit(entries([number], Durability::Process));
        let synced = store.commit(entries([number], Durability::Disk));
        let (lone, synced) = tokio::join!(lone, synced);
        assert!(lone.is_ok() && synced.is_ok());
    }
    assert_eq!(world.count("audit_entries"), CROWD + 8);
}

#[tokio::test(flavor = "current_thread")]
async fn a_caller_who_is_not_asked_holds_up_nobody() {
    let world = World::new();
    let store = world.open();
    let first = store.commit(entries([1], Durability::Process));
    tokio::pin!(first);
    assert!(futures_util::poll!(&mut first).is_pending());
    let second = store.commit(entries([2], Durability::Process));
    assert_eq!(second.await.unwrap().places[0].seq, 2);
    assert_eq!(first.await.unwrap().places[0].seq, 1);
}

#[test]
fn what_a_runtime_leaves_behind_is_written() {
    let world = World::new();
    let store = world.open();
    let mut commit = Box::pin(store.commit(entries([1], Durability::Process)));
    let runtime = one_thread();
    runtime.block_on(async { assert!(futures_util::poll!(&mut commit).is_pending()) });
    drop(runtime);
    let receipt = one_thread().block_on(commit).unwrap();
    assert_eq!(receipt.places[0].seq, 1);
}

#[tokio::test(flavor = "current_thread")]
async fn whoever_holds_the_database_or_the_lock_holds_up_no_other_task() {
    let world = World::new();
    let limits = Limits {
        busy: Duration::from_secs(600),
        ..Limits::default()
    };
    let settings = Settings {
        limits,
        ..world.settings()
    };
    let store = Arc::new(world.try_open(settings).unwrap());
    let other = world.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // With one thread only, this goes on while the commits wait, or never.
    let free = async {
        others_go_first().await;
        other.execute_batch("ROLLBACK").unwrap();
    };
    tokio::join!(crowd(&store), free);
    let lock = File::open(world.path("state/write.lock")).unwrap();
    lock.lock().unwrap();
    let free = async {
        others_go_first().await;
        drop(lock);
    };
    tokio::join!(crowd(&store), free);
    assert_eq!(store.verify().await.unwrap().problems, Vec::<String>::new());
    assert_eq!(world.count("audit_entries"), 2 * CROWD);
}

#[tokio::test(flavor = "current_thread")]
async fn a_large_answer_is_written_elsewhere() {
    let world = World::new();
    let store = world.open();
    let mut batch = entries([1], Durability::Process);
    batch.changes.push(remember("large", 1 << 20, None));
    let commit = store.commit(batch);
    tokio::pin!(commit);
    assert!(futures_util::poll!(&mut commit).is_pending());
    // No task runs meanwhile.
    while world.count("audit_entries") == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    commit.await.unwrap();
}
