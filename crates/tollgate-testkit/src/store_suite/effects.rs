//! Calls that were announced, and the effects among them.

use std::sync::Arc;

use tollgate_core::store::{Batch, Change, Effect, EffectQuery, Intent};

use super::{Subject, refusal, samples::*};

pub async fn a_call_ends_once(subject: Subject) {
    let announced = Change::OpenIntent(intent("one", 1));
    subject.change([announced]).await.unwrap();
    subject.change([end("one", Some(b"first"))]).await.unwrap();
    let again = subject.change([end("one", Some(b"second"))]).await;
    assert_eq!(refusal(again), "already ended");
    let effect = subject.store.effect(&effect_query(1)).await.unwrap();
    assert_eq!(effect.unwrap().answer.as_deref(), Some(&b"first"[..]));
}

pub async fn a_call_is_announced_once(subject: Subject) {
    let announce = || Change::OpenIntent(intent("one", 1));
    subject.change([announce()]).await.unwrap();
    assert_eq!(refusal(subject.change([announce()]).await), "conflict");
    subject.change([end("one", None)]).await.unwrap();
    assert_eq!(refusal(subject.change([announce()]).await), "conflict");
}

pub async fn two_that_end_the_same_call_do_not_both_succeed(subject: Subject) {
    let announced = Change::OpenIntent(intent("one", 1));
    subject.change([announced]).await.unwrap();
    let tries: Vec<_> = (0..8)
        .map(|_| {
            let store = Arc::clone(&subject.store);
            tokio::spawn(async move {
                let batch = Batch {
                    changes: vec![end("one", None)],
                    ..Batch::default()
                };
                store.commit(batch).await.is_ok()
            })
        })
        .collect();
    let mut made = 0;
    for attempt in tries {
        made += u32::from(attempt.await.unwrap());
    }
    assert_eq!(made, 1);
}

pub async fn an_effect_is_found_by_its_key_whatever_became_of_it(subject: Subject) {
    let named = Intent {
        idempotency_key: Some("mine".to_owned()),
        ..intent("one", 1)
    };
    subject.change([Change::OpenIntent(named)]).await.unwrap();
    // Another digest under the same name is found as well, so that it can be told.
    let query = EffectQuery {
        idempotency_key: Some("mine".to_owned()),
        since: later(1_000_000),
        ..effect_query(2)
    };
    let mut expected = Effect {
        call: call("one"),
        digest: Some(digest(1)),
        answer: None,
        delivered: false,
    };
    let look = async || subject.store.effect(&query).await.unwrap();
    assert_eq!(look().await, Some(expected.clone()));
    subject.change([end("one", Some(b"done"))]).await.unwrap();
    expected.answer = Some(b"done".to_vec());
    assert_eq!(look().await, Some(expected.clone()));
    let delivered = Change::Delivered { call: call("one") };
    subject.change([delivered]).await.unwrap();
    expected.delivered = true;
    assert_eq!(look().await, Some(expected));
    let elsewhere = EffectQuery {
        session: key("other"),
        ..query.clone()
    };
    assert_eq!(subject.store.effect(&elsewhere).await.unwrap(), None);
}

pub async fn an_effect_that_was_never_called_may_be_announced_again(subject: Subject) {
    let named = |id| {
        Change::OpenIntent(Intent {
            idempotency_key: Some("mine".to_owned()),
            ..intent(id, 1)
        })
    };
    subject.change([named("one")]).await.unwrap();
    assert_eq!(refusal(subject.change([named("two")]).await), "conflict");
    subject.change([end("one", None)]).await.unwrap();
    assert_eq!(subject.store.effect(&effect_query(1)).await.unwrap(), None);
    subject.change([named("two")]).await.unwrap();
    let found = subject.store.effect(&effect_query(1)).await.unwrap();
    assert_eq!(found.unwrap().call, call("two"));
}

pub async fn an_effect_is_found_by_its_digest_until_delivered(subject: Subject) {
    for id in ["one", "two"] {
        let announced = Change::OpenIntent(intent(id, 1));
        let ended = end(id, Some(b"done"));
        subject.change([announced, ended]).await.unwrap();
    }
    let look = async |query: EffectQuery| {
        let found = subject.store.effect(&query).await.unwrap();
        found.map(|effect| effect.call.to_string())
    };
    assert_eq!(look(effect_query(1)).await.as_deref(), Some("two"));
    assert_eq!(look(effect_query(2)).await, None);
    let since = |since| EffectQuery {
        since,
        ..effect_query(1)
    };
    assert_eq!(look(since(NOW)).await.as_deref(), Some("two"));
    assert_eq!(look(since(later(1))).await, None);
    let elsewhere = EffectQuery {
        session: key("other"),
        ..effect_query(1)
    };
    assert_eq!(look(elsewhere).await, None);
    let delivered = |id| Change::Delivered { call: call(id) };
    subject.change([delivered("two")]).await.unwrap();
    assert_eq!(look(effect_query(1)).await.as_deref(), Some("one"));
    subject.change([delivered("one")]).await.unwrap();
    assert_eq!(look(effect_query(1)).await, None);
}

pub async fn the_callers_name_for_an_effect_is_used_once(subject: Subject) {
    let named = |id, handle| {
        Change::OpenIntent(Intent {
            idempotency_key: Some("mine".to_owned()),
            session: key(handle),
            ..intent(id, 1)
        })
    };
    subject.change([named("one", "s")]).await.unwrap();
    let again = subject.change([named("two", "s")]).await;
    assert_eq!(refusal(again), "conflict");
    assert_eq!(
        refusal(subject.change([end("two", None)]).await),
        "already ended"
    );
    subject.change([named("three", "other")]).await.unwrap();
}

pub async fn a_harmless_call_is_no_effect(subject: Subject) {
    let harmless = Intent {
        effect: false,
        ..intent("one", 1)
    };
    subject
        .change([Change::OpenIntent(harmless)])
        .await
        .unwrap();
    assert_eq!(subject.store.effect(&effect_query(1)).await.unwrap(), None);
    subject.change([end("one", Some(b"x"))]).await.unwrap();
    assert_eq!(subject.store.effect(&effect_query(1)).await.unwrap(), None);
    let delivered = Change::Delivered { call: call("one") };
    subject.change([delivered]).await.unwrap();
}

pub async fn intents_of_the_living_are_not_abandoned(subject: Subject) {
    let owned = Intent {
        owner: subject.store.owner().to_owned(),
        ..intent("one", 1)
    };
    subject.change([Change::OpenIntent(owned)]).await.unwrap();
    assert_eq!(subject.store.abandoned().await.unwrap(), []);
    subject.change([end("one", None)]).await.unwrap();
    assert_eq!(subject.store.abandoned().await.unwrap(), []);
}
