//! What a search finds is read the way it needs, by an engine of our own on loopback.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};

use super::{Site, both_ways, ending::gone, fits, run};
use crate::support::{Lines, TestEnv};

/// A search engine that finds the same pages whatever it is asked; it ends with the test's process.
fn engine(urls: &[String]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let found = urls
        .iter()
        .map(|url| json!({"title": "Found", "url": url, "content": "A few words."}));
    let body = json!({"results": found.collect::<Vec<Value>>()}).to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut head, mut byte) = (stream.unwrap(), Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                head.push(byte[0]);
            }
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    host
}

pub(super) fn world(site: &Site, paths: &[&str]) -> TestEnv {
    let urls: Vec<String> = paths.iter().map(|it| site.url(it)).collect();
    let (host, engine) = (&site.host, engine(&urls));
    TestEnv::with_config(&format!(
        "[browser]\nallow_hosts = [\"{host}\"]\n\
         [web]\nallow_hosts = [\"{host}\", \"{engine}\"]\nhost_pause_ms = 0\n\
         search = [\"searxng\"]\nsearxng_url = \"http://{engine}\"\nsearxng_pause_ms = 0\n"
    ))
}

/// Title, engine and status of each item.
fn ways(items: &Value) -> Vec<(&str, &str, u64)> {
    let items = items.as_array().unwrap_or_else(|| panic!("{items:#}"));
    items
        .iter()
        .map(|it| {
            let word = |name: &str| it[name].as_str().unwrap_or_default();
            (
                word("title"),
                word("engine"),
                it["statusCode"].as_u64().unwrap_or_default(),
            )
        })
        .collect()
}

#[test]
fn what_a_search_finds_is_read_over_http_or_in_the_browser_as_it_needs() {
    let site = Site::start();
    let env = world(&site, &["/plain", "/script", "/broken"]);
    let mut lines = Lines::start(&env, &[]);
    let inputs = json!({"query": "ferries"});
    let (ran, kept) = both_ways(&mut lines, "search_extract", &inputs);
    assert_eq!(ran["status"], "partial_success", "{ran:#}");
    gone(&env, "search_extract");
    let items = &ran["result"]["items"];
    let expected = [("Plain", "http", 200), ("Drawn", "browser", 200)];
    assert_eq!(ways(items)[..2], expected, "{ran:#}");
    for (at, rank) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(items[at]["rank"], rank, "{ran:#}");
        assert_eq!(items[at]["success"], rank < 3, "{ran:#}");
        assert_eq!(items[at]["snippet"], "A few words.");
    }
    for at in 0..2 {
        let sections = items[at]["content"]["sections"].to_string();
        assert!(sections.contains("ferry"), "{ran:#}");
    }
    fits(&mut lines, "search_extract", &ran["result"]);
    assert_eq!(
        ran["result"]["summary"],
        json!({"total": 3, "succeeded": 2, "failed": 1})
    );
    assert_eq!(kept["items"], *items);
    assert_eq!(kept["query"], "ferries");
    lines.end();
    lines.wait();
    env.whole();
}

#[test]
fn what_a_search_finds_is_read_in_the_browser_where_that_is_wanted() {
    let site = Site::start();
    let env = world(&site, &["/plain", "/script", "/buttons"]);
    let mut lines = Lines::start(&env, &[]);
    let extract = json!({"pageInfo": true, "content": false});
    let inputs =
        json!({"query": "ferries", "engine": "browser", "maxResults": 2, "extract": extract});
    let (ran, _) = both_ways(&mut lines, "search_extract", &inputs);
    assert_eq!(ran["status"], "succeeded", "{ran:#}");
    let items = &ran["result"]["items"];
    let expected = [("Plain", "browser", 200), ("Drawn", "browser", 200)];
    assert_eq!(ways(items), expected, "{ran:#}");
    assert_eq!(
        items[1]["pageInfo"]["elements"][0]["label"], "Book",
        "{ran:#}"
    );
    assert!(items[1]["content"].is_null(), "{ran:#}");
    // Only a browser has elements, so whoever wants them gets one.
    let inputs = json!({"query": "ferries", "maxResults": 1, "extract": {"pageInfo": true}});
    let ran = run(&mut lines, "search_extract", inputs, "auto");
    let items = &ran["data"]["result"]["items"];
    assert_eq!(ways(items), [("Plain", "browser", 200)], "{ran:#}");
    lines.end();
    lines.wait();
    env.whole();
}
