//! The official clients against published servers behind the gateway, with schema validation on.
//!
//! A cell is one scenario of one server, made by one client either by the name that the tool is
//! listed under or through `tools.call`. Invariant: every cell of the plan ran, or [`LACKS`] says
//! what that client does not have; the cells are printed as a table. That a client validates is
//! shown by a server that breaks its own schema and that it reaches without the gateway.

mod cells;
mod inspector;
mod judge;
mod table;
mod world;

use std::collections::BTreeMap;

use cells::{Cell, Scenario, control, plan};
use serde_json::{Value, json};
use world::World;

use super::{Peers, script};
use crate::support::Ran;

/// Scenarios that a client has no means for.
const LACKS: [(Client, Scenario, &str); 4] = [
    (
        Client::Inspector,
        Scenario::Progress,
        "its command line shows no notifications",
    ),
    (
        Client::Inspector,
        Scenario::Sampling,
        "its command line does not offer sampling",
    ),
    (
        Client::Inspector,
        Scenario::Elicitation,
        "its command line does not offer elicitation",
    ),
    (
        Client::Inspector,
        Scenario::Roots,
        "its command line does not offer roots",
    ),
];

/// Which library makes the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Python,
    TypeScript1,
    TypeScript2,
    Inspector,
}

impl Client {
    const fn title(self) -> &'static str {
        match self {
            Self::Python => "Python SDK",
            Self::TypeScript1 => "TypeScript SDK v1",
            Self::TypeScript2 => "TypeScript SDK v2",
            Self::Inspector => "Inspector",
        }
    }

    /// Why this client has no such cell.
    fn lacks(self, version: &str, scenario: Scenario) -> Option<&'static str> {
        // It is ended to cancel, and that cancels nothing over HTTP before 2026-07-28.
        if (self, version, scenario) == (Self::Inspector, LEGACY, Scenario::Cancel) {
            return Some("its command line does not cancel");
        }
        let mut known = LACKS.iter();
        let found = known.find(|(client, lacking, _)| *client == self && *lacking == scenario);
        found.map(|(_, _, reason)| *reason)
    }
}

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

#[test]
fn python_sdk_speaks_2026_07_28() {
    drives(Client::Python, MODERN, |world, plan, target| {
        scripted(world, plan, target, |peers, words| {
            let words: Vec<&str> = [&["auto"], words].concat();
            peers.python(&world.env, &script("cells.py"), &words)
        })
    });
}

#[test]
fn python_sdk_speaks_2025_11_25() {
    drives(Client::Python, LEGACY, |world, plan, target| {
        scripted(world, plan, target, |peers, words| {
            let words: Vec<&str> = [&["legacy"], words].concat();
            peers.python(&world.env, &script("cells.py"), &words)
        })
    });
}

#[test]
fn typescript_sdk_v1_speaks_2025_11_25() {
    typescript(Client::TypeScript1, "v1", LEGACY);
}

#[test]
fn typescript_sdk_v2_speaks_2026_07_28() {
    typescript(Client::TypeScript2, "v2", MODERN);
}

#[test]
fn inspector_speaks_2026_07_28() {
    drives(Client::Inspector, MODERN, |world, plan, target| {
        inspector::drive(world, plan, target, ("modern", MODERN))
    });
}

#[test]
fn inspector_speaks_2025_11_25() {
    drives(Client::Inspector, LEGACY, |world, plan, target| {
        inspector::drive(world, plan, target, ("legacy", LEGACY))
    });
}

fn typescript(client: Client, library: &str, version: &str) {
    drives(client, version, |world, plan, target| {
        scripted(world, plan, target, |peers, words| {
            let folder = peers.path("");
            let words: Vec<&str> = [&[folder.as_str(), library], words].concat();
            peers.node(&world.env, &script("cells.mjs"), &words)
        })
    });
}

/// Which server a client reaches.
#[derive(Debug, Clone, Copy)]
enum Target {
    Gateway,
    /// One that breaks the schema of its own answers.
    Control,
}

impl Target {
    /// What starts it on stdio.
    fn command(self) -> Vec<String> {
        let program = env!("CARGO_BIN_EXE_tollgate");
        let words = match self {
            Self::Gateway => [&[program, "mcp"][..], &world::OFFERS].concat(),
            Self::Control => vec!["python3", "-I", "-S", BREAKS],
        };
        words.into_iter().map(str::to_owned).collect()
    }
}

const BREAKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/breaks.py");

/// Has a script make the calls; it speaks to the server over stdio.
fn scripted(
    world: &World,
    plan: &[Cell],
    target: Target,
    run: impl FnOnce(&Peers, &[&str]) -> Ran,
) -> (String, Vec<Value>) {
    let plan: Vec<Value> = plan.iter().map(|cell| cell.for_script(world)).collect();
    let file = world.env.write("plan.json", json!(plan).to_string());
    let server = target.command();
    let mut words = vec![file.as_str()];
    words.extend(server.iter().map(String::as_str));
    let ran = run(&world.peers, &words).exits(0);
    let mut lines = ran.out.lines().map(|line| {
        let parsed: Value = serde_json::from_str(line).unwrap();
        parsed
    });
    let first = lines.next().expect("the script printed nothing");
    let version = first["version"].as_str().unwrap().to_owned();
    (version, lines.collect())
}

/// Makes all cells of a client and judges what it saw.
fn drives(
    client: Client,
    version: &str,
    drive: impl Fn(&World, &[Cell], Target) -> (String, Vec<Value>),
) {
    let world = World::start();
    let (planned, control) = (plan(&world), control());
    let made: Vec<Cell> = planned
        .iter()
        .filter(|cell| client.lacks(version, cell.scenario).is_none())
        .cloned()
        .collect();
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    for (cells, target) in [(&made, Target::Gateway), (&control, Target::Control)] {
        let (spoken, saw) = drive(&world, cells, target);
        assert_eq!(spoken, version, "{} {target:?}", client.title());
        for saw in saw {
            seen.insert(saw["id"].as_str().unwrap().to_owned(), saw);
        }
    }
    let all: Vec<Cell> = planned.into_iter().chain(control).collect();
    let verdicts: Vec<table::Verdict> = all
        .iter()
        .map(|cell| match client.lacks(version, cell.scenario) {
            Some(reason) => table::Verdict::Lacking(reason),
            None => match seen.remove(&cell.id()) {
                Some(saw) => judge::judge(cell, &saw).into(),
                None => table::Verdict::Failed("it did not run".to_owned()),
            },
        })
        .collect();
    let title = format!("{} {version}", client.title());
    println!("{}", table::render(&title, &all, &verdicts));
    let failed = table::failures(&all, &verdicts);
    assert!(failed.is_empty(), "{title}\n{}", failed.join("\n"));
    world.was_told_to_stop(&made);
}
