//! Which arguments are addresses that a call fetches: what was redacted in one goes back there, and nowhere else.

use serde_json::json;
use tollgate_core::Provider;
use tollgate_providers::{browser, web};

#[tokio::test]
async fn only_addresses_that_are_opened_are_fetched() {
    let arguments = json!({"url": "https://a.test/", "query": "https://a.test/", "text": "https://a.test/",
        "fields": [{"value": "https://a.test/"}], "sources": [{"url": "https://a.test/"}]});
    let arguments = arguments.as_object().unwrap();
    let providers: [Box<dyn Provider>; 2] = [
        Box::new(web::provider(web::Settings::default())),
        Box::new(browser::provider(browser::Settings {
            is_enabled: true,
            ..browser::Settings::default()
        })),
    ];
    let mut fetching = Vec::new();
    for provider in providers {
        for spec in provider.tools().await.unwrap() {
            let found = spec.telling.fetched(arguments);
            if !found.is_empty() {
                assert_eq!(found, ["/url"], "{}", spec.name);
                fetching.push(spec.name.to_string());
            }
        }
    }
    fetching.sort();
    let wanted = [
        "browser.create_tab",
        "browser.extract_pages",
        "browser.log_in",
        "browser.navigate",
        "browser.navigate_and_extract",
        "web.extract",
        "web.fetch",
    ];
    assert_eq!(fetching, wanted);
}

#[tokio::test]
async fn a_page_that_is_given_is_not_fetched() {
    let provider = web::provider(web::Settings::default());
    let specs = provider.tools().await.unwrap();
    let extract = specs.iter().find(|it| it.name.as_str() == "web.extract");
    let given = json!({"url": "https://a.test/", "html": "<p>text</p>"});
    let found = extract.unwrap().telling.fetched(given.as_object().unwrap());
    assert_eq!(found, Vec::<String>::new());
}
