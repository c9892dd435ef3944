//! The tools that wait, point, type and tell, each called as an agent calls it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tollgate_core::Provider;
use tollgate_providers::browser::{self, Settings};
use tollgate_testkit::fakes::context;

use crate::browser::{data, id, run, settings, site_of};

const PAGE: &str = "<!doctype html><title>Desk</title><main>\
    <input aria-label=Name value=A><select aria-label=Size><option value=s>Small<option value=l>Large</select>\
    <textarea aria-label=Note>old</textarea><div contenteditable role=textbox aria-label=Rich>rich</div>\
    <button onmouseover=\"document.title='hovered'\">Point</button>\
    <button onclick=\"setTimeout(() => late.hidden = true); document.body.insertAdjacentHTML('beforeend', '<p id=came>came</p>')\">Bring</button>\
    <p id=late>late</p></main><div style='height:3000px'></div>";

fn page(path: &str) -> Option<String> {
    Some(match path {
        "/desk" => PAGE.to_owned(),
        "/log" => {
            "<title>Log</title><script>fetch('/data'); fetch('/missing'); fetch('/stays'); fetch('/slowly')</script>"
                .to_owned()
        }
        "/stays" => return None,
        "/slowly" => {
            // Slow is what takes longer than a second.
            std::thread::sleep(std::time::Duration::from_millis(1200));
            "late".to_owned()
        }
        _ => format!("<title>Done</title><p>{path}</p>"),
    })
}

