//! Servers at an address: what goes over the wire, and every way it can fail.

use std::{sync::Arc, thread};

use serde_json::{Value, json};

use super::{
    Session, logs, text,
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
    answer["_meta"]["tollgate/result"]["error"].clone()
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
fn headers_of_the_operator_go_with_every_request_and_are_shown_nowhere() {
    let tools = json!([tool("good")]);
    let web = Web::start(move |got| modern(got, &tools));
    let headers = "headers = { Authorization = \"env:OUR_AUTHORIZATION\", X-Team = \"file:TEAM\" }";
    let mut env = TestEnv::new();
    let team = env.write("team", "blue\n");
    env.configure(&web.section(&headers.replace("TEAM", &team)));
    let lacking = env.run(&["mcp", "status", "--json"]).exits(1).json();
    let reason = lacking["servers"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("OUR_AUTHORIZATION"), "{reason}");
    env.set("OUR_AUTHORIZATION", "Bearer hunter2-hunter2");
    let ran = env.call("mcp.s.good", "{}", &[]).exits(0);
    let got = web.got.lock().unwrap();
    assert!(got.len() >= 3, "{got:?}");
    for one in got.iter() {
        assert_eq!(one.header("authorization"), Some("Bearer hunter2-hunter2"));
        assert_eq!(one.header("x-team"), Some("blue"));
    }
    let logs = env.run(&["mcp", "logs"]).exits(0).out;
    for text in [&ran.out, &ran.err, &logs] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_list_without_end_is_not_read() {
    let web = Web::start(move |got| {
        if got.rpc() != "tools/list" {
            return modern(got, &json!([]));
        }
        let mut long = tool("long");
        long["description"] = json!("x".repeat(8 << 20));
        let page = json!({"tools": [long], "nextCursor": "more", "resultType": "complete"});
        let id = &got.body["id"];
        Then::json(200, &json!({"jsonrpc": "2.0", "id": id, "result": page}))
    });
    let env = env_of(&web, "");
    let status = env.run(&["mcp", "status", "--json"]).exits(1).json();
    let reason = status["servers"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("are longer than"), "{reason}");
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
    session.until_listed("mcp.s.good");
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
        // What may have happened is not tried again.
        let calls = web.of("tools/call");
        assert_eq!(calls.iter().filter(|got| is_call(got, "bad")).count(), 1);
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
        // Without a time there is nothing to wait for.
        (429, vec![], "rate_limited"),
        (401, vec![], "unauthorized"),
        (403, vec![], "unauthorized"),
    ] {
        let message = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"go away"}}"#;
        for body in ["<html>", message] {
            // What the protocol calls a failure is one of the tool, unless the status says more.
            let kind = match kind {
                "unavailable" if body == message && status == 500 => "tool_failed",
                other => other,
            };
            let told = headers.clone();
            let web = with_bad(move |_| Then::Answer(status, told.clone(), body.to_owned()));
            let failed = failure(&web, "");
            assert_eq!(failed["kind"], kind, "{status}: {failed:#}");
            if status == 503 {
                assert_eq!(failed["retry_after_seconds"], 7, "{status}");
            }
        }
    }
}

#[test]
fn a_server_that_asks_for_time_is_left_alone_until_then() {
    let web =
        with_bad(|_| Then::Answer(429, vec![("retry-after", "60".to_owned())], String::new()));
    let env = env_of(&web, "");
    let mut session = Session::with_tool(&env, "mcp.s.bad");
    for _ in 0..3 {
        let failed = session.call("mcp.s.bad", json!({}));
        let failed = &failed["_meta"]["tollgate/result"]["error"];
        assert_eq!(failed["kind"], "rate_limited", "{failed:#}");
        let left = failed["retry_after_seconds"].as_u64().unwrap();
        assert!((2..=60).contains(&left), "{failed:#}");
    }
    let calls = web.of("tools/call");
    assert_eq!(calls.iter().filter(|got| is_call(got, "bad")).count(), 1);
}

/// A server whose certificate nobody here trusts.
fn untrusted() -> u16 {
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    const CERTIFICATE: &[u8] = include_bytes!("../../../../tollgate-web/tests/tls/server.pem");
    const KEY: &[u8] = include_bytes!("../../../../tollgate-web/tests/tls/server-key.pem");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()];
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_slice(KEY).unwrap())
        .unwrap();
    let config = Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            // Whoever does not trust the certificate goes away.
            drop(connection.complete_io(&mut stream.unwrap()));
        }
    });
    port
}

#[test]
fn a_certificate_that_nobody_trusts_is_told_as_such() {
    let port = untrusted();
    let config = format!("[[mcp.servers]]\nname = \"s\"\nurl = \"https://localhost:{port}/mcp\"\n");
    let env = TestEnv::with_config(&config);
    let status = env.run(&["mcp", "status", "--json"]).exits(1).json();
    let reason = status["servers"][0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("its certificate is not accepted: it is self-signed or of an authority"),
        "{status:#}"
    );
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
    for status in [202, 204] {
        let web = with_bad(move |_| Then::Answer(status, Vec::new(), String::new()));
        assert_eq!(failure(&web, "")["kind"], "unavailable", "{status}");
    }
}

