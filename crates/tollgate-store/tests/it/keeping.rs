//! What is kept, how long, and who may read it.

use std::{
    collections::BTreeSet,
    fs,
    io::Read as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;
use tollgate_core::{
    CallId, Estimate, HeldClock, Principal, SessionKey, Timestamp,
    store::{
        Approval, ApprovalLimits, ApprovalState, ArtifactRow, AuditLog as _, Batch, Body, Change,
        Durability, Ending, Intent, RunChange, RunRow, Runs as _, Store as _,
    },
};
use tollgate_store::{Limits, Retention, Settings, SqliteStore, schema_sql};

use crate::{
    beside::data,
    world::{World, entries, remember, session, verify, write_rows},
};

#[tokio::test]
async fn closing_syncs_signs_and_anchors_what_was_only_committed() {
    let world = World::new();
    let store = world.open();
    for number in 0..3 {
        let batch = entries([number], Durability::Process);
        store.commit(batch).await.unwrap();
    }
    drop(store);
    let found = verify(&world).await;
    assert_eq!((found.rows, found.anchored), (3, Some(3)));
    assert!(found.signed_heads >= 1);
    // Nothing is left of the process.
    let owners = fs::read_dir(world.path("state/owners")).unwrap();
    assert_eq!(owners.count(), 0);
    let anchors = fs::read_dir(world.path("anchor")).unwrap();
    assert_eq!(anchors.count(), 1);
}

#[tokio::test]
async fn a_running_process_anchors_what_it_synced() {
    for durability in [Durability::Process, Durability::Disk] {
        let world = World::new();
        let store = world.open();
        let batch = entries(0..3, durability);
        store.commit(batch).await.unwrap();
        while verify(&world).await.anchored != Some(3) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(store.signed_head(1).await.unwrap().unwrap().seq, 3);
    }
}

#[tokio::test]
async fn nobody_who_writes_waits_for_the_anchor() {
    let world = World::new();
    let store = world.open();
    let turn = fs::File::create(world.path("state/anchor.lock")).unwrap();
    turn.lock().unwrap();
    for number in 0..20 {
        let is_waited_for = number % 2 == 0;
        let durability = if is_waited_for {
            Durability::Disk
        } else {
            Durability::Process
        };
        store.commit(entries([number], durability)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(
        verify(&world).await.anchored,
        Some(0),
        "somebody else is at it"
    );
    turn.unlock().unwrap();
    drop(store);
    assert_eq!(verify(&world).await.anchored, Some(20));
}

#[tokio::test]
async fn a_process_ends_although_another_keeps_the_lock_of_the_anchor() {
    let world = World::new();
    let limits = Limits {
        busy: Duration::from_secs(3600),
        ..Limits::default()
    };
    let settings = Settings {
        limits,
        ..world.settings()
    };
    let store = world.try_open(settings).unwrap();
    let turn = fs::File::create(world.path("state/anchor.lock")).unwrap();
    turn.lock().unwrap();
    write_rows(&store, 3).await;
    store.close().await;
    drop(store);
    assert_eq!(verify(&world).await.anchored, Some(0));
    // The next process catches up.
    turn.unlock().unwrap();
    write_rows(&world.open(), 1).await;
    assert_eq!(verify(&world).await.anchored, Some(4));
}

#[tokio::test]
async fn questions_that_nobody_decided_are_forgotten_soon_after_they_ended() {
    const DAY: u64 = 86_400_000;
    let world = World::new();
    let clock = Arc::new(HeldClock::new(Timestamp(0)));
    let store = world.open_with_clock(clock.clone());
    let ask = |id: &str, byte, state, created: u64| Change::AskApproval {
        approval: Approval {
            id: id.to_owned(),
            digest: [byte; 32],
            tool: "mail.send".to_owned(),
            spec_digest: "spec".to_owned(),
            session: session(),
            preview: "x".repeat(10_000).into(),
            estimate: Estimate::exactly(0),
            created: Timestamp(created.cast_signed()),
            expires: Timestamp((created + 1000).cast_signed()),
            state,
            decided_by: None,
            decided_at: None,
            consumed_by: None,
            consumed_at: None,
        },
        limits: ApprovalLimits::default(),
    };
    let asked = vec![
        ask("open", 1, ApprovalState::Pending, 3 * DAY),
        ask("decided", 2, ApprovalState::Denied, 0),
        ask("ended", 3, ApprovalState::Pending, 0),
    ];
    let batch = Batch {
        changes: asked,
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
    let prune = async || {
        store
            .commit(entries(0..1100, Durability::Process))
            .await
            .unwrap();
    };
    let bytes = || -> Vec<i64> {
        let sql = world.sql();
        let mut statement = sql
            .prepare("SELECT length(preview) FROM approvals ORDER BY number")
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    clock.set(Timestamp(2000));
    prune().await;
    assert_eq!(bytes(), [10_002, 10_002, 4]);
    clock.set(Timestamp((2 * DAY).cast_signed()));
    prune().await;
    assert_eq!(bytes(), [10_002, 10_002]);
}

#[tokio::test]
async fn short_commands_one_after_the_other_leave_a_short_log() {
    let world = World::new();
    let frames = 80;
    let limits = Limits {
        wal_frames: frames,
        ..Limits::default()
    };
    let settings = Settings {
        limits,
        ..world.settings()
    };
    for number in 0..60 {
        let clock = Arc::new(HeldClock::new(Timestamp(1_000_000)));
        let store = SqliteStore::open(settings.clone(), clock).unwrap();
        store
            .commit(entries([number], Durability::Process))
            .await
            .unwrap();
        drop(store);
        let log = settings.state_dir.join("tollgate.db-wal");
        let length = fs::metadata(log).map_or(0, |log| log.len());
        assert!(length < u64::from(frames) * 4096, "{length} after {number}");
    }
    assert_eq!(verify(&world).await.problems, [""; 0]);
}

#[tokio::test]
async fn a_batch_of_changes_alone_is_kept() {
    let world = World::new();
    let store = world.open();
    let batch = Batch {
        changes: vec![remember("one", 10, None)],
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
    drop(store);
    assert_eq!(world.count("cache"), 1);
    assert_eq!(verify(&world).await.problems, [""; 0]);
}

#[tokio::test]
async fn what_is_no_longer_needed_goes_with_the_writing() {
    let world = World::new();
    let clock = Arc::new(HeldClock::new(Timestamp(1_000_000)));
    let settings = Settings {
        retention: Retention {
            body_rows: 100,
            cache_rows: 150,
            ..Retention::default()
        },
        ..world.settings()
    };
    let store = SqliteStore::open(settings, clock).unwrap();
    for number in 0..400_u64 {
        let until = match number % 2 {
            0 => None,
            _ => Some(Timestamp(1_000_001)),
        };
        let body = Body {
            call: CallId(number.to_string().into()),
            arguments: None,
            data: Some("{}".to_owned()),
        };
        let batch = Batch {
            changes: vec![
                remember(&number.to_string(), 10, until),
                Change::KeepBody(body),
            ],
            ..entries(number * 10..number * 10 + 10, Durability::Process)
        };
        store.commit(batch).await.unwrap();
    }
    // Bounded by what arrives until the next turn, not by what ever arrived.
    assert!(world.count("bodies") <= 100 + 1024 / 10);
    assert!(world.count("body_index") <= world.count("bodies"));
    assert!(world.count("cache") <= 150 + 1024 / 10);
    assert_eq!(world.count("audit_entries"), 4000);
    let kept = store.body(&CallId("399".into())).await.unwrap();
    assert_eq!(kept.unwrap().data.as_deref(), Some("{}"));
}

#[tokio::test]
async fn a_body_goes_when_it_is_old_and_younger_ones_stay() {
    let world = World::new();
    let clock = Arc::new(HeldClock::new(Timestamp(1_000_000)));
    let store = SqliteStore::open(world.settings(), Arc::clone(&clock) as Arc<_>).unwrap();
    let keep = |call: &'static str, rows: std::ops::Range<u64>| Batch {
        changes: vec![Change::KeepBody(Body {
            call: CallId(call.into()),
            arguments: None,
            data: Some("{}".to_owned()),
        })],
        ..entries(rows, Durability::Process)
    };
    store.commit(keep("old", 0..10)).await.unwrap();
    clock.set(Timestamp(1_000_000).plus(Duration::from_secs(91 * 24 * 3600)));
    store.commit(keep("young", 10..500)).await.unwrap();
    assert_eq!(world.count("bodies"), 2);
    store.commit(keep("youngest", 500..1100)).await.unwrap();
    assert_eq!(world.count("bodies"), 2);
    assert_eq!(store.body(&CallId("old".into())).await.unwrap(), None);
    let kept = store.body(&CallId("young".into())).await.unwrap();
    assert_eq!(kept.unwrap().data.as_deref(), Some("{}"));
}

#[tokio::test]
async fn a_body_is_found_before_and_after_it_is_indexed() {
    let large = |number: u64| format!("{number:>2000}");
    let world = World::new();
    let store = world.open();
    for number in 0..600_u64 {
        let batch = Batch {
            changes: vec![Change::KeepBody(Body {
                call: CallId(format!("call-{number}").into()),
                arguments: None,
                data: Some(large(number)),
            })],
            ..entries([number], Durability::Process)
        };
        store.commit(batch).await.unwrap();
    }
    let places = [0, 1, 255, 256, 511, 512, 598, 599];
    for number in places {
        assert_eq!(data(&store, number).await, Some(large(number)));
    }
    drop(store);
    let indexed = world.count("body_index");
    assert!((600 - 255..=600).contains(&indexed), "{indexed}");
    let store = world.open();
    for number in places {
        assert_eq!(data(&store, number).await, Some(large(number)));
    }
    assert_eq!(store.body(&CallId("call-600".into())).await.unwrap(), None);
}

#[tokio::test]
async fn bodies_that_are_all_too_many_leave_the_last_one() {
    let world = World::new();
    let settings = Settings {
        retention: Retention {
            body_rows: 0,
            ..Retention::default()
        },
        ..world.settings()
    };
    let store = SqliteStore::open(settings, Arc::new(tollgate_core::SystemClock)).unwrap();
    for turn in 0..3_u64 {
        let call = CallId(format!("apart-{turn}").into());
        let batch = Batch {
            changes: vec![Change::KeepBody(Body {
                call: call.clone(),
                arguments: None,
                data: Some(turn.to_string()),
            })],
            ..entries(turn * 1100..turn * 1100 + 1100, Durability::Process)
        };
        store.commit(batch).await.unwrap();
        let kept = store.body(&call).await.unwrap().unwrap();
        assert_eq!(kept.data, Some(turn.to_string()));
        assert_eq!(world.count("bodies"), 1);
    }
}

/// An effect that has ended, or one under way.
fn effect(call: &str, key: Option<&str>, ends: bool) -> Vec<Change> {
    let at = Timestamp(1_000_000);
    let call = CallId(call.into());
    let begin = Change::OpenIntent(Intent {
        call: call.clone(),
        owner: "somebody".to_owned(),
        session: SessionKey::new(Principal::user(1000), "s"),
        tool: "shelf.write".to_owned(),
        trace_id: String::new(),
        reserved: 0,
        effect: true,
        digest: None,
        idempotency_key: key.map(str::to_owned),
        at,
    });
    let end = Change::EndIntent(Ending {
        call,
        answer: Some(b"{}".to_vec()),
        at,
    });
    std::iter::once(begin).chain(ends.then_some(end)).collect()
}

#[tokio::test]
async fn effects_go_when_nobody_can_ask_for_them_again_those_with_a_key_last() {
    let world = World::new();
    let clock = Arc::new(HeldClock::new(Timestamp(1_000_000)));
    let store = SqliteStore::open(world.settings(), Arc::clone(&clock) as Arc<_>).unwrap();
    let changes = [
        effect("plain", None, true),
        effect("keyed", Some("run_1/write/1"), true),
        effect("under way", Some("run_2/write/1"), false),
    ];
    let batch = Batch {
        changes: changes.into_iter().flatten().collect(),
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
    let days = |days: u64| Timestamp(1_000_000).plus(Duration::from_secs(days * 24 * 3600));
    for (day, left) in [(6, 3), (8, 2), (89, 2), (91, 1), (500, 1)] {
        clock.set(days(day));
        let rows = entries(day * 1100..(day + 1) * 1100, Durability::Process);
        store.commit(rows).await.unwrap();
        assert_eq!(world.count("effects"), left, "after {day} days");
    }
}

fn old_run(id: &str, is_over: bool) -> Change {
    Change::Run(RunChange::Open(Box::new(RunRow {
        id: id.to_owned(),
        session: SessionKey::new(Principal::user(1000), "s"),
        template: "t".to_owned(),
        status: "running".to_owned(),
        is_over,
        created: Timestamp(1_000_000),
        updated: Timestamp(1_000_000),
        owner: None,
        fence: 0,
        is_canceled: false,
        is_resting: false,
        record: b"{}".to_vec(),
        sealed: None,
    })))
}

#[tokio::test]
async fn runs_go_long_after_they_are_over_and_never_before_their_artifacts() {
    let world = World::new();
    let clock = Arc::new(HeldClock::new(Timestamp(1_000_000)));
    let store = SqliteStore::open(world.settings(), Arc::clone(&clock) as Arc<_>).unwrap();
    let step = Change::Run(RunChange::Steps {
        id: "over".to_owned(),
        fence: 0,
        steps: vec![("a".to_owned(), b"{}".to_vec())],
        at: Timestamp(1_000_000),
    });
    let end = Change::Run(RunChange::Move {
        id: "over".to_owned(),
        fence: 0,
        status: "succeeded".to_owned(),
        is_over: true,
        record: b"{}".to_vec(),
        at: Timestamp(1_000_000),
    });
    let artifact = |id: &str, run: &str, is_gone: bool| {
        Change::Run(RunChange::Keep(ArtifactRow {
            id: id.to_owned(),
            run: run.to_owned(),
            principal: Principal::user(1000),
            name: "a".to_owned(),
            kind: "text".to_owned(),
            mime_type: "text/plain".to_owned(),
            size: 1,
            sha256: "00".to_owned(),
            is_tainted: false,
            created: Timestamp(1_000_000),
            until: None,
            is_gone,
        }))
    };
    let batch = Batch {
        changes: vec![
            old_run("over", false),
            step,
            end,
            old_run("kept", true),
            old_run("open", false),
            artifact("art_1", "over", true),
            artifact("art_2", "kept", false),
        ],
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
    let days = |days: u64| Timestamp(1_000_000).plus(Duration::from_secs(days * 24 * 3600));
    clock.set(days(89));
    store
        .commit(entries(0..1100, Durability::Process))
        .await
        .unwrap();
    assert_eq!(world.count("runs"), 3);
    clock.set(days(91));
    store
        .commit(entries(1100..2200, Durability::Process))
        .await
        .unwrap();
    let ids = async |id: &str| store.run(id).await.unwrap().is_some();
    assert_eq!(
        (ids("over").await, ids("kept").await, ids("open").await),
        (false, true, true)
    );
    assert_eq!((world.count("run_steps"), world.count("artifacts")), (0, 1));
}

#[tokio::test]
async fn a_long_reader_blocks_nobody_and_the_log_starts_over_after_it() {
    let world = World::new();
    let settings = Settings {
        limits: Limits {
            wal_frames: 50,
            ..Limits::default()
        },
        ..world.settings()
    };
    let store = world.try_open(settings).unwrap();
    write_rows(&store, 10).await;
    let reader = world.sql();
    reader
        .execute_batch("BEGIN; SELECT * FROM audit_entries")
        .unwrap();
    for _ in 0..20 {
        write_rows(&store, 20).await;
    }
    reader.execute_batch("COMMIT").unwrap();
    store.close().await;
    assert_eq!(store.verify().await.unwrap().problems, [""; 0]);
    assert_eq!(world.count("audit_entries"), 410);
}

#[tokio::test]
async fn the_log_starts_over_also_while_everyone_writes() {
    let world = World::new();
    let settings = Settings {
        limits: Limits {
            wal_frames: 50,
            ..Limits::default()
        },
        ..world.settings()
    };
    let store = Arc::new(world.try_open(settings).unwrap());
    let started_over = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = (0..4_u64)
        .map(|_| {
            let (store, done) = (Arc::clone(&store), Arc::clone(&started_over));
            tokio::spawn(async move {
                while !done.load(Ordering::Relaxed) {
                    let batch = entries(0..4, Durability::Process);
                    store.commit(batch).await.unwrap();
                }
            })
        })
        .collect();
    // The log's header counts how often it started over.
    while generation(&world) < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    started_over.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(store.verify().await.unwrap().problems, [""; 0]);
}

fn generation(world: &World) -> u32 {
    let mut header = [0; 16];
    let read = fs::File::open(world.path("state/tollgate.db-wal"))
        .and_then(|mut log| log.read_exact(&mut header));
    match read {
        Ok(()) => u32::from_be_bytes([header[12], header[13], header[14], header[15]]),
        Err(_) => 0,
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_signing_key_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    drop(world.open());
    let mode = |name: &str| {
        let path = world.path(name);
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode("state/audit-signing.key"), 0o600);
    assert_eq!(mode("state"), 0o700);
    let public = fs::read_to_string(world.path("state/audit-signing.pub")).unwrap();
    assert_eq!(public.len(), 64);
}

#[test]
fn the_schema_is_what_a_fresh_state_has() {
    let world = World::new();
    drop(world.open());
    let parts = |sql: &Connection| -> BTreeSet<String> {
        let mut statement = sql
            .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let written = World::new();
    fs::create_dir(written.path("state")).unwrap();
    let sql = written.sql();
    sql.execute_batch(&schema_sql()).unwrap();
    let expected = parts(&sql);
    assert!(expected.len() > 10);
    assert_eq!(parts(&world.sql()), expected);
}
