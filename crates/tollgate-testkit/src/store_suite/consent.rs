//! Approvals, grants, reviews and credentials.

use std::sync::Arc;

use serde_json::json;
use tollgate_core::{
    Principal, SessionKey,
    store::{
        Approval, ApprovalFilter, ApprovalLimits, ApprovalState, Batch, Change, Credential, Grant,
        GrantScope, ReviewItem, ReviewStatus,
    },
};

use super::{Subject, refusal, samples::*};

async fn ask(subject: &Subject, approval: Approval) -> &'static str {
    refusal(subject.change([asking(approval)]).await)
}

async fn ask_within(subject: &Subject, approval: Approval, limits: ApprovalLimits) -> &'static str {
    let asking = Change::AskApproval { approval, limits };
    refusal(subject.change([asking]).await)
}

/// The question of one principal, whose name is its first letter.
fn of(id: &str, byte: u8) -> Approval {
    let principal = Principal::token(&id[..1]);
    Approval {
        session: SessionKey::new(principal, "s"),
        ..approval(id, byte)
    }
}

pub async fn an_open_question_is_kept(subject: Subject) {
    let first = approval("one", 1);
    assert_eq!(ask(&subject, first.clone()).await, "made");
    let again = Approval {
        created: later(5),
        expires: later(900),
        ..approval("two", 1)
    };
    assert_eq!(ask(&subject, again).await, "made");
    let known = subject.store.approval_of(&digest(1)).await.unwrap();
    assert_eq!(known, Some(first.clone()));
    assert_eq!(subject.store.approval("one").await.unwrap(), Some(first));
    assert_eq!(subject.store.approval("two").await.unwrap(), None);
    assert_eq!(subject.store.approval_of(&digest(2)).await.unwrap(), None);
    let taken = ask(&subject, approval("one", 2)).await;
    assert_eq!(taken, "conflict");
}

pub async fn an_ended_question_is_asked_again(subject: Subject) {
    ask(&subject, approval("one", 1)).await;
    let again = Approval {
        created: later(600),
        expires: later(1200),
        ..approval("two", 1)
    };
    ask(&subject, again.clone()).await;
    let known = subject.store.approval_of(&digest(1)).await.unwrap();
    assert_eq!(known, Some(again));
    subject
        .change([decide("two", false, later(700))])
        .await
        .unwrap();
    let third = Approval {
        created: later(701),
        expires: later(1300),
        ..approval("three", 1)
    };
    ask(&subject, third.clone()).await;
    let known = subject.store.approval_of(&digest(1)).await.unwrap();
    assert_eq!(known, Some(third));
}

pub async fn no_more_questions_are_open_than_allowed(subject: Subject) {
    let limits = ApprovalLimits {
        pending: 3,
        pending_per_principal: 2,
        ..ApprovalLimits::default()
    };
    let ask = async |asked| ask_within(&subject, asked, limits).await;
    assert_eq!(ask(of("a1", 1)).await, "made");
    assert_eq!(ask(of("a2", 2)).await, "made");
    assert_eq!(ask(of("a3", 3)).await, "approvals full");
    assert_eq!(subject.store.approval("a3").await.unwrap(), None);
    // The same question again is none more.
    assert_eq!(ask(of("a4", 1)).await, "made");
    assert_eq!(ask(of("b1", 4)).await, "made");
    assert_eq!(ask(of("b2", 5)).await, "approvals full");
    // What is decided waits no longer, nor what has ended.
    let decided = [decide("a1", false, NOW), decide("a2", true, NOW)];
    subject.change(decided).await.unwrap();
    assert_eq!(ask(of("a5", 6)).await, "made");
    assert_eq!(ask(of("a6", 7)).await, "made");
    assert_eq!(ask(of("b3", 8)).await, "approvals full");
    let late = Approval {
        created: later(600),
        expires: later(1200),
        ..of("b4", 9)
    };
    assert_eq!(ask(late).await, "made");
}

pub async fn open_questions_show_no_more_than_allowed(subject: Subject) {
    let limits = ApprovalLimits {
        preview_bytes: 300,
        preview_bytes_per_principal: 200,
        ..ApprovalLimits::default()
    };
    let ask = async |id: &str, byte, letters: usize| {
        let asked = Approval {
            preview: "x".repeat(letters - 2).into(),
            ..of(id, byte)
        };
        ask_within(&subject, asked, limits).await
    };
    assert_eq!(ask("a1", 1, 201).await, "approvals full");
    assert_eq!(ask("a1", 1, 200).await, "made");
    assert_eq!(ask("a2", 2, 10).await, "approvals full");
    assert_eq!(ask("b1", 3, 101).await, "approvals full");
    assert_eq!(ask("b1", 3, 100).await, "made");
    subject.change([decide("a1", true, NOW)]).await.unwrap();
    assert_eq!(ask("a2", 2, 200).await, "made");
}

