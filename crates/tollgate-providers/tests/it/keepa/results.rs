//! Every way to hand the result of an earlier step on leads to the same arguments, and what leads nowhere is named.

use serde_json::{Value, json};

use super::{agent, ask, offline};

#[tokio::test]
async fn a_result_can_be_handed_on_in_every_way_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let cx = agent();
    let list = json!({"category": "289754", "fixture": "bestsellers.json", "limit": 3});
    let listed = ask(&provider, &cx, "keepa.categories_products", list)
        .await
        .unwrap();
    let data = listed.payload.value().clone();
    let key = data["provenance"]["mcp"]["session_cache_key"].clone();
    let uri = format!("keepa://research/{}", key.as_str().unwrap());
    let ways = [
        json!({"resource_uri": uri}),
        json!({"resource_uris": [uri]}),
        json!({"artifact": uri}),
        json!({"artifact": key}),
        json!({"artifact": {"cache_key": key}}),
        json!({"artifact": {"resource_uri": uri}}),
        json!({"artifact": {"payload": data}}),
        json!({"artifact": {"data": data}}),
        json!({"artifacts": [uri]}),
        json!({"artifacts": {"category_products": {"uri": uri}}}),
        json!({"workflow_inputs": {"asins": {"required": true, "value": key}}}),
        json!({"workflow_inputs": {"asins": {"value": [uri]}}}),
        json!({"workflow_context": {"steps": {"fetch-category-products": {"resource_uri": uri}}}}),
        json!({"workflow_context": {"outputs": [{"artifact": {"cache_key": key}}]}}),
        json!({"workflow_context": {"results": [{"payload": data}]}}),
        json!({"workflow_context": {"step_outputs": {"a": {"previous_outputs": [{"data": data}]}}}}),
    ];
    let mut first: Option<Value> = None;
    for way in ways {
        let mut question = way.clone();
        question["fixture"] = json!("products_compare.json");
        let answer = ask(&provider, &cx, "keepa.products_compare", question).await;
        let answer = answer.unwrap_or_else(|error| panic!("{way}: {error:?}"));
        let compared = answer.payload.value();
        let account = &compared["workflow_resolution"];
        let asins = account["derived_values"]["asins"].clone();
        assert_eq!(asins[0], "B0KETTLE01", "{way}");
        assert_eq!(account["missing_inputs"], json!([]), "{way}");
        // However it came, it is the same question, so it has the same key.
        let key = compared["provenance"]["mcp"]["session_cache_key"].clone();
        assert_eq!(*first.get_or_insert(key.clone()), key, "{way}");
    }
}

#[tokio::test]
async fn what_a_session_wrote_can_be_handed_on_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let cx = agent();
    let compare = json!({"asin": ["B0KETTLE01", "B0GRINDER2"], "fixture": "products_compare.json"});
    let compared = ask(&provider, &cx, "keepa.products_compare", compare).await;
    let key = compared.unwrap().payload.value()["provenance"]["mcp"]["session_cache_key"].clone();
    let page = json!({"artifact": key});
    let page = ask(&provider, &cx, "keepa.browse_snapshot", page)
        .await
        .unwrap();
    let page = page.payload.value().clone();
    assert!(
        !page["workflow_resolution"]["temp_paths"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let path = page["data"].as_str().unwrap();
    for way in [
        json!({"artifact": path}),
        json!({"artifact": {"path": path}}),
        json!({"artifact": {"output": {"path": path}}}),
        json!({"workflow_context": {"results": {"page": {"output": {"path": path}}}}}),
    ] {
        let merged = ask(&provider, &cx, "keepa.research_graph_merge", way.clone()).await;
        let merged = merged.unwrap_or_else(|error| panic!("{way}: {error:?}"));
        let counts = &merged.payload.value()["summary"]["entity_counts"];
        assert!(counts["product"].as_u64().unwrap() >= 2, "{way}: {counts}");
    }
}

#[tokio::test]
async fn a_page_of_a_comparison_that_kept_its_points_has_charts() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let cx = agent();
    for keeps in [true, false] {
        let compare = json!({
            "asin": ["B0KETTLE01", "B0GRINDER2"], "fixture": "products_compare.json", "keep_history_points": keeps,
        });
        let compared = ask(&provider, &cx, "keepa.products_compare", compare)
            .await
            .unwrap();
        let data = compared.payload.value();
        let rows = data["rows"].as_array().unwrap().len();
        let key = data["provenance"]["mcp"]["session_cache_key"].clone();
        let page = json!({"artifact": key});
        let page = ask(&provider, &cx, "keepa.browse_snapshot", page)
            .await
            .unwrap();
        let page = page.payload.value()["index"].as_str().unwrap().to_owned();
        let page = std::fs::read_to_string(page).unwrap();
        let expected = if keeps { rows + 1 } else { 0 };
        assert_eq!(page.matches("<svg ").count(), expected, "{keeps}");
    }
}

