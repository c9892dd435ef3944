//! Questions of servers in the middle of a call, whoever asks and whoever answers.

use std::{thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Session, logs, modern, section, text, until_logged, with};
use crate::support::TestEnv;

/// A modern call over a connection that can speak either era.
fn modern_call(session: &mut Session, tool: &str, more: &Value) -> Value {
    let id = begin(session, tool, more);
    session.answer(id)
}

/// Sends one without waiting for its answer.
fn begin(session: &mut Session, tool: &str, more: &Value) -> u64 {
    let mut params = json!({"name": tool, "arguments": {}});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    session.begin("tools/call", modern(params))
}

/// What a client sends that answers the question in a result.
fn answering(asked: &Value, name: &str) -> Value {
    let ids = asked["inputRequests"].as_object();
    let ids = ids.unwrap_or_else(|| panic!("{asked:#}"));
    let answer = json!({"action": "accept", "content": {"name": name}});
    let answers: Value = ids.keys().map(|id| (id.clone(), answer.clone())).collect();
    json!({"inputResponses": answers, "requestState": asked["requestState"]})
}

#[test]
fn a_question_of_an_older_server_is_answered_by_a_repeated_call() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.ask");
        let asked = modern_call(&mut session, "mcp.s.ask", &json!({}))["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{era}: {asked:#}");
        let state = asked["requestState"].as_str().unwrap();
        assert!(!state.contains("kept-by-upstream"), "it is sealed: {state}");
        let id = asked["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .next()
            .unwrap();
        let answers = json!({id: {"action": "accept", "content": {"name": "Ada"}}});
        let again = json!({"inputResponses": answers, "requestState": state});
        let done = modern_call(&mut session, "mcp.s.ask", &again);
        assert_eq!(text(&done["result"]), "hello Ada", "{era}: {done:#}");
    }
}

#[test]
fn a_question_whose_process_is_gone_says_so() {
    let env = with("legacy", "");
    // A session that both processes work in: whose question it is, is not in doubt.
    let start = || {
        let mut session =
            Session::begin_with(&env, &["mcp", "--toolsets", "all", "--session", "lasting"]);
        session.until_listed("mcp.s.ask");
        session
    };
    let mut session = start();
    let asked = modern_call(&mut session, "mcp.s.ask", &json!({}))["result"].clone();
    let again = answering(&asked, "Ada");
    drop(session);
    let gone = modern_call(&mut start(), "mcp.s.ask", &again);
    is_gone(&gone);
}

/// The message says why an answer comes too late.
fn is_gone(answer: &Value) {
    let failure = &answer["error"]["data"]["tollgate/error"];
    assert_eq!(failure["kind"], "state_rejected", "{answer:#}");
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("the server `s` asked"), "{message}");
    assert!(
        message.contains("process that held it open is gone"),
        "{message}"
    );
}