pub async fn a_question_that_ended_undecided_shows_nothing(subject: Subject) {
    ask(&subject, approval("one", 1)).await;
    ask(&subject, approval("two", 2)).await;
    subject.change([decide("two", false, NOW)]).await.unwrap();
    let late = Approval {
        created: later(600),
        expires: later(1200),
        ..approval("three", 3)
    };
    ask(&subject, late.clone()).await;
    let shown = async |id| {
        let known = subject.store.approval(id).await.unwrap();
        known.unwrap().preview
    };
    assert_eq!(shown("one").await, json!(null));
    assert_eq!(shown("two").await, approval("two", 2).preview);
    assert_eq!(shown("three").await, late.preview);
}

pub async fn only_an_open_question_in_time_is_decided(subject: Subject) {
    ask(&subject, approval("one", 1)).await;
    let try_at = async |id: &'static str, at| {
        let decided = subject.change([decide(id, true, at)]).await;
        refusal(decided)
    };
    assert_eq!(try_at("absent", later(1)).await, "approval gone");
    assert_eq!(try_at("one", later(600)).await, "approval gone");
    assert_eq!(try_at("one", later(599)).await, "made");
    assert_eq!(try_at("one", later(599)).await, "approval gone");
    let expected = Approval {
        state: ApprovalState::Granted,
        decided_by: Some("a human".to_owned()),
        decided_at: Some(later(599)),
        ..approval("one", 1)
    };
    assert_eq!(subject.store.approval("one").await.unwrap(), Some(expected));
}

pub async fn an_approval_works_once(subject: Subject) {
    ask(&subject, approval("one", 1)).await;
    let try_at = async |at| refusal(subject.change([consume(1, "call", at)]).await);
    assert_eq!(try_at(later(1)).await, "approval gone");
    subject
        .change([decide("one", true, later(1))])
        .await
        .unwrap();
    assert_eq!(try_at(later(2)).await, "made");
    assert_eq!(try_at(later(2)).await, "approval gone");
    let known = subject.store.approval("one").await.unwrap().unwrap();
    assert_eq!(known.state, ApprovalState::Consumed);
    assert_eq!(known.consumed_by, Some(call("call")));
    assert_eq!(known.consumed_at, Some(later(2)));
}

pub async fn an_approval_works_once_however_many_try(subject: Subject) {
    ask(&subject, approval("one", 1)).await;
    subject.change([decide("one", true, NOW)]).await.unwrap();
    let tries: Vec<_> = (0..32)
        .map(|number| {
            let store = Arc::clone(&subject.store);
            tokio::spawn(async move {
                let changes = vec![consume(1, &format!("call-{number}"), NOW)];
                let batch = Batch {
                    changes,
                    ..Batch::default()
                };
                refusal(store.commit(batch).await)
            })
        })
        .collect();
    let mut outcomes = Vec::new();
    for attempt in tries {
        outcomes.push(attempt.await.unwrap());
    }
    outcomes.sort_unstable();
    let mut expected = vec!["approval gone"; 31];
    expected.push("made");
    assert_eq!(outcomes, expected);
}

pub async fn a_denied_or_late_approval_does_not_work(subject: Subject) {
    ask(&subject, approval("one", 1)).await;
    ask(&subject, approval("two", 2)).await;
    let decisions = [decide("one", false, NOW), decide("two", true, NOW)];
    subject.change(decisions).await.unwrap();
    let denied = subject.change([consume(1, "call", NOW)]).await;
    assert_eq!(refusal(denied), "approval gone");
    let late = subject.change([consume(2, "call", later(600))]).await;
    assert_eq!(refusal(late), "approval gone");
}

pub async fn a_clock_that_jumped_back_revives_nothing(subject: Subject) {
    let asked = Approval {
        created: later(100),
        expires: later(200),
        ..approval("one", 1)
    };
    ask(&subject, asked).await;
    let early = subject.change([decide("one", true, later(10))]).await;
    assert_eq!(refusal(early), "approval gone");
    let decided = decide("one", true, later(150));
    subject.change([decided]).await.unwrap();
    let early = subject.change([consume(1, "call", later(10))]).await;
    assert_eq!(refusal(early), "approval gone");
}

