//! Installs the MCP clients and the conformance suite that the tests talk to.
//!
//! They are pinned beside the tests and live in `target/peers`, so nothing outside of the
//! repository changes. What is installed already is left alone, also without a network.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use crate::run::{program, root, silent};

/// What is installed, below the tests; a change to any of them installs again.
const PINS: [&str; 2] = ["package.json", "requirements.txt"];

/// Says what was installed; written last, so that half an installation is none.
const STAMP: &str = "installed";

pub(crate) fn run() -> Result<()> {
    let pins = root().join("crates/tollgate/tests/peers");
    let place = root().join("target/peers");
    let wanted = PINS
        .iter()
        .map(|name| fs::read_to_string(pins.join(name)).with_context(|| (*name).to_owned()))
        .collect::<Result<String>>()?;
    let stamp = place.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    fs::create_dir_all(&place)?;
    drop(fs::remove_file(&stamp));
    for name in PINS {
        fs::copy(pins.join(name), place.join(name))?;
    }
    eprintln!("installing into target/peers (a minute or two, once)");
    node(&place)?;
    python(&place)?;
    fs::write(&stamp, wanted)?;
    Ok(())
}

fn node(place: &Path) -> Result<()> {
    let mut npm = at(place, "npm");
    // A lock file would name the packages of one platform only.
    npm.args([
        "install",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    silent(npm).context(unreachable("npm", "Node"))
}

fn python(place: &Path) -> Result<()> {
    let mut venv = at(place, "python3");
    venv.args(["-m", "venv", "--clear", "python"]);
    silent(venv).context("python3 cannot make an environment: is its `venv` module installed?")?;
    let mut pip = at(place, "python/bin/python");
    pip.args(["-m", "pip", "install", "--quiet", "-r", "requirements.txt"]);
    silent(pip).context(unreachable("pip", "Python"))
}

fn unreachable(installer: &str, language: &str) -> String {
    format!(
        "{installer} could not install the {language} peers: the MCP tests need them, and a package \
         registry has to be reachable once; `cargo xtask ci --without-peers` leaves them and \
         their tests out"
    )
}

/// A program of the installation, or of the machine, in the peers' folder.
fn at(place: &Path, name: &str) -> Command {
    let own = place.join(name);
    let mut command = program(if own.exists() { &own } else { Path::new(name) });
    command.current_dir(place);
    command
}
