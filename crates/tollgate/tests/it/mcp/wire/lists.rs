//! Lists: the same every time, by the page, nobody else's.

use serde_json::{Value, json};

use super::peer::{Ask, Gate, Stdio, code, names};
use crate::support::TestEnv;

/// More tools than fit on two pages.
fn crowd() -> String {
    let tools: Vec<String> = (0..250)
        .map(|number| format!("\"crowd.t{number:03}\""))
        .collect();
    format!("[providers.stub]\ntools = [{}]\n", tools.join(", "))
}

/// Every page of the crowd.
pub(super) fn pages(mut ask: impl FnMut(Value) -> Value) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut params = json!({"toolsets": ["stub"]});
        if !cursor.is_null() {
            params["cursor"] = cursor;
        }
        let page = ask(params);
        cursor = page["nextCursor"].clone();
        pages.push(page);
        if cursor.is_null() {
            return pages;
        }
    }
}

#[test]
fn a_long_list_comes_by_the_page_and_nothing_is_lost() {
    let env = TestEnv::with_config(&crowd());
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let here = pages(|params| client.result("tools/list", params));
    let there = pages(|params| gate.result(&Ask::modern("tools/list", params)));
    assert_eq!(here, there);
    let sizes: Vec<usize> = here.iter().map(|page| names(page).len()).collect();
    assert_eq!(sizes, [100, 100, 53]);
    let mut seen: Vec<&str> = here.iter().flat_map(names).collect();
    let crowd = seen.iter().filter(|name| name.starts_with("crowd.t"));
    assert_eq!(crowd.count(), 250);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 253, "no tool is listed twice");
    for page in &here {
        assert_eq!(page["cacheScope"], "private");
        assert_eq!(page["ttlMs"], here[0]["ttlMs"]);
    }
}

#[test]
fn a_cursor_of_no_list_or_of_another_is_refused() {
    let env = TestEnv::with_config(&crowd());
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let first = client.result("tools/list", json!({"toolsets": ["stub"]}));
    let cursor = &first["nextCursor"];
    let altered = format!("{}A", cursor.as_str().unwrap());
    for params in [
        json!({"toolsets": ["all"], "cursor": cursor}),
        json!({"cursor": cursor}),
        json!({"toolsets": ["stub"], "cursor": altered}),
        json!({"toolsets": ["stub"], "cursor": "100"}),
        json!({"toolsets": ["stub"], "cursor": ""}),
        json!({"toolsets": ["stub"], "cursor": 100}),
    ] {
        let refused = client.error("tools/list", params.clone());
        assert_eq!(refused["code"], -32602, "{params}");
        let heard = gate.ask(&Ask::modern("tools/list", params));
        assert_eq!(code(&heard.json()), -32602);
    }
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        let refused = client.error(method, json!({"cursor": cursor}));
        assert_eq!(refused["code"], -32602, "{method}");
    }
}

#[test]
fn lists_are_the_same_every_time_and_nobody_elses() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    for (method, params) in [
        ("tools/list", json!({"toolsets": "all"})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
    ] {
        let first = client.result(method, params.clone());
        let second = client.result(method, params.clone());
        let there = gate.result(&Ask::modern(method, params));
        assert_eq!(first.to_string(), second.to_string(), "{method}");
        assert_eq!(first["cacheScope"], "private", "{method}");
        assert!(first["ttlMs"].as_u64().unwrap() > 0);
        assert_eq!(there["cacheScope"], "private");
        assert_eq!(there["ttlMs"], first["ttlMs"]);
    }
    let read = client.result("resources/read", json!({"uri": "tollgate://toolsets"}));
    assert_eq!(read["cacheScope"], "private");
    assert!(read["ttlMs"].is_u64());
    let live = client.result(
        "resources/read",
        json!({"uri": "tollgate://session/ledger"}),
    );
    assert_eq!(live["ttlMs"], 0, "it changes with every call");
}

#[test]
fn schemas_keep_the_order_of_their_properties() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("tools/list", json!({"toolsets": "all"}));
    let properties = |tool: &str| -> Vec<String> {
        let tools = listed["tools"].as_array().unwrap();
        let tool = tools.iter().find(|it| it["name"] == tool).unwrap();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    };
    assert_eq!(
        properties("result.slice"),
        ["result", "pointer", "offset", "length", "line", "lines"]
    );
    assert_eq!(properties("tools.call")[0], "name");
}

#[test]
fn every_listed_tool_is_whole() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("tools/list", json!({"toolsets": "all"}));
    for tool in listed["tools"].as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        let name = tool["name"].as_str().unwrap();
        // A client takes no schema but that of an object.
        let schema = tool.get("outputSchema");
        assert!(schema.is_none_or(|it| it["type"] == "object"), "{tool}");
        assert_eq!(
            schema.is_none(),
            ["tools.call", "run_task_template"].contains(&name),
            "{name}"
        );
        let is_envelope = tool["outputSchema"]["required"] == json!(["ok", "status"]);
        assert_eq!(is_envelope, name.starts_with("keepa."), "{tool}");
        assert!(tool["title"].is_string() && tool["description"].is_string());
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(tool["annotations"][hint].is_boolean(), "{tool}");
        }
        assert!(name.len() <= 64);
        assert_eq!(tool["_meta"]["tollgate/name"], name);
        assert_eq!(tool["_meta"]["tollgate/active"], true);
    }
}

/// Tokens are counted by hand (docs/benchmarks.md); these are the bytes that went with the count.
#[test]
fn the_list_of_the_browsers_tools_stays_as_short_as_it_is() {
    let env = TestEnv::new();
    for (schemas, most) in [("full", 26_600), ("brief", 17_300)] {
        let mut client = Stdio::modern(&env, &["--toolsets", "browser", "--schemas", schemas]);
        let list = client.result("tools/list", json!({}));
        let listed = names(&list)
            .iter()
            .filter(|it| it.starts_with("browser."))
            .count();
        assert_eq!(listed, 32, "{list}");
        let size = list["tools"].to_string().len();
        assert!(size <= most, "{schemas}: {size} bytes");
    }
}
