//! The chain, and what a batch does to it.

use std::sync::Arc;

use tollgate_core::{
    audit::{AuditEntry, AuditQuery, AuditRow, Hash, SignedHead},
    canonical::hex,
    store::{Batch, Body, Change, Durability, StoreError},
};

use super::{Subject, refusal, samples::*};

fn entries(numbers: impl IntoIterator<Item = u64>) -> Batch {
    Batch {
        audit: numbers.into_iter().map(entry).collect(),
        ..Batch::default()
    }
}

async fn every_row(subject: &Subject) -> Vec<AuditRow> {
    let query = AuditQuery {
        limit: 10_000,
        ..AuditQuery::default()
    };
    subject.store.records(&query).await.unwrap()
}

/// Checks the links from the beginning; says how many there are.
fn follow(rows: &[AuditRow]) -> usize {
    let mut previous: Hash = [0; 32];
    for (row, seq) in rows.iter().zip(1..) {
        assert_eq!(row.seq, seq);
        assert!(row.follows(&previous), "row {seq}");
        previous = row.hash;
    }
    rows.len()
}

pub async fn entries_are_linked_in_order(subject: Subject) {
    let first = subject.store.commit(entries([1])).await.unwrap();
    let second = subject.store.commit(entries([2, 3])).await.unwrap();
    let rows = every_row(&subject).await;
    assert_eq!(follow(&rows), 3);
    let places: Vec<_> = first.places.into_iter().chain(second.places).collect();
    for (row, place) in rows.iter().zip(&places) {
        assert_eq!(
            (&*row.chain, row.seq, row.hash),
            (&*place.chain, place.seq, place.hash)
        );
    }
    let bodies: Vec<_> = rows.iter().map(|row| row.body.clone()).collect();
    let sent: Vec<_> = (1..=3).map(|n| entry(n).body().to_owned()).collect();
    assert_eq!(bodies, sent);
}

pub async fn a_refused_batch_leaves_nothing_behind(subject: Subject) {
    subject.change([open_with_limit("s", 5)]).await.unwrap();
    let before = subject.store.session(&key("s")).await.unwrap();
    for last in [
        reserve("s", 6),
        consume(9, "call", NOW),
        end("absent", None),
    ] {
        let batch = Batch {
            changes: vec![
                open("new"),
                reserve("s", 1),
                Change::KeepBody(Body {
                    call: call("kept"),
                    arguments: None,
                    data: None,
                }),
                Change::Remember {
                    key: cache_key("s", "k", "v"),
                    answer: b"x".to_vec(),
                    until: None,
                    at: NOW,
                },
                Change::OpenIntent(intent("one", 1)),
                asking(approval("one", 1)),
                Change::OpenReview(review("one")),
                last,
            ],
            audit: vec![entry(1)],
            durability: Durability::Disk,
        };
        assert_ne!(refusal(subject.store.commit(batch).await), "made");
    }
    let store = &subject.store;
    assert_eq!(store.session(&key("s")).await.unwrap(), before);
    assert_eq!(store.session(&key("new")).await.unwrap(), None);
    assert_eq!(store.body(&call("kept")).await.unwrap(), None);
    let cached = store.peek(&cache_key("s", "k", "v"), NOW).await.unwrap();
    assert!(!cached);
    assert_eq!(store.effect(&effect_query(1)).await.unwrap(), None);
    assert_eq!(store.approval("one").await.unwrap(), None);
    assert_eq!(store.review("one").await.unwrap(), None);
    assert_eq!(every_row(&subject).await, []);
    subject
        .change([Change::OpenIntent(intent("one", 1))])
        .await
        .unwrap();
}

pub async fn a_refused_batch_does_not_disturb_its_neighbours(subject: Subject) {
    subject.change([open_with_limit("s", 20)]).await.unwrap();
    let tries: Vec<_> = (0..60_u64)
        .map(|number| {
            let store = Arc::clone(&subject.store);
            tokio::spawn(async move {
                let change = match number % 3 {
                    0 => vec![reserve("s", 1)],
                    1 => vec![reserve("s", 1), consume(9, "call", NOW)],
                    _ => vec![Change::Forget { session: key("s") }, end("absent", None)],
                };
                let batch = Batch {
                    changes: change,
                    audit: vec![entry(number)],
                    ..Batch::default()
                };
                (number % 3, store.commit(batch).await)
            })
        })
        .collect();
    for attempt in tries {
        match attempt.await.unwrap() {
            (0, made) => assert_eq!(made.unwrap().places.len(), 1),
            // A budget may be full while the wave is under way, never afterwards.
            (1, refused) => assert!(matches!(
                refused,
                Err(StoreError::ApprovalGone | StoreError::Budget { .. })
            )),
            (_, refused) => assert_eq!(refusal(refused), "already ended"),
        }
    }
    assert_eq!(follow(&every_row(&subject).await), 20);
    let session = subject.store.session(&key("s")).await.unwrap().unwrap();
    assert_eq!(session.reserved, 20);
}

