//! Many pages in one run, each read the way it needs.

use serde_json::{Value, json};

use super::{Site, ask, both_ways, ended, fits, run, world};
use crate::support::{Lines, TestEnv};

#[test]
fn plain_pages_are_read_over_http_and_the_others_in_the_browser() {
    let site = Site::start();
    let env = world(&site);
    let urls: Vec<String> = ["/plain", "/script", "/missing"]
        .iter()
        .map(|it| site.url(it))
        .collect();
    let mut lines = Lines::start(&env, &[]);
    let inputs = json!({"urls": urls, "extract": {"pageInfo": false}});
    let (run, kept) = both_ways(&mut lines, "batch_extract_pages", &inputs);
    let items = run["result"]["items"].as_array().unwrap();
    let way = |at: usize| {
        (
            &items[at]["title"],
            &items[at]["engine"],
            &items[at]["statusCode"],
        )
    };
    assert_eq!(
        way(0),
        (&json!("Plain"), &json!("http"), &json!(200)),
        "{run:#}"
    );
    assert_eq!(
        way(1),
        (&json!("Drawn"), &json!("browser"), &json!(200)),
        "{run:#}"
    );
    assert_eq!(
        way(2),
        (&json!("Nothing"), &json!("browser"), &json!(404)),
        "{run:#}"
    );
    assert_eq!(run["result"]["summary"]["total"], 3);
    // That it was tried over HTTP first is no failure of the page.
    assert_eq!(
        (&run["status"], &items[1]["error"]),
        (&json!("succeeded"), &Value::Null),
        "{run:#}"
    );
    assert_eq!(kept["items"], run["result"]["items"]);
    assert!(kept["finishedAt"].is_string(), "{kept:#}");
    fits(&mut lines, "batch_extract_pages", &run["result"]);
    // Over HTTP and in the browser a page has the same content, but for what only one can tell.
    let names = |at: usize| -> Vec<&String> {
        let content = items[at]["content"].as_object().unwrap();
        content.keys().collect()
    };
    assert_eq!(names(0), names(1), "{run:#}");
    for item in items.iter().take(2) {
        let sections = item["content"]["sections"].as_array().unwrap();
        assert_eq!(
            sections.len() as u64,
            item["contentSections"].as_u64().unwrap()
        );
        let shows = |it: &Value| it["text"].as_str().unwrap().contains("ferry");
        assert!(sections.iter().any(shows), "{run:#}");
    }
    lines.end();
    lines.wait();
    env.whole();
}

#[test]
fn a_server_that_answers_with_an_error_is_told_the_same_way_by_either_engine() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let urls: Vec<String> = ["/fault", "/closed", "/nowhere"]
        .iter()
        .map(|it| site.url(it))
        .collect();
    for engine in ["http", "browser", "auto"] {
        let inputs = json!({"urls": urls, "engine": engine, "extract": {"pageInfo": false}});
        let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
        assert_eq!(ran["data"]["status"], "succeeded", "{engine}: {ran:#}");
        let items = ran["data"]["result"]["items"].as_array().unwrap();
        let told: Vec<Value> = items
            .iter()
            .map(|it| json!([it["success"], it["statusCode"], it["title"]]))
            .collect();
        assert_eq!(
            json!(told),
            json!([
                [true, 500, "Fault"],
                [true, 401, "Closed"],
                [true, 404, "Nothing"]
            ]),
            "{engine}: {ran:#}"
        );
        assert!(items[0]["content"].to_string().contains("ferry"), "{ran:#}");
    }
    lines.end();
    lines.wait();
    env.whole();
}

#[test]
fn dialogs_hold_nobody_up_and_a_file_is_no_page() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let urls = [site.url("/alerts"), site.url("/file")];
    let inputs = json!({"urls": urls, "engine": "browser"});
    let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
    let result = &ran["data"]["result"];
    assert_eq!(ran["data"]["status"], "partial_success", "{ran:#}");
    let (alerts, file) = (&result["items"][0], &result["items"][1]);
    assert_eq!(
        (&alerts["title"], &alerts["success"]),
        (&json!("Alerts"), &json!(true)),
        "{ran:#}"
    );
    assert!(alerts["content"].to_string().contains("ferry"), "{ran:#}");
    assert_eq!(file["success"], false, "{ran:#}");
    assert!(file["error"].to_string().contains("not a page"), "{ran:#}");
    lines.end();
    lines.wait();
    env.whole();
}

