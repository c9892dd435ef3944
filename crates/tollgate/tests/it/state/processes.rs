//! Several programs on one state folder.

use std::process::Child;

use serde_json::{Value, json};

use crate::support::{Lines, TestEnv};

const MANY: usize = 8;

fn finished(children: Vec<Child>) -> Vec<Value> {
    let outputs = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap());
    let answers = outputs.map(|output| {
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, "", "{:?}", output.status);
        serde_json::from_slice(&output.stdout).unwrap()
    });
    answers.collect()
}

fn call(env: &TestEnv, tool: &str, number: usize) -> Child {
    let arguments = json!({"n": number}).to_string();
    env.start(&["call", tool, "--args", &arguments, "--json"])
}

#[test]
fn eight_programs_start_at_once_on_a_folder_that_does_not_exist() {
    let env = TestEnv::with_config("[providers.stub]\ntools = [\"echo.back\"]\n");
    let children = (0..MANY).map(|number| call(&env, "echo.back", number));
    let answers = finished(children.collect());
    assert!(answers.iter().all(|answer| answer["status"] == "ok"));
    let mut receipts: Vec<&str> = answers
        .iter()
        .map(|answer| answer["meta"]["receipt"].as_str().unwrap())
        .collect();
    receipts.sort_unstable();
    receipts.dedup();
    assert_eq!(receipts.len(), MANY);
    assert_eq!(env.whole()["rows"], MANY);
}

#[test]
fn eight_programs_cannot_overspend_one_budget() {
    let env = TestEnv::with_config(
        "[limits]\nsession_tokens = 10\n\
         [providers.stub]\ntools = [\"prices.lookup\"]\nunits = 3\ndelay_ms = 50\n",
    );
    let children = (0..MANY).map(|number| call(&env, "prices.lookup", number));
    let answers = finished(children.collect());
    let paid = answers
        .iter()
        .filter(|answer| answer["status"] == "ok")
        .count();
    assert_eq!(paid, 3);
    let refused = answers.iter().filter(|answer| answer["status"] == "error");
    for answer in refused {
        assert_eq!(answer["error"]["kind"], "budget_exceeded", "{answer}");
    }
    let ledger = env.run(&["ledger", "--json"]).exits(0).json();
    assert_eq!(ledger["session_consumed"], 9);
    assert_eq!(ledger["remaining_limit"], 1);
    env.whole();
}

#[test]
fn an_approval_that_eight_programs_want_is_used_once() {
    let env =
        TestEnv::with_config("[providers.stub]\ntools = [\"a.write\"]\nwrites = [\"a.write\"]\n");
    let token = env.approver();
    let asked = env.call("a.write", r#"{"n":0}"#, &[]).exits(3).json();
    let id = crate::support::approval_id(&asked);
    env.run(&["approve", &id, "--token", &token]).exits(0);
    let children = (0..MANY).map(|_| call(&env, "a.write", 0));
    let outputs: Vec<_> = children
        .collect::<Vec<_>>()
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    assert!(outputs.iter().all(|output| output.stderr.is_empty()));
    let recorded = env.recorded();
    let intents = recorded.iter().filter(|row| row["kind"] == "intent");
    assert_eq!(intents.count(), 1, "the effect happened once");
    env.whole();
}

#[test]
fn long_running_programs_append_to_one_chain() {
    let env = TestEnv::new();
    let mut all: Vec<Lines> = (0..4).map(|_| Lines::start(&env, &[])).collect();
    for round in 0..10 {
        for (number, lines) in all.iter_mut().enumerate() {
            let text = format!("{number} {round}");
            lines.send(
                &json!({"id": 1, "method": "text.stats", "params": {"text": text}}).to_string(),
            );
        }
    }
    for lines in &mut all {
        lines.end();
        let done = lines
            .rest()
            .into_iter()
            .filter(|event| event["event"] == "done");
        assert_eq!(done.count(), 10);
        assert_eq!(lines.wait(), Some(0));
    }
    let found = env.whole();
    assert_eq!(found["rows"], 40);
    assert_eq!(found["anchored"], 40, "they ended in order");
}

#[test]
fn a_call_of_a_living_program_is_not_ended_by_another() {
    let env = TestEnv::with_config("[providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 400\n");
    let mut lines = Lines::start(&env, &[]);
    lines.send(r#"{"id":1,"method":"slow.read"}"#);
    lines.until("budget_estimated");
    let other = env.call("time.now", "{}", &[]).exits(0);
    assert_eq!(other.err, "");
    assert_eq!(lines.until("response")["payload"]["status"], "ok");
}

#[test]
fn killed_programs_leave_a_whole_chain_and_every_acknowledged_call() {
    let env = TestEnv::new();
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let mut lines = Lines::start(&env, &["--concurrent", "4"]);
        for number in 0..20 {
            let text = format!("{round} {number}");
            lines.send(
                &json!({"id": number, "method": "text.stats", "params": {"text": text}})
                    .to_string(),
            );
        }
        for _ in 0..=round * 3 {
            let payload = lines.until("response")["payload"].clone();
            acknowledged.push(payload["meta"]["call_id"].clone());
        }
        // Dropping it kills it wherever it is.
    }
    env.ok("time.now", "{}");
    env.whole();
    let recorded = env.recorded();
    for call in acknowledged {
        let endings = recorded
            .iter()
            .filter(|row| row["call_id"] == call && row["kind"] == "ending");
        assert_eq!(endings.count(), 1, "{call}");
    }
}
