//! Sessions and their budgets.

use serde_json::{Value, json};
use tollgate_core::{
    ConsumedSource, Principal, SessionKey,
    store::{Change, Session, StoreError},
};

use super::{Subject, refusal, samples::*};

pub async fn a_session_is_opened_once(subject: Subject) {
    assert_eq!(subject.store.session(&key("s")).await.unwrap(), None);
    let first = Session {
        limit: Some(10),
        profile: Some("careful".to_owned()),
        ..Session::new(key("s"), NOW)
    };
    subject
        .change([Change::OpenSession(first.clone())])
        .await
        .unwrap();
    let receipt = subject.change([open("s")]).await.unwrap();
    assert_eq!(receipt.session, Some(first.clone()));
    assert_eq!(subject.store.session(&key("s")).await.unwrap(), Some(first));
}

pub async fn a_session_belongs_to_its_principal(subject: Subject) {
    subject.change([open_with_limit("s", 5)]).await.unwrap();
    let foreign = SessionKey::new(Principal::anonymous(), "s");
    assert_eq!(subject.store.session(&foreign).await.unwrap(), None);
    let opened = Change::OpenSession(Session::new(foreign.clone(), NOW));
    let receipt = subject.change([opened]).await.unwrap();
    assert_eq!(receipt.session, Some(Session::new(foreign, NOW)));
}

