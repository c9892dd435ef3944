//! What is said while a call is running, and how it is taken back.

use serde_json::{Value, json};

use super::peer::{Ask, Gate, LOG_KEY, Open, Stdio, meta, until};
use crate::support::TestEnv;

const FIXTURES: [&str; 1] = ["--conformance-fixtures"];
const SLOW: &str = "[providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 4000\n";

fn progress() -> Value {
    json!({"name": "test_tool_with_progress", "_meta": {"progressToken": "p-7"}})
}

#[track_caller]
fn is_progress(messages: &[Value]) {
    let done: Vec<&Value> = messages
        .iter()
        .map(|message| {
            assert_eq!(message["method"], "notifications/progress", "{message}");
            assert_eq!(message["params"]["progressToken"], "p-7");
            assert_eq!(message["params"]["total"], 100);
            &message["params"]["progress"]
        })
        .collect();
    assert_eq!(done, [&json!(0), &json!(50), &json!(100)]);
}

fn is_told(answer: &Value) -> bool {
    answer["result"]["content"][0]["text"] == "three reports of progress were made"
}

#[test]
fn progress_travels_before_the_answer_on_stdio() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &FIXTURES);
    let id = client.begin("tools/call", progress());
    let said: Vec<Value> = (0..3).map(|_| client.next()).collect();
    is_progress(&said);
    let answer = client.next();
    assert_eq!(answer["id"], id);
    assert!(is_told(&answer), "{answer}");
}

#[test]
fn progress_travels_before_the_answer_over_http() {
    let env = TestEnv::new();
    let gate = Gate::open_with(&env, &FIXTURES);
    let session = gate.session(|ask| ask);
    for ask in [
        Ask::modern("tools/call", progress()),
        Ask::legacy(&session, "tools/call", progress()),
    ] {
        let open = gate.begin(&ask);
        assert_eq!(open.status(), 200);
        assert_eq!(open.header("content-type"), Some("text/event-stream"));
        assert_eq!(open.header("x-accel-buffering"), Some("no"));
        let said = open.events();
        assert_eq!(said.len(), 4);
        is_progress(&said[..3]);
        assert!(is_told(&said[3]) && said[3]["id"] == 1, "{}", said[3]);
    }
}

#[test]
fn nobody_hears_of_progress_who_did_not_ask() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &FIXTURES);
    let params = json!({"name": "test_tool_with_progress"});
    assert!(is_told(&client.ask("tools/call", params.clone())));
    let gate = Gate::open_with(&env, &FIXTURES);
    let heard = gate.ask(&Ask::modern("tools/call", params)).has(200);
    assert!(is_told(&heard.json()));
}

#[test]
fn log_lines_are_sent_from_the_wanted_level_on() {
    let env = TestEnv::new();
    let mut modern = Stdio::modern(&env, &FIXTURES);
    let call = json!({"name": "test_logging_tool"});
    modern.ask("tools/call", call.clone());
    for (level, lines) in [("debug", 3), ("info", 3), ("warning", 0), ("emergency", 0)] {
        let mut meta = meta();
        meta[LOG_KEY] = json!(level);
        modern.meta = Some(meta);
        let id = modern.begin("tools/call", call.clone());
        for _ in 0..lines {
            let line = modern.next();
            assert_eq!(line["method"], "notifications/message", "{level}: {line}");
            assert_eq!(line["params"]["level"], "info");
            assert!(line["params"]["data"].is_string());
        }
        assert_eq!(modern.next()["id"], id, "{level}");
    }
    let mut old = Stdio::silent(&env, &FIXTURES);
    old.shake_hands("2025-11-25", json!({}));
    old.result("logging/setLevel", json!({"level": "error"}));
    old.ask("tools/call", call.clone());
    old.result("logging/setLevel", json!({"level": "info"}));
    old.begin("tools/call", call);
    assert_eq!(old.next()["method"], "notifications/message");
}

/// How the calls of a tool ended.
fn endings(env: &TestEnv, tool: &str) -> Vec<Value> {
    let rows = env.recorded().into_iter();
    let endings = rows.filter(|row| row["kind"] == "ending" && row["tool"] == tool);
    endings.map(|row| row["error_code"].clone()).collect()
}

#[test]
fn a_call_that_is_taken_back_is_cancelled_and_not_answered() {
    let env = TestEnv::with_config(SLOW);
    for mut client in [Stdio::modern(&env, &[]), Stdio::legacy(&env, json!({}))] {
        let before = endings(&env, "slow.read").len();
        let id = client.begin("tools/call", json!({"name": "slow.read"}));
        let cancel = |id: Value| {
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id, "reason": "enough"}})
        };
        client.send(&cancel(json!(id + 1000)));
        client.send(&cancel(json!(id.to_string())));
        client.send(&cancel(json!(id)));
        until(|| endings(&env, "slow.read").len() > before);
        let ended = endings(&env, "slow.read");
        assert_eq!(ended[before..], [json!("tool.gate.invoke.cancelled")]);
        client.result("tools/list", json!({}));
        assert_eq!(client.end(), Vec::<Value>::new(), "no answer was sent");
    }
}

