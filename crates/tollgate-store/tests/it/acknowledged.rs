//! A state that is not the one that was acknowledged, when it is opened and while it is open.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use tollgate_core::{
    CallId, Timestamp,
    store::{
        AuditLog as _, Batch, Change, Durability, Intent, Intents as _, StateProblem, Store as _,
        StoreError,
    },
};
use tollgate_store::SqliteStore;

use crate::world::{World, entries, session, verify, write_rows};

/// Copies the database as a backup would, while nobody has it open.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in ["tollgate.db", "tollgate.db-wal"] {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

fn restore(world: &World) {
    for name in ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"] {
        drop(fs::remove_file(world.path("state").join(name)));
    }
    copy(&world.path("backup"), &world.path("state"));
}

fn effect(store: &SqliteStore, call: &str) -> Batch {
    let intent = Intent {
        call: CallId(call.into()),
        owner: store.owner().to_owned(),
        session: session(),
        tool: "mail.send".to_owned(),
        trace_id: "trace".to_owned(),
        reserved: 0,
        effect: true,
        digest: None,
        idempotency_key: Some("once".to_owned()),
        at: Timestamp(0),
    };
    Batch {
        changes: vec![Change::OpenIntent(intent)],
        durability: Durability::Disk,
        ..Batch::default()
    }
}

/// What keeps an effect from being announced; reading goes on meanwhile.
async fn refusal(store: &SqliteStore) -> String {
    let read = entries([77], Durability::Process);
    store.commit(read).await.unwrap();
    let refused = store.commit(effect(store, "refused")).await;
    let Err(StoreError::NotAcknowledged(problem)) = refused else {
        panic!("{refused:?}");
    };
    let checked = store.check_commit().await;
    assert!(
        matches!(checked, Err(StoreError::NotAcknowledged(_))),
        "{checked:?}"
    );
    problem.as_str().to_owned()
}

/// An operator's word lets effects happen again, and stays to be seen.
async fn accepted(world: &World, store: &SqliteStore, reason: &str) {
    store.accept("user:1 at a terminal", Timestamp(5)).unwrap();
    store.commit(effect(store, "after")).await.unwrap();
    store.check_commit().await.unwrap();
    let found = store.verify().await.unwrap();
    assert_eq!(found.problems, [""; 0]);
    assert_eq!(found.accepted.len(), 1);
    assert_eq!(found.accepted[0].reasons, [reason]);
    assert_eq!(
        (found.accepted[0].epoch, &*found.accepted[0].by),
        (2, "user:1 at a terminal")
    );
    store.close().await;
    let again = world.open();
    again.commit(effect(&again, "later")).await.unwrap_err();
    assert_eq!(again.problems().unwrap(), []);
    assert_eq!(verify(world).await.accepted.len(), 1);
}

#[tokio::test]
async fn a_copy_from_before_the_anchor_is_rolled_back() {
    let world = World::new();
    write_rows(&world.open(), 3).await;
    copy(&world.path("state"), &world.path("backup"));
    write_rows(&world.open(), 9).await;
    restore(&world);
    let store = world.open();
    assert_eq!(refusal(&store).await, "rolled_back");
    accepted(&world, &store, "rolled_back").await;
}