#[test]
fn a_server_that_hears_nothing_before_the_answer_is_left_alone() {
    let limits = "health_interval_ms = 50\ntimeout_ms = 300\n\
                  [mcp.servers.tools.ask]\ntimeout_ms = 60000";
    let env = with("legacy blocks", limits);
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let asked = modern_call(&mut session, "mcp.s.ask", &json!({}))["result"].clone();
    // It is looked at many times meanwhile, once because of a call that it leaves waiting.
    let late = session.call("mcp.s.echo", json!({}));
    let failed = &late["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "timeout", "{late:#}");
    thread::sleep(Duration::from_secs(2));
    let done = modern_call(&mut session, "mcp.s.ask", &answering(&asked, "Ada"));
    assert_eq!(text(&done["result"]), "hello Ada", "{done:#}");
    let logs = logs(&env);
    assert!(!logs.contains("mcp.ended"), "{logs}");
}

#[test]
fn a_server_that_dies_while_its_question_is_open_is_noticed() {
    let env = with("legacy blocks", "");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let pid = |session: &mut Session| text(&session.call("mcp.s.pid", json!({})));
    let first: i32 = pid(&mut session).parse().unwrap();
    let asked = modern_call(&mut session, "mcp.s.ask", &json!({}))["result"].clone();
    kill_process(Pid::from_raw(first).unwrap(), Signal::KILL).unwrap();
    // Nobody has to want anything of it for that.
    until_logged(&env, "mcp.ended");
    let gone = loop {
        let gone = modern_call(&mut session, "mcp.s.ask", &answering(&asked, "Ada"));
        // It is started again first.
        if gone["error"].is_object() {
            break gone;
        }
        thread::sleep(Duration::from_millis(20));
    };
    is_gone(&gone);
}

#[test]
fn answers_for_one_server_are_worth_nothing_at_another() {
    let own = "trust_annotations = true";
    let config = [section("one", "modern", own), section("two", "modern", own)];
    let env = TestEnv::with_config(&config.concat());
    let mut session = Session::with_tool(&env, "mcp.one.ask");
    session.until_listed("mcp.two.ask");
    let asked = modern_call(&mut session, "mcp.one.ask", &json!({}))["result"].clone();
    let answers = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    let again = json!({"inputResponses": answers, "requestState": asked["requestState"]});
    let other = modern_call(&mut session, "mcp.two.ask", &again);
    assert!(other["error"].is_object(), "{other:#}");
    assert!(!other.to_string().contains("hello"), "{other:#}");
}

#[test]
fn whoever_waits_for_an_answer_takes_no_turn_from_others() {
    let env = with("legacy", "concurrent_calls = 1\nqueued_calls = 1");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let asked = modern_call(&mut session, "mcp.s.ask", &json!({}))["result"].clone();
    assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
    let again = answering(&asked, "Ada");
    let done = modern_call(&mut session, "mcp.s.ask", &again);
    assert_eq!(text(&done["result"]), "hello Ada", "{done:#}");
    // The same of a client whose request stays open meanwhile.
    assert_eq!(text(&session.call("mcp.s.ask", json!({}))), "hello Ada");
}

#[test]
fn an_answer_never_reaches_the_question_of_another_life() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let ask = |session: &mut Session, number: u64, more: &Value| {
        let mut more = more.clone();
        more["arguments"] = json!({"number": number});
        modern_call(session, "mcp.s.ask", &more)
    };
    let first = ask(&mut session, 1, &json!({}))["result"].clone();
    env.run(&["mcp", "restart", "s"]).exits(0);
    // The server counts from the beginning, and so do its requests.
    let second = ask(&mut session, 2, &json!({}))["result"].clone();
    let gone = ask(&mut session, 1, &answering(&first, "Eve"));
    let failure = &gone["error"]["data"]["tollgate/error"];
    assert_eq!(failure["kind"], "state_rejected", "{gone:#}");
    let done = ask(&mut session, 2, &answering(&second, "Ada"));
    assert_eq!(text(&done["result"]), "hello Ada", "{done:#}");
}

#[test]
fn a_question_reaches_the_client_also_while_it_makes_other_calls() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let silent = begin(
        &mut session,
        "mcp.s.silent",
        &json!({"_meta": {"progressToken": 1}}),
    );
    session.until("notifications/progress");
    let mut asking = vec![silent];
    // Which of the calls asks, an older server does not say; whoever is asked is the same.
    asking.push(begin(&mut session, "mcp.s.ask", &json!({})));
    let (mut id, mut asked) = (0, Value::Null);
    while asked["inputRequests"].is_null() {
        let line = session.line();
        if let Some(own) = asking.iter().find(|own| line["id"] == **own) {
            (id, asked) = (*own, line["result"].clone());
        }
    }
    assert_eq!(asked["resultType"], "input_required", "{asked:#}");
    let tool = if id == silent {
        "mcp.s.silent"
    } else {
        "mcp.s.ask"
    };
    let mut more = answering(&asked, "Ada");
    more["_meta"] = json!({"progressToken": 2});
    let again = begin(&mut session, tool, &more);
    let wanted = if id == silent { asking[1] } else { again };
    let done = session.answer(wanted);
    assert_eq!(text(&done["result"]), "hello Ada", "{done:#}");
}

#[test]
fn more_questions_than_can_be_kept_open_are_refused_there_and_here() {
    const ROOM: usize = 32;
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    for _ in 0..ROOM {
        let asked = modern_call(&mut session, "mcp.s.ask", &json!({}));
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked:#}");
    }
    let refused = modern_call(&mut session, "mcp.s.ask", &json!({}))["result"].clone();
    let failed = &refused["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "overloaded", "{refused:#}");
    assert!(failed["retry_after_seconds"].as_u64().unwrap() >= 1);
    let seen = text(&session.call("mcp.s.cancelled", json!({})));
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["cancelled"].as_array().unwrap().len(), 1, "{seen}");
}

/// Reads up to the question in the middle of an open request.
fn question(session: &mut Session) -> Value {
    loop {
        let line = session.line();
        if line["method"] == "elicitation/create" {
            return line["id"].clone();
        }
    }
}

#[test]
fn a_server_hears_that_nobody_answers() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.ask");
        let ask = json!({"name": "mcp.s.ask", "arguments": {}});
        let call = session.begin("tools/call", ask.clone());
        let id = question(&mut session);
        let error = json!({"code": -1, "message": "not now"});
        session.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        let answer = session.answer(call);
        if era == "legacy" {
            // It does without, and says so itself.
            assert_eq!(text(&answer["result"]), "hello nobody: nobody answered");
        } else {
            let failed = &answer["result"]["_meta"]["tollgate/result"]["error"];
            assert_eq!(failed["kind"], "input_required", "{answer:#}");
        }
    }
}

#[test]
fn taking_back_a_call_that_waits_for_an_answer_reaches_the_server() {
    let env = with("legacy", "");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let call = session.begin("tools/call", json!({"name": "mcp.s.ask", "arguments": {}}));
    question(&mut session);
    session.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": call}}),
    );
    loop {
        let seen = text(&session.call("mcp.s.cancelled", json!({})));
        let seen: Value = serde_json::from_str(&seen).unwrap();
        if seen["cancelled"].as_array().unwrap().len() == 1 {
            break;
        }
    }
}

