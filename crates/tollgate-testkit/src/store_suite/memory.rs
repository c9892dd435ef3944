//! Cached answers, bodies and provider state.

use std::{sync::Arc, time::Duration};

use tollgate_core::{
    Principal, Timestamp,
    store::{Batch, Body, CacheKey, Change, Versioned},
};

use super::{Subject, refusal, samples::*};

fn remember(key: CacheKey, answer: &str, until: Option<Timestamp>) -> Change {
    Change::Remember {
        key,
        answer: answer.as_bytes().to_vec(),
        until,
        at: NOW,
    }
}

async fn recall(subject: &Subject, key: CacheKey, now: Timestamp) -> Option<String> {
    let there = subject.store.peek(&key, now).await.unwrap();
    let answer = subject.store.recall(&key, now).await.unwrap();
    assert_eq!(there, answer.is_some());
    answer.map(|answer| String::from_utf8(answer).unwrap())
}

pub async fn an_answer_is_bound_to_its_whole_key(subject: Subject) {
    let key = || cache_key("s", "text.stats:0", "v1");
    subject
        .change([remember(key(), "first", None)])
        .await
        .unwrap();
    let found = recall(&subject, key(), later(1_000_000)).await;
    assert_eq!(found.as_deref(), Some("first"));
    for other in [
        cache_key("other", "text.stats:0", "v1"),
        cache_key("s", "text.stats:1", "v1"),
        cache_key("s", "text.stats:0", "v2"),
    ] {
        assert_eq!(recall(&subject, other, NOW).await, None);
    }
    subject
        .change([remember(key(), "second", None)])
        .await
        .unwrap();
    let found = recall(&subject, key(), NOW).await;
    assert_eq!(found.as_deref(), Some("second"));
}

pub async fn entries_of_a_session_are_found_by_how_their_keys_begin(subject: Subject) {
    let entries = [
        (cache_key("s", "b.get:2", "v1"), None),
        (cache_key("s", "b.get:1", "v1"), None),
        (cache_key("s", "b.get:1", "v0"), Some(later(10))),
        (cache_key("s", "b_get:1", "v1"), None),
        (cache_key("other", "b.get:3", "v1"), None),
    ];
    let changes = entries
        .clone()
        .map(|(key, until)| remember(key, "x", until));
    subject.change(changes).await.unwrap();
    let [two, one, ends, _, _] = entries.map(|(key, _)| key);
    let find = |prefix: &'static str, limit, now| {
        let (store, session) = (Arc::clone(&subject.store), one.session.clone());
        async move { store.entries(&session, prefix, limit, now).await.unwrap() }
    };
    let all = [ends.clone(), one.clone(), two.clone()];
    assert_eq!(find("b.get:", 9, later(9)).await, all);
    assert_eq!(find("b.get:", 9, later(10)).await, [one.clone(), two]);
    let found = find("b.get:1", 9, later(10)).await;
    assert_eq!(found, std::slice::from_ref(&one));
    assert_eq!(find("b.get:", 1, later(9)).await, [ends]);
    assert_eq!(find("b.get:1' OR 1=1", 9, NOW).await, []);
}

pub async fn an_answer_ends(subject: Subject) {
    let key = || cache_key("s", "k", "v");
    subject
        .change([remember(key(), "x", Some(later(10)))])
        .await
        .unwrap();
    assert!(recall(&subject, key(), later(9)).await.is_some());
    assert_eq!(recall(&subject, key(), later(10)).await, None);
}

pub async fn an_answer_that_ends_does_not_last_because_the_clock_jumped_back(subject: Subject) {
    let (ends, stays) = (cache_key("s", "k", "v"), cache_key("s", "other", "v"));
    let changes = [
        remember(ends.clone(), "x", Some(later(10))),
        remember(stays.clone(), "y", None),
    ];
    subject.change(changes).await.unwrap();
    for (back, is_there) in [(0, true), (1, true), (60, false), (1_000_000, false)] {
        let now = NOW.minus(Duration::from_secs(back));
        let found = recall(&subject, ends.clone(), now).await;
        assert_eq!(found.is_some(), is_there, "{back} s");
        assert!(recall(&subject, stays.clone(), now).await.is_some());
    }
}

pub async fn a_session_forgets_only_its_own(subject: Subject) {
    for handle in ["a", "b"] {
        let key = cache_key(handle, "k", "v");
        subject.change([remember(key, "x", None)]).await.unwrap();
    }
    let forget = Change::Forget { session: key("a") };
    subject.change([forget]).await.unwrap();
    assert_eq!(recall(&subject, cache_key("a", "k", "v"), NOW).await, None);
    let kept = recall(&subject, cache_key("b", "k", "v"), NOW).await;
    assert_eq!(kept.as_deref(), Some("x"));
}

