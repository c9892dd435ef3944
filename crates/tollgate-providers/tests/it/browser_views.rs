//! Views of pages that are too long, too loud or change: they fit, and nothing of them is lost.

use serde_json::{Value, json};
use tollgate_browser::tokens;
use tollgate_core::{CallContext, Provider};
use tollgate_providers::browser;
use tollgate_testkit::fakes::context;

use crate::browser::{data, id, run, settings, site_of};

/// The most that a view may cost.
const BUDGET: usize = 4000;

/// A paragraph of words that are all different.
fn story() -> String {
    let words: Vec<String> = (0..900).map(|it| format!("word{it}")).collect();
    words.join(" ")
}

fn page(path: &str) -> Option<String> {
    Some(match path.split('?').next().unwrap_or_default() {
        "/story" => format!("<title>Story</title><main><p>{}</p><p>{}</p></main>", story(), "汉字".repeat(900)),
        "/loud" => {
            let names = ["description", "author", "keywords", "og:title", "og:type", "og:site_name"];
            let metas = names.map(|name| format!("<meta name='{name}' content='{}'>", "元数据".repeat(100)));
            let buttons: String = (0..300).map(|it| format!("<button>按钮名称很长很长很长很长 {it}</button>")).collect();
            let text: String = (0..300).map(|it| format!("<p>第{it}段 {}</p>", "文字".repeat(60))).collect();
            let links: String = (0..90).map(|it| format!("<a href='/far?{it}={}'>{}</a>", "x".repeat(400), "链接".repeat(50))).collect();
            format!(
                "<title>{}</title>{}<main><div id=box>{buttons}</div><button onclick='box.remove()'>Clear</button>{text}</main>{links}\
                 <script>history.pushState(0, '', '/loud?' + 'y'.repeat(9000))</script>",
                "标题".repeat(250),
                metas.concat(),
            )
        }
        "/board" => "<title>Board</title><main><p id=old>Ada was here yesterday</p><p>Rules of the board</p>\
            <button onclick=\"old.textContent='Bob is here now'\">Change</button></main>".to_owned(),
        _ => "<title>Other</title>".to_owned(),
    })
}

fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

fn texts(content: &Value) -> String {
    let sections = content["sections"].as_array().unwrap();
    sections
        .iter()
        .map(|it| it["text"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors_lead_through_all_of_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, site, cx) = (
        browser::provider(settings(&folder)),
        site_of(page).await,
        context(),
    );
    let url = format!("{site}/story");
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    let expected = bare(&format!("{}{}", story(), "汉字".repeat(900)));
    for most in [None, Some(330), Some(1700)] {
        let mut read = String::new();
        for content in pages(&provider, most, &cx).await {
            let said = texts(&content);
            assert!(most.is_none_or(|most| said.chars().count() <= most));
            assert!(tokens(&content.to_string()) <= BUDGET);
            read.push_str(&said);
        }
        assert_eq!(bare(&read), expected, "{most:?}");
    }
    for bad in ["x", "1.x", ""] {
        for tool in ["get_page_content", "get_page_info"] {
            let refused = run(&provider, tool, json!({"cursor": bad}), &cx).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.document_code.as_deref(), Some("INVALID_PARAMETER"));
        }
    }
    browser_closed(&provider).await;
}

/// A text, view by view, as far as the cursors lead.
async fn pages(provider: &dyn Provider, most: Option<usize>, cx: &CallContext) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut wanted = json!({});
        if let Some(most) = most {
            wanted["maxLength"] = json!(most);
        }
        if !cursor.is_null() {
            wanted["cursor"] = cursor;
        }
        let content = data(provider, "get_page_content", wanted, cx).await;
        cursor = content["nextCursor"].clone();
        assert_eq!(content["truncated"], json!(!cursor.is_null()), "{content}");
        all.push(content);
        if cursor.is_null() {
            return all;
        }
    }
}

