//! Where things end: lists that forget, sessions that run out, windows that stay, pages that are
//! too large, and clicks that wait for what does not come.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_browser::tokens;
use tollgate_core::{Provider, ProviderError};
use tollgate_providers::browser;
use tollgate_testkit::fakes::context;

use crate::browser::{data, id, run, settings, site_of};

fn page(path: &str) -> Option<String> {
    Some(match path {
        "/links" => {
            let links = (0..70).map(|it| format!("<p><a href=/l{it}>Link {it}</a></p>"));
            format!(
                "<title>Links</title><main>{}<label>Name <input name=name></label><button>Send</button></main>",
                links.collect::<String>()
            )
        }
        "/noisy" => "<title>Noisy</title><script>\
            for (let i = 1; i <= 150; i++) console.error('said ' + i);\
            (async () => { for (let i = 1; i <= 250; i++) await fetch('/asked/' + i); document.title = 'Said'; })()\
            </script>"
            .to_owned(),
        "/many" => {
            let buttons = (0..10_000).map(|it| format!("<button>Choice {it}</button>"));
            format!(
                "<title>Many</title><main>{}</main>",
                buttons.collect::<String>()
            )
        }
        "/later" => "<title>Later</title><button onclick=\"setTimeout(() => document.body.append(\
            Object.assign(document.createElement('p'), {id: 'came', innerText: 'It came'})), 300)\">Fetch</button>"
            .to_owned(),
        _ => "<title>Plain</title><p>Nothing else.</p>".to_owned(),
    })
}

fn code(refused: &ProviderError) -> &str {
    refused.document_code.as_deref().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_useful_is_shown_before_what_stands_above_it() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let site = site_of(page).await;
    let url = format!("{site}/links");
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    let info = data(&provider, "get_page_info", json!({}), &cx).await;
    let all = info["elements"].as_array().unwrap();
    let labels: Vec<&str> = all.iter().map(|it| it["label"].as_str().unwrap()).collect();
    assert_eq!(info["totalElements"], 72, "{info:#}");
    assert!(all.len() <= 50 && info["truncated"] == true, "{labels:?}");
    assert_eq!(labels[..2], ["Link 0", "Link 1"], "from top to bottom");
    assert_eq!(labels[labels.len() - 2..], ["Name", "Send"], "{labels:?}");
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_elements_fit_a_view() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let url = format!("{}/many", site_of(page).await);
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    for wanted in [
        json!({}),
        json!({"maxElements": 1000}),
        json!({"visibleOnly": false, "maxElements": 1000}),
    ] {
        let info = data(&provider, "get_page_info", wanted.clone(), &cx).await;
        let cost = tokens(&info.to_string());
        assert!(cost <= 4000, "{wanted}: {cost}");
        assert_eq!(info["totalElements"], 10_000, "{wanted}");
        assert!(info["nextCursor"].is_string(), "{wanted}");
    }
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_messages_beyond_what_is_kept_push_out_the_oldest() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let url = format!("{}/noisy", site_of(page).await);
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    while data(&provider, "get_page_info", json!({}), &cx).await["page"]["title"] != "Said" {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let network = data(
        &provider,
        "get_network_logs",
        json!({"maxEntries": 200}),
        &cx,
    )
    .await;
    let console = data(
        &provider,
        "get_console_logs",
        json!({"maxEntries": 100}),
        &cx,
    )
    .await;
    let (asked, said) = (
        network["logs"].as_array().unwrap(),
        console["logs"].as_array().unwrap(),
    );
    assert_eq!((asked.len(), said.len()), (200, 100));
    assert_eq!(network["totalCount"], 200, "no more are kept");
    assert_eq!(console["totalCount"], 100, "no more are kept");
    let ends = |entry: &Value, with: &str| entry["url"].as_str().unwrap().ends_with(with);
    assert!(ends(&asked[0], "/asked/51") && ends(&asked[199], "/asked/250"));
    assert_eq!(
        (&said[0]["text"], &said[99]["text"]),
        (&json!("said 51"), &json!("said 150"))
    );
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_way_back_from_the_first_page() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let back = data(&provider, "go_back", json!({}), &cx).await;
    assert_eq!(back["success"], false, "{back:#}");
    assert_eq!(back["page"]["url"], "about:blank", "{back:#}");
    provider.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_after_the_time_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let made = data(&provider, "create_session", json!({"timeout": 60}), &cx).await;
    let usual = data(&provider, "create_session", json!({}), &cx).await;
    let place = |made: &Value| json!({"sessionId": made["sessionId"]});
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(59)).await;
        data(&provider, "list_tabs", place(&made), &cx).await;
    }
    tokio::time::advance(Duration::from_secs(61)).await;
    let gone = run(&provider, "list_tabs", place(&made), &cx).await;
    assert_eq!(code(&gone.unwrap_err()), "SESSION_NOT_FOUND");
    data(&provider, "list_tabs", place(&usual), &cx).await;
}