/// What a client says that can be asked in these ways.
fn asked_by(modes: Value) -> Value {
    json!({"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": modes}}})
}

#[test]
fn a_human_is_sent_to_a_page_by_whoever_can_do_that() {
    for era in ["modern", "legacy"] {
        let env = with(&format!("{era} page"), "");
        let mut session = Session::with_tool(&env, "mcp.s.ask");
        let can = asked_by(json!({"url": {}}));
        let asked = modern_call(&mut session, "mcp.s.ask", &can)["result"].clone();
        let questions = asked["inputRequests"].as_object();
        let questions = questions.unwrap_or_else(|| panic!("{era}: {asked:#}"));
        let (id, question) = questions.iter().next().unwrap();
        assert_eq!(question["method"], "elicitation/create", "{era}");
        assert_eq!(question["params"]["mode"], "url", "{era}: {asked:#}");
        assert_eq!(question["params"]["url"], "https://sign.example/in");
        let mut again = can;
        again["inputResponses"] = json!({id: {"action": "accept"}});
        again["requestState"] = asked["requestState"].clone();
        let done = modern_call(&mut session, "mcp.s.ask", &again);
        assert_eq!(text(&done["result"]), "went: accept", "{era}: {done:#}");
    }
}

#[test]
fn nobody_is_sent_to_a_page_who_can_only_be_shown_a_form() {
    let forms = asked_by(json!({"form": {}}));
    // An older server is told that it asks in a way that was never declared.
    let env = with("legacy page", "");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let done = modern_call(&mut session, "mcp.s.ask", &forms);
    assert_eq!(text(&done["result"]), "went: -32602", "{done:#}");
    // A client of a modern one is told what it lacks.
    let env = with("modern page", "");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let refused = modern_call(&mut session, "mcp.s.ask", &forms);
    assert_eq!(refused["error"]["code"], -32021, "{refused:#}");
    let lacks = &refused["error"]["data"]["requiredCapabilities"];
    assert_eq!(*lacks, json!({"elicitation": {"url": {}}}), "{refused:#}");
}

#[test]
fn a_call_that_wants_a_page_visited_first_is_made_again_when_that_is_done() {
    let env = with("legacy gated", "");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    // Who cannot send anybody anywhere is told so.
    let refused = modern_call(&mut session, "mcp.s.ask", &asked_by(json!({"form": {}})));
    assert_eq!(refused["error"]["code"], -32021, "{refused:#}");
    drop(session);
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let can = asked_by(json!({"url": {}}));
    let asked = modern_call(&mut session, "mcp.s.ask", &can)["result"].clone();
    let questions = asked["inputRequests"].as_object();
    let questions = questions.unwrap_or_else(|| panic!("{asked:#}"));
    let (id, question) = questions.iter().next().unwrap();
    assert_eq!(question["params"]["url"], "https://sign.example/in");
    let answer = |action: &str| {
        let mut again = can.clone();
        again["inputResponses"] = json!({id: {"action": action}});
        again["requestState"] = asked["requestState"].clone();
        again
    };
    let done = modern_call(&mut session, "mcp.s.ask", &answer("accept"));
    assert_eq!(text(&done["result"]), "welcome", "{done:#}");
}

#[test]
fn a_call_is_not_made_again_if_nobody_goes_to_its_page() {
    let env = with("legacy gated", "");
    let mut session = Session::with_tool(&env, "mcp.s.ask");
    let can = asked_by(json!({"url": {}}));
    let asked = modern_call(&mut session, "mcp.s.ask", &can)["result"].clone();
    let id = asked["inputRequests"].as_object().unwrap().keys().next();
    let mut again = can;
    again["inputResponses"] = json!({id.unwrap(): {"action": "decline"}});
    again["requestState"] = asked["requestState"].clone();
    let refused = modern_call(&mut session, "mcp.s.ask", &again);
    let failed = &refused["result"]["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "input_required", "{refused:#}");
}

#[test]
fn an_answer_that_is_no_object_reaches_no_server() {
    for era in ["modern", "legacy"] {
        let env = with(era, "");
        let mut session = Session::with_tool(&env, "mcp.s.ask");
        let asked = modern_call(&mut session, "mcp.s.ask", &json!({}))["result"].clone();
        let mut again = answering(&asked, "Ada");
        for answer in again["inputResponses"]
            .as_object_mut()
            .unwrap()
            .values_mut()
        {
            *answer = json!(5);
        }
        let refused = modern_call(&mut session, "mcp.s.ask", &again);
        assert_eq!(refused["error"]["code"], -32602, "{era}: {refused:#}");
        // Whoever answers properly after that is heard.
        let done = modern_call(&mut session, "mcp.s.ask", &answering(&asked, "Ada"));
        assert_eq!(text(&done["result"]), "hello Ada", "{era}: {done:#}");
    }
}
