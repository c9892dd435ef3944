//! A clock that jumps: nothing lasts longer for it, nothing single is used twice, and no
//! call breaks.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::json;
use tollgate_core::{
    Caching, Clock as _, HeldClock, InputRequest, InputResponses, Payload, StoreError, Timestamp,
    ToolSpec, store::CredentialKind,
};
use tollgate_engine::{
    Caller, Decided, Disposition, NewToken, Outcome, Request, session::Lifetime,
};
use tollgate_testkit::fakes::{asks, says};

use crate::support::{
    Setup, World, caller, details, request, said, spec_kept, spec_read, spec_write,
};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[tokio::test]
async fn a_kept_answer_does_not_last_longer_because_the_clock_jumped_back() {
    for on_disk in [false, true] {
        for lifetime in [Lifetime::Process, Lifetime::Stored] {
            let world = shop(on_disk).await;
            let who = Caller {
                lifetime,
                ..caller("s1")
            };
            let look = async || said(&world.call_as(&who, "shelf.fresh", "{}").await);
            assert_eq!(look().await, "ok");
            world.earlier(Duration::from_secs(1));
            assert_eq!(look().await, "hit", "clocks differ a little");
            world.earlier(YEAR);
            assert_eq!(look().await, "ok", "a year would have to pass first");
            assert_eq!(look().await, "hit", "the new answer is good");
            world.later(MINUTE);
            assert_eq!(look().await, "ok");
        }
    }
}

#[tokio::test]
async fn an_answer_kept_by_another_process_does_not_last_longer_either() {
    let clock = Arc::new(HeldClock::new(Timestamp(1_800_000_000_000)));
    let store = Arc::new(tollgate_testkit::MemoryStore::new());
    let stored = Caller {
        lifetime: Lifetime::Stored,
        ..caller("s1")
    };
    for (back, expected) in [(0, "ok"), (1, "hit"), (3600, "ok")] {
        clock.set(clock.now().minus(Duration::from_secs(back)));
        let world = tools(Setup::new().clock(&clock).store(store.clone() as Arc<_>))
            .build()
            .await;
        let outcome = world.call_as(&stored, "shelf.fresh", "{}").await;
        assert_eq!(said(&outcome), expected, "{back} s back");
    }
}

#[tokio::test]
async fn an_answer_for_the_session_is_kept_whatever_the_clock_says() {
    let world = shop(false).await;
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
    for _ in 0..3 {
        world.earlier(YEAR);
        assert_eq!(said(&world.call("shelf.look", "{}").await), "hit");
    }
}

#[tokio::test]
async fn a_token_counts_between_its_beginning_and_its_end() {
    let world = shop(false).await;
    let made = |expires| NewToken {
        kind: CredentialKind::Bearer,
        label: None,
        scopes: json!({}),
        expires,
    };
    let begun = world.clock.now();
    let (_, ending) = world
        .gateway
        .create_token(made(Some(begun.plus(HOUR))))
        .await
        .unwrap();
    let (_, endless) = world.gateway.create_token(made(None)).await.unwrap();
    let counts = async |token: &str| {
        let found = world.gateway.credential(token, CredentialKind::Bearer);
        found.await.unwrap().is_some()
    };
    let moments = [
        (begun, true),
        (begun.minus(Duration::from_secs(1)), true),
        (begun.minus(HOUR), false),
        (begun.minus(YEAR), false),
        (Timestamp(0), false),
        (begun.plus(MINUTE), true),
        (begun.plus(HOUR), false),
    ];
    for (at, expected) in moments {
        world.clock.set(at);
        assert_eq!(counts(&ending).await, expected, "{at}");
        assert!(counts(&endless).await, "{at}");
    }
}

