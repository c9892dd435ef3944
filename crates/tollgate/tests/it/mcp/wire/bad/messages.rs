//! Messages that are none.

use serde_json::{Value, json};

use super::{MALFORMED, endings, undisturbed};
use crate::{
    mcp::wire::peer::{Ask, Gate, Stdio, code, meta, request, with_meta},
    support::TestEnv,
};

const SLOW: &str = "[providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 700\n";

/// What is no message, and the code it is answered with.
fn odd() -> Vec<(String, i64)> {
    let list = with_meta(json!({}), &meta()).to_string();
    let with_id = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{list}}}"#)
    };
    let long = format!("\"{}\"", "x".repeat(1000));
    let digits = "9".repeat(1000);
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    vec![
        ("{".to_owned(), -32700),
        ("nonsense".to_owned(), -32700),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{deep}}}}}"#),
            -32700,
        ),
        ("[]".to_owned(), -32600),
        (format!("[{}]", with_id("1")), -32600),
        (format!("[{},{}]", with_id("1"), with_id("2")), -32600),
        ("7".to_owned(), -32600),
        ("{}".to_owned(), -32600),
        (with_id("null"), -32600),
        (with_id("1.5"), -32600),
        (with_id("true"), -32600),
        (with_id("{}"), -32600),
        (with_id(&long), -32600),
        (with_id(&digits), -32600),
        (
            r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#.to_owned(),
            -32600,
        ),
        (r#"{"id":1,"method":"m"}"#.to_owned(), -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#.to_owned(),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#.to_owned(),
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#.to_owned(), -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), -32600),
    ]
}

#[test]
fn what_is_no_message_is_refused_and_recorded_on_stdio() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    for (number, (line, expected)) in odd().into_iter().enumerate() {
        client.line(&line);
        let answer = client.next();
        let shown: String = line.chars().take(100).collect();
        assert_eq!(code(&answer), expected, "{shown}");
        assert!(answer.get("id").is_some(), "{answer}");
        client.result("tools/list", json!({}));
        assert_eq!(endings(&env, MALFORMED), number + 1, "{shown}");
    }
}

#[test]
fn what_is_no_message_is_refused_and_recorded_over_http() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for (number, (body, expected)) in odd().into_iter().enumerate() {
        let shown: String = body.chars().take(100).collect();
        let heard = gate.ask(&Ask::post(body)).has(400);
        assert_eq!(code(&heard.json()), expected, "{shown}");
        assert_eq!(endings(&env, MALFORMED), number + 1, "{shown}");
    }
    undisturbed(&gate);
}

#[test]
fn ids_come_back_as_they_were_spelled() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    for id in [
        "0",
        "-7",
        "12345678901234567890123",
        r#""a\u0062""#,
        r#""关""#,
    ] {
        let params = with_meta(json!({}), &meta());
        let line = request(1, "tools/list", &params).to_string().replacen(
            "\"id\":1",
            &format!("\"id\":{id}"),
            1,
        );
        client.line(&line);
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"result""#);
        assert!(client.next_line().unwrap().starts_with(&start), "{id}");
        let ask = Ask::post(line)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/list");
        assert!(gate.ask(&ask).has(200).body.starts_with(&start), "{id}");
    }
}

#[test]
fn what_a_request_says_twice_about_itself_is_refused() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let params = with_meta(json!({"name": "time.now"}), &meta());
    let line = request(1, "tools/call", &params).to_string();
    // Whoever reads only the last of them would make the call for real.
    let twice = r#""_meta":{"tollgate/call":{"dry_run":true},"tollgate/call":{},"#;
    let line = line.replacen(r#""_meta":{"#, twice, 1);
    client.line(&line);
    assert_eq!(code(&client.next()), -32602);
    let ask = Ask::post(line)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call");
    assert_eq!(code(&gate.ask(&ask).has(400).json()), -32602);
    let rows = env.recorded();
    let made = rows.iter().filter(|row| row["tool"] == "time.now");
    assert_eq!(made.count(), 0);
}

#[test]
fn an_id_that_is_in_use_is_refused_and_the_first_call_goes_on() {
    let env = TestEnv::with_config(SLOW);
    let mut client = Stdio::modern(&env, &[]);
    let params = with_meta(json!({"name": "slow.read"}), &meta());
    let call = request(5, "tools/call", &params);
    client.send(&call);
    client.send(&call);
    let refused = client.next();
    assert_eq!(refused["id"], 5);
    assert_eq!(code(&refused), -32600);
    let done = client.next();
    assert_eq!(done["id"], 5);
    assert_eq!(done["result"]["_meta"]["tollgate/result"]["status"], "ok");
    client.send(&call);
    let again = client.next();
    assert_eq!(
        again["result"]["_meta"]["tollgate/result"]["cache_hit"],
        true
    );
}

#[test]
fn one_id_in_two_requests_over_http_is_two_requests() {
    let env = TestEnv::with_config(SLOW);
    let gate = Gate::open(&env);
    let call = |text: &str| Ask::call("slow.read", json!({"text": text}));
    let first = gate.send(&call("a"));
    let second = gate.send(&call("b"));
    for (stream, text) in [(first, "a"), (second, "b")] {
        let heard = crate::mcp::wire::peer::Open::answering(stream)
            .unwrap()
            .whole();
        let done = crate::mcp::wire::peer::result(&heard.json());
        assert_eq!(done["structuredContent"]["arguments"]["text"], text);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let bytes = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}";
    client.raw(bytes);
    client.raw(b"\n");
    assert_eq!(code(&client.next()), -32700);
    client.result("tools/list", json!({}));
    let heard = gate.ask(&Ask::post(*bytes)).has(400);
    assert_eq!(code(&heard.json()), -32700);
    undisturbed(&gate);
}

#[test]
fn empty_lines_and_carriage_returns_are_let_pass() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    client.raw(b"\n  \n\r\n");
    let params = with_meta(json!({}), &meta());
    client.raw(format!("{}\r\n", request(9, "tools/list", &params)).as_bytes());
    assert_eq!(client.next()["id"], 9);
    assert_eq!(client.end(), Vec::<Value>::new());
}

#[test]
fn only_json_is_read() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "",
    ] {
        gate.ask(&super::good().header("content-type", kind))
            .has(415);
    }
    gate.ask(&super::good().without("content-type")).has(415);
    for kind in ["application/json; charset=utf-8", "Application/JSON"] {
        gate.result(&super::good().header("content-type", kind));
    }
}

#[test]
fn deep_arguments_are_refused_and_nothing_breaks() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    for depth in [500, 100_000] {
        let deep = format!("{}{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let deep = deep.replace(r#"{"a":}"#, "{}");
        let params = with_meta(json!({"name": "json.get"}), &meta());
        let line = request(1, "tools/call", &params).to_string();
        let name = r#""name":"json.get""#;
        client.line(&line.replace(name, &format!(r#"{name},"arguments":{deep}"#)));
        let answer = client.next();
        let refused = answer["error"].is_object() || answer["result"]["isError"] == true;
        assert!(refused, "{answer}");
    }
    client.result("tools/list", json!({}));
}
