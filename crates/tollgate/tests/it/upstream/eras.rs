//! Any client in front of any server: each era before each, with everything that passes.

use serde_json::{Value, json};

use super::{Session, modern, section, text, with};
use crate::support::TestEnv;

/// Each server era, and each way a client speaks to us.
const PAIRS: [(&str, bool); 4] = [
    ("modern", true),
    ("modern", false),
    ("legacy", true),
    ("legacy", false),
];

/// Parameters as this client sends them.
fn said(is_modern: bool, params: Value) -> Value {
    if is_modern { modern(params) } else { params }
}

#[test]
fn calls_progress_and_failures_pass() {
    for (server, client) in PAIRS {
        let env = with(server, "");
        let mut session = Session::with_tool(&env, "mcp.s.slow");
        session.said.clear();
        let arguments = json!({"steps": 3, "pause": 0});
        let params = json!({"name": "mcp.s.slow", "arguments": arguments,
                            "_meta": {"progressToken": "mine"}});
        let done = session.ask("tools/call", said(client, params))["result"].clone();
        assert_eq!(text(&done), "done", "{server} {client}");
        assert_eq!(
            done["resultType"] == "complete",
            client || server == "modern"
        );
        let told = session.said.iter();
        let told = told.filter(|one| one["method"] == "notifications/progress");
        let told: Vec<(&Value, f64)> = told
            .map(|one| &one["params"])
            .map(|one| (&one["progressToken"], one["progress"].as_f64().unwrap()))
            .collect();
        let mine = json!("mine");
        assert_eq!(
            told,
            [(&mine, 1.0), (&mine, 2.0), (&mine, 3.0)],
            "{server} {client}"
        );
        let params = json!({"name": "mcp.s.fails", "arguments": {}});
        let failed = session.ask("tools/call", said(client, params))["result"].clone();
        assert_eq!(
            (&failed["isError"], text(&failed).as_str()),
            (&json!(true), "no luck")
        );
    }
}

#[test]
fn resources_prompts_and_completions_pass() {
    for (server, client) in PAIRS {
        let env = with(server, "");
        let mut session = Session::with_tool(&env, "mcp.s.echo");
        let mut ask = |method: &str, params: Value| {
            let answer = session.ask(method, said(client, params));
            let result = answer["result"].clone();
            assert!(result.is_object(), "{server} {client} {method}: {answer:#}");
            result
        };
        let listed = ask("resources/list", json!({})).to_string();
        assert!(listed.contains("mcp://s/test://one"), "{listed}");
        let listed = ask("resources/templates/list", json!({})).to_string();
        assert!(listed.contains("mcp://s/test://many/{id}"), "{listed}");
        for own in ["test://one", "test://many/7?a=b#c"] {
            let uri = format!("mcp://s/{own}");
            let read = ask("resources/read", json!({"uri": uri}));
            assert_eq!(read["contents"][0]["uri"], *uri);
            assert_eq!(read["contents"][0]["text"], format!("read {own}"));
            assert_eq!(read["cacheScope"] == "private", client);
        }
        let listed = ask("prompts/list", json!({})).to_string();
        assert!(listed.contains("mcp.s.greet"), "{listed}");
        let prompt = ask("prompts/get", json!({"name": "mcp.s.greet"}));
        assert_eq!(prompt["messages"][0]["content"]["text"], "greet!");
        let about = json!({"type": "ref/prompt", "name": "mcp.s.greet"});
        let params = json!({"ref": about, "argument": {"name": "id", "value": "4"}});
        let values = ask("completion/complete", params)["completion"]["values"].clone();
        assert_eq!(values, json!(["greet:4!"]));
    }
}

#[test]
fn changes_pass_to_a_client_that_listens() {
    for server in ["modern", "legacy"] {
        let env = with(server, "");
        let mut session = Session::with_tool(&env, "mcp.s.touch");
        let uri = "mcp://s/test://one";
        let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": [uri]});
        let listens = session.begin(
            "subscriptions/listen",
            modern(json!({"notifications": wanted})),
        );
        session.until("notifications/subscriptions/acknowledged");
        while text(&session.call("mcp.s.watched", json!({}))) != r#"["test://one"]"# {}
        session.said.clear();
        session.call("mcp.s.touch", json!({}));
        session.call("mcp.s.change", json!({}));
        let key = "io.modelcontextprotocol/subscriptionId";
        let mut missing = vec![
            "notifications/resources/updated",
            "notifications/tools/list_changed",
        ];
        let mut said = std::mem::take(&mut session.said);
        while !missing.is_empty() {
            let one = said.pop().unwrap_or_else(|| session.line());
            if one["params"]["_meta"][key] == listens {
                missing.retain(|method| one["method"] != *method);
            }
        }
        let listed = session.ask("tools/list", modern(json!({"toolsets": ["s"]})));
        assert!(
            listed.to_string().contains("mcp.s.extra"),
            "{server}: {listed:#}"
        );
    }
}

