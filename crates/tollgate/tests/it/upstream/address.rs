//! Servers at an address: what goes over the wire, and every way it can fail.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use super::{
    Session, text,
    web::{Got, Then, Web, modern, nobody, tool},
};
use crate::support::TestEnv;

fn env_of(web: &Web, more: &str) -> TestEnv {
    TestEnv::with_config(&web.section(more))
}

fn is_call(got: &Got, tool: &str) -> bool {
    got.rpc() == "tools/call" && got.body["params"]["name"] == tool
}

/// A server whose tool `bad` does something else than answer.
fn with_bad(bad: impl Fn(&Got) -> Then + Send + Sync + 'static) -> Web {
    let tools = json!([tool("good"), tool("bad")]);
    Web::start(move |got| {
        if is_call(got, "bad") {
            bad(got)
        } else {
            modern(got, &tools)
        }
    })
}

/// Calls `bad`, then `good`, which must work; gives how the first one failed.
fn failure(web: &Web, more: &str) -> Value {
    let env = env_of(web, more);
    let mut session = Session::with_tool(&env, "mcp.s.bad");
    let answer = session.call("mcp.s.bad", json!({}));
    assert_eq!(answer["isError"], true, "{answer:#}");
    let good = session.call("mcp.s.good", json!({}));
    assert_eq!(text(&good), "well");
    answer["structuredContent"]["error"].clone()
}

#[test]
fn headers_say_what_the_message_says() {
    let mut odd = tool("odd");
    odd["inputSchema"]["properties"] = json!({
        "region": {"type": "string", "x-mcp-header": "Region"},
        "size": {"type": "integer", "x-mcp-header": "Size"},
        "other": {"type": "string"},
    });
    let mut broken = tool("broken");
    broken["inputSchema"]["properties"] = json!({
        "a": {"type": "string", "x-mcp-header": "not a token"},
    });
    let tools = json!([odd, broken]);
    let web = Web::start(move |got| modern(got, &tools));
    let env = env_of(&web, "");
    env.ok("mcp.s.odd", r#"{"region":"zürich","size":5,"other":"x"}"#);
    let calls = web.of("tools/call");
    let call = &calls[0];
    assert_eq!(call.header("mcp-method"), Some("tools/call"));
    assert_eq!(call.header("mcp-name"), Some("odd"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(
        call.header("mcp-param-region"),
        Some("=?base64?esO8cmljaA==?=")
    );
    assert_eq!(call.header("mcp-param-size"), Some("5"));
    assert!(call.header("mcp-param-other").is_none());
    assert!(call.header("mcp-session-id").is_none());
    // A tool whose headers make no sense is no tool.
    let gone = env.call("mcp.s.broken", "{}", &[]).json();
    assert_eq!(gone["error"]["kind"], "unknown_tool");
}

#[test]
fn nobody_at_the_address_is_told_and_somebody_later_is_used() {
    let port = nobody();
    let config = format!(
        "[[mcp.servers]]\nname = \"s\"\nurl = \"http://127.0.0.1:{port}/mcp\"\ntrust_annotations = true\n"
    );
    let env = TestEnv::with_config(&config);
    let status = env.run(&["mcp", "status", "--json"]).exits(1).json();
    assert_eq!(status["servers"][0]["state"], "down");
    assert_eq!(
        status["servers"][0]["reason"],
        "nobody answers at its address"
    );
    let mut session = Session::start(&env);
    let tools = json!([tool("good")]);
    let _web = Web::at(port, move |got| modern(got, &tools));
    // Its failures are counted anew, so it is tried at once.
    env.run(&["mcp", "restart", "s"]).exits(0);
    while session.tool("mcp.s.good").is_none() {
        session.until("notifications/tools/list_changed");
    }
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
}

#[test]
fn a_connection_that_breaks_within_an_answer_costs_that_call() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n";
    for broken in [
        String::new(),
        "HTTP/1.1 2".to_owned(),
        format!("{head}{{\"json"),
    ] {
        let web = with_bad(move |_| Then::Break(broken.clone()));
        let failed = failure(&web, "");
        assert_eq!(failed["kind"], "connection_error", "{failed:#}");
    }
    let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
                  data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n";
    let web = with_bad(move |_| Then::Break(events.to_owned()));
    assert_eq!(failure(&web, "")["kind"], "connection_error");
}

#[test]
fn statuses_mean_what_they_say() {
    for (status, headers, kind) in [
        (500, vec![], "unavailable"),
        (503, vec![("retry-after", "7".to_owned())], "unavailable"),
        (429, vec![("retry-after", "7".to_owned())], "rate_limited"),
        (401, vec![], "unauthorized"),
        (403, vec![], "unauthorized"),
    ] {
        let told = headers.clone();
        let web = with_bad(move |_| Then::Answer(status, told.clone(), "<html>".to_owned()));
        let failed = failure(&web, "");
        assert_eq!(failed["kind"], kind, "{status}: {failed:#}");
        if kind == "rate_limited" {
            assert_eq!(failed["retry_after_seconds"], 7);
        }
    }
}

#[test]
fn what_is_not_the_protocol_is_told() {
    let html = ("content-type", "text/html".to_owned());
    for body in [
        "<html>hello</html>",
        "[]",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}",
    ] {
        let html = html.clone();
        let web = with_bad(move |_| Then::Answer(200, vec![html.clone()], body.to_owned()));
        let failed = failure(&web, "");
        assert_eq!(failed["kind"], "unavailable", "{failed:#}");
        let message = failed["message"].as_str().unwrap();
        assert!(message.contains("not the protocol"), "{message}");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = Web::start(|_| Then::Answer(200, Vec::new(), String::new()));
    let location = elsewhere.url();
    let web =
        with_bad(move |_| Then::Answer(307, vec![("location", location.clone())], String::new()));
    let failed = failure(&web, "");
    assert!(failed["message"].as_str().unwrap().contains("status 307"));
    assert!(elsewhere.got.lock().unwrap().is_empty());
}

#[test]
fn a_slow_answer_is_given_up_and_the_server_sees_it() {
    for begun in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n",
    ] {
        let web = with_bad(move |_| Then::Hang(begun.to_owned()));
        let failed = failure(&web, "timeout_ms = 1000");
        assert_eq!(failed["kind"], "timeout", "{failed:#}");
        // Closing the stream is the word for it.
        while web.left.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert!(is_call(&web.left.lock().unwrap()[0], "bad"));
    }
}

#[test]
fn an_answer_beyond_measure_is_not_read() {
    let long = "x".repeat(200_000);
    let web = with_bad(move |got| {
        let text = json!({"content": [{"type": "text", "text": long}]});
        Then::json(
            200,
            &json!({"jsonrpc": "2.0", "id": got.body["id"], "result": text}),
        )
    });
    assert_eq!(
        failure(&web, "message_bytes = 100000")["kind"],
        "output_too_large"
    );
}

#[test]
fn numbers_unknown_fields_and_order_survive_in_both_kinds_of_answers() {
    for streams in [false, true] {
        let web = with_bad(move |got| {
            let id = &got.body["id"];
            let odd = r#"{"zeta":1.50,"content":[{"type":"tool_use","b":1e2,"a":12345678901234567890123}],"alpha":{"x":-0.0},"isError":true}"#;
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{odd}}}"#);
            let kind = if streams {
                "text/event-stream"
            } else {
                "application/json"
            };
            let body = if streams {
                format!("event: message\r\ndata: {answer}\r\n\r\n")
            } else {
                answer
            };
            Then::Answer(200, vec![("content-type", kind.to_owned())], body)
        });
        let env = env_of(&web, "");
        let ran = env.call("mcp.s.bad", "{}", &[]);
        let kept = r#""zeta":1.50,"content":[{"type":"tool_use","b":1e2,"a":12345678901234567890123}],"alpha":{"x":-0.0}"#;
        assert!(ran.out.contains(kept), "{}", ran.out);
    }
}

