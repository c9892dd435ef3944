//! What a gate prints for whoever wants to add it to a client: it works as it is printed.

use std::fs;

use serde_json::Value;

use super::{BESIDE, bearer, list};
use crate::{
    mcp::wire::peer::Gate,
    support::{Ran, TestEnv},
};

/// Types what a note says after its heading; somebody else stands in for Claude Code and says
/// what it was given.
#[track_caller]
fn typed(env: &TestEnv, note: &str) -> Vec<String> {
    let (_, command) = note.split_once(':').unwrap();
    let script = format!("claude() {{ printf '%s\\n' \"$@\"; }}; {command}");
    let ran = env.other("/bin/sh", &["-c", &script]).output().unwrap();
    let ran = Ran::from(ran).exits(0);
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn the_lines_that_are_printed_lead_to_the_gate() {
    let env = TestEnv::new();
    let mut gate = Gate::open(&env);
    let url = format!("http://{}/mcp", gate.address);
    let (claude, others) = (gate.note(), gate.note());
    let given = typed(&env, &claude);
    assert_eq!(
        given,
        ["mcp", "add", "--transport", "http", "tollgate", &url]
    );
    for (client, file, key, field) in [
        ("cursor", "home/.cursor/mcp.json", "mcpServers", "url"),
        (
            "windsurf",
            "home/.codeium/windsurf/mcp_config.json",
            "mcpServers",
            "serverUrl",
        ),
    ] {
        typed(&env, &others.replace("NAME", client));
        let written = fs::read_to_string(env.path(file)).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written[key]["tollgate"][field], url, "{client}");
    }
    gate.result(&list());
}

#[test]
fn the_lines_of_a_gate_that_listens_everywhere_lead_to_it_from_here() {
    for (config, needs_token) in [(BESIDE, false), ("[serve]\nanonymous = false\n", true)] {
        let env = TestEnv::with_config(config);
        let token = bearer(&env, &[]);
        let mut gate = Gate::open_with(&env, &["--host", "0.0.0.0"]);
        let near = format!("127.0.0.1:{}", gate.address.port());
        let url = format!("http://{near}/mcp");
        let (claude, others) = (gate.note(), gate.note());
        let given = typed(&env, &claude.replace("TOKEN", &token));
        assert_eq!(
            given[..6],
            ["mcp", "add", "--transport", "http", "tollgate", &url]
        );
        assert!(others.contains(&url), "{others}");
        let ask = list().header("host", &near);
        if !needs_token {
            assert_eq!(given.len(), 6);
            gate.result(&ask);
            continue;
        }
        gate.ask(&ask).has(401);
        assert_eq!(given[6], "--header");
        assert_eq!(given.len(), 8);
        let (name, value) = given[7].split_once(": ").unwrap();
        gate.result(&ask.header(&name.to_lowercase(), value));
        let (_, header) = others.split_once('`').unwrap();
        assert_eq!(header.replace("TOKEN`", &token), given[7]);
    }
}
