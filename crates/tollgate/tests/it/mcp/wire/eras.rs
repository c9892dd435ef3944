//! Old and new versions of the protocol, side by side.

use serde_json::{Value, json};

use super::peer::{
    Ask, Gate, LEGACY, MODERN, SERVER_KEY, Stdio, code, error, meta, request, result,
};
use crate::support::TestEnv;

/// Methods of either era that are not declared, or are none.
const UNDECLARED: [&str; 5] = [
    "tasks/list",
    "sampling/createMessage",
    "tools/run",
    "roots/list",
    "",
];

fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "prompts": {"listChanged": true},
        "completions": {},
    })
}

#[test]
fn a_handshake_is_answered_in_the_version_it_asks_for() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for (wanted, spoken) in LEGACY
        .map(|version| (version, version))
        .into_iter()
        .chain([("1999-01-01", LEGACY[0]), (MODERN, LEGACY[0])])
    {
        let mut client = Stdio::silent(&env, &[]);
        let said = client.shake_hands(wanted, json!({}));
        assert_eq!(said["protocolVersion"], spoken);
        assert_eq!(said["serverInfo"]["name"], "tollgate");
        let mut expected = capabilities();
        expected["logging"] = json!({});
        assert_eq!(said["capabilities"], expected);
        let instructions = said["instructions"].as_str().unwrap();
        assert!(instructions.contains("`tools.search`"), "{instructions}");
        assert!(said.get("resultType").is_none() && said.get("ttlMs").is_none());

        let params = json!({"protocolVersion": wanted, "capabilities": {},
            "clientInfo": {"name": "mcp", "version": "1"}});
        let heard = gate.ask(&Ask::legacy("", "initialize", params)).has(200);
        assert_eq!(result(&heard.json()), said);
        assert!(heard.header("mcp-session-id").is_some());
    }
}

#[test]
fn a_handshake_must_name_a_version_and_happens_once() {
    let env = TestEnv::new();
    let mut client = Stdio::silent(&env, &[]);
    assert_eq!(
        client.error("initialize", json!({"capabilities": {}}))["code"],
        -32602
    );
    let mut client = Stdio::legacy(&env, json!({}));
    let again = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    assert_eq!(client.error("initialize", again)["code"], -32600);
    assert_eq!(client.result("ping", json!({})), json!({}));
}

#[test]
fn a_server_says_what_it_is_before_anything_else() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let over_http = gate.result(&Ask::modern("server/discover", json!({})));
    let mut client = Stdio::modern(&env, &[]);
    let said = client.result("server/discover", json!({}));
    assert_eq!(over_http, said);
    let mut versions = vec![MODERN];
    versions.extend(LEGACY);
    assert_eq!(said["supportedVersions"], json!(versions));
    let mut all = capabilities();
    all["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
    assert_eq!(said["capabilities"], all);
    assert_eq!(said["resultType"], "complete");
    assert_eq!(said["cacheScope"], "private");
    assert!(said["ttlMs"].is_u64());
    assert!(said.get("serverInfo").is_none());
    assert_eq!(said["_meta"][SERVER_KEY]["name"], "tollgate");
}

#[test]
fn both_eras_share_one_endpoint() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    let arguments = json!({"name": "text.stats", "arguments": {"text": "hello"}});
    for _ in 0..2 {
        let old = gate.ask(&Ask::legacy(&session, "tools/call", arguments.clone()));
        let old = result(&old.has(200).json());
        assert_eq!(old["structuredContent"]["characters"], 5);
        assert!(old.get("resultType").is_none(), "{old}");
        assert!(old["_meta"].get(SERVER_KEY).is_none());
        let new = gate.call("text.stats", json!({"text": "hello"}));
        assert_eq!(new["structuredContent"]["characters"], 5);
        assert_eq!(new["resultType"], "complete");
    }

    let mut client = Stdio::legacy(&env, json!({}));
    let old = client.call("text.stats", json!({"text": "hello"}));
    assert!(old.get("resultType").is_none());
    client.meta = Some(meta());
    let new = client.call("text.stats", json!({"text": "hello"}));
    assert_eq!(new["resultType"], "complete");
    client.meta = None;
    assert_eq!(client.result("ping", json!({})), json!({}));
}

#[test]
fn a_modern_request_needs_no_earlier_one() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let first = client.call("text.stats", json!({"text": "hello"}));
    assert_eq!(first["structuredContent"]["characters"], 5);
    let gate = Gate::open(&env);
    let heard = gate.ask(&Ask::call("text.stats", json!({"text": "hello"})));
    let heard = heard.has(200);
    assert_eq!(heard.header("mcp-session-id"), None, "no session is made");
    assert_eq!(result(&heard.json())["structuredContent"]["characters"], 5);
}

