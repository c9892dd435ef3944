//! The page with buttons, in a real browser, inside a host that answers as an MCP client does.

use std::fs;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tollgate_core::{Answer, CallContext, Provider};
use tollgate_providers::{browser, knowledge};
use tollgate_testkit::{call_tool, fakes::context};

use crate::browser::{data, id, settings};

const PAGE: &str = include_str!("../../src/knowledge/page.html");
const BASE: &str = r#"{"fallback": "Which tea?", "closing": "Enjoy.", "nodes": {
  "root": {"response": "Tea or nothing?", "options": [
    {"id": "green", "description": "Green tea", "next_node": "green"},
    {"id": "end", "description": "Nothing", "next_node": null}]},
  "green": {"title": "Green tea", "response": "Eighty degrees <b>only</b>.", "options": [
    {"id": "end", "description": "Thanks", "next_node": null}]}}}"#;

/// A host: shows the page in the strictest sandbox, writes down what it says, and gives it these answers.
fn host(first: &Value, answers: &[Value]) -> String {
    let script = format!(
        "const page = {}, first = {first}, answers = {};",
        json!(PAGE),
        json!(answers)
    )
    .replace("</", "<\\/");
    format!(
        "<!doctype html><title>Host</title><iframe title=Guide sandbox=allow-scripts width=700 height=500></iframe>\
         <pre id=heard></pre><script>{script}
         const frame = document.querySelector('iframe');
         const say = message => frame.contentWindow.postMessage({{jsonrpc: '2.0', ...message}}, '*');
         addEventListener('message', event => {{
           const heard = event.data;
           if (event.source !== frame.contentWindow || heard.method === 'ui/notifications/size-changed') return;
           if (heard.method === 'tools/call') document.getElementById('heard').textContent += JSON.stringify(heard.params) + ' ';
           if (heard.method === 'ui/initialize') say({{id: heard.id, result: {{hostCapabilities: {{serverTools: {{}}}}, hostContext: {{theme: 'dark'}}}}}});
           else if (heard.method === 'ui/notifications/initialized') say({{method: 'ui/notifications/tool-result', params: first}});
           else if (heard.method === 'tools/call') say({{id: heard.id, result: answers.shift()}});
           else if (heard.id !== undefined) say({{id: heard.id, result: {{}}}});
         }});
         frame.srcdoc = page;</script>"
    )
}

async fn serve(page: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let page = page.clone();
            tokio::spawn(async move {
                let mut head = [0; 8192];
                let _ = stream.read(&mut head).await;
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{page}",
                    page.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    address
}

/// What a tool of the sessions answers, as a client gets it.
async fn told(provider: &dyn Provider, cx: &CallContext, tool: &str, arguments: Value) -> Value {
    match call_tool(provider, tool, arguments, cx.clone()).await {
        Ok(Answer::Done(result)) => {
            json!({"content": [], "structuredContent": {"ok": true, "data": result.payload.value()}})
        }
        Ok(Answer::NeedsInput(_)) => panic!("{tool} asks"),
        Err(error) => {
            json!({"content": [], "structuredContent": {"ok": false, "error": {"message": error.message}}})
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn buttons_and_words_of_the_page_are_steps_of_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tea.json");
    fs::write(&path, BASE).unwrap();
    let guide = knowledge::provider(knowledge::Settings {
        paths: vec![path],
        ..knowledge::Settings::default()
    });
    let cx = context();
    let first = told(
        &guide,
        &cx,
        "initiate_session",
        json!({"user_query": "hello"}),
    )
    .await;
    let session = first["structuredContent"]["data"]["session_id"].clone();
    let step = |option: &str, words: Option<&str>| {
        let mut step = json!({"session_id": session, "selected_option_id": option});
        if let Some(words) = words {
            step["user_input"] = json!(words);
        }
        step
    };
    let steps = [
        step("green", None),
        step("provide_more_info", Some("zebra")),
        step("end", None),
    ];
    let mut answers = Vec::new();
    for step in &steps {
        answers.push(told(&guide, &cx, "navigate_session", step.clone()).await);
    }
    let site = serve(host(&first, &answers)).await;
    let provider = browser::provider(settings(&folder));
    data(&provider, "navigate", json!({"url": site}), &cx).await;

    let seen = async |wanted: &str| -> Value {
        for _ in 0..100 {
            let info = data(&provider, "get_page_info", json!({}), &cx).await;
            if info.to_string().contains(wanted) {
                return info;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let logs = data(&provider, "get_console_logs", json!({}), &cx).await;
        let info = data(&provider, "get_page_info", json!({}), &cx).await;
        panic!("{wanted} is not shown: {info:#} {logs:#}");
    };
    let press = async |label: &str| {
        let info = seen(label).await;
        let element = id(&info, label);
        data(&provider, "click", json!({"element_id": element}), &cx).await;
    };
    press("Green tea").await;
    let info = seen("Thanks").await;
    let typed = json!({"fields": [{"element_id": id(&info, "user_input"), "value": "zebra"}],
        "submit_id": id(&info, "provide_more_info")});
    let filled = data(&provider, "fill_form", typed, &cx).await;
    assert_eq!(filled["submitted"], true, "{filled:#} {info:#}");
    press("Thanks").await;

    let mut heard = String::new();
    for _ in 0..100 {
        let content = data(&provider, "get_page_content", json!({}), &cx).await;
        heard = content.to_string().replace("\\\"", "\"");
        if heard.contains("Enjoy.") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    for step in &steps {
        let call = json!({"name": "navigate_session", "arguments": step}).to_string();
        assert!(heard.contains(&call), "{call}: {heard}");
    }
    // What the author wrote is text, whatever it looks like.
    assert!(heard.contains("Eighty degrees <b>only</b>."), "{heard}");
    assert!(heard.contains("Enjoy."), "{heard}");
}
