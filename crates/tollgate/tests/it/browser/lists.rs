//! Lists over several pages, and what a search finds.

use serde_json::{Value, json};

use super::{Site, artifact, both_ways, run, world};
use crate::support::Lines;

#[test]
fn a_list_is_read_to_its_end_page_by_page() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let inputs = json!({"startUrl": site.url("/list/1"), "itemSelector": ".good", "extract": {"content": false}});
    let (ran, kept) = both_ways(&mut lines, "paginated_extract", &inputs);
    assert_eq!(ran["status"], "succeeded", "{ran:#}");
    let result = &ran["result"];
    assert_eq!(
        (&result["pageCount"], &result["stopped"]),
        (&json!(3), &json!("end")),
        "{ran:#}"
    );
    let items: Vec<&Value> = result["pages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|it| it["items"].as_array().unwrap())
        .collect();
    assert_eq!(items.len(), 9);
    assert_eq!(
        *items[8],
        json!({"text": "Lamp 9 9 crowns", "href": site.url("/good/9")})
    );
    assert_eq!(kept["pages"], result["pages"]);
    lines.end();
    lines.wait();
}

#[test]
fn a_list_ends_where_it_goes_in_circles_where_only_a_button_leads_on_or_where_it_was_told() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    for (start, more, count, stopped) in [
        ("/list/10", json!({}), 2, "circle"),
        ("/list/20", json!({}), 1, "button"),
        ("/list/1", json!({"maxPages": 2}), 2, "max_pages"),
    ] {
        let mut inputs = json!({"startUrl": site.url(start)});
        inputs
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let ran = run(&mut lines, "paginated_extract", inputs, "auto");
        let result = &ran["data"]["result"];
        assert_eq!(
            (&result["pageCount"], &result["stopped"]),
            (&json!(count), &json!(stopped)),
            "{ran:#}"
        );
    }
    let wrong = json!({"startUrl": site.url("/list/1"), "nextSelector": "a["});
    let ran = run(&mut lines, "paginated_extract", wrong, "auto");
    assert_eq!(
        ran["error"]["details"]["stepErrorCode"], "INVALID_PARAMETER",
        "{ran:#}"
    );
    lines.end();
    lines.wait();
}

#[test]
fn a_page_of_a_list_that_fails_leaves_those_before_it() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let inputs = json!({"startUrl": site.url("/list/3"), "nextSelector": "a.on"});
    let ran = run(&mut lines, "paginated_extract", inputs, "auto");
    assert_eq!(ran["data"]["status"], "partial_success", "{ran:#}");
    let result = &ran["data"]["result"];
    assert_eq!(
        (&result["pageCount"], &result["stopped"]),
        (&json!(1), &json!("failed")),
        "{ran:#}"
    );
    assert_eq!(result["error"]["url"], site.url("/list/4"));
    let inputs = json!({"startUrl": site.url("/broken")});
    let ran = run(&mut lines, "paginated_extract", inputs, "auto");
    assert_eq!(ran["error"]["details"]["failedStep"], "pages", "{ran:#}");
    lines.end();
    lines.wait();
}

#[test]
fn what_a_search_finds_is_read() {
    let site = Site::start();
    let env = world(&site);
    let mut lines = Lines::start(&env, &[]);
    let inputs = json!({"query": "green tea water temperature", "engine": "http", "extract": {"maxContentLength": 300}});
    let ran = run(&mut lines, "search_extract", inputs, "auto");
    // One of the sample pages is closed to programs.
    assert_eq!(ran["data"]["status"], "partial_success", "{ran:#}");
    let items = ran["data"]["result"]["items"].as_array().unwrap();
    assert_eq!(
        (items.len(), &items[0]["rank"], &items[0]["engine"]),
        (5, &json!(1), &json!("http"))
    );
    let read: Vec<&Value> = items.iter().filter(|it| it["success"] == true).collect();
    assert_eq!(read.len(), 4);
    for item in read {
        let sections = item["content"]["sections"].as_array().unwrap().iter();
        let text: String = sections.map(|it| it["text"].as_str().unwrap()).collect();
        assert!(!text.is_empty() && text.chars().count() <= 300, "{item}");
        assert!(
            item["title"].is_string() && item["snippet"].is_string(),
            "{item}"
        );
    }
    let kept = artifact(&mut lines, &ran["data"], "result.json");
    assert_eq!(kept["query"], "green tea water temperature");
    lines.end();
    lines.wait();
}
