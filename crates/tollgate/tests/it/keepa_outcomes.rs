//! What the Keepa pack says of its calls is what holds: prices that were refused, targets, folders, profiles, errors.

use serde_json::{Value, json};

use crate::support::{Lines, TestEnv};

fn outcome(env: &TestEnv, tool: &str, arguments: &Value) -> Value {
    env.call(tool, &arguments.to_string(), &[]).json()
}

#[test]
fn a_budget_refusal_is_a_blocked_action_with_its_estimate() {
    let env = TestEnv::with_config("[limits]\nsession_tokens = 3\n");
    let arguments = json!({"category": "289754", "fixture": "bestsellers.json"});
    let refused = outcome(&env, "keepa.categories_products", &arguments);
    assert_eq!(refused["error"]["kind"], "budget_exceeded", "{refused}");
    let expected = json!([{
        "tool": "keepa.categories_products",
        "command": "categories.products",
        "cache_key": refused["cache_key"],
        "estimated_tokens": 50,
        "worst_case_tokens": 50,
        "reason": "budget_exceeded",
    }]);
    assert_eq!(
        refused["budget_ledger"]["blocked_actions"], expected,
        "{refused}"
    );
}

#[test]
fn a_denied_side_effect_is_a_blocked_action() {
    let env = TestEnv::new();
    let file = env.write(
        "project/no.cedar",
        "@id(\"no_promotion\")\nforbid (principal, action, resource == Tool::\"keepa.cassettes_promote\");\n",
    );
    env.configure(&format!("[policy]\nfiles = [{file:?}]\n"));
    let arguments = json!({"input": "a.json", "name": "b"});
    let refused = outcome(&env, "keepa.cassettes_promote", &arguments);
    assert_eq!(refused["error"]["kind"], "policy_denied", "{refused}");
    let blocked = &refused["budget_ledger"]["blocked_actions"][0];
    assert_eq!(
        (&blocked["reason"], &blocked["estimated_tokens"]),
        (&json!("policy_denied"), &json!(0)),
        "{refused}"
    );
}

#[test]
fn results_name_each_real_product_once() {
    let env = TestEnv::new();
    let payload = json!({
        "asin": "b0kettle01", "category": "Kitchen & Dining",
        "rows": [
            {"asin": "B0KETTLE01", "category_id": "12"}, {"asin": "unknown"}, {"asin": "COMPARISON"},
            {"asin": 17}, {"asins": ["B0GRINDER2", "B0KETTLE01", "<ASIN>"]}, {"category_id": 289754},
        ],
    });
    let arguments = json!({"artifact": {"payload": payload}, "fixture": "products_compare.json"});
    let compared = outcome(&env, "keepa.products_compare", &arguments);
    let derived = &compared["data"]["workflow_resolution"]["derived_values"];
    assert_eq!(
        derived["asins"],
        json!(["B0KETTLE01", "B0GRINDER2"]),
        "{compared}"
    );
    assert_eq!(derived["category_ids"], json!(["289754"]), "{compared}");
    // Nor does a list that names one twice pay for it twice.
    let twice = json!({"asin": ["B0KETTLE01", "B0KETTLE01", "b0kettle01"], "dry_run": true});
    let priced = outcome(&env, "keepa.products_get", &twice);
    assert_eq!(priced["data"]["estimated_tokens"], 1, "{priced}");
    assert_eq!(
        priced["request"]["params_redacted"]["asin"], "B0KETTLE01",
        "{priced}"
    );
}

#[test]
fn a_finder_selection_is_made_in_every_profile() {
    let env = TestEnv::new();
    for profile in [
        "offline_fixture_only",
        "dry_run_default",
        "live_read_allowed",
        "tracking_readonly",
        "fixture_curation",
    ] {
        let arguments = json!({"category": "289754", "profile": profile});
        let made = outcome(&env, "keepa.categories_finder_selection", &arguments);
        assert_eq!(
            made["data"]["view"], "finder_selection_scaffold",
            "{profile}: {made}"
        );
    }
}

#[test]
fn missing_inputs_is_the_kind_of_the_error() {
    let env = TestEnv::new();
    let arguments = json!({"artifact": {"payload": {"nothing": 1}}});
    let refused = outcome(&env, "keepa.research_graph_merge", &arguments);
    let error = &refused["error"];
    assert_eq!(
        (&error["kind"], &error["errorCode"]),
        (&json!("missing_inputs"), &json!("missing_inputs")),
        "{refused}"
    );
    assert_eq!(error["details"]["missing_inputs"][0]["field"], "graph");
}

