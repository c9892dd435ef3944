//! A server under its own names takes nobody else's.

use serde_json::json;

use super::{
    logs, section,
    web::{Web, modern, tool},
};
use crate::support::TestEnv;

/// A user with a server under its own names, and one with a prefix after it.
fn with_bare(tools: &[&str]) -> (TestEnv, Web) {
    let tools: Vec<_> = tools.iter().map(|name| tool(name)).collect();
    let tools = json!(tools);
    let web = Web::start(move |got| modern(got, &tools));
    let bare = web.section("unprefixed = true");
    let two = section("two", "legacy", "trust_annotations = true");
    let env = TestEnv::with_config(&[bare, two].concat());
    env.run(&["mcp", "status"]).exits(0);
    (env, web)
}

#[test]
fn a_server_without_a_prefix_cannot_take_names_of_one_with_a_prefix() {
    let taken = ["mcp.two.echo", "mcp_two_pid", "own"];
    let (env, web) = with_bare(&taken);
    for name in ["mcp.two.echo", "mcp.two.pid"] {
        assert_eq!(env.ok(name, "{}")["meta"]["provider"], "mcp_two", "{name}");
    }
    assert_eq!(env.ok("own", "{}")["meta"]["provider"], "mcp_s");
    assert_eq!(web.of("tools/call").len(), 1);
    let listed = env.run(&["mcp", "list", "--json"]).exits(0).json();
    let notes = ["names that begin so are of servers with a prefix"];
    let odd = |tool: &str| json!({"tool": tool, "notes": notes});
    assert_eq!(
        listed["servers"][0]["odd_tools"],
        json!([odd("mcp.two.echo"), odd("mcp_two_pid")]),
        "{listed:#}"
    );
    let status = env.run(&["mcp", "status"]).exits(0).out;
    let line = format!("! mcp.two.echo of s: {}", notes[0]);
    assert!(status.contains(&line), "{status}");
    let logs = logs(&env);
    for name in ["mcp.two.echo", "mcp_two_pid"] {
        let told = format!("mcp.tool.refused: `{name}`: {}", notes[0]);
        assert!(logs.contains(&told), "{logs}");
    }
}

#[test]
fn a_server_without_a_prefix_cannot_take_names_of_ours_and_is_told_of() {
    let (env, web) = with_bare(&["sandbox.exec", "text.stats", "own"]);
    let who = |tool: &str, arguments: &str| {
        let answer = env.call(tool, arguments, &["--dry-run"]).json();
        answer["meta"]["provider"].clone()
    };
    let run = r#"{"language":"python","code":"1"}"#;
    assert_eq!(who("sandbox.exec", run), "sandbox");
    assert_eq!(who("text.stats", r#"{"text":"a"}"#), "builtin");
    assert_eq!(who("own", "{}"), "mcp_s");
    assert_eq!(web.of("tools/call").len(), 0);
    let lost = "`sandbox.exec` is served by `sandbox`; that of `mcp_s` is left out";
    let listed = env.run(&["mcp", "list", "--json"]).exits(0).json();
    let told = &listed["servers"][0]["left_out"];
    assert_eq!(told[0], lost, "{listed:#}");
    assert_eq!(listed["servers"][1]["left_out"], json!([]), "{listed:#}");
    let shown = env.run(&["mcp", "list"]).exits(0).out;
    assert!(shown.contains(&format!("! s: {lost}")), "{shown}");
    let status = env.run(&["mcp", "status", "--json"]).exits(0).json();
    assert_eq!(status["warnings"][0], format!("s: {lost}"), "{status:#}");
    // Whoever wants it otherwise says so.
    let file = env.path("config/tollgate/tollgate.toml");
    let file = std::fs::read_to_string(file).unwrap();
    env.configure(&format!("preferred_provider_order = [\"mcp_s\"]\n{file}"));
    assert_eq!(who("sandbox.exec", run), "mcp_s");
}

#[test]
fn another_name_that_is_taken_is_told() {
    let more = "trust_annotations = true\n[mcp.servers.tools.echo]\nalias = \"text.stats\"";
    let env = TestEnv::with_config(&section("s", "legacy", more));
    env.ok("mcp.s.pid", "{}");
    let shown = env.run(&["mcp", "list"]).exits(0).out;
    let told =
        "! s: `text.stats` means `text.stats` already, so it is no other name of `mcp.s.echo`";
    assert!(shown.contains(told), "{shown}");
}
