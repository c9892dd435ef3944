//! `tollgate mcp list|status|diff|accept`: the operator's view of other people's servers.
//!
//! Invariant: what waits is shown as it is, hidden characters made visible, before anybody
//! can accept it, and only a human accepts.

use serde_json::{Value, json};
use tollgate_core::Health;
use tollgate_providers::upstream::{Lock, Pin, Told, oddities};

use super::{
    Exit, Scene, Stop,
    arguments::McpAction,
    console::{Paint, visible},
    terminal,
};
use crate::{config::Reach, upstream, wire};

pub(super) async fn run(action: &McpAction, scene: &Scene<'_>) -> Result<Exit, Stop> {
    match action {
        McpAction::List => list(scene),
        McpAction::Status => status(scene).await,
        McpAction::Diff { server } => diff(server.as_deref(), scene),
        McpAction::Accept {
            server,
            tool,
            token,
        } => accept(server, tool.as_deref(), token.as_deref(), scene).await,
    }
}

fn lock(scene: &Scene<'_>) -> Lock {
    Lock::new(upstream::lock_path(&scene.config))
}

/// The servers and where each is reached.
fn list(scene: &Scene<'_>) -> Result<Exit, Stop> {
    let pins = lock(scene).read()?;
    let servers = scene.config.mcp.servers.iter().map(|server| {
        let place = match &server.reach {
            Reach::Program { command, .. } => command.join(" "),
            Reach::Address { url, .. } => url.clone(),
        };
        let pinned = pins.servers.get(&server.name);
        let tools = pinned.map_or(0, |pinned| pinned.tools.len());
        let waiting = pinned.map_or(0, |pinned| {
            let waits = |pin: &&Pin| pin.waiting.is_some();
            pinned.tools.values().filter(waits).count()
        });
        (server.name.clone(), place, tools, waiting)
    });
    let servers: Vec<_> = servers.collect();
    if scene.console.is_json() {
        let all: Vec<Value> = servers
            .iter()
            .map(|(name, place, tools, waiting)| {
                json!({"name": name, "provider": format!("mcp_{name}"), "reached_at": place,
                       "pinned_tools": tools, "waiting_tools": waiting})
            })
            .collect();
        scene.console.json(&json!({"servers": all}))?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = servers
        .into_iter()
        .map(|(name, place, tools, waiting)| {
            vec![
                name,
                tools.to_string(),
                waiting.to_string(),
                visible(&place),
            ]
        })
        .collect();
    scene
        .console
        .table(&["server", "pinned", "waiting", "reached at"], &rows)?;
    Ok(Exit::Ok)
}

/// Starts every server and says how each is.
async fn status(scene: &Scene<'_>) -> Result<Exit, Stop> {
    let catalog = wire::listed(&scene.config, &scene.environment).await?;
    let mut servers = Vec::new();
    for (id, health) in catalog.health().await {
        let Some(name) = id.strip_prefix("mcp_") else {
            continue;
        };
        let own = catalog.listings();
        let tools = own.filter(|listing| listing.spec.provider_id == id).count();
        let (state, reason) = match health {
            Health::Ready => ("ready", String::new()),
            Health::Degraded(why) => ("starting", why),
            Health::Down(why) => ("down", why),
        };
        servers.push((name.to_owned(), state, tools, reason));
    }
    catalog.close().await;
    let well = servers.iter().all(|(_, state, ..)| *state == "ready");
    if scene.console.is_json() {
        let all: Vec<Value> = servers
            .iter()
            .map(|(name, state, tools, reason)| {
                json!({"name": name, "state": state, "tools": tools, "reason": reason})
            })
            .collect();
        scene.console.json(&json!({"servers": all}))?;
    } else {
        let rows: Vec<Vec<String>> = servers
            .into_iter()
            .map(|(name, state, tools, reason)| {
                vec![name, state.to_owned(), tools.to_string(), visible(&reason)]
            })
            .collect();
        scene
            .console
            .table(&["server", "state", "tools", "reason"], &rows)?;
    }
    Ok(if well { Exit::Ok } else { Exit::ToolError })
}

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

fn diff(server: Option<&str>, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let all = waiting(server, scene)?;
    if scene.console.is_json() {
        let all: Vec<Value> = all
            .iter()
            .map(|(server, tool, pin)| {
                let parsed = |told: Option<&Told>| {
                    definition(told).and_then(|text| serde_json::from_str::<Value>(text).ok())
                };
                let odd = definition(pin.waiting.as_ref()).map(oddities);
                json!({"server": server, "tool": tool, "accepted": parsed(pin.accepted.as_ref()),
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
    all
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

async fn accept(
    server: &str,
    tool: Option<&str>,
    token: Option<&str>,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    let mut all = waiting(Some(server), scene)?;
    all.retain(|(_, name, _)| tool.is_none_or(|tool| tool == name));
    if all.is_empty() {
        return Err(Stop::usage(format!("nothing of `{server}` waits")));
    }
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
            .json(&json!({"server": server, "accepted": accepted, "by": by}))?;
    } else {
        let said = format!("accepted: {}", accepted.join(", "));
        scene
            .console
            .line(&scene.console.paint(Paint::Good, &said))?;
    }
    Ok(Exit::Ok)
}
