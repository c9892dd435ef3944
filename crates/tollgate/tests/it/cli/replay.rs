//! What was called before, looked at again.

use serde_json::{Value, json};

use crate::{
    support::{TestEnv, approval_id},
    upstream::web::{Then, Web},
};

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

    let log = env.ok("audit.verify", "{}");
    let call = id(&log, "call_id");
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
fn what_differs_in_every_answer_is_not_compared() {
    let env = TestEnv::new();
    let clock = env.ok("time.now", "{}");
    let live = env.run(&["replay", &id(&clock, "call_id"), "--live", "--json"]);
    let again = live.exits(0).json()["steps"][0]["again"].clone();
    assert_eq!(
        (&again["same"], &again["difference"]),
        (&json!(true), &json!([]))
    );
}

#[test]
fn a_live_replay_says_what_to_approve_and_how() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"shelf.put\"]\nwrites = [\"shelf.put\"]\n",
    );
    let token = env.approver();
    let put = r#"{"book":"one"}"#;
    let asked = env.call("shelf.put", put, &[]).exits(3).json();
    env.run(&["approve", &approval_id(&asked), "--token", &token])
        .exits(0);
    let call = id(&env.ok("shelf.put", put), "call_id");
    let live = env.run(&["replay", &call, "--live", "--json"]).exits(3);
    let again = live.json()["steps"][0]["again"].clone();
    assert_eq!(again["needs_consent"], true, "{again:#}");
    assert_eq!(again["error"]["kind"], "confirmation_required");
    let approve = again["approve"].as_str().unwrap();
    let open = approve.strip_prefix("tollgate approvals approve ").unwrap();
    let people = env.run(&["replay", &call, "--live"]).exits(3);
    for said in [approve, "a human has to agree", r#"{\"book\":\"one\"}"#] {
        assert!(people.out.contains(said), "{said}: {people:#?}");
    }
    assert!(!people.out.contains("- ended"), "{}", people.out);
    assert!(people.err.contains("repeat the same command"));
    env.run(&["approve", open, "--token", &token]).exits(0);
    let live = env.run(&["replay", &call, "--live", "--json"]).exits(0);
    assert_eq!(live.json()["steps"][0]["again"]["same"], true);
}

/// A service that has a list of best sellers, always the same.
fn keepa() -> Web {
    let answer = json!({
        "tokensLeft": 450, "tokensConsumed": 50, "refillRate": 5, "refillIn": 1000,
        "bestSellersList": {"domainId": 1, "categoryId": 1_055_398, "asinList": ["B0KETTLE01"]},
    });
    Web::start(move |_| Then::json(200, &answer))
}

#[test]
fn a_live_replay_accepts_a_cost_when_it_is_told_to() {
    let keepa = keepa();
    let mut env = TestEnv::with_config(&format!(
        "[keepa]\nbase_url = \"http://127.0.0.1:{}\"\nkey = \"env:MY_KEEPA_KEY\"\n",
        keepa.port
    ));
    env.set("MY_KEEPA_KEY", &"k3yk".repeat(16));
    let paid = || keepa.got.lock().unwrap().len();
    // What was accepted once is no argument of the call, and no answer that was kept is used.
    let call = json!({"category": "1055398", "no_cache": true}).to_string();
    env.call("keepa.categories_products", &call, &[]).exits(3);
    let bought = env.call("keepa.categories_products", &call, &["--yes"]);
    let call = id(&bought.exits(0).json(), "call_id");
    assert_eq!(paid(), 1);
    let asked = env.run(&["audit", "replay", &call, "--live"]).exits(3);
    assert!(asked.err.contains("--yes"), "{asked:?}");
    env.run(&["audit", "replay", &call, "--yes"]).exits(2);
    assert_eq!(paid(), 1, "nothing was bought again");
    env.run(&["audit", "replay", &call, "--live", "--yes"])
        .exits(0);
    assert_eq!(paid(), 2);
}

#[test]
fn the_steps_of_a_run_are_made_again_once() {
    let mut env = TestEnv::with_config("[providers.stub]\ntools = [\"a.one\", \"a.two\"]\n");
    let text = "id: two\nversion: 1.0.0\nname: Two\nsteps:\n  - {id: one, tool: a.one}\n  - {id: two, tool: a.two}\n";
    env.write("config/tollgate/templates/two.yaml", text);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    env.set("TRACEPARENT", &format!("00-{trace}-b7ad6b7169203331-01"));
    env.ok("run_task_template", r#"{"templateId":"two"}"#);
    env.set("TRACEPARENT", "");
    let live = env
        .run(&["replay", trace, "--live", "--json"])
        .exits(0)
        .json();
    let steps = live["steps"].as_array().unwrap();
    let again = |tool: &str| {
        let step = steps.iter().find(|step| step["tool"] == tool);
        step.map_or(Value::Null, |step| step["again"].clone())
    };
    let run = again("run_task_template");
    assert_eq!(
        (&run["same"], &run["difference"]),
        (&json!(true), &json!([])),
        "only ids and times differ"
    );
    assert!(again("a.one")["made_by"].is_string(), "{live:#}");
    let recorded = env.recorded();
    let made = |tool: &str| {
        let of_tool = recorded.iter().filter(|row| row["tool"] == tool);
        of_tool.filter(|row| row["kind"] == "ending").count()
    };
    assert_eq!(
        [made("run_task_template"), made("a.one"), made("a.two")],
        [2, 2, 2]
    );
    let people = env.run(&["replay", trace, "--live"]).exits(0).out;
    assert!(
        people.contains("made again by the call that started the run"),
        "{people}"
    );
}

#[test]
fn a_live_replay_takes_the_same_door() {
    let env = TestEnv::new();
    let refused = env.call("session.forget", "{}", &[]).exits(3).json();
    let live = env.run(&["replay", &id(&refused, "call_id"), "--live", "--json"]);
    let again = live.exits(0).json()["steps"][0]["again"].clone();
    assert_eq!(again["error"]["kind"], "confirmation_required", "{again}");
    assert_eq!(again["same"], true, "it waited for a human then, too");
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
