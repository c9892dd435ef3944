//! Real clients and the public conformance suite against the real program.
//!
//! They are installed into `target/peers` by `cargo xtask peers`. Nothing is skipped without
//! them: a suite that did not run has not passed.

mod browser;
mod clients;
pub(crate) mod conformance;
mod inspector;
mod knowledge;
mod matrix;
mod web;

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use crate::support::{Ran, TestEnv};

/// What the program is to offer and to list, over both transports: the Inspector calls only
/// what is listed.
const OFFERS: [&str; 3] = ["--conformance-fixtures", "--toolsets", "gate"];

/// A folder with every peer in it.
pub(crate) struct Peers {
    folder: PathBuf,
}

impl Peers {
    pub(crate) fn installed() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        let folder = root.join("target/peers");
        assert!(
            folder.join("installed").exists(),
            "the MCP clients are not installed: run `./test`, or `cargo xtask peers` alone"
        );
        Self { folder }
    }

    /// A file of the installation, as an argument.
    pub(crate) fn path(&self, below: &str) -> String {
        self.folder.join(below).to_string_lossy().into_owned()
    }

    /// Runs a script of the installation under its own Node.
    fn node(&self, env: &TestEnv, script: &str, arguments: &[&str]) -> Ran {
        let mut all = vec![script];
        all.extend(arguments);
        let node = self.path("node_modules/node/bin/node");
        Ran::from(env.other(&node, &all).output().unwrap())
    }

    fn python(&self, env: &TestEnv, script: &str, arguments: &[&str]) -> Ran {
        let mut all = vec![script];
        all.extend(arguments);
        let python = self.path("python/bin/python");
        Ran::from(env.other(&python, &all).output().unwrap())
    }
}

/// A script beside the peers' pins.
fn script(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    folder.join(name).to_string_lossy().into_owned()
}

/// A running `tollgate serve`; killed when it is no longer needed.
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
}

impl Served {
    pub(crate) fn start(env: &TestEnv) -> Self {
        Self::start_with(env, &OFFERS)
    }

    pub(crate) fn start_with(env: &TestEnv, more: &[&str]) -> Self {
        let mut arguments = vec!["serve", "--port", "0"];
        arguments.extend(more);
        let mut command = env.command(&arguments);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("it ended early").unwrap();
        let url = first
            .split_whitespace()
            .find(|word| word.starts_with("http://"));
        let url = url
            .unwrap_or_else(|| panic!("no address in {first:?}"))
            .to_owned();
        Self { child, url }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The ways to reach the program.
#[derive(Clone, Copy, Debug)]
enum Transport {
    Stdio,
    Http,
}

/// Runs something with the words that lead a client to the program.
fn reached<T>(env: &TestEnv, transport: Transport, client: impl FnOnce(&[&str]) -> T) -> T {
    match transport {
        Transport::Stdio => {
            let mut words = vec![env!("CARGO_BIN_EXE_tollgate"), "mcp"];
            words.extend(OFFERS);
            client(&words)
        }
        Transport::Http => {
            let served = Served::start(env);
            client(&[&served.url])
        }
    }
}
