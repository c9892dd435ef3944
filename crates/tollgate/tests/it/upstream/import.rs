//! Servers taken over from the files of other programs.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::support::TestEnv;

const CONFIG: &str = "config/tollgate/tollgate.toml";

fn fixture() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/upstream_server.py")
}

fn config(env: &TestEnv) -> String {
    fs::read_to_string(env.path(CONFIG)).unwrap_or_default()
}

#[test]
fn what_would_be_written_is_shown_and_only_then_written_and_then_it_works() {
    let env = TestEnv::with_config("# mine\n[log]\nlevel = \"debug\"\n");
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let entry = json!({"mcpServers": {
        "Fix-Ture": {"command": "python3", "args": [fixture(), "legacy"],
                     "env": {"GITHUB_TOKEN": key, "MODE": "fast"}},
        "tollgate": {"command": "tollgate", "args": ["mcp"]},
    }});
    env.write("project/.mcp.json", entry.to_string());
    let shown = env.run(&["mcp", "import", ".mcp.json"]).exits(0);
    assert!(shown.out.contains("+name = \"fix_ture\""), "{}", shown.out);
    assert!(shown.out.contains("it is Tollgate itself"), "{}", shown.out);
    assert!(shown.out.contains("nothing was written"), "{}", shown.out);
    assert!(!shown.out.contains(&key) && !shown.err.contains(&key));
    assert_eq!(config(&env), "# mine\n[log]\nlevel = \"debug\"\n");

    let ran = env.run(&["mcp", "import", ".mcp.json", "--write", "--json"]);
    let ran = ran.exits(0).json();
    assert_eq!(ran["written"], true);
    assert_eq!(ran["servers"][0]["outcome"], "added");
    let backup = fs::read_to_string(ran["backup"].as_str().unwrap()).unwrap();
    assert_eq!(backup, "# mine\n[log]\nlevel = \"debug\"\n");
    let text = config(&env);
    assert!(text.starts_with(&backup) && !text.contains(&key), "{text}");
    let secret = ran["secret_files"][0].as_str().unwrap();
    assert_eq!(fs::read_to_string(secret).unwrap(), key);
    let mode = fs::metadata(secret).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);

    // The program is started with all of it.
    let status = env.run(&["mcp", "status", "--json"]).exits(0).json();
    assert_eq!(status["servers"][0]["name"], "fix_ture");
    assert_eq!(status["servers"][0]["state"], "ready");

    // Once more changes nothing.
    let again = env.run(&["mcp", "import", ".mcp.json", "--write", "--json"]);
    let again = again.exits(0).json();
    assert_eq!(again["servers"][0]["outcome"], "kept");
    assert_eq!(
        (again["written"].clone(), config(&env)),
        (json!(false), text)
    );
}

