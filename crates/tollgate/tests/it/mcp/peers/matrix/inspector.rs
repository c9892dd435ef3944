//! The Inspector's command line: one process for each cell, and one gateway over HTTP for all.

use std::{
    collections::BTreeSet, os::unix::process::CommandExt, process::Child, thread, time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};

use serde_json::{Value, json};

use super::{
    Target,
    cells::{Cell, Scenario},
    world::{OFFERS, World},
};
use crate::{mcp::peers::Served, support::Ran};

/// How many processes run beside one another.
const BESIDE: usize = 2;

struct Inspector<'w> {
    world: &'w World,
    era: &'w str,
    /// What leads to the server.
    server: Vec<String>,
}

/// Makes the cells of a plan, those that are cancelled after all others. Gives the version it was
/// told to speak as well: the command line takes no other one.
pub(super) fn drive(
    world: &World,
    plan: &[Cell],
    target: Target,
    (era, version): (&str, &str),
) -> (String, Vec<Value>) {
    let saw = match target {
        Target::Gateway => drive_gateway(world, plan, era),
        Target::Control => {
            let server = target.command();
            let inspector = Inspector { world, era, server };
            plan.iter().map(|cell| inspector.make(cell)).collect()
        }
    };
    (version.to_owned(), saw)
}

fn drive_gateway(world: &World, plan: &[Cell], era: &str) -> Vec<Value> {
    let mut tools: BTreeSet<&str> = plan.iter().map(|cell| cell.tool.as_str()).collect();
    tools.insert("tools.call");
    let tools: Vec<&str> = tools.into_iter().collect();
    let tools = tools.join(",");
    // The command line shows the first page of a list only.
    let offers = [&OFFERS[..], &["--allow-tools", &tools]].concat();
    let served = Served::start_with(&world.env, &offers);
    let inspector = Inspector {
        world,
        era,
        server: vec![served.url.clone()],
    };
    inspector.until_listed(plan);
    let is_cancelled = |cell: &&Cell| cell.scenario == Scenario::Cancel;
    let made: Vec<&Cell> = plan.iter().filter(|cell| !is_cancelled(cell)).collect();
    let share = made.len().div_ceil(BESIDE);
    let mut saw: Vec<Value> = thread::scope(|scope| {
        let inspector = &inspector;
        let workers: Vec<_> = made
            .chunks(share)
            .map(|cells| {
                scope.spawn(move || {
                    let saw = cells.iter().map(|cell| inspector.make(cell));
                    saw.collect::<Vec<Value>>()
                })
            })
            .collect();
        let saw = workers.into_iter().flat_map(|it| it.join().unwrap());
        saw.collect()
    });
    for cell in plan.iter().filter(is_cancelled) {
        saw.push(inspector.leave(cell, plan));
    }
    saw
}

impl Inspector<'_> {
    fn start(&self, words: &[&str]) -> Child {
        let peers = &self.world.peers;
        let script = peers
            .path("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
        let mut all = vec![script.as_str(), "--cli", "--protocol-era", self.era];
        // Each command is a session of its own, unless they name one.
        all.extend(["--metadata", "tollgate/session=matrix"]);
        all.extend(["--format", "json", "-q", "--method"]);
        all.extend(words);
        all.push("--");
        all.extend(self.server.iter().map(String::as_str));
        let node = peers.path("node_modules/node/bin/node");
        let mut command = self.world.env.other(&node, &all);
        command.process_group(0).spawn().unwrap()
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::from(self.start(words).wait_with_output().unwrap())
    }

    /// Servers behind the gateway start on their own, and their tools are listed once they run.
    fn until_listed(&self, plan: &[Cell]) {
        let wanted: BTreeSet<&str> = plan.iter().map(|cell| cell.tool.as_str()).collect();
        loop {
            let listed = self.run(&["tools/list"]).exits(0).json();
            let tools = listed["result"]["tools"].as_array().unwrap();
            let names: BTreeSet<&str> = tools
                .iter()
                .filter_map(|tool| tool["name"].as_str())
                .collect();
            if wanted.is_subset(&names) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn call(cell: &Cell) -> [String; 5] {
        let (name, arguments) = cell.sent();
        [
            "tools/call",
            "--tool-name",
            name,
            "--tool-args-json",
            &arguments.to_string(),
        ]
        .map(str::to_owned)
    }

    /// What the command line prints for a cell, as the scripts of the other clients print it.
    fn make(&self, cell: &Cell) -> Value {
        let words = Self::call(cell);
        let ran = self.run(&words.each_ref().map(String::as_str));
        if ran.out.is_empty() {
            return json!({"id": cell.id(), "thrown": ran.err});
        }
        let result = ran.json()["result"].take();
        let mut saw = json!({"id": cell.id(), "asked": [], "progress": []});
        if cell.scenario == Scenario::Large {
            let content = result["content"].as_array().into_iter().flatten();
            let links = content.filter(|block| block["type"] == "resource_link");
            let read = links.map(|link| {
                let uri = link["uri"].as_str().unwrap();
                let read = self.run(&["resources/read", "--uri", uri]).exits(0).json();
                read["result"]["contents"][0]["text"].clone()
            });
            saw["read"] = read.collect();
        }
        saw["result"] = result;
        saw
    }

    /// The command line has no other way to cancel than to end it, with the process it started.
    fn leave(&self, cell: &Cell, plan: &[Cell]) -> Value {
        let before = self.world.long_calls(plan).len();
        let words = Self::call(cell);
        let mut child = self.start(&words.each_ref().map(String::as_str));
        while self.world.long_calls(plan).len() == before {
            thread::sleep(Duration::from_millis(20));
        }
        kill_process_group(Pid::from_child(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        // The gateway has to live until it has noticed that the client is gone.
        self.world.until_stopped(plan);
        json!({"id": cell.id(), "cancelled": true})
    }
}
