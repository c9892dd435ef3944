//! What the arguments of the browser's tools change.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tollgate_core::Provider;
use tollgate_providers::browser;
use tollgate_testkit::fakes::context;

use crate::browser::{data, id, run, settings, site_of};

fn page(path: &str) -> Option<String> {
    Some(match path {
        "/links" => "<title>Links</title><a href=/opened target=_blank>Elsewhere</a><a href=/opened>Here</a>".to_owned(),
        "/parts" => "<title>Parts</title><header><a href=/home>Home of the shop</a></header>\
            <form role=search><input type=search aria-label=Find></form>\
            <main><input aria-label=Name><button>Save it</button></main>"
            .to_owned(),
        "/hidden" => "<title>Hidden</title><main><button>Shown</button><button style='display:none'>Gone</button>\
            <button style='visibility:hidden'>Unseen</button></main>\
            <footer hidden><input type=hidden name=trace value=7><input type=submit value=Order>\
            <input type=password aria-label=Word value=sesame><a href=/more><b>Even</b> more</a></footer>"
            .to_owned(),
        "/tall" => {
            let rows: String = (0..200).map(|it| format!("<p>Row {it} of many</p>")).collect();
            format!(
                "<!doctype html><title>Tall</title>\
                 <button style='width:321px;height:45px;box-sizing:border-box'>Wide</button>{rows}"
            )
        }
        "/said" => "<title>Said</title><script>console.error('e'); console.warn('w'); console.info('i'); \
            console.log('l1'); console.log('l2'); console.log('l3'); console.debug('d')</script>"
            .to_owned(),
        _ => format!("<title>Other</title><p>{path}</p>"),
    })
}

/// A browser that shows a page.
async fn showing(folder: &tempfile::TempDir, path: &str) -> impl Provider {
    let site = site_of(page).await;
    let provider = browser::provider(settings(folder));
    let url = json!({"url": format!("{site}{path}")});
    data(&provider, "navigate", url, &context()).await;
    provider
}

