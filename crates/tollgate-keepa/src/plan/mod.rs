//! Plans of research: what to call, in which order, at what price, and what each step hands to the next.
//!
//! Invariants: the price of a step is the estimate of exactly its parameters; a plan sends nothing; a step that asks for
//! consent is never marked as safe to run by default.

mod built_in;
mod policy;

use serde_json::{Map, Value, json};

use crate::{
    Command, Error, Params, action,
    cost::{Budget, estimate},
    tool::{Profile, Tool},
};

/// A step before it is shown.
struct Step {
    id: &'static str,
    title: &'static str,
    command: Command,
    params: Value,
    reason: &'static str,
    after: &'static [&'static str],
    group: Option<&'static str>,
    /// A sample that can stand in for the answer.
    sample: Option<&'static str>,
    takes: &'static [&'static str],
    makes: &'static [&'static str],
}

/// A plan before it is shown.
struct Plan {
    name: &'static str,
    toolset: &'static str,
    profile: Profile,
    inputs: Map<String, Value>,
    artifacts: Value,
    steps: Vec<Step>,
    /// Names of [`TEMPLATES`] that help.
    templates: &'static [&'static str],
}

/// Addresses that help with plans: name, address, use.
const TEMPLATES: [(&str, &str, &str); 7] = [
    (
        "workflow_policy",
        "keepa://workflow/{encoded_params}/policy",
        "To read how a plan is to be run without reading the plan.",
    ),
    (
        "fixture",
        "keepa://fixtures/{name}",
        "To read the sample a step names.",
    ),
    (
        "research_cache",
        "keepa://research/{cache_key}",
        "To look at an answer of this session before asking again.",
    ),
    (
        "research_graph",
        "keepa://research/{cache_key}/graph",
        "To hand on only the graph of such an answer.",
    ),
    (
        "research_brief",
        "keepa://research/{cache_key}/brief",
        "To read the brief made of such answers.",
    ),
    (
        "graph_root",
        "keepa://graphs/{root}",
        "To see where a merged graph came from.",
    ),
    (
        "output",
        "keepa://output/{encoded_path}",
        "To read a file that was written.",
    ),
];

/// The names of the plans.
pub const NAMES: [&str; 4] = [
    "category-research",
    "product-research",
    "report-research",
    "tracking-audit",
];

/// Makes the plan that the parameters name.
pub fn plan(params: &Params) -> Result<Value, Error> {
    let plan = built_in::find(params)?;
    let domain = params.domain()?.code();
    let goal = goal(params);
    let steps: Result<Vec<Value>, Error> =
        plan.steps.iter().map(|step| shown(step, &plan)).collect();
    let steps = steps?;
    let totals = totals(&steps);
    let groups = groups(&plan);
    let templates: Vec<Value> = TEMPLATES
        .iter()
        .filter(|(name, _, _)| plan.templates.contains(name))
        .map(|(name, uri, about)| json!({"name": name, "uri_template": uri, "use": about}))
        .collect();
    let policy = policy::policy(&plan, &steps, &totals, &templates);
    let first = plan.steps.iter().filter(|step| step.after.is_empty());
    let actions: Vec<Value> = first
        .map(|step| {
            let reason = format!("To begin with {}: {}", step.id, step.reason);
            action(step.command, &step.params, &reason)
        })
        .collect();
    let asking = steps
        .iter()
        .filter(|step| step["requires_confirmation"] == true)
        .count();
    let inactive = policy["inactive_tools"].as_array().map_or(0, Vec::len);
    let parts = [
        "workflow_inputs",
        "artifacts",
        "resource_templates",
        "steps",
        "totals",
        "workflow_policy",
        "next_actions",
    ];
    let one_line = format!(
        "{}: {} steps, about {} tokens",
        plan.name,
        steps.len(),
        totals["estimated_tokens"]
    );
    Ok(json!({
        "view": "workflow_plan",
        "name": plan.name,
        "domain": domain,
        "goal": goal,
        "agent_brief": {
            "view": "workflow_plan",
            "one_line": one_line,
            "key_facts": {
                "name": plan.name,
                "step_count": steps.len(),
                "estimated_tokens": totals["estimated_tokens"],
                "worst_case_tokens": totals["worst_case_tokens"],
                "requires_confirmation": totals["requires_confirmation"],
                "recommended_profile": plan.profile.name(),
            },
            "read_order": ["agent_brief", "workflow_policy", "steps", "totals", "evidence_index"],
        },
        "data_quality": {
            "present": parts,
            "missing": [],
            "confidence": "high",
            "notes": ["A plan is made here and costs nothing."],
        },
        "selection_signals": {
            "step_count": steps.len(),
            "artifact_count": plan.artifacts.as_object().map_or(0, Map::len),
            "confirmation_step_count": asking,
            "inactive_tool_count": inactive,
            "parallel_group_count": groups.len(),
            "resource_template_count": templates.len(),
        },
        "evidence_index": evidence(),
        "provenance": {
            "source": "local",
            "endpoint": "local://workflow.plan",
            "params_hash": crate::request::digest(&Value::Object(params.canonical().clone())),
            "cache_hit": false,
        },
        "workflow_inputs": plan.inputs,
        "artifacts": plan.artifacts,
        "resource_templates": templates,
        "next_actions": actions,
        "totals": totals,
        "parallel_groups": groups,
        "workflow_policy": policy,
        "steps": steps,
    }))
}

