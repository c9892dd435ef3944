//! `tools.search`, `tools.describe` and `tools.call`: how a small list reaches every tool.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tollgate_core::{
    Annotations, CallContext, ErrorCode, Payload, ProviderError, Spelled, Tool, ToolSet, envelope,
};

use super::{Handle, engine};
use crate::call::{CALL_BY_NAME, Viewer, found, shows};

/// How much of a description a search hit shows.
const SUMMARY_CHARACTERS: usize = 240;

pub(super) fn add(tools: ToolSet<Handle>) -> ToolSet<Handle> {
    tools
        .tool(
            Tool::read(
                "tools.search",
                "Find tools",
                "Finds the tools that fit a task described in words, English or Chinese, best first. \
                 Use it first when the tool you need is not in your list. \
                 Success: names to pass to tools.describe and tools.call. \
                 No hit: use other words, or name the service you want to reach.",
            )
            .sets(&["gate", "discovery"]),
            search,
        )
        .tool(
            Tool::read(
                "tools.describe",
                "Describe a tool",
                "Shows everything a tool declares: what it does, its argument and result schemas, its risk. \
                 Use it before the first call of a tool that is not in your list. \
                 Unknown name: the error lists the nearest names.",
            )
            .sets(&["gate", "discovery"]),
            describe,
        )
        .tool(
            Tool::read(
                CALL_BY_NAME,
                "Call a tool by name",
                "Calls any tool by its name, exactly as if it were in your list: the same checks, consent, cache and record. \
                 Success and failures are those of the inner tool. \
                 Look its arguments up with tools.describe first.",
            )
            .sets(&["gate", "discovery"]),
            call,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    /// What you want to do, in words.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// How many hits at most.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 50))]
    limit: usize,
}

fn ten() -> usize {
    10
}

#[derive(Serialize, JsonSchema)]
struct Found {
    tools: Vec<Hit>,
}

#[derive(Serialize, JsonSchema)]
struct Hit {
    /// The name to call it by.
    name: String,
    title: String,
    /// The beginning of its description.
    summary: String,
    toolsets: Vec<String>,
    /// L0 reads, L1 writes, L2 runs code.
    capability: String,
    /// Comparable within this answer only.
    score: f32,
}

async fn search(
    handle: Arc<Handle>,
    args: SearchArgs,
    cx: CallContext,
) -> Result<Found, ProviderError> {
    let inner = engine(&handle)?;
    let viewer = Viewer::of_call(&cx);
    let catalog = inner.catalog();
    let tools = found(&inner, &viewer, &args.query, args.limit)
        .into_iter()
        .map(|(listing, score)| Hit {
            name: viewer.spelling.of(&listing.spec.name),
            title: listing.spec.title.clone(),
            summary: inner.cleaner.preview(
                &catalog.spelled(&listing.spec.description, viewer.spelling),
                SUMMARY_CHARACTERS,
            ),
            toolsets: listing.spec.toolsets.clone(),
            capability: listing.spec.capability.as_str().to_owned(),
            score,
        })
        .collect();
    Ok(Found { tools })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DescribeArgs {
    /// The tool's name, as search or your list spells it.
    #[schemars(length(min = 1, max = 256))]
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Described {
    name: String,
    title: String,
    description: String,
    #[schemars(with = "Map<String, Value>")]
    input_schema: Payload,
    /// The whole envelope, around the tool's `data`.
    #[schemars(with = "Map<String, Value>")]
    output_schema: Payload,
    /// Read-only, idempotent, destructive, open-world, sensitive-sink.
    #[schemars(with = "Map<String, Value>")]
    annotations: Annotations,
    capability: String,
    provider: String,
    toolsets: Vec<String>,
    timeout_ms: u64,
    requires_confirm: bool,
}

async fn describe(
    handle: Arc<Handle>,
    args: DescribeArgs,
    cx: CallContext,
) -> Result<Described, ProviderError> {
    let inner = engine(&handle)?;
    let catalog = inner.catalog();
    let found = catalog
        .find(&args.name)
        .filter(|listing| shows(&inner, &Viewer::of_call(&cx), listing));
    let Some(listing) = found else {
        let seen = |name: &String| {
            let listing = catalog.find(name);
            listing.is_some_and(|listing| shows(&inner, &Viewer::of_call(&cx), listing))
        };
        let mut nearest: Vec<String> = catalog.nearest(&args.name, 12);
        nearest.retain(seen);
        nearest.truncate(5);
        let mut error = ProviderError::not_found(format!("there is no tool `{}`", args.name));
        error.details.insert("nearest".to_owned(), json!(nearest));
        error.next_steps = vec!["tools.search".to_owned()];
        return Err(error);
    };
    let spec = &listing.spec;
    let output = envelope::schema(spec.output_schema.as_deref());
    let spelled_output = envelope::spelled(&spec.spelled.member("outputSchema"));
    Ok(Described {
        name: cx.spelling.of(&spec.name),
        title: spec.title.clone(),
        description: catalog.spelled(&spec.description, cx.spelling).into_owned(),
        input_schema: written(&spec.spelled.member("inputSchema"), &spec.input_schema)?,
        output_schema: written(&spelled_output, &output)?,
        annotations: spec.annotations,
        capability: spec.capability.as_str().to_owned(),
        provider: spec.provider_id.clone(),
        toolsets: spec.toolsets.clone(),
        timeout_ms: spec.timeout_ms,
        requires_confirm: spec.requires_confirm,
    })
}

/// A schema with its numbers as its owner wrote them.
fn written(spelled: &Spelled, schema: &Value) -> Result<Payload, ProviderError> {
    Payload::parse(spelled.print(schema))
        .map_err(|error| ProviderError::new(ErrorCode::Internal, format!("a schema is {error}")))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallArgs {
    /// The tool's name.
    #[schemars(length(min = 1, max = 256))]
    #[expect(dead_code, reason = "the door reads it before any provider is asked")]
    name: String,
    /// Its arguments.
    #[serde(default)]
    #[expect(dead_code, reason = "the door reads it before any provider is asked")]
    arguments: Map<String, Value>,
}

/// The door unwraps `tools.call` before any provider is asked, so this is never the answer.
async fn call(
    _: Arc<Handle>,
    _: CallArgs,
    _: CallContext,
) -> Result<Map<String, Value>, ProviderError> {
    let message = "this call must be unwrapped by the door";
    Err(ProviderError::new(ErrorCode::Internal, message))
}