#[test]
fn what_goes_on_at_a_server_is_a_task_for_whoever_can_wait() {
    let able = json!({"elicitation": {"form": {}},
                      "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let able = json!({"io.modelcontextprotocol/clientCapabilities": able});
    for server in ["modern", "legacy"] {
        let env = with(server, "");
        let mut session = Session::with_tool(&env, "mcp.s.job");
        let call = json!({"name": "mcp.s.job", "arguments": {}, "_meta": able.clone()});
        let mut begun = session.ask("tools/call", modern(call.clone()))["result"].clone();
        if server == "modern" {
            // Which tools take their time, a modern server only says when they are called.
            assert_eq!(text(&begun), "job done");
            begun = session.ask("tools/call", modern(call))["result"].clone();
        }
        assert_eq!(begun["resultType"], "task", "{server}: {begun:#}");
        let about = json!({"taskId": begun["taskId"], "_meta": able.clone()});
        let done = loop {
            let told = session.ask("tasks/get", modern(about.clone()))["result"].clone();
            if told["status"] != "working" {
                break told;
            }
        };
        assert_eq!(done["status"], "completed", "{server}: {done:#}");
        assert_eq!(text(&done["result"]), "job done");
        // Who cannot wait is not made to.
        let call = json!({"name": "mcp.s.job", "arguments": {}});
        let waited = session.ask("tools/call", modern(call))["result"].clone();
        assert_eq!(text(&waited), "job done");
    }
}

/// Asks with a request as it is spelled; gives the answer as it is spelled.
fn spelled(session: &mut Session, id: &str, request: &str) -> String {
    session.raw(request);
    loop {
        let line = session.text();
        if line.contains(&format!("\"id\":\"{id}\"")) {
            return line;
        }
    }
}

#[test]
fn everything_is_passed_on_as_it_was_spelled() {
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"#;
    for (server, client) in PAIRS {
        let env = with(server, "forward_meta = [\"vendor/x\"]");
        let mut session = Session::with_tool(&env, "mcp.s.odd");
        let meta = if client { version } else { "" };
        let call = |id: &str, tool: &str, arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"mcp.s.{tool}","arguments":{arguments},"_meta":{{{meta}"vendor/x":{{"z":1.50,"a":1e2}},"tollgate/session":"mine","progressToken":7}}}}}}"#
            )
        };
        let odd = spelled(&mut session, "a", &call("a", "odd", "{}"));
        for kept in [
            r#"{"type":"tool_use","b":1.50,"a":12345678901234567890123,"c":1e2}"#,
            r#""unknown":{"z":1.0}"#,
            r#""vendor/y":{"n":2.50}"#,
        ] {
            assert!(odd.contains(kept), "{server} {client}: {odd}");
        }
        let given = r#"{"z":1.50,"big":12345678901234567890123,"a":{"e":1e2}}"#;
        let heard = spelled(&mut session, "b", &call("b", "heard", given));
        let heard: Value = serde_json::from_str(&heard).unwrap();
        let heard = text(&heard["result"]);
        assert!(heard.contains(given), "{server} {client}: {heard}");
        // What the operator lets through reaches the server as it was spelled.
        assert!(
            heard.contains(r#""vendor/x":{"z":1.50,"a":1e2}"#),
            "{heard}"
        );
        assert!(!heard.contains("tollgate/session"), "{heard}");
        let meta = meta.trim_end_matches(',');
        let read = format!(
            r#"{{"jsonrpc":"2.0","id":"c","method":"resources/read","params":{{"uri":"mcp://s/test://many/odd-numbers","_meta":{{{meta}}}}}}}"#
        );
        let read = spelled(&mut session, "c", &read);
        for kept in [
            r#""z":1.50,"contents":[{"uri":"mcp://s/test://many/odd-numbers","text":"x","n":12345678901234567890123}],"a":1e2"#,
            r#""vendor/y":2.50"#,
        ] {
            assert!(read.contains(kept), "{server} {client}: {read}");
        }
    }
}

#[test]
fn two_servers_of_two_eras_answer_one_client() {
    let own = "trust_annotations = true";
    let config = [section("old", "legacy", own), section("new", "modern", own)];
    let env = TestEnv::with_config(&config.concat());
    let mut session = Session::with_tool(&env, "mcp.old.ask");
    session.until_listed("mcp.new.ask");
    for tool in ["mcp.old.ask", "mcp.new.ask"] {
        assert_eq!(text(&session.call(tool, json!({}))), "hello Ada", "{tool}");
    }
}
