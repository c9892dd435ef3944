//! How names are spelled: for each client as it can take them, everywhere the same.

use serde_json::{Value, json};

use super::peer::{Ask, CLIENT_KEY, Gate, Stdio, meta, names};
use crate::support::TestEnv;

const STUBS: &str = "[providers.stub]\ntools = [\"notes.add\", \"notes.list\"]\n\
                     writes = [\"notes.add\"]\n";

/// What a client of this name says of itself.
fn called(name: &str) -> Value {
    let mut meta = meta();
    meta[CLIENT_KEY] = json!({"name": name, "version": "1"});
    meta
}

fn client(env: &TestEnv, name: &str) -> Stdio {
    let mut client = Stdio::modern(env, &[]);
    client.meta = Some(called(name));
    client
}

/// The text of a result.
fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn strangers_get_names_without_dots() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for (name, dots) in [
        ("mcp", true),
        ("mcp-inspector", true),
        ("Visual Studio Code", true),
        ("claude-code", false),
        ("claude-ai", false),
        ("somebody", false),
    ] {
        let expected = if dots { "tools.search" } else { "tools_search" };
        let listed = client(&env, name).result("tools/list", json!({}));
        assert!(names(&listed).contains(&expected), "{name}: {listed}");
        let ask = Ask::saying(&called(name), "tools/list", json!({}));
        assert_eq!(names(&gate.result(&ask)), names(&listed));
        for tool in listed["tools"].as_array().unwrap() {
            let canonical = tool["_meta"]["tollgate/name"].as_str().unwrap();
            let is_bare =
                canonical.ends_with("_task_template") || canonical.ends_with("_task_templates");
            assert!(canonical.contains('.') || is_bare, "{canonical}");
        }
    }
    let mut nameless = meta();
    nameless.as_object_mut().unwrap().remove(CLIENT_KEY);
    let ask = Ask::saying(&nameless, "tools/list", json!({}));
    assert!(names(&gate.result(&ask)).contains(&"tools_search"));
}

#[test]
fn an_older_client_is_known_by_its_handshake() {
    let env = TestEnv::new();
    let mut old = Stdio::silent(&env, &[]);
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "1"}});
    let said = old.result("initialize", params);
    let instructions = said["instructions"].as_str().unwrap();
    assert!(instructions.contains("`tools_search`"), "{instructions}");
    let listed = old.result("tools/list", json!({}));
    assert!(names(&listed).contains(&"tools_search"));
}

#[test]
fn the_operator_decides_over_the_client() {
    for (names_key, client_name, expected) in [
        ("safe", "mcp", "tools_search"),
        ("canonical", "claude-code", "tools.search"),
    ] {
        let env = TestEnv::with_config(&format!("[discovery]\nnames = \"{names_key}\"\n"));
        let listed = client(&env, client_name).result("tools/list", json!({}));
        assert!(names(&listed).contains(&expected));
    }
}

#[test]
fn calls_take_every_spelling() {
    let env = TestEnv::with_config(STUBS);
    let gate = Gate::open(&env);
    for name in ["mcp", "claude-code"] {
        let mut client = client(&env, name);
        let expected = if name == "mcp" {
            "notes.list"
        } else {
            "notes_list"
        };
        for spelled in ["notes.list", "notes_list"] {
            let done = client.call(spelled, json!({}));
            assert_eq!(done["_meta"]["tollgate/result"]["tool"], expected);
            let params = json!({"name": spelled});
            let done = gate.result(&Ask::saying(&called(name), "tools/call", params));
            assert_eq!(done["_meta"]["tollgate/result"]["tool"], expected);
            let done = client.call("tools.call", json!({"name": spelled}));
            assert_eq!(done["_meta"]["tollgate/result"]["tool"], expected);
        }
    }
}

#[test]
fn names_inside_results_are_spelled_like_the_list() {
    let env = TestEnv::with_config(STUBS);
    for (name, list, describe, add) in [
        ("mcp", "notes.list", "tools.describe", "notes.add"),
        ("claude-code", "notes_list", "tools_describe", "notes_add"),
    ] {
        let mut client = client(&env, name);
        let found = client.call("tools.search", json!({"query": "notes list"}));
        let hits = text(&found);
        assert!(hits.contains(&format!("\"{list}\"")), "{hits}");

        let shown = client.call("tools.describe", json!({"name": "notes.list"}));
        let shown = text(&shown);
        assert!(shown.contains(&format!("\"{list}\"")), "{shown}");

        let wrong = client.call("tools.describe", json!({"name": "notes.lists"}));
        let failure = &wrong["_meta"]["tollgate/result"]["error"];
        let expected = json!([describe.replace("describe", "search")]);
        assert_eq!(failure["next_steps"], expected);
        let near = failure["details"]["nearest"].as_array().unwrap();
        assert!(near.contains(&json!(list)), "{failure}");

        let refused = client.call("notes.add", json!({"text": "x"}));
        let details = &refused["_meta"]["tollgate/result"]["error"]["details"];
        assert_eq!(details["resume_with"]["tool"], add);

        let index = client.result("resources/read", json!({"uri": "tollgate://tools"}));
        let index = index["contents"][0]["text"].as_str().unwrap();
        assert!(index.contains(&format!("\"{list}\"")), "{index}");
        let prompt = json!({"name": "start_task", "arguments": {"task": "rest"}});
        let prompt = client.result("prompts/get", prompt);
        assert!(prompt["messages"].to_string().contains(describe));
    }
}