#[test]
fn what_is_not_declared_is_no_method() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut modern = Stdio::modern(&env, &[]);
    let removed = [
        "ping",
        "initialize",
        "logging/setLevel",
        "resources/subscribe",
    ];
    for method in UNDECLARED.into_iter().chain(removed) {
        assert_eq!(modern.error(method, json!({}))["code"], -32601, "{method}");
        let heard = gate.ask(&Ask::modern(method, json!({}))).has(404);
        assert_eq!(code(&heard.json()), -32601, "{method}");
    }
    let mut legacy = Stdio::legacy(&env, json!({}));
    let session = gate.session(|ask| ask);
    for method in UNDECLARED.into_iter().chain(["subscriptions/listen"]) {
        assert_eq!(legacy.error(method, json!({}))["code"], -32601, "{method}");
        let heard = gate.ask(&Ask::legacy(&session, method, json!({})));
        assert_eq!(code(&heard.has(200).json()), -32601, "{method}");
    }
}

#[test]
fn small_methods_of_old_answer_exactly_nothing() {
    let env = TestEnv::new();
    let mut client = Stdio::legacy(&env, json!({}));
    let gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    let level = json!({"level": "warning"});
    let uri = json!({"uri": "tollgate://tools"});
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", level),
        ("resources/subscribe", uri.clone()),
        ("resources/unsubscribe", uri),
    ] {
        assert_eq!(client.result(method, params.clone()), json!({}), "{method}");
        let heard = gate.ask(&Ask::legacy(&session, method, params));
        assert_eq!(result(&heard.has(200).json()), json!({}), "{method}");
    }
    let odd = client.error("logging/setLevel", json!({"level": "loud"}));
    assert_eq!(odd["code"], -32602);
}

#[test]
fn a_request_before_the_handshake_is_told_what_is_missing() {
    let env = TestEnv::new();
    let mut client = Stdio::silent(&env, &[]);
    assert_eq!(client.result("ping", json!({})), json!({}));
    let refused = client.error("tools/list", json!({}));
    assert_eq!(refused["code"], -32602);
    let said = refused["message"].as_str().unwrap();
    assert!(said.contains("protocolVersion"), "{said}");
}

#[test]
fn arguments_that_are_absent_are_none() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    for params in [
        json!({"name": "time.now"}),
        json!({"name": "time.now", "arguments": null}),
    ] {
        let here = client.result("tools/call", params.clone());
        assert_eq!(here["_meta"]["tollgate/result"]["status"], "ok", "{here}");
        let there = gate.result(&Ask::modern("tools/call", params));
        assert_eq!(there["_meta"]["tollgate/result"]["status"], "ok");
    }
    let odd = json!({"name": "time.now", "arguments": [1]});
    assert_eq!(client.error("tools/call", odd)["code"], -32602);
}

#[test]
fn every_modern_result_says_who_answers() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let complete = json!({
        "ref": {"type": "ref/resource", "uri": "tollgate://tools/{name}"},
        "argument": {"name": "name", "value": "t"},
    });
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "time.now"})),
        ("tools/call", json!({"name": "text.stats"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "tollgate://toolsets"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "report_activity"})),
        ("completion/complete", complete),
    ] {
        let here = client.result(method, params.clone());
        let there = gate.result(&Ask::modern(method, params));
        for said in [here, there] {
            assert_eq!(said["resultType"], "complete", "{method}");
            let info = &said["_meta"][SERVER_KEY];
            assert_eq!(info["name"], "tollgate", "{method}: {said}");
            assert!(info["version"].is_string());
        }
    }
}

#[test]
fn an_answer_is_one_document_where_nothing_is_said_before_it() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let modern = gate.ask(&Ask::modern("tools/list", json!({}))).has(200);
    assert_eq!(modern.header("content-type"), Some("application/json"));
    let session = gate.session(|ask| ask);
    let old = gate.ask(&Ask::legacy(&session, "tools/list", json!({})));
    assert_eq!(
        old.has(200).header("content-type"),
        Some("application/json")
    );
}

#[test]
fn a_notification_is_taken_and_never_answered() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let told = json!({"jsonrpc": "2.0", "method": "notifications/whatever"});
    let heard = gate.ask(&Ask::post(told.to_string())).has(202);
    assert_eq!(heard.body, "");
    let mut client = Stdio::modern(&env, &[]);
    client.send(&told);
    client.result("tools/list", json!({}));
    assert_eq!(client.end(), Vec::<Value>::new());
}

#[test]
fn a_version_nobody_speaks_is_answered_with_those_we_do() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut odd = meta();
    odd["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let mut client = Stdio::modern(&env, &[]);
    client.meta = Some(odd.clone());
    let here = client.error("tools/list", json!({}));
    let there = gate.ask(
        &Ask::saying(&odd, "tools/list", json!({})).header("mcp-protocol-version", "2030-01-01"),
    );
    let there = error(&there.has(400).json());
    let bare = request(1, "tools/list", &json!({})).to_string();
    let bare = gate.ask(&Ask::post(bare).header("mcp-protocol-version", "2030-01-01"));
    let bare = error(&bare.has(400).json());
    for refused in [here, there, bare] {
        assert_eq!(refused["code"], -32022);
        assert_eq!(refused["data"]["requested"], "2030-01-01");
        let mut versions = vec![MODERN];
        versions.extend(LEGACY);
        assert_eq!(refused["data"]["supported"], json!(versions));
    }
}
