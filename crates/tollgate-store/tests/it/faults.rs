//! Full disks, locked databases, damaged files: a clear error, nothing lost.

use std::{
    fs::{self, File},
    sync::Arc,
    time::Duration,
};

use tollgate_core::{
    HeldClock, Timestamp,
    store::{
        AuditLog as _, Batch, Change, Durability, LockHolder, Session, Sessions as _, Store as _,
        StoreError,
    },
};
use tollgate_store::{Limits, OpenError, Settings, SqliteStore};

use crate::world::{World, change, entries, remember, session, verify, write_rows};

#[tokio::test]
async fn a_full_disk_refuses_and_recovers() {
    let world = World::new();
    let store = world
        .try_open(Settings {
            limits: Limits {
                pages: Some(200),
                ..Limits::default()
            },
            ..world.settings()
        })
        .unwrap();
    let mut kept = 0;
    let refused = loop {
        let mut batch = entries([kept], Durability::Disk);
        batch.changes = vec![remember(&format!("answer-{kept}"), 50_000, None)];
        match store.commit(batch).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::Full), "{refused:?}");
    assert!(kept > 2);
    let found = store.verify().await.unwrap();
    assert_eq!((found.rows, found.problems), (kept, vec![]));
    let forget = Change::Forget { session: session() };
    store.commit(change(forget)).await.unwrap();
    let mut batch = entries([kept], Durability::Disk);
    batch.changes = vec![remember("after", 50_000, None)];
    let receipt = store.commit(batch).await.unwrap();
    assert_eq!(receipt.places[0].seq, kept + 1);
}

#[tokio::test]
async fn what_does_not_fit_leaves_room_for_its_neighbours() {
    let world = World::new();
    let settings = Settings {
        limits: Limits {
            pages: Some(200),
            ..Limits::default()
        },
        ..world.settings()
    };
    let store = Arc::new(world.try_open(settings).unwrap());
    let tasks: Vec<_> = (0..20_u64)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut batch = entries([number], Durability::Process);
                if number % 2 == 1 {
                    batch.changes = vec![remember("large", 2_000_000, None)];
                }
                (number % 2, store.commit(batch).await)
            })
        })
        .collect();
    for task in tasks {
        match task.await.unwrap() {
            (0, made) => assert_eq!(made.unwrap().places.len(), 1),
            (_, refused) => assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}"),
        }
    }
    assert_eq!(store.verify().await.unwrap().rows, 10);
}

fn impatient(world: &World) -> Settings {
    Settings {
        limits: Limits {
            busy: Duration::from_millis(100),
            queue: 4,
            ..Limits::default()
        },
        ..world.settings()
    }
}

#[tokio::test]
async fn a_database_locked_for_too_long_is_busy_and_then_works() {
    let world = World::new();
    let store = world.try_open(impatient(&world)).unwrap();
    let other = world.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.commit(entries([1], Durability::Process)).await;
    assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
    other.execute_batch("ROLLBACK").unwrap();
    let receipt = store.commit(entries([2], Durability::Disk)).await.unwrap();
    assert_eq!(receipt.places[0].seq, 1);
}

/// The holder of a lock that the test itself has taken.
fn this_process() -> LockHolder {
    LockHolder {
        pid: Some(std::process::id()),
        is_stopped: false,
    }
}

#[tokio::test]
async fn a_process_that_keeps_the_lock_makes_others_busy_and_loses_nothing() {
    let world = World::new();
    let store = Arc::new(world.try_open(impatient(&world)).unwrap());
    write_rows(&store, 2).await;
    let lock = File::open(world.path("state/write.lock")).unwrap();
    lock.lock().unwrap();
    let tasks: Vec<_> = (0..6)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.commit(entries([number], Durability::Disk)).await })
        })
        .collect();
    for task in tasks {
        let refused = task.await.unwrap();
        assert!(
            match &refused {
                Err(StoreError::Held(holder)) => *holder == this_process(),
                // Those that the queue has no room for.
                other => matches!(other, Err(StoreError::Busy)),
            },
            "{refused:?}"
        );
    }
    // Reading goes on.
    assert_eq!(store.session(&session()).await.unwrap(), None);
    assert_eq!(store.verify().await.unwrap().rows, 2);
    let opened = Settings {
        state_dir: world.path("state"),
        ..impatient(&world)
    };
    drop(world.try_open(opened).unwrap());
    lock.unlock().unwrap();
    let receipt = store.commit(entries([9], Durability::Disk)).await.unwrap();
    assert_eq!(receipt.places[0].seq, 3);
}

