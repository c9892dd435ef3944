//! Starts cargo and installers, and knows where the repository is.

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
    let mut command = program(Path::new("cargo"));
    command.current_dir(root()).args(arguments);
    command
}

/// A program that a chore needs.
#[expect(
    clippy::disallowed_methods,
    reason = "a chore starts cargo and installers, not tools"
)]
pub(crate) fn program(path: &Path) -> Command {
    Command::new(path)
}

/// Runs a command whose output the person wants to see.
pub(crate) fn shown(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| not_started(&command))?;
    if !status.success() {
        bail!("{status}");
    }
    Ok(())
}

/// Runs a command whose output matters only if it fails.
pub(crate) fn silent(mut command: Command) -> Result<()> {
    let output = command.output().with_context(|| not_started(&command))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("{}\n{}", output.status, String::from_utf8_lossy(&said));
    }
    Ok(())
}

fn not_started(command: &Command) -> String {
    format!("{} did not start", command.get_program().display())
}

/// Whether a cargo subcommand is installed.
pub(crate) fn has(subcommand: &str) -> bool {
    cargo(&[subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
