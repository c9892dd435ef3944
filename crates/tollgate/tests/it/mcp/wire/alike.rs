//! Requests as nobody should write them: the short way and the general one take them alike.
//!
//! What comes in one piece may be read the short way; what comes in two never is. Whoever could
//! make the two read different requests in the same bytes would smuggle one past a check.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Open, until};
use crate::support::TestEnv;

/// One answer: its status, its headers but for the time, and what it comes down to.
type Answer = (u16, Vec<String>, Value);

/// Reads everything until the gate hangs up.
fn answers(mut stream: TcpStream) -> Vec<Answer> {
    let mut read = Vec::new();
    // Whoever is refused while still sending may lose the end of it.
    drop(stream.read_to_end(&mut read));
    let text = String::from_utf8_lossy(&read).into_owned();
    let mut rest = text.as_str();
    let mut all = Vec::new();
    while let Some((head, body)) = rest.split_once("\r\n\r\n") {
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        let headers = head.lines().skip(1).map(str::to_ascii_lowercase);
        let mut headers: Vec<String> = headers.filter(|line| !line.starts_with("date:")).collect();
        let length = headers
            .iter()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        let length = if status < 200 { 0 } else { length };
        let said = come_down(&body[..length]);
        headers.retain(|line| !line.starts_with("content-length"));
        headers.sort();
        all.push((status, headers, said));
        rest = &body[length..];
    }
    assert_eq!(rest, "", "half an answer");
    all
}

/// What does not differ from call to call.
fn come_down(body: &str) -> Value {
    let Ok(message) = serde_json::from_str::<Value>(body) else {
        return json!(body);
    };
    json!([
        message["id"],
        message["error"],
        message["result"]["structuredContent"]
    ])
}

/// The answers to a request, and to one after it that ends the connection.
fn both(gate: &Gate, request: &[u8]) -> (Vec<Answer>, Vec<Answer>) {
    let last = Ask::new("GET", "/healthz").header("connection", "close");
    let all = [request, &last.bytes(gate.address)].concat();
    let whole = answers(Open::sending(gate.address, &all));
    let mut stream = Open::sending(gate.address, &all[..2]);
    until(|| gate.has_read(&stream));
    // Whoever is refused early hears no more.
    drop(stream.write_all(&all[2..]));
    (whole, answers(stream))
}

/// A good call with its head changed; `HOST` and `LENGTH` are filled in.
fn request(gate: &Gate, lines: &[&str], body: &str) -> Vec<u8> {
    let first = lines
        .first()
        .copied()
        .filter(|line| line.contains(" HTTP/"));
    let mut text = format!("{}\r\n", first.unwrap_or("POST /mcp HTTP/1.1"));
    for line in [
        "host: HOST",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        "mcp-protocol-version: 2026-07-28",
        "mcp-method: tools/call",
        "mcp-name: text.stats",
        "content-length: LENGTH",
    ] {
        let name = line.split(':').next().unwrap();
        let is_changed = |other: &&str| {
            let other = other.trim_start_matches('-').to_ascii_lowercase();
            other.starts_with(name)
        };
        if !lines.iter().any(is_changed) {
            text.push_str(&format!("{line}\r\n"));
        }
    }
    for line in lines.iter().skip(usize::from(first.is_some())) {
        // A header that is only left out.
        if !line.starts_with('-') {
            text.push_str(&format!("{line}\r\n"));
        }
    }
    let text = text
        .replace("HOST", &gate.address.to_string())
        .replace("LENGTH", &body.len().to_string());
    format!("{text}\r\n{body}").into_bytes()
}

