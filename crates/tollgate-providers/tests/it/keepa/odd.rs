//! Samples and arguments that nobody should send: each is refused or read as far as it makes sense, and nothing breaks.

use std::path::Path;

use serde_json::{Value, json};
use tollgate_core::Provider;
use tollgate_providers::keepa::{Settings, provider};

use super::{agent, ask};

fn with_samples(folder: &Path) -> impl Provider {
    let samples = folder.join("samples");
    std::fs::create_dir_all(&samples).unwrap();
    provider(Settings {
        fixture_dirs: vec![samples],
        output_dir: folder.join("out"),
        ..Settings::default()
    })
}

fn put(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join("samples").join(name), text).unwrap();
}

const QUESTIONS: [(&str, &str); 8] = [
    (
        "products_get",
        r#"{"asin": "B0KETTLE01", "view": "research"}"#,
    ),
    (
        "products_compare",
        r#"{"asin": ["B0KETTLE01", "B0GRINDER2"]}"#,
    ),
    ("categories_search", r#"{"term": "tea"}"#),
    ("categories_products", r#"{"category": "1"}"#),
    ("finder_query", r#"{"selection": {"perPage": 50}}"#),
    (
        "deals_query",
        r#"{"selection": {"page": 0, "priceTypes": [0]}}"#,
    ),
    ("sellers_get", r#"{"seller": "A1SELLER01"}"#),
    ("topsellers_list", "{}"),
];

/// Bodies that are JSON, but not what Keepa sends.
fn bodies() -> Vec<Value> {
    let huge = i64::MAX;
    let series = |flat: Value| json!({"products": [{"asin": "B0KETTLE01", "csv": [flat.clone(), flat.clone(), flat.clone(), flat]}]});
    let odd = json!({"a": [1]});
    vec![
        json!({}),
        json!([]),
        json!(5),
        json!({"products": null, "categories": [], "deals": {"dr": 5}, "sellers": [], "sellerIdList": {}, "asinList": "x", "bestSellersList": 7}),
        json!({"products": [null, null], "categories": {"1": null}, "deals": {"dr": [null, 5, {}]}, "sellers": {"A": null}, "sellerIdList": [null, 5], "asinList": [null, 5, {}], "bestSellersList": {"asinList": [5, null, "B0KETTLE01"]}}),
        json!({"products": [{}], "tokensLeft": -9_999_999, "tokensConsumed": -5, "refillRate": -1, "refillIn": "soon"}),
        json!({"products": [{"asin": odd, "title": 5, "brand": odd, "stats": [], "csv": [], "images": "x", "videos": {}, "aPlus": [5], "offers": 1, "variations": [5], "categoryTree": [5, {"catId": "x"}], "salesRanks": {"x": 5}, "coupon": "x", "domainId": 99}]}),
        json!({"products": [{"asin": "B0KETTLE01", "monthlySold": "many", "stats": {"current": "x", "avg30": [odd], "min": [5], "buyBoxSellerId": 7, "totalOfferCount": [1], "sellerIdsLowestFBA": 3}}]}),
        series(json!([huge, huge, huge, huge])),
        series(json!([-huge, 5, huge, 6, 0, -1, 0, -2, 7])),
        series(json!([1, 0, 1, 0, 1, 0, 1, 0])),
        series(json!([5, 10, 3, 20, 9, 1, 3, 7])),
        series(json!(null)),
        series(json!([1])),
    ]
}

#[tokio::test]
async fn a_strange_sample_breaks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let provider = with_samples(folder.path());
    let cx = agent();
    for (at, body) in bodies().into_iter().enumerate() {
        let name = format!("odd{at}.json");
        put(folder.path(), &name, &body.to_string());
        for (tool, arguments) in QUESTIONS {
            let mut arguments: Value = serde_json::from_str(arguments).unwrap();
            arguments["fixture"] = json!(name);
            let answer = ask(&provider, &cx, &format!("keepa.{tool}"), arguments).await;
            if let Ok(answer) = &answer {
                let text = answer.payload.raw();
                assert!(
                    !text.contains("NaN") && !text.contains("inf,"),
                    "{tool} {body}"
                );
            } else if let Err(error) = &answer {
                let known = error.document_code.as_deref();
                assert!(
                    [Some("network_or_parse_error"), Some("product_not_found")].contains(&known),
                    "{tool} {body}: {error:?}"
                );
            }
        }
        for command in ["history_export", "history_trend", "charts_render"] {
            let arguments = json!({"asin": "B0KETTLE01", "series": "all", "fixture": name});
            let answer = ask(&provider, &cx, &format!("keepa.{command}"), arguments).await;
            assert!(answer.is_ok() || answer.is_err_and(|error| error.document_code.is_some()));
        }
    }
}

#[tokio::test]
async fn a_sample_that_is_no_json_or_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let provider = with_samples(folder.path());
    put(
        folder.path(),
        "cut.json",
        r#"{"products": [{"asin": "B0KET"#,
    );
    put(folder.path(), "empty.json", "");
    std::fs::write(folder.path().join("samples/bytes.json"), [0xff, 0xfe, 0x00]).unwrap();
    std::fs::create_dir(folder.path().join("samples/folder.json")).unwrap();
    let deep = format!(
        "{{\"products\": [{{\"asin\": {}1{}}}]}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    put(folder.path(), "deep.json", &deep);
    for (name, kind) in [
        ("cut.json", "network_or_parse_error"),
        ("empty.json", "network_or_parse_error"),
        ("deep.json", "network_or_parse_error"),
        ("bytes.json", "fixture_not_found"),
        ("folder.json", "fixture_not_found"),
        ("../samples/cut.json", "fixture_not_found"),
        ("cut", "fixture_not_found"),
        ("", "auth_missing"),
    ] {
        let arguments = json!({"asin": "B0KETTLE01", "fixture": name});
        let failed = ask(&provider, &agent(), "keepa.products_get", arguments).await;
        let failed = failed.unwrap_err();
        assert_eq!(failed.document_code.as_deref(), Some(kind), "{name}");
        assert!(!failed.message.contains("/tmp"), "{}", failed.message);
    }
}

#[tokio::test]
async fn deals_are_in_the_money_of_the_marketplace_the_selection_names() {
    let folder = tempfile::tempdir().unwrap();
    let provider = with_samples(folder.path());
    let deals =
        json!({"deals": {"dr": [{"asin": "B0KETTLE01", "title": "Kettle", "current": [1980]}]}});
    put(folder.path(), "deals.json", &deals.to_string());
    let ask_in = async |extra: Value| {
        let mut selection = json!({"page": 0, "priceTypes": [0]});
        if extra["domainId"].is_number() {
            selection["domainId"] = extra["domainId"].clone();
        }
        let mut question = json!({"selection": selection, "fixture": "deals.json"});
        if extra["domain"].is_string() {
            question["domain"] = extra["domain"].clone();
        }
        let answer = ask(&provider, &agent(), "keepa.deals_query", question).await;
        answer.unwrap().payload.value()["deals"][0]["price"].clone()
    };
    let yen = ask_in(json!({"domainId": 5})).await;
    assert_eq!(yen, ask_in(json!({"domain": "JP"})).await);
    assert_eq!(yen.as_f64(), Some(1980.0));
    assert_eq!(ask_in(json!({})).await.as_f64(), Some(19.8));
}

#[tokio::test]
async fn arguments_that_make_no_sense_are_refused_before_anything_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let provider = with_samples(folder.path());
    let cx = agent();
    let questions = [
        (
            "products_get",
            json!({"asin": "B0KETTLE01", "domain": "Mars"}),
        ),
        (
            "products_get",
            json!({"asin": "B0KETTLE01", "code": "4006381333931"}),
        ),
        (
            "products_get",
            json!({"asin": "B0KETTLE01", "offers": "many"}),
        ),
        (
            "products_get",
            json!({"asin": (100..201).map(|at| format!("B0KETTL{at}")).collect::<Vec<_>>()}),
        ),
        (
            "products_get",
            json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json", "history_limit": -1}),
        ),
        (
            "products_get",
            json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json", "temporal_window_days": ["soon"]}),
        ),
        (
            "products_compare",
            json!({"asin": ["B0KETTLE01"], "fixture": "products_compare.json"}),
        ),
        ("categories_products", json!({"category": "1", "limit": 0})),
        ("categories_finder_selection", json!({"category": "tea"})),
        ("topsellers_list", json!({"domain": "BR"})),
        (
            "sellers_get",
            json!({"seller": ["A1", "A2"], "storefront": true}),
        ),
        ("finder_query", json!({})),
        ("finder_query", json!({"selection": "{"})),
        ("deals_query", json!({"selection": {"priceTypes": [0, 1]}})),
        ("workflow_plan", json!({"name": "category-research"})),
        ("tokens_plan", json!({"commands": [{"command": "no.such"}]})),
        ("request_get", json!({"endpoint": "../token"})),
        (
            "request_get",
            json!({"endpoint": "product", "params": {"key": "x"}}),
        ),
        (
            "request_get",
            json!({"endpoint": "tracking", "params": {"type": "removeAll"}}),
        ),
    ];
    for (tool, arguments) in questions {
        let answer = ask(&provider, &cx, &format!("keepa.{tool}"), arguments.clone()).await;
        let failed = answer.expect_err(&format!("{tool} {arguments}"));
        assert_eq!(failed.consumed, Some(0), "{tool} {arguments}");
        let known = failed.document_code.as_deref();
        assert!(
            [Some("invalid_argument"), Some("missing_inputs")].contains(&known),
            "{tool} {arguments}: {failed:?}"
        );
    }
    let picture = json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json"});
    let picture = ask(&provider, &cx, "keepa.graphs_image", picture).await;
    let code = picture.unwrap_err().document_code;
    assert_eq!(code.as_deref(), Some("fixture_unavailable"));
    let plan = json!({"commands": ["bestsellers.get"], "tokens_left": i64::MIN, "refill_rate": 0});
    let plan = ask(&provider, &cx, "keepa.tokens_plan", plan)
        .await
        .unwrap();
    assert_eq!(plan.payload.value()["can_pay_ever"], false);
}
