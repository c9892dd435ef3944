//! Headers that say something else than the body.

use serde_json::{Value, json};

use super::{MALFORMED, endings, good, undisturbed};
use crate::{
    mcp::wire::peer::{Ask, CAPABILITIES_KEY, Gate, Stdio, VERSION_KEY, code, error, meta, result},
    support::TestEnv,
    upstream::web::{Web, modern, tool},
};

#[test]
fn headers_must_say_what_the_body_says() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let read = Ask::modern("resources/read", json!({"uri": "tollgate://tools"}));
    let prompt = Ask::modern("prompts/get", json!({"name": "report_activity"}));
    let wrong = [
        good().without("mcp-method"),
        good().header("mcp-method", "tools/list"),
        good().header("mcp-method", "Tools/Call"),
        good().without("mcp-name"),
        good().header("mcp-name", "text.find"),
        good().header("mcp-name", "=?base64?????="),
        good().without("mcp-protocol-version"),
        good().header("mcp-protocol-version", "2030-01-01"),
        read.clone().without("mcp-name"),
        read.header("mcp-name", "tollgate://policy"),
        prompt.clone().without("mcp-name"),
        prompt.header("mcp-name", "start_task"),
    ];
    for (number, ask) in wrong.iter().enumerate() {
        let heard = gate.ask(ask).has(400);
        assert_eq!(code(&heard.json()), -32020, "{number}: {heard:?}");
        assert_eq!(heard.json()["id"], 1);
        assert_eq!(endings(&env, MALFORMED), number + 1, "recorded");
    }
    undisturbed(&gate);
}

#[test]
fn a_legacy_version_in_the_header_of_a_modern_request_is_refused() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let heard = gate.ask(&good().header("mcp-protocol-version", "2025-11-25"));
    assert_eq!(code(&heard.has(400).json()), -32020);
    undisturbed(&gate);
}

#[test]
fn a_name_that_no_header_can_carry_travels_encoded() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let ask = good().header("mcp-name", "=?base64?dGV4dC5zdGF0cw==?=");
    assert_eq!(gate.result(&ask)["isError"], false);
}

#[test]
fn arguments_that_are_mirrored_must_be_the_same() {
    let env = TestEnv::new();
    let gate = Gate::open_with(&env, &["--conformance-fixtures"]);
    let ask = Ask::call("test_header_param", json!({"region": "north"}));
    let done = gate.result(&ask.clone().header("mcp-param-region", "north"));
    assert_eq!(done["content"][0]["text"], "the region is north");
    for wrong in [
        ask.clone(),
        ask.clone().header("mcp-param-region", "south"),
        ask.header("mcp-param-region", ""),
    ] {
        assert_eq!(code(&gate.ask(&wrong).has(400).json()), -32020);
    }
}

#[test]
fn numbers_that_are_mirrored_are_compared_as_they_are_spelled() {
    let mut counts = tool("counts");
    counts["inputSchema"]["properties"] =
        json!({"count": {"type": "integer", "x-mcp-header": "Count"}});
    let tools = json!([counts]);
    let web = Web::start(move |got| modern(got, &tools));
    let env = TestEnv::with_config(&web.section(""));
    env.run(&["mcp", "status"]).exits(0);
    let gate = Gate::open(&env);
    let long = "12345678901234567890123";
    let params = format!(
        r#"{{"name":"mcp.s.counts","arguments":{{"count":{long}}},"_meta":{}}}"#,
        meta()
    );
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let ask = Ask::post(body)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "mcp.s.counts");
    let done = gate.result(&ask.clone().header("mcp-param-count", long));
    assert_eq!(done["content"][0]["text"], "well", "{done:#}");
    let sent = web.of("tools/call").remove(0);
    assert_eq!(sent.header("mcp-param-count"), Some(long));
    let other = ask.header("mcp-param-count", "12345678901234567890124");
    assert_eq!(code(&gate.ask(&other).has(400).json()), -32020);
}

