//! A user with seven published servers behind the gateway, all on this machine.

use std::{collections::BTreeSet, fs, thread, time::Duration};

use serde_json::{Value, json};
use tollgate::config::Environment;

use super::{
    super::Peers,
    cells::{Cell, Scenario},
};
use crate::{
    support::{TestEnv, site},
    upstream::web::nobody,
};

/// What the gateway lists: its own tools and those of the servers.
pub(super) const OFFERS: [&str; 2] = ["--toolsets", "gate,mcp"];

/// Copies what a server reads into a file.
const COPIED: &str = r#"tee -a "$0" | "$@""#;

/// Two more processes of the server `everything`, each for one call only. A question for roots of
/// a process that has nothing else to do can belong to no other call.
pub(super) const ROOTS: [&str; 2] = ["roots_listed", "roots_through"];

/// Asks for a human at one address, because the server has one tool only.
const PRIVATE: &str = r#"
@id("private-pages")
forbid (principal, action == Action::"call", resource == Tool::"mcp.fetch.fetch")
when { context.arguments.url like "*/private" }
unless { context.consent >= 2 };
"#;

pub(super) struct World {
    pub(super) env: TestEnv,
    pub(super) peers: Peers,
    /// A folder with a file, and a repository.
    pub(super) folder: String,
    /// The host of a site.
    pub(super) site: String,
    /// A host where nobody listens.
    pub(super) nobody: String,
}

impl World {
    pub(super) fn start() -> Self {
        let (env, peers) = (TestEnv::new(), Peers::installed());
        env.write("project/note.txt", "what is in the note");
        env.write(
            "project/memory.jsonl",
            r#"{"type":"entity","name":"Ada","entityType":"person","observations":["counts"]}"#,
        );
        env.write("config/tollgate/policies/private.cedar", PRIVATE);
        let folder = env.path("project").canonicalize().unwrap();
        let folder = folder.to_str().unwrap().to_owned();
        let made = env.other("git", &["init", "--quiet", &folder]).output();
        assert!(made.unwrap().status.success());
        let page = "<html><body><p>The page says hello.</p></body></html>";
        let world = Self {
            env,
            peers,
            folder,
            site: site("text/html", page.to_owned()),
            nobody: format!("127.0.0.1:{}", nobody()),
        };
        world.env.configure(&world.config());
        world
    }

    fn config(&self) -> String {
        let node = self.peers.path("node_modules/node/bin/node");
        let package = |name: &str| {
            let package = format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js");
            self.peers.path(&package)
        };
        let python = |name: &str| self.peers.path(&format!("python/bin/{name}"));
        let everything = package("everything");
        let playwright = self.peers.path("node_modules/@playwright/mcp/cli.js");
        let chromium = chromium();
        let browser = [
            &playwright,
            "--headless",
            "--isolated",
            "--no-sandbox",
            "--executable-path",
            &chromium,
        ];
        let sections = [
            section(
                "everything",
                "/bin/sh",
                &["-c", COPIED, &self.copy(), &node, &everything, "stdio"],
                "",
                &[
                    ("get-env", "L2"),
                    ("trigger-sampling-request", "L0"),
                    ("trigger-elicitation-request", "L0"),
                ],
            ),
            section(
                "filesystem",
                &node,
                &[&package("filesystem"), &self.folder],
                "",
                &[],
            ),
            section(
                "memory",
                &node,
                &[&package("memory")],
                &format!(
                    "plain_env = {{ MEMORY_FILE_PATH = \"{}/memory.jsonl\" }}",
                    self.folder
                ),
                &[("add_observations", "L0")],
            ),
            section(
                "time",
                &python("mcp-server-time"),
                &[],
                "",
                &[("get_current_time", "L2")],
            ),
            section(
                "git",
                &python("mcp-server-git"),
                &["--repository", &self.folder],
                "",
                &[],
            ),
            section(
                "fetch",
                &python("mcp-server-fetch"),
                &["--allow-private-ips"],
                "",
                &[],
            ),
            section(
                "playwright",
                &node,
                &browser,
                "",
                &[("browser_navigate", "L0"), ("browser_click", "L0")],
            ),
        ];
        let more = ROOTS.map(|name| section(name, &node, &[&everything, "stdio"], "", &[]));
        sections.concat() + &more.concat()
    }

    /// Where what the server `everything` reads is copied to.
    pub(super) fn copy(&self) -> String {
        self.env.path("wire").to_str().unwrap().to_owned()
    }

    /// The messages that it has read so far.
    fn copied(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.copy()).unwrap_or_default();
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let lines = complete.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The ids of the calls that are to be cancelled, as far as the server has read them.
    pub(super) fn long_calls(&self, plan: &[Cell]) -> BTreeSet<u64> {
        let mut cells = plan.iter();
        let Some(cancelled) = cells.find(|cell| cell.scenario == Scenario::Cancel) else {
            return BTreeSet::new();
        };
        let arguments = &cancelled.arguments;
        let read = self.copied();
        let calls = read
            .iter()
            .filter(|message| message["params"]["arguments"] == *arguments);
        calls.filter_map(|call| call["id"].as_u64()).collect()
    }

    /// The ids of the requests that the server has been told to stop, as often as it was told.
    fn stopped(&self) -> Vec<u64> {
        let read = self.copied();
        let cancelled = read
            .iter()
            .filter(|message| message["method"] == "notifications/cancelled");
        cancelled
            .filter_map(|message| message["params"]["requestId"].as_u64())
            .collect()
    }

    /// Waits until the server was told to stop each long call that it was sent.
    pub(super) fn until_stopped(&self, plan: &[Cell]) {
        let calls = self.long_calls(plan);
        loop {
            let stopped = self.stopped();
            if calls.iter().all(|call| stopped.contains(call)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the server was told to stop each long call: once, and no other request.
    pub(super) fn was_told_to_stop(&self, plan: &[Cell]) {
        let cells = plan.iter().filter(|cell| cell.scenario == Scenario::Cancel);
        let calls = self.long_calls(plan);
        assert_eq!(calls.len(), cells.count(), "{calls:?}");
        self.until_stopped(plan);
        let mut stopped = self.stopped();
        stopped.sort_unstable();
        let calls: Vec<u64> = calls.into_iter().collect();
        assert_eq!(stopped, calls, "the requests that were cancelled");
    }
}

/// The browser that the tests of browsing use too.
fn chromium() -> String {
    let environment = Environment::from_process().unwrap();
    let named = environment.text("CHROME_PATH").map(str::to_owned);
    let folders = environment.text("PATH").unwrap_or_default();
    let mut places = folders.split(':').flat_map(|folder| {
        ["chromium", "chromium-browser", "google-chrome"].map(|name| format!("{folder}/{name}"))
    });
    named
        .or_else(|| places.find(|place| fs::exists(place).unwrap_or(false)))
        .expect("Chromium is not installed")
}

/// A server that is believed what it says about its tools, apart from those that are graded.
fn section(
    name: &str,
    command: &str,
    args: &[&str],
    more: &str,
    grades: &[(&str, &str)],
) -> String {
    let mut text = format!(
        "[[mcp.servers]]\nname = \"{name}\"\ncommand = {command:?}\nargs = {}\n\
         trust_annotations = true\n{more}\n",
        json!(args)
    );
    for (tool, capability) in grades {
        text.push_str(&format!(
            "[mcp.servers.tools.{tool}]\ncapability = \"{capability}\"\n"
        ));
    }
    text
}
