//! Limits of each principal: who asks too much is told when to come back.

use serde_json::{Value, json};

use super::{bearer, list};
use crate::{
    mcp::wire::peer::{Ask, Gate, Open, Stdio, error, result, until},
    support::TestEnv,
};

const TIGHT: &str = "[serve]\nanonymous = true\nrequests_per_second = 1\nburst = 2\n";

#[test]
fn too_many_requests_are_told_when_to_come_back() {
    let env = TestEnv::with_config(TIGHT);
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let call = Ask::call("time.now", json!({}));
    let mut refused = Value::Null;
    until(|| {
        let heard = gate.ask(&call).has(200);
        let done = result(&heard.json());
        if done["isError"] == true {
            assert_eq!(heard.header("retry-after"), Some("1"));
            refused = done;
        }
        !refused.is_null()
    });
    let failure = &refused["_meta"]["tollgate/result"]["error"];
    assert_eq!(failure["kind"], "overloaded");
    assert_eq!(failure["retry_after_seconds"], 1);
    assert_eq!(failure["can_retry"], true);
    gate.result(&list().bearing(&token));
    until(|| {
        let heard = gate.ask(&list());
        if heard.status == 200 {
            return false;
        }
        let heard = heard.has(429);
        assert_eq!(error(&heard.json())["data"]["retry_after_seconds"], 1);
        true
    });
    until(|| gate.ask(&list()).status == 200);
    let rows = env.recorded();
    let overloaded = "tool.gate.limits.overloaded";
    assert!(rows.iter().any(|row| row["error_code"] == overloaded));
}

#[test]
fn only_so_many_calls_of_one_principal_run_at_once() {
    let config = "[serve]\nanonymous = true\nconcurrent_calls = 1\n\
                  [providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 4000\n";
    let env = TestEnv::with_config(config);
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let first = gate.send(&Ask::call("slow.read", json!({})));
    let call = Ask::call("time.now", json!({}));
    until(|| {
        let figures = gate.ask(&Ask::new("GET", "/metrics")).body;
        figures.contains("\ntollgate_running 1\n")
    });
    let refused = gate.result(&call);
    let kind = &refused["_meta"]["tollgate/result"]["error"]["kind"];
    assert_eq!(kind, "overloaded");
    gate.result(&call.clone().bearing(&token));
    let first = Open::answering(first).unwrap().whole().has(200);
    assert_eq!(result(&first.json())["isError"], false);
    assert_eq!(gate.result(&call)["isError"], false, "there is room again");
}

#[test]
fn older_clients_have_the_same_limits() {
    let env = TestEnv::with_config(TIGHT);
    let gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    let call = Ask::legacy(&session, "tools/call", json!({"name": "time.now"}));
    until(|| {
        let done = result(&gate.ask(&call).json());
        done["_meta"]["tollgate/result"]["error"]["kind"] == "overloaded"
    });
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let begin = Ask::legacy("", "initialize", params);
    until(|| gate.ask(&begin).header("retry-after").is_some());
}

fn told(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params})
}

/// Sends this until it is too much, and again until it is not.
#[track_caller]
fn is_bounded(gate: &Gate, ask: &Ask) {
    until(|| {
        let heard = gate.ask(ask);
        if heard.status == 429 {
            assert_eq!(heard.header("retry-after"), Some("1"));
        }
        heard.status == 429
    });
    until(|| gate.ask(ask).status != 429);
}

#[test]
fn notifications_count_too_and_take_nothing_from_others() {
    let env = TestEnv::with_config(TIGHT);
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let odd = told("whatever", &json!({}));
    let nobody_asked = json!({"jsonrpc": "2.0", "id": "x", "result": {}});
    is_bounded(&gate, &Ask::post(odd.to_string()));
    gate.result(&list().bearing(&token));
    // Whoever has sent too much can still answer what the gate asked.
    let told = Ask::post(odd.to_string());
    let answer = Ask::post(nobody_asked.to_string());
    until(|| gate.ask(&told).status == 429 && gate.ask(&answer).status != 429);
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}});
    let begin = Ask::legacy("", "initialize", params).bearing(&token);
    let mut session = None;
    until(|| {
        session = gate.ask(&begin).header("mcp-session-id").map(str::to_owned);
        session.is_some()
    });
    let batch = Value::Array(vec![odd; 10]).to_string();
    let batch = Ask::post(batch).header("mcp-session-id", &session.unwrap());
    until(|| gate.ask(&batch.clone().bearing(&token)).status == 429);
    let figures = gate.ask(&Ask::new("GET", "/metrics")).has(200).body;
    assert!(
        !figures.contains("tollgate_overloaded_total 0"),
        "{figures}"
    );
}

/// Calls, sends what `cancels` makes of a cancellation while the call runs, and sees it called off.
#[track_caller]
fn is_called_off(limits: &str, cancels: impl FnOnce(&Gate, &dyn Fn(&Value) -> Ask, Value)) {
    let stub = "[providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 60000\n";
    let env = TestEnv::with_config(&format!("[serve]\n{limits}\n{stub}"));
    let gate = Gate::open(&env);
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}});
    let begun = gate.ask(&Ask::legacy("", "initialize", params));
    let session = begun.header("mcp-session-id").unwrap();
    let call = Ask::legacy(session, "tools/call", json!({"name": "slow.read"}));
    let stream = gate.send(&call.again(7));
    let runs = |calls: u32| {
        let figures = gate.ask(&Ask::new("GET", "/metrics")).body;
        figures.contains(&format!("\ntollgate_running {calls}\n"))
    };
    until(|| runs(1));
    let post = |text: &Value| Ask::post(text.to_string()).header("mcp-session-id", session);
    cancels(&gate, &post, told("cancelled", &json!({"requestId": 7})));
    until(|| runs(0));
    drop(Open::answering(stream).unwrap().whole());
    let rows = env.recorded();
    let ended = rows.iter().find(|row| row["tool"] == "slow.read");
    let code = &ended.unwrap()["error_code"];
    assert_eq!(code, "tool.gate.invoke.cancelled");
    let is_late = |row: &Value| row["error_code"] == "tool.gate.invoke.timed_out";
    assert!(!rows.iter().any(is_late), "it ended by itself: {rows:#?}");
}

#[test]
fn whoever_has_taken_every_place_can_still_cancel() {
    is_called_off("concurrent_calls = 1", |gate, post, cancel| {
        gate.ask(&post(&cancel)).has(202);
    });
}

#[test]
fn whoever_has_sent_too_much_can_still_cancel() {
    let odd = told("whatever", &json!({}));
    for is_batch in [false, true] {
        is_called_off(
            "requests_per_second = 1\nburst = 4",
            |gate, post, cancel| {
                until(|| gate.ask(&post(&odd)).status == 429);
                let mut all = vec![odd.clone(); 10];
                all.push(cancel.clone());
                let sent = if is_batch { Value::Array(all) } else { cancel };
                gate.ask(&post(&sent));
            },
        );
    }
}

#[test]
fn a_flood_of_notifications_holds_nobody_up_on_stdio() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    let flood = format!("{}\n", told("whatever", &json!({}))).repeat(50_000);
    client.raw(flood.as_bytes());
    client.result("tools/list", json!({}));
    client.raw(flood.as_bytes());
    let mut other = Stdio::modern(&env, &[]);
    other.result("tools/list", json!({}));
    client.result("tools/list", json!({}));
    assert!(env.recorded().is_empty(), "nothing of it is kept");
    assert_eq!(client.end(), Vec::<Value>::new());
}
