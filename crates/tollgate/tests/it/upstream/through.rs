//! The public conformance suite through the gate: in front of a server that is mounted with
//! its own names, over both transports and in both eras of it.
//!
//! What passes here was passed on: the gate in front has none of the fixtures itself.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::{
    mcp::peers::{Served, conformance::passes_at},
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

fn passes(env: &TestEnv, era: &str, revision: &str, scenarios: usize) {
    let gate = Served::start_with(env, &["--toolsets", "mcp"]);
    until_listed(&gate.url, "tools/list", "\"test_simple_text\"");
    until_listed(&gate.url, "resources/list", "test://static-text");
    let beyond: &[&str] = if era == "legacy" && revision == "2026-07-28" {
        &BEYOND_OLDER_SERVERS
    } else {
        &[TASKS]
    };
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
