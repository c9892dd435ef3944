//! Secrets stay on the page: short ones, those that fields held before anyone typed, and codes
//! that are typed sign by sign.

use serde_json::{Value, json};
use tollgate_core::{CallContext, Provider};
use tollgate_providers::browser;
use tollgate_testkit::fakes::context;

use crate::browser::{data, id, settings, site_of};

/// A form that puts what it was given into its address, and a page that shows it again in every
/// way there is.
fn page(path: &str) -> Option<String> {
    Some(match path.split('?').next().unwrap_or_default() {
        "/" => "<title>In</title><form action=/echo><label>PIN <input type=password name=p></label>\
            <button onclick=\"console.error('pin=' + document.forms[0].p.value)\">Go</button></form>"
            .to_owned(),
        "/boxes" => {
            let field = |it: u32| format!("<input autocomplete=one-time-code aria-label='Digit {it}'>");
            format!(
                "<title>Boxes</title>{}<button onclick=\"out.textContent = 'Code: ' + \
                 [...document.querySelectorAll('input')].map((it) => it.value).join('')\">Check</button><p id=out></p>",
                (1..=6).map(field).collect::<String>()
            )
        }
        "/filled" => "<title>Filled</title><label>Word <input id=word type=password value='opal sesame'></label>\
            <label>PIN <input id=pin value=90210></label><p>Nothing is said here</p>\
            <script>console.error('holds ' + word.value); fetch('/sent?word=' + encodeURIComponent(word.value))</script>"
            .to_owned(),
        _ => "<title>?</title><p id=p></p><p>Rooms 12, 473, 47311 and x473 are free, 12 of them today.</p>\
            <label>Again <input id=again></label><script>const it = new URLSearchParams(location.search).get('p');\
            p.textContent = 'Hello (' + it + ')'; again.value = it; document.title = 'It is ' + it</script>"
            .to_owned(),
    })
}

async fn all_answers(provider: &dyn Provider, cx: &CallContext) -> Vec<(&'static str, Value)> {
    let mut answers = Vec::new();
    for tool in [
        "list_tabs",
        "get_page_info",
        "get_page_content",
        "get_console_logs",
        "get_network_logs",
    ] {
        answers.push((tool, data(provider, tool, json!({}), cx).await));
    }
    let find = json!({"query": "Again"});
    answers.push((
        "find_element",
        data(provider, "find_element", find, cx).await,
    ));
    answers
}

/// Types a secret, sends it and looks at the page that shows it again.
async fn echoed(pin: &str) -> (Value, Vec<(&'static str, Value)>) {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let site = site_of(page).await;
    data(&provider, "navigate", json!({"url": site}), &cx).await;
    let info = data(&provider, "get_page_info", json!({}), &cx).await;
    let typed = json!({"element_id": id(&info, "PIN"), "text": pin});
    data(&provider, "type_text", typed, &cx).await;
    let go = json!({"element_id": id(&info, "Go")});
    let clicked = data(&provider, "click", go, &cx).await;
    let answers = all_answers(&provider, &cx).await;
    provider.close().await;
    (clicked, answers)
}

/// The words of a text, as a reader sees them.
fn has_word(text: &str, word: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|it| it == word)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_secret_is_hidden_where_it_stands_alone() {
    let (clicked, answers) = echoed("473").await;
    assert_eq!(clicked["page"]["title"], "It is ********", "{clicked:#}");
    let address = clicked["page"]["url"].as_str().unwrap();
    assert!(address.ends_with("/echo?p=********"), "{address}");
    for (tool, answer) in &answers {
        // Places, sizes and times are numbers of ours.
        let texts = texts_of(answer);
        let said = texts.iter().find(|it| has_word(it, "473"));
        assert_eq!(said, None, "{tool}: {answer:#}");
    }
    let said = answers[2].1["sections"].to_string();
    assert!(said.contains("Hello (********)"), "{said}");
    assert!(
        said.contains("Rooms 12, ********, 47311 and x473"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_two_signs_is_hidden_in_addresses_and_fields_and_leaves_pages_readable() {
    let (clicked, answers) = echoed("12").await;
    let address = clicked["page"]["url"].as_str().unwrap();
    assert!(address.ends_with("/echo?p=********"), "{address}");
    let info = &answers[1].1;
    let again = info["elements"].as_array().unwrap().iter();
    let again: Vec<&Value> = again.filter(|it| it["label"] == "Again").collect();
    assert_eq!(again[0]["state"]["value"], "********", "{info:#}");
    for tool in ["get_console_logs", "get_network_logs", "list_tabs"] {
        let (_, answer) = answers.iter().find(|(it, _)| *it == tool).unwrap();
        let told = answer.to_string();
        assert!(!told.contains("=12"), "{tool}: {answer:#}");
    }
    let said = answers[2].1["sections"].to_string();
    assert!(said.contains("Rooms 12, 473"), "{said}");
    assert!(said.contains("12 of them today"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_is_typed_sign_by_sign_is_a_secret_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let url = format!("{}/boxes", site_of(page).await);
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    let info = data(&provider, "get_page_info", json!({}), &cx).await;
    let fields: Vec<Value> = (1..=6)
        .zip("480215".chars())
        .map(|(it, sign)| {
            let element = id(&info, &format!("Digit {it}"));
            json!({"element_id": element, "value": sign.to_string()})
        })
        .collect();
    let submit = id(&info, "Check");
    let form = json!({"fields": fields, "submit_id": submit});
    data(&provider, "fill_form", form, &cx).await;
    let content = data(&provider, "get_page_content", json!({}), &cx).await;
    let said = content["sections"].to_string();
    assert!(said.contains("Code: ********"), "{said}");
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_secret_field_held_before_anyone_typed_leaves_by_no_script_and_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let url = format!("{}/filled", site_of(page).await);
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    for (script, shown) in [
        ("word.value", json!("********")),
        ("'so: ' + word.value + '!'", json!("so: ********!")),
        (
            "({all: [pin.value, Number(pin.value)]})",
            json!({"all": ["********", "********"]}),
        ),
        // What a script takes away was there.
        (
            "const was = word.value; word.remove(); was",
            json!("********"),
        ),
        ("40 + 2", json!(42)),
    ] {
        let came = data(
            &provider,
            "execute_javascript",
            json!({"script": script}),
            &cx,
        )
        .await;
        assert_eq!(came["result"], shown, "{script}");
    }
    for (tool, answer) in all_answers(&provider, &cx).await {
        let told = answer.to_string();
        assert!(!told.contains("sesame"), "{tool}: {answer:#}");
    }
    provider.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_result_of_a_script_that_is_cut_within_a_secret_shows_no_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, cx) = (browser::provider(settings(&folder)), context());
    let url = format!("{}/filled", site_of(page).await);
    data(&provider, "navigate", json!({"url": url}), &cx).await;
    let script = "'x'.repeat(3999 - word.value.length + 1) + word.value + 'y'.repeat(50)";
    let script = json!({"script": script});
    let came = data(&provider, "execute_javascript", script, &cx).await;
    assert_eq!(came["truncated"], true);
    let told = came["result"].as_str().unwrap();
    let end = told.trim_start_matches(['"', 'x']);
    assert!(end.starts_with("*"), "{end}");
    assert_eq!(end.trim_matches('*'), "", "{end}");
    provider.close().await;
}

/// Every text of a value.
fn texts_of(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(texts_of).collect(),
        Value::Object(all) => all.values().flat_map(texts_of).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