#[test]
fn what_is_wanted_of_a_page_is_what_comes() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let mut first = |inputs: Value| {
        let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
        let item = ran["data"]["result"]["items"][0].clone();
        assert_eq!(item["success"], true, "{ran:#}");
        item
    };
    let buttons = json!([site.url("/buttons")]);
    let extract = json!({"maxElements": 70, "content": false});
    let item = first(json!({"urls": buttons, "engine": "browser", "extract": extract}));
    assert_eq!(item["pageInfo"]["elements"].as_array().unwrap().len(), 70);
    assert_eq!(
        (&item["elementCount"], &item["content"]),
        (&json!(80), &Value::Null)
    );
    let item = first(json!({"urls": buttons, "engine": "browser", "extract": {"maxElements": 3}}));
    assert_eq!(item["pageInfo"]["elements"].as_array().unwrap().len(), 3);
    assert_eq!(item["content"]["sections"][0]["text"], "Choose");
    // A page that says something and has the rest drawn by scripts is not taken for read.
    let item = first(json!({"urls": [site.url("/shell")]}));
    assert_eq!(
        (&item["engine"], &item["title"]),
        (&json!("browser"), &json!("Filled"))
    );
    let plain = json!([site.url("/plain")]);
    let item = first(json!({"urls": plain, "extract": {"maxContentLength": 40}}));
    let sections = item["content"]["sections"].as_array().unwrap().iter();
    let texts: String = sections.map(|it| it["text"].as_str().unwrap()).collect();
    assert_eq!(texts.chars().count(), 40, "{item}");
    assert_eq!(item["content"]["truncated"], true, "{item}");
    let item = first(json!({"urls": plain, "engine": "http", "extract": {"content": false}}));
    assert_eq!(
        (&item["title"], &item["content"]),
        (&json!("Plain"), &Value::Null)
    );
    lines.end();
    lines.wait();
}

#[test]
fn an_item_that_fails_says_which_way_it_failed_and_half_of_them_is_too_much() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let refused = "http://127.0.0.2:8099/";
    let inputs = json!({"urls": [site.url("/script"), refused], "engine": "browser"});
    let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
    let items = &ran["data"]["result"]["items"];
    assert_eq!(ran["data"]["status"], "partial_success", "{ran:#}");
    assert_eq!(
        (&items[1]["success"], &items[1]["engine"]),
        (&json!(false), &json!("browser"))
    );
    assert_eq!(
        items[1]["error"]["errorCode"], "INVALID_PARAMETER",
        "{ran:#}"
    );
    let inputs = json!({"urls": [site.url("/plain"), refused, refused], "engine": "http"});
    let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
    assert_eq!(
        ran["error"]["errorCode"], "STEP_EXECUTION_FAILED",
        "{ran:#}"
    );
    assert_eq!(ran["data"]["status"], "failed", "{ran:#}");
    let items = &ran["data"]["result"]["items"];
    assert_eq!(
        (&items[0]["success"], &items[1]["engine"]),
        (&json!(true), &json!("http"))
    );
    assert_eq!(
        items[1]["error"]["errorCode"], "INVALID_PARAMETER",
        "{ran:#}"
    );
    lines.end();
    lines.wait();
}

#[test]
fn a_run_in_a_session_of_the_caller_leaves_it_and_its_tab_alone() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let made = ask(&mut lines, "browser.create_session", json!({}));
    let session = made["data"]["sessionId"].clone();
    let shop = json!({"sessionId": session, "url": site.url("/shop")});
    ask(&mut lines, "browser.navigate", shop);
    let inputs = json!({"urls": [site.url("/script"), site.url("/buttons")], "engine": "browser"});
    let params =
        json!({"templateId": "batch_extract_pages", "sessionId": session, "inputs": inputs});
    let ran = ask(&mut lines, "run_task_template", params);
    assert_eq!(ran["data"]["status"], "succeeded", "{ran:#}");
    let tabs = ask(
        &mut lines,
        "browser.list_tabs",
        json!({"sessionId": session}),
    );
    let listed = tabs["data"]["tabs"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{tabs:#}");
    assert_eq!(
        (&listed[0]["title"], &listed[0]["id"]),
        (&json!("Shop"), &tabs["data"]["activeTabId"])
    );
    lines.end();
    lines.wait();
}

#[test]
fn pages_wait_for_the_last_tab_of_a_session() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let made = ask(&mut lines, "browser.create_session", json!({}));
    let session = made["data"]["sessionId"].clone();
    let place = json!({"sessionId": session});
    for _ in 0..19 {
        let opened = ask(&mut lines, "browser.create_tab", place.clone());
        assert_eq!(opened["status"], "ok", "{opened:#}");
    }
    let urls: Vec<String> = (0..8)
        .map(|it| site.url(&format!("/script?no={it}")))
        .collect();
    for (template, inputs) in [
        (
            "batch_extract_pages",
            json!({"urls": urls, "engine": "browser", "concurrency": 5}),
        ),
        ("multi_tab_compare", json!({"urls": urls, "concurrency": 5})),
    ] {
        let params = json!({"templateId": template, "sessionId": session, "inputs": inputs});
        let ran = ask(&mut lines, "run_task_template", params);
        assert_eq!(ran["data"]["result"]["summary"]["succeeded"], 8, "{ran:#}");
    }
    let tabs = ask(&mut lines, "browser.list_tabs", place);
    assert_eq!(
        tabs["data"]["tabs"].as_array().unwrap().len(),
        19,
        "{tabs:#}"
    );
    lines.end();
    lines.wait();
}

