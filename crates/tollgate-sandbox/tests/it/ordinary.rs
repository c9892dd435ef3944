//! Everything again as somebody without any rights, if we have rights to give up.

use crate::support::{command, has_python, is_root};

/// Runs the tests of one module as somebody whose processes nobody else's count with.
fn as_somebody(module: &str, user: u32) {
    if !is_root() || !has_python() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    let drop = [
        &format!("--reuid={user}"),
        "--regid=65534",
        "--clear-groups",
        "--",
    ];
    let run = |arguments: &[&str]| {
        let mut command = command("/usr/bin/setpriv");
        command.args(drop).arg(&program).args(arguments);
        command.env("TMPDIR", "/tmp").output().unwrap()
    };
    if !run(&["--list"]).status.success() {
        eprintln!("skipped: an ordinary user cannot start this program");
        return;
    }
    let output = run(&[module, "--test-threads=1"]);
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complained}");
    assert!(!said.contains("running 0 tests"), "{said}");
}

#[test]
fn hostile_programs_are_held() {
    as_somebody("hostile::", 64301);
}

#[test]
fn limits_hold() {
    as_somebody("limits::", 64302);
}

#[test]
fn workspaces_lead_nowhere() {
    as_somebody("workspaces::", 64303);
}

#[test]
fn tiers_are_told_apart() {
    as_somebody("tiers::", 64304);
}

#[test]
fn nothing_is_left() {
    as_somebody("leaks::", 64305);
}