/// No window opens: a session gets its browser with its first tab.
#[tokio::test]
async fn a_session_that_somebody_may_look_at_is_closed_by_force_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(&folder);
    settings.env.insert("DISPLAY".into(), ":0".into());
    let (provider, cx) = (browser::provider(settings), context());
    let made = data(&provider, "create_session", json!({"headless": false}), &cx).await;
    let mut place = json!({"sessionId": made["sessionId"]});
    let closed = data(&provider, "close_session", place.clone(), &cx).await;
    assert_eq!(
        (&closed["success"], &closed["kept"]),
        (&json!(true), &json!(true)),
        "{closed:#}"
    );
    assert!(
        closed["reason"].as_str().unwrap().contains("`force`"),
        "{closed:#}"
    );
    data(&provider, "list_tabs", place.clone(), &cx).await;
    place["force"] = json!(true);
    let closed = data(&provider, "close_session", place.clone(), &cx).await;
    assert_eq!(closed, json!({"success": true}));
    let place = json!({"sessionId": made["sessionId"]});
    let gone = run(&provider, "list_tabs", place, &cx).await;
    assert_eq!(code(&gone.unwrap_err()), "SESSION_NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_waits_for_what_a_selector_names() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let url = format!("{}/later", site_of(page).await);
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    let info = data(&provider, "get_page_info", json!({}), &cx).await;
    let mut click = json!({"element_id": id(&info, "Fetch"), "waitFor": "selector"});
    let refused = run(&provider, "click_and_wait", click.clone(), &cx).await;
    let refused = refused.unwrap_err();
    assert_eq!(code(&refused), "INVALID_PARAMETER");
    assert!(refused.message.contains("`selector`"), "{refused:?}");
    click["selector"] = json!("#came");
    data(&provider, "click_and_wait", click, &cx).await;
    let content = data(&provider, "get_page_content", json!({}), &cx).await;
    assert!(
        content["sections"].to_string().contains("It came"),
        "{content:#}"
    );
    provider.close().await;
}

/// A form that puts what it was given into its address, and a page that shows it again.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_into_a_secret_field_is_in_no_later_answer() {
    const WORD: &str = "open sesame&4711";
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let site = site_of(|path| {
        Some(match path {
            "/" => "<title>In</title><form action=/echo><label>Word <input type=password name=p></label>\
                <button onclick=\"console.log('with ' + document.forms[0].p.value)\">Go</button></form>"
                .to_owned(),
            _ => "<title>?</title><p id=p></p><script>p.textContent = document.title = \
                'Hello ' + new URLSearchParams(location.search).get('p')</script>"
                .to_owned(),
        })
    })
    .await;
    data(&provider, "navigate", json!({"url": site}), &cx).await;
    let info = data(&provider, "get_page_info", json!({}), &cx).await;
    let id = |label: &str| {
        let all = info["elements"].as_array().unwrap();
        all.iter().find(|it| it["label"] == label).unwrap()["id"].clone()
    };
    let typed = json!({"element_id": id("Word"), "text": WORD});
    data(&provider, "type_text", typed, &cx).await;
    let mut answers = vec![data(&provider, "click", json!({"element_id": id("Go")}), &cx).await];
    for tool in [
        "list_tabs",
        "get_page_info",
        "get_page_content",
        "get_console_logs",
        "get_network_logs",
    ] {
        answers.push(data(&provider, tool, json!({}), &cx).await);
    }
    for answer in &answers {
        let said = answer.to_string();
        assert!(!said.contains("sesame"), "{answer:#}");
    }
    assert_eq!(answers[0]["page"]["title"], "Hello ********");
    let address = answers[0]["page"]["url"].as_str().unwrap();
    assert!(address.ends_with("/echo?p=********"), "{address}");
    provider.close().await;
}