#[tokio::test]
async fn what_leads_nowhere_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let secret = folder.path().join("secret.json");
    std::fs::write(&secret, r#"{"asins": ["B0KETTLE01", "B0GRINDER2"]}"#).unwrap();
    for way in [
        json!({"artifact": "products.get:000000000000000000000000"}),
        json!({"resource_uri": "keepa://research/products.get:000000000000000000000000"}),
        json!({"artifact": secret.display().to_string()}),
        json!({"workflow_inputs": {"asins": {"value": "<ASIN>"}}}),
        json!({"workflow_context": {}}),
        json!({}),
    ] {
        let failed = ask(&provider, &agent(), "keepa.products_compare", way.clone()).await;
        let failed = failed.unwrap_err();
        assert_eq!(
            failed.document_code.as_deref(),
            Some("missing_inputs"),
            "{way}"
        );
        let missing = &failed.details["missing_inputs"];
        assert_eq!(missing[0]["field"], "asin", "{way}: {missing}");
        assert!(
            !missing[0]["accepts"].as_array().unwrap().is_empty(),
            "{way}"
        );
        assert_eq!(failed.consumed, Some(0), "{way}");
    }
}

#[tokio::test]
async fn each_tool_takes_what_it_needs_of_an_earlier_result() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let cx = agent();
    let run = async |tool: &str, arguments: Value| {
        let answer = ask(&provider, &cx, &format!("keepa.{tool}"), arguments).await;
        let answer = answer.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
        let request = answer.service.clone().unwrap().request;
        (
            answer.payload.value().clone(),
            request["params_redacted"].clone(),
        )
    };
    let key = |data: &Value| data["provenance"]["mcp"]["session_cache_key"].clone();
    let search = json!({"term": "kettle", "fixture": "category_search.json"});
    let (found, _) = run("categories_search", search).await;
    let category = found["category_candidates"][0]["category_id"].clone();
    let (scaffold, _) = run(
        "categories_finder_selection",
        json!({"artifact": key(&found)}),
    )
    .await;
    assert_eq!(scaffold["category_id"], category);
    let list = json!({"artifact": key(&found), "fixture": "bestsellers.json", "limit": 3});
    let (listed, asked) = run("categories_products", list).await;
    assert_eq!(asked["category"], category);

    let first = listed["asins"][0].clone();
    let get = json!({"artifact": key(&listed), "fixture": "product_kettle.json"});
    let (_, asked) = run("products_get", get).await;
    assert_eq!(asked["asin"], first);
    // What is given by name is not overwritten.
    let named =
        json!({"artifact": key(&listed), "asin": "B0SCALE003", "fixture": "products_compare.json"});
    let (_, asked) = run("products_get", named).await;
    assert_eq!(asked["asin"], "B0SCALE003");

    let (audit, _) = run(
        "audit_cost",
        json!({"artifact": key(&listed), "target_command": "products.get"}),
    )
    .await;
    assert_eq!(audit["items"][0]["params"]["asin"], first);
    let offers = json!({"artifact": key(&listed), "target_command": "products.get", "params": {"offers": 20}});
    let (audit, _) = run("audit_cost", offers).await;
    assert_eq!(
        audit["items"][0]["params"],
        json!({"offers": 20, "asin": first})
    );
    assert_eq!(audit["totals"]["estimated_tokens"], 13);

    let before = json!({"asins": ["B0KETTLE01"], "trackings": [{"asin": "B0GRINDER2"}]});
    let tracked = json!({"artifact": {"payload": before}, "dry_run": true});
    let (_, asked) = run("tracking_get", tracked).await;
    assert_eq!(asked["asin"], "B0GRINDER2");
    let untracked = json!({"artifact": {"payload": {"asins": ["B0KETTLE01"]}}, "fixture": "tracking_list.json"});
    let (_, asked) = run("tracking_get", untracked).await;
    assert_eq!(asked["asin"], "B0KETTLE01");
}
