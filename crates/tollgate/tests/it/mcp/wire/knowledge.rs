//! Guided sessions as a client finds them: resources, the prompt, the page with buttons.

use std::path::Path;

use serde_json::{Value, json};

use super::peer::{CAPABILITIES_KEY, Stdio, names, until};
use crate::support::TestEnv;

const PAGE: &str = "ui://tollgate/knowledge";

fn env() -> TestEnv {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge");
    let folder = folder.canonicalize().unwrap();
    TestEnv::with_config(&format!(
        "[knowledge]\npaths = [\"{0}/home-network\", \"{0}/technology-investment\"]\n",
        folder.display()
    ))
}

/// A client that shows pages.
fn with_pages(env: &TestEnv) -> Stdio {
    let mut client = Stdio::modern(env, &[]);
    let kinds = json!({"mimeTypes": ["text/html;profile=mcp-app"]});
    let extensions = json!({"extensions": {"io.modelcontextprotocol/ui": kinds}});
    if let Some(meta) = &mut client.meta {
        meta[CAPABILITIES_KEY] = extensions;
    }
    client
}

fn uris(listed: &Value) -> Vec<&str> {
    let resources = listed["resources"].as_array().unwrap();
    resources
        .iter()
        .map(|one| one["uri"].as_str().unwrap())
        .collect()
}

