//! Setting up an agent's program: what is written where, and what is left alone.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Ran, TestEnv};

/// Every client, the file it reads, and the key its servers are under.
const FILES: &[(&str, &str, &str, &str)] = &[
    ("claude-code", "user", "home/.claude.json", "mcpServers"),
    ("claude-code", "project", "project/.mcp.json", "mcpServers"),
    (
        "claude-desktop",
        "user",
        "config/Claude/claude_desktop_config.json",
        "mcpServers",
    ),
    ("codex", "user", "home/.codex/config.toml", "mcp_servers"),
    (
        "codex",
        "project",
        "project/.codex/config.toml",
        "mcp_servers",
    ),
    ("cursor", "user", "home/.cursor/mcp.json", "mcpServers"),
    (
        "cursor",
        "project",
        "project/.cursor/mcp.json",
        "mcpServers",
    ),
    ("vscode", "user", "config/Code/User/mcp.json", "servers"),
    ("vscode", "project", "project/.vscode/mcp.json", "servers"),
    (
        "windsurf",
        "user",
        "home/.codeium/windsurf/mcp_config.json",
        "mcpServers",
    ),
    ("zed", "user", "config/zed/settings.json", "context_servers"),
];

fn program() -> String {
    let path = fs::canonicalize(env!("CARGO_BIN_EXE_tollgate")).unwrap();
    path.into_os_string().into_string().unwrap()
}

fn init(env: &TestEnv, client: &str, more: &[&str]) -> Ran {
    let mut all = vec!["init", "--client", client];
    all.extend(more);
    env.run(&all)
}

fn read(env: &TestEnv, file: &str) -> String {
    fs::read_to_string(env.path(file)).unwrap()
}

/// The servers a file holds.
fn servers(text: &str, key: &str) -> Value {
    let document: Value = serde_json::from_str(text)
        .or_else(|_| serde_json::to_value(text.parse::<toml::Table>().unwrap()))
        .unwrap();
    document[key].clone()
}

#[test]
fn every_client_gets_a_fresh_file_once() {
    for (client, scope, file, key) in FILES {
        let env = TestEnv::new();
        let more = ["--scope", scope, "--json"];
        let said = init(&env, client, &more).exits(0).json();
        let entry = servers(&read(&env, file), key)["tollgate"].clone();
        assert_eq!(entry["command"], program(), "{client}");
        assert_eq!(entry["args"], json!(["mcp"]), "{client}");
        let path = env.path(file).display().to_string();
        let diff = said["diff"].as_str().unwrap().to_owned();
        assert!(diff.starts_with("--- /dev/null\n"), "{diff}");
        let expected = json!({
            "client": client, "path": path, "changed": true, "backup": null,
            "diff": diff, "entry": entry,
        });
        assert_eq!(said, expected);

        let written = read(&env, file);
        let again = init(&env, client, &more).exits(0).json();
        assert_eq!(again["changed"], false);
        assert_eq!(again["diff"], "");
        assert_eq!(again["backup"], Value::Null);
        assert_eq!(read(&env, file), written);
        let folder = env.path(file).parent().unwrap().to_owned();
        let left = fs::read_dir(folder).unwrap().flatten();
        let left: Vec<PathBuf> = left.map(|it| it.path()).collect();
        assert!(
            !left
                .iter()
                .any(|it| it.to_string_lossy().contains("tollgate-")),
            "{left:?}"
        );
    }
}

#[test]
fn other_servers_and_settings_stay_and_the_old_file_lies_beside() {
    for (client, scope, file, key) in FILES {
        let env = TestEnv::new();
        let (before, kept) = match file.rsplit_once('.').unwrap().1 {
            "toml" => (
                format!("# mine\nmodel = \"m\"\n\n[{key}.other]\ncommand = \"o\" # theirs\n"),
                "[{key}.other]\ncommand = \"o\" # theirs\n".replace("{key}", key),
            ),
            _ => (
                format!(
                    "{{\"z\" : 1.10,\n\t\"{key}\": {{\n\t\t\"other\": {{\"command\":\"o\"}}\n\t}},\n\t\"a\": [ ]\n}}"
                ),
                "\"other\": {\"command\":\"o\"},".to_owned(),
            ),
        };
        env.write(file, &before);
        let more = ["--scope", scope, "--json"];
        let said = init(&env, client, &more).exits(0).json();
        let backup = env.path(&format!("{file}.tollgate-backup-1"));
        assert_eq!(said["backup"], backup.display().to_string());
        assert_eq!(fs::read_to_string(&backup).unwrap(), before, "{client}");
        let after = read(&env, file);
        assert!(after.contains(&kept), "{after}");
        let listed = servers(&after, key);
        assert_eq!(listed["other"], json!({"command": "o"}));
        assert_eq!(listed["tollgate"]["command"], program());
        let again = init(&env, client, &more).exits(0).json();
        assert_eq!(again["changed"], false, "{client}");
    }
}

