//! The public conformance suite through the gate: in front of servers that are mounted with
//! their own names, over both transports and in both eras of them.
//!
//! One of the servers is ours, the other is the one with which the official Python library is
//! tested. What passes here was passed on: the gate in front has none of the fixtures itself.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use super::{others::Running, web::nobody};
use crate::{
    mcp::peers::{Peers, Served, conformance::passes_at},
    support::TestEnv,
};

const BEHIND: [&str; 3] = ["--conformance-fixtures", "--toolsets", "conformance"];

/// The rest of the section of a server that is passed on as it is.
fn open(era: &str) -> String {
    format!(
        "era = \"{era}\"\nunprefixed = true\ndefault_capability = \"L0\"\ntrust_annotations = true\n"
    )
}

/// Asks for a list by hand until it holds something.
fn until_listed(url: &str, method: &str, wanted: &str) {
    let address = url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: {method}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    loop {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        if answer.contains(wanted) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Tasks of other servers are not passed on: a call through us is waited for, or a task of ours.
const TASKS: &str = "tasks-";

/// What an older server cannot have: it asks one thing at a time, and its questions have no
/// names, so nobody can answer one before it was asked.
const BEYOND_OLDER_SERVERS: [&str; 4] = [
    TASKS,
    "sep-2322-elicitation-incomplete",
    "sep-2322-ignore-unexpected-params",
    "sep-2322-multiple-inputs-incomplete",
];

/// What the official server announces although nothing has come of it: it adds a tool, or a
/// prompt, and takes it away again. A list that is what it was is not announced to clients.
const NOTHING_CHANGED: [&str; 3] = [
    TASKS,
    "sep-2575-server-sends-tools-list-changed-on-subscription",
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
];

fn passes(env: &TestEnv, era: &str, revision: &str, scenarios: usize) {
    let beyond: &[&str] = if era == "legacy" && revision == "2026-07-28" {
        &BEYOND_OLDER_SERVERS
    } else {
        &[TASKS]
    };
    passes_beside(env, beyond, revision, scenarios);
}

/// Runs the suite, apart from checks that cannot be passed.
fn passes_beside(env: &TestEnv, beyond: &[&str], revision: &str, scenarios: usize) {
    let gate = Served::start_with(env, &["--toolsets", "mcp"]);
    until_listed(&gate.url, "tools/list", "\"test_simple_text\"");
    until_listed(&gate.url, "resources/list", "test://static-text");
    passes_at(env, &gate.url, revision, scenarios, beyond);
}

fn over_http(era: &str, revision: &str, scenarios: usize) {
    let behind = TestEnv::new();
    let served = Served::start_with(&behind, &BEHIND);
    let config = format!(
        "[[mcp.servers]]\nname = \"behind\"\nurl = \"{}\"\n{}",
        served.url,
        open(era)
    );
    passes(&TestEnv::with_config(&config), era, revision, scenarios);
}

fn over_stdio(era: &str, revision: &str, scenarios: usize) {
    let env = TestEnv::new();
    let state = env.path("behind");
    let own = env.write("behind.toml", format!("[state]\ndir = {state:?}\n"));
    let mut args = vec!["mcp", "--config", &own];
    args.extend(BEHIND);
    let program = env!("CARGO_BIN_EXE_tollgate");
    env.configure(&format!(
        "[[mcp.servers]]\nname = \"behind\"\ncommand = \"{program}\"\nargs = {args:?}\n{}",
        open(era)
    ));
    passes(&env, era, revision, scenarios);
}

/// Where the server of the official Python library is.
const OFFICIAL: &str = "source/mcp/examples/servers/everything-server";

fn over_http_to_the_official_one(era: &str, revision: &str, scenarios: usize) {
    let (behind, peers, port) = (TestEnv::new(), Peers::installed(), nobody());
    let python = peers.path("python/bin/python");
    let number = port.to_string();
    let words = ["-m", "mcp_everything_server", "--port", &number];
    let mut command = behind.other(&python, &words);
    command.current_dir(peers.path(OFFICIAL));
    let _running = Running::at(command, port);
    let config = format!(
        "[[mcp.servers]]\nname = \"behind\"\nurl = \"http://127.0.0.1:{port}/mcp\"\n{}",
        open(era)
    );
    let env = TestEnv::with_config(&config);
    passes_beside(&env, &NOTHING_CHANGED, revision, scenarios);
}

fn over_stdio_to_the_official_one(era: &str, revision: &str, scenarios: usize) {
    let peers = Peers::installed();
    let (python, folder) = (peers.path("python/bin/python"), peers.path(OFFICIAL));
    let args = [
        "-c",
        "from mcp_everything_server.server import mcp; mcp.run()",
    ];
    let config = format!(
        "[[mcp.servers]]\nname = \"behind\"\ncommand = {python:?}\nargs = {args:?}\n\
         cwd = {folder:?}\n{}",
        open(era)
    );
    let env = TestEnv::with_config(&config);
    passes_beside(&env, &NOTHING_CHANGED, revision, scenarios);
}

// Its tools of either era work in that era only.

#[test]
fn every_check_of_2026_07_28_passes_through_the_official_server_over_http() {
    over_http_to_the_official_one("modern", "2026-07-28", 40);
}

#[test]
fn every_check_of_2025_11_25_passes_through_the_official_server_over_http() {
    over_http_to_the_official_one("legacy", "2025-11-25", 33);
}

#[test]
fn every_check_of_2026_07_28_passes_through_the_official_server_over_stdio() {
    over_stdio_to_the_official_one("modern", "2026-07-28", 40);
}

#[test]
fn every_check_of_2025_11_25_passes_through_the_official_server_over_stdio() {
    over_stdio_to_the_official_one("legacy", "2025-11-25", 33);
}

#[test]
fn every_check_of_2026_07_28_passes_through_a_modern_server_over_http() {
    over_http("modern", "2026-07-28", 40);
}

#[test]
fn every_check_of_2025_11_25_passes_through_a_modern_server_over_http() {
    over_http("modern", "2025-11-25", 33);
}

#[test]
fn every_check_of_2026_07_28_passes_through_a_legacy_server_over_http() {
    over_http("legacy", "2026-07-28", 40);
}

#[test]
fn every_check_of_2025_11_25_passes_through_a_legacy_server_over_http() {
    over_http("legacy", "2025-11-25", 33);
}

#[test]
fn every_check_of_2026_07_28_passes_through_a_modern_server_over_stdio() {
    over_stdio("modern", "2026-07-28", 40);
}

#[test]
fn every_check_of_2025_11_25_passes_through_a_modern_server_over_stdio() {
    over_stdio("modern", "2025-11-25", 33);
}

#[test]
fn every_check_of_2026_07_28_passes_through_a_legacy_server_over_stdio() {
    over_stdio("legacy", "2026-07-28", 40);
}

#[test]
fn every_check_of_2025_11_25_passes_through_a_legacy_server_over_stdio() {
    over_stdio("legacy", "2025-11-25", 33);
}
