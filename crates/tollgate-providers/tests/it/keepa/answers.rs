//! What tools answer is what their specs say, and profiles and prices hold.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use tollgate_core::{CallContext, Provider, ProviderError};

use super::{agent, ask, context, offline};

/// A call of every tool on samples.
fn calls(folder: &std::path::Path) -> Vec<(&'static str, Value)> {
    let input = folder.join("compare.json");
    let sample = tollgate_keepa::fixtures::find("agent_eval_products_compare_output.json").unwrap();
    std::fs::write(&input, sample).unwrap();
    let input = input.display().to_string();
    let at = |name: &str| folder.join(name).display().to_string();
    let kettle = json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json"});
    let with = |extra: Value| {
        let mut all = kettle.clone();
        for (name, value) in extra.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    };
    vec![
        ("products_get", with(json!({"view": "research"}))),
        ("products_get", with(json!({"view": "raw"}))),
        (
            "products_get",
            with(json!({"view": "audit", "chunks_dir": at("chunks"), "out": at("raw.json")})),
        ),
        (
            "products_compare",
            json!({"asin": ["B0KETTLE01", "B0GRINDER2"], "fixture": "products_compare.json"}),
        ),
        (
            "categories_search",
            json!({"term": "kettles", "fixture": "category_search.json"}),
        ),
        (
            "categories_search",
            json!({"term": "nothing", "fixture": "category_search_empty.json"}),
        ),
        (
            "categories_products",
            json!({"category": "289754", "fixture": "bestsellers.json", "hydrate_top": 2, "product_fixture": "products_compare.json"}),
        ),
        (
            "categories_finder_selection",
            json!({"category": "289754", "out": at("selection.json")}),
        ),
        (
            "finder_query",
            json!({"selection": {"perPage": 50}, "fixture": "finder.json"}),
        ),
        (
            "deals_query",
            json!({"selection": {"page": 0, "priceTypes": [0]}, "fixture": "deals.json"}),
        ),
        (
            "sellers_get",
            json!({"seller": "A1SELLER01", "fixture": "sellers.json"}),
        ),
        (
            "bestsellers_get",
            json!({"category": "289754", "fixture": "bestsellers_flat.json"}),
        ),
        (
            "topsellers_list",
            json!({"category": "1", "fixture": "topsellers.json"}),
        ),
        (
            "workflow_plan",
            json!({"name": "category-research", "term": "tea"}),
        ),
        ("workflow_plan", json!({"name": "tracking-audit"})),
        (
            "research_graph_merge",
            json!({"input": input, "out": at("graph.json")}),
        ),
        (
            "research_brief_export",
            json!({"input": input, "out": at("brief.json")}),
        ),
        ("docs_index", json!({})),
        ("docs_read", json!({})),
        ("context_policy", json!({})),
        (
            "resolve_research_target",
            json!({"query": "B0KETTLE01", "hint_type": "asin"}),
        ),
        (
            "query_research_context",
            json!({"query": "risk of B0KETTLE01"}),
        ),
        ("audit_cost", json!({"target_command": "bestsellers.get"})),
        (
            "cassettes_sanitize",
            json!({"input": input, "out": at("clean.json")}),
        ),
        (
            "cassettes_promote",
            json!({"input": input, "name": "new", "tests_dir": at("a"), "package_dir": at("b")}),
        ),
        (
            "cassettes_promote_and_verify",
            json!({"input": input, "name": "new", "tests_dir": at("a"), "package_dir": at("b")}),
        ),
        ("reports_build", json!({"input": input})),
        (
            "reports_build",
            json!({"input": input, "format": "csv", "out": at("report.csv")}),
        ),
        ("browse_snapshot", json!({"input": input})),
        ("tracking_list", json!({"fixture": "tracking_list.json"})),
        (
            "tracking_list_names",
            json!({"fixture": "tracking_names.json"}),
        ),
        (
            "tracking_get",
            json!({"asin": "B0KETTLE01", "fixture": "tracking_list.json"}),
        ),
        (
            "tracking_notifications",
            json!({"fixture": "tracking_notifications.json"}),
        ),
    ]
}

#[tokio::test]
async fn every_field_of_every_answer_is_in_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let specs = provider.tools().await.unwrap();
    let mut tried = BTreeSet::new();
    for (tool, arguments) in calls(folder.path()) {
        let name = format!("keepa.{tool}");
        let answer = ask(&provider, &context(), &name, arguments).await;
        let answer = answer.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let spec = specs
            .iter()
            .find(|spec| spec.name.as_str() == name)
            .unwrap();
        let schema = spec.output_schema.as_deref().unwrap();
        let data = answer.payload.value().as_object().unwrap();
        for field in data.keys() {
            assert!(!schema["properties"][field].is_null(), "{name}: {field}");
        }
        for field in schema["required"].as_array().unwrap() {
            assert!(
                data.contains_key(field.as_str().unwrap()),
                "{name}: {field}"
            );
        }
        tried.insert(tool);
    }
    assert_eq!(tried.len(), 28);
}