pub async fn bodies_are_kept_as_they_are(subject: Subject) {
    let bodies = [
        Body {
            call: call("one"),
            arguments: Some("{\"a\": 1.0}".to_owned()),
            data: Some("\"é\\u0000\"".to_owned()),
        },
        Body {
            call: call("two"),
            arguments: None,
            data: None,
        },
    ];
    for body in bodies {
        let kept = Change::KeepBody(body.clone());
        subject.change([kept]).await.unwrap();
        let found = subject.store.body(&body.call).await.unwrap();
        assert_eq!(found, Some(body));
    }
    assert_eq!(subject.store.body(&call("absent")).await.unwrap(), None);
}

fn put(key: &str, version: Option<u64>, value: &str) -> Change {
    Change::PutState {
        namespace: "files".to_owned(),
        principal: Principal::user(1000),
        key: key.to_owned(),
        version,
        value: value.as_bytes().to_vec(),
        until: None,
        at: NOW,
    }
}

async fn state(subject: &Subject, key: &str, now: Timestamp) -> Option<Versioned> {
    let principal = Principal::user(1000);
    let state = subject.store.state("files", &principal, key, now);
    state.await.unwrap()
}

pub async fn state_is_written_only_over_the_expected_version(subject: Subject) {
    assert_eq!(
        refusal(subject.change([put("k", Some(1), "x")]).await),
        "conflict"
    );
    let first = subject.change([put("k", None, "a")]).await.unwrap();
    let version = first.version.unwrap();
    assert_eq!(
        refusal(subject.change([put("k", None, "x")]).await),
        "conflict"
    );
    let second = subject.change([put("k", Some(version), "b")]).await;
    let second = second.unwrap().version.unwrap();
    assert!(second > version);
    assert_eq!(
        refusal(subject.change([put("k", Some(version), "x")]).await),
        "conflict"
    );
    let expected = Versioned {
        value: b"b".to_vec(),
        version: second,
    };
    assert_eq!(state(&subject, "k", NOW).await, Some(expected));
    let store = &subject.store;
    let foreign = store.state("files", &Principal::user(1), "k", NOW).await;
    assert_eq!(foreign.unwrap(), None);
    let elsewhere = store.state("web", &Principal::user(1000), "k", NOW).await;
    assert_eq!(elsewhere.unwrap(), None);
}

pub async fn a_version_is_never_given_twice(subject: Subject) {
    let mut seen = Vec::new();
    for _ in 0..3 {
        let receipt = subject.change([put("k", None, "a")]).await.unwrap();
        seen.push(receipt.version.unwrap());
        let delete = Change::DeleteState {
            namespace: "files".to_owned(),
            principal: Principal::user(1000),
            key: "k".to_owned(),
        };
        subject.change([delete]).await.unwrap();
        assert_eq!(state(&subject, "k", NOW).await, None);
    }
    let receipt = subject.change([put("other", None, "a")]).await.unwrap();
    seen.push(receipt.version.unwrap());
    let mut distinct = seen.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct, seen);
}

pub async fn ended_state_counts_as_absent(subject: Subject) {
    let put_until = |version, at: Timestamp| Change::PutState {
        namespace: "files".to_owned(),
        principal: Principal::user(1000),
        key: "k".to_owned(),
        version,
        value: b"x".to_vec(),
        until: Some(at.plus(Duration::from_secs(10))),
        at,
    };
    let first = subject.change([put_until(None, NOW)]).await.unwrap();
    assert!(state(&subject, "k", later(9)).await.is_some());
    assert_eq!(state(&subject, "k", later(10)).await, None);
    let late = subject.change([put_until(first.version, later(10))]).await;
    assert_eq!(refusal(late), "conflict");
    let again = subject.change([put_until(None, later(10))]).await.unwrap();
    assert!(again.version > first.version);
}

pub async fn of_many_writers_one_wins(subject: Subject) {
    let tries: Vec<_> = (0..16)
        .map(|number| {
            let store = Arc::clone(&subject.store);
            tokio::spawn(async move {
                let changes = vec![put("k", None, &number.to_string())];
                let batch = Batch {
                    changes,
                    ..Batch::default()
                };
                store.commit(batch).await.is_ok()
            })
        })
        .collect();
    let mut won = 0;
    for attempt in tries {
        won += u32::from(attempt.await.unwrap());
    }
    assert_eq!(won, 1);
}
