//! Limits of each principal: who asks too much is told when to come back.

use serde_json::{Value, json};

use super::{bearer, list};
use crate::{
    mcp::wire::peer::{Ask, Gate, Open, error, result, until},
    support::TestEnv,
};

const TIGHT: &str = "[serve]\nrequests_per_second = 1\nburst = 2\n";

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
    let failure = &refused["structuredContent"]["error"];
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
    let config = "[serve]\nconcurrent_calls = 1\n\
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
    let kind = &refused["structuredContent"]["error"]["kind"];
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
        done["structuredContent"]["error"]["kind"] == "overloaded"
    });
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let begin = Ask::legacy("", "initialize", params);
    until(|| gate.ask(&begin).header("retry-after").is_some());
}
