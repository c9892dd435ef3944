//! Entries of the cache that are read by their key, whatever else was sent.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::{
    FromCache, ServiceInfo, Store, Surface, Telling, ToolResult, ToolSpec, Transport,
};
use tollgate_engine::{Caller, Outcome, session::Lifetime};
use tollgate_testkit::{MemoryStore, fakes::says};

use crate::support::{
    Setup, World, body, caller, details, done, request, result, said, spec_kept, spec_paid,
    spec_write,
};

const RESOLVED: &str = "items.find:0123456789abcdef01234567";

/// A tool with a service command whose answer says what it came to.
fn find() -> ToolSpec {
    ToolSpec {
        service_command: Some("items.find".to_owned()),
        input_schema: json!({"properties": {"n": {"type": "integer"}}}).into(),
        raise: tollgate_core::Raise::by(Arc::new(|arguments: &Map<String, Value>| match arguments
            .contains_key("out")
        {
            true => tollgate_core::Capability::L1,
            false => tollgate_core::Capability::L0,
        })),
        telling: Telling {
            restate: Some(Arc::new(|data: &Value, transport: Transport| {
                let mut data = data.clone();
                data["given"] = json!([transport.as_str(), "again"]);
                Some(data)
            })),
            ..Telling::default()
        },
        ..spec_paid("items.find_it", 5, true)
    }
}

async fn shop(store: Option<&Arc<dyn Store>>) -> World {
    let answer = ToolResult {
        service: Some(Box::new(ServiceInfo {
            request: json!({}),
            token_bucket: json!({}),
            cache_key: Some(RESOLVED.to_owned()),
        })),
        ..done(json!({"found": 1, "given": ["stdio", "first"]}))
    };
    let setup = Setup::new()
        .tool(find(), result(answer))
        .tool(spec_kept("shelf.look"), says(json!({"seen": 1})))
        .tool(spec_write("shelf.write"), says(json!({})));
    match store {
        Some(store) => setup.store(Arc::clone(store)).build().await,
        None => setup.build().await,
    }
}

fn stored() -> Caller {
    Caller {
        lifetime: Lifetime::Stored,
        ..caller("s1")
    }
}

fn key(outcome: &Outcome) -> String {
    outcome.envelope.get().cache_key.clone().unwrap()
}

async fn by_key(world: &World, caller: &Caller, tool: &str, arguments: &str, key: &str) -> Outcome {
    let mut asked = request(tool, arguments);
    asked.control.from_cache = FromCache::Entry(key.to_owned());
    world.gateway.call(caller, asked).await
}

