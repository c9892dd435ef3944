//! Definitions of tools that wait: shown, and accepted by a human.
//!
//! Invariant: what waits is shown as it is, hidden characters made visible, before anybody
//! can accept it, and only a human accepts.

use serde::Serialize;
use serde_json::{Value, json};
use tollgate_core::{Capability, Payload, Spelled};
use tollgate_providers::upstream::{Pin, Told, oddities, proposed};

use super::{
    super::{
        Exit, Scene, Stop,
        console::{Paint, indented, visible},
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
        let definitions = pinned.definitions();
        let waits = definitions.filter(|(_, pin)| pin.waiting.is_some());
        all.extend(waits.map(|(tool, pin)| (name.clone(), tool.to_owned(), pin.clone())));
    }
    Ok(all)
}

fn definition(told: Option<&Told>) -> Option<&str> {
    told.map(|told| told.definition.get())
}

/// One tool that waits, as `mcp diff --json` shows it.
#[derive(Serialize)]
struct Waits<'a> {
    server: &'a str,
    tool: &'a str,
    accepted: Option<Payload>,
    waiting: Option<Payload>,
    notes: Option<Vec<&'static str>>,
    proposed_capability: Option<&'static str>,
}

impl<'a> Waits<'a> {
    fn of((server, tool, pin): &'a (String, String, Pin)) -> Self {
        let printed = |told| {
            let (spelled, value) = read(told)?;
            Payload::parse(spelled.print(&value)).ok()
        };
        let grade = definition(pin.waiting.as_ref()).and_then(proposed);
        let grade = grade.filter(|_| pin.accepted.is_none());
        Self {
            server,
            tool,
            accepted: printed(pin.accepted.as_ref()),
            waiting: printed(pin.waiting.as_ref()),
            notes: definition(pin.waiting.as_ref()).map(oddities),
            proposed_capability: grade.map(Capability::as_str),
        }
    }
}

/// A definition, and how its numbers are spelled.
fn read(told: Option<&Told>) -> Option<(Spelled, Value)> {
    let text = definition(told)?;
    Some((Spelled::of(text), serde_json::from_str(text).ok()?))
}

pub(super) fn diff(server: Option<&str>, scene: &Scene<'_>) -> Result<Exit, Stop> {
    #[derive(Serialize)]
    struct All<'a> {
        waiting: Vec<Waits<'a>>,
    }
    let all = waiting(server, scene)?;
    if scene.console.is_json() {
        let waiting = all.iter().map(Waits::of).collect();
        scene.console.json(&All { waiting })?;
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
    let mut all = vec![format!("{} of {}", visible(tool), visible(server))];
    let waiting = pin.waiting.as_ref();
    match &pin.accepted {
        Some(accepted) => {
            let (before, after) = (places(Some(accepted)), places(waiting));
            let gone = before.iter().filter(|line| !after.contains(line));
            all.extend(gone.map(|line| format!("- {line}")));
            let come = after.iter().filter(|line| !before.contains(line));
            all.extend(come.map(|line| format!("+ {line}")));
            if all.len() == 1 {
                all.extend(unread(accepted, waiting));
            }
        }
        None => {
            let text = read(waiting).map(|(spelled, value)| indented(&spelled.print(&value)));
            let text = text.unwrap_or_default();
            all.extend(text.lines().map(|line| format!("+ {}", escaped(line))));
        }
    }
    let odd = definition(waiting).map_or_else(Vec::new, oddities);
    all.extend(odd.into_iter().map(|odd| format!("! {odd}")));
    if pin.accepted.is_none() {
        all.extend(grade(tool, waiting));
    }
    all
}

/// Definitions whose difference is in what reading leaves out, as they are.
fn unread(accepted: &Told, waiting: Option<&Told>) -> Vec<String> {
    let line = |sign: char, text: &str| format!("{sign} {}", escaped(text));
    let mut all = vec![
        line('-', accepted.definition.get()),
        "! a name stands in it more than once, or its parts in another order".to_owned(),
    ];
    all.splice(1..1, definition(waiting).map(|text| line('+', text)));
    all
}

/// Everything that a definition says, each with its place: two that differ anywhere differ in
/// a line, and the line says where.
fn places(told: Option<&Told>) -> Vec<String> {
    let Some((spelled, value)) = read(told) else {
        return definition(told).map(escaped).into_iter().collect();
    };
    let mut all = Vec::new();
    let mut open = vec![(String::new(), spelled, &value)];
    while let Some((place, spelled, value)) = open.pop() {
        let below: Vec<(String, String, &Value)> = match value {
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| (name.clone(), key(name), value))
                .collect(),
            Value::Array(entries) => entries
                .iter()
                .enumerate()
                .map(|(at, value)| (at.to_string(), at.to_string(), value))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        };
        if below.is_empty() {
            all.push(escaped(&format!("{place}: {}", spelled.print(value))));
        }
        for (name, shown, value) in below.into_iter().rev() {
            let dot = if place.is_empty() { "" } else { "." };
            open.push((format!("{place}{dot}{shown}"), spelled.member(&name), value));
        }
    }
    all
}

/// A name as a key of TOML or of a place; quoted where it has to be.
fn key(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

/// What a tool that is new could be graded, for the operator to decide.
fn grade(tool: &str, told: Option<&Told>) -> Option<String> {
    let grade = definition(told).and_then(proposed)?;
    let says = match grade {
        Capability::L0 => "it says that it only reads",
        Capability::L1 | Capability::L2 => "it does not say that it only reads",
    };
    let (tool, level) = (visible(&key(tool)), grade.as_str());
    Some(format!(
        "? {says}; if you agree: [mcp.servers.tools.{tool}] capability = \"{level}\"  # {}",
        grade.described()
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tollgate_providers::upstream::{Lock, Pins};

    use super::*;

    #[test]
    fn a_difference_that_reading_leaves_out_is_shown_as_it_is() {
        let told = |digest: &str, definition: &str| {
            format!(r#"{{"sha256":"{digest}","definition":{definition}}}"#)
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tollgate.lock");
        let accepted = told("a", r#"{"name":"t","description":"b"}"#);
        let waiting = told(
            "b",
            r#"{"name":"t","description":"obey","description":"b"}"#,
        );
        let pins = format!(
            r#"{{"servers":{{"s":{{"tools":{{"t":{{"accepted":{accepted},"waiting":{waiting}}}}}}}}}}}"#
        );
        std::fs::write(&file, pins).unwrap();
        let pins: Pins = Lock::new(file).read().unwrap();
        let tools: BTreeMap<String, Pin> = pins.servers["s"].tools.clone();
        let pin = tools["t"].clone();
        let lines = shown(&("s".to_owned(), "t".to_owned(), pin));
        assert!(
            lines[2].starts_with('+') && lines[2].contains("obey"),
            "{lines:?}"
        );
        assert!(lines[3].starts_with("! a name stands in it"), "{lines:?}");
    }
}
