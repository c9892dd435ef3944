//! Servers that begin and never become ready.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    Session, logs, text, until_logged,
    web::{EVENTS, Then, Web, modern, tool},
    with, with_script,
};
use crate::support::TestEnv;

fn wait_for(path: &Path) {
    while !path.exists() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_is_answered_while_it_shakes_hands_and_lists() {
    for era in ["modern", "legacy"] {
        // It answers neither before both of its own questions were answered.
        let env = with(&format!("{era} curious"), "");
        let mut session = Session::with_tool(&env, "mcp.s.change");
        assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
        if era == "modern" {
            continue;
        }
        // Its list is read again in the same way.
        let params = json!({"description": "Says something else."});
        assert_eq!(text(&session.call("mcp.s.change", params)), "changed");
        session.until_listed("mcp.s.extra");
    }
}

#[test]
fn a_server_that_failed_counts_as_down_until_it_is_up_again() {
    let env = with_script(
        "mkdir \"$0.ran\" || { mkdir \"$0.again\"; exec sleep 1000; }\nexec python3 \"$@\"",
    );
    let mut session = Session::with_tool(&env, "mcp.s.crash");
    session.call("mcp.s.crash", json!({}));
    wait_for(&env.path("start.sh.again"));
    let listed = session.tool("mcp.s.echo").unwrap();
    assert_eq!(listed["_meta"]["tollgate/active"], false, "{listed:#}");
    let reason = &listed["_meta"]["tollgate/inactive_reason"];
    assert!(reason.as_str().unwrap().contains("exit code 3"), "{reason}");
    let answer = session.call("mcp.s.echo", json!({}));
    let failed = &answer["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "unavailable", "{failed:#}");
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("exit code 3"), "{message}");
    assert_eq!(failed["retry_after_seconds"], 1, "{failed:#}");
}

#[test]
fn a_server_that_is_stuck_while_it_starts_can_be_started_again() {
    let env = with_script("mkdir \"$0.ran\" && exec sleep 1000\nexec python3 \"$@\"");
    let mut session = Session::start(&env);
    wait_for(&env.path("start.sh.ran"));
    let ran = env.run(&["mcp", "restart", "s", "--json"]).exits(0).json();
    assert_eq!(ran["restarted"][0]["ready"], true, "{ran:#}");
    assert_eq!(text(&session.call("mcp.s.echo", json!({}))), "{}");
    let logs = logs(&env);
    assert!(logs.contains("mcp.restarted"), "{logs}");
    // Nobody waited for its time to be over.
    assert!(!logs.contains("mcp.spawn.failed"), "{logs}");
}

#[test]
fn an_address_where_nothing_is_answered_any_more_is_noticed_and_comes_back() {
    let hangs = Arc::new(AtomicBool::new(false));
    let is_hung = Arc::clone(&hangs);
    let web = Web::start(move |got| {
        if is_hung.load(Ordering::SeqCst) {
            return Then::Hang(String::new());
        }
        modern(got, &json!([tool("good")]))
    });
    let limits = "timeout_ms = 1500\nstart_timeout_ms = 1000";
    let env = TestEnv::with_config(&web.section(limits));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    hangs.store(true, Ordering::SeqCst);
    let answer = session.call("mcp.s.good", json!({}));
    let failed = &answer["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "timeout", "{answer:#}");
    let is_active = |session: &mut Session| {
        let listed = session.tool("mcp.s.good").unwrap();
        listed["_meta"]["tollgate/active"] == true
    };
    while is_active(&mut session) {
        thread::sleep(Duration::from_millis(20));
    }
    // From now on nobody waits for it in vain.
    let since = Instant::now();
    let answer = session.call("mcp.s.good", json!({}));
    assert!(since.elapsed() < Duration::from_millis(1400), "{answer:#}");
    let failed = &answer["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "unavailable", "{answer:#}");
    assert!(failed["retry_after_seconds"].as_u64().unwrap() >= 1);
    let logs = logs(&env);
    assert!(logs.contains("it does not answer any more"), "{logs}");
    hangs.store(false, Ordering::SeqCst);
    while !is_active(&mut session) {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
}

#[test]
fn an_address_that_is_slow_with_one_call_is_left_alone() {
    let web = Web::start(move |got| match got.body["params"]["name"].as_str() {
        Some("slow") => Then::Hang(String::new()),
        _ => modern(got, &json!([tool("good"), tool("slow")])),
    });
    let env = TestEnv::with_config(&web.section("timeout_ms = 300"));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    let answer = session.call("mcp.s.slow", json!({}));
    let failed = &answer["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "timeout", "{answer:#}");
    while web.of("server/discover").len() < 2 {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    let logs = logs(&env);
    assert!(!logs.contains("mcp.ended"), "{logs}");
}

#[test]
fn a_call_that_an_address_leaves_waiting_costs_no_other_call_its_time() {
    let (held, open) = (Arc::new(Mutex::new(())), Arc::new(AtomicBool::new(false)));
    let (busy, is_held) = (Arc::clone(&held), Arc::clone(&open));
    let web = Web::start(move |got| {
        // One thing at a time: whatever comes waits for the end of the first.
        if is_held.load(Ordering::SeqCst) {
            drop(busy.lock().unwrap());
        }
        modern(got, &json!([tool("good"), tool("slow")]))
    });
    // Only the waits for a sign of life are short.
    let single = |name: &str| format!("[mcp.servers.tools.{name}]\ntimeout_ms = 60000\n");
    let limits = "timeout_ms = 400\nhealth_interval_ms = 50\n";
    let section = web.section(&format!("{limits}{}{}", single("good"), single("slow")));
    let env = TestEnv::with_config(&section);
    let mut session = Session::with_tool(&env, "mcp.s.good");
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    let busy = held.lock().unwrap();
    open.store(true, Ordering::SeqCst);
    let slow = session.begin("tools/call", json!({"name": "mcp.s.slow", "arguments": {}}));
    until_logged(&env, "mcp.stalled");
    let since = Instant::now();
    let answer = session.call("mcp.s.good", json!({}));
    assert!(since.elapsed() < Duration::from_secs(10), "{answer:#}");
    let failed = &answer["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "unavailable", "{answer:#}");
    assert!(failed["retry_after_seconds"].as_u64().unwrap() >= 1);
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("has answered nothing"), "{message}");
    // It was only busy, so the call that kept it so ends well, and others can be made again.
    drop(busy);
    assert_eq!(text(&session.answer(slow)["result"]), "well");
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    let logs = logs(&env);
    assert!(logs.contains("mcp.awake"), "{logs}");
    assert!(!logs.contains("mcp.ended"), "{logs}");
}

#[test]
fn an_address_that_answers_while_a_call_waits_is_left_alone() {
    let web = Web::start(move |got| match got.body["params"]["name"].as_str() {
        Some("slow") => Then::Hang(String::new()),
        _ => modern(got, &json!([tool("good"), tool("slow")])),
    });
    let limits = "timeout_ms = 400\nhealth_interval_ms = 50\n\
                  [mcp.servers.tools.slow]\ntimeout_ms = 60000\n";
    let env = TestEnv::with_config(&web.section(limits));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    let asked = web.of("server/discover").len();
    session.begin("tools/call", json!({"name": "mcp.s.slow", "arguments": {}}));
    // It is asked because a call waits, and only then.
    while web.of("server/discover").len() < asked + 3 {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(text(&session.call("mcp.s.good", json!({}))), "well");
    let logs = logs(&env);
    assert!(!logs.contains("mcp.stalled"), "{logs}");
}

#[test]
fn an_address_that_still_tells_of_one_call_is_not_taken_for_hung() {
    let (tell, feed) = mpsc::channel::<String>();
    let feed = Mutex::new(Some(feed));
    let deaf = Arc::new(AtomicBool::new(false));
    let is_deaf = Arc::clone(&deaf);
    let web = Web::start(move |got| {
        let head = EVENTS.to_owned();
        match got.body["params"]["name"].as_str() {
            Some("long") => Then::Feed(head, feed.lock().unwrap().take().unwrap()),
            _ if is_deaf.load(Ordering::SeqCst) => Then::Hang(String::new()),
            _ => modern(got, &json!([tool("good"), tool("long")])),
        }
    });
    let env = TestEnv::with_config(&web.section("timeout_ms = 400"));
    let mut session = Session::with_tool(&env, "mcp.s.good");
    let long = session.begin(
        "tools/call",
        json!({"name": "mcp.s.long", "arguments": {}, "_meta": {"progressToken": 1}}),
    );
    while web.of("tools/call").is_empty() {
        thread::sleep(Duration::from_millis(10));
    }
    deaf.store(true, Ordering::SeqCst);
    let call = web.of("tools/call").remove(0).body;
    let token = call["params"]["_meta"]["progressToken"].clone();
    let event = |message: &Value| format!("data: {message}\n\n");
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                          "params": {"progressToken": token, "progress": 1}});
    let good = session.begin("tools/call", json!({"name": "mcp.s.good", "arguments": {}}));
    for _ in 0..40 {
        tell.send(event(&progress)).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
    let failed = session.answer(good)["result"]["_meta"]["tollgate/result"]["error"].clone();
    assert_eq!(failed["kind"], "timeout", "{failed:#}");
    let result = json!({"resultType": "complete", "content": [{"type": "text", "text": "well"}]});
    let answer = json!({"jsonrpc": "2.0", "id": call["id"], "result": result});
    tell.send(event(&answer)).unwrap();
    assert_eq!(text(&session.answer(long)["result"]), "well");
    let logs = logs(&env);
    assert!(!logs.contains("mcp.ended"), "{logs}");
}

#[test]
fn a_tool_that_may_take_long_is_not_ended_because_another_call_waits() {
    let long = "timeout_ms = 300\n[mcp.servers.tools.wait]\ntimeout_ms = 60000";
    let env = with("legacy", long);
    let mut session = Session::with_tool(&env, "mcp.s.wait");
    let file = env.path("let-it-end");
    let arguments = json!({"until": file.display().to_string()});
    let wait = session.begin(
        "tools/call",
        json!({"name": "mcp.s.wait", "arguments": arguments, "_meta": {"progressToken": 1}}),
    );
    session.until("notifications/progress");
    let answer = session.call("mcp.s.echo", json!({}));
    let failed = &answer["_meta"]["tollgate/result"]["error"];
    assert_eq!(failed["kind"], "timeout", "{answer:#}");
    thread::sleep(Duration::from_secs(1));
    std::fs::write(&file, "").unwrap();
    let waited = session.answer(wait)["result"].clone();
    assert_eq!(text(&waited), "waited", "{waited:#}");
}

#[test]
fn a_program_that_is_not_there_is_told_with_its_own_code() {
    let env = TestEnv::with_config(
        "[[mcp.servers]]\nname = \"missing\"\ncommand = \"/nowhere/at/all\"\n",
    );
    let mut session = Session::start(&env);
    let failed = loop {
        let answer = session.call("mcp.missing.echo", json!({}));
        let failed = answer["_meta"]["tollgate/result"]["error"].clone();
        if failed["kind"] == "spawn_failed" {
            break failed;
        }
        // It takes a moment until it has failed.
        assert_eq!(failed["kind"], "unavailable", "{failed:#}");
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(failed["errorCode"], "SpawnFailed", "{failed:#}");
    assert!(failed["retry_after_seconds"].as_u64().unwrap() >= 1);
}
