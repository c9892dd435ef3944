//! `tollgate mcp …`: the operator's view of other people's servers.

mod import;
mod logs;
mod pins;
mod restart;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tollgate_core::Health;
use tollgate_providers::upstream::{Lock, Offered, Pin, Pinned, oddities};

use super::{
    Exit, Scene, Stop,
    arguments::McpAction,
    console::{Paint, visible},
};
use crate::{config::Reach, upstream, wire};

pub(super) async fn run(action: &McpAction, scene: &Scene<'_>) -> Result<Exit, Stop> {
    match action {
        McpAction::List => list(scene),
        McpAction::Status => status(scene).await,
        McpAction::Diff { server } => pins::diff(server.as_deref(), scene),
        McpAction::Accept {
            server,
            tool,
            token,
        } => pins::accept(server, tool.as_deref(), token.as_deref(), scene).await,
        McpAction::Logs {
            server,
            lines,
            follow: false,
        } => logs::run(server.as_deref(), *lines, scene),
        McpAction::Logs {
            server,
            lines,
            follow: true,
        } => logs::follow(server.as_deref(), *lines, scene).await,
        McpAction::Restart { server } => restart::run(server, scene).await,
        McpAction::Import(it) => import::run(it, scene),
    }
}

/// Refuses a name that no server has.
fn known(server: &str, scene: &Scene<'_>) -> Result<(), Stop> {
    let mut names = scene.config.mcp.servers.iter().map(|one| one.name.as_str());
    if names.any(|name| name == server) {
        return Ok(());
    }
    let names: Vec<&str> = scene
        .config
        .mcp
        .servers
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let there = if names.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    };
    Err(Stop::usage(format!(
        "there is no server `{server}`; {there}"
    )))
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
        let odd = pinned.map(odd).unwrap_or_default();
        let offers = pinned.and_then(|pinned| pinned.offered.as_ref());
        let offers = offers.map(Offered::odd).unwrap_or_default();
        (server.name.clone(), place, tools, waiting, odd, offers)
    });
    let servers: Vec<_> = servers.collect();
    if scene.console.is_json() {
        let all: Vec<Value> = servers
            .iter()
            .map(|(name, place, tools, waiting, odd, offers)| {
                let offers: Vec<Value> = offers
                    .iter()
                    .map(|it| json!({"kind": it.kind, "name": it.name, "notes": it.notes}))
                    .collect();
                let odd: Vec<Value> = odd
                    .iter()
                    .map(|(tool, notes)| json!({"tool": tool, "notes": notes}))
                    .collect();
                json!({"name": name, "provider": format!("mcp_{name}"), "reached_at": place,
                       "pinned_tools": tools, "waiting_tools": waiting, "odd_tools": odd,
                       "odd_offers": offers})
            })
            .collect();
        scene.console.json(&json!({"servers": all}))?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = servers
        .iter()
        .map(|(name, place, tools, waiting, ..)| {
            vec![
                name.clone(),
                tools.to_string(),
                waiting.to_string(),
                visible(place),
            ]
        })
        .collect();
    scene
        .console
        .table(&["SERVER", "PINNED", "WAITING", "REACHED AT"], &rows)?;
    for (name, .., odd, offers) in &servers {
        let tools = odd.iter().map(|(tool, notes)| (visible(tool), notes));
        let offers = offers.iter().map(|odd| {
            let called = format!("{} {}", odd.kind, visible(&odd.name));
            (called, &odd.notes)
        });
        for (called, notes) in tools.chain(offers) {
            let line = format!("! {called} of {name}: {}", notes.join(", "));
            scene
                .console
                .line(&scene.console.paint(Paint::Warn, &line))?;
        }
    }
    Ok(Exit::Ok)
}

/// The tools of a server that hide something or command, whether they are in use or wait.
fn odd(pinned: &Pinned) -> Vec<(String, Vec<&'static str>)> {
    let tools = pinned.tools.iter().map(|(tool, pin)| {
        let told = pin.waiting.iter().chain(&pin.accepted);
        let notes: BTreeSet<_> = told
            .flat_map(|told| oddities(told.definition.get()))
            .collect();
        (tool.clone(), notes.into_iter().collect::<Vec<_>>())
    });
    tools.filter(|(_, notes)| !notes.is_empty()).collect()
}

/// Starts every server and says how each is.
async fn status(scene: &Scene<'_>) -> Result<Exit, Stop> {
    let mut config = scene.config.clone();
    config.mcp.afresh = true;
    let catalog = wire::listed(&config, &scene.environment).await?;
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
            .table(&["SERVER", "STATE", "TOOLS", "REASON"], &rows)?;
    }
    Ok(if well { Exit::Ok } else { Exit::ToolError })
}
