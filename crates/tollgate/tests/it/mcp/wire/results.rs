//! What a call answers: the tool's own object, as structured content and as text.

use serde_json::{Value, json};

use super::peer::{Ask, CLIENT_KEY, Gate, Stdio, request, result, with_meta};
use crate::support::TestEnv;

const STUBS: &str = "[providers.stub]\ntools = [\"echo.back\"]\n";

/// The text of a result, as JSON.
#[track_caller]
fn text_of(result: &Value) -> Value {
    assert_eq!(result["content"][0]["type"], "text");
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn a_result_is_the_tools_own_object_as_text_and_structured() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut old = Stdio::legacy(&env, json!({}));
    let mut new = Stdio::modern(&env, &[]);
    let arguments = json!({"text": "hello"});
    let by_name = json!({"name": "text.stats", "arguments": arguments});
    for done in [
        old.call("text.stats", arguments.clone()),
        new.call("text.stats", arguments.clone()),
        new.call("tools.call", by_name),
        gate.call("text.stats", arguments.clone()),
    ] {
        assert_eq!(done["isError"], false);
        assert_eq!(done["structuredContent"]["characters"], 5, "{done:#}");
        assert_eq!(text_of(&done), done["structuredContent"]);
        let text = done["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, text_of(&done).to_string(), "compact");
        assert_eq!(done["content"].as_array().unwrap().len(), 1, "no more");
    }
}

#[test]
fn an_error_is_text_that_every_client_reads() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut old = Stdio::legacy(&env, json!({}));
    let mut new = Stdio::modern(&env, &[]);
    for failed in [
        old.call("text.stats", json!({})),
        new.call("text.stats", json!({})),
        new.call("tools.call", json!({"name": "text.stats"})),
        gate.call("text.stats", json!({})),
    ] {
        assert_eq!(failed["isError"], true);
        assert_eq!(failed["content"].as_array().unwrap().len(), 1);
        assert!(failed.get("structuredContent").is_none(), "{failed:#}");
        let error = text_of(&failed);
        assert_eq!(error["kind"], "invalid_arguments", "{error:#}");
        assert!(error["code"].as_str().unwrap().starts_with("tool."));
        let nulls = error
            .as_object()
            .unwrap()
            .values()
            .filter(|it| it.is_null());
        assert_eq!(nulls.count(), 0, "{error:#}");
        let recorded = &failed["_meta"]["tollgate/result"]["error"];
        assert_eq!(recorded["message"], error["message"]);
    }
}

#[test]
fn a_refusal_says_how_to_go_on_in_its_text() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"notes.add\"]\nwrites = [\"notes.add\"]\n",
    );
    let refused = Stdio::modern(&env, &[]).call("notes.add", json!({"text": "x"}));
    assert_eq!(refused["isError"], true);
    let error = text_of(&refused);
    assert_eq!(error["kind"], "confirmation_required");
    assert!(error["details"]["approval_id"].is_string(), "{error:#}");
    assert_eq!(error["details"]["resume_with"]["tool"], "notes.add");
    assert!(error["recovery_suggestion"].is_string());
}

#[test]
fn the_rest_of_the_envelope_stands_beside_the_result() {
    let env = TestEnv::new();
    let done = Stdio::modern(&env, &[]).call("text.stats", json!({"text": "hello"}));
    let report = &done["_meta"]["tollgate/result"];
    assert_eq!(report["ok"], true);
    assert_eq!(report["status"], "ok");
    assert_eq!(report["tool"], "text.stats");
    assert_eq!(report["warnings"], json!([]));
    assert!(report.get("data").is_none() && report.get("error").is_none());
    assert_eq!(report["cache_hit"], false);
    let key = report["cache_key"].as_str().unwrap();
    assert!(
        key.starts_with("text.stats:") && key.len() == 11 + 24,
        "{key}"
    );
    assert_eq!(report["budget_ledger"]["session_consumed"], 0);
    let meta = &report["meta"];
    assert_eq!(meta["provider"], "builtin");
    assert_eq!(meta["capability"], "L0");
    for name in [
        "call_id",
        "trace_id",
        "input_fingerprint",
        "output_fingerprint",
    ] {
        assert!(meta[name].is_string(), "{name}: {meta}");
    }
}

