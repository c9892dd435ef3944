//! Several processes, one state.

use std::{collections::HashMap, fs, thread, time::Duration};

use tollgate_core::{
    CallId, Timestamp,
    audit::{AuditQuery, Place},
    store::{
        AuditLog as _, Batch, Change, Durability, Ending, Intent, Intents as _, Sessions as _,
        Store as _, StoreError,
    },
};

use crate::{
    child::{LIMIT, Part, start, wait_for},
    world::{World, change, entries, session, verify},
};

#[tokio::test]
async fn eight_processes_start_at_once_and_share_one_chain_and_one_budget() {
    let world = World::new();
    let names: Vec<_> = (0..8).map(|number| format!("spender-{number}")).collect();
    let children: Vec<_> = names
        .iter()
        .map(|name| start(Part::Spend, &world.path(""), name))
        .collect();
    fs::write(world.path("go"), "\n").unwrap();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let spent: u64 = names
        .iter()
        .map(|name| wait_for(&world.path(name)).trim().parse::<u64>().unwrap())
        .sum();
    assert_eq!(spent, LIMIT);
    let store = world.open();
    let shared = store.session(&session()).await.unwrap().unwrap();
    assert_eq!((shared.reserved, shared.remaining()), (LIMIT, Some(0)));
    let found = store.verify().await.unwrap();
    assert_eq!(found.problems, [""; 0]);
    assert_eq!((found.rows, found.anchored), (LIMIT, Some(LIMIT)));
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let world = World::new();
    for round in 0..5_u64 {
        let mut child = start(Part::Write, &world.path(""), "acknowledged");
        while lines(&world) < round * 40 + 20 {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(round * 7));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = world.open();
        let query = AuditQuery {
            limit: u32::MAX,
            ..AuditQuery::default()
        };
        let rows = store.records(&query).await.unwrap();
        let kept: HashMap<_, _> = rows
            .into_iter()
            .map(|row| {
                let place = Place {
                    chain: row.chain.into(),
                    seq: row.seq,
                    hash: row.hash,
                };
                (place.receipt(), row.seq)
            })
            .collect();
        let acknowledged = fs::read_to_string(world.path("acknowledged")).unwrap();
        for receipt in acknowledged.lines() {
            assert!(kept.contains_key(receipt), "{receipt}");
        }
        let found = store.verify().await.unwrap();
        assert_eq!(found.problems, [""; 0]);
    }
}

fn lines(world: &World) -> u64 {
    let text = fs::read_to_string(world.path("acknowledged")).unwrap_or_default();
    text.lines().count() as u64
}

#[tokio::test]
async fn only_the_calls_of_dead_processes_are_abandoned() {
    let world = World::new();
    let store = world.open();
    let mut first = start(Part::Announce, &world.path(""), "first");
    let mut second = start(Part::Announce, &world.path(""), "second");
    let owner = wait_for(&world.path("first")).trim().to_owned();
    wait_for(&world.path("second"));
    assert_eq!(store.abandoned().await.unwrap(), []);
    first.kill().unwrap();
    first.wait().unwrap();
    let abandoned = store.abandoned().await.unwrap();
    let calls: Vec<_> = abandoned
        .iter()
        .map(|i| (i.call.as_str(), &*i.owner))
        .collect();
    assert_eq!(calls, [("first", owner.as_str())]);
    // The dead process's lock file is gone; its calls stay abandoned until they end.
    assert!(!world.path(&format!("state/owners/{owner}.lock")).exists());
    assert_eq!(store.abandoned().await.unwrap(), abandoned);
    let other = world.open();
    let end = || {
        change(Change::EndIntent(Ending {
            call: CallId("first".into()),
            answer: None,
            at: Timestamp(0),
        }))
    };
    store.commit(end()).await.unwrap();
    let again = other.commit(end()).await;
    assert!(matches!(again, Err(StoreError::AlreadyEnded)), "{again:?}");
    assert_eq!(store.abandoned().await.unwrap(), []);
    second.kill().unwrap();
    second.wait().unwrap();
    let calls: Vec<Intent> = other.abandoned().await.unwrap();
    assert_eq!(calls.len(), 1);
}

#[tokio::test]
async fn two_stores_continue_each_others_chain() {
    let world = World::new();
    let (one, two) = (world.open(), world.open());
    for number in 0..20 {
        let store = if number % 2 == 0 { &one } else { &two };
        let batch = entries([number], Durability::Process);
        let receipt = store.commit(batch).await.unwrap();
        assert_eq!(receipt.places[0].seq, number + 1);
    }
    drop(one);
    let batch = Batch {
        durability: Durability::Disk,
        ..entries([20], Durability::Disk)
    };
    two.commit(batch).await.unwrap();
    drop(two);
    let found = verify(&world).await;
    assert_eq!(found.problems, [""; 0]);
    assert_eq!((found.rows, found.anchored), (21, Some(21)));
}
