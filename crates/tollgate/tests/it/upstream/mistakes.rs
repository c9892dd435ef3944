//! Configurations that say something nobody meant.

use super::{Session, logs, section};
use crate::support::{TestEnv, approval_id};

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

#[test]
fn variables_are_written_as_every_readme_prints_them() {
    let plain = "env = { MODE = \"quiet\", PORT = 8080 }";
    let env = TestEnv::with_config(&section("s", "legacy", plain));
    let token = env.approver();
    let asked = env.call("mcp.s.env", "{}", &[]).exits(3).json();
    env.run(&["approve", &approval_id(&asked), "--token", &token])
        .exits(0);
    let seen = env.ok("mcp.s.env", "{}");
    let seen = seen["data"]["content"][0]["text"].as_str().unwrap();
    for name in ["\"MODE\"", "\"PORT\""] {
        assert!(seen.contains(name), "{seen}");
    }
}

#[test]
fn a_secret_that_is_written_out_is_refused_with_the_line_to_write() {
    let good = section("good", "legacy", "");
    for (name, value) in [
        ("API_KEY", "abc"),
        ("NOTE", "ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
    ] {
        let bad = section(
            "bad",
            "legacy",
            &format!("env = {{ {name} = \"{value}\" }}"),
        );
        let (said, there) = told(&format!("{bad}{good}"));
        let line = format!("env = {{ {name} = \"env:{name}\" }}");
        assert!(said.contains("the server `bad` is left out"), "{said}");
        assert!(said.contains(&line), "{said}");
        assert!(!said.contains(value), "{said}");
        assert_eq!(there, ["good"]);
    }
    let plain = section("s", "legacy", "plain_env = { API_KEY = \"none\" }");
    assert_eq!(told(&plain).1, ["s"], "it is no secret, says the user");
}

#[test]
fn a_bad_entry_is_left_out_and_the_others_are_there() {
    let good = section("good", "legacy", "");
    for (more, why) in [
        ("colour = \"red\"", "colour: unknown key"),
        (
            "timeout_ms = \"soon\"",
            "timeout_ms: expected a whole number",
        ),
        ("era = \"future\"", "era: `future` is not a choice"),
    ] {
        let bad = section("bad", "legacy", more);
        let (said, there) = told(&format!("{bad}{good}"));
        assert!(said.contains("the server `bad` is left out"), "{said}");
        assert!(said.contains(why), "{said}");
        assert_eq!(there, ["good"], "{why}");
    }
}

#[test]
fn a_command_line_in_the_place_of_a_program_says_how_to_write_it() {
    let config =
        "[[mcp.servers]]\nname = \"s\"\ncommand = \"npx -y some-server\"\nargs = [\"/tmp\"]\n";
    let (said, there) = told(config);
    let line = r#"write `command = "npx"` and `args = ["-y","some-server","/tmp"]`"#;
    assert!(said.contains(line), "{said}");
    assert!(there.is_empty());
}

#[test]
fn a_program_that_is_not_there_and_a_package_that_is_not_there_are_told() {
    let config = "[[mcp.servers]]\nname = \"s\"\ncommand = \"no-such-program-anywhere\"\n";
    let env = TestEnv::with_config(config);
    let ran = env.run(&["mcp", "status", "--json"]).exits(1);
    let why = "there is no program `no-such-program-anywhere` in PATH: install it";
    assert!(ran.out.contains(why), "{}", ran.out);
    let env = super::with_script(
        "echo \"npm error code E404\" >&2\n\
         echo \"npm error 404  'mcp-none@*' is not in this registry.\" >&2\n\
         echo \"npm error A complete log of this run can be found in: /x\" >&2\nexit 1",
    );
    let ran = env.run(&["mcp", "status", "--json"]).exits(1);
    let why = "npm has no package `mcp-none@*` (404): correct its name in `args`";
    assert!(ran.out.contains(why), "{}", ran.out);
}

#[test]
fn keys_that_do_nothing_in_the_variable_are_told_and_grades_work() {
    let mut env = TestEnv::new();
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/upstream_server.py");
    let entry = |name: &str, more: serde_json::Value| {
        let mut entry = serde_json::json!({
            "name": name, "cmd": ["python3", "-I", "-S", file.to_str().unwrap(), "legacy"], "type": "stdio",
        });
        entry
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        entry
    };
    let all = serde_json::json!([
        entry(
            "one",
            serde_json::json!({"trust_annotations": true, "timeout": 5})
        ),
        entry(
            "two",
            serde_json::json!({"default_capability": "L0", "colour": "red"})
        ),
        entry("three", serde_json::json!({"disabled": true})),
    ]);
    env.set("MCP_SERVERS_JSON", &all.to_string());
    for tool in ["mcp.one.echo", "mcp.two.echo"] {
        let ran = env.call(tool, "{}", &[]).exits(0);
        for told in [
            "unknown key `timeout` of the server `one` does nothing (did you mean `timeout_ms`?)",
            "unknown key `colour` of the server `two` does nothing",
        ] {
            assert!(ran.err.contains(told), "{}", ran.err);
        }
        assert!(!ran.err.contains("type"), "{}", ran.err);
    }
    env.call("mcp.three.echo", "{}", &[]).exits(2);
}

#[test]
fn servers_as_other_programs_name_them_say_how_they_are_taken_over() {
    let json = r#"{"mcpServers": {"files": {"command": "npx", "args": ["-y", "x"]}}}"#;
    let env = TestEnv::with_config(json);
    let ran = env.run(&["tools", "list"]).exits(2);
    assert!(
        ran.err
            .contains("this is JSON, and a configuration is TOML"),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains("tollgate servers import servers.json --write"),
        "{}",
        ran.err
    );
    assert_eq!(
        ran.err.matches("error").count(),
        1,
        "once is enough: {}",
        ran.err
    );
    let env = TestEnv::with_config("[mcpServers.files]\ncommand = \"npx\"\n");
    let ran = env.run(&["tools", "list"]).exits(2);
    assert!(
        ran.err.contains("tollgate servers import FILE --write"),
        "{}",
        ran.err
    );
    let mut env = TestEnv::new();
    env.set("MCP_SERVERS_JSON", json);
    let ran = env.run(&["mcp", "list"]).exits(0);
    assert!(
        ran.err.contains("tollgate servers import FILE --write"),
        "{}",
        ran.err
    );
}

#[test]
fn an_entry_that_cannot_be_imported_is_a_mistake_of_whoever_imports_it() {
    let env = TestEnv::new();
    let file = env.write(
        "others.json",
        r#"{"mcpServers": {"good": {"command": "true"}, "bad": {"args": ["x"]}, "own": {"command": "tollgate", "args": ["mcp"]}}}"#,
    );
    let ran = env.run(&["mcp", "import", &file]).exits(2);
    assert!(
        ran.out.contains("`bad`") && ran.out.contains("is left out"),
        "{}",
        ran.out
    );
    let file = env.write(
        "own.json",
        r#"{"mcpServers": {"good": {"command": "true"}, "own": {"command": "tollgate", "args": ["mcp"]}}}"#,
    );
    env.run(&["mcp", "import", &file]).exits(0);
}

#[test]
fn a_script_without_its_interpreter_names_the_interpreter() {
    use std::os::unix::fs::PermissionsExt;
    for (first, wanted) in [
        (
            "#!/opt/none/python9 -u",
            "is run by `/opt/none/python9`, which is not there",
        ),
        (
            "#!/usr/bin/env python9",
            "there is no program `python9` in PATH",
        ),
    ] {
        let env = TestEnv::new();
        let script = env.write("server", format!("{first}\n"));
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        env.configure(&format!(
            "[[mcp.servers]]\nname = \"s\"\ncommand = \"{script}\"\n"
        ));
        let status = env.run(&["mcp", "status"]).exits(1);
        let said = format!("{}{}", status.out, status.err);
        assert!(said.contains(wanted), "{said}");
    }
}
