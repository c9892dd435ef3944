//! What the stand-in answers.

use serde_json::{Value, json};
use tollgate_core::{Capability, Provider, ToolName, Usage};
use tollgate_providers::stub::{self, StubTool};

use crate::support::run;

fn provider(tool: StubTool) -> impl Provider {
    stub::provider(stub::Settings { tools: vec![tool] }, Vec::new())
}

fn named(name: &str) -> StubTool {
    StubTool::new(ToolName::new(name).unwrap())
}

async fn answer(provider: &dyn Provider, arguments: Value) -> Value {
    let result = run(provider, "prices.lookup", arguments).await.unwrap();
    result.payload.value().clone()
}

#[tokio::test]
async fn the_same_arguments_always_give_the_same_answer() {
    let provider = provider(named("prices.lookup"));
    let one = answer(&provider, json!({"a": 1, "b": 2})).await;
    let same = answer(&provider, json!({"b": 2, "a": 1})).await;
    let other = answer(&provider, json!({"a": 1, "b": 3})).await;
    assert_eq!(one["answer_id"], same["answer_id"]);
    assert_ne!(one["answer_id"], other["answer_id"]);
}

#[tokio::test]
async fn a_fixed_answer_and_a_price_are_as_set() {
    let fixed = json!({"price": 9}).as_object().cloned();
    let provider = provider(StubTool {
        units: 3,
        answer: fixed,
        ..named("prices.lookup")
    });
    let result = run(&provider, "prices.lookup", json!({})).await.unwrap();
    assert_eq!(result.payload.value(), &json!({"price": 9}));
    assert_eq!(result.usage, Usage { consumed: Some(3) });
}

#[tokio::test]
async fn a_stand_in_for_a_write_is_no_read() {
    let provider = provider(StubTool {
        capability: Capability::L1,
        ..named("files.write")
    });
    let specs = provider.tools().await.unwrap();
    assert!(!specs[0].annotations.read_only);
    assert!(specs[0].has_side_effects());
}
