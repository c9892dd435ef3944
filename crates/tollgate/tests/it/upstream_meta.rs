//! What a client says beside a call: nothing of it reaches a server that its operator did not name
//! the key for, and what does is part of the call.

use std::fs;

use serde_json::{Value, json};

use crate::{
    support::{TestEnv, approval_id},
    upstream::{
        Session, modern, section,
        web::{Web, modern as answers, tool},
    },
};

const MARK: &str = "MARK";
const KEY: &str = "com.vendor/bcc";

/// A user with one server, and a file of every byte that it was sent.
fn tapped(era: &str, more: &str) -> TestEnv {
    let env = TestEnv::new();
    let script = env.write("tap.sh", "#!/bin/sh\ntee \"$0.in\" | python3 \"$@\"\n");
    let section = section("s", era, &format!("trust_annotations = true\n{more}"));
    env.configure(&section.replace(
        "command = \"python3\"\nargs = [",
        &format!("command = \"/bin/sh\"\nargs = [{script:?}, "),
    ));
    env
}

fn sent(env: &TestEnv) -> String {
    fs::read_to_string(env.path("tap.sh.in")).unwrap()
}

/// All that could be smuggled.
fn loaded() -> Value {
    json!({
        KEY: "MARK", "plain": {"deep": ["MARK"]}, "tracestate": "vendor=MARK", "baggage": "k=MARK",
        "traceparent": "00-MARK", "io.modelcontextprotocol/own": "MARK", "progressToken": "MARK",
        "tollgate/other": "MARK", "io.modelcontextprotocol/logLevel": "debug",
    })
}