/// A server of the era with handshakes and sessions.
fn legacy(got: &Got, expired: &AtomicBool) -> Then {
    let id = &got.body["id"];
    let answer =
        |result: Value| Then::json(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
    match got.rpc() {
        "initialize" => {
            let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                "serverInfo": {"name": "old", "version": "1"}});
            let kind = ("content-type", "application/json".to_owned());
            let session = ("mcp-session-id", "session-1".to_owned());
            let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
            Then::Answer(200, vec![kind, session], body)
        }
        "notifications/initialized" => Then::Answer(202, Vec::new(), String::new()),
        "tools/list" => answer(json!({"tools": [tool("good")]})),
        "tools/call" if expired.swap(false, Ordering::SeqCst) => {
            Then::Answer(404, Vec::new(), String::new())
        }
        "tools/call" => answer(json!({"content": [{"type": "text", "text": "well"}]})),
        _ if got.method == "DELETE" => Then::Answer(200, Vec::new(), String::new()),
        _ if got.method == "GET" => Then::Answer(405, Vec::new(), String::new()),
        _ => Then::json(
            400,
            &json!({"jsonrpc": "2.0", "id": id,
            "error": {"code": -32600, "message": "no valid session"}}),
        ),
    }
}

#[test]
fn an_older_server_has_its_session_repeated_and_ended() {
    let expired = AtomicBool::new(false);
    let web = Web::start(move |got| legacy(got, &expired));
    let env = env_of(&web, "");
    env.ok("mcp.s.good", "{}");
    let call = web.of("tools/call").remove(0);
    assert_eq!(call.header("mcp-session-id"), Some("session-1"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2025-06-18"));
    assert!(call.header("mcp-method").is_none());
    let got = web.got.lock().unwrap();
    let ended = got.iter().find(|one| one.method == "DELETE").unwrap();
    assert_eq!(ended.header("mcp-session-id"), Some("session-1"));
}

#[test]
fn a_session_that_is_over_is_begun_again() {
    let expired = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&expired);
    let web = Web::start(move |got| legacy(got, &seen));
    let env = env_of(&web, "");
    let mut session = Session::with_tool(&env, "mcp.s.good");
    expired.store(true, Ordering::SeqCst);
    let answer = session.call("mcp.s.good", json!({}));
    let failed = &answer["structuredContent"]["error"];
    assert_eq!(failed["kind"], "connection_error", "{answer:#}");
    loop {
        let answer = session.call("mcp.s.good", json!({}));
        if answer["isError"] != true {
            break;
        }
    }
    assert_eq!(web.of("initialize").len(), 2);
}
