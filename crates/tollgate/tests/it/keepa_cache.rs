//! Answers of the Keepa pack that are used again, across processes of one stored session.

use serde_json::{Value, json};

use crate::support::TestEnv;

const KETTLE: &str = r#"{"asin":"B0KETTLE01","fixture":"product_kettle.json"}"#;
const TEAPOT: &str = r#"{"asin":"B0TEAPOT05","domain":"JP","fixture":"product_teapot_jp.json"}"#;
const UNKNOWN: &str = "products.get:000000000000000000000000";

fn asin(envelope: &Value) -> &Value {
    &envelope["data"]["products"][0]["identity"]["asin"]
}

/// The envelope of a call that may fail.
fn outcome(env: &TestEnv, tool: &str, arguments: &str) -> Value {
    env.call(tool, arguments, &[]).json()
}

#[test]
fn from_cache_by_key_reads_exactly_that_entry_in_a_later_process() {
    let env = TestEnv::new();
    let first = env.ok("keepa.products_get", KETTLE);
    let key = first["cache_key"].as_str().unwrap();
    let ledger = &first["budget_ledger"];
    // Another product, a price that asks first, a place to write to and fields that do not exist.
    let beside = [
        json!({"from_cache": key}),
        json!({"from_cache": key, "asin": "B0TEAPOT05", "domain": "JP", "fixture": "product_teapot_jp.json"}),
        json!({"from_cache": key, "asin": "B0TEAPOT05", "offers": 20}),
        json!({"from_cache": key, "chunks_dir": env.path("chunks"), "profile": "live_read_allowed"}),
        json!({"from_cache": key, "resource_uri": "keepa://research/nothing", "history_limit": -4, "no_such": 1}),
    ];
    for arguments in beside {
        let again = outcome(&env, "keepa.products_get", &arguments.to_string());
        assert_eq!(again["ok"], true, "{arguments}: {again}");
        assert_eq!(asin(&again), "B0KETTLE01", "{arguments}");
        assert_eq!(again["cache_hit"], true, "{arguments}");
        assert_eq!(again["cache_key"], first["cache_key"], "{arguments}");
        assert_eq!(
            again["data"]["provenance"]["mcp"]["cache_hit"], true,
            "{again}"
        );
        for count in ["session_estimated", "session_consumed", "blocked_actions"] {
            assert_eq!(again["budget_ledger"][count], ledger[count], "{arguments}");
        }
    }
    assert!(!env.path("chunks").exists());
    // No other call is answered with what was read.
    let other = env.ok("keepa.products_get", TEAPOT);
    assert_eq!(
        (asin(&other), &other["cache_hit"]),
        (&json!("B0TEAPOT05"), &json!(false))
    );
}

#[test]
fn the_command_line_reads_an_entry_by_its_key() {
    let env = TestEnv::new();
    let key = env.ok("keepa.products_get", KETTLE)["cache_key"].clone();
    let key = key.as_str().unwrap();
    for words in [
        &[
            "keepa",
            "products",
            "get",
            "B0TEAPOT05",
            "--from-cache",
            key,
            "--json",
        ][..],
        &[
            "call",
            "keepa.products_get",
            &format!("--from-cache={key}"),
            "--json",
        ],
    ] {
        let again = env.run(words).exits(0).json();
        assert_eq!(asin(&again), "B0KETTLE01", "{words:?}");
        assert_eq!(
            (&again["cache_key"], &again["cache_hit"]),
            (&json!(key), &json!(true))
        );
    }
    let live = env
        .run(&["keepa", "products", "get", "B0TEAPOT05", "--json"])
        .exits(1)
        .json();
    assert_eq!(live["error"]["errorCode"], "auth_missing", "{live}");
}

#[test]
fn an_entry_that_is_not_there_is_a_miss() {
    let env = TestEnv::new();
    let key = env.ok("keepa.products_get", KETTLE)["cache_key"].clone();
    let cases = [
        ("keepa.products_get", json!(UNKNOWN)),
        ("keepa.products_get", json!("products.get:nothing")),
        ("keepa.products_get", json!("keepa.products_get")),
        // The entry of one tool is no answer of another.
        ("keepa.products_compare", key.clone()),
        (
            "keepa.cassettes_promote",
            json!("cassettes.promote:000000000000000000000000"),
        ),
    ];
    for (tool, named) in cases {
        let arguments = json!({"from_cache": named, "asin": "B0TEAPOT05"}).to_string();
        let missed = outcome(&env, tool, &arguments);
        assert_eq!(
            missed["error"]["kind"], "cache_miss",
            "{tool} {named}: {missed}"
        );
        assert_eq!(
            missed["budget_ledger"]["blocked_actions"],
            json!([]),
            "{missed}"
        );
    }
    let missed = outcome(
        &env,
        "keepa.products_get",
        &json!({"from_cache": UNKNOWN}).to_string(),
    );
    assert_eq!(
        missed["error"]["details"]["available_cache_keys"],
        json!([key]),
        "{missed}"
    );
    // Another session has entries of its own.
    let arguments = json!({"from_cache": key}).to_string();
    let foreign = env.call("keepa.products_get", &arguments, &["--session", "other"]);
    assert_eq!(foreign.json()["error"]["kind"], "cache_miss");
}

#[test]
fn what_is_read_anew_each_time_is_still_there_by_its_key() {
    let env = TestEnv::new();
    let file = env.write("project/tasks.json", r#"{"tasks": [{"command": "a"}]}"#);
    let build = json!({"input": file, "format": "csv"}).to_string();
    let first = env.ok("keepa.reports_build", &build);
    env.write(
        "project/tasks.json",
        r#"{"tasks": [{"command": "a"}, {"command": "b"}]}"#,
    );
    let key = first["cache_key"].clone();
    let by_key = env.ok(
        "keepa.reports_build",
        &json!({"from_cache": key}).to_string(),
    );
    assert_eq!(
        (&by_key["data"]["row_count"], &by_key["cache_hit"]),
        (&json!(1), &json!(true))
    );
    let anew = env.ok("keepa.reports_build", &build);
    assert_eq!(
        (&anew["data"]["row_count"], &anew["cache_hit"]),
        (&json!(2), &json!(false))
    );
}

#[test]
fn sample_answers_of_trackings_are_kept() {
    let env = TestEnv::new();
    let list = r#"{"fixture":"tracking_list.json"}"#;
    for hit in [false, true] {
        assert_eq!(env.ok("keepa.tracking_list", list)["cache_hit"], hit);
    }
}

#[test]
fn the_key_of_a_call_with_results_is_that_of_what_they_came_to() {
    let env = TestEnv::new();
    let arguments = json!({
        "artifact": {"payload": {"asin": "B0KETTLE01"}}, "fixture": "product_kettle.json",
    });
    let resolved = env.ok("keepa.products_get", &arguments.to_string());
    let plain = env.ok("keepa.products_get", KETTLE);
    let own = &resolved["data"]["provenance"]["mcp"]["session_cache_key"];
    assert_eq!(
        (&resolved["cache_key"], own),
        (&plain["cache_key"], &plain["cache_key"])
    );
    assert_eq!(plain["cache_hit"], true, "{plain}");
    let by_key = env.ok(
        "keepa.products_get",
        &json!({"from_cache": own}).to_string(),
    );
    assert_eq!(
        (asin(&by_key), &by_key["cache_hit"]),
        (&json!("B0KETTLE01"), &json!(true))
    );
}
