//! Starts cargo, and knows where the repository is.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// `cargo` with these arguments, in the repository's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "a chore starts cargo, not a tool"
    )]
    let mut command = Command::new("cargo");
    command.current_dir(root()).args(arguments);
    command
}

/// Runs a command whose output the person wants to see.
pub(crate) fn shown(mut command: Command) -> Result<()> {
    let status = command.status().context("cargo did not start")?;
    if !status.success() {
        bail!("{status}");
    }
    Ok(())
}

/// Runs a command whose output matters only if it fails.
pub(crate) fn silent(mut command: Command) -> Result<()> {
    let output = command.output().context("cargo did not start")?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("{}\n{}", output.status, String::from_utf8_lossy(&said));
    }
    Ok(())
}

/// Whether a cargo subcommand is installed.
pub(crate) fn has(subcommand: &str) -> bool {
    cargo(&[subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