#[tokio::test]
async fn a_first_start_behind_a_kept_lock_is_busy() {
    let world = World::new();
    fs::create_dir_all(world.path("state")).unwrap();
    let lock = File::create(world.path("state/write.lock")).unwrap();
    lock.lock().unwrap();
    let refused = world.try_open(impatient(&world)).err();
    assert!(
        matches!(refused, Some(OpenError::Held(holder)) if holder == this_process()),
        "{refused:?}"
    );
    lock.unlock().unwrap();
    world.try_open(impatient(&world)).unwrap();
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_is_a_clear_error() {
    let world = World::new();
    fs::write(world.path("state"), "a file").unwrap();
    let refused = world.try_open(world.settings()).err();
    assert!(
        matches!(refused, Some(OpenError::Directory(_))),
        "{refused:?}"
    );
    let absent = SqliteStore::open_read_only(Settings::new(world.path("absent"))).err();
    assert!(matches!(absent, Some(OpenError::Absent)), "{absent:?}");
    let named = Settings {
        chain: "../main".to_owned(),
        ..world.settings()
    };
    let refused = world.try_open(named).err();
    assert!(
        matches!(refused, Some(OpenError::ChainName(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_damaged_file_is_a_clear_error() {
    let world = World::new();
    let store = world.open();
    write_rows(&store, 3).await;
    drop(store);
    fs::remove_file(world.path("state/tollgate.db-wal")).unwrap();
    fs::write(world.path("state/tollgate.db"), vec![7; 8192]).unwrap();
    for refused in [
        world.try_open(world.settings()).err(),
        SqliteStore::open_read_only(world.settings()).err(),
    ] {
        assert!(
            matches!(refused, Some(OpenError::Corrupt(_))),
            "{refused:?}"
        );
    }
    let world = World::new();
    drop(world.open());
    fs::write(world.path("state/audit-signing.key"), "short").unwrap();
    let refused = world.try_open(world.settings()).err();
    assert!(matches!(refused, Some(OpenError::Key(_))), "{refused:?}");
}

#[tokio::test]
async fn a_state_of_a_later_release_or_another_chain_is_refused() {
    let world = World::new();
    drop(world.open());
    let named = Settings {
        chain: "other".to_owned(),
        ..world.settings()
    };
    let refused = world.try_open(named).err();
    assert!(
        matches!(&refused, Some(OpenError::OtherChain(chain)) if chain == "main"),
        "{refused:?}"
    );
    let sql = world.sql();
    sql.execute_batch("PRAGMA user_version = 999").unwrap();
    let refused = world.try_open(world.settings()).err();
    assert!(
        matches!(refused, Some(OpenError::TooNew { found: 999, .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_store_that_only_reads_reads_and_refuses_to_write() {
    let world = World::new();
    let writer = world.open();
    write_rows(&writer, 3).await;
    let reader = SqliteStore::open_read_only(world.settings()).unwrap();
    assert_eq!(reader.verify().await.unwrap().rows, 3);
    let refused = reader.commit(entries([1], Durability::Process)).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly)), "{refused:?}");
    write_rows(&writer, 1).await;
    assert_eq!(reader.verify().await.unwrap().rows, 4);
}

#[tokio::test]
async fn a_clock_that_jumps_back_disturbs_nothing() {
    let world = World::new();
    let clock = Arc::new(HeldClock::new(Timestamp(1_795_000_000_000)));
    let store = world.open_with_clock(clock.clone());
    let open = Change::OpenSession(Session::new(session(), Timestamp(5)));
    for (number, now) in [
        (1, 1_795_000_000_000),
        (2, 5),
        (3, -1),
        (4, 1_795_000_000_001),
    ] {
        clock.set(Timestamp(now));
        let batch = entries([number], Durability::Disk);
        let receipt = store.commit(batch).await.unwrap();
        assert_eq!(receipt.places[0].seq, number);
    }
    store.commit(change(open)).await.unwrap();
    drop(store);
    let found = verify(&world).await;
    assert_eq!(found.problems, [""; 0]);
    assert_eq!((found.rows, found.anchored), (4, Some(4)));
}

#[tokio::test]
async fn after_the_end_a_commit_is_refused() {
    let world = World::new();
    let store = world.open();
    let waiting = store.commit(entries([1], Durability::Disk));
    waiting.await.unwrap();
    store.close().await;
    store.close().await;
    let refused = store.commit(Batch::default()).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert_eq!(store.verify().await.unwrap().anchored, Some(1));
}