#[test]
fn provenance_tells_the_transport() {
    let env = TestEnv::new();
    let call = json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json"});
    let transport = |envelope: &Value| envelope["data"]["provenance"]["mcp"]["transport"].clone();
    assert_eq!(
        transport(&outcome(&env, "keepa.products_get", &call)),
        "cli"
    );
    let mut lines = Lines::start(&env, &[]);
    lines.send(&json!({"id": 1, "method": "products.get", "params": call}).to_string());
    let answer = lines.until("response")["payload"].clone();
    assert_eq!(transport(&answer), "stdio", "{answer}");
    let again = outcome(&env, "keepa.products_get", &call);
    assert_eq!(
        again["data"]["provenance"]["mcp"]["cache_hit"], true,
        "{again}"
    );
}

fn target(env: &TestEnv, arguments: &Value) -> Value {
    outcome(env, "keepa.resolve_research_target", arguments)["data"].clone()
}

#[test]
fn a_target_is_what_the_caller_says_it_is() {
    let env = TestEnv::new();
    let of = |query: &str, hint: &str| {
        let found = target(&env, &json!({"query": query, "hint_type": hint}));
        let primary = &found["primary"];
        assert_eq!(primary["hint_matched"], true, "{query} {hint}: {found}");
        (primary["type"].clone(), primary["id"].clone())
    };
    assert_eq!(
        of("172282", "category"),
        (json!("category"), json!("172282"))
    );
    assert_eq!(
        of("B0KETTLE01", "keyword"),
        (json!("keyword"), json!("B0KETTLE01"))
    );
    assert_eq!(
        of("b0kettle01", "asin"),
        (json!("asin"), json!("B0KETTLE01"))
    );
    assert_eq!(
        of("ATVPDKIKXE", "seller"),
        (json!("seller"), json!("ATVPDKIKXE"))
    );
    assert_eq!(
        of("4006381333931 ", "code"),
        (json!("code"), json!("4006381333931"))
    );
    assert_eq!(
        of("product_kettle", "fixture"),
        (json!("fixture"), json!("product_kettle.json"))
    );
}

#[test]
fn a_target_may_always_be_a_keyword() {
    let env = TestEnv::new();
    let found = target(&env, &json!({"query": "steel kettle B0KETTLE01"}));
    let candidates = found["candidates"].as_array().unwrap();
    let keyword = candidates
        .iter()
        .find(|one| one["type"] == "keyword")
        .unwrap();
    assert_eq!(
        (&keyword["id"], &keyword["score"]),
        (&json!("steel kettle"), &json!(0.55)),
        "{found}"
    );
    assert_eq!(found["primary"]["type"], "asin", "{found}");
}

#[test]
fn a_link_names_its_marketplace() {
    let env = TestEnv::new();
    let links = [
        (
            "https://www.amazon.de/Wasserkocher/dp/B0KETTLE01?th=1",
            "DE",
        ),
        ("see amazon.co.uk/gp/product/B0KETTLE01/ref=x", "GB"),
        ("https://amazon.com/dp/B0KETTLE01", "US"),
        ("https://www.amazon.com.mx/dp/B0KETTLE01", "MX"),
    ];
    for (query, domain) in links {
        let found = target(&env, &json!({"query": query}));
        assert_eq!(
            (
                &found["primary"]["id"],
                &found["primary"]["domain"],
                &found["domain"]
            ),
            (&json!("B0KETTLE01"), &json!(domain), &json!(domain)),
            "{query}"
        );
        assert_eq!(
            found["next_actions"][0]["params"]["domain"], domain,
            "{query}"
        );
        let keyword = found["candidates"].as_array().unwrap().iter();
        assert!(
            keyword
                .clone()
                .all(|one| one["type"] != "keyword" || one["id"] == "see"),
            "{found}"
        );
    }
    // A link in the words outweighs the usual marketplace; what the caller says outweighs a link.
    let said = target(
        &env,
        &json!({"query": "https://www.amazon.de/dp/B0KETTLE01", "domain": "FR"}),
    );
    assert_eq!(said["domain"], "FR", "{said}");
    let seller = target(
        &env,
        &json!({"query": "https://www.amazon.it/s?me=A2L77EE7U53NWQ"}),
    );
    assert_eq!(seller["primary"]["type"], "seller", "{seller}");
    let node = target(
        &env,
        &json!({"query": "https://www.amazon.fr/b?node=172282"}),
    );
    assert_eq!(
        (&node["primary"]["type"], &node["primary"]["id"]),
        (&json!("category"), &json!("172282")),
        "{node}"
    );
}