#[test]
fn the_operator_has_the_envelope_sent_for_every_tool() {
    let env = TestEnv::with_config("[results]\nform = \"envelope\"\n");
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result(
        "tools/list",
        json!({"toolset": "all", "allow_tools": ["text.stats"]}),
    );
    let schema = &listed["tools"][0]["outputSchema"];
    assert_eq!(schema["required"], json!(["ok", "status"]), "{listed:#}");
    for (arguments, ok) in [(json!({"text": "hello"}), true), (json!({}), false)] {
        let done = client.call("text.stats", arguments);
        let envelope = &done["structuredContent"];
        assert_eq!(envelope["ok"], ok, "{done:#}");
        assert_eq!(envelope["tool"], "text.stats");
        let text = text_of(&done);
        if ok {
            assert_eq!(text["data"], envelope["data"]);
            assert_eq!(envelope["data"]["characters"], 5);
        } else {
            assert_eq!(text["kind"], envelope["error"]["kind"]);
        }
    }
    let shown = client.call("tools.describe", json!({"name": "text.stats"}));
    let shown = &shown["structuredContent"]["data"];
    assert_eq!(shown["result_form"], "envelope");
    assert_eq!(
        shown["output_schema"]["properties"]["ok"]["type"],
        "boolean"
    );
}

/// What the text, the structured content and `tools.describe` are for one kind of client.
#[test]
fn a_client_that_drops_the_text_is_sent_nothing_but_content() {
    let env = TestEnv::with_config(STUBS);
    let params = |client: &str| {
        json!({"name": "text_stats", "arguments": {"text": "hello"},
            "_meta": {CLIENT_KEY: {"name": client, "version": "2.1.280"}}})
    };
    let mut client = Stdio::modern(&env, &[]);
    for (name, is_text_only) in [
        ("claude-code", true),
        ("codex-mcp-client", true),
        ("mcp", false),
    ] {
        let done = client.result("tools/call", params(name));
        assert_eq!(
            done.get("structuredContent").is_none(),
            is_text_only,
            "{name}"
        );
        assert_eq!(text_of(&done)["characters"], 5, "{name}");
        assert_eq!(done["_meta"]["tollgate/result"]["status"], "ok");
        let list = json!({"toolset": "all", "allow_tools": ["text.stats", "keepa.products_get"],
            "_meta": {CLIENT_KEY: {"name": name, "version": "2.1.280"}}});
        let listed = client.result("tools/list", list);
        let tools = listed["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 2, "{listed:#}");
        for tool in tools {
            assert_eq!(tool.get("outputSchema").is_none(), is_text_only, "{name}");
        }
        let describe = json!({"name": "tools_describe", "arguments": {"name": "text.stats"},
            "_meta": {CLIENT_KEY: {"name": name, "version": "2.1.280"}}});
        let shown = text_of(&client.result("tools/call", describe));
        assert_eq!(shown["content_only"], is_text_only, "{name}");
        assert_eq!(shown["result_form"], "native");
        assert!(shown["output_schema"]["properties"]["characters"].is_object());
    }
    env.configure("[results.clients]\n\"claude-*\" = \"both\"\n");
    let mut client = Stdio::modern(&env, &[]);
    let done = client.result("tools/call", params("claude-code"));
    assert_eq!(
        done["structuredContent"]["characters"], 5,
        "the operator knows better"
    );
}

#[test]
fn commands_of_a_service_answer_in_the_envelope() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let tool = "keepa.categories_search";
    let listed = client.result(
        "tools/list",
        json!({"toolset": "all", "allow_tools": [tool]}),
    );
    let schema = &listed["tools"][0]["outputSchema"];
    assert_eq!(schema["required"], json!(["ok", "status"]));
    let arguments = json!({"term": "kettles", "fixture": "category_search.json"});
    let done = client.call(tool, arguments);
    let command = "categories.search";
    assert_eq!(done["structuredContent"]["command"], command, "{done:#}");
    assert_eq!(text_of(&done)["command"], command);
    let shown = client.call("tools.describe", json!({"name": tool}));
    assert_eq!(shown["structuredContent"]["result_form"], "envelope");
    let failed = client.call(tool, json!({"term": 5}));
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["structuredContent"]["ok"], false);
    assert_eq!(text_of(&failed)["kind"], "invalid_arguments");
}

