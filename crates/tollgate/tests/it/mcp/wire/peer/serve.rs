//! A running `tollgate serve`.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpStream},
    process::{Child, ChildStderr, ChildStdout, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Ask, Heard, Open, result};
use crate::support::TestEnv;

/// A gate on a port of its own; killed if a test fails.
pub(in super::super) struct Gate {
    child: Child,
    pub(in super::super) address: SocketAddr,
    /// Held open, so that the program never writes to nobody.
    _output: BufReader<ChildStdout>,
    notes: BufReader<ChildStderr>,
}

impl Gate {
    pub(in super::super) fn open(env: &TestEnv) -> Self {
        Self::open_with(env, &[])
    }

    /// The same after a shell has done this.
    pub(in super::super) fn under(env: &TestEnv, first: &str) -> Self {
        let program = env.command(&[]).get_program().to_owned();
        let script = format!("{first}; exec \"$0\" serve --port 0");
        let mut command = env.other("/bin/sh", &["-c", &script, program.to_str().unwrap()]);
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::of(command.spawn().unwrap())
    }

    pub(in super::super) fn open_with(env: &TestEnv, more: &[&str]) -> Self {
        let mut arguments = vec!["serve", "--port", "0"];
        arguments.extend(more);
        Self::of(env.start(&arguments))
    }

    /// The process.
    pub(in super::super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn of(mut child: Child) -> Self {
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.strip_suffix("/mcp"))
            .unwrap_or_else(|| panic!("{line}"));
        Self {
            address: address.parse().unwrap(),
            notes: BufReader::new(child.stderr.take().unwrap()),
            child,
            _output: output,
        }
    }

    /// The next thing it says to people.
    pub(in super::super) fn note(&mut self) -> String {
        let mut line = String::new();
        self.notes.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Sends a request on a connection of its own.
    pub(in super::super) fn send(&self, ask: &Ask) -> TcpStream {
        Open::sending(self.address, &ask.bytes(self.address))
    }

    /// Sends a request and reads the head of its answer.
    #[track_caller]
    pub(in super::super) fn begin(&self, ask: &Ask) -> Open {
        Open::answering(self.send(ask)).expect("no answer came")
    }

    /// Sends a request and reads the whole answer.
    #[track_caller]
    pub(in super::super) fn ask(&self, ask: &Ask) -> Heard {
        self.begin(ask).whole()
    }

    /// The result of a modern request.
    #[track_caller]
    pub(in super::super) fn result(&self, ask: &Ask) -> Value {
        result(&self.ask(ask).has(200).json())
    }

    /// The result of a modern call.
    #[track_caller]
    pub(in super::super) fn call(&self, tool: &str, arguments: Value) -> Value {
        self.result(&Ask::call(tool, arguments))
    }

    /// Begins a session of an older client; gives its id.
    #[track_caller]
    pub(in super::super) fn session(&self, with: impl FnOnce(Ask) -> Ask) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "mcp", "version": "1"},
        });
        let heard = self.ask(&with(Ask::legacy("", "initialize", params)));
        let heard = heard.has(200);
        heard.header("mcp-session-id").unwrap().to_owned()
    }

    /// Whether everything that was sent on a connection has been read.
    pub(in super::super) fn has_read(&self, stream: &TcpStream) -> bool {
        let port = |end: &str| u16::from_str_radix(end.rsplit(':').next().unwrap(), 16).unwrap();
        let ends = (self.address.port(), stream.local_addr().unwrap().port());
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        table.lines().skip(1).any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_taken = words[9] != "0" && words[4].ends_with(":00000000");
            (port(words[1]), port(words[2])) == ends && is_taken
        })
    }

    pub(in super::super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end; gives the exit code.
    pub(in super::super) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