#[test]
fn the_files_of_every_known_program_are_found() {
    let env = TestEnv::new();
    let server = |name: &str| json!({name: {"command": "echo", "args": [name]}});
    env.write(
        "config/Claude/claude_desktop_config.json",
        json!({"mcpServers": server("desktop")}).to_string(),
    );
    env.write(
        "home/.cursor/mcp.json",
        json!({"mcpServers": server("cursor")}).to_string(),
    );
    let here = env.path("project");
    env.write(
        "home/.claude.json",
        json!({"mcpServers": server("everywhere"),
               "projects": {here.to_str().unwrap(): {"mcpServers": server("only_here")}}})
        .to_string(),
    );
    env.write(
        "project/.vscode/mcp.json",
        r#"{
          // what the editor asks for
          "inputs": [{"type": "promptString", "id": "key", "password": true}],
          "servers": {
            "code": {
              "type": "stdio",
              "command": "echo", /* the program */
              "args": ["${workspaceFolder}/x", "https://not.a/comment"],
              "env": {"SERVICE_KEY": "${input:key}"},
            },
          },
        }"#,
    );
    env.write(
        "home/.codex/config.toml",
        "[mcp_servers.codex]\ncommand = \"echo\"\n",
    );
    env.write("home/.codeium/windsurf/mcp_config.json", "{ broken");
    let ran = env
        .run(&["mcp", "import", "--write", "--json"])
        .exits(0)
        .json();
    let mut names: Vec<&str> = ran["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["as"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "code",
            "codex",
            "cursor",
            "desktop",
            "everywhere",
            "only_here"
        ]
    );
    assert!(ran["notes"].to_string().contains("Windsurf"), "{ran:#}");
    let text = config(&env);
    let args = format!(
        "args = [\"{}/x\", \"https://not.a/comment\"]",
        here.display()
    );
    assert!(text.contains(&args), "{text}");
    assert!(
        text.contains("env = { SERVICE_KEY = \"env:CODE_SERVICE_KEY\" }"),
        "{text}"
    );
    env.run(&["mcp", "list"]).exits(0);
    let one = env
        .run(&["mcp", "import", "--from", "cursor", "--json"])
        .exits(0)
        .json();
    assert_eq!(one["servers"].as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_read_or_edited_stays_as_it_is() {
    let env = TestEnv::new();
    env.run(&["mcp", "import", "nowhere.json"]).exits(2);
    env.write("project/odd.json", "{}");
    let none = env.run(&["mcp", "import", "odd.json"]).exits(1);
    assert!(none.err.contains("names no servers"), "{}", none.err);
    env.write("project/broken.json", "{");
    let broken = env.run(&["mcp", "import", "broken.json"]).exits(1);
    assert!(broken.err.contains("not JSON"), "{}", broken.err);

    let inline = "mcp = { servers = [{ name = \"a\", command = \"echo\" }] }\n";
    env.configure(inline);
    env.write(
        "project/good.json",
        r#"{"mcpServers":{"b":{"command":"echo"}}}"#,
    );
    let refused = env.run(&["mcp", "import", "good.json", "--write"]).exits(1);
    assert!(
        refused.err.contains("only a person can edit"),
        "{}",
        refused.err
    );
    assert_eq!(config(&env), inline);
}

#[test]
fn a_program_that_is_named_from_its_project_starts_there_wherever_the_gate_runs() {
    let env = TestEnv::new();
    env.write("project/server.py", fs::read(fixture()).unwrap());
    env.write("project/below/server.py", fs::read(fixture()).unwrap());
    let entry = json!({"mcpServers": {
        "near": {"command": "python3", "args": ["./server.py", "legacy"]},
        "below": {"command": "python3", "args": ["server.py", "legacy"], "cwd": "below"},
        "far": {"command": "python3", "args": [fixture(), "legacy"]},
    }});
    env.write("project/.mcp.json", entry.to_string());
    env.run(&["mcp", "import", ".mcp.json", "--write"]).exits(0);
    let root = env.path("project").display().to_string();
    let text = config(&env);
    assert!(text.contains(&format!("cwd = \"{root}\"\n")), "{text}");
    assert!(
        text.contains(&format!("cwd = \"{root}/below\"\n")),
        "{text}"
    );
    assert_eq!(text.matches("cwd").count(), 2, "{text}");
    let mut elsewhere = env.command(&["mcp", "status", "--json"]);
    let ran = elsewhere.current_dir("/").output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    for server in status["servers"].as_array().unwrap() {
        assert_eq!(server["state"], "ready", "{status:#}");
    }
}

#[test]
fn an_address_that_holds_a_secret_is_pointed_out() {
    let env = TestEnv::new();
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let entry = json!({"mcpServers": {"s": {"url": format!("https://x.example/mcp?key={key}")}}});
    env.write("project/.mcp.json", entry.to_string());
    let shown = env.run(&["mcp", "import", ".mcp.json"]).exits(0).out;
    assert!(
        shown.contains("its address looks as if it held a secret"),
        "{shown}"
    );
    assert!(!shown.contains(&key), "{shown}");
}

#[test]
fn an_address_is_written_only_if_it_can_be_read_again() {
    let env = TestEnv::new();
    let entry = json!({"mcpServers": {
        "asks": {"url": "https://x.example/mcp?tenant=t1"},
        "knows": {"url": "https://ann:word@x.example/mcp"},
        "points": {"url": "https://x.example/mcp#part"},
        "mails": {"url": "mailto:ann@x.example"},
    }});
    env.write("project/.mcp.json", entry.to_string());
    let ran = env.run(&["mcp", "import", ".mcp.json", "--write"]).exits(2);
    for left_out in ["knows", "points", "mails"] {
        let told = |line: &str| line.contains(left_out) && line.contains("its address");
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.lines().any(told), "{left_out}: {said}");
    }
    let listed = env.run(&["mcp", "list", "--json"]).exits(0).json();
    let names: Vec<&str> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["asks"]);
    let place = &listed["servers"][0]["reached_at"];
    assert_eq!(place, "https://x.example/mcp?tenant=t1");
}
