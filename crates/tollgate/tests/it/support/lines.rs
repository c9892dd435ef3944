//! A conversation with `tollgate jsonl`.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout},
};

use serde_json::Value;

use super::TestEnv;

/// A running `tollgate jsonl`; killed if a test fails.
pub(crate) struct Lines {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Lines {
    pub(crate) fn start(env: &TestEnv, more: &[&str]) -> Self {
        let mut arguments = vec!["jsonl"];
        arguments.extend(more);
        Self::command(env, &arguments)
    }

    /// Any command that answers in lines.
    pub(crate) fn command(env: &TestEnv, arguments: &[&str]) -> Self {
        let mut child = env.start(arguments);
        Self {
            input: child.stdin.take(),
            output: child.stdout.take().map(BufReader::new),
            child,
        }
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// Sends one line.
    pub(crate) fn send(&mut self, line: &str) {
        self.raw(format!("{line}\n").as_bytes());
    }

    /// The next event; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let output = self.output.as_mut().unwrap();
        output.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Reads up to and with the next event of this kind.
    #[track_caller]
    pub(crate) fn until(&mut self, event: &str) -> Value {
        loop {
            let next = self.next().expect("the stream ended too early");
            if next["event"] == event {
                return next;
            }
        }
    }

    /// Sends one line and gives the payload of its response.
    #[track_caller]
    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        let response = self.until("response");
        self.until("done");
        response["payload"].clone()
    }

    /// Ends the input.
    pub(crate) fn end(&mut self) {
        self.input = None;
    }

    /// Stops reading the output.
    pub(crate) fn hang_up(&mut self) {
        self.output = None;
    }

    /// Waits for the program to end; gives its exit code, or nothing after a signal.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Everything that is still to come, as it is written.
    pub(crate) fn rest_of_text(&mut self) -> String {
        let mut text = String::new();
        let output = self.output.as_mut().unwrap();
        output.read_to_string(&mut text).unwrap();
        text
    }

    /// Every event that is still to come.
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