const ZED: &str = r#"// Zed settings
{
  "theme": "One Dark", // dark
  "context_servers": {
    /* theirs */
    "other": { "command": "o", "args": [], },
  },
  "vim_mode": true,
}
"#;

#[test]
fn comments_and_trailing_commas_stay_where_they_are() {
    let env = TestEnv::new();
    env.write("config/zed/settings.json", ZED);
    init(&env, "zed", &[]).exits(0);
    let after = read(&env, "config/zed/settings.json").replace(&program(), "PROGRAM");
    assert_snapshot!(after, @r#"
    // Zed settings
    {
      "theme": "One Dark", // dark
      "context_servers": {
        /* theirs */
        "other": { "command": "o", "args": [], },
        "tollgate": {
          "command": "PROGRAM",
          "args": [
            "mcp"
          ]
        },
      },
      "vim_mode": true,
    }
    "#);
}

#[test]
fn people_read_what_changed_and_what_to_do() {
    let env = TestEnv::new();
    env.write("home/.codex/config.toml", "model = \"m\"\n");
    let more = ["--toolsets", "text,time", "--profile", "work"];
    let said = init(&env, "codex", &more).exits(0);
    assert_eq!(said.err, "");
    let folder = env.path("home").display().to_string();
    let shown = said
        .out
        .replace(&program(), "PROGRAM")
        .replace(&folder, "~");
    assert_snapshot!(shown, @r#"
    --- ~/.codex/config.toml
    +++ ~/.codex/config.toml
    @@ -1,1 +1,5 @@
     model = "m"
    +
    +[mcp_servers.tollgate]
    +command = "PROGRAM"
    +args = ["mcp", "--profile", "work", "--toolsets", "text,time"]
    Codex is set up: ~/.codex/config.toml
    backup: ~/.codex/config.toml.tollgate-backup-1
    next: run `codex mcp list`, then start a new session
    then say to the agent: "Use the `tollgate` server: find a tool with tools.search, then call it."
    "#);
    let again = init(&env, "codex", &more).exits(0);
    assert!(
        again.out.starts_with("Codex is already set up: "),
        "{}",
        again.out
    );
}

#[test]
fn printing_writes_nothing() {
    for (client, scope, file, _) in FILES {
        let env = TestEnv::new();
        let shown = init(&env, client, &["--scope", scope, "--print"]).exits(0);
        assert!(shown.out.contains("nothing was written"), "{}", shown.out);
        assert!(!env.path(file).exists(), "{client}");
        let said = init(&env, client, &["--scope", scope, "--print", "--json"]);
        let said = said.exits(0).json();
        assert_eq!(said["changed"], false);
        assert!(said["diff"].as_str().unwrap().contains("+++ "));
        assert_eq!(fs::read_dir(env.path("home")).unwrap().count(), 0);
    }
}

#[test]
fn a_broken_file_is_left_alone() {
    for (client, scope, file, _) in FILES {
        let env = TestEnv::new();
        env.write(file, "{\"a\": = [");
        let said = init(&env, client, &["--scope", scope, "--force"]).exits(1);
        assert_eq!(said.out, "");
        assert!(said.err.contains("is not valid"), "{}", said.err);
        assert_eq!(read(&env, file), "{\"a\": = [");
        assert!(!env.path(&format!("{file}.tollgate-backup-1")).exists());
    }
    let env = TestEnv::new();
    env.write("home/.claude.json", "{} // this client takes no comments");
    init(&env, "claude-code", &[]).exits(1);
    env.write("home/.claude.json", b"\xff\xfe{}");
    init(&env, "claude-code", &[]).exits(1);
    env.write("home/.claude.json", "{\"mcpServers\": []}");
    init(&env, "claude-code", &[]).exits(1);
}

#[test]
fn an_entry_that_differs_is_replaced_only_by_force() {
    let env = TestEnv::new();
    let before = "{\"mcpServers\": {\"tollgate\": {\"command\": \"old\"}}}\n";
    env.write("home/.cursor/mcp.json", before);
    let refused = init(&env, "cursor", &[]).exits(2);
    assert!(refused.err.contains("--force"), "{}", refused.err);
    assert_eq!(read(&env, "home/.cursor/mcp.json"), before);
    init(&env, "cursor", &["--name", "gate"]).exits(0);
    init(&env, "cursor", &["--force"]).exits(0);
    let listed = servers(&read(&env, "home/.cursor/mcp.json"), "mcpServers");
    assert_eq!(listed["tollgate"]["command"], program());
    assert_eq!(listed["gate"], listed["tollgate"]);
    assert_eq!(
        read(&env, "home/.cursor/mcp.json.tollgate-backup-1"),
        before
    );
    assert!(env.path("home/.cursor/mcp.json.tollgate-backup-2").exists());
}

#[test]
fn a_url_is_written_where_the_client_takes_one() {
    let cases = [
        (
            "claude-code",
            json!({"type": "http", "url": "http://127.0.0.1:7420/mcp"}),
        ),
        ("codex", json!({"url": "http://127.0.0.1:7420/mcp"})),
        ("cursor", json!({"url": "http://127.0.0.1:7420/mcp"})),
        (
            "vscode",
            json!({"type": "http", "url": "http://127.0.0.1:7420/mcp"}),
        ),
        (
            "windsurf",
            json!({"serverUrl": "http://127.0.0.1:7420/mcp"}),
        ),
        ("zed", json!({"url": "http://127.0.0.1:7420/mcp"})),
    ];
    let env = TestEnv::new();
    for (client, entry) in cases {
        let said = init(&env, client, &["--http", "--json"]).exits(0).json();
        assert_eq!(said["entry"], entry);
    }
    let said = init(&env, "claude-desktop", &["--http"]).exits(2);
    assert!(said.err.contains("Claude Desktop"), "{}", said.err);
    let mine = [
        "--name",
        "b",
        "--http",
        "https://gate.example/mcp",
        "--json",
    ];
    let said = init(&env, "zed", &mine).exits(0).json();
    assert_eq!(said["entry"], json!({"url": "https://gate.example/mcp"}));
}

#[test]
fn a_command_line_that_makes_no_sense_is_a_usage_error() {
    let env = TestEnv::new();
    let wrong: &[&[&str]] = &[
        &["init"],
        &["init", "--client", "emacs"],
        &["init", "--client", "zed", "--scope", "project"],
        &["init", "--client", "zed", "--scope", "world"],
        &["init", "--client", "zed", "--name", "a b"],
        &["init", "--client", "zed", "--name", ""],
        &["init", "--client", "zed", "--http", "file:///etc"],
        &["init", "--client", "zed", "--toolsets", "a,"],
        &["init", "--client", "zed", "--http", "--toolsets", "a"],
        &["init", "--client", "zed", "--http", "--profile", "a"],
    ];
    for arguments in wrong {
        let ran = env.run(arguments).exits(2);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
    assert!(!env.path("config/zed").exists());
}

#[test]
fn links_lead_to_the_file_and_its_permissions_stay() {
    let env = TestEnv::new();
    env.write("dotfiles/claude.json", "{}");
    let file = env.path("dotfiles/claude.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let link = env.path("home/.claude.json");
    std::os::unix::fs::symlink("../dotfiles/claude.json", &link).unwrap();
    init(&env, "claude-code", &[]).exits(0);
    assert!(link.is_symlink());
    assert!(read(&env, "dotfiles/claude.json").contains("tollgate"));
    for name in ["claude.json", "claude.json.tollgate-backup-1"] {
        let about = fs::metadata(env.path("dotfiles").join(name)).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o640, "{name}");
    }
    let circle = env.path("home/.cursor");
    std::os::unix::fs::symlink(".cursor", &circle).unwrap();
    init(&env, "cursor", &[]).exits(1);
}

#[test]
fn the_bare_name_is_written_where_it_starts_this_program() {
    let mut env = TestEnv::new();
    let folder = env.path("bin");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(program(), folder.join("tollgate")).unwrap();
    env.set("PATH", folder.to_str().unwrap());
    let said = init(&env, "codex", &["--json"]).exits(0).json();
    assert_eq!(said["entry"]["command"], "tollgate");
    // The desktop starts this one, and does not search where a shell does.
    let said = init(&env, "claude-desktop", &["--json"]).exits(0).json();
    let found = folder.join("tollgate").display().to_string();
    assert_eq!(said["entry"]["command"], found);
    let other = env.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("tollgate"), "").unwrap();
    env.set("PATH", other.to_str().unwrap());
    let said = init(&env, "zed", &["--json"]).exits(0).json();
    assert_eq!(said["entry"]["command"], program());
}

#[test]
fn variables_say_where_a_client_keeps_its_files() {
    let mut env = TestEnv::new();
    let folder = env.path("elsewhere").display().to_string();
    env.set("CODEX_HOME", &folder);
    env.set("CLAUDE_CONFIG_DIR", &folder);
    init(&env, "codex", &[]).exits(0);
    init(&env, "claude-code", &[]).exits(0);
    assert!(env.path("elsewhere/config.toml").exists());
    assert!(env.path("elsewhere/.claude.json").exists());
}

#[test]
fn keys_in_the_file_are_not_shown() {
    let env = TestEnv::new();
    let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let before = format!(
        "{{\n  \"mcpServers\": {{\n    \"hub\": {{\"env\": {{\"GITHUB_TOKEN\": \"{key}\"}}}}\n  }}\n}}\n"
    );
    env.write("home/.claude.json", &before);
    let said = init(&env, "claude-code", &[]).exits(0);
    assert!(!said.out.contains(&key), "{}", said.out);
    assert!(read(&env, "home/.claude.json").contains(&key));
}
