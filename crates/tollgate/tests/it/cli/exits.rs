//! How `tollgate call` ends: every exit code, and each way to it.

use crate::support::TestEnv;

/// A read, a write, and a read that a rule forbids.
const CONFIG: &str = r#"
[limits]
session_tokens = 10

[providers.stub]
tools = ["prices.lookup", "shelf.write", "shelf.secret"]
writes = ["shelf.write"]
units = 4
"#;
const RULES: &str = r#"
@id("mine.secret")
forbid (principal, action == Action::"call", resource == Tool::"shelf.secret");
"#;

/// What is typed after `tollgate call`, what is to come of it, and the kind of the error.
const CASES: &[(&[&str], i32, &str)] = &[
    (&["text.stats", "--args", r#"{"text":"a"}"#], 0, ""),
    (&["text_stats", "--args", r#"{"text":"a"}"#], 0, ""),
    (&["shelf.write", "--dry-run"], 0, ""),
    (&["shelf.secret", "--dry-run"], 0, ""),
    (&["text.lines", "--args", r#"{"text":""}"#], 0, ""),
    (
        &["text.stats", "--args", r#"{"txt":"a"}"#],
        1,
        "invalid_arguments",
    ),
    (
        &["json.get", "--args", r#"{"json":"{","pointer":""}"#],
        1,
        "input_rejected",
    ),
    (
        &["text.stats", "--args", r#"{"text":"b"}"#, "--from-cache"],
        1,
        "cache_miss",
    ),
    (&["text.stat", "--args", "{}"], 2, "unknown_tool"),
    (&["text.stats", "--args", "{"], 2, "-"),
    (&["text.stats", "--args", "[]"], 2, "-"),
    (&["text.stats", "--args", "@nowhere.json"], 2, "-"),
    (&["text.stats", "--nonsense"], 2, "-"),
    (&[], 2, "-"),
    (
        &["text.stats", "--profile", "unheard-of"],
        2,
        "malformed_request",
    ),
    (&["shelf.write"], 3, "confirmation_required"),
    (&["shelf.write", "--yes"], 3, "confirmation_required"),
    (&["shelf.secret"], 4, "policy_denied"),
    (&["shelf.secret", "--yes"], 4, "policy_denied"),
];

#[test]
fn every_way_to_end_has_its_code() {
    let env = TestEnv::with_config(CONFIG);
    env.write("config/tollgate/policies/mine.cedar", RULES);
    for (typed, code, kind) in CASES {
        let all = [&["call"], *typed].concat();
        // What people are told ends like what programs are told.
        let people = env.run(&all).exits(*code);
        let ran = env.run(&[&all[..], &["--json"]].concat()).exits(*code);
        match *kind {
            "-" => assert_eq!(ran.out, "", "{typed:?}"),
            "" => assert_eq!(ran.json()["ok"], true, "{typed:?}"),
            kind => assert_eq!(ran.json()["error"]["kind"], kind, "{typed:?}"),
        }
        assert!(*code == 0 || !people.err.is_empty(), "{typed:?}");
    }
}

#[test]
fn a_budget_that_is_used_up_is_an_error_of_the_tool() {
    let env = TestEnv::with_config(CONFIG);
    for (number, code) in [(1, 0), (2, 0), (3, 1)] {
        let ran = env.call("prices.lookup", &format!(r#"{{"item":{number}}}"#), &[]);
        assert_eq!(ran.code, code, "{ran:#?}");
    }
}

#[test]
fn a_configuration_or_a_state_that_cannot_be_used_is_a_usage_error() {
    let wrong = TestEnv::with_config("[limits]\nsession_token = 5\n");
    wrong.call("time.now", "{}", &[]).exits(2);
    let damaged = TestEnv::new();
    damaged.write("data/tollgate/tollgate.db", vec![7_u8; 64 << 10]);
    let ran = damaged.call("time.now", "{}", &[]).exits(2);
    assert!(ran.err.contains("tollgate doctor"), "{}", ran.err);
}
