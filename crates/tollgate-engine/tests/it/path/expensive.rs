//! Schemas and arguments that take long to check hold up nobody but who sends them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use tollgate_core::{Payload, ToolSpec};

use crate::support::{Setup, World, done, error, result, said, spec_read};

/// What a call that is not expensive may take while others are.
const SOON: Duration = Duration::from_secs(5);

/// Nine levels of eight references each: some 4 KB.
fn nine_levels() -> Value {
    let mut defs = Map::new();
    for level in 0..9 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({"anyOf": vec![next; 8]}));
    }
    defs.insert("l9".to_owned(), json!({"const": "never"}));
    json!({"type": "object", "$defs": defs, "properties": {"a": {"$ref": "#/$defs/l0"}}})
}

/// A union of three that leads back to itself three times for each level of the value.
fn union() -> Value {
    let kind = |op: &str| {
        json!({"required": ["op"],
            "properties": {"a": {"$ref": "#/$defs/f"}, "op": {"const": op}}})
    };
    let leaf = json!({"type": "integer"});
    json!({"type": "object", "properties": {"f": {"$ref": "#/$defs/f"}},
        "$defs": {"f": {"anyOf": [kind("and"), kind("or"), kind("no"), leaf]}}})
}

/// Arguments of this depth, which the union explains in the last way it tries.
fn nested(depth: usize) -> String {
    let inner = (0..depth).fold(json!(1), |inner, _| json!({"a": inner, "op": "no"}));
    json!({"f": inner}).to_string()
}

fn with_input(name: &str, schema: Value) -> ToolSpec {
    ToolSpec {
        input_schema: schema.into(),
        ..spec_read(name)
    }
}

fn with_output(name: &str, schema: Value) -> ToolSpec {
    ToolSpec {
        output_schema: Some(schema.into()),
        ..spec_read(name)
    }
}

async fn world() -> World {
    let deep: Payload = Payload::parse(nested(11)).unwrap();
    let deeper = Payload::parse(nested(40)).unwrap();
    Setup::new()
        .tool(
            with_input("shelf.levels", nine_levels()),
            result(done(json!(1))),
        )
        .tool(
            with_output("shelf.answers", nine_levels()),
            result(done(json!({"a": 1}))),
        )
        .tool(with_input("shelf.union", union()), result(done(json!(1))))
        .tool(
            with_output("shelf.deep", union()),
            result(tollgate_core::ToolResult::ok(deep)),
        )
        .tool(
            with_output("shelf.deeper", union()),
            result(tollgate_core::ToolResult::ok(deeper)),
        )
        .tool(spec_read("shelf.look"), result(done(json!(1))))
        .build()
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_schema_that_costs_too_much_is_refused_when_it_is_compiled() {
    let world = world().await;
    let at = Instant::now();
    for (tool, arguments) in [("shelf.levels", r#"{"a":1}"#), ("shelf.answers", "{}")] {
        let outcome = world.call(tool, arguments).await;
        assert_eq!(said(&outcome), "unsupported", "{tool}");
        assert!(
            error(&outcome)["message"]
                .as_str()
                .unwrap()
                .contains("too expensive"),
            "{tool}"
        );
    }
    assert!(at.elapsed() < SOON, "{:?}", at.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn arguments_that_would_take_for_ever_are_refused() {
    let world = world().await;
    let at = Instant::now();
    let outcome = world.call("shelf.union", &nested(40)).await;
    assert_eq!(said(&outcome), "invalid_arguments");
    assert!(
        error(&outcome)["message"]
            .as_str()
            .unwrap()
            .contains("too long")
    );
    let outcome = world.call("shelf.deeper", "{}").await;
    assert_eq!(said(&outcome), "invalid_output");
    // Few levels are checked where they are, and more by other threads.
    for depth in [1, 4, 10] {
        assert_eq!(said(&world.call("shelf.union", &nested(depth)).await), "ok");
    }
    assert!(at.elapsed() < 12 * SOON, "{:?}", at.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn expensive_checks_have_threads_of_their_own_and_a_full_pool_says_so() {
    let world = Arc::new(world().await);
    let mut expensive = Vec::new();
    for at in 0..24 {
        let world = Arc::clone(&world);
        let tool = if at % 2 == 0 {
            "shelf.union"
        } else {
            "shelf.deep"
        };
        let arguments = if at % 2 == 0 {
            nested(11)
        } else {
            json!({"n": at}).to_string()
        };
        expensive.push(tokio::spawn(async move {
            let outcome = world.call(tool, &arguments).await;
            let failure = said(&outcome);
            let wait =
                (failure == "overloaded").then(|| error(&outcome)["retry_after_seconds"].as_u64());
            (failure.to_owned(), wait)
        }));
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let at = Instant::now();
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
    assert!(at.elapsed() < SOON, "{:?}", at.elapsed());
    let (mut ok, mut refused) = (0, 0);
    for one in expensive {
        match one.await.unwrap() {
            (said, None) if said == "ok" => ok += 1,
            (_, Some(wait)) => {
                assert!(wait.is_some_and(|seconds| seconds > 0));
                refused += 1;
            }
            (said, None) => panic!("{said}"),
        }
    }
    assert!(ok >= 2 && refused >= 1, "{ok} {refused}");
}
