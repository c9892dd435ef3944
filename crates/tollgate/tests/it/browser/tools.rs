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

#[test]
fn what_a_view_does_not_show_can_be_searched() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/far")}),
    );
    let seen = ask(&mut lines, "browser.get_page_content", json!({}));
    assert_eq!(seen["data"]["truncated"], true, "{seen:#}");
    assert!(!seen.to_string().contains("Brunhilde"));
    let kept = &seen["meta"]["call_id"];
    let search = json!({"result": kept, "query": "keeper is called"});
    let found = ask(&mut lines, "result.search", search);
    let text = found["data"]["matches"][0]["text"].as_str();
    assert!(text.unwrap_or_default().contains("Brunhilde"), "{found:#}");
    let slice = json!({"result": kept, "pointer": "/title"});
    let slice = ask(&mut lines, "result.slice", slice);
    assert_eq!(slice["data"]["text"], "Far", "{slice:#}");
    // What is shown whole is not kept.
    ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/shop")}),
    );
    let small = ask(&mut lines, "browser.get_page_content", json!({}));
    let search = json!({"result": small["meta"]["call_id"], "query": "x"});
    let none = ask(&mut lines, "result.search", search);
    assert_eq!(none["error"]["kind"], "not_found", "{none:#}");
    lines.end();
    lines.wait();
    env.whole();
}

#[test]
fn the_end_of_a_page_of_many_thousand_sections_is_searched_and_read() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/vast")}),
    );
    let seen = ask(&mut lines, "browser.get_page_content", json!({}));
    assert_eq!(
        (&seen["data"]["truncated"], &seen["data"]["totalSections"]),
        (&json!(true), &json!(9001)),
        "{seen:#}"
    );
    assert!(seen["data"]["searchCut"].is_null(), "all of it is kept");
    let search = json!({"result": seen["meta"]["call_id"], "query": "last word is"});
    let found = ask(&mut lines, "result.search", search);
    let text = found["data"]["matches"][0]["text"].as_str();
    assert!(text.unwrap_or_default().contains("Zephyrine"), "{found:#}");
    let end = ask(
        &mut lines,
        "browser.get_page_content",
        json!({"cursor": "8990"}),
    );
    let sections = end["data"]["sections"].as_array().unwrap();
    assert_eq!(sections[0]["text"], "Row 8990", "{end:#}");
    assert_eq!(
        (sections.len(), &end["data"]["nextCursor"]),
        (11, &json!(null)),
        "{end:#}"
    );
    lines.end();
    lines.wait();
    env.whole();
}

#[test]
fn what_a_page_says_is_tainted() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/evil")}),
    );
    let seen = ask(&mut lines, "browser.get_page_content", json!({}));
    assert_eq!(seen["meta"]["tainted"], true, "{seen:#}");
    assert!(
        seen["warnings"]
            .as_array()
            .unwrap()
            .contains(&json!("tainted_content")),
        "{seen:#}"
    );
    lines.end();
    lines.wait();
}

#[test]
fn templates_say_who_may_run_them_and_how_much_they_take() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let listed = ask(&mut lines, "list_task_templates", json!({}));
    let both = json!(["local", "remote"]);
    let expected = [
        (
            "batch_extract_pages",
            &both,
            true,
            json!({"maxUrls": 1000, "maxConcurrency": 5, "maxTimeoutMs": 900_000}),
        ),
        (
            "login_keep_session",
            &json!(["local"]),
            false,
            json!({"maxConcurrency": 1, "maxTimeoutMs": 120_000}),
        ),
        (
            "multi_tab_compare",
            &both,
            true,
            json!({"maxUrls": 10, "maxConcurrency": 5}),
        ),
        (
            "paginated_extract",
            &both,
            true,
            json!({"maxPages": 50, "maxConcurrency": 1}),
        ),
        (
            "search_extract",
            &both,
            true,
            json!({"maxResults": 10, "maxConcurrency": 5}),
        ),
    ];
    let all = listed["data"]["templates"].as_array().unwrap();
    for (name, trust, partial, limits) in expected {
        let found = all.iter().find(|it| it["templateId"] == name);
        let found = found.unwrap_or_else(|| panic!("{name}: {listed:#}"));
        assert_eq!(&found["trustLevelSupport"], trust, "{name}");
        assert_eq!(found["supportsPartialSuccess"], partial, "{name}");
        for (limit, most) in limits.as_object().unwrap() {
            assert_eq!(&found["limits"][limit], most, "{name} {limit}: {found:#}");
        }
    }
    lines.end();
    lines.wait();
}

/// A host of the page of guided sessions, which shows what stands on it.
pub(super) const HOST: &str = r#"<title>Host</title><p id=seen></p><script>
const state = {session_id: "s", knowledge_base: "tea", current_step: "root", response: "Which tea is it?", options: [{id: "green", description: "Green tea"}], path: ["root"], is_complete: false, warning: "There is no node called lost."};
addEventListener("message", event => {
  const frame = document.getElementById("frame");
  const post = message => frame.contentWindow.postMessage({jsonrpc: "2.0", ...message}, "*");
  const {id, method} = event.data;
  if (method === "ui/initialize") post({id, result: {hostCapabilities: {serverTools: {}}}});
  if (method === "ui/notifications/initialized") {
    post({method: "ui/notifications/tool-result", params: {content: [{type: "text", text: JSON.stringify(state)}], structuredContent: state}});
    const see = () => {
      const text = frame.contentDocument.querySelector("main").innerText;
      if (!text.includes("Which tea") && !text.includes("\u2715")) return setTimeout(see, 20);
      document.getElementById("seen").textContent = text;
      document.title = "Seen";
    };
    see();
  }
});
</script><iframe id=frame src="/guided/page" style="height:400px"></iframe>"#;

#[test]
fn the_page_of_a_guided_session_shows_what_it_is_warned_of() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/guided")}),
    );
    let seen = loop {
        let seen = ask(&mut lines, "browser.get_page_content", json!({}));
        let text = seen["data"].to_string();
        if text.contains("\"Seen\"") {
            break text;
        }
    };
    for wanted in [
        "Which tea is it?",
        "Green tea",
        "There is no node called lost.",
    ] {
        assert!(seen.contains(wanted), "{wanted}: {seen}");
    }
}
