//! Commands that agents have no tool for: each is there, answers, and says what it is asked to say.

use serde_json::{Value, json};
use tollgate_core::{Provider, Surface};
use tollgate_keepa::Command;
use tollgate_testkit::fakes::context;

use super::{
    SLOW, agent, ask, live, offline,
    server::{KEY, Server},
};

async fn told(provider: &dyn Provider, tool: &str, arguments: Value) -> Value {
    let answer = ask(provider, &context(), &format!("keepa.{tool}"), arguments).await;
    let answer = answer.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
    answer.payload.value().clone()
}

#[tokio::test]
async fn what_there_is_can_be_asked() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let capabilities = told(&provider, "capabilities", json!({})).await;
    assert_eq!(capabilities["command_count"], Command::ALL.len());
    assert_eq!(capabilities["tool_count"], 28);
    assert_eq!(capabilities["profiles"].as_array().unwrap().len(), 5);
    let sets = capabilities["toolsets"].as_object().unwrap();
    assert_eq!(sets["research"].as_array().unwrap().len(), 18);
    let domains = told(&provider, "domains_list", json!({})).await;
    let domains = domains["domains"].as_array().unwrap().clone();
    assert_eq!(domains.len(), 11);
    let japan = domains.iter().find(|one| one["code"] == "JP").unwrap();
    assert_eq!(
        (&japan["id"], &japan["minor_units"]),
        (&json!(5), &json!(1))
    );
    let schemas = told(&provider, "schema_generate", json!({})).await;
    let schemas = schemas["schemas"].as_array().unwrap().clone();
    assert_eq!(schemas.len(), Command::ALL.len());
    for schema in &schemas {
        assert_eq!(schema["input_schema"]["additionalProperties"], false);
        assert_eq!(schema["output_schema"]["type"], "object");
    }
    let one = told(
        &provider,
        "schema_generate",
        json!({"name": "keepa.products_get"}),
    )
    .await;
    assert_eq!(one["schemas"][0]["command"], "products.get");
    let templates = told(&provider, "templates_list", json!({})).await;
    for template in templates["templates"].as_array().unwrap() {
        let name = &template["name"];
        let shown = told(&provider, "templates_show", json!({ "name": name })).await;
        assert!(shown["template"].is_object(), "{name}");
    }
    assert_eq!(templates["templates"].as_array().unwrap().len(), 4);
    let call =
        json!({"command": "products.get", "params": {"asin": "B0KETTLE01", "history-limit": 2}});
    let key = told(&provider, "cache_explain_key", call).await;
    let sample = json!({"asin": "B0KETTLE01", "history_limit": 2});
    let spelled = json!({"command": "products.get", "params": sample});
    assert_eq!(
        key["cache_key"],
        told(&provider, "cache_explain_key", spelled).await["cache_key"]
    );
}

#[tokio::test]
async fn a_file_of_numbers_becomes_requests_that_each_fit() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let mut words: Vec<String> = (0..150).map(|at| format!("B0KETTL{at:03}")).collect();
    words.push("B0KETTL000".to_owned());
    words.push("kettles".to_owned());
    let file = folder.path().join("asins.txt");
    std::fs::write(&file, words.join("\n")).unwrap();
    let batch = json!({"input": file.display().to_string()});
    let planned = told(&provider, "batch_asins", batch).await;
    assert_eq!(planned["asin_count"], 150);
    assert_eq!(planned["not_asins"], json!(["kettles"]));
    let sizes: Vec<usize> = planned["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["params"]["asin"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [100, 50]);
    assert_eq!(planned["totals"]["estimated_tokens"], 150);
}

#[tokio::test]
async fn lists_are_read_from_samples() {
    let folder = tempfile::tempdir().unwrap();
    let provider = offline(folder.path());
    let cases = [
        (
            "products_search",
            json!({"term": "kettle", "fixture": "product_search.json"}),
            "/body/products/0/asin",
        ),
        (
            "categories_get",
            json!({"category": "1055398", "fixture": "categories.json"}),
            "/body/categories/1055398/name",
        ),
        (
            "lightningdeals_list",
            json!({"fixture": "lightningdeals.json"}),
            "/body/lightningDeals/0/asin",
        ),
        (
            "tracking_list",
            json!({"fixture": "tracking_list.json"}),
            "/body/trackings/0/asin",
        ),
        (
            "request_get",
            json!({"endpoint": "token", "fixture": "token_status.json"}),
            "/body/tokensLeft",
        ),
    ];
    for (tool, arguments, path) in cases {
        let data = told(&provider, tool, arguments).await;
        assert_eq!(data["offline"], true, "{tool}");
        assert!(
            data.pointer(path).is_some_and(|found| !found.is_null()),
            "{tool} {path}"
        );
    }
}

#[tokio::test]
async fn a_plain_request_is_asked_as_it_is_and_only_reads() {
    let server = Server::start(100, SLOW).await;
    let folder = tempfile::tempdir().unwrap();
    let provider = live(&server, folder.path(), KEY);
    let plain = json!({"endpoint": "search", "params": {"domain": 1, "type": "category", "term": "tea & cups"}});
    let answer = ask(&provider, &agent(), "keepa.request_get", plain)
        .await
        .unwrap();
    assert_eq!(answer.usage.consumed, Some(1));
    let lines = server.lines();
    assert!(
        lines[0].contains("/search?") && lines[0].contains("term=tea%20%26%20cups"),
        "{lines:?}"
    );
    for wrong in [
        json!({"endpoint": "tracking", "params": {"type": "add"}}),
        json!({"endpoint": "product", "params": {"Key": "mine"}}),
        json!({"endpoint": "a/b"}),
    ] {
        let refused = ask(&provider, &agent(), "keepa.request_get", wrong)
            .await
            .unwrap_err();
        assert_eq!(refused.consumed, Some(0));
    }
    assert_eq!(server.lines().len(), 1);
}

#[tokio::test]
async fn what_changes_something_is_for_the_command_line_alone() {
    let folder = tempfile::tempdir().unwrap();
    let specs = offline(folder.path()).tools().await.unwrap();
    let on = |surface: Surface| {
        specs
            .iter()
            .filter(move |spec| spec.surfaces.contains(&surface))
    };
    assert_eq!(on(Surface::Mcp).count(), 28);
    let writes = [
        "keepa.tracking_add",
        "keepa.tracking_remove",
        "keepa.tracking_remove_all",
        "keepa.tracking_webhook",
    ];
    for name in writes {
        let spec = specs
            .iter()
            .find(|spec| spec.name.as_str() == name)
            .unwrap();
        assert_eq!(spec.surfaces, [Surface::Cli], "{name}");
        assert!(
            !spec.annotations.read_only && spec.annotations.destructive,
            "{name}"
        );
    }
}
