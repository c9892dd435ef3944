//! Reviews, sessions, the ledger and tokens.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{TestEnv, at_a_terminal, database};

/// A user for whom two redactions are heavy.
const STRICT: &str = "[review]\nheavy_redaction = 2\n";

/// A call that opens a review item; gives the item's id.
#[track_caller]
fn reviewed(env: &TestEnv) -> String {
    let leaks = json!({"text": "ada@example.com, bob@example.com, eve@example.com"});
    let answer = env.ok("text.lines", &leaks.to_string());
    let items = answer["meta"]["review_items"].as_array().unwrap();
    items[0].as_str().unwrap().to_owned()
}

#[test]
fn a_result_worth_a_look_waits_for_a_human() {
    let env = TestEnv::with_config(STRICT);
    let id = reviewed(&env);
    let listed = env.run(&["review", "list", "--json"]).exits(0).json();
    assert_eq!(listed["items"][0]["item_id"], id.as_str());
    assert_eq!(listed["items"][0]["reasons"], json!(["heavy_redaction"]));
    let people = env.run(&["review", "list"]).exits(0).out;
    assert!(people.contains(&id) && people.contains("heavy_redaction"));
    let shown = env.run(&["review", "show", &id, "--json"]).exits(0).json();
    assert_eq!(shown["subject"], "text.lines");
    assert_eq!(shown["status"], "open");
    assert!(!shown.to_string().contains("ada@example.com"));
    env.run(&["review", "show", "rv-nothing"]).exits(2);
}

#[test]
fn resolving_needs_a_human_and_is_written_down() {
    let env = TestEnv::with_config(STRICT);
    let id = reviewed(&env);
    let token = env.approver();
    let mut alone = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
    let alone = alone.args(["review", "resolve", &id, "approve"]).output();
    assert_eq!(alone.unwrap().status.code(), Some(2));
    let wrong = env.run(&["review", "resolve", &id, "approve", "--token", "tga_x"]);
    wrong.exits(2);

    let arguments = [
        "review", "resolve", &id, "reject", "--note", "not ours", "--token", &token, "--json",
    ];
    let resolved = env.run(&arguments).exits(0).json();
    assert_eq!(resolved["status"], "resolved");
    assert_eq!(resolved["resolution"], "reject");
    assert_eq!(resolved["note"], "not ours");
    assert!(
        resolved["resolved_by"]
            .as_str()
            .unwrap()
            .starts_with("token:")
    );
    env.run(&arguments).exits(2);
    let open = env.run(&["review", "list"]).exits(0);
    assert_eq!(open.out, "");
    let all = env
        .run(&["review", "list", "--all", "--json"])
        .exits(0)
        .json();
    assert_eq!(all["items"].as_array().unwrap().len(), 1);
    let recorded = env.recorded();
    let noted = recorded.iter().find(|row| row["kind"] == "review").unwrap();
    assert_eq!(
        (&noted["review_id"], &noted["status"]),
        (&json!(id), &json!("reject"))
    );
}

#[test]
fn a_review_is_resolved_at_a_terminal_too() {
    let env = TestEnv::with_config(STRICT);
    let id = reviewed(&env);
    let resolve = ["review", "resolve", &id, "note", "--note", "seen"];
    let left = at_a_terminal(&env, &resolve, |_| String::new());
    assert_eq!(left.ran.code, 1);
    let seen = at_a_terminal(&env, &resolve, str::to_owned);
    assert_eq!(seen.ran.code, 0, "{seen:?}");
    assert!(!seen.ran.out.contains(&seen.code) && !seen.ran.err.contains(&seen.code));
}

#[test]
fn review_rules_can_be_switched_off() {
    let env =
        TestEnv::with_config("[review]\nheavy_redaction = 2\nenable = [\"low_confidence\"]\n");
    let leaks = r#"{"text":"ada@example.com, bob@example.com"}"#;
    let answer = env.ok("text.lines", leaks);
    assert_eq!(answer["meta"]["review_items"], Value::Null);
}

