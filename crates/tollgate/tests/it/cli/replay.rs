//! What was called before, looked at again.

use serde_json::{Value, json};

use crate::support::TestEnv;

const STATS: (&str, &str) = ("text.stats", r#"{"text":"hello"}"#);

fn id(envelope: &Value, name: &str) -> String {
    envelope["meta"][name].as_str().unwrap().to_owned()
}

#[test]
fn a_recorded_call_plays_back_without_calling() {
    let env = TestEnv::new();
    let answer = env.ok(STATS.0, STATS.1);
    let before = env.recorded().len();
    for name in ["call_id", "trace_id"] {
        let played = env
            .run(&["replay", &id(&answer, name), "--json"])
            .exits(0)
            .json();
        let step = &played["steps"][0];
        assert_eq!(step["arguments"], json!({"text": "hello"}));
        assert_eq!(step["data"], answer["data"]);
        assert_eq!(step["rule"], "default.read");
        assert_eq!(step["replayable"], true);
    }
    let people = env.run(&["replay", &id(&answer, "call_id")]).exits(0).out;
    assert!(people.contains("text.stats") && people.contains(r#""characters":5"#));
    assert_eq!(env.recorded().len(), before);
    let unknown = env.run(&["replay", "nothing"]).exits(2);
    assert!(unknown.err.contains("nothing"));
}

#[test]
fn the_calls_of_one_trace_play_back_in_order() {
    let mut env = TestEnv::new();
    let trace = "0af7651916cd43dd8448eb211c80319c";
    env.set("TRACEPARENT", &format!("00-{trace}-b7ad6b7169203331-01"));
    for word in ["one", "three"] {
        env.ok("text.stats", &json!({"text": word}).to_string());
    }
    env.run(&["call", "session.forget"]).exits(3);
    let played = env.run(&["replay", trace, "--json"]).exits(0).json();
    let steps = played["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3);
    assert_eq!(steps[0]["data"]["characters"], 3);
    assert_eq!(steps[1]["data"]["characters"], 5);
    assert_eq!(steps[2]["verdict"], "needs_human");
}

#[test]
fn a_changed_policy_says_what_it_would_decide() {
    let env = TestEnv::new();
    let answer = env.ok(STATS.0, STATS.1);
    env.write(
        "project/strict.cedar",
        r#"@id("strict.no") forbid (principal, action, resource) when { context.arguments has text && context.arguments.text == "hello" };"#,
    );
    env.write("project/same.cedar", "");
    let call = id(&answer, "call_id");
    let strict = env.run(&["replay", &call, "--policy", "strict.cedar", "--json"]);
    let would = strict.exits(0).json()["steps"][0]["would"].clone();
    assert_eq!(
        would,
        json!({"verdict": "deny", "rule": "strict.no", "changed": true})
    );
    let same = env.run(&["replay", &call, "--policy", "same.cedar", "--json"]);
    let would = same.exits(0).json()["steps"][0]["would"].clone();
    assert_eq!(
        would,
        json!({"verdict": "allow", "rule": "default.read", "changed": false})
    );
    let people = env
        .run(&["replay", &call, "--policy", "strict.cedar"])
        .exits(0)
        .out;
    assert!(people.contains("would be deny"), "{people}");
    env.write("project/bad.cedar", "nonsense");
    env.run(&["replay", &call, "--policy", "bad.cedar"])
        .exits(2);
    env.run(&["replay", &call, "--policy", "same.cedar", "--live"])
        .exits(2);
}

#[test]
fn what_was_redacted_cannot_be_decided_again() {
    let env = TestEnv::new();
    let answer = env.ok("text.stats", r#"{"text":"ada@example.com"}"#);
    env.write(
        "project/strict.cedar",
        r#"@id("strict.no") forbid (principal, action, resource) when { context.arguments has text && context.arguments.text == "hello" };"#,
    );
    let call = id(&answer, "call_id");
    let strict = env.run(&["replay", &call, "--policy", "strict.cedar", "--json"]);
    let step = strict.exits(0).json()["steps"][0].clone();
    assert_eq!(step["would"]["verdict"], "undecided", "{step}");
    let live = env
        .run(&["replay", &call, "--live", "--json"])
        .exits(1)
        .json();
    assert_eq!(live["steps"][0]["again"]["same"], false);
}

#[test]
fn a_live_replay_calls_again_and_shows_the_difference() {
    let env = TestEnv::new();
    let same = env.ok(STATS.0, STATS.1);
    let live = env.run(&["replay", &id(&same, "call_id"), "--live", "--json"]);
    let again = live.exits(0).json()["steps"][0]["again"].clone();
    assert_eq!(
        (&again["same"], &again["difference"]),
        (&json!(true), &json!([]))
    );

    let clock = env.ok("time.now", "{}");
    let call = id(&clock, "call_id");
    let live = env
        .run(&["replay", &call, "--live", "--json"])
        .exits(1)
        .json();
    let again = &live["steps"][0]["again"];
    assert_eq!(again["same"], false);
    let lines = again["difference"].as_array().unwrap();
    let starts = |sign| {
        lines
            .iter()
            .any(|line| line.as_str().unwrap().starts_with(sign))
    };
    assert!(starts("- ") && starts("+ "));
    let people = env.run(&["replay", &call, "--live"]).exits(1).out;
    assert!(people.contains("not the same"));
}

#[test]
fn a_live_replay_takes_the_same_door() {
    let env = TestEnv::new();
    let refused = env.call("session.forget", "{}", &[]).exits(3).json();
    let live = env.run(&["replay", &id(&refused, "call_id"), "--live", "--json"]);
    let again = live.json()["steps"][0]["again"].clone();
    assert_eq!(again["error"]["kind"], "confirmation_required", "{again}");
}

#[test]
fn a_body_that_is_too_large_is_not_kept_and_says_so() {
    let env = TestEnv::with_config("[record]\nmax_body = 10\n");
    let answer = env.ok(STATS.0, STATS.1);
    let played = env.run(&["replay", &id(&answer, "call_id"), "--json"]);
    let step = played.exits(0).json()["steps"][0].clone();
    assert_eq!(step["replayable"], false);
    assert!(step["not_replayable"].is_string());
    assert_eq!(step["data"], Value::Null);
}