#[test]
fn what_is_no_json_is_shown_to_the_operator() {
    let long = "x".repeat(1000);
    for streams in [false, true] {
        let said = format!("<html>{long}");
        let web = with_bad(move |got| {
            let id = &got.body["id"];
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
            let (kind, body) = if streams {
                let body = format!("data: \n\ndata: {said}\n\ndata: {answer}\n\n");
                ("text/event-stream", body)
            } else {
                ("text/html", said.clone())
            };
            Then::Answer(200, vec![("content-type", kind.to_owned())], body)
        });
        let env = env_of(&web, "");
        env.call("mcp.s.bad", "{}", &[])
            .exits(if streams { 0 } else { 1 });
        let logs = logs(&env);
        let told = logs
            .lines()
            .filter(|line| line.contains("mcp.invalid_json"));
        let told: Vec<_> = told.collect();
        assert_eq!(told.len(), 1, "{logs}");
        assert!(told[0].contains("<html>xxx"), "{logs}");
        assert!(!told[0].contains(&long), "{logs}");
    }
}

#[test]
fn an_answer_to_something_else_is_none() {
    let web = with_bad(move |got| {
        let id = got.body["id"].as_u64().unwrap() + 1000;
        let theirs = json!({"content": [{"type": "text", "text": "somebody else's"}]});
        Then::json(200, &json!({"jsonrpc": "2.0", "id": id, "result": theirs}))
    });
    let failed = failure(&web, "");
    assert_eq!(failed["kind"], "unavailable", "{failed:#}");
    assert!(
        !failed.to_string().contains("somebody else's"),
        "{failed:#}"
    );
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
            thread::yield_now();
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

/// Answers `bad` with these bytes, in which `ID` and `LENGTH` are filled in.
fn written(head: &str, body: &str) -> Web {
    let (head, body) = (head.to_owned(), body.to_owned());
    with_bad(move |got| {
        let body = body.replace("ID", &got.body["id"].to_string());
        let length = body.split("END").next().unwrap_or_default().len();
        let length = format!("{length:x}");
        let (head, body) = (head.replace("LENGTH", &length), body.replace("END", ""));
        Then::Raw(format!("{head}{body}"))
    })
}

#[test]
fn answers_may_be_written_in_every_way_that_http_allows() {
    let result =
        r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"well"}]}}"#;
    let told = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let chunked = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n\
                   HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
                   Transfer-Encoding: Chunked\r\n\r\nLENGTH;odd=\"1\"\r\n";
    let events = "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\
                  connection: close\r\n\r\n";
    let closing = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nconnection: close\r\n\r\n";
    for (head, body, ends) in [
        (
            chunked,
            format!("{result}END\r\n0\r\nx-trailer: y\r\n\r\n"),
            false,
        ),
        // A sign of life, an event that only says where to go on, several events, every line end.
        (
            events,
            format!(
                ": hi\n\nid: 1\ndata: \n\nevent: message\r\ndata: {told}\r\n\r\ndata:{result}\r\r"
            ),
            true,
        ),
        (closing, result.to_owned(), true),
    ] {
        let web = if ends {
            let (head, body) = (head.to_owned(), body.clone());
            with_bad(move |got| {
                let body = body.replace("ID", &got.body["id"].to_string());
                Then::Break(format!("{head}{body}"))
            })
        } else {
            written(head, &body)
        };
        let env = env_of(&web, "");
        let mut session = Session::with_tool(&env, "mcp.s.bad");
        for _ in 0..2 {
            let answer = session.call("mcp.s.bad", json!({}));
            assert_eq!(text(&answer), "well", "{head}");
        }
    }
}

#[test]
fn what_is_no_end_of_an_answer_is_not_waited_for() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(1 << 20));
    let web = with_bad(move |_| Then::Raw(long.clone()));
    let failed = failure(&web, "");
    assert_eq!(failed["kind"], "connection_error", "{failed:#}");
    for (kind, piece) in [
        ("application/json", "x".repeat(1000)),
        ("text/event-stream", format!("data: {}\n", "x".repeat(1000))),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n\r\n");
        let web = with_bad(move |_| Then::Endless(head.clone(), piece.clone()));
        let failed = failure(&web, "message_bytes = 100000");
        assert_eq!(failed["kind"], "output_too_large", "{failed:#}");
        while web.left.lock().unwrap().is_empty() {
            thread::yield_now();
        }
    }
}

#[test]
fn a_connection_that_was_closed_while_nobody_used_it_is_replaced() {
    let web = with_bad(move |got| {
        let well = json!({"content": [{"type": "text", "text": "well"}]});
        let body = json!({"jsonrpc": "2.0", "id": got.body["id"], "result": well});
        let kind = ("content-type", "application/json".to_owned());
        Then::Last(200, vec![kind], body.to_string())
    });
    let env = env_of(&web, "");
    let mut session = Session::with_tool(&env, "mcp.s.bad");
    for _ in 0..5 {
        assert_eq!(text(&session.call("mcp.s.bad", json!({}))), "well");
    }
}
