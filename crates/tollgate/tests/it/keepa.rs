//! The Keepa pack through the program: the command line, JSON lines, and its own acceptance specs.

use serde_json::Value;

use crate::support::{Ran, TestEnv, approval_id};

fn specs() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tollgate-keepa/specs");
    folder.to_owned()
}

#[test]
fn every_spec_of_ours_holds() {
    let env = TestEnv::new();
    let ran = env.run(&["keepa", "eval", &specs(), "--json"]);
    let report = ran.json();
    let failed: Vec<&Value> = report["specs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["ok"] != true)
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(report["passed"].as_u64().unwrap() >= 40, "{report}");
}

#[test]
fn a_spec_that_does_not_hold_fails_the_run() {
    let env = TestEnv::new();
    env.write(
        "project/specs/wrong.json",
        r#"{"id": "wrong", "command": "domains.list", "params": {}, "assertions": [{"path": "data.domains", "length": 3}]}"#,
    );
    let ran = env.run(&["keepa", "eval", "specs"]).exits(1);
    assert!(ran.out.contains("wanted length 3"), "{}", ran.out);
    env.run(&["keepa", "eval", "no-such-folder"]).exits(2);
}

#[test]
fn a_product_is_shown_to_people_and_to_programs() {
    let env = TestEnv::new();
    let words = [
        "keepa",
        "products",
        "get",
        "B0KETTLE01",
        "--fixture",
        "product_kettle.json",
        "--view",
        "summary",
    ];
    let people = env.run(&words).exits(0);
    for part in [
        "Steel kettle",
        "sold a month",
        "missing:",
        "next: tollgate keepa products get",
    ] {
        assert!(people.out.contains(part), "{part}: {}", people.out);
    }
    let envelope = env.run(&[&words[..], &["--json"]].concat()).exits(0).json();
    assert_eq!(envelope["command"], "products.get");
    assert_eq!(
        envelope["data"]["products"][0]["identity"]["asin"],
        "B0KETTLE01"
    );
    assert_eq!(envelope["cache_hit"], true);
    let plan = env
        .run(&["keepa", "plan", "category-research", "--term", "coffee"])
        .exits(0);
    assert!(plan.out.contains("fetch-category-products"), "{}", plan.out);
}

#[test]
fn high_prices_ask_and_tracking_needs_a_human() {
    let env = TestEnv::new();
    let asked = env.run(&["keepa", "bestsellers", "get", "289754"]).exits(3);
    assert!(
        asked.err.contains("repeat the command with --yes"),
        "{}",
        asked.err
    );
    env.run(&["keepa", "tracking", "remove", "B0KETTLE01", "--yes"])
        .exits(3);
    let dry = env
        .run(&[
            "keepa",
            "bestsellers",
            "get",
            "289754",
            "--dry-run",
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(dry["data"]["estimated_tokens"], 50);
    env.run(&["keepa", "products", "get", "B0KETTLE01"])
        .exits(1);
}

#[test]
fn a_misspelled_selection_is_told_before_anyone_is_asked_to_pay() {
    let env = TestEnv::new();
    for (tool, field, nearest) in [
        ("keepa.finder_query", "titel", "title"),
        ("keepa.deals_query", "priceTyps", "priceTypes"),
    ] {
        let arguments = format!(r#"{{"selection": {{"{field}": ["x"]}}}}"#);
        let refused = env.run(&["call", tool, "--args", &arguments, "--json"]);
        let envelope = refused.exits(1).json();
        assert_eq!(envelope["error"]["kind"], "input_rejected", "{envelope}");
        assert!(
            envelope["error"].to_string().contains(nearest),
            "{envelope}"
        );
    }
    let right = r#"{"selection": {"title": "kettle"}}"#;
    env.run(&["call", "keepa.finder_query", "--args", right])
        .exits(3);
}

#[test]
fn a_folder_of_samples_is_searched_first() {
    let env = TestEnv::new();
    env.write(
        "project/samples/token_status.json",
        r#"{"tokensLeft": 7, "refillRate": 1, "refillIn": 1, "tokensConsumed": 0}"#,
    );
    let folder = env.path("project/samples").display().to_string();
    env.configure(&format!("[keepa]\nfixture_dirs = [{folder:?}]\n"));
    let ran = env.run(&[
        "keepa",
        "tokens",
        "status",
        "--fixture",
        "token_status.json",
        "--json",
    ]);
    assert_eq!(ran.exits(0).json()["token_bucket"]["tokens_left"], 7);
}

#[test]
fn a_promoted_sample_is_checked_and_the_specs_are_run_on_it() {
    let env = TestEnv::new();
    env.write(
        "project/answer.json",
        r#"{"tokensLeft": 3, "refillRate": 1, "refillIn": 1, "tokensConsumed": 0, "key": "s3cret"}"#,
    );
    let spec = |left: u32| {
        format!(
            r#"{{"id": "balance", "command": "tokens.status", "params": {{"fixture": "mine.json"}}, "assertions": [{{"path": "token_bucket.tokens_left", "equals": {left}}}]}}"#
        )
    };
    env.write("project/specs/balance.json", spec(3));
    let token = env.approver();
    let promote = || {
        let words = [
            "keepa",
            "cassettes",
            "promote-and-verify",
            "answer.json",
            "--name",
            "mine",
            "--tests-dir",
            "a",
            "--package-dir",
            "b",
            "--eval-dir",
            "specs",
            "--run-eval",
            "--json",
        ];
        let asked = env.run(&words).exits(3).json();
        let id = approval_id(&asked);
        env.run(&["approve", &id, "--token", &token]).exits(0);
        env.run(&words)
    };
    let done = promote().exits(0).json();
    let data = &done["data"];
    assert_eq!(data["fixture_sync"]["ok"], true, "{done}");
    assert_eq!(data["agent_eval"]["ok"], true);
    assert_eq!(
        data["agent_eval"]["checked_specs"],
        serde_json::json!(["balance"])
    );
    let written = std::fs::read_to_string(env.path("project/a/mine.json")).unwrap();
    assert!(!written.contains("s3cret"));
    env.write("project/specs/balance.json", spec(4));
    let failed = promote().exits(1).json();
    assert_eq!(failed["error"]["errorCode"], "fixture_sync_failed");
    let eval = &failed["error"]["details"]["agent_eval"];
    assert_eq!(eval["failed"][0]["id"], "balance", "{failed}");
}

/// Draws a chart into a file, which a human agrees to.
fn chart(env: &TestEnv, name: &str) -> Ran {
    let words = [
        "keepa",
        "charts",
        "render",
        "B0KETTLE01",
        "--fixture",
        "product_kettle.json",
        "--out",
        name,
        "--json",
    ];
    let asked = env.run(&words).exits(3);
    let id = approval_id(&asked.json());
    let token = env.approver();
    env.run(&["approve", &id, "--token", &token]).exits(0);
    env.run(&words)
}

#[test]
fn charts_are_drawn_by_the_browser_too() {
    let env = TestEnv::new();
    let drawn = |name: &str| {
        let data = chart(&env, name).exits(0).json()["data"].clone();
        let path = data["output"]["path"].as_str().unwrap().to_owned();
        (
            data["format"].clone(),
            std::fs::read(env.path("project").join(path)).unwrap(),
        )
    };
    let (format, svg) = drawn("kettle.svg");
    assert_eq!(format, "svg");
    assert!(svg.starts_with(b"<svg"));
    let (format, png) = drawn("kettle.PNG");
    assert_eq!(format, "png");
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    let text = String::from_utf8(svg).unwrap();
    let side = |name: &str| {
        let rest = text.split(&format!(" {name}=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(
        (number(16), number(20)),
        (2 * side("width"), 2 * side("height"))
    );
}

#[test]
fn without_a_browser_a_chart_is_lines() {
    let mut env = TestEnv::new();
    env.set("CHROME_PATH", "/nonexistent/chromium");
    let refused = chart(&env, "kettle.png");
    assert_ne!(refused.code, 0);
    let error = refused.json()["error"].clone();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("ask for svg"), "{error}");
    chart(&env, "kettle.svg").exits(0);
}
