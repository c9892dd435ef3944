//! `tollgate servers`: the operator's view of the MCP servers behind the gateway.

mod import;
mod logs;
mod pins;
mod restart;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tollgate_core::Health;
use tollgate_engine::{Catalog, Missing};
use tollgate_providers::upstream::{
    Lock, OddOffer, Offered, Pin, Pinned, Pins, oddities, refused_bare,
};

use super::{
    Exit, Scene, Stop,
    arguments::ServersAction,
    console::{Paint, visible},
};
use crate::{
    config::{McpServer, Reach},
    upstream, wire,
};

pub(super) async fn run(action: &ServersAction, scene: &Scene<'_>) -> Result<Exit, Stop> {
    match action {
        ServersAction::List => list(scene).await,
        ServersAction::Status => status(scene).await,
        ServersAction::Diff { server } => {
            if let Some(server) = server {
                pinned_or_known(server, scene)?;
            }
            pins::diff(server.as_deref(), scene)
        }
        ServersAction::Accept {
            server,
            tool,
            token,
        } => pins::accept(server, tool.as_deref(), token.as_deref(), scene).await,
        ServersAction::Logs {
            server,
            lines,
            follow: false,
        } => logs::run(server.as_deref(), *lines, scene),
        ServersAction::Logs {
            server,
            lines,
            follow: true,
        } => logs::follow(server.as_deref(), *lines, scene).await,
        ServersAction::Restart { server } => restart::run(server, scene).await,
        ServersAction::Import(it) => import::run(it, scene),
    }
}

/// The same of one that neither is there nor was.
fn pinned_or_known(server: &str, scene: &Scene<'_>) -> Result<(), Stop> {
    if lock(scene).read()?.servers.contains_key(server) {
        return Ok(());
    }
    known(server, scene)
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

/// What is known of a server without starting it.
struct Row {
    name: String,
    place: String,
    tools: usize,
    waiting: usize,
    odd: Vec<(String, Vec<&'static str>)>,
    offers: Vec<OddOffer>,
    /// Its tools and other names that mean something else here.
    left_out: Vec<String>,
}

impl Row {
    fn of(server: &McpServer, pins: &Pins, catalog: &Catalog) -> Self {
        let place = match &server.reach {
            Reach::Program { command, .. } => command.join(" "),
            Reach::Address { url, .. } => url.clone(),
        };
        let pinned = pins.servers.get(&server.name);
        let tools = pinned.map_or(0, |pinned| pinned.tools.len());
        let waiting = pinned.map_or(0, |pinned| {
            let waits = |(_, pin): &(&str, &Pin)| pin.waiting.is_some();
            pinned.definitions().filter(waits).count()
        });
        let odd = pinned.map(|pinned| odd(pinned, server.raw.unprefixed));
        let offers = pinned.and_then(|pinned| pinned.offered.as_ref());
        let id = format!("mcp_{}", server.name);
        let lost = catalog.problems().iter().filter(|it| it.provider == id);
        let lost = lost.filter(|it| it.missing != Missing::Everything);
        Self {
            name: server.name.clone(),
            place,
            tools,
            waiting,
            odd: odd.unwrap_or_default(),
            offers: offers.map(Offered::odd).unwrap_or_default(),
            left_out: lost.map(|problem| problem.message.clone()).collect(),
        }
    }

    fn json(&self) -> Value {
        let offers = self.offers.iter();
        let offers = offers.map(|it| json!({"kind": it.kind, "name": it.name, "notes": it.notes}));
        let odd = self.odd.iter();
        let odd = odd.map(|(tool, notes)| json!({"tool": tool, "notes": notes}));
        json!({"name": self.name, "provider": format!("mcp_{}", self.name),
               "reached_at": self.place, "pinned_tools": self.tools,
               "waiting_tools": self.waiting, "odd_tools": odd.collect::<Vec<_>>(),
               "odd_offers": offers.collect::<Vec<_>>(), "left_out": self.left_out})
    }

    /// What an operator should look at.
    fn warnings(&self) -> Vec<String> {
        let name = &self.name;
        let tools = self.odd.iter().map(|(tool, notes)| (visible(tool), notes));
        let offers = self.offers.iter().map(|odd| {
            let called = format!("{} {}", odd.kind, visible(&odd.name));
            (called, &odd.notes)
        });
        let odd = tools
            .chain(offers)
            .map(|(called, notes)| format!("{called} of {name}: {}", notes.join(", ")));
        let lost = self.left_out.iter();
        let lost = lost.map(|why| format!("{name}: {}", visible(why)));
        odd.chain(lost).collect()
    }
}

/// The servers and where each is reached.
async fn list(scene: &Scene<'_>) -> Result<Exit, Stop> {
    let pins = lock(scene).read()?;
    let catalog = wire::listed(&scene.config, &scene.environment).await?;
    let servers = scene.config.mcp.servers.iter();
    let cleaner = wire::cleaner(&scene.config)?;
    let rows: Vec<Row> = servers
        .map(|server| Row::of(server, &pins, &catalog))
        // A secret may stand where it should not, among the words of a command or in an address.
        .map(|row| Row {
            place: cleaner.line(&row.place),
            ..row
        })
        .collect();
    catalog.close().await;
    if scene.console.is_json() {
        let all: Vec<Value> = rows.iter().map(Row::json).collect();
        scene.console.json(&json!({"servers": all}))?;
        return Ok(Exit::Ok);
    }
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.name.clone(),
                row.tools.to_string(),
                row.waiting.to_string(),
                visible(&row.place),
            ]
        })
        .collect();
    scene
        .console
        .table(&["SERVER", "PINNED", "WAITING", "REACHED AT"], &table)?;
    let warnings: Vec<String> = rows.iter().flat_map(Row::warnings).collect();
    warn(scene, &warnings)?;
    Ok(Exit::Ok)
}

