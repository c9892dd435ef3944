//! Pages that never answer, and pages that say late what they are: no page is told of that did not come.

use serde_json::{Value, json};

use super::{Site, ask, fits, run};
use crate::support::{Lines, TestEnv};

/// A user who waits for nobody longer than two seconds.
fn world(site: &Site) -> TestEnv {
    let host = &site.host;
    TestEnv::with_config(&format!(
        "[browser]\nallow_hosts = [\"{host}\"]\nnavigation_seconds = 2\n\
         [web]\nallow_hosts = [\"{host}\"]\nhost_pause_ms = 0\ntimeout_seconds = 2\n"
    ))
}

#[track_caller]
fn is_late(ran: &Value, item: &Value) {
    assert_eq!(item["success"], false, "{ran:#}");
    assert!(item["skipped"].is_null(), "{ran:#}");
    let error = &item["error"];
    assert_eq!(error["errorCode"], "NAVIGATION_TIMEOUT", "{ran:#}");
    assert!(!ran.to_string().contains("about:blank"), "{ran:#}");
}

#[test]
fn a_page_that_never_answers_is_a_failed_item_whichever_way_it_is_read() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    for engine in ["http", "browser", "auto"] {
        let urls = [site.url("/held/1"), site.url("/plain")];
        let inputs = json!({"urls": urls, "engine": engine});
        let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
        assert_eq!(ran["data"]["status"], "partial_success", "{engine} {ran:#}");
        let result = &ran["data"]["result"];
        is_late(&ran, &result["items"][0]);
        assert_eq!(result["items"][1]["success"], true, "{engine} {ran:#}");
        let summary = json!({"total": 2, "succeeded": 1, "failed": 1});
        assert_eq!(result["summary"], summary, "{engine}");
        fits(&mut lines, "batch_extract_pages", result);
        let details = &ran["data"]["error"]["details"];
        assert_eq!(details["stepErrorCode"], "NAVIGATION_TIMEOUT", "{ran:#}");
    }
    let inputs = json!({"urls": [site.url("/held/1")]});
    let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
    assert_eq!(ran["data"]["status"], "failed", "{ran:#}");
    is_late(&ran, &ran["data"]["result"]["items"][0]);
    lines.end();
    lines.wait();
    env.whole();
}

#[test]
fn a_page_that_never_answers_is_not_compared() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let urls = [site.url("/held/1"), site.url("/north"), site.url("/south")];
    let ran = run(
        &mut lines,
        "multi_tab_compare",
        json!({"urls": urls}),
        "sync",
    );
    assert_eq!(ran["data"]["status"], "partial_success", "{ran:#}");
    let result = &ran["data"]["result"];
    is_late(&ran, &result["snapshots"][0]);
    assert_eq!(result["diffs"][0]["field"], "topSections", "{ran:#}");
    let compared = result["diffs"][0]["values"].as_object().unwrap();
    assert_eq!(compared.len(), 2, "{ran:#}");
    fits(&mut lines, "multi_tab_compare", result);
    lines.end();
    lines.wait();
}

#[test]
fn going_to_a_page_that_never_answers_fails_and_leaves_the_page_that_is_shown() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/shop")}),
    );
    let late = ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/held/1")}),
    );
    let error = &late["error"];
    assert_eq!(error["errorCode"], "NAVIGATION_TIMEOUT", "{late:#}");
    assert!(error["recoverHint"].is_string(), "{late:#}");
    let opened = json!({"url": site.url("/held/2")});
    let opened = ask(&mut lines, "browser.create_tab", opened);
    assert_eq!(opened["error"]["errorCode"], "NAVIGATION_TIMEOUT");
    let tabs = ask(&mut lines, "browser.list_tabs", json!({}));
    let titles: Vec<&Value> = tabs["data"]["tabs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tab| &tab["title"])
        .collect();
    assert_eq!(titles, ["Shop"], "{tabs:#}");
    lines.end();
    lines.wait();
}

#[test]
fn titles_are_those_of_pages_at_rest() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let inputs = json!({"urls": [site.url("/late")], "engine": "browser"});
    let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
    let item = &ran["data"]["result"]["items"][0];
    assert_eq!(item["title"], "At rest", "{ran:#}");
    assert_eq!(item["content"]["title"], "At rest", "{ran:#}");
    let inputs = json!({"urls": [site.url("/late"), site.url("/plain")]});
    let ran = run(&mut lines, "multi_tab_compare", inputs, "sync");
    let shown = &ran["data"]["result"]["snapshots"][0];
    assert_eq!(shown["title"], "At rest", "{ran:#}");
    lines.end();
    lines.wait();
}
