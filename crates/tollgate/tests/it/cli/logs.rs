//! The log of JSON lines, as the program writes it: what it tells, and what never reaches it.

use serde_json::{Value, json};

use crate::{support::TestEnv, upstream::section};

const LOG: &str = "[log]\nfile = \"gate.log\"\n";
/// What nobody may read, and an address that carries it.
const SECRET: &str = "abcdef0123456789";
const ADDRESS: &str = "https://x.example/cb?page=2&token=abcdef0123456789";
const MASKED: &str = "https://x.example/cb?page=2&token=***";

/// The log as text, every line of which is JSON.
#[track_caller]
fn log(env: &TestEnv) -> (String, Vec<Value>) {
    let text = std::fs::read_to_string(env.path("config/tollgate/gate.log")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines = lines.collect();
    (text, lines)
}

#[test]
fn an_address_keeps_its_secret_out_of_the_log() {
    let says = format!("plain_env = {{ SAYS = \"{ADDRESS}\" }}");
    let env = TestEnv::with_config(&[LOG, &section("dies", "exits last", &says)].concat());
    // In an argument, in an answer, in the name of a tool, and in what a server says that fails.
    env.ok("text.lines", &json!({ "text": ADDRESS }).to_string());
    env.call("text.lines", &json!({ "texts": ADDRESS }).to_string(), &[])
        .exits(1);
    env.call(ADDRESS, "{}", &[]).exits(2);
    env.run(&["tools", "list"]);
    let (text, lines) = log(&env);
    assert!(!text.contains(SECRET), "{text}");
    let about = |event: &str, field: &str| {
        let found = lines.iter().filter(|line| line["event"] == event);
        let texts = found.map(|line| line[field].as_str().unwrap().to_owned());
        texts.collect::<Vec<_>>()
    };
    let tools = about("agent_tool_done", "tool");
    assert_eq!(tools, ["text.lines", "text.lines", MASKED], "{text}");
    let failures = about("mcp.spawn.failed", "message");
    assert!(failures[0].contains(MASKED), "{text}");
}

#[test]
fn the_name_of_a_session_carries_no_secret_into_the_log() {
    let mut env = TestEnv::with_config(LOG);
    for name in [
        ADDRESS,
        "ada@example.com",
        "a\u{202e}b",
        "a\nb",
        &"x".repeat(129),
    ] {
        let refused = env.call("time.now", "{}", &["--session", name]).exits(2);
        assert!(refused.err.contains("plain text"), "{}", refused.err);
        assert!(!refused.err.contains(SECRET), "{}", refused.err);
    }
    env.set("TOLLGATE_SESSION", ADDRESS);
    env.call("time.now", "{}", &[]).exits(2);
    env.feed(&["jsonl"], "{\"id\":1,\"method\":\"time.now\"}\n")
        .exits(2);
    assert!(!env.path("config/tollgate/gate.log").exists());
    let plain = env.call("time.now", "{}", &["--session", "mein Büro 1"]);
    plain.exits(0);
    assert_eq!(log(&env).1[0]["session_id"], "mein Büro 1");
}

#[test]
fn a_provider_that_cannot_list_is_told_in_the_log_and_by_the_doctor() {
    let env = TestEnv::with_config(&[LOG, &section("lists", "legacy nolist", "")].concat());
    env.run(&["tools", "list"]);
    let (text, lines) = log(&env);
    let line = lines
        .iter()
        .find(|line| line["event"] == "provider.list_tools.failed")
        .unwrap_or_else(|| panic!("{text}"));
    assert_eq!(line["provider"], "mcp_lists");
    let message = line["message"].as_str().unwrap();
    assert!(message.starts_with("cannot list its tools: "), "{message}");
    assert_eq!(line.as_object().unwrap().len(), 3, "{line}");
    let said = env.run(&["doctor"]).out;
    assert!(
        said.contains("mcp_lists: cannot list its tools: "),
        "{said}"
    );
    assert!(said.contains(" -> its tools are missing"), "{said}");
}