#[test]
fn nothing_said_beside_a_request_reaches_a_server_unasked() {
    for era in ["modern", "legacy"] {
        let env = tapped(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.echo");
        for speak in [modern, std::convert::identity] {
            let nested = json!({"type": "ref/prompt", "name": "mcp.s.greet", "_meta": {"x": MARK}, "more": MARK});
            for (method, mut params) in [
                ("tools/call", json!({"name": "mcp.s.echo", "arguments": {}})),
                (
                    "tools/call",
                    json!({"name": "tools.call", "arguments": {"name": "mcp.s.echo", "arguments": {}}}),
                ),
                (
                    "prompts/get",
                    json!({"name": "mcp.s.greet", "arguments": {"who": "x"}}),
                ),
                ("resources/read", json!({"uri": "mcp://s/test://many/4"})),
                (
                    "completion/complete",
                    json!({
                    "ref": nested, "argument": {"name": "id", "value": "4", "_meta": MARK},
                    "context": {"arguments": {"a": "b"}, "_meta": {"x": MARK}, "y": MARK}}),
                ),
            ] {
                params["_meta"] = loaded();
                params["more"] = MARK.into();
                let answer = session.ask(method, speak(params));
                assert!(answer["result"].is_object(), "{era} {method}: {answer:#}");
            }
        }
        let sent = sent(&env);
        assert!(sent.contains("completion/complete"), "{sent}");
        assert!(!sent.contains(MARK), "{era}: {sent}");
    }
}

#[test]
fn nothing_said_beside_an_answer_reaches_a_server() {
    for era in ["modern", "legacy"] {
        let env = tapped(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.ask");
        let call = json!({"name": "mcp.s.ask", "arguments": {}});
        let asked = session.ask("tools/call", modern(call.clone()))["result"].clone();
        let id = asked["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .next()
            .unwrap();
        let answer = json!({"action": "accept", "content": {"name": "Ada"}, "_meta": {"x": MARK}, "items": [{"_meta": MARK}]});
        let mut again = call;
        again["inputResponses"] = json!({id: answer});
        again["requestState"] = asked["requestState"].clone();
        let done = session.ask("tools/call", modern(again));
        assert!(done.to_string().contains("hello Ada"), "{era}: {done:#}");
        assert!(!sent(&env).contains(MARK), "{era}");
    }
}

#[test]
fn nothing_reaches_a_server_at_an_address_either() {
    let tools = json!([tool("good")]);
    let web = Web::start(move |got| answers(got, &tools));
    let env = TestEnv::with_config(&web.section("default_capability = \"L0\""));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    let call = json!({"name": "mcp.s.good", "arguments": {}, "_meta": loaded()});
    session.ask("tools/call", modern(call));
    let calls = web.of("tools/call");
    assert_eq!(calls.len(), 1);
    assert!(!calls[0].text.contains(MARK), "{}", calls[0].text);
    let headers = format!("{:?}", calls[0].headers);
    assert!(!headers.contains(MARK), "{headers}");
}

#[test]
fn what_is_forwarded_is_part_of_the_call() {
    for era in ["modern", "legacy"] {
        let more =
            format!("forward_meta = [\"{KEY}\"]\n[mcp.servers.tools.echo]\nconsent = \"human\"\n");
        let env = tapped(era, &more);
        let token = env.approver();
        let start = ["mcp", "--toolsets", "all", "--session", "lasting"];
        let mut session = Session::begin_with(&env, &start);
        session.until_listed("mcp.s.echo");
        let mut call = |meta: Value| {
            let params = json!({"name": "mcp.s.echo", "arguments": {"n": 1}, "_meta": meta});
            session.ask("tools/call", params)["result"].clone()
        };
        let refused = call(json!({KEY: "eve@MARK.example", "other": "no"}));
        let refused = refused["_meta"]["tollgate/result"].clone();
        let shown = &refused["error"]["details"]["preview"]["arguments"];
        assert!(
            shown.as_str().unwrap().contains("eve@MARK.example"),
            "{refused:#}"
        );
        assert!(!shown.as_str().unwrap().contains("other"), "{refused:#}");
        let id = approval_id(&refused);
        env.run(&["approve", &id, "--token", &token]).exits(0);
        for other in [
            json!({}),
            json!({KEY: "bob"}),
            json!({KEY: ["eve@MARK.example"]}),
        ] {
            assert_eq!(call(other.clone())["isError"], true, "{era}: {other}");
        }
        assert!(!sent(&env).contains(MARK), "{era}");
        let done = call(json!({KEY: "eve@MARK.example", "other": "no", "baggage": "x"}));
        assert_ne!(done["isError"], true, "{era}: {done:#}");
        let sent = sent(&env);
        assert!(
            sent.contains(&format!("\"{KEY}\":\"eve@MARK.example\"")),
            "{sent}"
        );
        assert!(
            !sent.contains("\"other\"") && !sent.contains("baggage"),
            "{sent}"
        );
        let rows = env.recorded();
        let mut endings = rows
            .iter()
            .filter(|row| row["kind"] == "ending" && row["status"] == "ok");
        let told = endings.next_back().unwrap()["args_preview"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(told.contains(KEY), "{told}");
    }
}

#[test]
fn rules_see_what_is_forwarded() {
    let more = format!("forward_meta = [\"{KEY}\"]\ndefault_capability = \"L0\"\n");
    let env = tapped("modern", &more);
    env.write("config/tollgate/policies/own.cedar", format!(
        "@id(\"own.bcc\")\nforbid (principal, action == Action::\"call\", resource)\nwhen {{ context.arguments has \"_meta\" && context.arguments[\"_meta\"] has \"{KEY}\" }};\n"));
    let mut session = Session::with_tool(&env, "mcp.s.echo");
    let mut call = |meta: Value| {
        let params = json!({"name": "mcp.s.echo", "arguments": {}, "_meta": meta});
        session.ask("tools/call", params)["result"].clone()
    };
    assert_ne!(call(json!({"other": 1}))["isError"], true);
    let refused = call(json!({KEY: "x"}));
    assert_eq!(
        refused["_meta"]["tollgate/result"]["error"]["kind"], "policy_denied",
        "{refused:#}"
    );
}

#[test]
fn keys_given_twice_and_keys_of_the_protocol_are_refused() {
    let env = tapped(
        "modern",
        &format!("forward_meta = [\"{KEY}\"]\ndefault_capability = \"L0\"\n"),
    );
    let mut session = Session::with_tool(&env, "mcp.s.echo");
    for (at, meta) in [
        format!("\"{KEY}\":1,\"{KEY}\":2"),
        format!("\"{KEY}\":1,\"com.vendor\\/bcc\":2"),
        "\"other\":1,\"other\":2".to_owned(),
        format!("\"{KEY}\":{{\"a\":1,\"a\":2}}"),
    ]
    .iter()
    .enumerate()
    {
        let id = format!("twice{at}");
        session.raw(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"tools/call\",\"params\":{{\"name\":\"mcp.s.echo\",\"arguments\":{{}},\"_meta\":{{{meta}}}}}}}"
        ));
        let answer = loop {
            let line = session.line();
            if line["id"] == id.as_str() {
                break line;
            }
        };
        let refused = answer["error"].is_object() || answer["result"]["isError"] == true;
        assert!(refused, "{meta}: {answer:#}");
    }
    // An argument cannot pass for what is forwarded.
    let argument = json!({"name": "mcp.s.echo", "arguments": {"_meta": {KEY: "x"}}});
    let refused = session.ask("tools/call", argument)["result"].clone();
    let error = &refused["_meta"]["tollgate/result"]["error"];
    assert_eq!(error["kind"], "invalid_arguments", "{refused:#}");
    assert!(!sent(&env).contains("\"tools/call\""));
    for key in [
        "progressToken",
        "traceparent",
        "tracestate",
        "baggage",
        "io.modelcontextprotocol/x",
        "tollgate/call",
        "",
    ] {
        let env = tapped("modern", &format!("forward_meta = [\"{key}\"]\n"));
        let ran = env.run(&["mcp", "list"]);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("forward_meta"), "{key}: {said}");
    }
}
