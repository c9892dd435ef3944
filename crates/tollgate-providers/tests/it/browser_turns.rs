//! Calls on one tab at the same time: each has its turn, and each answer is about its own page.

use serde_json::{Value, json};
use tollgate_providers::browser;
use tollgate_testkit::fakes::context;

use crate::browser::{data, settings, site_of};

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_are_read_in_one_tab_at_once_are_not_mixed_up() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let site = site_of(|path| {
        let name = path.trim_start_matches('/');
        Some(format!(
            "<title>Page {name}</title><p>This is page {name}.</p>"
        ))
    })
    .await;
    let read = async |tool: &str, name: u32| -> (u32, Value) {
        let url = format!("{site}/{name}");
        (name, data(&provider, tool, json!({"url": url}), &cx).await)
    };
    let extract = "navigate_and_extract";
    let (a, b, c, d) = tokio::join!(
        read(extract, 1),
        read("navigate", 2),
        read(extract, 3),
        read("navigate", 4)
    );
    for (name, answer) in [a, b, c, d] {
        let title = format!("Page {name}");
        assert_eq!(answer["page"]["title"], title, "{answer:#}");
        assert_eq!(answer["statusCode"], 200, "{answer:#}");
        if answer.get("engine").is_some() {
            let said = answer["content"]["sections"][0]["text"].clone();
            assert_eq!(said, format!("This is page {name}."), "{answer:#}");
        }
    }
    tollgate_core::Provider::close(&provider).await;
}
