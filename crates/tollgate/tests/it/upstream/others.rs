//! Servers that nobody here wrote, behind the gate.

use std::{
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{Session, text, web::nobody};
use crate::{mcp::peers::Peers, support::TestEnv};

const NODE: &str = "node_modules/node/bin/node";

/// The section of a server; `more` is TOML for the rest of it.
fn program(name: &str, command: &str, args: &[&str], more: &str) -> String {
    format!("[[mcp.servers]]\nname = \"{name}\"\ncommand = {command:?}\nargs = {args:?}\n{more}\n")
}

fn script(name: &str) -> String {
    format!("{}/tests/peers/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn package(peers: &Peers, name: &str) -> String {
    peers.path(&format!(
        "node_modules/@modelcontextprotocol/server-{name}/dist/index.js"
    ))
}

/// A server that runs on its own; killed at the end.
pub(super) struct Running(Child);

impl Running {
    /// Starts it and waits until somebody listens at its port.
    pub(super) fn at(mut command: Command, port: u16) -> Self {
        let running = Self(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            thread::sleep(Duration::from_millis(20));
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn told(session: &Session, method: &str) -> Vec<Value> {
    let said = session.said.iter();
    said.filter(|one| one["method"] == method)
        .cloned()
        .collect()
}

fn everything(session: &mut Session) {
    let echo = session.call("mcp.all.echo", json!({"message": "hello"}));
    assert_eq!(text(&echo), "Echo: hello");
    let sum = session.call("mcp.all.get-sum", json!({"a": 2, "b": 3}));
    assert!(text(&sum).contains('5'), "{sum:#}");
    let rich = session.call(
        "mcp.all.get-structured-content",
        json!({"location": "Chicago"}),
    );
    assert!(
        rich["structuredContent"]["temperature"].is_number(),
        "{rich:#}"
    );
    let image = session.call("mcp.all.get-tiny-image", json!({}));
    assert!(image.to_string().contains("image/png"), "{image:#}");
    session.said.clear();
    let arguments = json!({"duration": 1, "steps": 4});
    let long = session.call("mcp.all.trigger-long-running-operation", arguments);
    assert!(text(&long).contains("completed"), "{long:#}");
    assert_eq!(told(session, "notifications/progress").len(), 4);
    let listed = session.ask("resources/list", json!({}));
    let resources = listed["result"]["resources"].as_array().unwrap();
    let own = |one: &&Value| one["uri"].as_str().unwrap().starts_with("mcp://all/");
    let uri = resources.iter().find(own).unwrap()["uri"].clone();
    let read = session.ask("resources/read", json!({"uri": uri}));
    assert_eq!(read["result"]["contents"][0]["uri"], uri, "{read:#}");
    let prompts = session.ask("prompts/list", json!({}));
    assert!(
        prompts.to_string().contains("mcp.all.simple-prompt"),
        "{prompts:#}"
    );
    let prompt = session.ask("prompts/get", json!({"name": "mcp.all.simple-prompt"}));
    assert!(
        prompt["result"]["messages"][0]["content"]["text"].is_string(),
        "{prompt:#}"
    );
}

/// All that is called of it needs no human.
const OPEN: &str = "default_capability = \"L0\"\n\
                    [mcp.servers.tools.trigger-elicitation-request]\ncapability = \"L0\"\n\
                    [mcp.servers.tools.simulate-research-query]\ncapability = \"L0\"";

#[test]
fn everything_works_over_stdio() {
    let peers = Peers::installed();
    let args = [package(&peers, "everything"), "stdio".to_owned()];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let env = TestEnv::with_config(&program("all", &peers.path(NODE), &args, OPEN));
    let mut session = Session::with_tool(&env, "mcp.all.echo");
    everything(&mut session);
    questions_and_tasks(&mut session);
}

fn questions_and_tasks(session: &mut Session) {
    // A question in the middle of a call, of a server that keeps the request open.
    let asked = session.call("mcp.all.trigger-elicitation-request", json!({}));
    assert!(asked.to_string().contains("Ada"), "{asked:#}");
    // A tool that has to be called as a task.
    let tool = session.tool("mcp.all.simulate-research-query").unwrap();
    assert_eq!(tool["execution"]["taskSupport"], "required");
    let done = session.call("mcp.all.simulate-research-query", json!({"topic": "tides"}));
    assert!(text(&done).contains("tides"), "{done:#}");
}

#[test]
fn everything_works_over_http() {
    let (peers, port) = (Peers::installed(), nobody());
    let config =
        format!("[[mcp.servers]]\nname = \"all\"\nurl = \"http://127.0.0.1:{port}/mcp\"\n{OPEN}\n");
    let env = TestEnv::with_config(&config);
    let start = || {
        let server = package(&peers, "everything");
        let mut command = env.other(&peers.path(NODE), &[&server, "streamableHttp"]);
        command.env("PORT", port.to_string());
        Running::at(command, port)
    };
    let running = start();
    let mut session = Session::with_tool(&env, "mcp.all.echo");
    everything(&mut session);
    questions_and_tasks(&mut session);
    // Another one at its place knows nothing of our session.
    drop(running);
    let _running = start();
    loop {
        let echo = session.call("mcp.all.echo", json!({"message": "again"}));
        if echo["isError"] != true {
            assert_eq!(text(&echo), "Echo: again");
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn files_are_read_at_once_and_written_with_a_human() {
    let peers = Peers::installed();
    let env = TestEnv::new();
    env.write("project/notes/a.txt", "what is in it");
    let folder = env.path("project/notes").canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    let args = [package(&peers, "filesystem"), folder.to_owned()];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    env.configure(&program(
        "files",
        &peers.path(NODE),
        &args,
        "trust_annotations = true",
    ));
    let path = format!("{folder}/a.txt");
    let read = env.ok(
        "mcp.files.read_text_file",
        &json!({"path": path}).to_string(),
    );
    assert_eq!(read["data"]["content"][0]["text"], "what is in it");
    let write = json!({"path": format!("{folder}/b.txt"), "content": "x"}).to_string();
    let asked = env
        .call("mcp.files.write_file", &write, &[])
        .exits(3)
        .json();
    assert_eq!(asked["error"]["kind"], "confirmation_required");
    assert!(!env.path("project/notes/b.txt").exists());
    let outside = json!({"path": "/etc/hostname"}).to_string();
    let refused = env
        .call("mcp.files.read_text_file", &outside, &[])
        .exits(1)
        .json();
    assert_eq!(refused["ok"], false, "{refused:#}");
}

#[test]
fn a_memory_remembers() {
    let peers = Peers::installed();
    let env = TestEnv::new();
    let kept = env.path("project/memory.jsonl");
    let more =
        format!("default_capability = \"L0\"\nplain_env = {{ MEMORY_FILE_PATH = {kept:?} }}");
    let server = package(&peers, "memory");
    env.configure(&program("memory", &peers.path(NODE), &[&server], &more));
    let entity =
        json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]});
    // It says itself that this writes, so one word for the whole server is not enough.
    let asked = env
        .call("mcp.memory.create_entities", &entity.to_string(), &[])
        .exits(3)
        .json();
    assert_eq!(asked["error"]["kind"], "confirmation_required");
    let more = format!("{more}\n[mcp.servers.tools.create_entities]\ncapability = \"L0\"");
    env.configure(&program("memory", &peers.path(NODE), &[&server], &more));
    env.ok("mcp.memory.create_entities", &entity.to_string());
    let graph = env.ok("mcp.memory.read_graph", "{}");
    assert!(graph["data"].to_string().contains("counts"), "{graph:#}");
}

#[test]
fn the_time_is_told_by_a_modern_server() {
    let peers = Peers::installed();
    let command = peers.path("python/bin/mcp-server-time");
    let env = TestEnv::with_config(&program(
        "time",
        &command,
        &[],
        "default_capability = \"L0\"\nera = \"modern\"",
    ));
    let now = env.ok("mcp.time.get_current_time", r#"{"timezone":"UTC"}"#);
    assert!(now["data"].to_string().contains("UTC"), "{now:#}");
    let wrong = env.call(
        "mcp.time.get_current_time",
        r#"{"timezone":"Nowhere/At_All"}"#,
        &[],
    );
    assert_eq!(wrong.exits(1).json()["ok"], false);
}

#[test]
fn a_repository_is_looked_at_by_a_modern_server() {
    let peers = Peers::installed();
    let env = TestEnv::new();
    let folder = env.path("project");
    let folder = folder.to_str().unwrap();
    env.write("project/a.txt", "new");
    let made = env
        .other("git", &["init", "--quiet", folder])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let command = peers.path("python/bin/mcp-server-git");
    let more = "trust_annotations = true\nera = \"modern\"";
    env.configure(&program("git", &command, &["--repository", folder], more));
    let arguments = json!({"repo_path": folder}).to_string();
    let status = env.ok("mcp.git.git_status", &arguments);
    assert!(status["data"].to_string().contains("a.txt"), "{status:#}");
    let commit = json!({"repo_path": folder, "message": "m"}).to_string();
    env.call("mcp.git.git_commit", &commit, &[]).exits(3);
}

/// The official library behind the gate, whichever era it is spoken to in.
fn library(session: &mut Session) {
    let sum = session.call("mcp.lib.add", json!({"a": 2, "b": 40}));
    assert_eq!(text(&sum), "42");
    assert_eq!(sum["structuredContent"]["result"], 42);
    session.said.clear();
    assert_eq!(
        text(&session.call("mcp.lib.count", json!({"steps": 3}))),
        "counted"
    );
    assert_eq!(told(session, "notifications/progress").len(), 3);
    for (uri, said) in [
        ("mcp://lib/library://desk", "on the desk"),
        ("mcp://lib/library://shelf/b", "on the shelf: b"),
    ] {
        let read = session.ask("resources/read", json!({"uri": uri}));
        assert_eq!(read["result"]["contents"][0]["text"], said, "{read:#}");
    }
    let params = json!({"name": "mcp.lib.borrow", "arguments": {"title": "it"}});
    let prompt = session.ask("prompts/get", params);
    let message = &prompt["result"]["messages"][0]["content"]["text"];
    assert_eq!(message, "May I borrow it?", "{prompt:#}");
    let wrong = session.call("mcp.lib.add", json!({"a": "x", "b": 1}));
    assert_eq!(wrong["isError"], true);
}

#[test]
fn the_python_library_works_over_stdio_in_both_eras() {
    let peers = Peers::installed();
    for era in ["modern", "legacy"] {
        let more = format!("trust_annotations = true\nera = \"{era}\"");
        let command = peers.path("python/bin/python");
        let env = TestEnv::with_config(&program(
            "lib",
            &command,
            &[&script("server.py"), "stdio"],
            &more,
        ));
        library(&mut Session::with_tool(&env, "mcp.lib.add"));
    }
}

#[test]
fn the_python_library_works_over_http_in_both_eras() {
    let peers = Peers::installed();
    for era in ["modern", "legacy"] {
        let port = nobody();
        let config = format!(
            "[[mcp.servers]]\nname = \"lib\"\nurl = \"http://127.0.0.1:{port}/mcp\"\ntrust_annotations = true\nera = \"{era}\"\n"
        );
        let env = TestEnv::with_config(&config);
        let port_text = port.to_string();
        let server = script("server.py");
        let command = env.other(
            &peers.path("python/bin/python"),
            &[&server, "http", &port_text],
        );
        let _running = Running::at(command, port);
        library(&mut Session::with_tool(&env, "mcp.lib.add"));
    }
}

/// The section of the README, run as it is pasted; `npx` and `uvx` find what is installed.
#[test]
fn the_readme_works_as_it_is_pasted() {
    let readme = include_str!("../../../../../README.md");
    let section = readme
        .split("## Put Tollgate in front of your servers")
        .nth(1)
        .unwrap();
    let config = section
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let peers = Peers::installed();
    let mut env = TestEnv::with_config(config);
    let node = peers.path(NODE);
    let packages = peers.path("node_modules");
    let npx = format!("#!/bin/sh\n[ \"$1\" = -y ] && exec {node} {packages}/$2/dist/index.js\n");
    let uvx = format!("#!/bin/sh\nexec {}/$1\n", peers.path("python/bin"));
    for (name, text) in [("npx", npx), ("uvx", uvx)] {
        let file = env.write(&format!("bin/{name}"), text);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(file, mode).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", env.path("bin").display());
    env.set("PATH", &path);
    let status = env.run(&["mcp", "status", "--json"]).exits(0).json();
    let servers = status["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 2);
    assert!(
        servers.iter().all(|one| one["state"] == "ready"),
        "{status:#}"
    );
    // The commands of the section, as they are written.
    let commands = section
        .split("```sh\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let calls = commands
        .lines()
        .filter(|line| line.starts_with("tollgate call"));
    for (line, code) in calls.zip([0, 3]) {
        let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
        env.call(words[2], words[4].trim_matches('\''), &[])
            .exits(code);
    }
    let mut session = Session::begin_with(&env, &["mcp"]);
    assert!(session.tool("mcp.time.get_current_time").is_some());
}
