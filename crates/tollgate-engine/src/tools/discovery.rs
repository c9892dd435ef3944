//! `tools.search`, `tools.describe` and `tools.call`: how a small list reaches every tool.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tollgate_core::{
    Annotations, CallContext, ErrorCode, Payload, ProviderError, ResultForm, Shape, Spelled, Tool,
    ToolSet, ToolSpec, envelope,
};

use super::{Handle, engine};
use crate::call::{CALL_BY_NAME, Viewer, found, in_force, shows};

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
                 Always succeeds; no hit: use other words, or name the service you want to reach.",
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
                 Unknown name: the error lists the nearest names. Success: the whole definition.",
            )
            .sets(&["gate", "discovery"]),
            describe,
        )
        .tool(
            Tool {
                forwards: true,
                ..Tool::read(
                    CALL_BY_NAME,
                    "Call a tool by name",
                    "Calls any tool by its name, exactly as if it were in your list: the same checks, consent, cache and record. \
                     Success: what that tool answers. Fails: unknown_tool, and as that tool does. \
                     Look its arguments up with tools.describe first.",
                )
                .sets(&["gate", "discovery"])
            },
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
    /// Whether every call needs a human's consent.
    requires_confirm: bool,
    /// Of an upstream server's tool: `read_only`, `write` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    risk_level: Option<String>,
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
            name: catalog.name_of(&listing.spec.name, viewer.spelling),
            title: listing.spec.title.clone(),
            summary: inner.cleaner.preview(
                &catalog.spelled(&listing.spec.description, viewer.spelling),
                SUMMARY_CHARACTERS,
            ),
            toolsets: listing.spec.toolsets.clone(),
            capability: listing.spec.capability.as_str().to_owned(),
            requires_confirm: in_force(&inner, &viewer, &listing).requires_confirm,
            risk_level: risk_level(&listing.spec),
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
    /// How you are answered: `native`, the tool's own object; `envelope`, the envelope around it.
    result_form: &'static str,
    /// Whether you are sent that object as text alone, not as structured content as well.
    content_only: bool,
    /// What that object fits; without it, it can be anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    output_schema: Option<Payload>,
    /// Read-only, idempotent, destructive, open-world, sensitive-sink.
    #[schemars(with = "Map<String, Value>")]
    annotations: Annotations,
    capability: String,
    provider: String,
    toolsets: Vec<String>,
    /// The time limit in force; of an upstream server's tool, for how long it may be silent.
    timeout_ms: u64,
    /// Whether every call needs a human's consent, by the rules in force.
    requires_confirm: bool,
    /// Of an upstream server's tool: `read_only`, `write` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    risk_level: Option<String>,
}

fn risk_level(spec: &ToolSpec) -> Option<String> {
    let upstream = spec.upstream.as_ref()?;
    Some(upstream.risk_level.as_str().to_owned())
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
    let spec = in_force(&inner, &Viewer::of_call(&cx), listing);
    let view = cx.results.of_tool(&spec);
    Ok(Described {
        name: catalog.name_of(&spec.name, cx.spelling),
        title: spec.title.clone(),
        description: catalog.spelled(&spec.description, cx.spelling).into_owned(),
        input_schema: written(&spec.spelled.member("inputSchema"), &spec.input_schema)?,
        result_form: view.form.as_str(),
        content_only: view.content_only,
        output_schema: returned(&spec, view.form)?,
        annotations: spec.annotations,
        capability: spec.capability.as_str().to_owned(),
        provider: spec.provider_id.clone(),
        toolsets: spec.toolsets.clone(),
        timeout_ms: spec.timeout_ms,
        requires_confirm: spec.requires_confirm,
        risk_level: risk_level(&spec),
    })
}

/// The schema of what a call returns in this form.
fn returned(spec: &ToolSpec, form: ResultForm) -> Result<Option<Payload>, ProviderError> {
    let spelled = spec.spelled.member("outputSchema");
    let data = spec.output_schema.as_deref();
    match (form, spec.shape, data) {
        (ResultForm::Native, _, None) => Ok(None),
        (ResultForm::Native, _, Some(data)) => written(&spelled, data).map(Some),
        (ResultForm::Envelope, Shape::Data, data) => {
            let schema = envelope::schema(data);
            written(&envelope::spelled(&spelled), &schema).map(Some)
        }
        (ResultForm::Envelope, Shape::Native | Shape::Wrapped, own) => {
            let schema = envelope::schema(Some(&upstream_result(own)));
            let members = Spelled::of_members([("structuredContent", spelled.clone())]);
            let result =
                Spelled::of_members([("$defs", spelled.member("$defs")), ("properties", members)]);
            written(&envelope::spelled(&result), &schema).map(Some)
        }
    }
}

/// Within the envelope, the data of an upstream tool is all of its server's result.
fn upstream_result(own: Option<&Value>) -> Value {
    let mut own = own.cloned().unwrap_or_else(|| json!({}));
    // References are resolved from the root, so what they lead to moves up.
    let definitions = own.as_object_mut().and_then(|own| own.remove("$defs"));
    json!({
        "$defs": definitions.unwrap_or_else(|| json!({})),
        "type": "object",
        "properties": {
            "content": {"type": "array", "items": {"type": "object"}},
            "structuredContent": own,
            "isError": {"type": "boolean"},
        },
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
