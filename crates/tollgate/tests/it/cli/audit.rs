//! The audit log, as an auditor and as an intruder meet it.

use std::fs;

use ed25519_dalek::{Signature, VerifyingKey};
use rusqlite::{params, types::Value as Stored};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Ran, TestEnv, approval_id, database};

/// A log with every kind of entry people make at the command line.
fn history() -> TestEnv {
    let env = TestEnv::new();
    env.ok("text.stats", r#"{"text":"hello"}"#);
    env.ok("text.stats", r#"{"text":"hello"}"#);
    env.call("no.such", "{}", &[]).exits(2);
    let asked = env.call("session.forget", "{}", &[]).exits(3).json();
    let token = env.approver();
    let id = approval_id(&asked);
    env.run(&["approve", &id, "--token", &token]).exits(0);
    env.ok("session.forget", "{}");
    env
}

#[track_caller]
fn broken(env: &TestEnv) -> Vec<String> {
    let found = env.run(&["audit", "verify", "--json"]).exits(1).json();
    assert_eq!(found["whole"], false);
    let problems = found["problems"].as_array().unwrap().iter();
    problems
        .map(|one| one.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_untouched_log_is_whole() {
    let env = history();
    let found = env.whole();
    assert_eq!(found["rows"], env.recorded().len());
    assert_eq!(found["problems"], json!([]));
    assert!(found["anchored"].as_u64().unwrap() > 0);
    let people = env.run(&["audit", "verify"]).exits(0).out;
    assert!(people.starts_with("verified: "));
}

#[test]
fn a_log_that_does_not_exist_yet_says_so() {
    let env = TestEnv::new();
    let ran = env.run(&["audit", "verify"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.err.starts_with("error: "), "{ran:?}");
    assert!(!env.state_dir().join("tollgate.db").exists());
}

/// What else a row holds; each row has the next one changed.
const COLUMNS: [&str; 10] = [
    "hash",
    "chain",
    "kind",
    "call_id",
    "trace_id",
    "principal",
    "session",
    "tool",
    "status",
    "at",
];

#[test]
fn one_changed_byte_of_any_row_is_found() {
    let env = history();
    let connection = database(&env);
    for (row, column) in (1_i64..).zip(COLUMNS).take(env.recorded().len()) {
        for column in ["body", column] {
            let read = format!("SELECT {column} FROM audit_entries WHERE seq = ?1");
            let write = format!("UPDATE audit_entries SET {column} = ?2 WHERE seq = ?1");
            let was: Stored = connection
                .query_row(&read, [row], |found| found.get(0))
                .unwrap();
            let put = |value: &Stored| connection.execute(&write, params![row, value]).unwrap();
            put(&changed(&was));
            let problems = broken(&env);
            let place = format!("row {row}");
            let named = problems.iter().any(|one| one.contains(&place));
            assert!(named, "{column}: {problems:?}");
            put(&was);
        }
    }
    env.whole();
}

/// The same value with one byte changed.
fn changed(value: &Stored) -> Stored {
    match value {
        Stored::Null => Stored::Text("x".to_owned()),
        Stored::Integer(number) => Stored::Integer(number ^ 1),
        Stored::Real(number) => Stored::Real(number + 1.0),
        Stored::Text(text) => {
            let (last, rest) = text.as_bytes().split_last().unwrap();
            let last = if *last == b' ' { '_' } else { ' ' };
            Stored::Text(format!("{}{last}", std::str::from_utf8(rest).unwrap()))
        }
        Stored::Blob(bytes) => {
            let mut bytes = bytes.clone();
            bytes[0] ^= 1;
            Stored::Blob(bytes)
        }
    }
}

#[test]
fn a_changed_log_is_called_tampered_with_where_people_read() {
    let env = history();
    let changed = database(&env).execute(
        "UPDATE audit_entries SET status = 'changed' WHERE seq = 2",
        [],
    );
    assert_eq!(changed.unwrap(), 1);
    let people = env.run(&["audit", "verify"]).exits(1).out;
    let (first, rest) = people.split_once('\n').unwrap();
    assert_eq!(first, "TAMPERED");
    assert!(rest.starts_with("  row 2: "), "{people}");
    assert!(!people.contains("verified"), "{people}");
}

#[test]
fn removed_rows_are_missed_wherever_they_were() {
    let first = history();
    database(&first)
        .execute("DELETE FROM audit_entries WHERE seq = 1", [])
        .unwrap();
    broken(&first);

    let middle = history();
    database(&middle)
        .execute("DELETE FROM audit_entries WHERE seq = 3", [])
        .unwrap();
    assert!(broken(&middle)[0].contains("row 3: missing"));
}

#[test]
fn a_log_cut_short_is_found_even_if_its_head_agrees() {
    let env = history();
    let last = i64::try_from(env.recorded().len()).unwrap();
    let connection = database(&env);
    let keep = last - 2;
    let cut = [
        "DELETE FROM audit_entries WHERE seq > ?1",
        "DELETE FROM audit_signed_heads WHERE seq > ?1",
    ];
    for statement in cut {
        connection.execute(statement, [keep]).unwrap();
    }
    broken(&env);
    connection
        .execute(
            "UPDATE audit_head SET (seq, hash) = (SELECT seq, hash FROM audit_entries WHERE seq = ?1)",
            [keep],
        )
        .unwrap();
    let problems = broken(&env);
    assert!(
        problems.iter().any(|one| one.contains("anchor")),
        "{problems:?}"
    );
}

#[test]
fn a_forged_signature_is_found() {
    let env = history();
    database(&env)
        .execute(
            "UPDATE audit_signed_heads SET signature = zeroblob(64) WHERE seq = 1",
            [],
        )
        .unwrap();
    assert!(broken(&env)[0].contains("signed head 1"));
}

#[test]
fn entries_after_the_last_signed_head_are_reported() {
    let env = history();
    assert_eq!(env.whole()["tail_signed"], true);
    let connection = database(&env);
    let (last, previous) = connection
        .query_row(
            "SELECT seq, hash FROM audit_entries ORDER BY seq DESC LIMIT 1",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?)),
        )
        .unwrap();
    // What follows the chain can be appended without the key.
    let seq = last + 1;
    let body = r#"{"at":5,"kind":"forged"}"#;
    let mut hash = Sha256::new();
    hash.update(previous);
    hash.update(4_u64.to_be_bytes());
    hash.update("main");
    hash.update(seq.to_be_bytes());
    hash.update(Sha256::digest(body));
    let hash: [u8; 32] = hash.finalize().into();
    connection
        .execute(
            "INSERT INTO audit_entries (seq, chain, hash, at, kind, body)
             VALUES (?1, 'main', ?2, 5, 'forged', ?3)",
            params![seq, hash, body],
        )
        .unwrap();
    let found = env.whole();
    assert_eq!(found["rows"], seq);
    assert_eq!(found["tail_signed"], false);
    let people = env.run(&["audit", "verify"]).exits(0);
    assert!(people.err.contains("not signed yet"), "{people:?}");
}

#[test]
fn entries_are_listed_newest_first_and_filtered() {
    let env = history();
    let listed = env.run(&["audit", "list", "--json"]).exits(0).json();
    let entries = listed["entries"].as_array().unwrap();
    let places: Vec<u64> = entries
        .iter()
        .map(|one| one["seq"].as_u64().unwrap())
        .collect();
    assert!(places.is_sorted_by(|one, next| one > next));
    let two = env
        .run(&["audit", "list", "--limit", "2", "--json"])
        .exits(0)
        .json();
    assert_eq!(two["entries"], json!(entries[..2]));
    let stats = env.run(&["audit", "list", "--tool", "text.stats", "--json"]);
    let stats = stats.exits(0).json();
    assert_eq!(stats["entries"].as_array().unwrap().len(), 2);
    let trace = entries[0]["body"]["trace_id"].as_str().unwrap();
    let traced = env.run(&["audit", "list", "--trace", trace, "--json"]);
    let traced = traced.exits(0).json();
    assert!(
        traced["entries"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["body"]["trace_id"] == trace)
    );
    let people = env.run(&["audit", "list"]).exits(0).out;
    assert_eq!(people.lines().count(), entries.len() + 1);
}

#[test]
fn one_entry_is_shown_by_call_place_or_receipt() {
    let env = TestEnv::new();
    let answer = env.ok("text.stats", r#"{"text":"hello"}"#);
    let call = answer["meta"]["call_id"].as_str().unwrap();
    let receipt = answer["meta"]["receipt"].as_str().unwrap();
    let shown = |id: &str| env.run(&["audit", "show", id, "--json"]).exits(0).json();
    assert_eq!(shown(call), shown("1"));
    assert_eq!(shown(receipt), shown("1"));
    assert_eq!(shown("1")["entries"][0]["body"]["tool"], "text.stats");
    assert!(
        env.run(&["audit", "show", call])
            .exits(0)
            .out
            .contains("text.stats")
    );
    for missing in ["99", "nothing"] {
        env.run(&["audit", "show", missing]).exits(2);
    }
}

#[test]
fn every_call_has_exactly_one_ending_in_the_log() {
    let env = history();
    let mut calls = std::collections::BTreeMap::new();
    for row in env.recorded().iter().filter(|row| row["kind"] == "ending") {
        *calls.entry(row["call_id"].to_string()).or_insert(0) += 1;
    }
    assert_eq!(calls.len(), 5);
    assert!(calls.values().all(|count| *count == 1));
}

/// Reads lower-case hex.
fn unhex<const N: usize>(text: &Value) -> [u8; N] {
    let text = text.as_str().unwrap().as_bytes();
    let digit = |byte: u8| u8::try_from((byte as char).to_digit(16).unwrap()).unwrap();
    let bytes: Vec<u8> = text
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect();
    bytes.try_into().unwrap()
}

/// Writes lower-case hex.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Follows the links from `previous`, as the documentation says; gives the hash at the end.
#[track_caller]
fn follow(previous: [u8; 32], entries: &[Value]) -> [u8; 32] {
    entries.iter().fold(previous, |previous, entry| {
        let mut hash = Sha256::new();
        hash.update(previous);
        hash.update(4_u64.to_be_bytes());
        hash.update("main");
        hash.update(entry["seq"].as_u64().unwrap().to_be_bytes());
        hash.update(Sha256::digest(entry["body"].as_str().unwrap()));
        let hash: [u8; 32] = hash.finalize().into();
        assert_eq!(entry["hash"], hex(&hash));
        hash
    })
}

#[track_caller]
fn check_signature(head: &Value, key: &VerifyingKey) {
    let (seq, hash) = (&head["seq"], head["hash"].as_str().unwrap());
    let message = format!("tollgate audit head\nmain\n{seq}\n{hash}\n");
    let signature = Signature::from_bytes(&unhex(&head["signature"]));
    key.verify_strict(message.as_bytes(), &signature).unwrap();
}

/// The key the operator publishes.
fn public_key(env: &TestEnv) -> VerifyingKey {
    let text = fs::read_to_string(env.state_dir().join("audit-signing.pub")).unwrap();
    VerifyingKey::from_bytes(&unhex(&json!(text.trim()))).unwrap()
}

#[test]
fn a_receipt_can_be_checked_by_anyone() {
    let env = history();
    let key = public_key(&env);
    for seq in 1..=env.recorded().len() {
        let proof = env
            .run(&["audit", "receipt", &seq.to_string()])
            .exits(0)
            .json();
        let entries = proof["entries"].as_array().unwrap();
        assert_eq!(entries[0]["seq"], seq);
        let end = follow(unhex(&proof["previous"]), entries);
        assert_eq!(proof["signed_head"]["hash"], hex(&end));
        check_signature(&proof["signed_head"], &key);
    }
}

#[test]
fn a_receipt_of_a_result_leads_to_its_call() {
    let env = TestEnv::new();
    let answer = env.ok("text.stats", r#"{"text":"hello"}"#);
    let receipt = answer["meta"]["receipt"].as_str().unwrap();
    let proof = env.run(&["audit", "receipt", receipt]).exits(0).json();
    let body: Value = serde_json::from_str(proof["entries"][0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["call_id"], answer["meta"]["call_id"]);
    assert_eq!(
        body["output_fingerprint"],
        answer["meta"]["output_fingerprint"]
    );
    let forged = receipt.replace(char::is_numeric, "0");
    let refused = |receipt: &str| -> Ran {
        let ran = env.run(&["audit", "receipt", receipt]);
        assert!(ran.code == 1 || ran.code == 2, "{ran:?}");
        ran
    };
    refused(&format!("main:1:{}", "0".repeat(64)));
    refused(&forged);
    refused("main:99:00");
    refused("no receipt");
}

#[test]
fn an_export_can_be_checked_elsewhere() {
    let env = history();
    let exported = env.run(&["audit", "export"]).exits(0).out;
    let mut lines: Vec<Value> = exported
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let head = lines.pop().unwrap()["signed_head"].clone();
    assert_eq!(lines.len(), env.recorded().len());
    let end = follow([0; 32], &lines);
    assert_eq!(head["hash"], hex(&end));
    check_signature(&head, &public_key(&env));
    env.run(&["audit", "export", "--out", "log.jsonl"]).exits(0);
    let written = fs::read_to_string(env.path("project/log.jsonl")).unwrap();
    assert_eq!(written, exported);
}