fn in_profile(name: &str) -> CallContext {
    CallContext {
        profile: Some(Arc::from(name)),
        ..agent()
    }
}

fn code(answer: Result<tollgate_core::ToolResult, ProviderError>) -> String {
    answer.unwrap_err().document_code.unwrap_or_default()
}

#[tokio::test]
async fn the_sessions_profile_holds_and_an_argument_only_narrows_it() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let search = "keepa.categories_search";
    let offline_only = in_profile("dry_run_default");
    let needs = "profile_requires_fixture_or_dry_run";
    let live = json!({"term": "tea"});
    assert_eq!(
        code(ask(&provider, &offline_only, search, live.clone()).await),
        needs
    );
    let wider = json!({"term": "tea", "profile": "live_read_allowed"});
    assert_eq!(
        code(ask(&provider, &offline_only, search, wider.clone()).await),
        needs
    );
    let sample = json!({"term": "tea", "fixture": "category_search.json"});
    assert!(
        ask(&provider, &offline_only, search, sample.clone())
            .await
            .is_ok()
    );
    let off = in_profile("tracking_readonly");
    assert_eq!(
        code(ask(&provider, &off, search, sample.clone()).await),
        "inactive_tool"
    );
    // Elsewhere it is only the key that is missing.
    for cx in [
        in_profile("live_read_allowed"),
        in_profile("an-operators-own"),
        agent(),
    ] {
        assert_eq!(
            code(ask(&provider, &cx, search, live.clone()).await),
            "auth_missing"
        );
    }
    let odd = json!({"term": "tea", "profile": "no-such"});
    assert_eq!(
        code(ask(&provider, &agent(), search, odd).await),
        "invalid_argument"
    );
}

#[tokio::test]
async fn what_was_never_asked_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let cx = agent();
    let questions = [
        ("keepa.products_get", json!({"asin": "B0KETTLE01"})),
        (
            "keepa.products_get",
            json!({"asin": "B0KETTLE01", "fixture": "no-such.json"}),
        ),
        ("keepa.finder_query", json!({"selection": {"wrong": 1}})),
        (
            "keepa.products_get",
            json!({"asin": "B0KETTLE01", "domain": "XX"}),
        ),
    ];
    for (tool, arguments) in questions {
        let failed = ask(&provider, &cx, tool, arguments.clone())
            .await
            .unwrap_err();
        assert_eq!(failed.consumed, Some(0), "{arguments}");
    }
    // An error that Keepa told costs what Keepa says.
    let told = json!({"asin": "B0KETTLE01", "fixture": "error_tokens.json"});
    let failed = ask(&provider, &cx, "keepa.products_get", told)
        .await
        .unwrap_err();
    assert_eq!(
        (failed.consumed, failed.retry_after.is_some()),
        (Some(0), true)
    );
}

#[tokio::test]
async fn every_edge_of_a_graph_names_a_place_that_exists() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let short =
        json!({"categories_include": [289754, 1055398], "rootCategory": [1055398], "perPage": 50});
    let mut long = short.clone();
    // Too long for an address, so it is sent as a body.
    long["title"] = json!("kettle ".repeat(400));
    let find = |selection| json!({"selection": selection, "fixture": "finder.json"});
    let category = |name: &str| json!({"category": "289754", "fixture": name});
    let questions = [
        ("finder_query", find(short)),
        ("finder_query", find(long)),
        (
            "deals_query",
            json!({"selection": {"priceTypes": [0]}, "fixture": "deals.json"}),
        ),
        (
            "categories_search",
            json!({"term": "kettle", "fixture": "category_search.json"}),
        ),
        ("categories_products", category("bestsellers.json")),
        ("bestsellers_get", category("bestsellers.json")),
        ("topsellers_list", json!({"fixture": "topsellers.json"})),
        (
            "sellers_get",
            json!({"seller": "A1SAMPLE0SHOP2", "fixture": "sellers.json"}),
        ),
    ];
    for (tool, arguments) in questions {
        let answer = ask(&provider, &agent(), &format!("keepa.{tool}"), arguments).await;
        let answer = answer.unwrap();
        let mut whole = answer.payload.value().clone();
        whole["request"] = answer.service.unwrap().request.clone();
        let edges = whole["research_graph"]["edges"].as_array().unwrap();
        assert!(!edges.is_empty(), "{tool}");
        for edge in edges {
            let path = edge["evidence_path"].as_str().unwrap();
            let found = tollgate_keepa::evaluate::at(&whole, path);
            assert!(found.is_some(), "{tool}: {edge}");
        }
    }
}
