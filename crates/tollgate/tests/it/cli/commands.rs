//! Commands are grouped as people look for them, and former spellings go on working.

use crate::support::TestEnv;

/// A former spelling, and what it is called.
const FORMER: &[(&[&str], &[&str])] = &[
    (&["approvals", "--all"], &["approvals", "list", "--all"]),
    (&["grants"], &["approvals", "grants"]),
    (&["grants", "--revoke", "x"], &["approvals", "revoke", "x"]),
    (
        &["approve", "ap-none"],
        &["approvals", "approve", "ap-none"],
    ),
    (
        &["approve", "ap-none", "--deny"],
        &["approvals", "deny", "ap-none"],
    ),
    (
        &["explain", "text.stats"],
        &["policy", "explain", "text.stats"],
    ),
    (&["replay", "none"], &["audit", "replay", "none"]),
    (&["templates", "list"], &["runs", "templates", "list"]),
    (&["mcp", "list"], &["servers", "list"]),
    (&["mcp", "diff", "none"], &["servers", "diff", "none"]),
    (&["session", "--all"], &["session", "list"]),
    (&["ledger"], &["session", "ledger"]),
];

#[test]
fn former_spellings_answer_the_same_and_stand_in_no_help() {
    let env = TestEnv::new();
    env.ok("text.stats", r#"{"text":"hello"}"#);
    for (former, current) in FORMER {
        let (old, new) = (env.run(former), env.run(current));
        assert_eq!(
            (old.code, &old.out, &old.err),
            (new.code, &new.out, &new.err),
            "{former:?}"
        );
    }
    let help = env.run(&["--help"]).exits(0).out;
    for former in [
        "approve",
        "grants",
        "explain",
        "replay",
        "templates",
        "ledger",
    ] {
        let is_command = |line: &str| line.trim_start().starts_with(&format!("{former} "));
        assert!(!help.lines().any(is_command), "{former}: {help}");
    }
    let help = env.run(&["mcp", "--help"]).exits(0).out;
    assert!(!help.contains("accept"), "{help}");
}

#[test]
fn help_separates_the_options_of_a_command_from_those_of_all() {
    let env = TestEnv::new();
    let help = env.run(&["approvals", "list", "--help"]).exits(0).out;
    let (own, global) = help.split_once("Global options:").unwrap();
    assert!(own.contains("--all") && !global.contains("--all"), "{help}");
    for option in ["--config", "--json", "--session", "--profile"] {
        assert!(
            global.contains(option) && !own.contains(&format!("{option} ")),
            "{help}"
        );
    }
}

#[test]
fn the_version_names_commit_and_build() {
    let env = TestEnv::new();
    let version = env.run(&["--version"]).exits(0).out;
    let version = version.trim().strip_prefix("tollgate ").unwrap();
    assert!(version.starts_with(env!("CARGO_PKG_VERSION")), "{version}");
    assert!(version.contains("(commit "), "{version}");
    assert!(version.contains(" build for "), "{version}");
}

#[test]
fn setup_prints_how_to_run_under_a_user_of_its_own_and_changes_nothing() {
    let env = TestEnv::new();
    let shown = env.run(&["setup", "--system"]).exits(0).out;
    for part in [
        "useradd --system",
        "User=tollgate",
        "dialogs = \"none\"",
        "systemctl enable --now tollgate",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let found = env.run(&["setup", "--system", "--json"]).exits(0).json();
    let files = found["files"].as_object().unwrap();
    assert_eq!(files.len(), 2, "{found}");
    // What it prints is what the page says.
    let page = include_str!("../../../../../docs/own-user.md");
    for text in files.values() {
        let text = text.as_str().unwrap().trim_end();
        assert!(page.contains(text), "{text}");
    }
    assert!(!env.state_dir().exists());
    env.run(&["setup"]).exits(2);
}
