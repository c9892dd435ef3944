//! Definitions of tools that wait: shown, and accepted by a human.
//!
//! Invariant: what waits is shown as it is, hidden characters made visible, before anybody
//! can accept it, and only a human accepts.

use serde_json::{Value, json};
use tollgate_core::Capability;
use tollgate_providers::upstream::{Pin, Told, oddities, proposed};

use super::{
    super::{
        Exit, Scene, Stop,
        console::{Paint, visible},
        terminal,
    },
    lock,
};

/// What waits, beside what is in use.
fn waiting(server: Option<&str>, scene: &Scene<'_>) -> Result<Vec<(String, String, Pin)>, Stop> {
    let pins = lock(scene).read()?;
    let mut all = Vec::new();
    for (name, pinned) in pins.servers {
        if server.is_some_and(|server| server != name) {
            continue;
        }
        let waits = pinned
            .tools
            .into_iter()
            .filter(|(_, pin)| pin.waiting.is_some());
        all.extend(waits.map(|(tool, pin)| (name.clone(), tool, pin)));
    }
    Ok(all)
}

fn definition(told: Option<&Told>) -> Option<&str> {
    told.map(|told| told.definition.get())
}

pub(super) fn diff(server: Option<&str>, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let all = waiting(server, scene)?;
    if scene.console.is_json() {
        let all: Vec<Value> = all
            .iter()
            .map(|(server, tool, pin)| {
                let parsed = |told: Option<&Told>| {
                    definition(told).and_then(|text| serde_json::from_str::<Value>(text).ok())
                };
                let odd = definition(pin.waiting.as_ref()).map(oddities);
                let grade = definition(pin.waiting.as_ref()).and_then(proposed);
                let grade = grade.filter(|_| pin.accepted.is_none());
                json!({"proposed_capability": grade.map(Capability::as_str),
                       "server": server, "tool": tool, "accepted": parsed(pin.accepted.as_ref()),
                       "waiting": parsed(pin.waiting.as_ref()), "notes": odd})
            })
            .collect();
        scene.console.json(&json!({"waiting": all}))?;
        return Ok(Exit::Ok);
    }
    if all.is_empty() {
        scene.console.line("nothing waits")?;
    }
    for entry in &all {
        for line in shown(entry) {
            let paint = match line.as_bytes().first() {
                Some(b'+') => Paint::Good,
                Some(b'-' | b'!') => Paint::Warn,
                Some(_) | None => {
                    scene.console.line(&line)?;
                    continue;
                }
            };
            scene.console.line(&scene.console.paint(paint, &line))?;
        }
    }
    Ok(Exit::Ok)
}

/// One tool's difference, line by line; nothing in it is invisible.
fn shown((server, tool, pin): &(String, String, Pin)) -> Vec<String> {
    let lines = |told: Option<&Told>| -> Vec<String> {
        let value = definition(told).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let text = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
        let text = text.unwrap_or_default();
        text.lines().map(escaped).collect()
    };
    let (before, after) = (lines(pin.accepted.as_ref()), lines(pin.waiting.as_ref()));
    let mut all = vec![format!("{} of {}", visible(tool), visible(server))];
    let gone = before.iter().filter(|line| !after.contains(line));
    all.extend(gone.map(|line| format!("- {line}")));
    let come = after.iter().filter(|line| !before.contains(line));
    all.extend(come.map(|line| format!("+ {line}")));
    let odd = definition(pin.waiting.as_ref()).map_or_else(Vec::new, oddities);
    all.extend(odd.into_iter().map(|odd| format!("! {odd}")));
    if pin.accepted.is_none() {
        all.extend(grade(tool, pin.waiting.as_ref()));
    }
    all
}

/// What a tool that is new could be graded, for the operator to decide.
fn grade(tool: &str, told: Option<&Told>) -> Option<String> {
    let grade = definition(told).and_then(proposed)?;
    let says = match grade {
        Capability::L0 => "it says that it only reads",
        Capability::L1 | Capability::L2 => "it does not say that it only reads",
    };
    let (tool, grade) = (visible(tool), grade.as_str());
    Some(format!(
        "? {says}; if you agree: [mcp.servers.tools.{tool}] capability = \"{grade}\""
    ))
}

/// A line in which every character can be seen.
fn escaped(line: &str) -> String {
    let shown = |c: char| {
        if c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric() {
            c.to_string()
        } else {
            c.escape_unicode().to_string()
        }
    };
    line.chars().map(shown).collect()
}

pub(super) async fn accept(
    server: &str,
    tool: Option<&str>,
    token: Option<&str>,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    let mut all = waiting(Some(server), scene)?;
    all.retain(|(_, name, _)| tool.is_none_or(|tool| tool == name));
    if all.is_empty() {
        let mut stop = Stop::usage(format!("nothing of `{server}` waits"));
        stop.lines.extend(pinned(server, tool, scene)?);
        return Err(stop);
    }
    let new = all.iter().filter(|(_, _, pin)| pin.accepted.is_none());
    let proposals: Vec<String> = new
        .filter_map(|(_, name, pin)| grade(name, pin.waiting.as_ref()))
        .collect();
    let lines: Vec<String> = all.iter().flat_map(shown).collect();
    let wired = scene.wire().await?;
    let by = terminal::establish(token, &lines.join("\n"), &wired.gateway, scene).await?;
    wired.close().await;
    let digests = all.iter().filter_map(|(_, name, pin)| {
        let told = pin.waiting.as_ref()?;
        Some((name.clone(), told.sha256.clone()))
    });
    let accepted = lock(scene).accept(server, &digests.collect())?;
    if scene.console.is_json() {
        scene
            .console
            .json(&json!({"server": server, "accepted": accepted, "by": by,
                          "proposals": proposals}))?;
    } else {
        let said = format!("accepted: {}", accepted.join(", "));
        scene
            .console
            .line(&scene.console.paint(Paint::Good, &said))?;
        for proposal in &proposals {
            scene.console.line(proposal)?;
        }
    }
    Ok(Exit::Ok)
}

/// What tools that were pinned on sight could be graded.
fn pinned(server: &str, tool: Option<&str>, scene: &Scene<'_>) -> Result<Vec<String>, Stop> {
    let pins = lock(scene).read()?;
    let Some(pinned) = pins.servers.get(server) else {
        return Ok(Vec::new());
    };
    let tools = pinned.tools.iter();
    let wanted = tools.filter(|(name, _)| tool.is_none_or(|tool| tool == name.as_str()));
    Ok(wanted
        .filter_map(|(name, pin)| grade(name, pin.accepted.as_ref()))
        .collect())
}