#[tokio::test]
async fn an_emptied_or_damaged_log_is_noticed_when_it_is_opened() {
    let damages: [fn(&mut Vec<u8>); 4] = [
        |log| log.clear(),
        |log| log.truncate(log.len() / 2),
        |log| log[100] ^= 1,
        |log| log[10] ^= 1,
    ];
    for damage in damages {
        let world = World::new();
        write_rows(&world.open(), 9).await;
        let path = world.path("state/tollgate.db-wal");
        drop(fs::remove_file(world.path("state/tollgate.db-shm")));
        let mut log = fs::read(&path).unwrap();
        assert!(log.len() > 8192);
        damage(&mut log);
        fs::write(&path, log).unwrap();
        match world.try_open(world.settings()) {
            Ok(store) => assert_eq!(refusal(&store).await, "rolled_back"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_database_that_vanished_or_was_replaced_makes_a_chain_that_the_anchor_contradicts() {
    let world = World::new();
    write_rows(&world.open(), 3).await;
    for name in ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"] {
        drop(fs::remove_file(world.path("state").join(name)));
    }
    let store = world.open();
    assert_eq!(refusal(&store).await, "rolled_back");
}

#[tokio::test]
async fn a_new_database_is_noticed_before_the_anchor_has_moved() {
    let world = World::new();
    world.open().close().await;
    for name in ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"] {
        drop(fs::remove_file(world.path("state").join(name)));
    }
    let store = world.open();
    assert_eq!(refusal(&store).await, "diverged");
    let found = store.verify().await.unwrap();
    assert_eq!(found.problems, ["anchor at 0: it is of another chain"]);
    accepted(&world, &store, "diverged").await;
}

#[tokio::test]
async fn nothing_is_acknowledged_into_a_file_that_is_gone() {
    for (name, expected) in [
        ("tollgate.db", "deleted"),
        ("tollgate.db-wal", "log_damaged"),
    ] {
        let world = World::new();
        let store = world.open();
        write_rows(&store, 20).await;
        fs::remove_file(world.path("state").join(name)).unwrap();
        for durability in [Durability::Process, Durability::Disk] {
            for number in 0..20 {
                let refused = store.commit(entries([number], durability)).await;
                let Err(StoreError::NotAcknowledged(problem)) = refused else {
                    panic!("{refused:?}");
                };
                assert_eq!(problem.as_str(), expected);
            }
        }
        let checked = store.check_commit().await;
        assert!(
            matches!(checked, Err(StoreError::NotAcknowledged(_))),
            "{checked:?}"
        );
    }
}

#[tokio::test]
async fn a_database_that_was_replaced_while_it_was_open_is_noticed() {
    let world = World::new();
    let store = world.open();
    write_rows(&store, 3).await;
    copy(&world.path("state"), &world.path("backup"));
    fs::rename(
        world.path("backup/tollgate.db"),
        world.path("state/tollgate.db"),
    )
    .unwrap();
    let refused = store.commit(entries([9], Durability::Process)).await;
    let replaced = StateProblem::Replaced;
    assert!(
        matches!(&refused, Err(StoreError::NotAcknowledged(problem)) if *problem == replaced),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_schema_that_became_newer_is_not_written() {
    let world = World::new();
    let store = world.open();
    write_rows(&store, 3).await;
    world
        .sql()
        .pragma_update(None, "user_version", 999)
        .unwrap();
    for durability in [Durability::Process, Durability::Disk] {
        let refused = store.commit(entries([9], durability)).await;
        let Err(StoreError::NotAcknowledged(problem)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(problem.as_str(), "newer_schema");
    }
    assert_eq!(world.count("audit_entries"), 3);
}

#[tokio::test]
async fn a_lost_anchor_is_not_made_again_without_an_operator() {
    let world = World::new();
    write_rows(&world.open(), 3).await;
    fs::remove_file(world.path("anchor/main.json")).unwrap();
    let store = world.open();
    assert_eq!(refusal(&store).await, "anchor_lost");
    write_rows(&store, 5).await;
    drop(store);
    assert!(!world.path("anchor/main.json").exists());
    let problems = verify(&world).await.problems;
    assert_eq!(problems, ["anchor: it is gone"]);
    let store = world.open();
    accepted(&world, &store, "anchor_lost").await;
    assert!(world.path("anchor/main.json").exists());
}

#[tokio::test]
async fn an_anchor_that_vanishes_while_the_state_is_open_is_noticed() {
    let world = World::new();
    let store = world.open();
    write_rows(&store, 3).await;
    fs::remove_dir_all(world.path("anchor")).unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    assert_eq!(store.problems().unwrap(), [StateProblem::AnchorLost]);
    assert_eq!(refusal(&store).await, "anchor_lost");
}

#[tokio::test]
async fn a_key_that_others_can_read_keeps_effects_back_until_it_is_taken_away_from_them() {
    let world = World::new();
    write_rows(&world.open(), 3).await;
    let key = world.path("state/audit-signing.key");
    fs::set_permissions(&key, Permissions::from_mode(0o777)).unwrap();
    let store = world.open();
    assert_eq!(refusal(&store).await, "key_exposed");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    store.commit(effect(&store, "mended")).await.unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    store.problems().unwrap();
    store.accept("user:1 at a terminal", Timestamp(5)).unwrap();
    assert_eq!(
        fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        store.verify().await.unwrap().accepted[0].reasons,
        ["key_exposed"]
    );
}

#[tokio::test]
async fn a_database_that_is_put_back_is_the_acknowledged_one_again() {
    let world = World::new();
    let store = world.open();
    write_rows(&store, 3).await;
    let (there, away) = (world.path("state/tollgate.db"), world.path("away"));
    fs::rename(&there, &away).unwrap();
    let refused = store.commit(entries([9], Durability::Disk)).await;
    assert!(
        matches!(refused, Err(StoreError::NotAcknowledged(_))),
        "{refused:?}"
    );
    fs::rename(&away, &there).unwrap();
    store.commit(effect(&store, "again")).await.unwrap();
    assert_eq!(store.verify().await.unwrap().problems, [""; 0]);
}

#[tokio::test]
async fn a_log_that_never_said_it_had_an_anchor_gets_one_that_is_written_down() {
    let world = World::new();
    write_rows(&world.open(), 3).await;
    fs::remove_file(world.path("anchor/main.json")).unwrap();
    world
        .sql()
        .execute("UPDATE audit_head SET is_anchored = 0", [])
        .unwrap();
    let store = world.open();
    store.commit(effect(&store, "allowed")).await.unwrap();
    let found = store.verify().await.unwrap();
    assert_eq!(found.problems, [""; 0]);
    assert_eq!(found.accepted[0].reasons, ["anchor_lost"]);
    assert_eq!(found.accepted[0].seq, 4);
}

#[tokio::test]
async fn a_log_that_is_emptied_while_it_is_open_is_not_synced_into() {
    let world = World::new();
    let store = world.open();
    write_rows(&store, 20).await;
    let log = fs::OpenOptions::new()
        .write(true)
        .open(world.path("state/tollgate.db-wal"));
    log.unwrap().set_len(0).unwrap();
    for number in 0..5 {
        let refused = store.commit(entries([number], Durability::Disk)).await;
        assert!(refused.is_err(), "{refused:?}");
    }
    store.check_commit().await.unwrap_err();
}

#[tokio::test]
async fn an_older_copy_written_over_the_open_files_is_noticed() {
    let world = World::new();
    let store = world.open();
    write_rows(&store, 3).await;
    copy(&world.path("state"), &world.path("backup"));
    write_rows(&store, 20).await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    for name in ["tollgate.db", "tollgate.db-wal"] {
        let older = fs::read(world.path("backup").join(name)).unwrap();
        fs::write(world.path("state").join(name), older).unwrap();
    }
    for number in 0..5 {
        let refused = store.commit(entries([number], Durability::Disk)).await;
        assert!(refused.is_err(), "{refused:?}");
    }
    store.check_commit().await.unwrap_err();
}

/// Nothing is acknowledged, whatever is asked for.
async fn acknowledges_nothing(store: &SqliteStore, expected: &str) {
    for durability in [Durability::Process, Durability::Disk] {
        for number in 0..10 {
            let refused = store.commit(entries([number], durability)).await;
            let Err(StoreError::NotAcknowledged(problem)) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!(problem.as_str(), expected);
        }
    }
    let announced = store.commit(effect(store, "refused")).await;
    assert!(
        matches!(announced, Err(StoreError::NotAcknowledged(_))),
        "{announced:?}"
    );
    let checked = store.check_commit().await;
    assert!(
        matches!(checked, Err(StoreError::NotAcknowledged(_))),
        "{checked:?}"
    );
}

fn anchored(world: &World) -> String {
    fs::read_to_string(world.path("anchor/main.json")).unwrap()
}

#[tokio::test]
async fn nothing_is_acknowledged_into_a_database_that_was_truncated() {
    for size in [0, 4096] {
        let world = World::new();
        let store = world.open();
        write_rows(&store, 20).await;
        store.close().await;
        // The rows are in the database itself, not only in its log.
        world
            .sql()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        let store = world.open();
        write_rows(&store, 3).await;
        let file = fs::OpenOptions::new()
            .write(true)
            .open(world.path("state/tollgate.db"))
            .unwrap();
        let whole = file.metadata().unwrap().len();
        assert!(whole > 4096);
        file.set_len(size).unwrap();
        let before = anchored(&world);
        acknowledges_nothing(&store, "truncated").await;
        // A checkpoint makes it as long as it was, which brings nothing back.
        file.set_len(whole).unwrap();
        acknowledges_nothing(&store, "truncated").await;
        drop(store);
        assert_eq!(anchored(&world), before, "no anchor vouches for it");
    }
}

#[tokio::test]
async fn no_anchor_vouches_for_a_database_that_was_deleted() {
    let world = World::new();
    let store = world.open();
    write_rows(&store, 3).await;
    while !anchored(&world).contains("\"seq\":3") {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let before = anchored(&world);
    fs::remove_file(world.path("state/tollgate.db")).unwrap();
    acknowledges_nothing(&store, "deleted").await;
    drop(store);
    assert_eq!(anchored(&world), before);
}

#[tokio::test]
async fn a_state_that_others_can_write_keeps_effects_back_until_it_is_accepted() {
    for (name, mode, repaired) in [
        ("state", 0o777, 0o755),
        ("state", 0o730, 0o710),
        ("state/tollgate.db", 0o666, 0o600),
        ("state/tollgate.db-wal", 0o620, 0o600),
    ] {
        let world = World::new();
        write_rows(&world.open(), 3).await;
        let path = world.path(name);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let store = world.open();
        assert_eq!(refusal(&store).await, "writable", "{name}");
        accepted(&world, &store, "writable").await;
        let now = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(now, repaired, "{name}");
    }
}

#[tokio::test]
async fn a_folder_that_others_can_only_list_is_no_problem() {
    let world = World::new();
    write_rows(&world.open(), 3).await;
    fs::set_permissions(world.path("state"), Permissions::from_mode(0o755)).unwrap();
    let store = world.open();
    assert_eq!(store.problems().unwrap(), []);
    store.commit(effect(&store, "allowed")).await.unwrap();
}

#[tokio::test]
async fn a_new_state_in_a_folder_that_others_can_write_is_taken_away_from_them() {
    let world = World::new();
    fs::create_dir(world.path("state")).unwrap();
    fs::set_permissions(world.path("state"), Permissions::from_mode(0o777)).unwrap();
    let store = world.open();
    assert_eq!(store.problems().unwrap(), []);
    let mode = fs::metadata(world.path("state"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
}