fn call() -> String {
    let bytes = Ask::call("text.stats", json!({"text": "a b"})).bytes(([127, 0, 0, 1], 1).into());
    let text = String::from_utf8(bytes).unwrap();
    text.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
fn no_request_is_read_in_two_ways() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let long = format!("x-long: {}", "x".repeat(9000));
    let many: Vec<String> = (0..120).map(|number| format!("x-{number}: y")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let cases: &[&[&str]] = &[
        &[],
        &["connection: keep-alive"],
        &["Connection: Keep-Alive"],
        &["connection: close"],
        &["connection: keep-alive, close"],
        &["connection: upgrade", "upgrade: h2c"],
        &["expect: 100-continue"],
        // Lengths.
        &["content-length: LENGTH", "content-length: LENGTH"],
        &["content-length: LENGTH", "content-length: 3"],
        &["content-length: 3", "content-length: LENGTH"],
        &["content-length: 3"],
        &["content-length: 0"],
        &["content-length: 000LENGTH"],
        &["content-length: +LENGTH"],
        &["content-length: -1"],
        &["content-length: 0x10"],
        &["content-length: LENGTH, LENGTH"],
        &["content-length: LENGTH 3"],
        &["content-length: 99999999999999999999"],
        &["content-length: 18446744073709551615"],
        &["content-length:"],
        &["content-length:\tLENGTH\t"],
        &["content-length : LENGTH"],
        &["-content-length"],
        // Codings.
        &["transfer-encoding: chunked"],
        &["Transfer-Encoding: Chunked"],
        &["transfer-encoding:\tchunked"],
        &["transfer-encoding : chunked"],
        &["transfer-encoding: chunked", "transfer-encoding: identity"],
        &["transfer-encoding: identity"],
        &["transfer-encoding: xchunked"],
        &["transfer-encoding: gzip, chunked"],
        &["x: y\r\n transfer-encoding: chunked"],
        &["transfer-encoding:\r\n chunked"],
        &["-content-length", "transfer-encoding: chunked"],
        // Lines.
        &["x: a\0b"],
        &["x: a\rb"],
        &["x: a\nb: c"],
        &["no colon at all"],
        &["bad name: x"],
        &[": nameless"],
        &[&long],
        &many,
        // First lines.
        &["post /mcp HTTP/1.1"],
        &["POST /mcp HTTP/1.0"],
        &["POST /mcp HTTP/1.0", "connection: keep-alive"],
        &["POST /mcp HTTP/2.0"],
        &["POST  /mcp HTTP/1.1"],
        &["POST /mcp?toolsets=all HTTP/1.1"],
        &["POST /mcp#there HTTP/1.1"],
        &["POST /mcp/ HTTP/1.1"],
        &["POST /MCP HTTP/1.1"],
        &["POST /%6dcp HTTP/1.1"],
        &["POST http://HOST/mcp HTTP/1.1"],
        &["POST http://evil.example/mcp HTTP/1.1"],
        &["PUT /mcp HTTP/1.1"],
        // Who is asked, and by whom.
        &["-host"],
        &["host: evil.example"],
        &["host: HOST", "host: HOST"],
        &["host: HOST", "host: evil.example"],
        &["origin: http://evil.example"],
        &["origin: http://HOST"],
        &["origin: http://HOST", "origin: http://evil.example"],
        &["authorization: Bearer nonsense"],
        // What it says of itself.
        &["content-type: text/plain"],
        &["content-encoding: gzip"],
        &["mcp-name: text.lines"],
        &["mcp-name: text.stats", "mcp-name: text.lines"],
    ];
    let body = call();
    for case in cases {
        let (whole, pieces) = both(&gate, &request(&gate, case, &body));
        assert_eq!(whole, pieces, "{case:?}");
        assert!(!whole.is_empty(), "{case:?}");
    }
    for body in [
        "",
        "{",
        "[]",
        "{}",
        "null",
        "\u{feff}{}",
        &body[..body.len() - 1],
    ] {
        let (whole, pieces) = both(&gate, &request(&gate, &[], body));
        assert_eq!(whole, pieces, "{body:?}");
    }
    // What follows a body is a request, or none.
    for rest in ["\r\n\r\n", "GARBAGE\r\n\r\n", "{}"] {
        let bytes = [&request(&gate, &[], &body)[..], rest.as_bytes()].concat();
        let (whole, pieces) = both(&gate, &bytes);
        assert_eq!(whole, pieces, "{rest:?}");
        assert_eq!(whole[0].0, 200, "{rest:?}");
    }
    // How much of a head beyond measure is read differs, and that it is refused does not.
    let longer = format!("x-longer: {}", "x".repeat(300_000));
    let (whole, pieces) = both(&gate, &request(&gate, &[&longer], &body));
    for answer in whole.iter().chain(&pieces) {
        assert_eq!(answer.0, 431);
    }
    let bare = String::from_utf8(request(&gate, &[], &body)).unwrap();
    let bare = bare.replace("\r\n", "\n");
    let (whole, pieces) = both(&gate, bare.as_bytes());
    assert_eq!(whole, pieces, "bare line feeds");
}

#[test]
fn what_could_hide_a_request_is_refused() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let body = call();
    for case in [
        &["content-length: LENGTH", "content-length: 3"][..],
        &["content-length: +LENGTH"],
        &["content-length: LENGTH, 3"],
        &["content-length : LENGTH"],
        &["transfer-encoding : chunked"],
        &["transfer-encoding: xchunked"],
        &["transfer-encoding:\r\n chunked"],
        &["x: a\0b"],
    ] {
        let (whole, pieces) = both(&gate, &request(&gate, case, &body));
        for answers in [whole, pieces] {
            let statuses: Vec<u16> = answers.iter().map(|answer| answer.0).collect();
            assert_eq!(statuses, [400], "{case:?}");
        }
    }
}

#[test]
fn nobody_without_a_token_comes_in_either_way() {
    let env = TestEnv::with_config("[serve]\nanonymous = false\n");
    let token = env.run(&["token", "create", "--quiet"]).exits(0).out;
    let gate = Gate::open(&env);
    let bearing = format!("authorization: Bearer {}", token.trim());
    let body = call();
    for (case, status) in [
        (vec![], 401),
        (vec!["authorization: Bearer x"], 401),
        (vec![bearing.as_str()], 200),
    ] {
        let (whole, pieces) = both(&gate, &request(&gate, &case, &body));
        assert_eq!(whole, pieces, "{status}");
        assert_eq!(whole[0].0, status);
    }
}
