//! Tollgate in front of other people's servers, well behaved and not.

mod address;
mod calls;
mod configuration;
mod eras;
mod faults;
mod import;
mod limits;
mod lists;
mod mistakes;
mod names;
mod oauth;
mod offers;
mod older;
mod operator;
mod others;
mod outcomes;
mod permits;
mod pinned;
mod probe;
mod questions;
mod reasons;
mod restless;
mod stuck;
mod through;
mod trust;
mod unneeded;
pub(crate) mod web;

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::TestEnv;

/// The section of one server of ours; `more` is TOML for the rest of it.
pub(crate) fn section(name: &str, words: &str, more: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/upstream_server.py");
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let quick = ["-I", "-S"].map(str::to_owned);
    let mut args = Vec::from(quick);
    args.push(file.display().to_string());
    args.extend(words);
    format!("[[mcp.servers]]\nname = \"{name}\"\ncommand = \"python3\"\nargs = {args:?}\n{more}\n")
}

/// A user with one server whose word about its tools counts.
pub(crate) fn with(words: &str, more: &str) -> TestEnv {
    let more = format!("trust_annotations = true\n{more}");
    TestEnv::with_config(&section("s", words, &more))
}

/// A user with one server that starts a single time and is worn out after that.
pub(crate) fn with_one_start() -> TestEnv {
    with_script("mkdir \"$0.ran\" || { echo worn out >&2; exit 7; }\nexec python3 \"$@\"")
}

/// A user with one server that a script starts, which is given its command line.
pub(crate) fn with_script(script: &str) -> TestEnv {
    let env = with("legacy", "");
    let script = env.write("start.sh", format!("#!/bin/sh\n{script}\n"));
    let file = section("s", "legacy", "trust_annotations = true");
    env.configure(&file.replace(
        "command = \"python3\"\nargs = [",
        &format!("command = \"/bin/sh\"\nargs = [{script:?}, "),
    ));
    env
}

/// A running `tollgate mcp`, spoken to in the era of handshakes; killed at the end.
pub(crate) struct Session {
    pub(crate) child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
    /// What came that was no answer.
    pub(crate) said: Vec<Value>,
}

impl Session {
    pub(crate) fn start(env: &TestEnv) -> Self {
        Self::begin_with(env, &["mcp", "--toolsets", "all"])
    }

    pub(crate) fn begin_with(env: &TestEnv, arguments: &[&str]) -> Self {
        Self::begin_as(env, arguments, "test")
    }

    /// The same of a client with this name.
    pub(crate) fn begin_as(env: &TestEnv, arguments: &[&str], client: &str) -> Self {
        let mut child = env.start(arguments);
        let mut session = Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 0,
            said: Vec::new(),
        };
        session.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
                   "clientInfo": {"name": client, "version": "1"}}),
        );
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    /// The same, once the tool is listed.
    pub(crate) fn with_tool(env: &TestEnv, tool: &str) -> Self {
        let mut session = Self::start(env);
        session.until_listed(tool);
        session
    }

    /// Waits until a tool is listed.
    pub(crate) fn until_listed(&mut self, tool: &str) {
        while self.tool(tool).is_none() {
            self.until("notifications/tools/list_changed");
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.raw(&message.to_string());
    }

    /// Sends a message as it is spelled.
    pub(crate) fn raw(&mut self, message: &str) {
        writeln!(self.input, "{message}").unwrap();
        self.input.flush().unwrap();
    }

    pub(crate) fn line(&mut self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// The next message as it is spelled.
    pub(crate) fn text(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the stream ended too early");
        line
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Reads up to the answer of a request; questions are answered with a name.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.line();
            if message["method"] == "elicitation/create" {
                let reply = json!({"action": "accept", "content": {"name": "Ada"}});
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": reply}));
            } else if message["id"] == id {
                return message;
            } else {
                self.said.push(message);
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Waits for a notification.
    pub(crate) fn until(&mut self, method: &str) {
        if let Some(at) = self.said.iter().position(|one| one["method"] == method) {
            self.said.remove(at);
            return;
        }
        while self.line()["method"] != method {}
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}});
        self.ask("tools/call", params)["result"].clone()
    }

    /// How a tool is listed.
    pub(crate) fn tool(&mut self, name: &str) -> Option<Value> {
        let mut cursor = Value::Null;
        loop {
            let params = if cursor.is_null() {
                json!({})
            } else {
                json!({"cursor": cursor})
            };
            let listed = self.ask("tools/list", params)["result"].clone();
            let Some(tools) = listed["tools"].as_array() else {
                // The list has changed between two of its pages.
                assert!(!cursor.is_null(), "no list: {listed}");
                cursor = Value::Null;
                continue;
            };
            let found = tools
                .iter()
                .find(|tool| tool["_meta"]["tollgate/name"] == name);
            if let Some(found) = found {
                return Some(found.clone());
            }
            if listed["nextCursor"].is_null() {
                return None;
            }
            cursor = listed["nextCursor"].clone();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Parameters of a request as a modern client sends them, which a connection of either era
/// takes; what they say of themselves stays.
pub(crate) fn modern(mut params: Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    for (name, value) in params["_meta"].as_object().into_iter().flatten() {
        meta[name] = value.clone();
    }
    params["_meta"] = meta;
    params
}

/// What is written down of the server `s`.
pub(crate) fn logs(env: &TestEnv) -> String {
    env.run(&["mcp", "logs", "s"]).exits(0).out
}

/// Waits until that says something.
pub(crate) fn until_logged(env: &TestEnv, wanted: &str) {
    while !logs(env).contains(wanted) {
        thread::sleep(Duration::from_millis(50));
    }
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result:#}")).to_owned()
}