fn labels(info: &Value) -> Vec<&str> {
    let all = info["elements"].as_array().unwrap().iter();
    all.map(|it| it["label"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_names_the_tab_that_it_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (showing(&folder, "/links").await, context());
    let ask = async |tool: &str, arguments: Value| data(&provider, tool, arguments, &cx).await;
    let tabs = async || -> Vec<Value> {
        let listed = ask("list_tabs", json!({})).await;
        let all = listed["tabs"].as_array().unwrap().iter();
        all.map(|it| it["id"].clone()).collect()
    };
    let info = ask("get_page_info", json!({})).await;
    let mut known = tabs().await;
    assert_eq!(known.len(), 1);
    let first = known[0].clone();
    let click = async |label: &str| {
        let link = json!({"element_id": id(&info, label), "tabId": first});
        ask("click", link).await["newTabCreated"].clone()
    };
    // A machine may be so busy that a tab comes after the answer.
    let mut told = Value::Null;
    for _ in 0..5 {
        told = click("Elsewhere").await;
        let mut now = tabs().await;
        while now.len() == known.len() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            now = tabs().await;
        }
        let new = now.split_off(known.len());
        if !told.is_null() {
            assert_eq!(new, [told.clone()]);
            break;
        }
        known.extend(new);
    }
    assert!(told.is_string(), "{known:?}");
    let before = tabs().await;
    assert_eq!(click("Here").await, Value::Null);
    assert_eq!(tabs().await, before);
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_that_cannot_be_seen_are_shown_to_those_who_ask() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (showing(&folder, "/hidden").await, context());
    let look = async |arguments: Value| data(&provider, "get_page_info", arguments, &cx).await;
    let seen = look(json!({})).await;
    assert_eq!(labels(&seen), ["Shown"], "{seen:#}");
    let all = look(json!({"visibleOnly": false})).await;
    let mut told: Vec<(&str, &str, &str, bool)> = Vec::new();
    for it in all["elements"].as_array().unwrap() {
        let word = |name: &str| it[name].as_str().unwrap();
        let is_visible = it["state"]["visible"].as_bool().unwrap();
        told.push((word("label"), word("type"), word("region"), is_visible));
    }
    told.sort_unstable();
    assert_eq!(
        told,
        [
            ("Even more", "link", "footer", false),
            ("Gone", "button", "main", false),
            ("Order", "button", "footer", false),
            ("Shown", "button", "main", true),
            ("Unseen", "button", "main", false),
            ("Word", "textbox", "footer", false),
        ],
        "{all:#}"
    );
    assert_eq!(all["regions"], seen["regions"]);
    assert!(id(&all, "Word").starts_with("secret_") && !all.to_string().contains("sesame"));
    // An id is good from the moment the element is drawn.
    let gone = json!({"element_id": id(&all, "Gone")});
    assert!(run(&provider, "click", gone.clone(), &cx).await.is_err());
    let draw = "const it = document.querySelectorAll('button')[1]; it.style = ''; it.onclick = () => document.title = 'hit'; 0";
    data(
        &provider,
        "execute_javascript",
        json!({"script": draw}),
        &cx,
    )
    .await;
    let clicked = data(&provider, "click", gone, &cx).await;
    assert_eq!(clicked["page"]["title"], "hit", "{clicked}");
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn regions_are_counted_and_intents_name_their_elements() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (showing(&folder, "/parts").await, context());
    let info = data(&provider, "get_page_info", json!({}), &cx).await;
    let regions = json!([
        {"name": "header", "elements": 1},
        {"name": "main", "elements": 2},
        {"name": "search", "elements": 1},
    ]);
    assert_eq!(info["regions"], regions, "{info:#}");
    assert_eq!(info["page"]["type"], "search_engine");
    assert_eq!(info["intents"], json!(["search", "submit_form"]));
    let recommended = json!([
        {"intent": "search", "suggestedElementIds": [id(&info, "Find")]},
        {"intent": "submit_form", "suggestedElementIds": [id(&info, "Save it")]},
    ]);
    assert_eq!(info["recommendedByIntent"], recommended);
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_of_the_kind_and_the_part_that_was_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (showing(&folder, "/tall").await, context());
    let shoot = async |arguments: Value| -> (Value, Vec<u8>) {
        let shot = run(&provider, "screenshot", arguments, &cx).await.unwrap();
        let block = shot.blocks[0].0.value().clone();
        let bytes = STANDARD.decode(block["data"].as_str().unwrap()).unwrap();
        let shot = shot.payload.value().clone();
        assert_eq!(block["mimeType"], shot["mimeType"]);
        (shot, bytes)
    };
    // How wide and how high, by the bytes themselves.
    let sides = |png: &[u8]| {
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        (side(16), side(20))
    };
    let (shot, webp) = shoot(json!({"format": "webp"})).await;
    assert_eq!(shot["mimeType"], "image/webp");
    assert!(webp.starts_with(b"RIFF") && &webp[8..12] == b"WEBP");
    let (_, coarse) = shoot(json!({"format": "jpeg", "quality": 10})).await;
    let (_, fine) = shoot(json!({"format": "jpeg", "quality": 90})).await;
    assert!(coarse.starts_with(b"\xff\xd8\xff") && fine.starts_with(b"\xff\xd8\xff"));
    assert!(coarse.len() < fine.len(), "{} {}", coarse.len(), fine.len());

    let (shot, view) = shoot(json!({})).await;
    let view = sides(&view);
    assert_eq!(shot["height"], json!(f64::from(view.1)), "{shot}");
    let (_, whole) = shoot(json!({"fullPage": true})).await;
    let whole = sides(&whole);
    assert_eq!(whole.0, view.0);
    assert!(whole.1 > 2 * view.1, "{whole:?} {view:?}");
    let info = data(&provider, "get_page_info", json!({}), &cx).await;
    let (_, part) = shoot(json!({"element_id": id(&info, "Wide")})).await;
    let part = sides(&part);
    assert!(
        part.0.abs_diff(321) <= 2 && part.1.abs_diff(45) <= 2,
        "{part:?}"
    );
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_is_told_by_level_and_no_longer_than_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (showing(&folder, "/said").await, context());
    let logs = async |arguments: Value| data(&provider, "get_console_logs", arguments, &cx).await;
    let texts = |logs: &Value| -> Vec<String> {
        let all = logs["logs"].as_array().unwrap().iter();
        all.map(|it| it["text"].as_str().unwrap().to_owned())
            .collect()
    };
    // The page has said all of it before it was there.
    for (level, expected) in [
        (None, vec!["e", "w"]),
        (Some("error"), vec!["e"]),
        (Some("warn"), vec!["w"]),
        (Some("info"), vec!["i"]),
        (Some("log"), vec!["l1", "l2", "l3"]),
        (Some("debug"), vec!["d"]),
        (Some("all"), vec!["e", "w", "i", "l1", "l2", "l3", "d"]),
    ] {
        let mut wanted = json!({});
        if let Some(level) = level {
            wanted["level"] = json!(level);
        }
        let told = logs(wanted).await;
        assert_eq!(texts(&told), expected, "{level:?}: {told}");
        assert_eq!(
            (&told["totalCount"], &told["truncated"]),
            (&json!(expected.len()), &json!(false))
        );
    }
    let last = logs(json!({"level": "log", "maxEntries": 2})).await;
    assert_eq!(texts(&last), ["l2", "l3"]);
    assert_eq!(
        (&last["totalCount"], &last["truncated"]),
        (&json!(3), &json!(true)),
        "{last}"
    );
    provider.close().await;
}