async fn world(folder: &tempfile::TempDir) -> (impl Provider, String) {
    let site = site_of(page).await;
    (browser::provider(settings(folder)), site)
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_are_written_and_pages_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let ((provider, site), cx) = (world(&folder).await, context());
    let ask = async |tool: &str, arguments: Value| data(&provider, tool, arguments, &cx).await;
    ask("navigate", json!({"url": format!("{site}/desk")})).await;
    let info = ask("get_page_info", json!({})).await;
    ask(
        "type_text",
        json!({"element_id": id(&info, "Name"), "text": "da"}),
    )
    .await;
    ask(
        "select_option",
        json!({"element_id": id(&info, "Size"), "value": "l"}),
    )
    .await;
    ask(
        "set_value",
        json!({"element_id": id(&info, "Note"), "value": "new"}),
    )
    .await;
    let rich = json!({"element_id": id(&info, "Rich"), "value": "<b>bold</b>", "isHtml": true});
    ask("set_value", rich).await;
    let read = "[...document.querySelectorAll('input,select,textarea')].map(it => it.value).join() + document.querySelector('[contenteditable] b').textContent";
    let read = ask("execute_javascript", json!({"script": read})).await;
    assert_eq!(read["result"], "Ada,l,newbold");

    ask("hover", json!({"element_id": id(&info, "Point")})).await;
    assert_eq!(
        ask("list_tabs", json!({})).await["tabs"][0]["title"],
        "hovered"
    );
    ask("click", json!({"element_id": id(&info, "Bring")})).await;
    for (condition, selector) in [("selector", "#came"), ("element_hidden", "#late")] {
        let done = ask(
            "wait",
            json!({"condition": condition, "selector": selector}),
        )
        .await;
        assert_eq!(done["success"], true, "{condition}");
    }
    assert_eq!(
        ask("wait", json!({"condition": "networkidle"})).await["success"],
        true
    );
    assert_eq!(
        ask("wait", json!({"condition": "time", "milliseconds": 1})).await["success"],
        true
    );
    let never = json!({"condition": "selector", "selector": "#never", "milliseconds": 1});
    let never = run(&provider, "wait", never, &cx).await.unwrap_err();
    assert_eq!(never.document_code.as_deref(), Some("NAVIGATION_TIMEOUT"));
    let bare = run(&provider, "wait", json!({"condition": "selector"}), &cx)
        .await
        .unwrap_err();
    assert_eq!(bare.document_code.as_deref(), Some("INVALID_PARAMETER"));
    let calm = ask("wait_for_stable", json!({"quietMs": 100})).await;
    assert_eq!(
        (&calm["stable"], &calm["domStable"], &calm["networkPending"]),
        (&json!(true), &json!(true), &json!(0)),
        "{calm}"
    );
    let down = ask("scroll", json!({"direction": "down"})).await;
    assert_eq!(
        (&down["y"], &down["end"]),
        (&json!(300.0), &json!(false)),
        "{down}"
    );
    let up = ask("scroll", json!({"direction": "up"})).await;
    assert_eq!((&up["y"], &up["end"]), (&json!(0.0), &json!(true)), "{up}");

    let first = ask("list_tabs", json!({})).await["activeTabId"].clone();
    let second = ask("create_tab", json!({"url": format!("{site}/other")})).await["tabId"].clone();
    let back = ask("switch_tab", json!({"tabId": first})).await;
    assert_eq!(back["page"]["title"], "hovered", "{back}");
    let lost = json!({"tabId": "tab_0"});
    assert!(run(&provider, "switch_tab", lost, &cx).await.is_err());
    ask("close_tab", json!({"tabId": second})).await;

    // An element that is gone is told with those that are near.
    let gone = json!({"element_id": "btn_Poin_99999"});
    let gone = run(&provider, "click", gone, &cx).await.unwrap_err();
    assert_eq!(gone.document_code.as_deref(), Some("ELEMENT_NOT_FOUND"));
    let near = gone.details["candidates"].to_string();
    assert!(near.contains(&id(&info, "Point")), "{near}");
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_filtered_counted_and_shown_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let ((provider, site), cx) = (world(&folder).await, context());
    data(
        &provider,
        "navigate",
        json!({"url": format!("{site}/log")}),
        &cx,
    )
    .await;
    let logs = async |arguments: Value| data(&provider, "get_network_logs", arguments, &cx).await;
    let urls = |logs: &Value| -> Vec<String> {
        let all = logs["logs"].as_array().unwrap().iter();
        all.map(|it| {
            it["url"]
                .as_str()
                .unwrap()
                .rsplit('/')
                .next()
                .unwrap()
                .to_owned()
        })
        .collect()
    };
    // All but one of the requests end.
    loop {
        let all = logs(json!({"filter": "xhr"})).await;
        let ended = |it: &&Value| it["durationMs"].is_number();
        if all["logs"].as_array().unwrap().iter().filter(ended).count() >= 3 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let mut asked = urls(&logs(json!({"filter": "xhr"})).await);
    asked.sort();
    assert_eq!(asked, ["data", "missing", "slowly", "stays"]);
    let failed = logs(json!({"filter": "failed", "urlPattern": "s"})).await;
    assert_eq!(urls(&failed), ["missing"]);
    let slow = logs(json!({"filter": "slow"})).await;
    assert!(urls(&slow).contains(&"slowly".to_owned()), "{slow}");
    for it in slow["logs"].as_array().unwrap() {
        assert!(it["durationMs"].as_u64().unwrap() > 1000, "{it}");
    }
    let one = logs(json!({"filter": "xhr", "maxEntries": 1})).await;
    assert_eq!(one["logs"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&one["totalCount"], &one["truncated"]),
        (&json!(4), &json!(true)),
        "{one}"
    );
    let bare = logs(json!({"urlPattern": "/data"})).await;
    assert!(bare["logs"][0]["headers"].is_null(), "{bare}");
    let headed = logs(json!({"urlPattern": "/data", "includeHeaders": true})).await;
    assert_eq!(
        headed["logs"][0]["headers"]["x-api-key"], "********",
        "{headed}"
    );
    assert!(!headed.to_string().contains("sesame"));
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_this_machine_is_reached_at_the_port_that_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let (site, other) = (site_of(page).await, site_of(page).await);
    let port = |site: &str| site.rsplit(':').next().unwrap().to_owned();
    let provider = browser::provider(Settings {
        allow_hosts: vec![format!("localhost:{}", port(&site))],
        ..settings(&folder)
    });
    let cx = context();
    let went = json!({"url": format!("http://localhost:{}/desk", port(&site))});
    assert_eq!(
        data(&provider, "navigate", went, &cx).await["page"]["title"],
        "Desk"
    );
    for url in [
        format!("http://localhost:{}/desk", port(&other)),
        format!("{site}/desk"),
    ] {
        let refused = run(&provider, "navigate", json!({"url": url}), &cx).await;
        let refused = refused.unwrap_err();
        assert_eq!(
            refused.document_code.as_deref(),
            Some("INVALID_PARAMETER"),
            "{url}"
        );
    }
    provider.close().await;
}

/// The browser that has this folder.
fn browser_of(folder: &std::path::Path) -> i32 {
    let here = folder.display().to_string();
    let found = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .find_map(|entry| {
            let pid = entry.file_name().to_string_lossy().parse::<i32>().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).into_owned();
            let is_first = line.contains("--remote-debugging-pipe") && !line.contains("--type=");
            (is_first && line.contains(&here)).then_some(pid)
        });
    found.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_dies_ends_the_call_and_the_next_one_works() {
    let folder = tempfile::tempdir().unwrap();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&seen);
    let site = site_of(move |path| {
        log.lock().unwrap().push(path.to_owned());
        page(path)
    })
    .await;
    let (provider, cx) = (Arc::new(browser::provider(settings(&folder))), context());
    data(
        &*provider,
        "navigate",
        json!({"url": format!("{site}/desk")}),
        &cx,
    )
    .await;
    let waiting = {
        let (provider, cx) = (Arc::clone(&provider), cx.clone());
        let script = json!({"script": "fetch('/began').then(() => new Promise(() => {}))"});
        tokio::spawn(async move { run(&*provider, "execute_javascript", script, &cx).await })
    };
    while !seen.lock().unwrap().iter().any(|it| it == "/began") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let pid = rustix::process::Pid::from_raw(browser_of(folder.path())).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let crashed = waiting.await.unwrap().unwrap_err();
    assert_eq!(
        crashed.document_code.as_deref(),
        Some("PAGE_CRASHED"),
        "{crashed:?}"
    );
    let again = data(&*provider, "get_page_content", json!({}), &cx).await;
    assert_eq!(again["title"], "Desk", "{again}");
    provider.close().await;
}