#[test]
fn a_modern_request_must_say_its_version_and_what_it_can() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let without = |key: &str| -> Value {
        let mut meta = meta();
        meta.as_object_mut().unwrap().remove(key);
        meta
    };
    for lacking in [VERSION_KEY, CAPABILITIES_KEY] {
        let ask = Ask::saying(&without(lacking), "tools/list", json!({}));
        let refused = error(&gate.ask(&ask).has(400).json());
        assert_eq!(refused["code"], -32602);
        assert!(refused["message"].as_str().unwrap().contains(lacking));
        client.meta = Some(without(lacking));
        assert_eq!(client.error("tools/list", json!({}))["code"], -32602);
    }
    for odd in [json!(null), json!([]), json!("all")] {
        let mut said = meta();
        said[CAPABILITIES_KEY] = odd;
        let heard = gate.ask(&Ask::saying(&said, "tools/list", json!({})));
        assert_eq!(code(&heard.has(400).json()), -32602);
    }
    client.meta = Some(meta());
    client.result("tools/list", json!({}));
}

#[test]
fn an_old_request_needs_none_of_these_headers() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let bare = gate.ask(&Ask::legacy("", "tools/list", json!({})));
    assert!(result(&bare.has(200).json())["tools"].is_array());
    let session = gate.session(|ask| ask);
    let versionless = Ask::legacy(&session, "tools/list", json!({}));
    let heard = gate.ask(&versionless.without("mcp-protocol-version"));
    assert!(result(&heard.has(200).json())["tools"].is_array());
}

#[test]
fn evil_hosts_and_origins_are_refused_before_anything_is_read() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let port = gate.address.port();
    let wrong = [
        good().header("host", "evil.example"),
        good().header("host", &format!("evil.example:{port}")),
        good().header("host", "localhost.evil.example"),
        good().header("origin", "http://evil.example"),
        good().header("origin", "null"),
        good().header("origin", "http://localhost.evil.example"),
        good().header("origin", &format!("http://127.0.0.1:{}", port ^ 1)),
        Ask::new("GET", "/mcp").header("origin", "http://evil.example"),
        Ask::new("OPTIONS", "/mcp").header("origin", "http://evil.example"),
        Ask::new("GET", "/metrics").header("host", "evil.example"),
    ];
    for wrong in &wrong {
        let heard = gate.ask(wrong).has(403);
        assert_eq!(heard.header("access-control-allow-origin"), None);
    }
    // The first of each kind is written down; the others are counted with it.
    assert_eq!(endings(&env, MALFORMED), 2);
    gate.result(&good().header("host", &format!("localhost:{port}")));
    gate.result(&good().header("origin", &format!("http://{}", gate.address)));
    let rows = env.recorded();
    let all = rows.iter().filter(|row| row["kind"] == "ending");
    assert_eq!(all.count(), 2 + 2);
}

#[test]
fn an_origin_the_operator_lets_in_may_read_the_answer() {
    let env = TestEnv::with_config("[serve]\nallowed_origins = [\"https://app.example\"]\n");
    let gate = Gate::open(&env);
    let heard = gate.ask(&good().header("origin", "https://app.example"));
    let allowed = heard.has(200);
    assert_eq!(
        allowed.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    let first = Ask::new("OPTIONS", "/mcp").header("origin", "https://app.example");
    let first = gate.ask(&first).has(204);
    let headers = first.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("mcp-method") && headers.contains("authorization"));
    let asks = "authorization, Mcp-Param-City, x-other";
    let first = Ask::new("OPTIONS", "/mcp")
        .header("origin", "https://app.example")
        .header("access-control-request-headers", asks);
    let first = gate.ask(&first).has(204);
    let headers = first.header("access-control-allow-headers").unwrap();
    assert!(headers.ends_with(", Mcp-Param-City"), "{headers}");
}

#[test]
fn a_page_that_is_let_in_sees_how_to_get_a_token() {
    let env = TestEnv::with_config(
        "[serve]\nanonymous = false\nallowed_origins = [\"https://app.example\"]\n",
    );
    env.run(&["token", "create", "--quiet"]).exits(0);
    let gate = Gate::open(&env);
    let metadata = Ask::new("GET", "/.well-known/oauth-protected-resource");
    for (ask, status) in [(good(), 401), (metadata, 200)] {
        let open = ask.clone().header("origin", "https://app.example");
        let heard = gate.ask(&open).has(status);
        let shared = heard.header("access-control-allow-origin");
        assert_eq!(shared, Some("https://app.example"), "{status}");
        let closed = gate.ask(&ask.header("origin", "https://evil.example"));
        assert_eq!(closed.header("access-control-allow-origin"), None);
    }
}