/// What a resource says, as text.
fn read(client: &mut Stdio, uri: &str) -> String {
    let read = client.result("resources/read", json!({"uri": uri}));
    assert_eq!(read["contents"][0]["uri"], uri);
    read["contents"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn every_base_node_and_graph_can_be_read() {
    let env = env();
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("resources/list", json!({}));
    for uri in [
        "knowledge://bases",
        "knowledge://home-network",
        "knowledge://technology-investment/graph.svg",
    ] {
        assert!(uris(&listed).contains(&uri), "{uri}: {listed}");
    }
    let bases: Value = serde_json::from_str(&read(&mut client, "knowledge://bases")).unwrap();
    assert_eq!(
        bases["knowledge_bases"][1]["languages"],
        json!(["zh", "en"])
    );
    let base: Value = serde_json::from_str(&read(&mut client, "knowledge://home-network")).unwrap();
    assert_eq!(
        (&base["root"], &base["slots"]["paid"]),
        (&json!("root"), &json!("number"))
    );
    let node = read(&mut client, "knowledge://home-network/nodes/wired");
    let node: Value = serde_json::from_str(&node).unwrap();
    assert_eq!(
        node["next_node"][0],
        json!({"next_node": "recheck", "when": "wired > paid * 1.5"})
    );
    let svg = read(&mut client, "knowledge://technology-investment/graph.svg");
    assert!(
        svg.starts_with("<svg ") && svg.contains("科技行业投资指南"),
        "{svg}"
    );
    assert!(read(&mut client, "knowledge://home-network/graph.mmd").starts_with("flowchart LR\n"));
    assert!(read(&mut client, "knowledge://home-network/graph.dot").starts_with("digraph"));
    for uri in [
        "knowledge://none",
        "knowledge://home-network/nodes/none",
        "knowledge://home-network/graph.gif",
        "knowledge://%zz",
    ] {
        let error = client.error("resources/read", json!({"uri": uri}));
        assert!(
            error["message"].as_str().unwrap().contains("nothing at"),
            "{uri}: {error}"
        );
    }
    let completed = client.result(
        "completion/complete",
        json!({
            "ref": {"type": "ref/resource", "uri": "knowledge://{base}/nodes/{node}"},
            "argument": {"name": "node", "value": "wifi_"},
            "context": {"arguments": {"base": "home-network"}},
        }),
    );
    assert_eq!(completed["completion"]["total"], 8, "{completed}");
}

#[test]
fn the_prompt_says_the_whole_loop() {
    let env = env();
    let mut client = Stdio::modern(&env, &[]);
    let prompt = client.result(
        "prompts/get",
        json!({"name": "guided_session", "arguments": {"question": "Why is it slow?"}}),
    );
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    for said in [
        "Why is it slow?",
        "`initiate_session`",
        "`navigate_session`",
        "`provide_more_info`",
        "`is_complete`",
        "numbered list",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let error = client.error("prompts/get", json!({"name": "guided_session"}));
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("needs the argument `question`"),
        "{error}"
    );
}

#[test]
fn a_client_that_shows_pages_gets_one_and_for_others_nothing_changes() {
    let env = env();
    let mut plain = Stdio::modern(&env, &[]);
    let (tools, resources) = (
        plain.result("tools/list", json!({})),
        plain.result("resources/list", json!({})),
    );
    assert!(names(&tools).contains(&"initiate_session"), "{tools}");
    assert!(
        !tools.to_string().contains(PAGE) && !uris(&resources).contains(&PAGE),
        "{tools}"
    );
    let mut client = with_pages(&env);
    let shown = client.result("tools/list", json!({}));
    let page_of = |name: &str| -> Value {
        let tools = shown["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["_meta"]["ui"]["resourceUri"].clone()
    };
    assert_eq!(
        (page_of("initiate_session"), page_of("navigate_session")),
        (json!(PAGE), json!(PAGE))
    );
    assert_eq!(page_of("tools.search"), Value::Null);
    let listed = client.result("resources/list", json!({}));
    assert!(uris(&listed).contains(&PAGE), "{listed}");
    let read = client.result("resources/read", json!({"uri": PAGE}));
    let page = &read["contents"][0];
    assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
    let text = page["text"].as_str().unwrap();
    let written = include_str!("../../../../../tollgate-providers/src/knowledge/page.html");
    assert_eq!(text, written, "the page comes through the door unchanged");
    // It runs without anything from elsewhere, in the strictest sandbox a host may put it in.
    for foreign in [
        "http://",
        "https://",
        "src=",
        "eval(",
        "innerHTML",
        "localStorage",
    ] {
        assert!(!text.contains(foreign), "{foreign}");
    }
}

#[test]
fn a_base_that_is_called_otherwise_is_listed_so() {
    let env = TestEnv::new();
    let path = env.write(
        "project/tea.json",
        r#"{"nodes": {"root": {"response": "Tea?"}}}"#,
    );
    env.configure(&format!("[knowledge]\npaths = [\"{path}\"]\n"));
    let mut client = Stdio::modern(&env, &[]);
    let listed = client.result("resources/list", json!({}));
    assert!(uris(&listed).contains(&"knowledge://tea"), "{listed}");
    env.write(
        "project/tea.json",
        r#"{"id": "coffee", "nodes": {"root": {"response": "Coffee?"}}}"#,
    );
    let begun = client.call("initiate_session", json!({"user_query": "hello"}));
    let data = &begun["structuredContent"];
    assert_eq!(
        (&data["knowledge_base"], &data["response"]),
        (&json!("coffee"), &json!("Coffee?"))
    );
    let listed = client.result("resources/list", json!({}));
    assert!(!uris(&listed).contains(&"knowledge://tea"), "{listed}");
    assert!(uris(&listed).contains(&"knowledge://coffee"), "{listed}");
}

#[test]
fn a_large_base_comes_onto_the_list_by_itself() {
    let env = TestEnv::new();
    let leaves = "leaf ".repeat(300_000);
    let large = format!(r#"{{"nodes": {{"root": {{"response": "{leaves}"}}}}}}"#);
    assert!(large.len() > 1 << 20);
    let path = env.write("project/large.json", large);
    env.configure(&format!("[knowledge]\npaths = [\"{path}\"]\n"));
    let mut client = Stdio::modern(&env, &[]);
    // The tools are there from the start; the base itself when it has been read, unasked.
    let tools = client.result("tools/list", json!({}));
    assert!(names(&tools).contains(&"initiate_session"), "{tools}");
    until(|| {
        let listed = client.result("resources/list", json!({}));
        uris(&listed).contains(&"knowledge://large")
    });
}
