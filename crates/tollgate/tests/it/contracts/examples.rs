//! Real conversations, recorded: envelopes, audit bodies, log lines, JSON lines.

use serde_json::{Value, json};

use super::{Files, check_folder, pretty};
use crate::support::{Lines, TestEnv, approval_id, mask};

const CONFIG: &str = r#"
[limits]
session_tokens = 10
call_timeout_ms = 2000

[review]
heavy_redaction = 2

[log]
file = "gate.log"

[providers.stub]
tools = ["prices.lookup", "shelf.write"]
writes = ["shelf.write"]
units = 4
"#;
const NO_CLOCKS: &str = r#"@id("mine.clocks")
forbid (principal, action, resource) when { resource.name == "time.now" };
"#;
const BOOK: &str = r#"{"book":"atlas"}"#;
const LEAKS: &str = r#"{"text":"ada@example.com and bob@example.com"}"#;

/// One user who has done a bit of everything, and the envelopes on the way.
fn story() -> (TestEnv, Vec<(&'static str, Value)>) {
    let env = TestEnv::with_config(CONFIG);
    env.write("config/tollgate/policies/mine.cedar", NO_CLOCKS);
    let mut told = Vec::new();
    let mut call = |title, tool, arguments, more: &[&str]| {
        let envelope = env.call(tool, arguments, more).json();
        told.push((title, envelope.clone()));
        envelope
    };
    call("ok", "prices.lookup", r#"{"item":"lamp"}"#, &[]);
    call("cache_hit", "prices.lookup", r#"{"item":"lamp"}"#, &[]);
    call("redacted", "text.lines", LEAKS, &[]);
    call("dry_run", "shelf.write", BOOK, &["--dry-run"]);
    call(
        "cache_miss",
        "prices.lookup",
        r#"{"item":"chair"}"#,
        &["--from-cache"],
    );
    call("unknown_tool", "text.stat", "{}", &[]);
    call("invalid_arguments", "text.stats", r#"{"text":5}"#, &[]);
    call("policy_denied", "time.now", "{}", &[]);
    let asked = call("confirmation_required", "shelf.write", BOOK, &[]);
    let token = env.approver();
    env.run(&["approve", &approval_id(&asked), "--token", &token])
        .exits(0);
    let done = call("approved", "shelf.write", BOOK, &[]);
    assert_eq!(done["status"], "ok");
    call(
        "budget_exceeded",
        "prices.lookup",
        r#"{"item":"chair"}"#,
        &[],
    );
    let items = env.run(&["review", "list", "--json"]).exits(0).json();
    let item = items["items"][0]["item_id"].as_str().unwrap();
    env.run(&["review", "resolve", item, "note", "--token", &token])
        .exits(0);
    let tokens = env.run(&["token", "list", "--json"]).exits(0).json();
    let token = tokens["tokens"][0]["id"].as_str().unwrap();
    env.run(&["token", "revoke", token]).exits(0);
    (env, told)
}

pub(super) fn clean(value: &Value) -> Value {
    let mut value = value.clone();
    mask(&mut value);
    value
}

#[test]
fn examples_of_envelopes_audit_bodies_and_log_lines_are_committed() {
    let (env, told) = story();
    let envelopes: Files = told
        .iter()
        .map(|(title, envelope)| (format!("{title}.json"), pretty(&clean(envelope))))
        .collect();
    check_folder("contracts/envelope", &envelopes);

    let mut bodies = Files::new();
    for body in env.recorded() {
        let kind = body["kind"].as_str().unwrap();
        let name = match body["tool"].as_str() {
            Some("shelf.write") if kind == "ending" && body["consent"] == "human" => {
                "ending-effect"
            }
            _ => kind,
        };
        bodies
            .entry(format!("{name}.json"))
            .or_insert_with(|| pretty(&clean(&body)));
    }
    check_folder("contracts/audit", &bodies);

    let log = std::fs::read_to_string(env.path("config/tollgate/gate.log")).unwrap();
    let lines: Vec<String> = log
        .lines()
        .map(|line| clean(&serde_json::from_str(line).unwrap()).to_string() + "\n")
        .collect();
    let files = Files::from([("events.jsonl".to_owned(), lines.concat())]);
    check_folder("contracts/log", &files);
    env.whole();
}

/// A conversation and its record.
struct Transcript {
    lines: Lines,
    text: String,
}

impl Transcript {
    fn of(env: &TestEnv) -> Self {
        Self {
            lines: Lines::start(env, &[]),
            text: String::new(),
        }
    }

    fn send(&mut self, line: &str) {
        self.lines.send(line);
        self.text.push_str(&format!("{}\n", json!({"in": line})));
    }

    /// Reads up to and with an event; gives it.
    fn until(&mut self, event: &str) -> Value {
        loop {
            let next = self.lines.next().expect("the stream ended too early");
            self.text
                .push_str(&format!("{}\n", json!({"out": clean(&next)})));
            if next["event"] == event {
                return next;
            }
        }
    }

    /// Sends a line and reads its four events; gives the payload.
    fn ask(&mut self, line: &str) -> Value {
        self.send(line);
        let response = self.until("response");
        self.until("done");
        response["payload"].clone()
    }
}

#[test]
fn examples_of_json_lines_are_committed() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"prices.lookup\", \"shelf.write\"]\nwrites = [\"shelf.write\"]\nunits = 4\n",
    );
    let mut files = Files::new();
    let mut keep = |name: &str, transcript: Transcript| {
        files.insert(format!("{name}.jsonl"), transcript.text);
    };

    let mut call = Transcript::of(&env);
    call.ask(r#"{"id":1,"method":"text.stats","params":{"text":"hello"}}"#);
    call.ask(r#"{"id":2,"method":"text.stats","params":{"text":"hello"}}"#);
    call.ask(r#"{"id":"three","method":"prices.lookup","params":{"item":"lamp"}}"#);
    call.ask(r#"{"id":4,"method":"prices.lookup","_meta":{"tollgate/call":{"dry_run":true}}}"#);
    keep("call", call);

    let mut consent = Transcript::of(&env);
    let write = r#"{"id":1,"method":"shelf.write","params":{"book":"atlas"}}"#;
    let id = approval_id(&consent.ask(write));
    env.run(&["approve", &id, "--token", &env.approver()])
        .exits(0);
    consent.ask(write);
    consent.ask(write);
    keep("consent", consent);

    let mut refused = Transcript::of(&env);
    refused.ask(r#"{"id":1,"method":"text.stat"}"#);
    refused.ask(r#"{"id":2,"method":"text.stats","params":{"text":5}}"#);
    refused.ask(r#"{"id":3,"method":"text.stats","colour":1}"#);
    refused.ask("{\"id\":4,");
    keep("refused", refused);

    env.configure("[providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 60000\n");
    let mut cancel = Transcript::of(&env);
    cancel.send(r#"{"id":1,"method":"slow.read"}"#);
    cancel.until("budget_estimated");
    cancel.send(r#"{"method":"$/cancel","params":{"id":1}}"#);
    cancel.until("done");
    keep("cancel", cancel);
    check_folder("contracts/jsonl", &files);
}
