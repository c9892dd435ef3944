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
        "  tollgate keepa products get",
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
fn trends_and_comparisons_are_told_in_figures() {
    let env = TestEnv::new();
    let words = "keepa history trend B0KETTLE01 --fixture product_history.json --series new";
    let words: Vec<&str> = words.split(' ').collect();
    let told = env.run(&words).exits(0).out;
    for part in ["change %", "30 days", "180 days", "all "] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let words = "keepa products compare B0KETTLE01 B0GRINDER2 --fixture products_compare.json";
    let words: Vec<&str> = words.split(' ').collect();
    let told = env.run(&words).exits(0).out;
    assert!(told.contains("best sales rank B0KETTLE01"), "{told}");
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
fn a_selection_in_a_file_is_read_before_anyone_is_asked_to_pay() {
    let env = TestEnv::new();
    let finder = |file: &str| {
        env.run(&[
            "keepa",
            "finder",
            "query",
            "--selection-file",
            file,
            "--json",
        ])
    };
    env.write("project/wrong.json", r#"{"titel": "kettle"}"#);
    let refused = finder("wrong.json").exits(1).json();
    assert_eq!(
        refused["error"]["errorCode"], "invalid_argument",
        "{refused}"
    );
    let nearest = &refused["error"]["details"]["nearest"];
    assert!(nearest.to_string().contains("title"), "{refused}");
    env.write("project/right.json", r#"{"title": "kettle"}"#);
    let asked = finder("right.json").exits(3).json();
    assert_eq!(asked["error"]["kind"], "confirmation_required", "{asked}");
    finder("no-such.json").exits(1);
    // An agent is not told what is in a file that is none of its business.
    let path = env.path("project/wrong.json").display().to_string();
    let line =
        serde_json::json!({"id": 1, "method": "finder.query", "params": {"selection_file": path}});
    let ran = env.feed(&["jsonl"], format!("{line}\n")).exits(0);
    assert!(ran.out.contains("file_refused"), "{}", ran.out);
    assert!(!ran.out.contains("titel"), "{}", ran.out);
}

#[test]
fn names_with_dashes_are_the_same_names_at_every_entry() {
    let env = TestEnv::new();
    let dashed = serde_json::json!({
        "asin": "B0KETTLE01", "fixture": "product_kettle.json", "history-limit": 2, "view": "research", "dry-run": false,
    });
    let plain = serde_json::json!({
        "asin": "B0KETTLE01", "fixture": "product_kettle.json", "history_limit": 2, "view": "research", "dry_run": false,
    });
    let called = env
        .run(&[
            "call",
            "keepa.products_get",
            "--args",
            &dashed.to_string(),
            "--json",
        ])
        .exits(0)
        .json();
    let points = |envelope: &Value| {
        let series = &envelope["data"]["products"][0]["history_summary"]["series"]["new"];
        series["last_points"].as_array().unwrap().len()
    };
    assert_eq!(points(&called), 2);
    let lines = [
        serde_json::json!({"id": 1, "method": "products.get", "params": dashed}),
        serde_json::json!({"id": 2, "method": "products.get", "params": plain}),
        serde_json::json!({"id": 3, "method": "bestsellers.get", "params": {"category": "289754", "dry-run": true}}),
        serde_json::json!({"id": 4, "method": "browse.snapshot", "params": {"input": "x.json", "out-dir": "page"}}),
        serde_json::json!({"id": 5, "method": "products.get", "params": {"asin": "B0KETTLE01", "no-such": 1}}),
        serde_json::json!({"id": 6, "method": "products.get", "params": {"asin": "B0KETTLE01", "historical-variations": 1, "dry-run": true}}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = env.feed(&["jsonl"], input).exits(0);
    let event = |id: u64, name: &str| {
        let events = ran
            .out
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut events = events.filter(|one| one["id"] == id && one["event"] == name);
        events.next().unwrap()
    };
    let answer = |id: u64| event(id, "response")["payload"].clone();
    assert_eq!(points(&answer(1)), 2);
    // Both spellings are one call, so one of them is answered by the other.
    assert_eq!(answer(1)["cache_key"], answer(2)["cache_key"]);
    let hits = [1, 2].map(|id| answer(id)["cache_hit"] == true);
    assert_ne!(hits, [false, false]);
    assert_eq!(answer(3)["data"]["estimated_tokens"], 50);
    // Where something is written is asked about, however it is spelled.
    assert_eq!(answer(4)["error"]["kind"], "confirmation_required");
    assert_eq!(answer(5)["error"]["kind"], "invalid_arguments");
    // What is told before a call, or instead of one, is told of the same call.
    assert_eq!(event(6, "budget_estimated")["estimated_tokens"], 2);
    let place = r#"{"input": "x.json", "out-dir": "page"}"#;
    let told = env.run(&["explain", "keepa.browse_snapshot", place, "--json"]);
    assert_eq!(told.exits(3).json()["capability"], "L1");
    env.write(
        "project/cases.toml",
        "[[case]]\ntool = \"keepa.browse_snapshot\"\narguments = { input = \"x.json\", out-dir = \"page\" }\nexpect = \"needs_human\"\n",
    );
    env.run(&["policy", "test", "cases.toml"]).exits(0);
}

#[test]
fn a_file_that_changed_is_read_again() {
    let env = TestEnv::new();
    let report = |tasks: &str| {
        env.write("project/tasks.json", format!("{{\"tasks\": {tasks}}}"));
        let words = [
            "keepa",
            "reports",
            "build",
            "tasks.json",
            "--format",
            "csv",
            "--json",
        ];
        env.run(&words).exits(0).json()["data"]["row_count"].clone()
    };
    assert_eq!(report(r#"[{"command": "a"}]"#), 1);
    assert_eq!(report(r#"[{"command": "a"}, {"command": "b"}]"#), 2);
}

#[test]
fn a_comparison_is_drawn_from_its_rows() {
    let env = TestEnv::new();
    let compare = [
        "keepa",
        "products",
        "compare",
        "B0KETTLE01",
        "B0GRINDER2",
        "B0SCALE003",
        "--fixture",
        "products_compare.json",
        "--keep-history-points",
        "--json",
    ];
    let compared = env.run(&compare).exits(0);
    env.write("project/compared.json", &compared.out);
    let words = [
        "keepa",
        "charts",
        "render",
        "--input",
        "compared.json",
        "--json",
    ];
    let drawn = env.run(&words).exits(0).json();
    let asins = serde_json::json!(["B0KETTLE01", "B0GRINDER2", "B0SCALE003"]);
    assert_eq!(drawn["data"]["asins"], asins, "{drawn}");
    assert!(drawn["data"]["drops_marked"].as_u64().unwrap() > 0);
    let from_rows = std::fs::read(drawn["data"]["output"]["path"].as_str().unwrap()).unwrap();
    // The same products asked for by number make the same picture.
    let words = [
        "keepa",
        "charts",
        "render",
        "B0KETTLE01",
        "B0GRINDER2",
        "B0SCALE003",
        "--fixture",
        "products_compare.json",
        "--json",
    ];
    let asked = env.run(&words).exits(0).json();
    let path = asked["data"]["output"]["path"].as_str().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), from_rows);
    // One picture may be of several files; what is neither asked for nor handed in cannot be drawn.
    let two = [
        "keepa",
        "charts",
        "render",
        "--input",
        "compared.json,another.json",
        "--json",
    ];
    env.write(
        "project/another.json",
        r#"{"products": [{"asin": "B0TEAPOT04", "csv": [null, [6000000, 1500, 6010000, 1200]]}]}"#,
    );
    let both = env.run(&two).exits(0).json();
    assert_eq!(both["data"]["asins"][3], "B0TEAPOT04", "{both}");
    let neither = env.run(&["keepa", "charts", "render", "--json"]).exits(1);
    let neither = neither.json();
    assert_eq!(
        neither["error"]["errorCode"], "invalid_argument",
        "{neither}"
    );
    // Without their points there is nothing to draw, and that is said.
    let plain = env.run(&[&compare[..8], &["--json"]].concat()).exits(0);
    env.write("project/plain.json", &plain.out);
    let words = [
        "keepa",
        "charts",
        "render",
        "--input",
        "plain.json",
        "--json",
    ];
    let refused = env.run(&words).exits(1).json();
    assert_eq!(
        refused["error"]["errorCode"], "history_unavailable",
        "{refused}"
    );
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("keep_history_points"), "{message}");
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
