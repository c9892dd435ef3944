//! Configurations that say something nobody meant.

use super::{Session, logs, section};
use crate::support::TestEnv;

/// What is said about a configuration with these servers, and which of them there are.
fn told(config: &str) -> (String, Vec<String>) {
    let env = TestEnv::with_config(config);
    let ran = env.run(&["mcp", "list", "--json"]).exits(0);
    let servers = ran.json()["servers"].as_array().unwrap().clone();
    let name = |server: &serde_json::Value| server["name"].as_str().unwrap().to_owned();
    (ran.err, servers.iter().map(name).collect())
}

#[test]
fn a_server_with_keys_of_the_other_kind_is_left_out_with_a_reason() {
    let address = "[[mcp.servers]]\nname = \"far\"\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let good = section("good", "legacy", "");
    for (config, key, kind) in [
        (
            section("near", "legacy", "headers = { A = \"env:A\" }"),
            "headers",
            "url",
        ),
        (format!("{address}args = [\"x\"]\n"), "args", "command"),
        (format!("{address}cwd = \"/\"\n"), "cwd", "command"),
        (
            format!("{address}env = {{ A = \"env:A\" }}\n"),
            "env",
            "command",
        ),
        (
            format!("{address}plain_env = {{ A = \"b\" }}\n"),
            "plain_env",
            "command",
        ),
    ] {
        let (said, there) = told(&format!("{config}{good}"));
        let why = format!("is left out: `{key}` is for servers with a `{kind}`");
        assert!(said.contains(&why), "{key}: {said}");
        assert_eq!(there, ["good"], "{key}");
    }
}

#[test]
fn an_alias_that_is_no_name_or_taken_is_told() {
    let alias =
        |tool: &str, alias: &str| format!("[mcp.servers.tools.{tool}]\nalias = \"{alias}\"\n");
    for (more, why) in [
        (
            alias("echo", "No way!"),
            "the alias `No way!` of its tool `echo` is no name",
        ),
        (
            alias("echo", "my.own") + &alias("pid", "my.own"),
            "two of its tools have the alias `my.own`",
        ),
    ] {
        let (said, there) = told(&section("s", "legacy", &more));
        assert!(said.contains(why), "{said}");
        assert!(there.is_empty(), "{there:?}");
    }
}

#[test]
fn only_one_server_keeps_its_own_names() {
    let own = "unprefixed = true";
    let config = [section("one", "legacy", own), section("two", "legacy", own)];
    let env = TestEnv::with_config(&config.concat());
    let ran = env.run(&["tools", "list", "--json"]).exits(0);
    let why = "`two` carries its prefix: only one may keep its own names, and that is `one`";
    assert!(ran.err.contains(why), "{}", ran.err);
    for name in [r#""name":"echo""#, r#""name":"mcp.two.echo""#] {
        assert!(ran.out.contains(name), "{name}");
    }
    assert!(!ran.out.contains("mcp.one.echo"));
}

#[test]
fn a_word_about_a_tool_that_is_not_there_is_told() {
    let env = super::with("legacy", "[mcp.servers.tools.ecko]\nhidden = true\n");
    drop(Session::with_tool(&env, "mcp.s.echo"));
    let logs = logs(&env);
    assert!(
        logs.contains("mcp.tool.unknown") && logs.contains("`ecko`"),
        "{logs}"
    );
}

#[test]
fn a_server_that_is_known_is_started_to_say_how_it_is() {
    let env = super::with("legacy", "");
    env.run(&["mcp", "status"]).exits(0);
    env.configure(&section("s", "exits", "trust_annotations = true"));
    let status = env.run(&["mcp", "status", "--json"]).exits(1).json();
    assert_eq!(status["servers"][0]["state"], "down", "{status:#}");
    let reason = status["servers"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("no such file: config"), "{reason}");
    let told = env.run(&["doctor"]);
    assert!(told.out.contains("no such file: config"), "{}", told.out);
}

#[test]
fn a_difference_of_nobody_is_a_mistake() {
    let env = TestEnv::with_config(&section("s", "legacy", ""));
    env.run(&["mcp", "diff", "s"]).exits(0);
    let ran = env.run(&["mcp", "diff", "nosuch"]).exits(2);
    assert!(
        ran.err.contains("there is no server `nosuch`"),
        "{}",
        ran.err
    );
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let env = TestEnv::with_config(&section("s", "legacy", "cwd = \"/nowhere/at/all\""));
    let ran = env.run(&["mcp", "status", "--json"]);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(
        said.contains("the folder it starts in is not there"),
        "{said}"
    );
}