/// Blocked actions grow with a session; the text of an answer has those of its call only.
#[test]
fn earlier_refusals_take_no_room_in_the_text_of_an_answer() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"notes.add\"]\nwrites = [\"notes.add\"]\n",
    );
    let mut client = Stdio::modern(&env, &[]);
    for number in 0..60 {
        client.call("notes.add", json!({"text": format!("{number}")}));
    }
    let after = client.call("keepa.docs_index", json!({}));
    let ledger = &after["structuredContent"]["budget_ledger"];
    assert_eq!(ledger["blocked_actions"].as_array().unwrap().len(), 60);
    let said = text_of(&after);
    let whole = &after["structuredContent"]["data"];
    assert_eq!(said["data"], *whole, "it is not cut");
    assert_eq!(
        said["budget_ledger"]["blocked_actions"],
        json!(["… 60 more items"])
    );
    let refused = client.call("notes.add", json!({"text": "7"}));
    let ledger = &refused["_meta"]["tollgate/result"]["budget_ledger"];
    assert_eq!(ledger["blocked_actions"].as_array().unwrap().len(), 60);
}

#[test]
fn commands_of_a_service_say_which_transport_a_call_came_by_and_whether_it_was_kept() {
    let env = TestEnv::new();
    let (tool, arguments) = (
        "keepa.products_get",
        json!({"asin": "B0KETTLE01", "fixture": "product_kettle.json"}),
    );
    let mut client = Stdio::modern(&env, &[]);
    let gate = Gate::open(&env);
    for is_kept in [false, true] {
        for (done, transport) in [
            (client.call(tool, arguments.clone()), "stdio"),
            (gate.call(tool, arguments.clone()), "http"),
        ] {
            let mcp = &done["structuredContent"]["data"]["provenance"]["mcp"];
            assert_eq!(mcp["transport"], transport, "{done:#}");
            assert_eq!(mcp["cache_hit"], is_kept, "{transport}: {done:#}");
        }
    }
}

#[test]
fn the_call_by_name_promises_nothing_of_what_it_returns() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("tools/list", json!({"allow_tools": ["tools.call"]}));
    let tool = &listed["tools"][0];
    assert_eq!(tool["_meta"]["tollgate/name"], "tools.call");
    assert!(tool.get("outputSchema").is_none(), "{tool:#}");
    let hints = &tool["annotations"];
    let said = [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    ]
    .map(|name| hints[name].as_bool().unwrap());
    assert_eq!(said, [false, true, false, true], "{hints}");
}

#[test]
fn rules_that_forbid_what_destroys_do_not_hide_the_call_by_name() {
    let env = TestEnv::new();
    env.write(
        "config/tollgate/policies/gentle.cedar",
        "@id(\"gentle\") forbid (principal, action, resource) when { resource.destructive };\n",
    );
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("tools/list", json!({"allow_tools": ["tools.call"]}));
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1, "{listed:#}");
    let by_name = json!({"name": "text.stats", "arguments": {"text": "hello"}});
    let done = client.call("tools.call", by_name);
    assert_eq!(done["structuredContent"]["characters"], 5, "{done:#}");
}

/// What a model reads of an answer is the answer: nothing of ours beyond 200 bytes.
#[test]
fn what_is_added_to_an_answer_is_at_most_200_bytes() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let begin = "hello, write to ann@example.org";
    for (tool, arguments) in [
        ("text.stats", json!({"text": "hello"})),
        ("text.find", json!({"text": begin, "pattern": "write"})),
        ("text.lines", json!({"text": begin})),
        ("tools.search", json!({"query": "count words"})),
        ("session.info", json!({})),
        ("list_task_templates", json!({})),
        ("list_task_runs", json!({})),
        ("audit.list", json!({"limit": 2})),
    ] {
        let done = client.call(tool, arguments);
        assert_eq!(done["isError"], false, "{tool}: {done:#}");
        let own = done["structuredContent"].to_string();
        let read: usize = done["content"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|block| block["text"].as_str())
            .map(str::len)
            .sum();
        assert!(read <= own.len() + 200, "{tool}: {read} of {}", own.len());
    }
}

