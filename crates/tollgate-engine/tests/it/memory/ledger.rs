//! Reserve before, settle after, and never more than the limit.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tollgate_core::{Cost, Estimate, ProviderError, Store, ToolSpec};
use tollgate_engine::Decided;
use tollgate_testkit::{
    MemoryStore,
    fakes::{fails, says},
};

use crate::support::{
    Setup, World, body, caller, details, never, panics, priced, request, said, spec_paid,
    spec_write, waits,
};

#[tokio::test]
async fn a_limit_that_the_operator_sets_later_holds_for_sessions_that_exist() {
    let store = Arc::new(MemoryStore::new());
    let begun = paid(&store, None).await;
    assert_eq!(said(&begun.call("shelf.buy", r#"{"n":1}"#).await), "ok");
    let limited = paid(&store, Some(5)).await;
    assert_eq!(said(&limited.call("shelf.buy", r#"{"n":2}"#).await), "ok");
    let over = limited.call("shelf.buy", r#"{"n":3}"#).await;
    assert_eq!(said(&over), "budget_exceeded");
    let asked = limited.call("session.set_limit", r#"{"limit":100}"#).await;
    limited.decide(&asked, Decided::Once).await;
    let raised = limited.call("session.set_limit", r#"{"limit":100}"#).await;
    assert_eq!(said(&raised), "ok");
    let later = paid(&store, Some(5)).await;
    let outcome = later.call("shelf.buy", r#"{"n":4}"#).await;
    assert_eq!(
        said(&outcome),
        "ok",
        "what a human set outlasts the configuration"
    );
}

/// A gateway on a store that others have used before; each purchase costs 2.
async fn paid(store: &Arc<MemoryStore>, limit: Option<u64>) -> World {
    Setup::new()
        .tool(spec_paid("shelf.buy", 2, false), says(json!({})))
        .store(Arc::clone(store) as Arc<dyn Store>)
        .settings(|settings| settings.session_limit = limit)
        .build()
        .await
}

#[tokio::test]
async fn a_failure_costs_what_the_service_says_and_else_the_estimate() {
    let failing = |consumed| {
        fails(move || ProviderError {
            consumed,
            ..ProviderError::unavailable("down")
        })
    };
    let world = Setup::new()
        .tool(spec_paid("shelf.unasked", 5, false), failing(Some(0)))
        .tool(spec_paid("shelf.told", 5, false), failing(Some(2)))
        .tool(spec_paid("shelf.silent", 5, false), failing(None))
        .build()
        .await;
    for (tool, consumed, source) in [
        ("shelf.unasked", 0, json!("none")),
        ("shelf.told", 2, json!("token_bucket")),
        ("shelf.silent", 7, json!("estimated_fallback")),
    ] {
        let ledger = ledger(&world.call(tool, "{}").await);
        assert_eq!(ledger["session_consumed"], consumed, "{tool}");
        assert_eq!(ledger["consumed_source"], source, "{tool}");
    }
}

#[tokio::test]
async fn the_answers_own_account_counts_and_else_the_estimate() {
    let world = shop(None).await;
    let real = ledger(&world.call("shelf.counts", "{}").await);
    assert_eq!(
        real,
        json!({
            "session_estimated": 5, "session_consumed": 3, "remaining_limit": null,
            "blocked_actions": [], "cache_hits": 0, "consumed_source": "token_bucket",
        })
    );
    let estimated = ledger(&world.call("shelf.silent", "{}").await);
    assert_eq!(
        estimated,
        json!({
            "session_estimated": 10, "session_consumed": 8, "remaining_limit": null,
            "blocked_actions": [], "cache_hits": 0, "consumed_source": "estimated_fallback",
        })
    );
    world.check(2).await;
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_what_is_left() {
    let world = shop(Some(12)).await;
    for expected in [7, 2] {
        let outcome = world
            .call("shelf.silent", &format!(r#"{{"n":{expected}}}"#))
            .await;
        assert_eq!(ledger(&outcome)["remaining_limit"], expected);
    }
    let refused = world.call("shelf.silent", "{}").await;
    assert_eq!(said(&refused), "budget_exceeded");
    assert_eq!(
        details(&refused),
        json!({"remaining_limit": 2, "estimated_tokens": 5, "worst_case_tokens": 5})
    );
    assert_eq!(ledger(&refused)["session_estimated"], 15);
    let blocked = &ledger(&refused)["blocked_actions"][0];
    assert_eq!(
        [&blocked["reason"], &blocked["tool"]],
        ["budget_exceeded", "shelf.silent"]
    );
    assert_eq!(
        [&blocked["estimated_tokens"], &blocked["worst_case_tokens"]],
        [5, 5]
    );
    assert_eq!(world.fake.count(), 2);
    assert_eq!(said(&world.call("shelf.cheap", "{}").await), "ok");
    assert_eq!(said(&world.call("shelf.free", "{}").await), "ok");
    world.check(5).await;
}

#[tokio::test]
async fn the_limit_counts_what_is_set_aside_for_running_calls() {
    let turnstile = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .tool(
            spec_paid("shelf.slow", 6, false),
            waits(&turnstile, json!({})),
        )
        .settings(|settings| settings.session_limit = Some(10))
        .build()
        .await;
    let running = world.start(request("shelf.slow", r#"{"n":1}"#));
    world.until_seen(1).await;
    assert_eq!(world.session("s1").await.reserved, 6);
    let refused = world.call("shelf.slow", r#"{"n":2}"#).await;
    assert_eq!(details(&refused)["remaining_limit"], 4);
    turnstile.add_permits(1);
    assert_eq!(said(&running.await.unwrap()), "ok");
    world.check(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_at_once_cannot_overspend() {
    let world = Arc::new(
        Setup::new()
            .on_disk()
            .tool(spec_paid("shelf.buy", 3, false), |_, _| async {
                tokio::time::sleep(Duration::from_millis(5)).await;
                Ok(tollgate_core::Answer::Done(crate::support::done(json!({}))))
            })
            .settings(|settings| settings.session_limit = Some(50))
            .build()
            .await,
    );
    let all: Vec<_> = (0..50)
        .map(|n| world.start(request("shelf.buy", &format!(r#"{{"n":{n}}}"#))))
        .collect();
    let mut counted = std::collections::BTreeMap::new();
    for task in all {
        *counted.entry(said(&task.await.unwrap())).or_insert(0) += 1;
    }
    assert_eq!(counted, [("budget_exceeded", 34), ("ok", 16)].into());
    assert_eq!(world.fake.count(), 16);
    let session = world.session("s1").await;
    assert_eq!((session.consumed, session.reserved), (48, 0));
    world.check(50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_together_cannot_overspend() {
    let directory = tempfile::tempdir().unwrap();
    let mut worlds = Vec::new();
    for _ in 0..2 {
        let settings = tollgate_store::Settings::new(directory.path().join("state"));
        let clock = Arc::new(tollgate_core::SystemClock);
        let store = tollgate_store::SqliteStore::open(settings, clock).unwrap();
        let world = Setup::new()
            .store(Arc::new(store))
            .tool(spec_paid("shelf.buy", 3, false), says(json!({})))
            .settings(|settings| settings.session_limit = Some(30))
            .build()
            .await;
        worlds.push(world);
    }
    let all: Vec<_> = (0..40)
        .map(|n| worlds[n % 2].start(request("shelf.buy", &format!(r#"{{"n":{n}}}"#))))
        .collect();
    for task in all {
        let outcome = task.await.unwrap();
        assert!(matches!(said(&outcome), "ok" | "budget_exceeded"));
    }
    let session = worlds[0].session("s1").await;
    assert_eq!((session.consumed, session.reserved), (30, 0));
    worlds[0].check(40).await;
}

#[tokio::test]
async fn the_estimate_follows_the_arguments() {
    let spec = ToolSpec {
        cost: Cost::Estimated(Arc::new(|arguments| {
            let pages = arguments.get("pages").and_then(Value::as_u64).unwrap_or(1);
            Estimate {
                estimated: pages,
                worst_case: pages * 10,
                confirm: pages > 5,
            }
        })),
        ..spec_paid("shelf.pages", 0, false)
    };
    let world = Setup::new().tool(spec, says(json!({}))).build().await;
    let small = world.call("shelf.pages", r#"{"pages":5}"#).await;
    assert_eq!(ledger(&small)["session_consumed"], 5);
    let large = world.call("shelf.pages", r#"{"pages":6}"#).await;
    assert_eq!(said(&large), "confirmation_required");
    let facts = details(&large);
    assert_eq!(
        [
            &facts["consent"],
            &facts["estimated_tokens"],
            &facts["worst_case_tokens"]
        ],
        [&json!("agent"), &json!(6), &json!(60)]
    );
}

#[tokio::test]
async fn a_call_without_consent_is_noted_and_not_made() {
    let world = shop(None).await;
    let cost = world.call("shelf.dear", "{}").await;
    let write = world.call("shelf.write", "{}").await;
    assert_eq!(
        ledger(&write)["blocked_actions"],
        json!([
            {
                "tool": "shelf.dear", "command": null, "cache_key": body(&cost)["cache_key"],
                "estimated_tokens": 9, "worst_case_tokens": 9, "reason": "confirmation_required",
            },
            {
                "tool": "shelf.write", "command": null, "cache_key": body(&write)["cache_key"],
                "estimated_tokens": 0, "worst_case_tokens": 0, "reason": "confirmation_required",
            },
        ])
    );
    assert_eq!(ledger(&write)["session_estimated"], 9);
    assert_eq!(ledger(&write)["session_consumed"], 0);
    assert_eq!(world.fake.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn every_failure_gives_back_what_was_set_aside() {
    let endings = [
        ("shelf.rejects", "input_rejected", 0),
        ("shelf.fails", "unavailable", 5),
        ("shelf.breaks", "provider_crashed", 5),
        ("shelf.hangs", "timeout", 5),
        ("shelf.lies", "invalid_output", 5),
    ];
    for (tool, kind, consumed) in endings {
        let world = shop(Some(100)).await;
        let outcome = world.call(tool, "{}").await;
        assert_eq!(said(&outcome), kind);
        let session = world.session("s1").await;
        assert_eq!(
            (session.consumed, session.reserved),
            (consumed, 0),
            "{tool}"
        );
        let ending = world.ending(&outcome).await;
        assert_eq!(ending["consumed"], consumed, "{tool}");
        world.check(1).await;
    }
}

#[tokio::test]
async fn every_session_has_a_ledger_of_its_own() {
    let world = shop(Some(5)).await;
    assert_eq!(said(&world.call("shelf.silent", "{}").await), "ok");
    let other = world.call_as(&caller("s2"), "shelf.silent", "{}").await;
    assert_eq!(said(&other), "ok");
    let info = world.call("session.info", "{}").await;
    assert_eq!(
        (
            &body(&info)["data"]["consumed"],
            &body(&info)["data"]["remaining"]
        ),
        (&json!(5), &json!(0))
    );
}

#[tokio::test]
async fn only_a_human_raises_a_limit() {
    let world = shop(Some(5)).await;
    world.call("shelf.silent", "{}").await;
    let mut raise = request("session.set_limit", r#"{"limit":50}"#);
    raise.control.yes = true;
    let asked = world.ask(raise).await;
    assert_eq!(said(&asked), "confirmation_required");
    assert_eq!(details(&asked)["consent"], "human");
    world.decide(&asked, Decided::Once).await;
    let raised = world.call("session.set_limit", r#"{"limit":50}"#).await;
    assert_eq!(body(&raised)["data"]["remaining"], 45);
    let outcome = world.call("shelf.silent", r#"{"n":1}"#).await;
    assert_eq!(ledger(&outcome)["remaining_limit"], 40);
}

fn ledger(outcome: &tollgate_engine::Outcome) -> Value {
    body(outcome)["budget_ledger"].clone()
}

async fn shop(limit: Option<u64>) -> World {
    let hangs = ToolSpec {
        timeout_ms: 1000,
        ..spec_paid("shelf.hangs", 5, false)
    };
    let lies = ToolSpec {
        output_schema: Some(json!({"type": "array"}).into()),
        ..spec_paid("shelf.lies", 5, false)
    };
    Setup::new()
        .tool(spec_paid("shelf.counts", 5, false), priced(json!({}), 3))
        .tool(spec_paid("shelf.silent", 5, false), says(json!({})))
        .tool(spec_paid("shelf.cheap", 2, false), says(json!({})))
        .tool(spec_paid("shelf.free", 0, false), says(json!({})))
        .tool(spec_paid("shelf.dear", 9, true), says(json!({})))
        .tool(spec_write("shelf.write"), says(json!({})))
        .tool(
            spec_paid("shelf.rejects", 5, false),
            fails(|| ProviderError::rejected("no")),
        )
        .tool(
            spec_paid("shelf.fails", 5, false),
            fails(|| ProviderError::unavailable("down")),
        )
        .tool(spec_paid("shelf.breaks", 5, false), panics())
        .tool(hangs, never())
        .tool(lies, says(json!({})))
        .settings(|settings| settings.session_limit = limit)
        .build()
        .await
}

#[tokio::test]
async fn an_answer_that_is_no_good_costs_what_it_says() {
    let spec = ToolSpec {
        output_schema: Some(json!({"type": "object", "required": ["price"]}).into()),
        ..spec_paid("shelf.buy", 5, false)
    };
    let world = Setup::new().tool(spec, priced(json!({}), 2)).build().await;
    let outcome = world.call("shelf.buy", "{}").await;
    assert_eq!(said(&outcome), "invalid_output");
    let session = world.session("s1").await;
    assert_eq!((session.consumed, session.reserved), (2, 0));
    assert_eq!(world.ending(&outcome).await["consumed"], 2);
}
