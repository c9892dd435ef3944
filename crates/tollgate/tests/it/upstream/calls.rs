//! Calls that go well, in both eras.

use serde_json::json;

use super::{Session, section, text, with};
use crate::support::TestEnv;

#[test]
fn tools_of_either_era_are_listed_and_called() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let done = env.ok("mcp.s.echo", r#"{"n":1}"#);
        assert_eq!(done["data"]["content"][0]["text"], r#"{"n": 1}"#, "{era}");
        assert_eq!(done["meta"]["provider"], "mcp_s");
        let mut session = Session::with_tool(&env, "mcp.s.echo");
        let answer = session.call("mcp.s.echo", json!({"a": "b"}));
        assert_eq!(text(&answer), r#"{"a": "b"}"#, "{era}");
        assert_eq!(answer["_meta"]["tollgate/result"]["ok"], true);
    }
}

#[test]
fn what_a_server_writes_reaches_the_client_as_it_was_spelled() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let ran = env.call("mcp.s.odd", "{}", &[]).exits(0);
        for kept in [
            r#"{"type":"tool_use","b":1.50,"a":12345678901234567890123,"c":1e2}"#,
            r#""unknown":{"z":1.0}"#,
        ] {
            assert!(ran.out.contains(kept), "{era}: {}", ran.out);
        }
    }
}

#[test]
fn a_failure_a_tool_tells_is_the_clients_to_read() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.fails");
    let answer = session.call("mcp.s.fails", json!({}));
    assert_eq!(answer["isError"], true);
    assert_eq!(text(&answer), "no luck");
    assert_eq!(answer["_meta"]["tollgate/result"]["ok"], false);
}

#[test]
fn an_argument_with_a_default_need_not_be_sent() {
    let env = with("modern browser", "");
    let done = env.ok("mcp.s.browser_take_screenshot", "{}");
    // The server fills its own defaults in.
    assert_eq!(done["data"]["content"][0]["text"], "{}");
    let odd = env.call("mcp.s.browser_take_screenshot", r#"{"scale":"huge"}"#, &[]);
    let odd = odd.exits(1).out;
    for allowed in ["css", "device", "print", "retina"] {
        assert!(odd.contains(allowed), "{odd}");
    }
    env.call("mcp.s.browser_navigate", "{}", &[]).exits(1);
}

#[test]
fn progress_is_passed_on() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.slow");
        let answer = session.call("mcp.s.slow", json!({"steps": 5, "pause": 0}));
        assert_eq!(text(&answer), "done", "{era}");
        let progress = session.said.iter();
        let progress = progress.filter(|one| one["method"] == "notifications/progress");
        assert_eq!(progress.count(), 5, "{era}");
    }
}

#[test]
fn a_question_of_a_server_reaches_the_client_and_its_answer_the_server() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.ask");
        let answer = session.call("mcp.s.ask", json!({}));
        assert_eq!(text(&answer), "hello Ada", "{era}");
    }
}

#[test]
fn a_changed_list_is_announced() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.change");
    assert!(session.tool("mcp.s.extra").is_none());
    session.said.clear();
    session.call("mcp.s.change", json!({}));
    session.until("notifications/tools/list_changed");
    assert!(session.tool("mcp.s.extra").is_some());
    assert_eq!(text(&session.call("mcp.s.extra", json!({}))), "extra");
}

#[test]
fn resources_and_prompts_have_addresses_and_names_of_ours() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.link");
        let link = session.call("mcp.s.link", json!({}));
        let uri = link["content"][0]["uri"].clone();
        assert_eq!(uri, "mcp://s/test://one");
        let read = session.ask("resources/read", json!({"uri": uri}));
        let content = &read["result"]["contents"][0];
        assert_eq!(content["text"], "read test://one", "{era}");
        assert_eq!(content["uri"], "mcp://s/test://one");
        let prompt = session.ask("prompts/get", json!({"name": "mcp.s.greet"}));
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "greet!");
        let listed = session.ask("resources/list", json!({})).to_string();
        assert!(listed.contains("mcp://s/test://one"), "{listed}");
        let listed = session
            .ask("resources/templates/list", json!({}))
            .to_string();
        assert!(listed.contains("mcp://s/test://many/{id}"), "{listed}");
    }
}

#[test]
fn a_tool_that_nobody_vouches_for_needs_a_human() {
    let env = TestEnv::with_config(&section("s", "legacy", ""));
    let asked = env.call("mcp.s.echo", "{}", &[]).exits(3).json();
    assert_eq!(asked["error"]["kind"], "confirmation_required");
}

#[test]
fn a_server_may_keep_its_own_names_and_tools_may_be_hidden_or_renamed() {
    let more = "unprefixed = true\n[mcp.servers.tools.pid]\nhidden = true\n\
                [mcp.servers.tools.echo]\nalias = \"say\"\ncapability = \"L0\"";
    let env = with("modern", more);
    env.ok("echo", "{}");
    env.ok("say", "{}");
    let gone = env.call("pid", "{}", &[]);
    assert_eq!(gone.json()["error"]["kind"], "unknown_tool");
}

#[test]
fn a_child_knows_only_what_was_declared() {
    let mut env = with(
        "legacy",
        "plain_env = { PLAIN = \"1\" }\nenv = { KEY = \"env:OUR_KEY\" }",
    );
    env.set("OUR_KEY", "hunter2");
    env.set("OTHER_SECRET", "hunter3");
    let known = env.ok("mcp.s.env", "{}").to_string();
    assert!(known.contains("PLAIN") && known.contains("KEY"), "{known}");
    assert!(
        !known.contains("OTHER_SECRET") && !known.contains("OUR_KEY"),
        "{known}"
    );
}