pub async fn approvals_are_listed_newest_first(subject: Subject) {
    for (id, byte) in [("one", 1), ("two", 2), ("three", 3)] {
        // Asked later by a clock that runs backwards: order is not a matter of time.
        let asked = Approval {
            created: later(100 - u64::from(byte)),
            ..approval(id, byte)
        };
        ask(&subject, asked).await;
    }
    subject
        .change([decide("two", true, later(100))])
        .await
        .unwrap();
    let list = async |state, limit| {
        let filter = ApprovalFilter { state, limit };
        let found = subject.store.approvals(&filter).await.unwrap();
        found.into_iter().map(|a| a.id).collect::<Vec<_>>()
    };
    assert_eq!(list(None, 10).await, ["three", "two", "one"]);
    assert_eq!(list(None, 1).await, ["three"]);
    let pending = Some(ApprovalState::Pending);
    assert_eq!(list(pending, 10).await, ["three", "one"]);
    assert_eq!(list(Some(ApprovalState::Denied), 10).await, [""; 0]);
}

pub async fn grants_replace_and_go(subject: Subject) {
    let scope = |tool: &str| GrantScope::Site {
        tool: tool.to_owned(),
        spec_digest: "spec".to_owned(),
        site: "example.org".to_owned(),
    };
    let grant = |tool, expires| Grant {
        session: key("s"),
        scope: scope(tool),
        by: "a human".to_owned(),
        at: NOW,
        expires,
    };
    let give = |tool, until| Change::Grant(grant(tool, until));
    subject
        .change([give("a", later(1)), give("b", later(2))])
        .await
        .unwrap();
    subject.change([give("a", later(9))]).await.unwrap();
    let mut held = subject.store.grants(&key("s")).await.unwrap();
    held.sort_by_key(|grant| grant.expires);
    assert_eq!(held, [grant("b", later(2)), grant("a", later(9))]);
    assert_eq!(subject.store.grants(&key("other")).await.unwrap(), []);
    let revoke = |tool| Change::Revoke {
        session: key("s"),
        scope: scope(tool),
    };
    subject.change([revoke("a")]).await.unwrap();
    assert_eq!(refusal(subject.change([revoke("a")]).await), "missing");
    let held = subject.store.grants(&key("s")).await.unwrap();
    assert_eq!(held, [grant("b", later(2))]);
}

pub async fn a_review_item_is_resolved_once(subject: Subject) {
    for id in ["one", "two"] {
        let opened = Change::OpenReview(review(id));
        subject.change([opened]).await.unwrap();
    }
    let again = ReviewItem {
        subject: "another".to_owned(),
        ..review("one")
    };
    subject.change([Change::OpenReview(again)]).await.unwrap();
    let kept = subject.store.review("one").await.unwrap();
    assert_eq!(kept, Some(review("one")), "the first one is kept");
    let resolve = |id: &str| Change::ResolveReview {
        id: id.to_owned(),
        resolution: "approve".to_owned(),
        note: Some("fine".to_owned()),
        by: "a human".to_owned(),
        at: later(1),
    };
    subject.change([resolve("one")]).await.unwrap();
    assert_eq!(refusal(subject.change([resolve("one")]).await), "conflict");
    assert_eq!(refusal(subject.change([resolve("no")]).await), "missing");
    let resolved = ReviewItem {
        status: ReviewStatus::Resolved,
        resolution: Some("approve".to_owned()),
        note: Some("fine".to_owned()),
        resolved_at: Some(later(1)),
        resolved_by: Some("a human".to_owned()),
        ..review("one")
    };
    let store = &subject.store;
    assert_eq!(store.review("one").await.unwrap(), Some(resolved.clone()));
    assert_eq!(store.review("absent").await.unwrap(), None);
    let open = store.reviews(Some(ReviewStatus::Open), 9).await.unwrap();
    assert_eq!(open, [review("two")]);
    let every = store.reviews(None, 9).await.unwrap();
    assert_eq!(every, [review("two"), resolved]);
    assert_eq!(store.reviews(None, 1).await.unwrap(), [review("two")]);
}

pub async fn credentials_are_found_by_digest_and_end_once(subject: Subject) {
    for (id, byte) in [("one", 1), ("two", 2)] {
        let added = Change::AddCredential(credential(id, byte));
        subject.change([added]).await.unwrap();
    }
    for taken in [credential("one", 3), credential("three", 2)] {
        let added = subject.change([Change::AddCredential(taken)]).await;
        assert_eq!(refusal(added), "conflict");
    }
    let revoke = |id: &str, at| Change::RevokeCredential {
        id: id.to_owned(),
        at,
    };
    subject.change([revoke("one", later(1))]).await.unwrap();
    subject.change([revoke("one", later(2))]).await.unwrap();
    let absent = subject.change([revoke("absent", later(2))]).await;
    assert_eq!(refusal(absent), "missing");
    let revoked = Credential {
        revoked: Some(later(1)),
        ..credential("one", 1)
    };
    let store = &subject.store;
    let found = store.credential(&digest(1)).await.unwrap();
    assert_eq!(found, Some(revoked.clone()));
    assert_eq!(store.credential(&digest(9)).await.unwrap(), None);
    let every = store.credentials().await.unwrap();
    assert_eq!(every, [credential("two", 2), revoked]);
}