#[test]
fn a_session_and_its_ledger_are_shown() {
    let env = TestEnv::with_config(
        "[limits]\nsession_tokens = 10\n[providers.stub]\ntools = [\"prices.lookup\"]\nunits = 4\n",
    );
    let fresh = env.run(&["session"]).exits(0);
    assert!(fresh.err.contains("has not been used yet"));
    let empty = env.run(&["ledger", "--json"]).exits(0).json();
    assert_eq!(empty["session_consumed"], 0);

    env.ok("prices.lookup", "{}");
    env.ok("prices.lookup", "{}");
    env.run(&["call", "session.forget"]).exits(3);
    let ledger = env.run(&["ledger", "--json"]).exits(0).json();
    assert_eq!(
        ledger,
        json!({
            "session_estimated": 4, "session_consumed": 4, "remaining_limit": 6,
            "blocked_actions": ledger["blocked_actions"], "cache_hits": 1,
            "consumed_source": "token_bucket",
        })
    );
    assert_eq!(ledger["blocked_actions"][0]["tool"], "session.forget");
    let people = env.run(&["ledger"]).exits(0).out;
    assert!(people.contains("consumed    4") && people.contains("blocked: session.forget"));

    let session = env.run(&["session", "--json"]).exits(0).json();
    assert_eq!(session["sessions"][0]["session"], "default");
    assert_eq!(session["sessions"][0]["budget_ledger"], ledger);
    env.call("prices.lookup", "{}", &["--session", "other"])
        .exits(0);
    let all = env.run(&["session", "--all", "--json"]).exits(0).json();
    assert_eq!(all["sessions"].as_array().unwrap().len(), 2);
    assert!(env.run(&["session"]).exits(0).out.contains("default"));
}

