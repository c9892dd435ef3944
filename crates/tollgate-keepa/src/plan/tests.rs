//! The four plans: prices, profiles, and that every step can be run.

use super::*;

fn made(params: Value) -> Value {
    plan(&Params::of(&params)).unwrap()
}

#[test]
fn prices_are_those_of_the_steps() {
    let category = made(json!({"name": "category-research", "term": "coffee", "hydrate_top": 2}));
    assert_eq!(category["totals"]["estimated_tokens"], 55);
    let policy = &category["workflow_policy"];
    assert_eq!(
        policy["confirmation_policy"]["step_ids"],
        json!(["fetch-category-products"])
    );
    assert_eq!(policy["inactive_tools"], json!([]));
    let product = made(json!({"name": "product-research", "asin": "B0FIXTURE1", "goal": "deal"}));
    assert_eq!(product["totals"]["estimated_tokens"], 14);
    assert_eq!(product["steps"][0]["params"]["view"], "deal");
    for name in ["report-research", "tracking-audit"] {
        let free = made(json!({"name": name}));
        assert_eq!(free["totals"]["worst_case_tokens"], 0, "{name}");
        assert_eq!(free["totals"]["requires_confirmation"], false, "{name}");
    }
}

#[test]
fn steps_follow_steps_that_are_there_and_call_tools_with_arguments_they_take() {
    let all = [
        json!({"name": "category-research", "term": "coffee"}),
        json!({"name": "product-research", "asin": "B0FIXTURE1"}),
        json!({"name": "report-research", "goal": "deal"}),
        json!({"name": "tracking-audit", "asin": "B0FIXTURE1"}),
    ];
    for params in all {
        let plan = made(params);
        let steps = plan["steps"].as_array().unwrap();
        let mut before: Vec<&Value> = Vec::new();
        for step in steps {
            for needed in step["depends_on"].as_array().unwrap() {
                assert!(before.contains(&needed), "{needed}");
            }
            before.push(&step["id"]);
            let tool = Tool::named(step["mcp_tool"].as_str().unwrap()).unwrap();
            let known: Vec<&str> = tool.takes().map(|(name, _)| name).collect();
            for name in step["params"].as_object().unwrap().keys() {
                assert!(known.contains(&name.as_str()), "{name} of {}", tool.name());
            }
            assert_eq!(step["mcp"]["active_in_profile"], true, "{}", step["id"]);
            assert_eq!(
                step["execution"]["safe_default"] == true,
                step["requires_confirmation"] == false
            );
        }
    }
}

#[test]
fn what_is_missing_or_unknown_is_said() {
    for params in [
        json!({}),
        json!({"name": "no-such-plan"}),
        json!({"name": "category-research"}),
        json!({"name": "product-research"}),
    ] {
        assert!(plan(&Params::of(&params)).is_err(), "{params}");
    }
}

#[test]
fn the_short_form_keeps_policy_and_prices() {
    let short = compact_policy(&Params::of(
        &json!({"name": "category-research", "term": "tea"}),
    ))
    .unwrap();
    assert_eq!(short["step_summary"].as_array().unwrap().len(), 4);
    assert!(short.get("steps").is_none());
    assert_eq!(short["workflow_policy"]["recommended_toolset"], "research");
}
