//! What servers offer beside calls: completions, changes, things to watch, rich definitions.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    Session, logs, text,
    web::{Got, Web, modern, tool},
    with,
};
use crate::support::TestEnv;

#[test]
fn arguments_are_completed_by_their_server() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.echo");
        for (about, own) in [
            (
                json!({"type": "ref/prompt", "name": "mcp.s.greet"}),
                "greet",
            ),
            (
                json!({"type": "ref/resource", "uri": "mcp://s/test://many/{id}"}),
                "test://many/{id}",
            ),
        ] {
            let params = json!({"ref": about, "argument": {"name": "id", "value": "4"}});
            let answer = session.ask("completion/complete", params);
            let values = &answer["result"]["completion"]["values"];
            assert_eq!(values, &json!([format!("{own}:4!")]), "{era}: {answer:#}");
        }
    }
}

#[test]
fn a_changed_list_of_either_era_is_announced() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.change");
        session.said.clear();
        session.call("mcp.s.change", json!({}));
        session.until_listed("mcp.s.extra");
        assert_eq!(
            text(&session.call("mcp.s.extra", json!({}))),
            "extra",
            "{era}"
        );
    }
}

#[test]
fn changed_prompts_and_resources_of_either_era_are_announced_and_listed() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.change");
        for (what, extra) in [
            ("prompts", "mcp.s.extra"),
            ("resources", "mcp://s/test://extra"),
        ] {
            let list = format!("{what}/list");
            let before = session.ask(&list, json!({}))["result"].to_string();
            assert!(!before.contains(extra), "{era}: {before}");
            session.said.clear();
            session.call("mcp.s.change", json!({"what": what}));
            session.until(&format!("notifications/{what}/list_changed"));
            let after = session.ask(&list, json!({}))["result"].to_string();
            assert!(after.contains(extra), "{era}: {after}");
        }
    }
}

#[test]
fn a_server_that_cannot_tell_of_changes_for_now_is_asked_again() {
    let env = with("modern unsure", "");
    let mut session = Session::with_tool(&env, "mcp.s.change");
    let wanted = json!({"uri": "mcp://s/test://one"});
    session.ask("resources/subscribe", wanted);
    let watched = |session: &mut Session| text(&session.call("mcp.s.watched", json!({})));
    while watched(&mut session) != r#"["test://one"]"# {
        thread::sleep(Duration::from_millis(20));
    }
    let logs = logs(&env);
    let told = logs.matches("mcp.subscribe.failed").count();
    assert_eq!(told, 1, "it is told once: {logs}");
}

#[test]
fn a_server_that_knows_no_subscriptions_is_asked_once() {
    let env = with("modern unable", "");
    let mut session = Session::with_tool(&env, "mcp.s.refused");
    while text(&session.call("mcp.s.refused", json!({}))) == "0" {}
    thread::sleep(Duration::from_secs(2));
    assert_eq!(text(&session.call("mcp.s.refused", json!({}))), "1");
}

#[test]
fn a_task_that_asked_is_cancelled_with_its_call() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.job");
    let params = json!({"name": "mcp.s.job", "arguments": {"how": "asks"}});
    let call = session.begin("tools/call", params);
    while session.line()["method"] != "elicitation/create" {}
    session.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": {"requestId": call}}),
    );
    let since = Instant::now();
    loop {
        let seen = text(&session.call("mcp.s.cancelled", json!({})));
        let told: Value = serde_json::from_str(&seen).unwrap();
        if told["cancelled"]
            .as_array()
            .unwrap()
            .contains(&json!("job-1"))
        {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "{seen}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_a_client_watches_is_watched_at_the_server() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.touch");
        let watched = |session: &mut Session| text(&session.call("mcp.s.watched", json!({})));
        assert_eq!(watched(&mut session), "[]", "{era}");
        let uri = "mcp://s/test://one";
        session.ask("resources/subscribe", json!({"uri": uri}));
        while watched(&mut session) != r#"["test://one"]"# {}
        session.said.clear();
        session.call("mcp.s.touch", json!({}));
        let told = loop {
            let is_update = |one: &Value| one["method"] == "notifications/resources/updated";
            if let Some(told) = session.said.iter().find(|one| is_update(one)) {
                break told.clone();
            }
            let line = session.line();
            session.said.push(line);
        };
        assert_eq!(told["params"]["uri"], uri, "{era}");
        session.ask("resources/unsubscribe", json!({"uri": uri}));
        while watched(&mut session) != "[]" {}
    }
}

#[test]
fn a_task_is_waited_for_so_that_every_client_can_call_it() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.job");
        let done = session.call("mcp.s.job", json!({}));
        assert_eq!(text(&done), "job done", "{era}");
        let asked = session.call("mcp.s.job", json!({"how": "asks"}));
        assert_eq!(text(&asked), "hello Ada", "{era}");
        let failed = session.call("mcp.s.job", json!({"how": "fails"}));
        let failure = &failed["_meta"]["tollgate/result"]["error"];
        assert!(
            failure["message"]
                .as_str()
                .unwrap()
                .contains("the job broke"),
            "{failed:#}"
        );
        let params = json!({"name": "mcp.s.job", "arguments": {"how": "never"}});
        let id = session.begin("tools/call", params);
        let has = |session: &mut Session, what: &str| {
            let seen = text(&session.call("mcp.s.cancelled", json!({})));
            let seen: Value = serde_json::from_str(&seen).unwrap();
            seen[what].as_array().unwrap().contains(&json!("job-4"))
        };
        while !has(&mut session, "jobs") {}
        session.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                             "params": {"requestId": id}}),
        );
        // The task itself is cancelled, not only the wait for it.
        while !has(&mut session, "cancelled") {}
    }
}

