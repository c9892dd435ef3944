//! Runs: claims, fences, endings, artifacts.

use tollgate_core::{
    Principal, SessionKey, Timestamp,
    store::{ArtifactRow, Change, RunChange, RunQuery, RunRow},
};

use super::{DEAD_OWNER, Subject, refusal, samples::*};

fn run(id: &str) -> RunRow {
    RunRow {
        id: id.to_owned(),
        session: SessionKey::new(Principal::user(1000), "s"),
        template: "t".to_owned(),
        status: "queued".to_owned(),
        is_over: false,
        created: NOW,
        updated: NOW,
        owner: None,
        fence: 0,
        is_canceled: false,
        is_resting: false,
        record: b"{}".to_vec(),
        sealed: Some(b"sealed".to_vec()),
    }
}

fn open(row: RunRow) -> Change {
    Change::Run(RunChange::Open(Box::new(row)))
}

fn claim(subject: &Subject, id: &str, fence: u64, most: u32) -> Change {
    Change::Run(RunChange::Claim {
        id: id.to_owned(),
        owner: subject.store.owner().to_owned(),
        fence,
        most,
        status: "running".to_owned(),
        at: later(1),
    })
}

fn steps(id: &str, fence: u64, record: &str) -> Change {
    let named = |name: &str| (name.to_owned(), record.as_bytes().to_vec());
    Change::Run(RunChange::Steps {
        id: id.to_owned(),
        fence,
        steps: vec![named("a"), named("b")],
        at: later(3),
    })
}

fn over(id: &str, fence: u64) -> Change {
    Change::Run(RunChange::Move {
        id: id.to_owned(),
        fence,
        status: "succeeded".to_owned(),
        is_over: true,
        record: b"{\"done\":1}".to_vec(),
        at: later(2),
    })
}

pub async fn a_run_is_opened_once_and_found(subject: Subject) {
    subject.change([open(run("r1"))]).await.unwrap();
    let again = subject.change([open(run("r1"))]).await;
    assert_eq!(refusal(again), "conflict");
    assert_eq!(subject.store.run("r1").await.unwrap(), Some(run("r1")));
    assert_eq!(subject.store.run("r2").await.unwrap(), None);
    assert_eq!(subject.store.open_runs().await.unwrap(), 1);
}

pub async fn a_claim_raises_the_fence(subject: Subject) {
    subject.change([open(run("r1"))]).await.unwrap();
    subject
        .change([claim(&subject, "r1", 0, 5), steps("r1", 1, "one")])
        .await
        .unwrap();
    let stale = subject.change([claim(&subject, "r1", 0, 5)]).await;
    assert_eq!(refusal(stale), "conflict");
    subject.change([claim(&subject, "r1", 1, 5)]).await.unwrap();
    for old in [steps("r1", 1, "late"), over("r1", 1)] {
        assert_eq!(refusal(subject.change([old]).await), "conflict");
    }
    subject.change([steps("r1", 2, "two")]).await.unwrap();
    let known = subject.store.run_steps("r1").await.unwrap();
    let two = |name: &str| (name.to_owned(), b"two".to_vec());
    assert_eq!(known, [two("a"), two("b")]);
    let found = subject.store.run("r1").await.unwrap().unwrap();
    assert_eq!((found.fence, found.status.as_str()), (2, "running"));
    assert_eq!(found.updated, later(3), "a step is a change of its run");
}

pub async fn no_more_runs_are_driven_than_allowed(subject: Subject) {
    for id in ["r1", "r2"] {
        subject.change([open(run(id))]).await.unwrap();
    }
    subject.change([claim(&subject, "r1", 0, 1)]).await.unwrap();
    let second = subject.change([claim(&subject, "r2", 0, 1)]).await;
    assert_eq!(refusal(second), "busy");
    subject.change([over("r1", 1)]).await.unwrap();
    subject.change([claim(&subject, "r2", 0, 1)]).await.unwrap();
}

pub async fn runs_of_the_dead_take_nobodys_place(subject: Subject) {
    for id in ["r1", "r2", "r3"] {
        let orphan = RunRow {
            owner: Some(DEAD_OWNER.to_owned()),
            status: "running".to_owned(),
            fence: 1,
            ..run(id)
        };
        subject.change([open(orphan)]).await.unwrap();
    }
    subject.change([open(run("r4"))]).await.unwrap();
    // More were left behind than may be driven: one is taken over all the same.
    subject.change([claim(&subject, "r1", 1, 1)]).await.unwrap();
    for (id, fence) in [("r2", 1), ("r4", 0)] {
        let beside = subject.change([claim(&subject, id, fence, 1)]).await;
        assert_eq!(refusal(beside), "busy", "{id}");
    }
    subject.change([over("r1", 2)]).await.unwrap();
    subject.change([claim(&subject, "r4", 0, 1)]).await.unwrap();
    let rest = |rests: bool| {
        Change::Run(RunChange::Rest {
            id: "r4".to_owned(),
            fence: 1,
            rests,
            most: 1,
        })
    };
    subject.change([rest(true)]).await.unwrap();
    subject.change([rest(false)]).await.unwrap();
}

