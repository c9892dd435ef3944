//! A user's machine in a temporary folder, and the real program run on it.
//!
//! Invariant: nothing a test starts sees the real home, the real environment or another
//! test's state.

mod lines;
mod mask;
mod pty;
mod site;
mod state;

pub(crate) use lines::Lines;
pub(crate) use mask::{mask, masked};
pub(crate) use pty::{Watched, at_a_terminal, lines_at, watched};
pub(crate) use site::site;
pub(crate) use state::database;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;
use tollgate::config::Environment;

/// One user with an empty home, and a project folder to work in.
pub(crate) struct TestEnv {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Standard output, which must be exactly one JSON document on one line.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "{self:#?}");
        serde_json::from_str(&self.out).unwrap()
    }

    /// Fails the test unless the program ended with this code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "config/tollgate", "data", "state", "project", "tmp"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self {
            folder,
            variables: Vec::new(),
        }
    }

    /// A user with this `tollgate.toml`.
    pub(crate) fn with_config(text: &str) -> Self {
        let env = Self::new();
        env.configure(text);
        env
    }

    /// Replaces the user's `tollgate.toml`.
    pub(crate) fn configure(&self, text: &str) {
        self.write("config/tollgate/tollgate.toml", text);
    }

    /// Sets an environment variable for every later run.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    /// Where the database lives.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.path("data/tollgate")
    }

    /// Writes a file below the folder; gives its path as an argument.
    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.into_os_string().into_string().unwrap()
    }

    /// The program, ready to start in the project's folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(Path::new(env!("CARGO_BIN_EXE_tollgate")));
        command.args(arguments);
        self.prepare(command)
    }

    /// Another program on the same machine.
    pub(crate) fn other(&self, program_name: &str, arguments: &[&str]) -> Command {
        let mut command = program(Path::new(program_name));
        command.args(arguments);
        self.prepare(command)
    }

    fn prepare(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("TMPDIR", self.path("tmp"))
            .env("PATH", Self::search_path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.path("project"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Where Python and a shell are found.
    fn search_path() -> String {
        let environment = Environment::from_process().unwrap();
        environment.text("PATH").unwrap_or_default().to_owned()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// Runs with this on standard input.
    pub(crate) fn feed(&self, arguments: &[&str], input: impl Into<Vec<u8>>) -> Ran {
        let mut child = self.start(arguments);
        let mut stdin = child.stdin.take().unwrap();
        let input = input.into();
        // The program may end before it has read everything.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran::from(output)
    }

    /// Starts the program with all three streams piped.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped());
        command.spawn().unwrap()
    }

    /// `tollgate call TOOL --args ARGUMENTS --json MORE…`.
    pub(crate) fn call(&self, tool: &str, arguments: &str, more: &[&str]) -> Ran {
        let mut all = vec!["call", tool, "--args", arguments, "--json"];
        all.extend(more);
        self.run(&all)
    }

    /// A call that must succeed; gives the envelope.
    #[track_caller]
    pub(crate) fn ok(&self, tool: &str, arguments: &str) -> Value {
        self.call(tool, arguments, &[]).exits(0).json()
    }

    /// An approver token.
    #[track_caller]
    pub(crate) fn approver(&self) -> String {
        self.approver_with(&["--quiet"]).out.trim().to_owned()
    }

    /// What making one says; a human types the code.
    #[track_caller]
    pub(crate) fn approver_with(&self, more: &[&str]) -> Ran {
        let create = ["token", "create", "--approver"];
        let made = at_a_terminal(self, &[&create[..], more].concat(), str::to_owned);
        made.ran.exits(0)
    }

    /// Trusts the project's folder; a human types the code.
    #[track_caller]
    pub(crate) fn trust(&self) {
        let trusted = at_a_terminal(self, &["trust", "."], str::to_owned);
        trusted.ran.exits(0);
    }

    /// The chain's state; fails the test unless it is whole.
    #[track_caller]
    pub(crate) fn whole(&self) -> Value {
        let found = self.run(&["audit", "verify", "--json"]).exits(0).json();
        assert_eq!(found["whole"], true);
        found
    }

    /// The bodies of all audit entries, the oldest first.
    #[track_caller]
    pub(crate) fn recorded(&self) -> Vec<Value> {
        let listed = self.run(&["audit", "list", "--limit", "1000", "--json"]);
        let listed = listed.exits(0).json();
        let entries = listed["entries"].as_array().unwrap();
        let bodies = entries.iter().rev().map(|entry| entry["body"].clone());
        bodies.collect()
    }

    /// Waits until a side effect has been announced.
    pub(crate) fn wait_for_intent(&self) {
        while !self.recorded().iter().any(|row| row["kind"] == "intent") {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether code can be run in a sandbox here; says so if it cannot.
pub(crate) fn can_run() -> bool {
    const PYTHON: &str = "/usr/bin/python3";
    let can = cfg!(target_os = "linux") && fs::exists(PYTHON).unwrap_or(false);
    if !can {
        eprintln!("skipped: there is no {PYTHON}");
    }
    can
}

/// The envelope that a result at MCP was made of: its report, and its own object as `data`.
pub(crate) fn envelope(result: &Value) -> Value {
    let report = &result["_meta"]["tollgate/result"];
    if report.is_null() {
        return result["structuredContent"].clone();
    }
    let mut envelope = report.clone();
    envelope["data"] = result["structuredContent"].clone();
    envelope
}

/// The id of the approval a refused call waits for.
#[track_caller]
pub(crate) fn approval_id(envelope: &Value) -> String {
    let id = &envelope["error"]["details"]["approval_id"];
    id.as_str().unwrap().to_owned()
}

#[expect(
    clippy::disallowed_methods,
    reason = "black-box tests start the real program, here only"
)]
fn program(path: &Path) -> Command {
    Command::new(path)
}
