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
