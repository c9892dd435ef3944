//! Endings that the store refuses come later, once, whoever else is about.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::sync::Semaphore;
use tollgate_core::{
    Principal, Store, StoreError,
    store::{ApprovalFilter, Approvals as _, Change, Intents as _, Sessions as _},
};
use tollgate_engine::{Decided, Outcome, Stage, record::Trouble};
use tollgate_testkit::{MemoryStore, fakes::says};

use crate::support::{
    At, Setup, World, body, caller, details, error, priced, request, said, spec_kept, spec_paid,
    spec_write, waits,
};

/// What a disk says that has no room for a moment, and all else that may pass.
const PASSING: [fn() -> StoreError; 4] = [
    || StoreError::Full,
    || StoreError::Busy,
    || StoreError::ReadOnly,
    || StoreError::Failed("input/output error".into()),
];

/// The three kinds of calls: one that reads, one that costs, one that does something.
const KINDS: [&str; 3] = ["shelf.look", "shelf.buy", "shelf.write"];

#[tokio::test]
async fn an_ending_that_was_refused_is_written_before_the_next_call() {
    for error in PASSING {
        for kind in KINDS {
            let shop = Shop::open().await;
            let refused = shop.refused(kind, error).await;
            assert_eq!(shop.endings_of(&refused).await, 0, "{kind}");
            shop.store.mend();
            let next = shop.world.call("shelf.look", r#"{"n":2}"#).await;
            assert_eq!(said(&next), "ok", "{kind}");
            let ending = shop.world.ending(&refused).await;
            assert_eq!(ending["status"], "ok", "what happened is what is written");
            shop.check(kind, 2).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_ending_that_was_refused_is_written_without_another_call() {
    for kind in KINDS {
        let shop = Shop::open().await;
        let refused = shop.refused(kind, || StoreError::Full).await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(shop.endings_of(&refused).await, 0, "the store is down");
        shop.store.mend();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(shop.endings_of(&refused).await, 1, "{kind}");
        tokio::time::sleep(Duration::from_secs(3600)).await;
        shop.check(kind, 1).await;
        let troubles = [Trouble::EndingsDeferred, Trouble::EndingsWritten];
        assert_eq!(shop.world.log.troubles(), troubles);
    }
}

#[tokio::test]
async fn an_ending_that_was_refused_is_written_before_the_process_ends() {
    for kind in KINDS {
        let shop = Shop::open().await;
        let refused = shop.refused(kind, || StoreError::Full).await;
        shop.store.mend();
        shop.world.gateway.close().await;
        assert_eq!(shop.endings_of(&refused).await, 1, "{kind}");
        shop.check(kind, 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_to_the_end_is_said_and_recovered_once() {
    let shop = Shop::open().await;
    shop.refused("shelf.write", || StoreError::Full).await;
    shop.world.gateway.close().await;
    let troubles = [Trouble::EndingsDeferred, Trouble::EndingsLost];
    assert_eq!(shop.world.log.troubles(), troubles);
    let store = Arc::clone(&shop.store);
    drop(shop);
    store.mend();
    store.bury("memory-owner");
    let next = Shop::over(store).await;
    assert_eq!(next.world.gateway.recover().await.unwrap(), 1);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let endings = next.world.rows("ending").await;
    assert_eq!(endings[1]["error_code"], "tool.gate.record.interrupted");
    next.world.check(2).await;
}

#[tokio::test]
async fn nobody_else_ends_a_call_whose_process_lives() {
    let shop = Shop::open().await;
    let refused = shop.refused("shelf.write", || StoreError::Full).await;
    let other = Shop::over(Arc::clone(&shop.store)).await;
    assert_eq!(other.world.gateway.recover().await.unwrap(), 0);
    shop.store.mend();
    assert_eq!(other.world.gateway.recover().await.unwrap(), 0);
    shop.world.gateway.close().await;
    assert_eq!(shop.world.ending(&refused).await["status"], "ok");
}

#[tokio::test]
async fn an_ending_that_somebody_else_wrote_is_not_written_again() {
    for kind in ["shelf.buy", "shelf.write"] {
        let shop = Shop::open().await;
        let refused = shop.refused(kind, || StoreError::Full).await;
        shop.store.mend();
        shop.store.bury("memory-owner");
        let other = Shop::over(Arc::clone(&shop.store)).await;
        assert_eq!(other.world.gateway.recover().await.unwrap(), 1);
        shop.world.gateway.close().await;
        let ending = shop.world.ending(&refused).await;
        assert_eq!(ending["error_code"], "tool.gate.record.interrupted");
        shop.check(kind, 1).await;
    }
}

#[tokio::test]
async fn a_reservation_comes_back_with_the_ending() {
    let shop = Shop::open().await;
    shop.refused("shelf.buy", || StoreError::Full).await;
    shop.store.mend();
    let looked = shop.world.call("shelf.look", "{}").await;
    let left = looked.envelope.get().budget_ledger.remaining_limit;
    assert_eq!(left, Some(8), "2 of 10 are gone, and nothing is set aside");
    let bought = shop.world.call("shelf.buy", r#"{"n":2}"#).await;
    assert_eq!(said(&bought), "ok");
    let ledger = &bought.envelope.get().budget_ledger;
    assert_eq!(ledger.session_consumed, 4, "2 of each purchase");
    assert_eq!(ledger.remaining_limit, Some(6));
    shop.check("shelf.buy", 3).await;
}

#[tokio::test]
async fn whoever_asks_again_is_shown_the_ending_of_the_effect_and_not_another_effect() {
    let shop = Shop::open().await;
    let refused = shop.refused("shelf.write", || StoreError::Full).await;
    assert_eq!(error(&refused)["details"], json!({"outcome": "unknown"}));
    let meanwhile = shop.world.call("shelf.write", "{}").await;
    assert_eq!(said(&meanwhile), "store_unavailable");
    shop.store.mend();
    shop.world.gateway.close().await;
    let again = shop.world.call("shelf.write", "{}").await;
    assert_eq!(body(&again)["data"], json!({"n": 3}));
    assert_eq!(body(&again)["warnings"], json!(["recorded_ending"]));
    assert_eq!(shop.world.fake.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_batch_that_no_longer_fits_still_ends_the_call() {
    type Refuses = fn(&Change) -> bool;
    let refusals: [(&str, Refuses); 2] = [
        ("shelf.buy", |change| matches!(change, Change::KeepBody(_))),
        ("shelf.look", |change| {
            matches!(change, Change::KeepBody(_) | Change::OpenSession(_))
        }),
    ];
    for (kind, refuses) in refusals {
        let shop = Shop::open().await;
        shop.at_the_end(move |store| store.refuse(refuses));
        let refused = shop.world.call(kind, "{}").await;
        assert_eq!(said(&refused), "internal", "{kind}");
        shop.world.gateway.close().await;
        assert_eq!(shop.endings_of(&refused).await, 1, "{kind}");
        shop.check(kind, 1).await;
    }
}

#[tokio::test]
async fn what_was_written_although_the_disk_failed_is_not_written_again() {
    for kind in KINDS {
        let shop = Shop::open().await;
        shop.agree(kind).await;
        shop.at_the_end(|store| store.doubt_next(StoreError::Full));
        let refused = shop.world.call(kind, "{}").await;
        assert_eq!(said(&refused), "store_unavailable", "{kind}");
        let next = shop.world.call("shelf.look", r#"{"n":2}"#).await;
        assert_eq!(said(&next), "ok");
        assert_eq!(shop.endings_of(&refused).await, 1, "{kind}");
        shop.check(kind, 2).await;
    }
}

#[tokio::test]
async fn a_call_that_may_have_been_announced_is_not_made_and_ends_once() {
    for kind in ["shelf.buy", "shelf.write"] {
        for is_written in [true, false] {
            let shop = Shop::open().await;
            shop.agree(kind).await;
            if is_written {
                shop.store.doubt_next(StoreError::Failed("sync".into()));
            } else {
                shop.store.fail_next(StoreError::Failed("sync".into()));
            }
            let refused = shop.world.call(kind, "{}").await;
            assert_eq!(said(&refused), "store_unavailable", "{kind}");
            assert_eq!(shop.world.fake.count(), 0);
            let ending = shop.world.ending(&refused).await;
            assert_eq!(ending["status"], "error", "{ending}");
            shop.check(kind, 1).await;
            let session = shop.world.session("s1").await;
            assert_eq!(session.consumed, 0, "nothing was called");
        }
    }
}

#[tokio::test]
async fn a_call_whose_session_cannot_be_told_is_written_down_too() {
    let shop = Shop::open().await;
    shop.store.fail_next_session(StoreError::Busy);
    let refused = shop.world.call("shelf.look", "{}").await;
    assert_eq!(said(&refused), "overloaded");
    let ending = shop.world.ending(&refused).await;
    assert_eq!(ending["error_code"], error(&refused)["code"]);
    shop.store.fail_next_session(StoreError::Busy);
    shop.store.fail_next(StoreError::Full);
    let refused = shop.world.gateway.overloaded(&caller("s2"), 3).await;
    shop.world.gateway.close().await;
    assert_eq!(shop.endings_of(&refused).await, 1);
    assert_eq!(shop.world.fake.count(), 0);
    shop.world.check(2).await;
}

#[tokio::test]
async fn a_question_that_could_not_be_kept_is_not_asked_later() {
    let shop = Shop::open().await;
    shop.store.fail_next(StoreError::Full);
    let refused = shop.world.call("shelf.write", "{}").await;
    assert_eq!(said(&refused), "store_unavailable");
    shop.world.gateway.close().await;
    assert_eq!(shop.endings_of(&refused).await, 1);
    let all = ApprovalFilter {
        state: None,
        limit: 10,
    };
    assert_eq!(shop.store.approvals(&all).await.unwrap(), []);
}

#[tokio::test]
async fn a_call_that_we_break_ourselves_ends_once_whatever_it_had_begun() {
    for kind in KINDS {
        for stage in Stage::ALL {
            let armed = Arc::new(AtomicBool::new(false));
            let breaks = Arc::clone(&armed);
            let world = shelf()
                .probe(At::stage(stage, move || {
                    assert!(!breaks.swap(false, Ordering::SeqCst), "a fault of ours");
                }))
                .build()
                .await;
            if kind == "shelf.write" {
                let asked = world.call(kind, "{}").await;
                world.decide(&asked, Decided::Once).await;
            }
            let before = world.rows("ending").await.len();
            armed.store(true, Ordering::SeqCst);
            let broken = world.call(kind, "{}").await;
            let reached = !armed.swap(false, Ordering::SeqCst);
            let expected = if reached { "internal" } else { "ok" };
            assert_eq!(said(&broken), expected, "{kind} {stage:?}");
            world.ending(&broken).await;
            world.check(before + 1).await;
            if reached && stage >= Stage::Invoke && kind == "shelf.write" {
                assert_eq!(details(&broken), json!({"outcome": "unknown"}));
            }
        }
    }
}

#[tokio::test]
async fn a_late_answer_that_was_refused_is_written_too() {
    let store = Arc::new(MemoryStore::new());
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .store(Arc::clone(&store) as Arc<dyn Store>)
        .tool(spec_kept("shelf.slow"), waits(&turnstile, json!({})))
        .build()
        .await;
    let asked = request("shelf.slow", "{}");
    let cancel = asked.cancel.clone();
    let running = world.start(asked);
    world.until_seen(1).await;
    store.fail_next(StoreError::Full);
    cancel.cancel();
    assert_eq!(said(&running.await.unwrap()), "cancelled");
    world.gateway.close().await;
    assert_eq!(world.rows("late_answer").await.len(), 1);
    world.check(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_is_bounded_and_whatever_is_beyond_is_said() {
    let store = Arc::new(MemoryStore::new());
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .store(Arc::clone(&store) as Arc<dyn Store>)
        .settings(|settings| settings.concurrent_calls = 4000)
        .tool(spec_kept("shelf.slow"), waits(&turnstile, json!({})))
        .build()
        .await;
    let running: Vec<_> = (0..2100)
        .map(|n| world.start(request("shelf.slow", &format!(r#"{{"n":{n}}}"#))))
        .collect();
    world.until_seen(2100).await;
    store.break_down(|| StoreError::Full);
    turnstile.add_permits(5000);
    for call in running {
        assert_eq!(said(&call.await.unwrap()), "store_unavailable");
    }
    let turned_away = world.call("shelf.slow", r#"{"n":-1}"#).await;
    assert_eq!(
        error(&turned_away)["message"],
        "nothing was called: too many calls wait to be written down"
    );
    assert_eq!(world.fake.count(), 2100);
    let troubles = [Trouble::EndingsDeferred, Trouble::EndingsLost];
    assert_eq!(world.log.troubles(), troubles);
    store.mend();
    world.gateway.close().await;
    while world.rows("ending").await.len() < 2048 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(said(&world.call("shelf.slow", r#"{"n":-1}"#).await), "ok");
    world.check(2048 + 1).await;
}

/// A shop whose store can be made to fail just before an ending is written.
struct Shop {
    world: World,
    store: Arc<MemoryStore>,
    plan: Arc<Mutex<Option<Plan>>>,
}

/// What happens to the store before the next ending.
type Plan = Box<dyn FnOnce(&MemoryStore) + Send>;

impl Shop {
    async fn open() -> Self {
        Self::over(Arc::new(MemoryStore::new())).await
    }

    async fn over(store: Arc<MemoryStore>) -> Self {
        let plan: Arc<Mutex<Option<Plan>>> = Arc::default();
        let (planned, failing) = (Arc::clone(&plan), Arc::clone(&store));
        let world = shelf()
            .store(Arc::clone(&store) as Arc<dyn Store>)
            .probe(At::stage(Stage::Sanitize, move || {
                if let Some(plan) = planned.lock().unwrap().take() {
                    plan(&failing);
                }
            }))
            .build()
            .await;
        Self { world, store, plan }
    }

    fn at_the_end(&self, plan: impl FnOnce(&MemoryStore) + Send + 'static) {
        *self.plan.lock().unwrap() = Some(Box::new(plan));
    }

    /// Lets a human agree to what needs it.
    async fn agree(&self, kind: &str) {
        if kind == "shelf.write" {
            let asked = self.world.call(kind, "{}").await;
            self.world.decide(&asked, Decided::Once).await;
        }
    }

    /// A call that happens, and whose ending the store refuses from then on.
    async fn refused(&self, kind: &str, error: fn() -> StoreError) -> Outcome {
        self.agree(kind).await;
        self.at_the_end(move |store| store.break_down(error));
        let refused = self.world.call(kind, "{}").await;
        assert_eq!(said(&refused), error().code().kind());
        assert_eq!(body(&refused)["data"], json!(null), "nothing leaves");
        assert_eq!(self.world.fake.count(), 1);
        refused
    }

    async fn endings_of(&self, outcome: &Outcome) -> usize {
        let id = json!(outcome.envelope.get().meta.call_id);
        let mut rows = self.world.rows("ending").await;
        rows.retain(|row| row["call_id"] == id);
        rows.len()
    }

    /// One ending for so many calls beside the question, and nothing left open by anyone.
    async fn check(&self, kind: &str, calls: usize) {
        let asked = usize::from(kind == "shelf.write");
        self.world.check(calls + asked).await;
        self.store.bury("memory-owner");
        assert_eq!(self.store.abandoned().await.unwrap(), []);
        let sessions = self.store.sessions(&Principal::user(1000)).await.unwrap();
        assert!(sessions.iter().all(|session| session.reserved == 0));
    }
}

fn shelf() -> Setup {
    Setup::new()
        .settings(|settings| settings.session_limit = Some(10))
        .tool(spec_kept("shelf.look"), says(json!({"n": 1})))
        .tool(spec_paid("shelf.buy", 5, false), priced(json!({"n": 2}), 2))
        .tool(spec_write("shelf.write"), says(json!({"n": 3})))
}
