//! The browser through the door: consent, previews, and runs over many pages.

use std::{
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    thread,
};

use serde_json::{Value, json};

use crate::support::{Lines, TestEnv};

/// A site of a few pages; it ends with the test's process.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head);
                let path = head.split_whitespace().nth(1).unwrap_or_default();
                let (status, body) = page(path);
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                drop(stream.write_all(answer.as_bytes()));
            });
        }
    });
    host
}

fn page(path: &str) -> (&'static str, String) {
    let words = "The ferry leaves the old pier at noon, and it comes back before the sun is down. "
        .repeat(6);
    match path {
        "/plain" => (
            "200 OK",
            format!(
                "<title>Plain</title><article><h1>Plain</h1><p>{words}</p><p>{words}</p></article>"
            ),
        ),
        "/script" => (
            "200 OK",
            format!(
                "<title>Empty</title><div id=app></div><script>document.title='Drawn';app.innerHTML='<h1>Drawn</h1><p>{words}</p><button>Book</button>'</script>"
            ),
        ),
        "/shop" => (
            "200 OK",
            "<title>Shop</title><button onclick=\"document.title='Ordered'\">Order now</button>"
                .to_owned(),
        ),
        _ => ("404 Not Found", String::new()),
    }
}

/// Where no Chromium is installed there is nothing to test.
fn has_chromium() -> bool {
    [
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
        "/usr/bin/google-chrome",
    ]
    .iter()
    .any(|place| Path::new(place).exists())
}

fn world(host: &str) -> TestEnv {
    TestEnv::with_config(&format!(
        "[browser]\nallow_hosts = [\"{host}\"]\n[web]\nallow_hosts = [\"{host}\"]\n"
    ))
}

fn ask(lines: &mut Lines, method: &str, params: Value) -> Value {
    let asked = json!({"id": 1, "method": method, "params": params});
    lines.ask(&asked.to_string())
}

#[test]
fn looking_is_free_and_a_click_waits_for_a_human_who_sees_what_it_hits() {
    if !has_chromium() {
        return;
    }
    let host = site();
    let env = world(&host);
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
        preview.contains("Order now") && preview.contains(&host),
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
fn a_batch_reads_plain_pages_over_http_and_the_others_in_the_browser() {
    if !has_chromium() {
        return;
    }
    let host = site();
    let env = world(&host);
    let urls: Vec<String> = ["plain", "script", "missing"]
        .iter()
        .map(|it| format!("http://{host}/{it}"))
        .collect();
    let mut lines = Lines::start(&env, &[]);
    let args = json!({"templateId": "batch_extract_pages", "inputs": {"urls": urls, "extract": {"pageInfo": false}}});
    let run = ask(&mut lines, "run_task_template", args);
    let items = run["data"]["result"]["items"]
        .as_array()
        .unwrap_or_else(|| panic!("{run:#}"));
    let way = |at: usize| {
        (
            items[at]["title"].as_str().unwrap_or_default(),
            items[at]["engine"].as_str().unwrap_or_default(),
        )
    };
    assert_eq!(way(0), ("Plain", "http"), "{run:#}");
    assert_eq!(way(1), ("Drawn", "browser"), "{run:#}");
    assert_eq!(run["data"]["result"]["summary"]["total"], 3);
    lines.end();
    lines.wait();
}