#[test]
fn numbers_and_the_order_of_keys_survive() {
    let env = TestEnv::with_config(STUBS);
    let arguments = r#"{"zebra":9007199254740993,"apple":-9223372036854775808,"mango":18446744073709551615,"half":0.1,"deep":{"b":1,"a":[3,2,1]}}"#;
    let params = with_meta(json!({"name": "echo.back"}), &super::peer::meta());
    let line = request(1, "tools/call", &params).to_string();
    let line = line.replace(
        r#""name":"echo.back""#,
        &format!(r#""name":"echo.back","arguments":{arguments}"#),
    );
    assert!(line.contains(arguments));
    let mut client = Stdio::modern(&env, &[]);
    client.line(&line);
    let here = client.next_line().unwrap();
    assert!(here.contains(arguments), "structured: {here}");
    let answer: Value = serde_json::from_str(&here).unwrap();
    let text = result(&answer)["content"][0]["text"].clone();
    assert!(text.as_str().unwrap().contains(arguments), "text: {text}");

    let gate = Gate::open(&env);
    let ask = Ask::post(line)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "echo.back");
    assert!(gate.ask(&ask).has(200).body.contains(arguments));
}

#[test]
fn what_a_tool_does_wrong_is_a_result_and_what_is_no_tool_is_an_error() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    for (tool, arguments, kind) in [
        ("text.stats", json!({"text": 5}), "invalid_arguments"),
        (
            "text.find",
            json!({"text": "a", "pattern": "(", "regex": true}),
            "input_rejected",
        ),
        ("result.slice", json!({"result": "none"}), "not_found"),
    ] {
        let here = client.call(tool, arguments.clone());
        assert_eq!(here["isError"], true);
        let failure = text_of(&here);
        assert_eq!(failure["kind"], kind, "{failure}");
        assert!(failure["code"].as_str().unwrap().starts_with("tool."));
        let there = gate.call(tool, arguments);
        assert_eq!(text_of(&there)["kind"], kind);
    }
    for params in [
        json!({"name": "moon.walk"}),
        json!({"name": ""}),
        json!({"name": 5}),
        json!({}),
    ] {
        let refused = client.error("tools/call", params.clone());
        assert_eq!(refused["code"], -32602, "{params}");
    }
    let unknown = client.error("tools/call", json!({"name": "text.stat"}));
    assert!(unknown.to_string().contains("text.stats"), "{unknown}");
}

#[test]
fn a_dry_run_says_what_would_happen_and_does_nothing() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"notes.add\"]\nwrites = [\"notes.add\"]\n",
    );
    let mut client = Stdio::modern(&env, &[]);
    let params = json!({"name": "notes.add", "arguments": {"text": "x"},
        "_meta": {"tollgate/call": {"dry_run": true}}});
    let dry = client.result("tools/call", params);
    assert_eq!(dry["isError"], false);
    assert_eq!(dry["structuredContent"]["verdict"], "needs_human");
    let odd = json!({"name": "notes.add", "_meta": {"tollgate/call": {"dry_run": 7}}});
    assert_eq!(client.error("tools/call", odd)["code"], -32602);
    assert!(env.recorded().iter().all(|row| row["kind"] != "intent"));
}

#[test]
fn a_dry_run_of_a_tool_with_a_listed_schema_is_text_that_no_client_validates() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let params = json!({"name": "text.stats", "arguments": {"text": "x"},
        "_meta": {"tollgate/call": {"dry_run": true}}});
    let dry = client.result("tools/call", params);
    assert_eq!(text_of(&dry)["verdict"], "allow");
    assert!(dry.get("structuredContent").is_none(), "{dry:#}");
    assert_eq!(
        dry["isError"], true,
        "there is nothing of what was promised"
    );
    assert_eq!(dry["_meta"]["tollgate/result"]["status"], "ok");
}

#[test]
fn content_of_other_servers_stays_as_it_is() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &["--conformance-fixtures"]);
    let done = client.call("test_multiple_content_types", json!({}));
    let kinds: Vec<&str> = done["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "image", "resource"]);
    assert!(done.get("structuredContent").is_none(), "{done}");
    let about = &done["_meta"]["tollgate/result"];
    assert_eq!(about["tool"], "test_multiple_content_types");
    assert_eq!(about["status"], "ok");
    assert!(about["meta"]["call_id"].is_string() && about.get("data").is_none());
    let failed = client.call("test_error_handling", json!({}));
    assert_eq!(failed["isError"], true);
}