pub async fn a_run_that_rests_takes_nobodys_place(subject: Subject) {
    let rest = |id: &str, fence: u64, rests: bool| {
        Change::Run(RunChange::Rest {
            id: id.to_owned(),
            fence,
            rests,
            most: 1,
        })
    };
    for id in ["r1", "r2"] {
        subject.change([open(run(id))]).await.unwrap();
    }
    subject.change([claim(&subject, "r1", 0, 1)]).await.unwrap();
    assert_eq!(
        refusal(subject.change([rest("r1", 9, true)]).await),
        "conflict"
    );
    subject.change([rest("r1", 1, true)]).await.unwrap();
    assert!(subject.store.run("r1").await.unwrap().unwrap().is_resting);
    subject.change([claim(&subject, "r2", 0, 1)]).await.unwrap();
    assert_eq!(
        refusal(subject.change([rest("r1", 1, false)]).await),
        "busy"
    );
    subject.change([over("r2", 1)]).await.unwrap();
    subject.change([rest("r1", 1, false)]).await.unwrap();
    assert!(!subject.store.run("r1").await.unwrap().unwrap().is_resting);
}

pub async fn a_run_that_is_over_stays_so_and_forgets_its_inputs(subject: Subject) {
    subject.change([open(run("r1"))]).await.unwrap();
    let cancel = || {
        Change::Run(RunChange::Cancel {
            id: "r1".to_owned(),
            at: later(1),
        })
    };
    assert_eq!(subject.store.run_canceled("r1").await.unwrap(), Some(false));
    subject.change([cancel()]).await.unwrap();
    assert_eq!(subject.store.run_canceled("r1").await.unwrap(), Some(true));
    subject.change([claim(&subject, "r1", 0, 5)]).await.unwrap();
    subject.change([over("r1", 1)]).await.unwrap();
    let found = subject.store.run("r1").await.unwrap().unwrap();
    assert_eq!((found.sealed, found.owner), (None, None));
    assert_eq!(refusal(subject.change([cancel()]).await), "missing");
    for change in [over("r1", 1), claim(&subject, "r1", 1, 5)] {
        assert_eq!(refusal(subject.change([change]).await), "conflict");
    }
    assert_eq!(subject.store.open_runs().await.unwrap(), 0);
}

pub async fn runs_without_a_living_owner_wait(subject: Subject) {
    let orphan = RunRow {
        owner: Some(DEAD_OWNER.to_owned()),
        status: "running".to_owned(),
        ..run("r3")
    };
    for row in [run("r1"), run("r2"), orphan] {
        subject.change([open(row)]).await.unwrap();
    }
    subject.change([claim(&subject, "r1", 0, 5)]).await.unwrap();
    let waiting = subject.store.waiting_runs(10).await.unwrap();
    let ids: Vec<&str> = waiting.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(ids, ["r3", "r2"], "those that were begun come first");
    assert_eq!(subject.store.waiting_runs(1).await.unwrap().len(), 1);
}

pub async fn runs_are_listed_newest_first(subject: Subject) {
    for id in ["r1", "r2", "r3"] {
        subject.change([open(run(id))]).await.unwrap();
    }
    subject.change([claim(&subject, "r2", 0, 5)]).await.unwrap();
    let list = async |query: RunQuery| -> Vec<String> {
        let found = subject.store.runs(&query).await.unwrap();
        found.into_iter().map(|run| run.id).collect()
    };
    let all = RunQuery {
        limit: 10,
        ..RunQuery::default()
    };
    assert_eq!(list(all.clone()).await, ["r3", "r2", "r1"]);
    let page = RunQuery {
        limit: 1,
        offset: 1,
        ..RunQuery::default()
    };
    assert_eq!(list(page).await, ["r2"]);
    let running = RunQuery {
        status: Some("running".to_owned()),
        principal: Some(Principal::user(1000)),
        template: Some("t".to_owned()),
        ..all.clone()
    };
    assert_eq!(list(running).await, ["r2"]);
    let foreign = RunQuery {
        principal: Some(Principal::user(7)),
        ..all
    };
    assert!(list(foreign).await.is_empty());
}

pub async fn artifacts_end_and_go(subject: Subject) {
    let artifact = ArtifactRow {
        id: "art_1".to_owned(),
        run: "r1".to_owned(),
        principal: Principal::user(1000),
        name: "stdout".to_owned(),
        kind: "text".to_owned(),
        mime_type: "text/plain".to_owned(),
        size: 3,
        sha256: "00".to_owned(),
        is_tainted: true,
        created: NOW,
        until: None,
        is_gone: false,
    };
    let keep = Change::Run(RunChange::Keep(artifact.clone()));
    subject.change([keep]).await.unwrap();
    let stale = async |now: Timestamp| subject.store.stale_artifacts(now, 10).await.unwrap();
    assert!(stale(later(1_000_000)).await.is_empty());
    let until = Change::Run(RunChange::Until {
        run: "r1".to_owned(),
        until: later(10),
    });
    subject.change([until]).await.unwrap();
    assert!(stale(later(9)).await.is_empty());
    assert_eq!(stale(later(10)).await.len(), 1);
    let gone = Change::Run(RunChange::Gone {
        artifact: "art_1".to_owned(),
    });
    subject.change([gone]).await.unwrap();
    assert!(stale(later(10)).await.is_empty());
    let found = subject.store.artifact("art_1").await.unwrap().unwrap();
    assert!(found.is_gone && found.until == Some(later(10)));
    assert!(found.is_tainted);
    assert_eq!(subject.store.artifacts("r1").await.unwrap().len(), 1);
}