#[test]
fn an_older_call_over_http_is_cancelled_by_a_notification() {
    let env = TestEnv::with_config(SLOW);
    let gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    let call = Ask::legacy(&session, "tools/call", json!({"name": "slow.read"}));
    let stream = gate.send(&call);
    until(|| {
        let figures = gate.ask(&Ask::new("GET", "/metrics")).body;
        figures.contains("\ntollgate_running 1\n")
    });
    let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    let told = Ask::post(told.to_string()).header("mcp-session-id", &session);
    gate.ask(&told).has(202);
    Open::answering(stream).unwrap();
    let ended = endings(&env, "slow.read");
    assert_eq!(ended, [json!("tool.gate.invoke.cancelled")]);
}

#[test]
fn whoever_listens_hears_of_changes_until_the_end() {
    let env = TestEnv::new();
    let gate = Gate::open_with(&env, &FIXTURES);
    let wanted = json!({"notifications": {"toolsListChanged": true, "unheardOf": true}});
    let mut open = gate.begin(&Ask::modern("subscriptions/listen", wanted.clone()));
    let first = open.event().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let honoured = json!({"toolsListChanged": true});
    assert_eq!(first["params"]["notifications"], honoured);
    let subscription = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(first["params"]["_meta"][subscription], 1);
    gate.call("test_trigger_prompt_change", json!({}));
    gate.call("test_trigger_tool_change", json!({}));
    let changed = open.event().unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"][subscription], 1);
    gate.signal(rustix::process::Signal::TERM);
    let end = open.event().unwrap();
    assert_eq!(end["id"], 1);
    assert_eq!(end["result"]["_meta"][subscription], 1);
    assert_eq!(open.event(), None);

    let mut client = Stdio::modern(&env, &FIXTURES);
    let id = client.begin("subscriptions/listen", wanted);
    let first = client.next();
    assert_eq!(first["params"]["notifications"], honoured);
    assert_eq!(first["params"]["_meta"][subscription], id);
    assert_eq!(
        client.error("subscriptions/listen", json!({}))["code"],
        -32602
    );
    let rest = client.end();
    assert_eq!(rest.len(), 1, "the end of the input ends it");
    assert_eq!(rest[0]["id"], id);
}

/// What is said along with the answer to a call, in whichever order the two come.
fn beside_the_answer(client: &mut Stdio, call: Value) -> Value {
    client.begin("tools/call", call);
    let both = [client.next(), client.next()];
    let told = both.into_iter().find(|it| it["method"].is_string());
    told.expect("something is said beside the answer")
}

#[test]
fn an_older_client_hears_of_what_it_watches() {
    let env = TestEnv::new();
    let mut old = Stdio::silent(&env, &FIXTURES);
    old.shake_hands("2025-11-25", json!({}));
    let update = json!({"name": "test_trigger_resource_update"});
    old.ask("tools/call", update.clone());
    // Changes are told in order: once the later one is heard, the earlier one is over.
    let tools = json!({"name": "test_trigger_tool_change"});
    assert_eq!(
        beside_the_answer(&mut old, tools)["method"],
        "notifications/tools/list_changed"
    );
    let uri = json!({"uri": "test://watched-resource"});
    old.result("resources/subscribe", uri.clone());
    let told = beside_the_answer(&mut old, update);
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"], uri);
}

#[test]
fn a_trace_goes_in_and_comes_out() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let params = json!({"name": "text.stats", "arguments": {"text": "a"},
        "_meta": {"traceparent": parent}});
    let mut client = Stdio::modern(&env, &[]);
    let mut old = Stdio::legacy(&env, json!({}));
    for done in [
        client.result("tools/call", params.clone()),
        old.result("tools/call", params.clone()),
        gate.result(&Ask::modern("tools/call", params)),
    ] {
        assert_eq!(done["_meta"]["tollgate/result"]["meta"]["trace_id"], trace);
        let out = done["_meta"]["traceparent"].as_str().unwrap();
        assert!(out.starts_with(&format!("00-{trace}-")), "{out}");
        assert_ne!(out, parent, "our own span, not the caller's");
    }
    for odd in [
        "",
        "00-zz-1-01",
        "00-00000000000000000000000000000000-0000000000000000-01",
    ] {
        let params = json!({"name": "time.now", "_meta": {"traceparent": odd}});
        let done = client.result("tools/call", params);
        let id = done["_meta"]["tollgate/result"]["meta"]["trace_id"]
            .as_str()
            .unwrap();
        assert_eq!(id.len(), 32, "{odd}");
        assert!(id.bytes().any(|byte| byte != b'0'));
    }
}
