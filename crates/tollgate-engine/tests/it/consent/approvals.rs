//! An approval is bound to one call, ends, and works once.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tollgate_core::{
    Caching, Principal, StoreError, Surface, SystemClock, ToolSpec,
    store::{ApprovalFilter, ApprovalState},
};
use tollgate_engine::{Caller, Decided, Disposition, HumanConsent, Request};
use tollgate_store::SqliteStore;
use tollgate_testkit::fakes::{FakeProvider, says};

use crate::support::{
    Setup, World, body, caller, details, error, request, said, spec_kept, spec_paid, spec_write,
    waits,
};

#[tokio::test]
async fn a_call_without_consent_answers_at_once_and_says_how_to_go_on() {
    let world = shop().await;
    let asked = world
        .call("shelf.write", r#"{"path":"a.txt","text":"hi"}"#)
        .await;
    assert_eq!(asked.disposition, Disposition::NeedsConsent);
    let failure = error(&asked);
    assert_eq!(
        [&failure["kind"], &failure["code"], &failure["can_retry"]],
        [
            &json!("confirmation_required"),
            &json!("tool.gate.policy.confirmation_required"),
            &json!(false)
        ]
    );
    let question = world.question(&asked).await;
    assert_eq!(
        details(&asked),
        json!({
            "consent": "human",
            "rule": "default.write",
            "resume_with": {"tool": "shelf.write", "params": {"path": "a.txt", "text": "hi"}},
            "estimated_tokens": 0,
            "worst_case_tokens": 0,
            "preview": {
                "tool": "shelf.write", "title": "shelf.write", "capability": "L1",
                "destructive": false, "sensitive_sink": false, "rule": "default.write",
                "arguments": r#"{"path":"a.txt","text":"hi"}"#,
                "hidden_characters": 0, "cleaned": false, "masked": 0, "spelled_out": 0, "site": null, "session_grant": true,
            },
            "approval_id": question.id,
            "approve": format!("tollgate approvals approve {}", question.id),
        })
    );
    assert_eq!(question.preview, details(&asked)["preview"]);
    assert_eq!(world.fake.count(), 0);
    world.check(1).await;
}

#[tokio::test]
async fn a_models_yes_is_never_enough_for_a_side_effect() {
    let world = shop().await;
    for _ in 0..3 {
        let mut request = request("shelf.write", "{}");
        request.control.yes = true;
        request.control.approval = Some("ap-0000000000".to_owned());
        assert_eq!(said(&world.ask(request).await), "confirmation_required");
    }
    assert_eq!(world.fake.count(), 0);
}

#[tokio::test]
async fn an_approved_call_goes_through_exactly_once() {
    let world = shop().await;
    let asked = world.call("shelf.write", r#"{"a":1,"b":[2]}"#).await;
    world.decide(&asked, Decided::Once).await;
    let ran = world.call("shelf.write", r#"{ "b": [2.0], "a": 1 }"#).await;
    assert_eq!(
        said(&ran),
        "ok",
        "the spelling of arguments is not part of them"
    );
    assert_eq!(world.ending(&ran).await["consent"], "human");
    world.gateway.delivered(&ran).await.unwrap();
    let again = world.call("shelf.write", r#"{"a":1,"b":[2]}"#).await;
    assert_eq!(said(&again), "confirmation_required");
    assert_ne!(
        details(&again)["approval_id"],
        details(&asked)["approval_id"]
    );
    assert_eq!(world.fake.count(), 1);
    world.check(3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_use_one_approval_at_once_exactly_one_runs() {
    let world = disk_shop().await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Once).await;
    let all: Vec<_> = (0..16)
        .map(|_| world.start(request("shelf.write", "{}")))
        .collect();
    let mut ran = 0;
    for task in all {
        let outcome = task.await.unwrap();
        let recorded = body(&outcome)["warnings"] == json!(["recorded_ending"]);
        match said(&outcome) {
            "ok" if recorded => {}
            "ok" => ran += 1,
            other => assert!(
                matches!(other, "confirmation_required" | "overloaded"),
                "{other}"
            ),
        }
    }
    assert_eq!((ran, world.fake.count()), (1, 1));
    world.check(17).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_who_ask_at_once_are_told_of_the_one_question() {
    let world = disk_shop().await;
    let all: Vec<_> = (0..16)
        .map(|_| world.start(request("shelf.write", "{}")))
        .collect();
    let mut ids = BTreeSet::new();
    for task in all {
        ids.insert(details(&task.await.unwrap())["approval_id"].to_string());
    }
    let filter = ApprovalFilter {
        state: Some(ApprovalState::Pending),
        limit: 100,
    };
    let open = world.gateway.store().approvals(&filter).await.unwrap();
    let kept: BTreeSet<String> = open
        .iter()
        .map(|it| Value::from(it.id.as_str()).to_string())
        .collect();
    assert_eq!(ids, kept);
    assert_eq!(kept.len(), 1);
}

#[tokio::test]
async fn anything_else_about_the_call_asks_again() {
    let world = shop().await;
    let asked = world.call("shelf.write", r#"{"path":"a"}"#).await;
    world.decide(&asked, Decided::Once).await;
    let other_user = Caller::local(Principal::user(1001), "s1", Surface::Jsonl);
    let calls = [
        (caller("s1"), "shelf.write", r#"{"path":"b"}"#),
        (caller("s1"), "shelf.write", r#"{"path":"a","x":null}"#),
        (caller("s1"), "shelf.erase", r#"{"path":"a"}"#),
        (caller("s2"), "shelf.write", r#"{"path":"a"}"#),
        (other_user, "shelf.write", r#"{"path":"a"}"#),
    ];
    for (who, tool, arguments) in calls {
        let outcome = world.call_as(&who, tool, arguments).await;
        assert_eq!(
            said(&outcome),
            "confirmation_required",
            "{tool} {arguments}"
        );
    }
    assert_eq!(world.fake.count(), 0);
    assert_eq!(
        said(&world.call("shelf.write", r#"{"path":"a"}"#).await),
        "ok"
    );
}

#[tokio::test]
async fn a_changed_spec_asks_again() {
    let world = shop().await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Once).await;
    let changed = ToolSpec {
        description: "Writes, and also tells everyone.".to_owned(),
        ..spec_write("shelf.write")
    };
    let fresh = world
        .now_offers(FakeProvider::new("fake").tool(changed, says(json!({}))))
        .await;
    let outcome = world.call("shelf.write", "{}").await;
    assert_eq!(said(&outcome), "confirmation_required");
    assert_eq!(fresh.count(), 0);
}

#[tokio::test]
async fn an_approval_ends() {
    let world = shop().await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Once).await;
    world.later(world.gateway.settings().approval_ttl);
    let late = world.call("shelf.write", "{}").await;
    assert_eq!(said(&late), "confirmation_required");
    assert_eq!(world.fake.count(), 0);
    let question = world.question(&late).await;
    world.later(world.gateway.settings().approval_ttl);
    let refused = world.gateway.decide(&question, &Decided::Once, "ann").await;
    assert!(matches!(refused, Err(StoreError::ApprovalGone)));
}

#[tokio::test]
async fn a_clock_that_jumps_back_revives_nothing() {
    let world = shop().await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Once).await;
    world.earlier(Duration::from_secs(3600));
    assert_eq!(
        said(&world.call("shelf.write", "{}").await),
        "confirmation_required"
    );
    assert_eq!(world.fake.count(), 0);
    world.check(2).await;
}

#[tokio::test]
async fn a_denied_call_stays_undone() {
    let world = shop().await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Denied).await;
    let again = world.call("shelf.write", "{}").await;
    assert_eq!(said(&again), "confirmation_required");
    assert_ne!(
        details(&again)["approval_id"],
        details(&asked)["approval_id"]
    );
    assert_eq!(world.fake.count(), 0);
    let row = &world.rows("approval").await[0];
    assert_eq!(
        [&row["status"], &row["by"], &row["tool"]],
        ["denied", "ann", "shelf.write"]
    );
}

#[tokio::test]
async fn a_question_is_asked_once_and_decided_once() {
    let world = shop().await;
    let first = world.call("shelf.write", "{}").await;
    let again = world.call("shelf.write", "{}").await;
    assert_eq!(
        details(&first)["approval_id"],
        details(&again)["approval_id"]
    );
    world.decide(&first, Decided::Denied).await;
    let question = world.question(&first).await;
    let twice = world
        .gateway
        .decide(&question, &Decided::Once, "mallory")
        .await;
    assert!(matches!(twice, Err(StoreError::ApprovalGone)));
}

#[tokio::test]
async fn what_does_not_run_burns_no_approval() {
    let turnstile = Arc::new(Semaphore::new(0));
    let paid_write = ToolSpec {
        cost: spec_paid("x", 5, false).cost,
        ..spec_write("shelf.write")
    };
    let world = Setup::new()
        .tool(paid_write, says(json!({})))
        .tool(spec_kept("shelf.slow"), waits(&turnstile, json!({})))
        .settings(|settings| {
            settings.concurrent_calls = 1;
            settings.queued_calls = 0;
            settings.session_limit = Some(7);
        })
        .rules(
            r#"@id("limit.free") permit (principal, action == Action::"call",
                resource == Tool::"session.set_limit");"#,
        )
        .build()
        .await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Once).await;

    let running = world.start(request("shelf.slow", "{}"));
    world.until_seen(1).await;
    assert_eq!(said(&world.call("shelf.write", "{}").await), "overloaded");
    turnstile.add_permits(1);
    assert_eq!(said(&running.await.unwrap()), "ok");

    world.call("session.set_limit", r#"{"limit":3}"#).await;
    assert_eq!(
        said(&world.call("shelf.write", "{}").await),
        "budget_exceeded"
    );
    world.call("session.set_limit", r#"{"limit":5}"#).await;
    let ran = world.call("shelf.write", "{}").await;
    assert_eq!(said(&ran), "ok");
    assert_eq!(ran.envelope.get().budget_ledger.session_consumed, 5);
    world.check(7).await;
}

#[tokio::test]
async fn an_approval_of_a_mere_read_works_once_too() {
    let world = careful_shop(Caching::Never).await;
    let asked = world.call("shelf.private", "{}").await;
    assert_eq!(details(&asked)["consent"], "human");
    world.decide(&asked, Decided::Once).await;
    assert_eq!(said(&world.call("shelf.private", "{}").await), "ok");
    assert_eq!(
        said(&world.call("shelf.private", "{}").await),
        "confirmation_required"
    );
    assert_eq!(world.fake.count(), 1);
    world.check(3).await;
}

#[tokio::test]
async fn a_hit_burns_no_approval() {
    let world = careful_shop(Caching::Session).await;
    let asked = world.call("shelf.private", "{}").await;
    world.decide(&asked, Decided::Once).await;
    assert_eq!(said(&world.call("shelf.private", "{}").await), "ok");
    let again = world.call("shelf.private", "{}").await;
    assert_eq!(
        said(&again),
        "confirmation_required",
        "a kept answer is opened only for whom it is permitted"
    );
    world.decide(&again, Decided::Once).await;
    for _ in 0..2 {
        assert_eq!(said(&world.call("shelf.private", "{}").await), "hit");
    }
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_processes_that_use_one_approval_one_runs() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (neighbour(&directory).await, neighbour(&directory).await);
    for n in 0..10 {
        let arguments = format!(r#"{{"n":{n}}}"#);
        let asked = one.call("shelf.write", &arguments).await;
        two.decide(&asked, Decided::Once).await;
        let tasks: Vec<_> = [&one, &two, &one, &two]
            .map(|world| world.start(request("shelf.write", &arguments)))
            .into();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(one.fake.count() + two.fake.count(), n + 1);
    }
    one.check(50).await;
}

#[tokio::test]
async fn a_dialog_that_the_operator_trusts_counts_as_a_human() {
    let world = shop().await;
    let outcome = world
        .ask(Request {
            human: Some(HumanConsent {
                by: "elicitation".to_owned(),
            }),
            ..request("shelf.write", "{}")
        })
        .await;
    assert_eq!(said(&outcome), "ok");
    assert_eq!(world.ending(&outcome).await["consent"], "human");
}

async fn shop() -> World {
    Setup::new()
        .tool(spec_write("shelf.write"), says(json!({"done": true})))
        .tool(spec_write("shelf.erase"), says(json!({"done": true})))
        .build()
        .await
}

/// A read that wants a human's agreement all the same.
async fn careful_shop(caching: Caching) -> World {
    let spec = ToolSpec {
        requires_confirm: true,
        caching,
        ..spec_kept("shelf.private")
    };
    Setup::new().tool(spec, says(json!({}))).build().await
}

/// One of several processes on the same state.
async fn neighbour(directory: &TempDir) -> World {
    let settings = tollgate_store::Settings::new(directory.path().join("state"));
    let store = SqliteStore::open(settings, Arc::new(SystemClock)).unwrap();
    Setup::new()
        .store(Arc::new(store))
        .tool(spec_write("shelf.write"), says(json!({})))
        .build()
        .await
}

async fn disk_shop() -> Arc<World> {
    let world = Setup::new()
        .on_disk()
        .tool(spec_write("shelf.write"), says(json!({"done": true})))
        .build()
        .await;
    Arc::new(world)
}