/// What an operator should look at, of all servers; pins that cannot be read say nothing.
fn warnings(scene: &Scene<'_>, catalog: &Catalog) -> Vec<String> {
    let pins = lock(scene).read().unwrap_or_default();
    let servers = scene.config.mcp.servers.iter();
    let rows = servers.map(|server| Row::of(server, &pins, catalog));
    rows.flat_map(|row| row.warnings()).collect()
}

fn warn(scene: &Scene<'_>, warnings: &[String]) -> Result<(), Stop> {
    for line in warnings {
        let line = format!("! {line}");
        scene
            .console
            .line(&scene.console.paint(Paint::Warn, &line))?;
    }
    Ok(())
}

/// The tools of a server that hide something or command, or that cannot be called what they
/// are, whether they are in use or wait.
fn odd(pinned: &Pinned, is_bare: bool) -> Vec<(String, Vec<&'static str>)> {
    let tools = pinned.definitions().map(|(tool, pin)| {
        let told = pin.waiting.iter().chain(&pin.accepted);
        let mut notes: BTreeSet<_> = told
            .flat_map(|told| oddities(told.definition.get()))
            .collect();
        notes.extend(refused_bare(tool).filter(|_| is_bare));
        (tool.to_owned(), notes.into_iter().collect::<Vec<_>>())
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
    let warnings = warnings(scene, &catalog);
    catalog.close().await;
    let well = servers.iter().all(|(_, state, ..)| *state == "ready");
    if scene.console.is_json() {
        let all: Vec<Value> = servers
            .iter()
            .map(|(name, state, tools, reason)| {
                json!({"name": name, "state": state, "tools": tools, "reason": reason})
            })
            .collect();
        scene
            .console
            .json(&json!({"servers": all, "warnings": warnings}))?;
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
        warn(scene, &warnings)?;
    }
    Ok(if well { Exit::Ok } else { Exit::ToolError })
}
