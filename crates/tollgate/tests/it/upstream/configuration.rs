//! Where servers may be named, and what happens to bad names.

use super::section;
use crate::support::TestEnv;

fn program(name: &str) -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream_server.py");
    format!(r#"{{"name":"{name}","cmd":["python3","{file}","legacy"]}}"#)
}

fn listed(env: &TestEnv) -> String {
    env.run(&["tools", "list", "--json"]).exits(0).out
}

#[test]
fn servers_can_come_from_one_variable() {
    let mut env = TestEnv::new();
    let long = "x".repeat(1000);
    let items = format!(
        r#"[{},{},{{"name":"No Way","cmd":["x"]}},{{"name":"empty","cmd":[]}},{{"name":"{long}"}}]"#,
        program("one"),
        program("one"),
    );
    env.set("MCP_SERVERS_JSON", &items);
    env.set("MCP_SERVER_CMD", "ignored");
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(ran.out.contains("mcp.one.echo"));
    assert!(!ran.out.contains("mcp_srv"));
    for said in ["two servers `one`", "No Way", "its command is empty"] {
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
    }
    assert!(!ran.err.contains(&long), "a warning is cut");
}

#[test]
fn a_broken_variable_is_told_and_a_single_server_still_counts() {
    let mut env = TestEnv::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream_server.py");
    env.set("MCP_SERVERS_JSON", "{not json");
    env.set("MCP_SERVER_NAME", "lone");
    env.set("MCP_SERVER_CMD", "python3");
    env.set("MCP_SERVER_ARGS_JSON", &format!(r#"["{file}","legacy"]"#));
    env.set("MCP_SERVER_ARGS", "never used");
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(ran.err.contains("MCP_SERVERS_JSON") && ran.err.contains("{not json"));
    assert!(ran.out.contains("mcp.lone.echo"));
}

#[test]
fn the_file_comes_before_the_variables() {
    let mut env = TestEnv::with_config(&section("filed", "legacy", ""));
    env.set("MCP_SERVERS_JSON", &format!("[{}]", program("varied")));
    let out = listed(&env);
    assert!(out.contains("mcp.filed.echo") && !out.contains("mcp.varied"));
}

#[test]
fn a_project_starts_nothing_until_it_is_trusted() {
    let env = TestEnv::new();
    env.write("project/tollgate.toml", section("theirs", "legacy", ""));
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    assert!(!ran.out.contains("mcp.theirs"));
    assert!(ran.err.contains("mcp.servers"), "{}", ran.err);
    env.run(&["trust", "."]).exits(0);
    assert!(listed(&env).contains("mcp.theirs.echo"));
}

#[test]
fn unknown_keys_of_a_server_are_mistakes() {
    let env = TestEnv::with_config(&section("s", "legacy", "comand = \"x\""));
    let ran = env.run(&["tools", "list"]).exits(2);
    assert!(ran.err.contains("did you mean `command`?"), "{}", ran.err);
}

#[test]
fn a_changed_tool_is_set_aside_until_somebody_accepts_it() {
    let env = super::with("legacy", "");
    let lock = "data/tollgate/tollgate.lock";
    env.ok("mcp.s.echo", "{}");
    let pinned = std::fs::read_to_string(env.path(lock)).unwrap();
    assert!(pinned.contains("Answers with what it was given."));
    env.write(
        lock,
        pinned
            .replace("Answers with what it was given.", "Something else.")
            .replace("sha256", "sha256\": \"0\", \"x"),
    );
    let refused = env.call("mcp.s.echo", "{}", &[]).exits(1).json();
    assert_eq!(refused["error"]["kind"], "inactive_tool");
    let shown = env.run(&["mcp", "diff", "s"]).exits(0).out;
    assert!(
        shown.contains("echo of s") && shown.contains("+ "),
        "{shown}"
    );
    env.run(&["mcp", "accept", "s"]).exits(2);
    let token = env.approver();
    env.run(&["mcp", "accept", "s", "echo", "--token", &token])
        .exits(0);
    env.ok("mcp.s.echo", "{}");
    let listed = env.run(&["mcp", "list", "--json"]).exits(0).json();
    assert_eq!(listed["servers"][0]["name"], "s");
}

#[test]
fn a_tool_nobody_has_seen_waits_with_a_grade_to_agree_to() {
    let env = super::with("legacy", "pin = \"ask\"");
    let refused = env.call("mcp.s.echo", "{}", &[]).json();
    assert!(!refused["ok"].as_bool().unwrap(), "{refused:#}");
    let mut session = super::Session::with_tool(&env, "mcp.s.echo");
    let waits = session.tool("mcp.s.echo").unwrap();
    assert_eq!(waits["description"], "It waits to be accepted.");
    drop(session);
    let shown = env.run(&["mcp", "diff", "s"]).exits(0).out;
    let proposal = "[mcp.servers.tools.echo] capability = \"L0\"";
    assert!(shown.contains(proposal), "{shown}");
    let token = env.approver();
    env.run(&["mcp", "accept", "s", "--token", &token]).exits(0);
    env.configure(&section("s", "legacy", "pin = \"ask\""));
    // Accepted is not trusted: without the operator's word a human still agrees.
    env.call("mcp.s.echo", "{}", &[]).exits(3);
    let agreed = format!("pin = \"ask\"\n{}", proposal.replace("] ", "]\n"));
    env.configure(&section("s", "legacy", &agreed));
    env.ok("mcp.s.echo", "{}");
}

#[test]
fn the_state_of_every_server_is_told() {
    let config = [
        section("well", "legacy", ""),
        section("exits", "exits", ""),
        section("slow", "sleeps", ""),
    ];
    let env = TestEnv::with_config(&config.concat());
    let status = env.run(&["mcp", "status", "--json"]).exits(1).json();
    let servers = status["servers"].as_array().unwrap();
    let state = |name: &str| servers.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(state("well")["state"], "ready");
    assert!(state("well")["tools"].as_u64().unwrap() > 10);
    assert_eq!(state("exits")["state"], "down");
    let reason = state("exits")["reason"].as_str().unwrap();
    assert!(reason.contains("no such file: config"), "{reason}");
    assert_eq!(state("slow")["state"], "starting");
    assert_eq!(state("slow")["reason"], "it is starting");
    // The same for people.
    let shown = env.run(&["mcp", "status"]).exits(1).out;
    for (server, state) in [("well", "ready"), ("exits", "down"), ("slow", "starting")] {
        let line = shown.lines().find(|line| line.starts_with(server)).unwrap();
        assert!(line.contains(state), "{shown}");
    }
}
