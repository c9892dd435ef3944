//! Profiles: what is off says so, and is refused before anything runs.

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Stdio};
use crate::support::TestEnv;

const CALM: &str = "[profiles.calm]\ninactive = [\"text.*\"]\nreason = \"no texts today\"\n";

fn meta_of(listed: &Value, tool: &str) -> Value {
    let tools = listed["tools"].as_array().unwrap();
    let found = tools.iter().find(|it| it["name"] == tool);
    found.unwrap()["_meta"].clone()
}

#[track_caller]
fn is_inactive(result: &Value) {
    assert_eq!(result["isError"], true, "{result}");
    let failure = &result["_meta"]["tollgate/result"]["error"];
    assert_eq!(failure["kind"], "inactive_tool", "{failure}");
    assert!(failure.to_string().contains("no texts today"), "{failure}");
}

#[test]
fn a_profile_marks_what_it_turns_off() {
    let env = TestEnv::with_config(CALM);
    let mut client = Stdio::modern(&env, &[]);
    let params = json!({"toolsets": "gate", "profile": "calm"});
    let listed = client.result("tools/list", params);
    let off = meta_of(&listed, "text.stats");
    assert_eq!(off["tollgate/active"], false);
    assert_eq!(off["tollgate/inactive_reason"], "no texts today");
    let on = meta_of(&listed, "time.now");
    assert_eq!(on["tollgate/active"], true);
    assert!(on.get("tollgate/inactive_reason").is_none());
    assert_eq!(listed["_meta"]["tollgate/list"]["profile"], "calm");
    let without = client.result("tools/list", json!({"toolsets": "gate"}));
    assert_eq!(meta_of(&without, "text.stats")["tollgate/active"], true);
}

#[test]
fn a_call_under_a_profile_is_refused_if_the_tool_is_off() {
    let env = TestEnv::with_config(CALM);
    let text = json!({"text": "hello"});
    let mut client = Stdio::modern(&env, &[]);
    let params = json!({"name": "text.stats", "arguments": text, "profile": "calm"});
    is_inactive(&client.result("tools/call", params));
    let without = client.call("text.stats", text.clone());
    assert_eq!(without["_meta"]["tollgate/result"]["status"], "ok");

    let mut client = Stdio::modern(&env, &["--profile", "calm"]);
    is_inactive(&client.call("text.stats", text.clone()));
    let inner = json!({"name": "text.stats", "arguments": text});
    is_inactive(&client.call("tools.call", inner));
    assert_eq!(client.call("time.now", json!({}))["isError"], false);

    let gate = Gate::open(&env);
    let call = Ask::call("text.stats", text.clone()).at("/mcp?profile=calm");
    is_inactive(&gate.result(&call));

    env.configure(&format!("{CALM}[discovery]\nprofile = \"calm\"\n"));
    let mut client = Stdio::modern(&env, &[]);
    is_inactive(&client.call("text.stats", text));
    let listed = client.result("tools/list", json!({"toolsets": "gate"}));
    let off = meta_of(&listed, "text.stats");
    assert_eq!(off["tollgate/active"], false, "the list says so as well");
}

#[test]
fn tools_of_the_keepa_pack_carry_the_marks_of_its_document() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let params = json!({"groups": "research", "profile": "tracking_readonly"});
    let listed = client.result("tools/list", params);
    let tools = listed["tools"].as_array().unwrap();
    let marks = |name: &str| {
        let found = tools.iter().find(|it| it["name"] == name);
        found.unwrap()["x-keepa"].clone()
    };
    let on = marks("keepa.categories_finder_selection");
    assert_eq!(on["service_command"], "categories.finder-selection");
    let groups = on["groups"].as_array().unwrap();
    assert!(groups.contains(&json!("research")), "{on}");
    assert_eq!(
        (&on["active"], &on["inactive_reason"]),
        (&json!(true), &Value::Null)
    );
    let mut off = tools.iter().filter(|it| it["x-keepa"]["active"] == false);
    let off = off.next().expect("the profile turns something off");
    assert_eq!(off["_meta"]["tollgate/active"], false);
    let reasons = (
        &off["x-keepa"]["inactive_reason"],
        &off["_meta"]["tollgate/inactive_reason"],
    );
    assert_eq!(reasons.0, reasons.1);
    assert!(
        tools.iter().any(|it| it.get("x-keepa").is_none()),
        "others carry none"
    );
}

#[test]
fn what_a_plan_allows_is_active_where_the_plan_says_to_look() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let plans = [
        json!({"name": "category-research", "term": "coffee"}),
        json!({"name": "product-research", "asin": "B0KETTLE01"}),
        json!({"name": "report-research"}),
        json!({"name": "tracking-audit", "asin": "B0KETTLE01"}),
    ];
    for plan in plans {
        let made = client.call("keepa.workflow_plan", plan.clone());
        let policy = &made["structuredContent"]["data"]["workflow_policy"];
        let found = &policy["tool_discovery"];
        let listed = client.result(found["method"].as_str().unwrap(), found["params"].clone());
        let active = |name: &Value| {
            let mut tools = listed["tools"].as_array().unwrap().iter();
            let tool = tools.find(|it| it["name"] == *name);
            tool.map(|it| it["x-keepa"]["active"].clone())
        };
        let allowed = policy["allowed_tools"].as_array().unwrap();
        assert!(!allowed.is_empty(), "{plan}");
        for name in allowed {
            assert_eq!(active(name), Some(json!(true)), "{plan}: {name}");
        }
        for off in policy["inactive_tools"].as_array().unwrap() {
            assert_eq!(active(&off["tool"]), Some(json!(false)), "{plan}: {off}");
        }
    }
    // Such a tool runs on a sample, and asks for one otherwise.
    let question = |sample: Value| {
        json!({
            "name": "keepa.products_compare", "profile": "dry_run_default",
            "arguments": {"asin": ["B0KETTLE01", "B0GRINDER2"], "fixture": sample},
        })
    };
    let on_a_sample = client.result("tools/call", question(json!("products_compare.json")));
    assert_eq!(on_a_sample["isError"], false, "{on_a_sample}");
    let mut live = question(Value::Null);
    live["arguments"].as_object_mut().unwrap().remove("fixture");
    let live = client.result("tools/call", live);
    let failure = &live["structuredContent"]["error"];
    assert_eq!(
        failure["errorCode"], "profile_requires_fixture_or_dry_run",
        "{live}"
    );
}

#[test]
fn a_set_or_profile_that_is_not_there_names_those_that_are() {
    let env = TestEnv::with_config(CALM);
    let mut client = Stdio::modern(&env, &[]);
    for (params, old, new, one) in [
        (
            json!({"toolset": "nothing"}),
            "toolsets",
            "available_toolsets",
            "gate",
        ),
        (
            json!({"profile": "nothing"}),
            "profiles",
            "available_profiles",
            "calm",
        ),
    ] {
        let data = client.error("tools/list", params)["data"].clone();
        let known = data[new].as_array().unwrap_or_else(|| panic!("{data}"));
        assert!(known.contains(&json!(one)), "{data}");
        assert_eq!(data[old], data[new]);
    }
    let call = json!({"name": "time.now", "arguments": {}, "profile": "nothing"});
    let refused = client.error("tools/call", call);
    let details = &refused["data"]["tollgate/error"]["details"];
    assert!(
        details["available_profiles"]
            .as_array()
            .unwrap()
            .contains(&json!("calm")),
        "{refused}"
    );
    assert_eq!(details["profiles"], details["available_profiles"]);
}
