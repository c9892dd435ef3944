//! `review.*`: what waits for a human. Resolving is not a tool: a model cannot review itself.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tollgate_core::{
    CallContext, ProviderError, Tool, ToolSet,
    store::{ReviewItem, ReviewStatus},
};

use super::{Handle, engine, from_store};

pub(super) fn add(tools: ToolSet<Handle>) -> ToolSet<Handle> {
    tools
        .tool(
            Tool::read(
                "review.list",
                "List review items",
                "Lists results of your calls that a human should look at, newest first. \
                 Use it before building on doubtful results. An empty list means nothing waits. \
                 Success: the items. Fails only where the state cannot be read.",
            )
            .sets(&["gate"]),
            list,
        )
        .tool(
            Tool::read(
                "review.show",
                "Show a review item",
                "Shows one review item: which call, why, and what the reviewer said. \
                 Only a human resolves items, with `tollgate review resolve`. Unknown id: not_found. \
                 Success: the item.",
            )
            .sets(&["gate"]),
            show,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArgs {
    /// Only items that still wait, or only resolved ones.
    #[serde(default)]
    status: Which,
    /// How many at most.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Which {
    #[default]
    Open,
    Resolved,
    All,
}

fn twenty() -> u32 {
    20
}

#[derive(Serialize, JsonSchema)]
struct Items {
    items: Vec<Map<String, Value>>,
}

fn shown(item: &ReviewItem) -> Map<String, Value> {
    match json!(item) {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

async fn list(
    handle: Arc<Handle>,
    args: ListArgs,
    cx: CallContext,
) -> Result<Items, ProviderError> {
    let status = match args.status {
        Which::Open => Some(ReviewStatus::Open),
        Which::Resolved => Some(ReviewStatus::Resolved),
        Which::All => None,
    };
    let all = engine(&handle)?
        .store
        .reviews(status, args.limit.saturating_mul(5))
        .await
        .map_err(from_store)?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let own = all
        .iter()
        .filter(|item| item.principal == cx.principal.as_str());
    Ok(Items {
        items: own.take(limit).map(shown).collect(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShowArgs {
    /// The item's id.
    #[schemars(length(min = 1, max = 64))]
    item_id: String,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    item: Map<String, Value>,
}

async fn show(handle: Arc<Handle>, args: ShowArgs, cx: CallContext) -> Result<Item, ProviderError> {
    let found = engine(&handle)?
        .store
        .review(&args.item_id)
        .await
        .map_err(from_store)?;
    match found.filter(|item| item.principal == cx.principal.as_str()) {
        Some(item) => Ok(Item { item: shown(&item) }),
        None => Err(ProviderError::not_found(format!(
            "there is no review item `{}` of yours",
            args.item_id
        ))),
    }
}
