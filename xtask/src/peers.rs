//! Installs the MCP clients and the conformance suite that the tests talk to.
//!
//! They are pinned beside the tests and live in `target/peers`, so nothing outside of the
//! repository changes. What is installed already is left alone, also without a network.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use crate::run::{program, root, silent};

/// What is installed, below the tests; a change to any of them installs again.
const PINS: [&str; 2] = ["package.json", "requirements.txt"];

/// How the pin of the Python library begins.
const LIBRARY: &str = "mcp==";

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
    source(&place)?;
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

/// Unpacks the source of the Python library: the server that it is tested for conformance with is
/// in no package.
fn source(place: &Path) -> Result<()> {
    let pins = fs::read_to_string(place.join("requirements.txt"))?;
    let pin = pins.lines().find(|line| line.starts_with(LIBRARY));
    let pin = pin.context("the Python library is not pinned")?;
    let folder = place.join("source");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder)?;
    let mut pip = at(place, "python/bin/python");
    let only_source = ["--no-deps", "--no-binary", "mcp", "--dest", "source", pin];
    pip.args(["-m", "pip", "download", "--quiet"])
        .args(only_source);
    silent(pip).context(unreachable("pip", "Python"))?;
    let name = pin.replace("==", "-");
    let mut unpack = at(place, "python/bin/python");
    let archive = format!("source/{name}.tar.gz");
    unpack.args(["-m", "tarfile", "-e", &archive, "source"]);
    silent(unpack)?;
    fs::rename(folder.join(&name), folder.join("mcp"))?;
    fs::remove_file(place.join(archive))?;
    Ok(())
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
