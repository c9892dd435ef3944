//! Everything that must hold, in one go. All steps run even if one fails.

use std::{process::Command, time::Instant};

use anyhow::{Result, bail};

use crate::{
    peers,
    run::{cargo, has, shown, silent},
};

/// Whether the MCP clients and the conformance suite take part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peers {
    Installed,
    LeftOut,
}

/// The tests that need the peers.
const PEER_TESTS: &str = "mcp::peers::";

pub(crate) fn run(with: Peers) -> Result<()> {
    let mut failed = Vec::new();
    let mut step = |name: &'static str, outcome: &dyn Fn() -> Result<()>| {
        eprintln!("\n==> {name}");
        let start = Instant::now();
        let outcome = outcome();
        let seconds = start.elapsed().as_secs();
        match outcome {
            Ok(()) => eprintln!("==> {name}: ok ({seconds} s)"),
            Err(error) => {
                eprintln!("==> {name}: failed: {error:#}");
                failed.push(name);
            }
        }
    };
    step("format", &|| installed("fmt", &["fmt", "--all", "--check"]));
    step("lints", &|| installed("clippy", LINTS));
    if with == Peers::Installed {
        step("peers", &peers::run);
    }
    step("tests", &|| shown(tests(with)));
    // The summary of the tests is what people look for, so this one speaks only if it fails.
    step("documentation examples", &|| {
        silent(cargo(&["test", "--doc", "--workspace", "--quiet"]))
    });
    if failed.is_empty() {
        match with {
            Peers::Installed => eprintln!("\nall checks passed"),
            Peers::LeftOut => {
                eprintln!("\nall checks passed, but no test with a real MCP client ran");
            }
        }
        return Ok(());
    }
    bail!("failed: {}", failed.join(", "))
}

const LINTS: &[&str] = &[
    "clippy",
    "--workspace",
    "--all-targets",
    "--quiet",
    "--",
    "--deny=warnings",
];

/// A step that needs a component of the toolchain; without it there is nothing to check with.
fn installed(subcommand: &str, arguments: &[&str]) -> Result<()> {
    if !has(subcommand) {
        bail!("cargo {subcommand} is not installed: run `rustup component add clippy rustfmt`");
    }
    shown(cargo(arguments))
}

fn tests(with: Peers) -> Command {
    let skips = with == Peers::LeftOut;
    if has("nextest") {
        let mut command = cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]);
        if skips {
            command.arg(format!("--filterset=not test(/^{PEER_TESTS}/)"));
        }
        return command;
    }
    eprintln!("cargo-nextest is not installed: the tests run under plain cargo");
    let mut command = cargo(&[
        "test",
        "--workspace",
        "--no-fail-fast",
        "--lib",
        "--bins",
        "--tests",
    ]);
    if skips {
        command.args(["--", "--skip", PEER_TESTS]);
    }
    command
}