pub async fn concurrent_commits_make_one_chain(subject: Subject) {
    let tries: Vec<_> = (0..100_u64)
        .map(|number| {
            let store = Arc::clone(&subject.store);
            tokio::spawn(async move { store.commit(entries([number * 2, number * 2 + 1])).await })
        })
        .collect();
    let mut places = Vec::new();
    for attempt in tries {
        let receipt = attempt.await.unwrap().unwrap();
        let [first, second] = &receipt.places[..] else {
            unreachable!("two entries have two places")
        };
        assert_eq!(first.seq + 1, second.seq);
        places.extend([first.seq, second.seq]);
    }
    places.sort_unstable();
    assert_eq!(places, (1..=200).collect::<Vec<_>>());
    assert_eq!(follow(&every_row(&subject).await), 200);
}

pub async fn records_are_found_by_every_column(subject: Subject) {
    subject.store.commit(entries(0..30)).await.unwrap();
    let other = r#"{"kind":"review","at":5,"principal":"anonymous"}"#;
    let batch = Batch {
        audit: vec![AuditEntry::new(other.to_owned())],
        ..Batch::default()
    };
    subject.store.commit(batch).await.unwrap();
    let count = async |narrow: fn(&mut AuditQuery)| {
        let mut query = AuditQuery {
            limit: 100,
            ..AuditQuery::default()
        };
        narrow(&mut query);
        let rows = subject.store.records(&query).await.unwrap();
        query.newest_first = true;
        let mut backwards = subject.store.records(&query).await.unwrap();
        backwards.reverse();
        assert_eq!(rows, backwards);
        rows.len()
    };
    assert_eq!(count(|_| ()).await, 31);
    assert_eq!(count(|q| q.kind = Some("review".into())).await, 1);
    assert_eq!(count(|q| q.kind = Some("absent".into())).await, 0);
    assert_eq!(count(|q| q.call_id = Some("call-7".into())).await, 1);
    assert_eq!(count(|q| q.trace_id = Some("trace-1".into())).await, 10);
    assert_eq!(count(|q| q.trace_id = Some("absent".into())).await, 0);
    assert_eq!(count(|q| q.session = Some("session-1".into())).await, 15);
    assert_eq!(count(|q| q.tool = Some("tool.3".into())).await, 6);
    assert_eq!(count(|q| q.principal = Some("anonymous".into())).await, 1);
    let both = |q: &mut AuditQuery| {
        q.trace_id = Some("trace-0".into());
        q.session = Some("session-0".into());
    };
    assert_eq!(count(both).await, 5);
}

pub async fn records_are_paged_both_ways(subject: Subject) {
    for part in 0..5 {
        let numbers = part * 600..(part + 1) * 600;
        subject.store.commit(entries(numbers)).await.unwrap();
    }
    let page = async |cursor, newest_first, trace_id: Option<&str>| {
        let query = AuditQuery {
            cursor,
            limit: 3,
            newest_first,
            trace_id: trace_id.map(str::to_owned),
            ..AuditQuery::default()
        };
        let rows = subject.store.records(&query).await.unwrap();
        rows.iter().map(|row| row.seq).collect::<Vec<_>>()
    };
    assert_eq!(page(None, false, None).await, [1, 2, 3]);
    assert_eq!(page(Some(3), false, None).await, [4, 5, 6]);
    assert_eq!(page(Some(3000), false, None).await, [0; 0]);
    assert_eq!(page(None, true, None).await, [3000, 2999, 2998]);
    assert_eq!(page(Some(3), true, None).await, [2, 1]);
    let trace = Some("trace-0");
    assert_eq!(page(None, false, trace).await, [1, 4, 7]);
    assert_eq!(page(Some(1022), false, trace).await, [1024, 1027, 1030]);
    assert_eq!(page(None, true, trace).await, [2998, 2995, 2992]);
    assert_eq!(page(Some(1027), true, trace).await, [1024, 1021, 1018]);
}

