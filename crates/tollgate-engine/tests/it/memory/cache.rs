//! A repeated call answers from the session, and only from its own.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tollgate_core::{
    Caching, ErrorCode, FromCache, Principal, ProviderError, Status, Store, ToolResult, ToolSpec,
    Warning,
};
use tollgate_engine::{Caller, Cleaner, Stage, session::Lifetime};
use tollgate_sanitize::placeholder::without_ids;
use tollgate_testkit::{
    MemoryStore,
    fakes::{FakeProvider, fails, says},
};

use crate::support::{
    At, Setup, World, body, caller, details, done, priced, request, result, said, spec_kept,
    spec_paid, spec_read, spec_write,
};

#[tokio::test]
async fn arguments_that_differ_anywhere_never_share_an_answer() {
    let world = shop().await;
    let pairs = [
        (
            r#"{"votes":{"yes":3,"no":1}}"#,
            r#"{"votes":{"yes":900,"no":1}}"#,
        ),
        (r#"{"n":9007199254740993.0}"#, r#"{"n":9007199254740992.0}"#),
        (r#"{"from_cache":1}"#, r#"{"from_cache":2}"#),
    ];
    for (one, other) in pairs {
        world.call("shelf.look", one).await;
        let answer = body(&world.call("shelf.look", other).await);
        assert_eq!(answer["cache_hit"], json!(false), "{other}");
    }
    assert_eq!(world.fake.count(), 2 * pairs.len());
}

#[tokio::test]
async fn a_repeated_call_answers_from_the_session() {
    let world = shop().await;
    let first = body(&world.call("shelf.look", r#"{"a":1,"b":2}"#).await);
    let again = body(&world.call("shelf.look", r#"{ "b": 2, "a": 1 }"#).await);
    assert_eq!(
        [&first["cache_hit"], &first["meta"]["cache_hit"]],
        [&json!(false), &json!(false)]
    );
    assert_eq!(
        [&again["cache_hit"], &again["meta"]["cache_hit"]],
        [&json!(true), &json!(true)]
    );
    assert_eq!(first["data"], again["data"]);
    assert_eq!(first["cache_key"], again["cache_key"]);
    assert_ne!(first["meta"]["call_id"], again["meta"]["call_id"]);
    assert_eq!(again["budget_ledger"]["cache_hits"], 1);
    assert_eq!(world.fake.count(), 1);
    world.check(2).await;
}

#[tokio::test]
async fn a_hit_costs_nothing_and_asks_nobody() {
    let world = shop().await;
    let mut agreed = request("shelf.buy", "{}");
    agreed.control.yes = true;
    assert_eq!(said(&world.ask(agreed).await), "ok");
    let again = world.call("shelf.buy", "{}").await;
    assert_eq!(said(&again), "hit");
    let ledger = &again.envelope.get().budget_ledger;
    assert_eq!((ledger.session_estimated, ledger.session_consumed), (5, 5));
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn an_answer_that_ends_between_peek_and_open_is_not_had_for_free() {
    let clock = Arc::new(tollgate_core::HeldClock::new(tollgate_core::Timestamp(0)));
    let hand = Arc::clone(&clock);
    let spec = ToolSpec {
        caching: Caching::For(Duration::from_secs(60)),
        ..spec_paid("shelf.buy", 5, true)
    };
    let world = Setup::new()
        .clock(&clock)
        .tool(spec, says(json!({})))
        .probe(At::stage(Stage::Permit, move || {
            hand.set(tollgate_core::Clock::now(&*hand).plus(Duration::from_secs(70)));
        }))
        .build()
        .await;
    let mut agreed = request("shelf.buy", "{}");
    agreed.control.yes = true;
    assert_eq!(said(&world.ask(agreed).await), "ok");
    let late = world.call("shelf.buy", "{}").await;
    assert_eq!(said(&late), "confirmation_required");
    assert_eq!(world.fake.count(), 1);
    world.check(2).await;
}

#[tokio::test]
async fn errors_effects_and_half_answers_are_not_kept() {
    let world = shop().await;
    for tool in [
        "shelf.fails",
        "shelf.half",
        "shelf.never",
        "shelf.trusted_write",
    ] {
        let before = world.fake.count();
        for _ in 0..2 {
            let outcome = world.call(tool, "{}").await;
            assert!(!outcome.envelope.get().cache_hit, "{tool}");
        }
        assert_eq!(world.fake.count(), before + 2, "{tool}");
    }
}

#[tokio::test]
async fn an_empty_answer_is_kept() {
    let world = shop().await;
    world.call("shelf.empty", "{}").await;
    let again = world.call("shelf.empty", "{}").await;
    assert!(again.envelope.get().cache_hit);
    assert_eq!(again.envelope.get().status, Status::Empty);
}

#[tokio::test]
async fn a_call_with_a_secret_is_not_kept_and_its_key_does_not_tell() {
    let world = shop().await;
    let arguments = [
        r#"{"password":"one"}"#,
        r#"{"deep":[{"apiKey":"two"}]}"#,
        r#"{"access_token":"three"}"#,
    ];
    for arguments in arguments {
        let before = world.fake.count();
        for _ in 0..2 {
            let outcome = world.call("shelf.look", arguments).await;
            assert_eq!(said(&outcome), "ok", "{arguments}");
        }
        assert_eq!(world.fake.count(), before + 2, "{arguments}");
    }
    let key = |outcome: &tollgate_engine::Outcome| outcome.envelope.get().cache_key.clone();
    let one = world.call("shelf.look", r#"{"password":"one"}"#).await;
    let two = world.call("shelf.look", r#"{"password":"two"}"#).await;
    assert_eq!(key(&one), key(&two));
}

#[tokio::test]
async fn an_answer_ends_when_its_time_has_come() {
    let spec = ToolSpec {
        caching: Caching::For(Duration::from_secs(60)),
        ..spec_kept("shelf.look")
    };
    let world = Setup::new().tool(spec, says(json!({}))).build().await;
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
    world.later(Duration::from_millis(59_999));
    assert_eq!(said(&world.call("shelf.look", "{}").await), "hit");
    world.later(Duration::from_millis(1));
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
    assert_eq!(said(&world.call("shelf.look", "{}").await), "hit");
    assert_eq!(world.fake.count(), 2);
}

#[tokio::test]
async fn an_answer_that_says_when_it_ends_is_not_used_after_that() {
    let until = |seconds: u64| ToolResult {
        holds_until: Some(tollgate_core::Timestamp(0).plus(Duration::from_secs(seconds))),
        ..done(json!({}))
    };
    let short = ToolSpec {
        caching: Caching::For(Duration::from_secs(10)),
        ..spec_kept("shelf.short")
    };
    let clock = Arc::new(tollgate_core::HeldClock::new(tollgate_core::Timestamp(0)));
    let world = Setup::new()
        .clock(&clock)
        .tool(spec_kept("shelf.look"), result(until(60)))
        .tool(spec_kept("shelf.over"), result(until(0)))
        .tool(short, result(until(60)))
        .build()
        .await;
    let mut said_at = Vec::new();
    for seconds in [0, 9, 10, 59, 60] {
        clock.set(tollgate_core::Timestamp(0).plus(Duration::from_secs(seconds)));
        for tool in ["shelf.look", "shelf.over", "shelf.short"] {
            said_at.push(said(&world.call(tool, "{}").await));
        }
    }
    let expected = [
        ["ok", "ok", "ok"],
        ["hit", "ok", "hit"],
        // The tool's own time ends first.
        ["hit", "ok", "ok"],
        ["hit", "ok", "ok"],
        ["ok", "ok", "ok"],
    ];
    assert_eq!(said_at, expected.concat());
}

#[tokio::test]
async fn another_session_and_another_principal_see_nothing_of_it() {
    let world = shop().await;
    world.call("shelf.look", "{}").await;
    let other_user = Caller::local(Principal::user(1001), "s1", tollgate_core::Surface::Jsonl);
    for foreign in [caller("s2"), other_user] {
        let outcome = world.call_as(&foreign, "shelf.look", "{}").await;
        assert_eq!(said(&outcome), "ok");
        let mut only_cache = request("shelf.buy", "{}");
        only_cache.control.from_cache = FromCache::SameArguments;
        let missed = world.gateway.call(&foreign, only_cache).await;
        assert_eq!(said(&missed), "cache_miss");
    }
    assert_eq!(world.fake.count(), 3);
}

#[tokio::test]
async fn a_stored_session_remembers_beyond_its_process() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let first = stored_shop(&store, Cleaner::shipped()).await;
    assert_eq!(
        said(&first.call_as(&stored(), "shelf.look", "{}").await),
        "ok"
    );
    let next = stored_shop(&store, Cleaner::shipped()).await;
    let again = next.call_as(&stored(), "shelf.look", "{}").await;
    assert_eq!(said(&again), "hit");
    let text = body(&again)["data"]["text"]
        .as_str()
        .map(|it| without_ids(it).into_owned());
    assert_eq!(text.as_deref(), Some("to [REDACTED:email]"));
    assert_eq!(body(&again)["warnings"], json!(["pii_redacted"]));
    assert_eq!(next.fake.count(), 0);
}

#[tokio::test]
async fn a_session_of_a_process_leaves_no_answers_in_the_store() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let first = stored_shop(&store, Cleaner::shipped()).await;
    assert_eq!(said(&first.call("shelf.look", "{}").await), "ok");
    let next = stored_shop(&store, Cleaner::shipped()).await;
    assert_eq!(said(&next.call("shelf.look", "{}").await), "ok");
}

#[tokio::test]
async fn other_cleaning_rules_do_not_answer_with_what_these_cleaned() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let first = stored_shop(&store, Cleaner::shipped()).await;
    assert_eq!(
        said(&first.call_as(&stored(), "shelf.look", "{}").await),
        "ok"
    );
    let own = r#"
        [[rule]]
        id = "badge"
        kind = "secret"
        literals = ["BADGE-"]
        pattern = 'BADGE-[0-9]{4}'
    "#;
    let rules = tollgate_sanitize::Sanitizer::from_rules(&[own]).unwrap();
    let next = stored_shop(&store, Cleaner::with(rules)).await;
    assert_eq!(
        said(&next.call_as(&stored(), "shelf.look", "{}").await),
        "ok"
    );
    assert_eq!(next.fake.count(), 1);
}

#[tokio::test]
async fn a_changed_spec_is_another_tool() {
    let world = shop().await;
    world.call("shelf.look", "{}").await;
    let changed = ToolSpec {
        description: "Looks elsewhere.".to_owned(),
        ..spec_kept("shelf.look")
    };
    let fresh = FakeProvider::new("fake").tool(changed, says(json!({"n": 2})));
    let fresh = world.now_offers(fresh).await;
    let outcome = world.call("shelf.look", "{}").await;
    assert_eq!((said(&outcome), fresh.count()), ("ok", 1));
    assert_eq!(body(&outcome)["data"], json!({"n": 2}));
}

#[tokio::test]
async fn arguments_seen_before_are_judged_by_the_schema_of_today() {
    let world = shop().await;
    for said_then in ["ok", "hit", "hit", "hit"] {
        assert_eq!(
            said(&world.call("shelf.look", r#"{"n":1}"#).await),
            said_then
        );
    }
    let strict = ToolSpec {
        input_schema: json!({"type": "object", "properties": {"n": {"type": "string"}}}).into(),
        ..spec_kept("shelf.look")
    };
    let strict = FakeProvider::new("fake").tool(strict, says(json!({"n": 2})));
    world.now_offers(strict).await;
    let refused = world.call("shelf.look", r#"{"n":1}"#).await;
    assert_eq!(said(&refused), "invalid_arguments");
}

#[tokio::test]
async fn arguments_seen_before_are_written_down_clean_for_everyone() {
    let world = shop().await;
    let arguments = r#"{"to":"ann@example.com","text":"hello"}"#;
    let mut endings = Vec::new();
    for (handle, said_then) in [("s1", "ok"), ("s1", "hit"), ("s1", "hit"), ("s2", "ok")] {
        let outcome = world
            .call_as(&caller(handle), "shelf.look", arguments)
            .await;
        assert_eq!(said(&outcome), said_then, "{handle}");
        endings.push(world.ending(&outcome).await);
    }
    let facts = |ending: &serde_json::Value| {
        [
            "args_preview",
            "input_fingerprint",
            "cache_key",
            "capability",
        ]
        .map(|name| ending[name].clone())
    };
    assert!(
        endings
            .iter()
            .all(|ending| facts(ending) == facts(&endings[0]))
    );
    assert!(!endings[0]["args_preview"].to_string().contains("ann@"));
}

#[tokio::test]
async fn a_session_forgets_when_a_human_says_so() {
    let world = shop().await;
    world.call("shelf.look", "{}").await;
    let asked = world.call("session.forget", "{}").await;
    assert_eq!(said(&asked), "confirmation_required");
    world.decide(&asked, tollgate_engine::Decided::Once).await;
    assert_eq!(said(&world.call("session.forget", "{}").await), "ok");
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
    assert_eq!(details(&asked)["consent"], "human");
}

fn stored() -> Caller {
    Caller {
        lifetime: Lifetime::Stored,
        ..caller("default")
    }
}

async fn stored_shop(store: &Arc<dyn Store>, cleaner: Cleaner) -> World {
    Setup::new()
        .store(Arc::clone(store))
        .cleaner(cleaner)
        .tool(
            spec_kept("shelf.look"),
            says(json!({"text": "to ann@example.com"})),
        )
        .build()
        .await
}

async fn shop() -> World {
    let never = spec_read("shelf.never");
    let half = ToolResult {
        status: Status::Degraded,
        warnings: vec![Warning::TruncatedOutput],
        ..done(json!({}))
    };
    let empty = ToolResult {
        status: Status::Empty,
        ..done(json!({}))
    };
    let cached_write = ToolSpec {
        caching: Caching::Session,
        ..spec_write("shelf.trusted_write")
    };
    Setup::new()
        .tool(spec_kept("shelf.look"), says(json!({"n": 1})))
        .tool(spec_paid("shelf.buy", 5, true), priced(json!({"n": 2}), 5))
        .tool(
            spec_kept("shelf.fails"),
            fails(|| ProviderError::new(ErrorCode::ToolFailed, "no")),
        )
        .tool(spec_kept("shelf.half"), result(half))
        .tool(spec_kept("shelf.empty"), result(empty))
        .tool(never, says(json!({})))
        .tool(cached_write, says(json!({})))
        .rules(
            r#"@id("trust") permit (principal, action == Action::"call",
                resource == Tool::"shelf.trusted_write");"#,
        )
        .build()
        .await
}
