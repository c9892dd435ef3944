//! What is known before anything was asked: tools, sets, schemas, the contract for handing results on.

use serde_json::{Map, Value, json};

use super::VERSION;
use crate::resolve::CONTAINERS;
use crate::tool::{Profile, RUNTIME_ARGUMENTS, TOOLS, Tool};

pub(super) fn tools_index() -> Value {
    let tools: Vec<Value> = TOOLS
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name(),
                "service_command": tool.command.name(),
                "groups": tool.sets().collect::<Vec<_>>(),
                "description": tool.about,
                "resource_uri": format!("keepa://tools/{}", tool.name()),
            })
        })
        .collect();
    json!({"schema_version": VERSION, "tool_count": tools.len(), "toolsets": SETS, "tools": tools})
}

const SETS: [&str; 6] = [
    "research",
    "docs",
    "audit",
    "reports",
    "tracking-readonly",
    "all",
];

pub(super) fn toolset(set: &str) -> Option<Value> {
    if !SETS.contains(&set) {
        return None;
    }
    let is_in = |tool: &&Tool| set == "all" || tool.sets().any(|one| one == set);
    let tools: Vec<Value> = TOOLS
        .iter()
        .filter(is_in)
        .map(|tool| {
            json!({
                "name": tool.name(),
                "service_command": tool.command.name(),
                "groups": tool.sets().collect::<Vec<_>>(),
                "resource_uri": format!("keepa://tools/{}", tool.name()),
            })
        })
        .collect();
    Some(json!({
        "schema_version": VERSION,
        "toolset": set,
        "available_toolsets": SETS,
        "tool_count": tools.len(),
        "tools": tools,
        "workflow_runtime_contract_uri": "keepa://workflow/runtime-contract",
    }))
}

pub(super) fn tool(name: &str) -> Option<Value> {
    let tool = Tool::named(name)?;
    let leaves: Map<String, Value> = Profile::ALL
        .iter()
        .map(|profile| {
            let word = match tool.leave(*profile) {
                crate::tool::Leave::Runs => "runs",
                crate::tool::Leave::OnSamples => "fixture_or_dry_run",
                crate::tool::Leave::Off => "inactive",
            };
            (profile.name().to_owned(), Value::from(word))
        })
        .collect();
    Some(json!({
        "schema_version": VERSION,
        "tool": {
            "name": tool.name(),
            "title": tool.title,
            "description": tool.about,
            "inputSchema": tool.schema(),
            "outputSchema": crate::tool::output(tool.command),
            "groups": tool.sets().collect::<Vec<_>>(),
            "profiles": leaves,
        },
        "execution": {
            "transport": "tools/call",
            "service_command": tool.command.name(),
            "argument_mode": "structured_json",
            "cli_string_is_display_only": true,
            "workflow_runtime": tool.takes_results,
            "workflow_runtime_contract_uri": "keepa://workflow/runtime-contract",
        },
    }))
}

pub(super) fn runtime_contract() -> Value {
    let tools: Vec<Value> = TOOLS
        .iter()
        .filter(|tool| tool.takes_results)
        .map(|tool| {
            json!({
                "name": tool.name(),
                "service_command": tool.command.name(),
                "groups": tool.sets().collect::<Vec<_>>(),
                "resource_uri": format!("keepa://tools/{}", tool.name()),
                "runtime_args": RUNTIME_ARGUMENTS,
            })
        })
        .collect();
    json!({
        "schema_version": VERSION,
        "schema_resource_uri": "keepa://schema/workflow-runtime-contract",
        "argument_names": RUNTIME_ARGUMENTS,
        "tool_count": tools.len(),
        "tools": tools,
        "source_shapes": source_shapes(),
        "accepted_sources": RUNTIME_ARGUMENTS.map(accepted),
        "failure_kind": "missing_inputs",
        "success_field": "data.workflow_resolution",
    })
}

/// How results look in each argument.
fn source_shapes() -> Value {
    let artifact = json!([
        "keepa://research/{cache_key}",
        "{cache_key}",
        "{path}.json",
        {"payload": {}},
        {"graph": {"nodes": [], "edges": [], "entity_counts": {}}},
        {"output": {"path": "{path}"}},
        {"resource_uri": "keepa://…"},
        {"path": "{path}"},
        {"cache_key": "{cache_key}"},
    ]);
    // By name or in order; a step is an artifact itself or names some.
    let step = json!({"artifact": "{artifact}", "artifacts": ["{artifact}"], "resource_uri": "keepa://…", "resource_uris": ["keepa://…"]});
    let container = json!([{"{step_id}": step}, [step], [{"payload": {}}]]);
    let containers = CONTAINERS.map(|name| (name.to_owned(), container.clone()));
    json!({
        "artifact": artifact,
        "artifacts": [["{artifact}"], {"{name}": "{artifact}"}],
        "resource_uri": ["keepa://…"],
        "resource_uris": [["keepa://…"]],
        "workflow_inputs": [{"{name}": {"value": "{artifact}"}}, {"{name}": "{artifact}"}],
        "workflow_context": Value::Object(Map::from_iter(containers)),
    })
}

/// What an argument may hold.
fn accepted(argument: &str) -> Value {
    let sources: &[&str] = match argument {
        "resource_uri" | "resource_uris" => &[
            "keepa://research/{cache_key}",
            "keepa://research/{cache_key}/graph",
            "keepa://output/{encoded_path}",
            "keepa://chunk/{encoded_path}",
            "keepa://fixtures/{name}",
        ],
        "workflow_inputs" => &["value that is an address, a key or a path"],
        "workflow_context" => &[
            "workflow_context.steps",
            "workflow_context.outputs",
            "workflow_context.results",
            "workflow_context.step_outputs",
            "workflow_context.previous_outputs",
        ],
        _ => &["address", "cache_key", "path", "inline"],
    };
    json!({"argument": argument, "sources": sources})
}

/// A schema by name.
pub(super) fn schema(name: &str) -> Option<Value> {
    let text = match name.trim_end_matches(".schema.json") {
        "products-agent-view" | "products.agent-view" => {
            include_str!("../schema/products-agent-view.json")
        }
        "workflow-runtime-contract" => include_str!("../schema/workflow-runtime-contract.json"),
        "risk-taxonomy" => include_str!("../schema/risk-taxonomy.json"),
        _ => return None,
    };
    serde_json::from_str(text).ok()
}

pub(super) const GUIDE: &str = "# From a live answer to a sample\n\n\
1. Record the answer to a file with `out`.\n\
2. `cassettes.sanitize` takes secrets out and writes a clean copy; look at it.\n\
3. `cassettes.promote` writes the same bytes to both folders of samples and adds a line to the list of evidence. Try it with `dry_run` first.\n\
4. `cassettes.promote_and_verify` also checks that both folders agree and, if asked, runs the specs.\n\n\
Never keep a live answer that was not cleaned.\n";