async fn browser_closed(provider: &dyn Provider) {
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_makes_a_view_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, site, cx) = (
        browser::provider(settings(&folder)),
        site_of(page).await,
        context(),
    );
    let url = format!("{site}/loud");
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    let info = run(
        &provider,
        "get_page_info",
        json!({"maxElements": 1000}),
        &cx,
    )
    .await
    .unwrap();
    let whole = info.whole.unwrap().value().clone();
    let info = info.payload.value().clone();
    let content = run(&provider, "get_page_content", json!({}), &cx)
        .await
        .unwrap();
    let all_text = content.whole.unwrap().raw().to_owned();
    let content = content.payload.value().clone();
    for view in [&info, &content] {
        let cost = tokens(&view.to_string());
        assert!(cost <= BUDGET, "{cost}: {view:#}");
        assert!(cost > BUDGET / 2, "{cost}: there is more to show");
        assert_eq!(view["truncated"], true);
    }
    assert!(!info["elements"].as_array().unwrap().is_empty());
    // What is not shown can be searched.
    assert_eq!(whole["elements"].as_array().unwrap().len(), 301 + 90);
    assert!(all_text.contains("第299段") && all_text.contains("far?89="));
    assert!(!content.to_string().contains("第299段"));

    data(
        &provider,
        "execute_javascript",
        json!({"script": "box.remove()"}),
        &cx,
    )
    .await;
    let step = data(
        &provider,
        "get_page_info",
        json!({"since": info["view"], "maxElements": 1000}),
        &cx,
    )
    .await;
    assert!(tokens(&step.to_string()) <= BUDGET, "{step:#}");
    let named = step["removed"].as_array().unwrap().len() as u64;
    assert_eq!(
        named + step["moreRemoved"].as_u64().unwrap(),
        300,
        "{step:#}"
    );

    // Whoever says how much gets that and no more, and text with elements costs one view.
    let extracted = run(
        &provider,
        "navigate_and_extract",
        json!({"url": url, "maxLength": 100, "maxElements": 1000, "pageInfo": true}),
        &cx,
    )
    .await
    .unwrap();
    assert!(extracted.whole.is_none());
    let both = run(
        &provider,
        "navigate_and_extract",
        json!({"url": url, "pageInfo": true}),
        &cx,
    )
    .await
    .unwrap();
    let whole = both.whole.unwrap();
    assert!(whole.value()["content"].is_object() && whole.value()["pageInfo"].is_object());
    let (content, info) = (
        &both.payload.value()["content"],
        &both.payload.value()["pageInfo"],
    );
    let cost = tokens(&content.to_string()) + tokens(&info.to_string());
    assert!(cost <= BUDGET + 100, "{cost}");
    browser_closed(&provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_gone_since_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, site, cx) = (
        browser::provider(settings(&folder)),
        site_of(page).await,
        context(),
    );
    let url = format!("{site}/board");
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    let first = run(&provider, "get_page_content", json!({}), &cx)
        .await
        .unwrap();
    assert!(first.whole.is_none(), "all of it is shown");
    let view = first.payload.value()["view"].clone();
    let info = data(&provider, "get_page_info", json!({}), &cx).await;
    data(
        &provider,
        "click",
        json!({"element_id": id(&info, "Change")}),
        &cx,
    )
    .await;
    let step = data(&provider, "get_page_content", json!({"since": view}), &cx).await;
    assert_eq!(texts(&step), "Bob is here now");
    assert_eq!(
        step["removed"],
        json!(["Ada was here yesterday"]),
        "{step:#}"
    );
    browser_closed(&provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_of_a_text_has_at_most_fifty_sections() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let words = |it: u32| format!("<p>word {it}</p>");
    let text: String = (0..120).map(words).collect();
    let site = site_of(move |_| Some(format!("<title>Words</title><main>{text}</main>"))).await;
    data(&provider, "navigate", json!({"url": site}), &cx).await;
    for most in [None, Some(50_000)] {
        let mut counts = Vec::new();
        for content in pages(&provider, most, &cx).await {
            assert_eq!(content["totalSections"], 120);
            counts.push(content["sections"].as_array().unwrap().len());
        }
        assert_eq!(counts, [50, 50, 20], "{most:?}");
    }
    let args = json!({"url": site, "maxLength": 50_000});
    let read = data(&provider, "navigate_and_extract", args, &cx).await;
    let content = &read["content"];
    assert_eq!(content["sections"].as_array().unwrap().len(), 50);
    assert_eq!(content["nextCursor"], "50", "{content:#}");
    browser_closed(&provider).await;
}