#[test]
fn a_limit_a_human_set_is_enforced() {
    let env = TestEnv::with_config("[providers.stub]\ntools = [\"prices.lookup\"]\nunits = 4\n");
    let token = env.approver();
    let asked = env
        .call("session.set_limit", r#"{"limit":5}"#, &[])
        .exits(3);
    let id = crate::support::approval_id(&asked.json());
    env.run(&["approve", &id, "--token", &token]).exits(0);
    env.ok("session.set_limit", r#"{"limit":5}"#);
    env.ok("prices.lookup", r#"{"item":1}"#);
    let over = env.call("prices.lookup", r#"{"item":2}"#, &[]).exits(1);
    assert_eq!(over.json()["error"]["kind"], "budget_exceeded");
}

#[test]
fn tokens_are_shown_once_and_kept_as_digests() {
    let env = TestEnv::new();
    let made = env.approver_with(&["--label", "desk", "--json"]).json();
    let token = made["token"].as_str().unwrap();
    let id = made["id"].as_str().unwrap();
    let listed = env.run(&["token", "list"]).exits(0);
    assert!(listed.out.contains(id) && listed.out.contains("desk") && listed.out.contains("live"));
    assert!(!listed.out.contains(token));
    let json = env.run(&["token", "list", "--json"]).exits(0);
    assert!(!json.out.contains(token));
    let exported = env.run(&["audit", "export"]).exits(0).out;
    assert!(!exported.contains(token));
    let kept: Vec<u8> = database(&env)
        .query_row("SELECT digest FROM credentials", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, &Sha256::digest(token)[..]);
    let files = std::fs::read_dir(env.state_dir()).unwrap();
    for path in files.map(|it| it.unwrap().path()).filter(|it| it.is_file()) {
        let bytes = std::fs::read(&path).unwrap();
        let is_there = bytes.windows(token.len()).any(|it| it == token.as_bytes());
        assert!(!is_there, "{}", path.display());
    }

    let revoked = env.run(&["token", "revoke", id, "--json"]).exits(0).json();
    assert_eq!(revoked, json!({"id": id, "revoked": true}));
    assert!(env.run(&["token", "list"]).exits(0).out.contains("ended"));
    let unknown = env.run(&["token", "revoke", "tk-nothing"]);
    assert_ne!(unknown.code, 0, "{unknown:?}");
}

/// Another call with an item of its own.
fn leaks(env: &TestEnv, tool: &str, name: &str) -> String {
    let text = format!("{name}@example.com, bob@example.com, eve@example.com");
    let answer = env.ok(tool, &json!({"text": text}).to_string());
    let items = answer["meta"]["review_items"].as_array().unwrap();
    items[0].as_str().unwrap().to_owned()
}

/// The ids of the items that are open.
fn open_items(env: &TestEnv) -> Vec<String> {
    let listed = env.run(&["review", "list", "--json"]).exits(0).json();
    let items = listed["items"].as_array().unwrap().iter();
    items
        .map(|it| it["item_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn items_are_resolved_in_bulk_by_filter_by_a_human_only() {
    let env = TestEnv::with_config(STRICT);
    let one = leaks(&env, "text.lines", "ada");
    let two = leaks(&env, "text.lines", "cyd");
    let token = env.approver();
    let resolve = |more: &[&str]| {
        let mut words = vec!["review", "resolve", "approve", "--json"];
        words.extend(more);
        env.run(&words)
    };
    let mut alone = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
    let alone = alone
        .args(["review", "resolve", "approve", "--all"])
        .output();
    assert_eq!(alone.unwrap().status.code(), Some(2));
    resolve(&["--token", &token]).exits(2);
    resolve(&["--all", "--token", "tga_x"]).exits(2);
    for nothing in [
        ["--tool", "text.stats"],
        ["--rule", "sensitive_tool"],
        ["--before", "2001-01-01"],
        ["--older-than", "30d"],
    ] {
        let ran = resolve(&[nothing[0], nothing[1], "--token", &token]).exits(2);
        assert!(ran.err.contains("no open item fits"), "{}", ran.err);
    }
    for wrong in [["--before", "soon"], ["--older-than", "3 weeks"]] {
        resolve(&[wrong[0], wrong[1], "--token", &token]).exits(2);
    }
    env.run(&[
        "review", "resolve", &one, "approve", "--all", "--token", &token,
    ])
    .exits(2);
    let mut open = open_items(&env);
    open.sort_unstable();
    let mut both = vec![one.clone(), two.clone()];
    both.sort_unstable();
    assert_eq!(open, both);

    let filters = [
        "--tool",
        "text.lines",
        "--rule",
        "heavy_redaction",
        "--before",
        "2999-01-01",
    ];
    let note = ["--note", "all seen", "--token", &token];
    let done = resolve(&[filters.as_slice(), note.as_slice()].concat()).exits(0);
    let done = done.json();
    assert_eq!(done["resolved"].as_array().unwrap().len(), 2, "{done}");
    assert_eq!(open_items(&env), Vec::<String>::new());
    let shown = env.run(&["review", "show", &one, "--json"]).exits(0).json();
    assert_eq!(shown["resolution"], "approve");
    assert_eq!(shown["note"], "all seen");
    let rows = env.recorded();
    let resolved = rows.iter().filter(|row| row["kind"] == "review");
    assert_eq!(resolved.count(), 2, "each is in the log");

    let three = leaks(&env, "text.lines", "dan");
    let seen = at_a_terminal(
        &env,
        &["review", "resolve", "reject", "--all"],
        str::to_owned,
    );
    assert_eq!(seen.ran.code, 0, "{seen:?}");
    assert!(seen.shown.contains("RESOLVE"), "{}", seen.shown);
    let shown = env
        .run(&["review", "show", &three, "--json"])
        .exits(0)
        .json();
    assert_eq!(shown["resolution"], "reject");
}