#[test]
fn an_unknown_tool_is_answered_with_names_as_they_are_listed() {
    let env = TestEnv::with_config(STUBS);
    for (name, near, search) in [
        ("mcp", "notes.list", "`tools.search`"),
        ("claude-code", "notes_list", "`tools_search`"),
    ] {
        let mut client = client(&env, name);
        let params = json!({"name": "notes.lists", "arguments": {}});
        let refused = client.error("tools/call", params);
        assert_eq!(refused["code"], -32602);
        let failure = &refused["data"]["tollgate/error"];
        assert_eq!(failure["details"]["nearest"][0], near);
        let said = failure["recovery_suggestion"].as_str().unwrap();
        assert!(said.contains(search), "{said}");
    }
}

#[test]
fn sentences_name_tools_as_they_are_listed() {
    let env = TestEnv::with_config(STUBS);
    for (name, stats, describe) in [
        ("mcp", "`text.stats`", "`tools.describe`"),
        ("claude-code", "`text_stats`", "`tools_describe`"),
    ] {
        let wrong = client(&env, name).call("text.stats", json!({"texts": 1}));
        let failure = &wrong["_meta"]["tollgate/result"]["error"];
        assert_eq!(failure["kind"], "invalid_arguments");
        let said = failure["message"].as_str().unwrap();
        assert!(said.contains(stats), "{said}");
        let said = failure["recovery_suggestion"].as_str().unwrap();
        assert!(said.contains(describe), "{said}");
    }
}

#[test]
fn a_name_that_is_too_long_is_shortened_for_every_client() {
    let long = format!("notes.{}", "long_".repeat(20));
    let stub = format!("[providers.stub]\ntools = [\"{long}\"]\n");
    for (setting, name, start) in [
        ("auto", "mcp", "notes.long_"),
        ("auto", "claude-code", "notes_long_"),
        ("canonical", "claude-code", "notes.long_"),
    ] {
        let config = format!("{stub}[discovery]\nnames = \"{setting}\"\n");
        let env = TestEnv::with_config(&config);
        let mut client = client(&env, name);
        let listed = client.result("tools/list", json!({"toolset": "stub"}));
        let tools = listed["tools"].as_array().unwrap();
        let is_long = |tool: &&Value| tool["_meta"]["tollgate/name"] == long;
        let spelled = tools.iter().find(is_long).unwrap()["name"].clone();
        let spelled = spelled.as_str().unwrap();
        assert_eq!(spelled.len(), 64, "{spelled}");
        assert!(spelled.starts_with(start), "{spelled}");
        for known in [spelled, &long, &spelled.replace('.', "_")] {
            let done = client.call(known, json!({}));
            assert_eq!(done["_meta"]["tollgate/result"]["tool"], spelled, "{known}");
        }
        let found = client.call("tools.search", json!({"query": "notes long"}));
        let found: Value = serde_json::from_str(&text(&found)).unwrap();
        let hit = &found["tools"][0];
        assert_eq!(hit["name"], spelled);
        let said = hit["summary"].as_str().unwrap();
        assert!(said.contains(&format!("`{spelled}`")), "{said}");
        let others = json!({"toolset": "stub", "exclude_tools": [spelled]});
        let others = client.result("tools/list", others);
        assert!(!names(&others).contains(&spelled));
        assert_eq!(env.ok(&long, "{}")["tool"], long, "people read all of it");
    }
}

/// The 28 tools of the browser that the design document names, by those names; ours beside them
/// stay as they are. No browser is needed to list them.
#[test]
fn tools_of_the_browser_are_listed_by_the_names_of_the_document_if_that_is_wanted() {
    let env = TestEnv::with_config("[browser]\nnames = \"document\"\n");
    for (name, ours) in [
        ("mcp", "browser.fill_form"),
        ("claude-code", "browser_fill_form"),
    ] {
        let mut client = client(&env, name);
        let listed = client.result("tools/list", json!({"toolset": "browser"}));
        let all = names(&listed);
        for known in [
            "navigate",
            "click",
            "get_page_info",
            "wait_for_stable",
            "upload_file",
        ] {
            assert!(all.contains(&known), "{name}: {all:?}");
        }
        // Beside them stand our own tools of the browser, and those of every list.
        let other = |it: &&&str| it.starts_with("browser") || it.starts_with("tools");
        let others = all.iter().filter(other).count();
        assert_eq!(others, all.len() - 28, "{name}: {all:?}");
        assert!(all.contains(&ours), "{name}: {all:?}");
        let tools = listed["tools"].as_array().unwrap();
        let named = |wanted: &str| tools.iter().find(|it| it["name"] == wanted).unwrap();
        let canonical = &named("navigate")["_meta"]["tollgate/name"];
        assert_eq!(canonical, "browser.navigate");
        let said = named("type_text")["description"].as_str().unwrap();
        assert!(
            said.contains("set_value") && !said.contains("browser"),
            "{said}"
        );
    }
    // Without the setting they have their canonical ids.
    let env = TestEnv::new();
    let mut plain = client(&env, "mcp");
    let listed = plain.result("tools/list", json!({"toolset": "browser"}));
    assert!(names(&listed).contains(&"browser.navigate"), "{listed}");
}