#[test]
fn a_sample_of_another_product_is_no_answer() {
    let env = TestEnv::new();
    for (tool, arguments) in [
        (
            "keepa.products_get",
            json!({"asin": "B0TEAPOT05", "fixture": "product_kettle.json"}),
        ),
        (
            "keepa.history_trend",
            json!({"asin": "B0TEAPOT05", "fixture": "product_history.json"}),
        ),
        (
            "keepa.tracking_get",
            json!({"asin": "B0TEAPOT05", "fixture": "tracking_list.json"}),
        ),
    ] {
        let refused = outcome(&env, tool, &arguments);
        assert_eq!(
            refused["error"]["errorCode"], "product_not_found",
            "{tool}: {refused}"
        );
        let details = &refused["error"]["details"];
        assert_eq!(
            (&details["asked"], &details["answered"]),
            (&json!(["B0TEAPOT05"]), &json!(["B0KETTLE01"])),
            "{refused}"
        );
    }
    // Of a sample that holds more than was asked for, the rest is no part of the answer.
    let two = json!({"asin": ["B0KETTLE01", "B0GRINDER2"], "fixture": "products_compare.json"});
    let compared = outcome(&env, "keepa.products_compare", &two);
    assert_eq!(compared["data"]["product_count"], 2, "{compared}");
}

#[test]
fn the_folder_a_user_works_in_is_read_where_the_operator_says_so() {
    let env = TestEnv::new();
    let path = env.write("project/tasks.json", r#"{"tasks": [{"command": "a"}]}"#);
    let ask = |env: &TestEnv| {
        let mut lines = Lines::start(env, &[]);
        let call =
            json!({"id": 1, "method": "reports.build", "params": {"input": path, "format": "csv"}});
        lines.send(&call.to_string());
        let built = lines.until("response")["payload"].clone();
        lines.send(r#"{"id":2,"method":"context.policy"}"#);
        (built, lines.until("response")["payload"].clone())
    };
    let (refused, policy) = ask(&env);
    assert_eq!(refused["error"]["errorCode"], "file_refused", "{refused}");
    let folder = env
        .path("project")
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    let roots = policy["data"]["roots"]["read_roots"]
        .as_array()
        .unwrap()
        .clone();
    assert!(!roots.contains(&json!(folder)), "{policy}");
    env.configure("[keepa]\nread_working_dir = true\n");
    let (built, policy) = ask(&env);
    assert_eq!(built["data"]["row_count"], 1, "{built}");
    let roots = policy["data"]["roots"]["read_roots"]
        .as_array()
        .unwrap()
        .clone();
    assert!(roots.contains(&json!(folder)), "{policy}");
}

#[test]
fn the_policy_says_what_a_live_read_meets() {
    let mut env = TestEnv::with_config("[keepa]\nkey = \"env:MY_KEEPA_KEY\"\n");
    let live = |env: &TestEnv| {
        outcome(env, "keepa.context_policy", &json!({}))["data"]["live_keepa"].clone()
    };
    let without = live(&env);
    assert_eq!(
        (
            &without["api_key_configured"],
            &without["allowed_by_default"]
        ),
        (&json!(false), &json!(false)),
        "{without}"
    );
    env.set("MY_KEEPA_KEY", "x");
    let with = live(&env);
    // With a key a read of low cost runs, and nobody is asked.
    assert_eq!(
        (
            &with["api_key_configured"],
            &with["allowed_by_default"],
            &with["low_cost_reads"],
            &with["high_cost_reads"]
        ),
        (
            &json!(true),
            &json!(true),
            &json!("run"),
            &json!("need yes=true")
        ),
        "{with}"
    );
    let args = ["--profile", "offline_fixture_only"];
    let offline = env.call("keepa.context_policy", "{}", &args).json();
    let offline = &offline["data"]["live_keepa"];
    assert_eq!(
        (&offline["allowed_by_default"], &offline["low_cost_reads"]),
        (&json!(false), &json!("need a fixture or a dry run")),
        "{offline}"
    );
}
