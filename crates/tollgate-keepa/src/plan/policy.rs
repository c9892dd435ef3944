//! How a plan is to be run: which profile, which tools, where to stop and ask.

use serde_json::{Value, json};

use super::Plan;
use crate::tool::{Leave, Profile, Tool};

pub(super) fn policy(plan: &Plan, steps: &[Value], totals: &Value, templates: &[Value]) -> Value {
    let recommended = plan.profile;
    let mut tools: Vec<&str> = Vec::new();
    for name in steps.iter().filter_map(|step| step["mcp_tool"].as_str()) {
        if !tools.contains(&name) {
            tools.push(name);
        }
    }
    let active = |name: &str| Tool::named(name).is_some_and(|tool| tool.is_active(recommended));
    let allowed: Vec<&str> = tools.iter().copied().filter(|name| active(name)).collect();
    let inactive: Vec<Value> = steps
        .iter()
        .filter(|step| !active(step["mcp_tool"].as_str().unwrap_or_default()))
        .map(|step| {
            json!({
                "step_id": step["id"],
                "tool": step["mcp_tool"],
                "profile": recommended.name(),
                "recommended_profile": step["mcp"]["profile"],
                "reason": format!("{} is off in {}", step["mcp_tool"], recommended.name()),
            })
        })
        .collect();
    let asking: Vec<&Value> = steps
        .iter()
        .filter(|step| step["requires_confirmation"] == true)
        .collect();
    let blocked: Vec<Value> = asking
        .iter()
        .map(|step| {
            json!({
                "step_id": step["id"],
                "tool": step["mcp_tool"],
                "reason": "confirmation_required",
                "estimated_tokens": step["estimated_tokens"],
                "worst_case_tokens": step["worst_case_tokens"],
            })
        })
        .collect();
    let profiles: Vec<&str> = Profile::ALL.iter().map(|one| one.name()).collect();
    json!({
        "recommended_toolset": plan.toolset,
        "planning_profile": Profile::OfflineFixtureOnly.name(),
        "recommended_profile": recommended.name(),
        "available_profiles": profiles,
        "workflow_tools": tools,
        "allowed_tools": allowed,
        "inactive_tools": inactive,
        "profile_switch_points": switches(plan, steps),
        "confirmation_policy": {
            "requires_confirmation": totals["requires_confirmation"],
            "step_ids": asking.iter().map(|step| &step["id"]).collect::<Vec<_>>(),
            "resume_param": "yes",
            "default": "A step that asks for consent waits until its price was agreed to.",
        },
        "budget_ledger_seed": {
            "session_estimated": 0,
            "planned_estimated": totals["estimated_tokens"],
            "planned_worst_case": totals["worst_case_tokens"],
            "blocked_actions": blocked,
        },
        "tool_discovery": {
            "method": "tools/list",
            "params": {
                "toolset": plan.toolset,
                "profile": recommended.name(),
                "allow_tools": tools,
            },
        },
        "cache_policy": {
            "reuse": "Send from_cache with the key of an answer before the step is repeated.",
            "audit_resource": "keepa://research/{cache_key}",
        },
        "resource_templates": templates,
    })
}

/// Where the profile changes or consent is asked for.
fn switches(plan: &Plan, steps: &[Value]) -> Vec<Value> {
    let recommended = plan.profile;
    let mut points = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let tool = step["mcp_tool"].as_str().and_then(Tool::named);
        if at == 0 {
            points.push(json!({
                "before_step": step["id"],
                "profile": recommended.name(),
                "reason": "The closest profile that covers the first steps.",
            }));
        }
        if step["requires_confirmation"] == true {
            points.push(json!({
                "before_step": step["id"],
                "profile": step["mcp"]["profile"],
                "reason": "Its price has to be agreed to.",
                "requires_confirmation": true,
                "confirmation_params": {"yes": true},
            }));
        }
        let only_samples = tool.is_some_and(|tool| tool.leave(recommended) == Leave::OnSamples);
        if only_samples && step["mcp"]["profile"] == Profile::LiveReadAllowed.name() {
            points.push(json!({
                "before_step": step["id"],
                "profile": Profile::LiveReadAllowed.name(),
                "reason": "On live data rather than a sample, once what it needs is there.",
            }));
        }
    }
    points
}