pub async fn every_entry_of_a_long_log_is_found_page_by_page(subject: Subject) {
    for start in (1..=1_100).step_by(7) {
        let numbers = start..(start + 7).min(1_101);
        subject.store.commit(entries(numbers)).await.unwrap();
    }
    let rows = every_row(&subject).await;
    assert_eq!(rows.len(), 1_100);
    let narrow = |name: &str, query: &mut AuditQuery, row: &AuditRow| {
        let columns = row.columns.clone();
        match name {
            "call" => query.call_id = columns.call_id,
            "session" => query.session = columns.session,
            "tool" => query.tool = columns.tool,
            _ => (query.session, query.tool) = (columns.session, columns.tool),
        }
    };
    for name in ["call", "session", "tool", "session and tool"] {
        for (at, newest_first) in [(0, false), (255, true), (256, false), (1_099, true)] {
            let mut query = AuditQuery {
                limit: 50,
                newest_first,
                ..AuditQuery::default()
            };
            narrow(name, &mut query, &rows[at]);
            let matches = |row: &&AuditRow| {
                [
                    (&query.call_id, &row.columns.call_id),
                    (&query.session, &row.columns.session),
                    (&query.tool, &row.columns.tool),
                ]
                .iter()
                .all(|(wanted, has)| wanted.is_none() || wanted == has)
            };
            let mut expected: Vec<u64> = rows.iter().filter(matches).map(|row| row.seq).collect();
            if newest_first {
                expected.reverse();
            }
            let mut found = Vec::new();
            loop {
                let page = subject.store.records(&query).await.unwrap();
                let Some(last) = page.last() else { break };
                query.cursor = Some(last.seq);
                found.extend(page.iter().map(|row| row.seq));
            }
            assert_eq!(found, expected, "{name} of row {at}");
        }
    }
}

pub async fn a_whole_log_verifies_and_its_head_is_signed(subject: Subject) {
    let empty = subject.store.verify().await.unwrap();
    assert_eq!((empty.rows, empty.problems), (0, vec![]));
    assert_eq!(subject.store.signed_head(1).await.unwrap(), None);
    let batch = Batch {
        durability: Durability::Disk,
        ..entries(0..10)
    };
    let receipt = subject.store.commit(batch).await.unwrap();
    let found = subject.store.verify().await.unwrap();
    let last = receipt.places.last().unwrap();
    assert_eq!(found.problems, [""; 0]);
    assert_eq!((found.rows, found.head), (10, hex(&last.hash)));
    let head = subject.store.signed_head(3).await.unwrap().unwrap();
    assert_eq!(
        (head.seq, &head.hash, &*head.chain),
        (10, &hex(&last.hash), &*last.chain)
    );
    assert!(is_signed(&head));
    assert_eq!(subject.store.signed_head(11).await.unwrap(), None);
}

fn is_signed(head: &SignedHead) -> bool {
    let bytes = |text: &str| -> Vec<u8> {
        (0..text.len() / 2)
            .map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap())
            .collect()
    };
    let key = <[u8; 32]>::try_from(bytes(&head.key)).unwrap();
    let signature = <[u8; 64]>::try_from(bytes(&head.signature)).unwrap();
    let message = SignedHead::message(&head.chain, head.seq, &head.hash);
    ed25519_dalek::VerifyingKey::from_bytes(&key)
        .unwrap()
        .verify_strict(
            message.as_bytes(),
            &ed25519_dalek::Signature::from_bytes(&signature),
        )
        .is_ok()
}

pub async fn a_body_that_is_no_object_is_kept_as_it_is(subject: Subject) {
    let odd = ["", "not json", "[1]", "{\"at\":\"text\"}", "{}", "\u{0}é"];
    let batch = Batch {
        audit: odd.map(|body| AuditEntry::new(body.to_owned())).to_vec(),
        ..Batch::default()
    };
    subject.store.commit(batch).await.unwrap();
    let rows = every_row(&subject).await;
    assert_eq!(follow(&rows), odd.len());
    let bodies: Vec<_> = rows.iter().map(|row| row.body.as_str()).collect();
    assert_eq!(bodies, odd);
    assert_eq!(subject.store.verify().await.unwrap().problems, [""; 0]);
}

pub async fn disk_commits_are_acknowledged(subject: Subject) {
    let tries: Vec<_> = (0..20_u64)
        .map(|number| {
            let store = Arc::clone(&subject.store);
            tokio::spawn(async move {
                let durability = match number % 2 {
                    0 => Durability::Disk,
                    _ => Durability::Process,
                };
                let batch = Batch {
                    durability,
                    ..entries([number])
                };
                store.commit(batch).await.unwrap()
            })
        })
        .collect();
    for attempt in tries {
        assert_eq!(attempt.await.unwrap().places.len(), 1);
    }
    assert_eq!(follow(&every_row(&subject).await), 20);
}