/// A page of more than is kept to be searched: cursors lead through it all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_too_long_to_keep_says_so_and_is_read_to_its_end() {
    const PARAGRAPHS: usize = 6000;
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let line = |it: usize| format!("<p>Paragraph {it} {}</p>", "word ".repeat(90));
    let text: String = (0..PARAGRAPHS).map(line).collect();
    let site = site_of(move |_| Some(format!("<title>Words</title><main>{text}</main>"))).await;
    data(&provider, "navigate", json!({"url": site}), &cx).await;
    let first = run(&provider, "get_page_content", json!({}), &cx)
        .await
        .unwrap();
    let whole = first.whole.unwrap().value().clone();
    let first = first.payload.value().clone();
    assert_eq!(
        (&first["searchCut"], &first["totalSections"]),
        (&json!(true), &json!(PARAGRAPHS)),
        "{first:#}"
    );
    assert_eq!(whole["cut"], true);
    let kept = whole["sections"].as_array().unwrap();
    assert!(
        kept.len() > 4000,
        "by bytes, not by sections: {}",
        kept.len()
    );
    let begins = |content: &Value| {
        let text = content["sections"][0]["text"].as_str().unwrap();
        let number = text.split(' ').nth(1).unwrap();
        number.parse::<usize>().unwrap()
    };
    // The next part begins behind what was kept.
    let edge = json!({"cursor": (kept.len() - 1).to_string()});
    let edge = data(&provider, "get_page_content", edge, &cx).await;
    assert_eq!(begins(&edge), kept.len() - 1, "{edge:#}");
    assert_eq!(edge["sections"].as_array().unwrap().len(), 1);
    let next = json!({"cursor": edge["nextCursor"]});
    let next = data(&provider, "get_page_content", next, &cx).await;
    assert_eq!(begins(&next), kept.len(), "{next:#}");
    let last = PARAGRAPHS - kept.len() - 1;
    let end = json!({"cursor": format!("1/{last}")});
    let end = data(&provider, "get_page_content", end, &cx).await;
    assert_eq!(begins(&end), PARAGRAPHS - 1, "{end:#}");
    assert_eq!(
        (&end["nextCursor"], &end["truncated"]),
        (&Value::Null, &json!(false))
    );
    browser_closed(&provider).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_on_a_large_page_costs_hundreds_of_tokens() {
    const STEP: usize = 800;
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let row = |it: u32| {
        format!(
            "<p>Paragraph {it} {}</p><button>Choice {it}</button>",
            "word ".repeat(40)
        )
    };
    let rows: String = (0..200).map(row).collect();
    let more = "<button onclick=\"out.textContent = 'Now ready'; this.textContent = 'Undo'\">Do it</button>";
    let html = format!("<title>Rows</title><main>{more}<p id=out>Not yet</p>{rows}</main>");
    let site = site_of(move |_| Some(html.clone())).await;
    data(&provider, "navigate", json!({"url": site}), &cx).await;
    let info = data(&provider, "get_page_info", json!({}), &cx).await;
    let content = data(&provider, "get_page_content", json!({}), &cx).await;
    for view in [&info, &content] {
        assert!(tokens(&view.to_string()) > 2000, "{view:#}");
    }
    let click = json!({"element_id": id(&info, "Do it")});
    data(&provider, "click", click, &cx).await;
    for (tool, before, news) in [
        ("get_page_info", info, "Undo"),
        ("get_page_content", content, "Now ready"),
    ] {
        let step = data(&provider, tool, json!({"since": before["view"]}), &cx).await;
        let cost = tokens(&step.to_string());
        assert!(cost < STEP, "{tool} {cost}: {step:#}");
        assert!(step.to_string().contains(news), "{step:#}");
        assert!(!step.to_string().contains("Choice 7"), "{step:#}");
    }
    browser_closed(&provider).await;
}