pub async fn sessions_are_listed_by_last_use(subject: Subject) {
    for name in ["a", "b", "c"] {
        subject.change([open(name)]).await.unwrap();
    }
    let hit = |name| Change::CountHit { session: key(name) };
    subject.change([hit("a"), hit("b")]).await.unwrap();
    subject.change([hit("a")]).await.unwrap();
    let listed = subject
        .store
        .sessions(&Principal::user(1000))
        .await
        .unwrap();
    let names: Vec<_> = listed.iter().map(|s| s.key.handle.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let none = subject.store.sessions(&Principal::user(1)).await.unwrap();
    assert_eq!(none, []);
}

pub async fn reserving_and_settling_move_the_ledger(subject: Subject) {
    subject.change([open_with_limit("s", 100)]).await.unwrap();
    subject.change([reserve("s", 30)]).await.unwrap();
    let receipt = subject.change([reserve("s", 20)]).await.unwrap();
    let session = receipt.session.unwrap();
    assert_eq!((session.estimated, session.reserved), (50, 50));
    assert_eq!(session.remaining(), Some(50));
    let settle = Change::Settle {
        session: key("s"),
        reserved: 30,
        consumed: 7,
        source: ConsumedSource::TokenBucket,
    };
    let receipt = subject.change([settle]).await.unwrap();
    let expected = Session {
        limit: Some(100),
        estimated: 50,
        consumed: 7,
        reserved: 20,
        source: ConsumedSource::TokenBucket,
        ..Session::new(key("s"), NOW)
    };
    assert_eq!(receipt.session, Some(expected.clone()));
    let stored = subject.store.session(&key("s")).await.unwrap();
    assert_eq!(stored, Some(expected));
}

pub async fn an_estimate_that_does_not_fit_is_refused_with_what_is_left(subject: Subject) {
    subject.change([open_with_limit("s", 10)]).await.unwrap();
    subject.change([reserve("s", 8)]).await.unwrap();
    let refused = subject.change([reserve("s", 3)]).await;
    assert!(
        matches!(refused, Err(StoreError::Budget { left: 2 })),
        "{refused:?}"
    );
    subject.change([reserve("s", 2)]).await.unwrap();
    subject.change([reserve("s", 0)]).await.unwrap();
    let wider = Change::Configure {
        session: key("s"),
        limit: Some(20),
        profile: Some("wide".to_owned()),
    };
    subject.change([wider, reserve("s", 10)]).await.unwrap();
    assert_eq!(refusal(subject.change([reserve("s", 1)]).await), "budget");
}

pub async fn settling_never_goes_below_zero_or_over_the_top(subject: Subject) {
    subject.change([open("s")]).await.unwrap();
    let settle = |consumed| Change::Settle {
        session: key("s"),
        reserved: 50,
        consumed,
        source: ConsumedSource::EstimatedFallback,
    };
    subject.change([settle(u64::MAX)]).await.unwrap();
    let receipt = subject.change([settle(10)]).await.unwrap();
    let session = receipt.session.unwrap();
    assert_eq!((session.reserved, session.consumed), (0, u64::MAX));
    let stored = subject.store.session(&key("s")).await.unwrap();
    assert_eq!(stored, Some(session));
}

pub async fn the_last_hundred_blocked_calls_are_kept(subject: Subject) {
    subject.change([open("s")]).await.unwrap();
    let block = |number: u64| Change::Block {
        session: key("s"),
        action: json!({"number": number, "b": 1, "estimated_tokens": 2}),
    };
    for number in 0..90 {
        subject.change([block(number)]).await.unwrap();
    }
    let receipt = subject.change((90..130).map(block)).await.unwrap();
    let expected: Vec<Value> = (30..130)
        .map(|number| json!({"number": number, "b": 1, "estimated_tokens": 2}))
        .collect();
    assert_eq!(receipt.session.unwrap().blocked, expected);
    let stored = subject.store.session(&key("s")).await.unwrap().unwrap();
    assert_eq!(stored.blocked, expected);
    let ledger = stored.ledger();
    assert_eq!(ledger.blocked_actions.len(), 100);
    assert_eq!(ledger.session_estimated, 260);
}

pub async fn a_call_that_is_blocked_again_is_listed_once(subject: Subject) {
    subject.change([open("s")]).await.unwrap();
    let block = |tool: &str| Change::Block {
        session: key("s"),
        action: json!({"tool": tool, "estimated_tokens": 2}),
    };
    subject.change([block("a"), block("a")]).await.unwrap();
    let receipt = subject.change([block("b"), block("a")]).await.unwrap();
    let listed = |blocked: &[Value]| -> Vec<String> {
        blocked
            .iter()
            .map(|it| it["tool"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed(&receipt.session.unwrap().blocked), ["a", "b"]);
    let stored = subject.store.session(&key("s")).await.unwrap().unwrap();
    assert_eq!(listed(&stored.blocked), ["a", "b"]);
}

pub async fn many_callers_cannot_overspend(subject: Subject) {
    subject.change([open_with_limit("s", 100)]).await.unwrap();
    let tries = (0..64).map(|_| {
        let store = std::sync::Arc::clone(&subject.store);
        tokio::spawn(async move {
            let changes = vec![reserve("s", 7)];
            let batch = tollgate_core::store::Batch {
                changes,
                ..Default::default()
            };
            store.commit(batch).await.is_ok()
        })
    });
    let mut made = 0_u64;
    for attempt in tries.collect::<Vec<_>>() {
        made += u64::from(attempt.await.unwrap());
    }
    assert_eq!(made, 14);
    let session = subject.store.session(&key("s")).await.unwrap().unwrap();
    assert_eq!((session.reserved, session.remaining()), (98, Some(2)));
}

pub async fn a_session_that_is_not_there_is_missing(subject: Subject) {
    let absent = || key("absent");
    let changes = [
        reserve("absent", 1),
        Change::CountHit { session: absent() },
        Change::Block {
            session: absent(),
            action: json!({}),
        },
        Change::Configure {
            session: absent(),
            limit: None,
            profile: None,
        },
    ];
    for change in changes {
        assert_eq!(refusal(subject.change([change]).await), "missing");
    }
}

pub async fn the_receipt_shows_the_session_touched_last(subject: Subject) {
    let receipt = subject.change([open("a"), open("b")]).await.unwrap();
    assert_eq!(receipt.session.unwrap().key, key("b"));
    let receipt = subject
        .change([reserve("b", 1), reserve("a", 2)])
        .await
        .unwrap();
    assert_eq!(receipt.session.unwrap().key, key("a"));
    let receipt = subject
        .change([Change::Forget { session: key("a") }])
        .await
        .unwrap();
    assert_eq!(receipt.session, None);
}