/// What a client that reads addresses first gets to see of a plan.
pub fn compact_policy(params: &Params) -> Result<Value, Error> {
    let plan = plan(params)?;
    let summary: Vec<Value> = plan["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|step| {
            json!({
                "id": step["id"],
                "tool": step["tool"],
                "mcp_tool": step["mcp_tool"],
                "profile": step["mcp"]["profile"],
                "requires_confirmation": step["requires_confirmation"],
                "estimated_tokens": step["estimated_tokens"],
                "input_refs": step["input_refs"],
                "artifact_refs": step["artifact_refs"],
            })
        })
        .collect();
    Ok(json!({
        "view": "workflow_policy_resource",
        "command": "workflow.plan",
        "params": params.canonical(),
        "workflow_inputs": plan["workflow_inputs"],
        "artifacts": plan["artifacts"],
        "resource_templates": plan["resource_templates"],
        "workflow_policy": plan["workflow_policy"],
        "totals": plan["totals"],
        "step_summary": summary,
        "recommended_read_order": ["workflow_policy", "totals", "step_summary", "workflow_inputs", "artifacts"],
    }))
}

fn goal(params: &Params) -> String {
    params
        .text(&["goal"])
        .unwrap_or_else(|| "research".to_owned())
}

/// The profile a step is made for: the closest one that lets it do what it is for.
fn profile_of(command: Command) -> Profile {
    match Tool::of(command).map_or("", |tool| tool.groups) {
        groups if groups.contains("product") || groups == "research seller" => {
            Profile::LiveReadAllowed
        }
        groups if groups.contains("reports") || groups.starts_with("audit") => {
            Profile::OfflineFixtureOnly
        }
        "tracking-readonly" => Profile::TrackingReadonly,
        _ => Profile::DryRunDefault,
    }
}

fn shown(step: &Step, plan: &Plan) -> Result<Value, Error> {
    let budget = estimate(step.command, &Params::of(&step.params))?;
    let acted = action(step.command, &step.params, step.reason);
    let tool = Tool::of(step.command);
    let name = tool.map(Tool::name).unwrap_or_default();
    let profile = profile_of(step.command);
    let runs = |profile: Profile| tool.is_some_and(|tool| tool.is_active(profile));
    let mut arguments = step.params.clone();
    arguments["profile"] = Value::from(profile.name());
    Ok(json!({
        "id": step.id,
        "title": step.title,
        "tool": step.command.name(),
        "mcp_tool": name,
        "params": step.params,
        "cli": acted["cli"],
        "command": acted["command"],
        "reason": step.reason,
        "depends_on": step.after,
        "parallel_group": step.group,
        "estimated_tokens": budget.estimated_tokens,
        "worst_case_tokens": budget.worst_case_tokens,
        "requires_confirmation": budget.requires_confirmation,
        "fixture_replay": step.sample,
        "input_refs": step.takes,
        "artifact_refs": step.makes,
        "mcp": {
            "tool": name,
            "toolset": plan.toolset,
            "profile": profile.name(),
            "active_in_profile": runs(profile),
            "recommended_profile": plan.profile.name(),
            "active_in_recommended_profile": runs(plan.profile),
            "call": {"name": name, "arguments": arguments},
        },
        "execution": execution(step, &budget),
    }))
}

fn execution(step: &Step, budget: &Budget) -> Value {
    let mode = if step.command.effect() == crate::Effect::Local {
        "local_only"
    } else if step.sample.is_some() {
        "fixture_replay_preferred"
    } else if budget.requires_confirmation {
        "confirmation_required"
    } else {
        "live_read_or_fixture"
    };
    let mut execution = json!({
        "mode": mode,
        "safe_default": !budget.requires_confirmation,
        "cache_strategy": "An answer of this session is used again before the step is repeated.",
        "fixture_replay": step.sample,
    });
    if budget.requires_confirmation {
        execution["confirmation_params"] = json!({"yes": true});
        execution["confirmation_reason"] = Value::from("Its price has to be agreed to first.");
    }
    execution
}

fn totals(steps: &[Value]) -> Value {
    let sum = |name: &str| {
        steps
            .iter()
            .filter_map(|step| step[name].as_u64())
            .sum::<u64>()
    };
    json!({
        "estimated_tokens": sum("estimated_tokens"),
        "worst_case_tokens": sum("worst_case_tokens"),
        "requires_confirmation": steps.iter().any(|step| step["requires_confirmation"] == true),
    })
}

fn groups(plan: &Plan) -> Vec<&'static str> {
    let mut groups = Vec::new();
    for group in plan.steps.iter().filter_map(|step| step.group) {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

fn evidence() -> Value {
    let places = [
        (
            "workflow_policy",
            "How it is to be run: profile, tools, consent, budget.",
        ),
        ("workflow_inputs", "What it needs, and when."),
        ("artifacts", "What its steps hand on."),
        ("steps", "What is called, in which order, at what price."),
        ("totals", "What it costs altogether."),
        ("resource_templates", "Addresses that spare calls."),
        ("next_actions", "Where to begin."),
    ];
    let entries = places.map(|(name, why)| {
        (
            name.to_owned(),
            json!({"path": name, "section": "summary", "why": why}),
        )
    });
    Value::Object(entries.into_iter().collect())
}

#[cfg(test)]
mod tests;