#[tokio::test]
async fn the_entry_is_read_whatever_else_was_sent() {
    let world = shop(None).await;
    let first = world.call("items.find_it", r#"{"n":1,"yes":true}"#).await;
    assert_eq!(said(&first), "ok");
    let ledger = first.envelope.get().budget_ledger.clone();
    for arguments in [
        json!({"from_cache": RESOLVED}),
        json!({"from_cache": RESOLVED, "n": 2, "out": "/tmp/x"}),
        json!({"from_cache": RESOLVED, "n": "no number", "yes": 3}),
    ] {
        let again = world.call("items.find_it", &arguments.to_string()).await;
        assert_eq!(said(&again), "hit", "{arguments}");
        assert_eq!(body(&again)["data"]["found"], 1);
        assert_eq!(key(&again), RESOLVED);
        let now = &again.envelope.get().budget_ledger;
        assert_eq!(
            (
                now.session_estimated,
                now.session_consumed,
                &now.blocked_actions
            ),
            (
                ledger.session_estimated,
                ledger.session_consumed,
                &ledger.blocked_actions
            )
        );
    }
    assert_eq!(world.fake.count(), 1);
    // Nothing was put in the place of those arguments.
    let other = world.call("items.find_it", r#"{"n":2,"yes":true}"#).await;
    assert_eq!(said(&other), "ok");
    world.check(5).await;
}

#[tokio::test]
async fn any_tool_reads_an_entry_named_beside_its_arguments() {
    let world = shop(None).await;
    let first = world.call("shelf.look", r#"{"a":1}"#).await;
    let again = by_key(
        &world,
        &caller("s1"),
        "shelf.look",
        r#"{"b":2}"#,
        &key(&first),
    )
    .await;
    assert_eq!(said(&again), "hit");
    assert_eq!(key(&again), key(&first));
    // What was worked out for a call that named an entry is not taken for the call without it.
    assert_eq!(said(&world.call("shelf.look", r#"{"b":2}"#).await), "ok");
    assert_eq!(
        said(&by_key(&world, &caller("s1"), "shelf.look", "{}", "shelf.look:x").await),
        "cache_miss"
    );
    assert_eq!(world.fake.count(), 2);
}

#[tokio::test]
async fn a_miss_asks_nobody_and_names_what_there_is() {
    let world = shop(None).await;
    let first = world.call("shelf.look", r#"{"a":1}"#).await;
    let unknown = "shelf.look:000000000000000000000000";
    let missed = by_key(&world, &caller("s1"), "shelf.look", "{}", unknown).await;
    assert_eq!(said(&missed), "cache_miss");
    assert_eq!(
        details(&missed)["available_cache_keys"],
        json!([key(&first)])
    );
    for (tool, key) in [
        ("shelf.write", "shelf.write:000000000000000000000000"),
        // The entry of another tool.
        ("items.find_it", key(&first).as_str()),
    ] {
        let missed = by_key(&world, &caller("s1"), tool, "{}", key).await;
        assert_eq!(said(&missed), "cache_miss", "{tool}");
        assert!(
            missed
                .envelope
                .get()
                .budget_ledger
                .blocked_actions
                .is_empty()
        );
    }
    let foreign = by_key(&world, &caller("s2"), "shelf.look", "{}", &key(&first)).await;
    assert_eq!(said(&foreign), "cache_miss");
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn a_later_process_reads_the_entry_of_a_stored_session() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let first = shop(Some(&store)).await;
    let answer = first.call_as(&stored(), "shelf.look", r#"{"a":1}"#).await;
    let paid = first
        .call_as(&stored(), "items.find_it", r#"{"n":1,"yes":true}"#)
        .await;
    let next = shop(Some(&store)).await;
    let again = by_key(&next, &stored(), "shelf.look", "{}", &key(&answer)).await;
    assert_eq!(
        (said(&again), body(&again)["data"]["seen"].clone()),
        ("hit", json!(1))
    );
    assert_eq!(key(&paid), RESOLVED);
    let again = by_key(&next, &stored(), "items.find_it", "{}", RESOLVED).await;
    assert_eq!(said(&again), "hit");
    let unknown = "items.find:000000000000000000000000";
    let missed = by_key(&next, &stored(), "items.find_it", "{}", unknown).await;
    let known = details(&missed)["available_cache_keys"].clone();
    assert!(
        known.as_array().unwrap().contains(&json!(RESOLVED)),
        "{known}"
    );
    assert_eq!(next.fake.count(), 0);
}

#[tokio::test]
async fn a_cached_answer_tells_of_the_call_that_gets_it() {
    let world = shop(None).await;
    let asker = Caller::local(caller("s1").session.principal, "s1", Surface::Mcp);
    let remote = Caller {
        transport: Transport::Http,
        ..asker.clone()
    };
    let first = world
        .call_as(&asker, "items.find_it", r#"{"n":1,"yes":true}"#)
        .await;
    assert_eq!(body(&first)["data"]["given"], json!(["stdio", "first"]));
    let again = body(&world.call_as(&remote, "items.find_it", r#"{"n":1}"#).await);
    assert_eq!(again["data"]["given"], json!(["http", "again"]), "{again}");
    assert_ne!(
        again["meta"]["output_fingerprint"],
        body(&first)["meta"]["output_fingerprint"]
    );
}
