//! `tollgate audit replay`.

use serde_json::{Value, json};
use tollgate_engine::{
    Gateway,
    policy::{Origin, Policies, Source},
    replay::{self, Recorded, Redecided},
};

use tollgate_sanitize::disarmed;

use super::{Exit, Scene, Stop, arguments::Replay, call, console::Paint};
use crate::wire;

/// Calls are really made again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    pub(super) accepts_cost: bool,
}

/// What calls that were made again came to, all together.
#[derive(Debug, Default)]
pub(super) struct Ending {
    differs: bool,
    needs_human: bool,
    needs_caller: bool,
}

impl Ending {
    pub(super) fn exit(&self) -> Exit {
        if self.needs_human || self.needs_caller {
            Exit::ConsentNeeded
        } else if self.differs {
            Exit::ToolError
        } else {
            Exit::Ok
        }
    }

    /// How to go on where somebody has to agree first.
    pub(super) fn advise(&self, scene: &Scene<'_>) {
        if self.needs_human {
            scene
                .console
                .note("then repeat the same command; what was approved is made once");
        }
        if self.needs_caller {
            scene
                .console
                .note("to accept the cost, repeat the command with --yes");
        }
    }
}

pub(super) async fn run(args: &Replay, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let gateway = &wired.gateway;
    let recorded = gateway.recorded(&args.trace).await?;
    if recorded.is_empty() {
        return Err(Stop::usage(format!(
            "no call is recorded under `{}`; `tollgate audit list` shows the last calls with their ids, `tollgate runs replay` takes a run",
            args.trace
        )));
    }
    let policies = args
        .policy
        .as_ref()
        .map(|path| changed(path, scene))
        .transpose()?;
    let mut ending = Ending::default();
    let mut steps = Vec::new();
    for tool in recorded.iter().filter_map(|call| call.field("tool")) {
        if policies.is_some() {
            gateway.look_for(tool).await;
        }
    }
    let by_another = replay::made_by_another(&recorded);
    for (call, is_made_by_another) in recorded.iter().zip(by_another) {
        let step = match &policies {
            Some(policies) => redecided(gateway, call, policies),
            None if args.live && is_made_by_another => made_by_run(call),
            None if args.live => {
                let again = gateway.again(&scene.caller(), call, args.yes).await;
                compared(call, again, &mut ending)
            }
            None => playback(call),
        };
        steps.push(step);
    }
    call::stay(&wired, scene).await;
    wired.close().await;
    if scene.console.is_json() {
        scene.console.json(&json!({"steps": steps}))?;
    } else {
        steps.iter().try_for_each(|step| show(step, scene))?;
        ending.advise(scene);
    }
    Ok(ending.exit())
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

/// A step of a run whose call is made again, too, and makes this one.
fn made_by_run(call: &Recorded) -> Value {
    let mut step = step(call);
    step["again"] = json!({"made_by": call.ending.get("run")});
    step
}

/// What making a call again brought, beside what is recorded of it.
pub(super) fn compared(
    call: &Recorded,
    again: Option<replay::Again>,
    ending: &mut Ending,
) -> Value {
    let mut step = step(call);
    match again {
        Some(replay::Again {
            consent: Some(failure),
            ..
        }) => {
            let approve =
                call::approval(&failure).map(|id| format!("tollgate approvals approve {id}"));
            ending.needs_human |= approve.is_some();
            ending.needs_caller |= approve.is_none();
            step["again"] = json!({
                "same": false,
                "needs_consent": true,
                "approve": approve,
                "error": failure,
            });
        }
        Some(again) => {
            ending.differs |= !again.same;
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
            ending.differs = true;
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
    if let Some(run) = step.pointer("/again/made_by").and_then(Value::as_str) {
        let line = format!("  made again by the call that started the run {run}");
        return Ok(console.line(&console.paint(Paint::Faint, &line))?);
    }
    if step.pointer("/again/needs_consent").is_some() {
        return show_consent(&step["again"], scene);
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
            let line = line.as_str().unwrap_or_default();
            console.line(&format!("    {}", disarmed(line)))?;
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
    // A text of others runs and loads nothing where it is shown.
    let shown = |name: &str| disarmed(&step[name].to_string()).into_owned();
    console.line(&format!("  arguments {}", shown("arguments")))?;
    console.line(&format!("  data      {}", shown("data")))?;
    if let Some(why) = step.get("not_replayable").and_then(Value::as_str) {
        console.line(&format!("  not replayable: {why}"))?;
    }
    Ok(())
}

/// What somebody has to agree to before the call is made again, and how.
fn show_consent(again: &Value, scene: &Scene<'_>) -> Result<(), Stop> {
    let console = scene.console;
    let line = match again["approve"].as_str() {
        Some(_) => "  not made: a human has to agree to it first",
        None => "  not made: its cost has to be accepted first",
    };
    console.line(&console.paint(Paint::Warn, line))?;
    let preview = &again["error"]["details"]["preview"];
    if !preview.is_null() {
        let shown = serde_json::to_string_pretty(preview).unwrap_or_default();
        for line in shown.lines() {
            console.line(&format!("    {line}"))?;
        }
    }
    if let Some(approve) = again["approve"].as_str() {
        console.line(&format!("    to allow it once:  {approve}"))?;
    }
    Ok(())
}