#[test]
fn what_is_unknown_here_is_listed_all_the_same() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.rich");
        let tool = session.tool("mcp.s.rich").unwrap();
        assert_eq!(tool["title"], "A rich tool");
        assert_eq!(tool["icons"][0]["src"], "data:image/png;base64,AA==");
        assert_eq!(tool["execution"], json!({"taskSupport": "forbidden"}));
        assert_eq!(tool["x-vendor"], json!({"n": 1}));
        assert_eq!(tool["annotations"]["vendorHint"], true);
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert_eq!(tool["_meta"]["vendor/x"], json!([1]));
        assert_eq!(tool["_meta"]["ui"]["resourceUri"], "mcp://s/ui://page");
        assert_eq!(tool["_meta"]["tollgate/name"], "mcp.s.rich");
        // What it does not list can be read at its address.
        let page = session.ask("resources/read", json!({"uri": "mcp://s/ui://page"}));
        assert_eq!(page["result"]["contents"][0]["text"], "read ui://page");
        assert_eq!(page["result"]["contents"][0]["uri"], "mcp://s/ui://page");
    }
}

#[test]
fn definitions_keep_the_spelling_of_numbers() {
    let n = r#"{"n":[1.50,12345678901234567890123,1e2]}"#;
    let rich = [
        r#""inputSchema":{"type":"object","properties":{"x":{"maximum":1.50}}}"#.to_owned(),
        r#""outputSchema":{"type":"object","properties":{"y":{"const":1.0E+2}}}"#.to_owned(),
        format!(r#""weight":{n},"title":"Rich""#),
        format!(r#""x-vendor":{n}"#),
        format!(r#""vendor/x":{n}"#),
    ];
    let about = [format!(r#""_meta":{n}"#)];
    let lists: [(&str, &[String]); 4] = [
        ("tools/list", &rich),
        ("resources/list", &about),
        ("resources/templates/list", &about),
        ("prompts/list", &about),
    ];
    for era in ["modern", "legacy"] {
        let env = with(&format!("{era} numbers"), "");
        // The second time its tools are known before it is there.
        for _ in 0..2 {
            let mut session = Session::with_tool(&env, "mcp.s.rich");
            for (method, wanted) in lists {
                let params = json!({"allow_tools": ["mcp.s.rich"]});
                let listed = loop {
                    let id = session.begin(method, params.clone());
                    let answer = format!(r#""id":{id},"#);
                    let listed = loop {
                        let text = session.text();
                        if text.contains(&answer) && !text.contains("\"method\"") {
                            break text;
                        }
                    };
                    // What is read besides tools is not known before it is there.
                    if method == "tools/list" || listed.contains("mcp") && listed.contains("\"n\"")
                    {
                        break listed;
                    }
                };
                serde_json::from_str::<Value>(&listed).unwrap();
                for wanted in wanted {
                    assert!(
                        listed.contains(wanted),
                        "{era} {method}: {wanted} in {listed}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_result_with_odd_meta_is_answered_all_the_same() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.echo");
        let uri = "mcp://s/test://many/odd-meta";
        let read = session.ask("resources/read", json!({"uri": uri}));
        let result = &read["result"];
        assert_eq!(result["contents"][0]["text"], "read test://many/odd-meta");
        assert!(result["_meta"]["tollgate/call_id"].is_string(), "{read:#}");
    }
}

#[test]
fn an_argument_with_a_default_is_not_shown_as_needed() {
    let mut odd = tool("odd");
    odd["inputSchema"] = json!({
        "type": "object", "required": ["many", "few"],
        "properties": {"many": {"type": "integer", "default": 10}, "few": {"type": "integer"}},
    });
    let tools = json!([odd]);
    let web = Web::start(move |got: &Got| modern(got, &tools));
    let env = TestEnv::with_config(&web.section(""));
    let shown = env.run(&["tools", "show", "mcp.s.odd"]).exits(0).out;
    let is_needed = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
        line.contains("yes")
    };
    assert!(is_needed("few") && !is_needed("many"), "{shown}");
}

#[test]
fn a_description_keeps_the_spelling_of_numbers_wherever_it_is_shown() {
    let env = with("modern numbers", "");
    let (input, output) = (r#""maximum":1.50"#, r#""const":1.0E+2"#);
    let n = r#"{"n":[1.50,12345678901234567890123,1e2]}"#;
    let shown = env.run(&["tools", "show", "mcp.s.rich", "--json"]).exits(0);
    assert!(shown.out.contains(input), "{}", shown.out);
    assert!(shown.out.contains(output), "{}", shown.out);
    let shown = env.run(&["tools", "show", "mcp.s.rich"]).exits(0).out;
    assert!(shown.contains("at most 1.5"), "{shown}");
    let listed = env.run(&["tools", "list", "--json"]).exits(0).out;
    for wanted in [input, output, &format!(r#""x-vendor":{n}"#)] {
        assert!(listed.contains(wanted), "{wanted} in {listed}");
    }
    let mut session = Session::with_tool(&env, "mcp.s.rich");
    let name = json!({"name": "mcp.s.rich"});
    let params = json!({"name": "tools.describe", "arguments": name});
    let id = session.begin("tools/call", params);
    let answer = loop {
        let text = session.text();
        if text.contains(&format!(r#""id":{id},"#)) {
            break text;
        }
    };
    assert!(
        answer.contains(input) && answer.contains(output),
        "{answer}"
    );
    // Results are shown to people as they were written, too.
    let odd = env.run(&["call", "mcp.s.odd"]).exits(0).out;
    for wanted in [
        "\"b\": 1.50",
        "\"a\": 12345678901234567890123",
        "\"c\": 1e2",
    ] {
        assert!(odd.contains(wanted), "{odd}");
    }
}
