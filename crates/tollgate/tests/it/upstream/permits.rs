//! What lets a server's tools run without a human, and what lists say about it.

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::section;
use crate::support::{Ran, TestEnv};

const BLANKET: &str = "@id(\"all\")\npermit (principal, action == Action::\"call\", resource);\n";
const LINE: &str = "@lifts(\"human\")";

/// A user with an ungraded server and a file of rules.
fn with_rules(rules: &str, more: &str) -> TestEnv {
    let env = TestEnv::with_config(&section("s", "legacy", more));
    env.write("config/tollgate/policies/own.cedar", rules);
    env
}

fn shown(env: &TestEnv, tool: &str) -> Value {
    let answer = env.run(&["tools", "show", tool, "--json"]).exits(0).json();
    answer["data"].clone()
}

/// What `tools list --json` says of a tool.
fn listed(env: &TestEnv, tool: &str) -> Value {
    let all = env.run(&["tools", "list", "--json"]).exits(0).json();
    let tools = all["tools"].as_array().unwrap().iter();
    let mut found = tools.filter(|it| it["name"] == tool);
    found.next().unwrap().clone()
}

const FRONT_ENDS: [&str; 3] = ["mcp", "jsonl", "serve"];

/// What a front end writes on stderr from its start to its end.
fn complaints(env: &TestEnv, front_end: &str) -> String {
    if front_end != "serve" {
        return env.run(&[front_end]).exits(0).err;
    }
    let mut child = env.start(&["serve", "--port", "0"]);
    // Its first line is its address; it has started by then.
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    Ran::from(child.wait_with_output().unwrap()).exits(0).err
}

#[test]
fn a_blanket_permit_no_longer_lifts_the_human_and_is_named_with_the_rule_to_add() {
    let env = with_rules(BLANKET, "");
    env.call("mcp.s.echo", "{}", &[]).exits(3);
    let doctor = env.run(&["doctor"]);
    let said = format!("{}{}", doctor.out, doctor.err);
    assert!(said.contains("own.cedar:1: the permit `all`"), "{said}");
    let line = "@id(\"all.mcp_s\") @lifts(\"human\") permit (principal, action == Action::\"call\", resource) when { resource.provider == \"mcp_s\" };";
    assert!(said.contains(line), "{said}");

    for front_end in FRONT_ENDS {
        let complaints = complaints(&env, front_end);
        assert!(
            complaints.contains("own.cedar:1: the permit `all`"),
            "{front_end}: {complaints}"
        );
        assert!(complaints.contains(line), "{front_end}: {complaints}");
    }
    env.configure(&format!(
        "[log]\nfile = \"log.jsonl\"\n{}",
        section("s", "legacy", "")
    ));
    for front_end in FRONT_ENDS {
        let complaints = complaints(&env, front_end);
        assert!(
            !complaints.contains("the permit"),
            "it is in the log: {complaints}"
        );
        let log = env.path("config/tollgate/log.jsonl");
        let logged = std::fs::read_to_string(&log).unwrap();
        assert!(logged.contains("the permit `all`"), "{front_end}: {logged}");
        std::fs::remove_file(log).unwrap();
    }
}

#[test]
fn a_permit_that_names_the_server_and_says_so_lifts_the_human() {
    let rule =
        "@id(\"s\")\npermit (principal, action == Action::\"call\", resource in Toolset::\"s\");\n";
    let env = with_rules(rule, "");
    env.call("mcp.s.echo", "{}", &[]).exits(3);
    let doctor = env.run(&["doctor"]);
    let said = format!("{}{}", doctor.out, doctor.err);
    assert!(said.contains("own.cedar:1: the permit `s`"), "{said}");
    assert!(said.contains(LINE), "{said}");

    env.write(
        "config/tollgate/policies/own.cedar",
        format!("{LINE}\n{rule}"),
    );
    env.call("mcp.s.echo", "{}", &[]).exits(0);
    let doctor = env.run(&["doctor"]);
    let said = format!("{}{}", doctor.out, doctor.err);
    assert!(!said.contains("the permit `s`"), "{said}");
}

#[test]
fn lists_say_what_is_in_force() {
    let env = with_rules(
        "",
        "timeout_ms = 7000\n[mcp.servers.tools.pid]\ncapability = \"L0\"",
    );
    for (tool, capability, confirm, risk) in [
        ("mcp.s.echo", "L2", true, json!("unknown")),
        ("mcp.s.pid", "L0", false, json!("read_only")),
        ("session.set_limit", "L1", true, Value::Null),
        ("text.stats", "L0", false, Value::Null),
    ] {
        for says in [shown(&env, tool), listed(&env, tool)] {
            assert_eq!(says["capability"], capability, "{says:#}");
            assert_eq!(says["requires_confirm"], confirm, "{says:#}");
            assert_eq!(says["risk_level"], risk, "{says:#}");
        }
    }
    assert_eq!(shown(&env, "mcp.s.echo")["timeout_ms"], 7000);
    assert_eq!(listed(&env, "mcp.s.echo")["timeout_ms"], 7000);
    let found = env.ok(
        "tools.search",
        r#"{"query": "answers with what it was given"}"#,
    );
    let hits = found["data"]["tools"].as_array().unwrap();
    let echo = hits.iter().find(|hit| hit["name"] == "mcp.s.echo").unwrap();
    assert_eq!(echo["requires_confirm"], true);
    assert_eq!(echo["risk_level"], "unknown");

    let lifted = "@id(\"echo\")\n@lifts(\"human\")\npermit (principal, action == Action::\"call\", resource == Tool::\"mcp.s.echo\");\n";
    env.write("config/tollgate/policies/own.cedar", lifted);
    assert_eq!(shown(&env, "mcp.s.echo")["requires_confirm"], false);
    assert_eq!(listed(&env, "mcp.s.echo")["requires_confirm"], false);
}
