//! Consent by site, what is typed into fields for secrets, and files that pages give.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    browser_kept::{ask, holding},
    support::{Lines, TestEnv, approval_id},
};

const WORD: &str = "kittiwake-4711-feather";

/// A site with a form and a file; it ends with the test's process.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut all = Vec::new();
                let mut piece = [0; 1024];
                while !is_whole(&all) {
                    match stream.read(&mut piece) {
                        Ok(read) if read > 0 => all.extend_from_slice(&piece[..read]),
                        Ok(_) | Err(_) => return,
                    }
                }
                let answer = answer(&String::from_utf8_lossy(&all));
                drop(stream.write_all(answer.as_bytes()));
            });
        }
    });
    host
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().unwrap())
    });
    body.len() >= length.unwrap_or(0)
}

fn answer(request: &str) -> String {
    let mut words = request.split_whitespace();
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let (kind, body) = match (method, path) {
        (_, "/file") => (
            "application/octet-stream\r\nContent-Disposition: attachment; filename=\"list.csv\"",
            "a,b,c".to_owned(),
        ),
        ("POST", _) if request.ends_with(&format!("name=ada&word={WORD}")) => {
            ("text/html", "<title>In</title><p>Hello</p>".to_owned())
        }
        _ => (
            "text/html",
            "<title>Door</title><form method=post><label>Name <input name=name></label>\
             <label>Word <input type=password name=word></label><button>Enter</button></form>"
                .to_owned(),
        ),
    };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn world(hosts: &[&str]) -> TestEnv {
    let hosts: Vec<String> = hosts.iter().map(|it| format!("\"{it}\"")).collect();
    TestEnv::with_config(&format!(
        "[browser]\nallow_hosts = [{}]\n",
        hosts.join(", ")
    ))
}

/// The ids of the form at a page.
fn form(lines: &mut Lines, url: &str) -> [String; 3] {
    let went = ask(lines, "browser.navigate", json!({"url": url}));
    assert_eq!(went["data"]["page"]["title"], "Door", "{went}");
    let info = ask(lines, "browser.get_page_info", json!({}));
    let elements = info["data"]["elements"].as_array().unwrap();
    ["Name", "Word", "Enter"].map(|label| {
        let found = elements.iter().find(|it| it["label"] == label);
        found.unwrap_or_else(|| panic!("{info:#}"))["id"]
            .as_str()
            .unwrap()
            .to_owned()
    })
}

fn filled(url: &str, [name, word, submit]: &[String; 3]) -> Value {
    let fields = json!([{"element_id": name, "value": "ada"}, {"element_id": word, "value": WORD}]);
    json!({"fields": fields, "submit_id": submit, "url": url})
}

#[test]
fn a_site_is_granted_for_a_session_and_a_typed_secret_is_seen_by_nobody() {
    let (host, other) = (site(), site());
    let env = world(&[&host, &other]);
    let token = env.approver();
    let url = format!("http://{host}/");
    let mut lines = Lines::start(&env, &[]);
    let ids = form(&mut lines, &url);
    assert!(ids[1].starts_with("secret_"), "{ids:?}");
    let refused = ask(&mut lines, "browser.fill_form", filled(&url, &ids));
    assert_eq!(
        refused["error"]["kind"], "confirmation_required",
        "{refused}"
    );
    let preview = refused["error"]["details"]["preview"].clone();
    assert_eq!(preview["site"], host, "{preview}");
    let shown = preview["arguments"].as_str().unwrap();
    assert!(
        shown.contains("ada") && shown.contains("[REDACTED:argument, "),
        "{shown}"
    );
    let id = approval_id(&refused);
    let grant = [
        "approve",
        &id,
        "--for-session",
        "--site",
        &host,
        "--token",
        &token,
    ];
    env.run(&grant).exits(0);
    let done = ask(&mut lines, "browser.fill_form", filled(&url, &ids));
    assert_eq!(done["data"]["submitted"], true, "{done}");
    let page = ask(&mut lines, "browser.get_page_content", json!({}));
    assert_eq!(page["data"]["title"], "In", "{page}");

    // The same tool at the same site asks nobody again; another site does.
    let again = form(&mut lines, &url);
    let done = ask(&mut lines, "browser.fill_form", filled(&url, &again));
    assert_eq!(done["data"]["submitted"], true, "{done}");
    let elsewhere = format!("http://{other}/");
    let there = form(&mut lines, &elsewhere);
    let asked = ask(&mut lines, "browser.fill_form", filled(&elsewhere, &there));
    assert_eq!(asked["error"]["kind"], "confirmation_required", "{asked}");
    // Nor does the grant help if the tab is elsewhere than the call says.
    let lied = ask(&mut lines, "browser.fill_form", filled(&url, &there));
    assert_eq!(lied["error"]["errorCode"], "INVALID_PARAMETER", "{lied}");

    // Under a name that does not say that it is for a secret, the field is not found.
    let ids = form(&mut lines, &url);
    let disguised = ids[1].replacen("secret_", "input_", 1);
    let fields = json!([{"element_id": disguised, "value": "x"}]);
    let refused = ask(
        &mut lines,
        "browser.fill_form",
        json!({"fields": fields, "url": url}),
    );
    assert_eq!(
        refused["data"]["failed"][0]["errorCode"], "ELEMENT_NOT_FOUND",
        "{refused}"
    );
    lines.end();
    assert_eq!(lines.wait(), Some(0));
    let mut found = Vec::new();
    holding(&env.path(""), WORD, &mut found);
    assert!(found.is_empty(), "the word is in {found:?}");
    assert!(
        !env.run(&["audit", "list", "--json"])
            .exits(0)
            .out
            .contains(WORD)
    );
    env.whole();
}

#[test]
fn a_download_is_an_artifact() {
    let host = site();
    let env = world(&[&host]);
    let mut lines = Lines::start(&env, &[]);
    let url = format!("http://{host}/file");
    let went = ask(&mut lines, "browser.navigate", json!({"url": url}));
    assert_eq!(went["data"]["download"], true, "{went}");
    let file = loop {
        let listed = ask(&mut lines, "browser.get_downloads", json!({}));
        let first = listed["data"]["downloads"][0].clone();
        assert_eq!(first["error"], Value::Null, "{listed}");
        if first["completed"] == true {
            break first;
        }
    };
    assert_eq!(
        (&file["filename"], &file["size"]),
        (&json!("list.csv"), &json!(5))
    );
    let piece = ask(
        &mut lines,
        "get_artifact",
        json!({"artifactId": file["artifactId"]}),
    );
    let bytes = STANDARD
        .decode(piece["data"]["data"].as_str().unwrap())
        .unwrap();
    assert_eq!(bytes, b"a,b,c", "{piece}");
    assert_eq!(piece["warnings"], json!(["tainted_content"]), "{piece}");
    assert_eq!(piece["data"]["complete"], true);
    // It is the same one however often it is listed, and it outlives the session.
    let again = ask(&mut lines, "browser.get_downloads", json!({}));
    assert_eq!(
        again["data"]["downloads"][0]["artifactId"],
        file["artifactId"]
    );
    ask(&mut lines, "browser.close_session", json!({}));
    let piece = ask(
        &mut lines,
        "get_artifact",
        json!({"artifactId": file["artifactId"]}),
    );
    assert_eq!(piece["data"]["size"], 5, "{piece}");
    lines.end();
    assert_eq!(lines.wait(), Some(0));
    env.whole();
}

#[test]
fn a_window_without_a_screen_is_refused_with_the_reason() {
    let host = site();
    let env = world(&[&host]);
    let mut lines = Lines::start(&env, &[]);
    let made = ask(
        &mut lines,
        "browser.create_session",
        json!({"headless": false}),
    );
    assert_eq!(made["error"]["errorCode"], "INVALID_PARAMETER", "{made}");
    let why = made["error"]["message"].as_str().unwrap();
    assert!(why.contains("screen"), "{made}");
}
