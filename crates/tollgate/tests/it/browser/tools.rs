//! The tools through the door: what is free, what waits for a human, and what they see.

use serde_json::json;

use super::{Site, ask, world};
use crate::support::Lines;

#[test]
fn looking_is_free_and_a_click_waits_for_a_human_who_sees_what_it_hits() {
    let site = Site::start();
    let (host, env) = (&site.host, world(&site));
    let mut lines = Lines::start(&env, &[]);
    let went = ask(
        &mut lines,
        "browser.navigate",
        json!({"url": format!("http://{host}/shop")}),
    );
    assert_eq!(went["data"]["page"]["title"], "Shop", "{went}");
    let info = ask(&mut lines, "get_page_info", json!({}));
    let id = info["data"]["elements"][0]["id"].clone();
    let refused = ask(&mut lines, "browser.click", json!({"element_id": id}));
    assert_eq!(
        refused["error"]["kind"], "confirmation_required",
        "{refused}"
    );
    let preview = refused["error"]["details"]["preview"].to_string();
    assert!(
        preview.contains("Order now") && preview.contains(host),
        "{preview}"
    );
    let shot = ask(&mut lines, "browser.screenshot", json!({}));
    assert_eq!(shot["data"]["mimeType"], "image/png", "{shot}");
    // The id of a session comes through unharmed and is good for calls.
    let made = ask(&mut lines, "browser.create_session", json!({}));
    let other = made["data"]["sessionId"].clone();
    let tabs = ask(&mut lines, "browser.list_tabs", json!({"sessionId": other}));
    assert_eq!(tabs["data"]["tabs"], json!([]), "{made} {tabs}");
    let gone = ask(
        &mut lines,
        "browser.list_tabs",
        json!({"sessionId": "sess_0"}),
    );
    assert_eq!(gone["error"]["errorCode"], "SESSION_NOT_FOUND", "{gone}");
    let outside = ask(
        &mut lines,
        "browser.navigate",
        json!({"url": "http://127.0.0.2:8099/"}),
    );
    assert_eq!(
        outside["error"]["errorCode"], "INVALID_PARAMETER",
        "{outside}"
    );
    lines.end();
    lines.wait();
    env.whole();
}
