//! Everything that must hold, in one go. All steps run even if one fails.

use std::{process::Command, time::Instant};

use anyhow::{Result, bail};

use crate::run::{cargo, has, shown, silent};

pub(crate) fn run() -> Result<()> {
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
    step("tests", &|| shown(tests()));
    // The summary of the tests is what people look for, so this one speaks only if it fails.
    step("documentation examples", &|| {
        silent(cargo(&["test", "--doc", "--workspace", "--quiet"]))
    });
    if failed.is_empty() {
        eprintln!("\nall checks passed");
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

fn tests() -> Command {
    if has("nextest") {
        return cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]);
    }
    eprintln!("cargo-nextest is not installed: the tests run under plain cargo");
    cargo(&[
        "test",
        "--workspace",
        "--no-fail-fast",
        "--lib",
        "--bins",
        "--tests",
    ])
}