#[test]
fn too_few_too_many_and_too_much_at_once_are_refused() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let plain = site.url("/plain");
    let many = |count: usize| vec![plain.clone(); count];
    let wrong = [
        json!({"urls": []}),
        json!({"urls": many(1001)}),
        json!({"urls": many(1), "concurrency": 6}),
        json!({"urls": many(1), "concurrency": 0}),
    ];
    for inputs in wrong {
        let refused = run(&mut lines, "batch_extract_pages", inputs, "auto");
        assert_eq!(
            refused["error"]["errorCode"], "INVALID_PARAMETER",
            "{refused:#}"
        );
    }
    let queued = run(
        &mut lines,
        "batch_extract_pages",
        json!({"urls": many(11), "engine": "http"}),
        "auto",
    );
    assert_eq!(queued["data"]["status"], "queued", "{queued:#}");
    let over = ended(&mut lines, &queued["data"]["runId"]);
    assert_eq!(over["result"]["summary"]["succeeded"], 11, "{over:#}");
    let waited = run(
        &mut lines,
        "batch_extract_pages",
        json!({"urls": many(10), "engine": "http"}),
        "auto",
    );
    assert_eq!(waited["data"]["status"], "succeeded", "{waited:#}");
    lines.end();
    lines.wait();
}

#[test]
fn the_lists_of_the_browser_bind_pages_that_are_read_without_it() {
    let site = Site::start();
    let host = &site.host;
    let name = host.split(':').next().unwrap();
    let env = TestEnv::with_config(&format!(
        "[browser]\nallow_hosts = [\"{host}\"]\ndeny_hosts = [\"{name}\"]\n[web]\nallow_hosts = [\"{host}\"]\n"
    ));
    let mut lines = Lines::start(&env, &[]);
    for engine in ["http", "auto"] {
        let inputs = json!({"urls": [site.url("/plain")], "engine": engine});
        let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
        assert_eq!(
            ran["error"]["errorCode"], "STEP_EXECUTION_FAILED",
            "{ran:#}"
        );
        let item = &ran["data"]["result"]["items"][0];
        assert!(
            item["error"].to_string().contains("the operator denies"),
            "{ran:#}"
        );
    }
    // The lists of the browser are its own.
    let read = ask(
        &mut lines,
        "web.extract",
        json!({"url": site.url("/plain")}),
    );
    assert_eq!(read["data"]["title"], "Plain", "{read:#}");
    let asked = site.state.asked.lock().unwrap().clone();
    let pages: Vec<_> = asked.iter().filter(|it| *it == "/plain").collect();
    assert_eq!(pages.len(), 1, "{asked:?}");
    lines.end();
    lines.wait();
}

#[test]
fn a_run_has_a_session_of_its_own() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/mark")}),
    );
    let inputs = json!({"urls": [site.url("/marked")], "engine": "browser"});
    let ran = run(&mut lines, "batch_extract_pages", inputs, "sync");
    assert_eq!(
        ran["data"]["result"]["items"][0]["title"], "unmarked",
        "{ran:#}"
    );
    let here = ask(
        &mut lines,
        "browser.navigate",
        json!({"url": site.url("/marked")}),
    );
    assert_eq!(here["data"]["page"]["title"], "marked", "{here:#}");
    lines.end();
    lines.wait();
}

#[test]
fn a_run_that_is_called_off_in_the_middle_ends_as_canceled() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let urls: Vec<String> = (0..6).map(|it| site.url(&format!("/held/{it}"))).collect();
    let inputs = json!({"urls": urls, "engine": "browser", "concurrency": 2});
    let queued = run(&mut lines, "batch_extract_pages", inputs, "async");
    let id = queued["data"]["runId"].clone();
    site.wait_for("/held/", 2);
    let called = ask(&mut lines, "cancel_task_run", json!({"runId": id}));
    assert_eq!(called["data"]["cancelRequested"], true, "{called:#}");
    site.open();
    let over = ended(&mut lines, &id);
    assert_eq!(over["status"], "canceled", "{over:#}");
    // What was under way was read; what had not begun is no failure.
    let result = &over["result"];
    let summary = json!({"total": 6, "succeeded": 2, "failed": 0, "skipped": 4});
    assert_eq!(result["summary"], summary, "{over:#}");
    let last = json!({"url": site.url("/held/5"), "success": false, "skipped": true});
    assert_eq!(result["items"][5], last, "{over:#}");
    fits(&mut lines, "batch_extract_pages", result);
    let asked = site.state.asked.lock().unwrap().clone();
    assert!(!asked.iter().any(|it| it == "/held/5"), "{asked:?}");
    lines.end();
    lines.wait();
}
