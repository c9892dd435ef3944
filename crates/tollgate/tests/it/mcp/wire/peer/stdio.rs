//! A client of `tollgate mcp`.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
};

use serde_json::{Value, json};

use super::{PATIENCE, error, meta, meta_with_dialogs, request, result, with_meta};
use crate::support::TestEnv;

/// A running `tollgate mcp` and the client it serves; killed if a test fails.
pub(in super::super) struct Stdio {
    pub(in super::super) child: Child,
    /// Goes with every request; an old client says nothing.
    pub(in super::super) meta: Option<Value>,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
}

impl Stdio {
    fn start(env: &TestEnv, more: &[&str], meta: Option<Value>) -> Self {
        let mut arguments = vec!["mcp"];
        arguments.extend(more);
        let mut child = env.start(&arguments);
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            meta,
            lines,
            asked: 0,
        }
    }

    /// A client of today that offers nothing.
    pub(in super::super) fn modern(env: &TestEnv, more: &[&str]) -> Self {
        Self::start(env, more, Some(meta()))
    }

    /// A client of today that can show a dialog.
    pub(in super::super) fn with_dialogs(env: &TestEnv) -> Self {
        Self::start(env, &[], Some(meta_with_dialogs()))
    }

    /// The same, started with these words.
    pub(in super::super) fn with_dialogs_and(env: &TestEnv, more: &[&str]) -> Self {
        Self::start(env, more, Some(meta_with_dialogs()))
    }

    /// A client that has not said anything yet.
    pub(in super::super) fn silent(env: &TestEnv, more: &[&str]) -> Self {
        Self::start(env, more, None)
    }

    /// An older client after its handshake.
    pub(in super::super) fn legacy(env: &TestEnv, capabilities: Value) -> Self {
        let mut client = Self::silent(env, &[]);
        client.shake_hands("2025-11-25", capabilities);
        client
    }

    /// The handshake of older versions; gives what the server says.
    pub(in super::super) fn shake_hands(&mut self, version: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "mcp", "version": "1"},
        });
        let said = self.result("initialize", params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        said
    }

    /// Sends bytes as they are.
    pub(in super::super) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(in super::super) fn line(&mut self, line: &str) {
        self.raw(format!("{line}\n").as_bytes());
    }

    pub(in super::super) fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    /// The next message as it is written; `None` at the end.
    #[track_caller]
    pub(in super::super) fn next_line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("nothing came"),
        }
    }

    /// The next message.
    #[track_caller]
    pub(in super::super) fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_line().expect("the stream ended")).unwrap()
    }

    /// Sends a request and gives its id.
    pub(in super::super) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let params = match &self.meta {
            Some(meta) => with_meta(params, meta),
            None => params,
        };
        self.send(&request(self.asked, method, &params));
        self.asked
    }

    /// Sends a request and gives its answer, which is the next message.
    #[track_caller]
    pub(in super::super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    #[track_caller]
    pub(in super::super) fn result(&mut self, method: &str, params: Value) -> Value {
        result(&self.ask(method, params))
    }

    #[track_caller]
    pub(in super::super) fn error(&mut self, method: &str, params: Value) -> Value {
        error(&self.ask(method, params))
    }

    /// The result of a call.
    #[track_caller]
    pub(in super::super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Ends the input and gives everything that is still said.
    pub(in super::super) fn end(&mut self) -> Vec<Value> {
        self.input = None;
        let rest = std::iter::from_fn(|| self.next_line());
        rest.map(|line| serde_json::from_str(&line).unwrap())
            .collect()
    }

    /// Ends the input and waits for the program; gives its exit code and what it complained of.
    pub(in super::super) fn finish(mut self) -> (Option<i32>, String) {
        self.end();
        let mut complaints = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut complaints).unwrap();
        (self.child.wait().unwrap().code(), complaints)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
