//! `tollgate replay`.

use serde_json::{Value, json};
use tollgate_engine::{
    Gateway,
    policy::{Origin, Policies, Source},
    replay::{Again, Recorded, Redecided},
};

use super::{Exit, Scene, Stop, arguments::Replay, console::Paint};
use crate::wire;

pub(super) async fn run(args: &Replay, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let gateway = &wired.gateway;
    let recorded = gateway.recorded(&args.trace).await?;
    if recorded.is_empty() {
        return Err(Stop::usage(format!(
            "no call is recorded under `{}`",
            args.trace
        )));
    }
    let policies = args
        .policy
        .as_ref()
        .map(|path| changed(path, scene))
        .transpose()?;
    let mut same = true;
    let mut steps = Vec::new();
    for call in &recorded {
        let step = match &policies {
            Some(policies) => redecided(gateway, call, policies),
            None if args.live => {
                let again = gateway.again(&scene.caller(), call).await;
                compared(call, again, &mut same)
            }
            None => playback(call),
        };
        steps.push(step);
    }
    wired.close().await;
    if scene.console.is_json() {
        scene.console.json(&json!({"steps": steps}))?;
    } else {
        steps.iter().try_for_each(|step| show(step, scene))?;
    }
    Ok(if same { Exit::Ok } else { Exit::ToolError })
}

/// The policies in force with this file added, or in place of the one it is.
fn changed(path: &std::path::Path, scene: &Scene<'_>) -> Result<Policies, Stop> {
    let path = scene.environment.current_dir.join(path);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Stop::usage(format!("{}: {error}", path.display())))?;
    let mut sources = wire::policy_sources(&scene.config)?;
    sources.retain(|source| source.name != path.display().to_string());
    sources.push(Source {
        name: path.display().to_string(),
        text,
        origin: Origin::User,
    });
    Policies::compile(sources).map_err(|problems| Stop {
        exit: Exit::Usage,
        lines: problems.iter().map(ToString::to_string).collect(),
    })
}

fn step(call: &Recorded) -> Value {
    let kept = |name: &str| call.ending.get(name).cloned().unwrap_or_default();
    json!({
        "call_id": kept("call_id"),
        "tool": kept("tool"),
        "status": kept("status"),
        "error_code": kept("error_code"),
        "verdict": kept("verdict"),
        "rule": kept("rule"),
        "replayable": kept("replayable"),
        "not_replayable": kept("not_replayable"),
    })
}

fn parsed(text: Option<&String>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

pub(super) fn playback(call: &Recorded) -> Value {
    let mut step = step(call);
    step["altered"] = Value::Bool(call.altered);
    step["arguments"] = parsed(call.arguments.as_ref());
    step["data"] = parsed(call.data.as_ref());
    step
}

fn redecided(gateway: &Gateway, call: &Recorded, policies: &Policies) -> Value {
    let mut step = step(call);
    step["would"] = match gateway.redecide(call, policies) {
        Redecided::Verdict { decision, rule } => {
            let was = call.field("verdict").unwrap_or("none");
            json!({"verdict": decision, "rule": rule, "changed": was != decision})
        }
        Redecided::Undecided(why) => json!({"verdict": "undecided", "reason": why}),
    };
    step
}

/// What making a call again brought, beside what is recorded of it.
pub(super) fn compared(call: &Recorded, again: Option<Again>, same: &mut bool) -> Value {
    let mut step = step(call);
    match again {
        Some(again) => {
            *same &= again.same;
            step["again"] = json!({
                "same": again.same,
                "status": again.envelope.get("status"),
                "call_id": again.envelope.pointer("/meta/call_id"),
                "cache_hit": again.envelope.get("cache_hit"),
                "error": again.envelope.get("error"),
                "difference": again.difference,
            });
        }
        None => {
            *same = false;
            step["again"] = json!({"same": false, "reason": "its arguments were not kept"});
        }
    }
    step
}

pub(super) fn show(step: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let console = scene.console;
    let text = |pointer: &str| {
        let found = step.pointer(pointer);
        found.and_then(Value::as_str).unwrap_or("-").to_owned()
    };
    console.line(&format!(
        "{}  {}  {}  {}",
        text("/call_id"),
        console.paint(Paint::Strong, &text("/tool")),
        text("/status"),
        text("/rule")
    ))?;
    if let Some(code) = step["error_code"].as_str() {
        console.line(&format!("  failed: {code}"))?;
    }
    if step.get("would").is_some() {
        let changed = step.pointer("/would/changed") == Some(&Value::Bool(true));
        let paint = if changed { Paint::Warn } else { Paint::Faint };
        let line = format!(
            "  would be {} ({})",
            text("/would/verdict"),
            step.pointer("/would/rule")
                .or_else(|| step.pointer("/would/reason"))
                .and_then(Value::as_str)
                .unwrap_or("")
        );
        return Ok(console.line(&console.paint(paint, &line))?);
    }
    if let Some(again) = step.get("again") {
        let same = again.get("same") == Some(&Value::Bool(true));
        let word = if same {
            "  the same again"
        } else {
            "  not the same"
        };
        console.line(&console.paint(if same { Paint::Good } else { Paint::Warn }, word))?;
        for line in again
            .get("difference")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            console.line(&format!("    {}", line.as_str().unwrap_or_default()))?;
        }
        if let Some(reason) = again.get("reason").and_then(Value::as_str) {
            console.line(&format!("    {reason}"))?;
        }
        return Ok(());
    }
    if step.get("altered") == Some(&Value::Bool(true)) {
        let line = "  what was kept does not match the audit log; it is not shown";
        return Ok(console.line(&console.paint(Paint::Bad, line))?);
    }
    console.line(&format!("  arguments {}", step["arguments"]))?;
    console.line(&format!("  data      {}", step["data"]))?;
    if let Some(why) = step.get("not_replayable").and_then(Value::as_str) {
        console.line(&format!("  not replayable: {why}"))?;
    }
    Ok(())
}