#[tokio::test]
async fn a_grant_counts_between_its_beginning_and_its_end() {
    let world = shop(false).await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::ToolForSession).await;
    let (granted, lasts) = (world.clock.now(), world.gateway.settings().grant_ttl);
    let moments = [
        (granted.plus(MINUTE), "ok"),
        (granted.minus(HOUR), "confirmation_required"),
        (Timestamp(0), "confirmation_required"),
        (granted.plus(lasts), "confirmation_required"),
    ];
    for (number, (at, expected)) in moments.into_iter().enumerate() {
        world.clock.set(at);
        let outcome = world
            .call("shelf.write", &format!(r#"{{"n":{number}}}"#))
            .await;
        assert_eq!(said(&outcome), expected, "{at}");
    }
}

#[tokio::test]
async fn an_approval_that_was_found_to_be_over_stays_over_when_the_clock_jumps_back() {
    for on_disk in [false, true] {
        let world = shop(on_disk).await;
        let asked = world.call("shelf.write", "{}").await;
        world.decide(&asked, Decided::Once).await;
        let lasts = world.gateway.settings().approval_ttl;
        world.later(lasts);
        let late = world.call("shelf.write", "{}").await;
        assert_eq!(said(&late), "confirmation_required");
        world.earlier(MINUTE);
        let again = world.call("shelf.write", "{}").await;
        assert_eq!(said(&again), "confirmation_required", "on disk: {on_disk}");
        assert_eq!(world.fake.count(), 0);

        world.decide(&again, Decided::Once).await;
        let ran = world.call("shelf.write", "{}").await;
        assert_eq!(said(&ran), "ok");
        world.gateway.delivered(&ran).await.unwrap();
        let more = world.call("shelf.write", "{}").await;
        assert_eq!(said(&more), "confirmation_required", "each works once");
        assert_eq!(world.fake.count(), 1);
        world.check(5).await;
    }
}

#[tokio::test]
async fn a_question_is_decided_between_its_beginning_and_its_end() {
    for on_disk in [false, true] {
        let world = shop(on_disk).await;
        let asked = world.call("shelf.write", "{}").await;
        let question = world.question(&asked).await;
        for at in [question.created.minus(HOUR), question.expires] {
            world.clock.set(at);
            let refused = world.gateway.decide(&question, &Decided::Once, "ann").await;
            assert!(
                matches!(refused, Err(StoreError::ApprovalGone)),
                "{refused:?}"
            );
        }
        world.clock.set(question.created);
        world
            .gateway
            .decide(&question, &Decided::Once, "ann")
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn an_approval_is_used_up_however_the_clock_jumps_afterwards() {
    let world = shop(true).await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Once).await;
    let ran = world.call("shelf.write", "{}").await;
    assert_eq!(said(&ran), "ok");
    world.gateway.delivered(&ran).await.unwrap();
    let then = world.clock.now();
    for at in [then, then.minus(HOUR), then.plus(YEAR), then, Timestamp(0)] {
        world.clock.set(at);
        let again = world.call("shelf.write", "{}").await;
        assert_eq!(said(&again), "confirmation_required", "{at}");
        let fresh = details(&again)["approval_id"].clone();
        assert_ne!(fresh, details(&asked)["approval_id"]);
    }
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn an_answer_counts_between_the_question_and_its_end() {
    let world = shop(false).await;
    let question = input(&world.call("form.read", "{}").await);
    let asked = world.clock.now();
    for at in [asked.minus(HOUR), Timestamp(0), asked.plus(HOUR)] {
        world.clock.set(at);
        let refused = world.ask(answering(&question)).await;
        assert_eq!(said(&refused), "state_rejected", "{at}");
    }
    world.clock.set(asked);
    assert_eq!(said(&world.ask(answering(&question)).await), "ok");
}

#[tokio::test]
async fn an_answer_that_was_used_stays_used_when_its_end_has_come_and_gone() {
    let world = shop(true).await;
    let question = input(&world.call("form.read", "{}").await);
    assert_eq!(said(&world.ask(answering(&question)).await), "ok");
    let runs = world.fake.count();
    world.later(HOUR + MINUTE);
    assert_eq!(
        said(&world.ask(answering(&question)).await),
        "state_rejected"
    );
    // So many entries make the store forget what is over.
    for n in 0..1100 {
        let arguments = format!(r#"{{"n":{n}}}"#);
        assert_eq!(said(&world.call("shelf.look", &arguments).await), "ok");
    }
    world.earlier(HOUR + MINUTE);
    assert_eq!(
        said(&world.ask(answering(&question)).await),
        "state_rejected"
    );
    assert_eq!(world.fake.count(), runs + 1100);
}

#[tokio::test]
async fn no_moment_breaks_a_call() {
    let world = shop(true).await;
    let now = world.clock.now();
    let moments = [i64::MAX, 0, i64::MIN, -1, now.0, i64::MAX, i64::MIN];
    for (number, at) in moments.into_iter().enumerate() {
        world.clock.set(Timestamp(at));
        let arguments = format!(r#"{{"n":{number}}}"#);
        for tool in ["shelf.look", "shelf.fresh", "form.read"] {
            let outcome = world.call(tool, &arguments).await;
            assert!(
                matches!(said(&outcome), "ok" | "input_required"),
                "{tool} at {at}: {}",
                said(&outcome)
            );
        }
        let asked = world.call("shelf.write", &arguments).await;
        assert_eq!(said(&asked), "confirmation_required", "{at}");
    }
    world.check(4 * moments.len()).await;
}

async fn shop(on_disk: bool) -> World {
    let setup = Setup::new();
    let setup = if on_disk { setup.on_disk() } else { setup };
    tools(setup).build().await
}

fn tools(setup: Setup) -> Setup {
    let fresh = ToolSpec {
        caching: Caching::For(MINUTE),
        ..spec_kept("shelf.fresh")
    };
    setup
        .tool(spec_kept("shelf.look"), says(json!({"n": 1})))
        .tool(fresh, says(json!({"n": 2})))
        .tool(spec_write("shelf.write"), says(json!({"n": 3})))
        .tool(
            spec_read("form.read"),
            asks(json!({"message": "Who?"}), b"page 2".to_vec()),
        )
}

fn input(outcome: &Outcome) -> InputRequest {
    let Disposition::NeedsInput(input) = &outcome.disposition else {
        panic!("no question but {:?}", outcome.disposition);
    };
    input.clone()
}

fn answering(input: &InputRequest) -> Request {
    Request {
        responses: Some(InputResponses {
            answers: BTreeMap::from([("name".to_owned(), Payload::from(json!("Ann")))]),
            state: input.state.clone(),
            given_up: false,
        }),
        ..request("form.read", "{}")
    }
}
