//! Sessions of older clients: their own, and nobody else's.

use serde_json::json;

use super::{MALFORMED, endings, undisturbed};
use crate::{
    mcp::wire::peer::{Ask, Gate, code, result},
    support::TestEnv,
};

fn bearer(env: &TestEnv) -> String {
    let made = env.run(&["token", "create", "--quiet"]).exits(0);
    made.out.trim().to_owned()
}

fn listing(session: &str) -> Ask {
    Ask::legacy(session, "tools/list", json!({}))
}

fn verb(verb: &str, session: &str) -> Ask {
    Ask::new(verb, "/mcp")
        .header("mcp-session-id", session)
        .header("accept", "text/event-stream")
}

#[test]
fn a_session_of_another_is_no_session() {
    let env = TestEnv::with_config("[serve]\nanonymous = true\n");
    let (ada, eve) = (bearer(&env), bearer(&env));
    let gate = Gate::open(&env);
    let session = gate.session(|ask| ask.bearing(&ada));
    gate.ask(&listing(&session).bearing(&ada)).has(200);
    let wrong = [
        listing(&session).bearing(&eve),
        listing(&session),
        verb("GET", &session).bearing(&eve),
        verb("DELETE", &session).bearing(&eve),
        listing("0123456789abcdef0123456789abcdef"),
        listing("../../etc"),
    ];
    for (number, ask) in wrong.iter().enumerate() {
        let heard = gate.ask(ask).has(404);
        assert_eq!(code(&heard.json()), -32600);
        assert_eq!(endings(&env, MALFORMED), number + 1, "each is written down");
    }
    let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    let told = Ask::post(told.to_string()).header("mcp-session-id", &session);
    gate.ask(&told.clone().bearing(&eve)).has(404);
    assert_eq!(endings(&env, MALFORMED), wrong.len() + 1);
    gate.ask(&told.bearing(&ada)).has(202);
    gate.ask(&listing(&session).bearing(&ada)).has(200);
}

#[test]
fn a_session_that_is_ended_is_gone() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    let other = gate.session(|ask| ask);
    assert_ne!(session, other);
    gate.ask(&verb("DELETE", &session)).has(204);
    let heard = gate.ask(&listing(&session)).has(404);
    assert_eq!(code(&heard.json()), -32600);
    gate.ask(&verb("DELETE", &session)).has(404);
    gate.ask(&verb("GET", &session)).has(404);
    let heard = gate.ask(&listing(&other)).has(200);
    assert!(result(&heard.json())["tools"].is_array());
}

#[test]
fn without_a_session_there_is_nothing_to_listen_to_or_to_end() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for name in ["GET", "DELETE", "PUT", "PATCH"] {
        let heard = gate.ask(&Ask::new(name, "/mcp")).has(405);
        assert!(heard.header("allow").unwrap().contains("POST"), "{name}");
    }
    undisturbed(&gate);
}

#[test]
fn one_listener_hears_what_concerns_no_request() {
    let env = TestEnv::new();
    let gate = Gate::open_with(&env, &["--conformance-fixtures"]);
    let session = gate.session(|ask| ask);
    let mut listener = gate.begin(&verb("GET", &session));
    assert_eq!(listener.status(), 200);
    gate.ask(&verb("GET", &session)).has(409);
    let call = json!({"name": "test_trigger_tool_change", "arguments": {}});
    gate.ask(&Ask::legacy(&session, "tools/call", call))
        .has(200);
    let heard = listener.event().unwrap();
    assert_eq!(heard["method"], "notifications/tools/list_changed");
    gate.ask(&verb("DELETE", &session)).has(204);
    assert_eq!(listener.event(), None, "the stream ends with its session");
}

#[test]
fn what_is_wrong_within_a_session_is_written_down() {
    let slow = "[providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 700\n";
    let env = TestEnv::with_config(slow);
    let gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    let call = Ask::legacy(&session, "tools/call", json!({"name": "slow.read"}));
    let answers = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| gate.ask(&call).has(200).json()));
        both.map(|one| one.join().unwrap())
    });
    let refused = answers.iter().filter(|one| one.get("error").is_some());
    let codes: Vec<i64> = refused.map(code).collect();
    assert_eq!(codes, [-32600], "one of them had an id that was in use");
    assert_eq!(endings(&env, MALFORMED), 1);
    let odd = [
        ("logging/setLevel", json!({"level": "loud"})),
        ("resources/subscribe", json!({"uri": 7})),
    ];
    for (number, (method, params)) in odd.into_iter().enumerate() {
        let heard = gate.ask(&Ask::legacy(&session, method, params)).has(200);
        assert_eq!(code(&heard.json()), -32602, "{method}");
        assert_eq!(endings(&env, MALFORMED), number + 2, "{method}");
    }
}

#[test]
fn a_session_that_nobody_uses_ends() {
    let env = TestEnv::with_config("[serve]\nsession_ttl_seconds = 1\n");
    let gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    gate.ask(&listing(&session)).has(200);
    std::thread::sleep(std::time::Duration::from_millis(1200));
    gate.ask(&listing(&session)).has(404);
}

#[test]
fn the_session_unused_longest_gives_way() {
    let env = TestEnv::with_config("[serve]\nsessions = 2\n");
    let gate = Gate::open(&env);
    let first = gate.session(|ask| ask);
    let second = gate.session(|ask| ask);
    gate.ask(&listing(&first)).has(200);
    let third = gate.session(|ask| ask);
    gate.ask(&listing(&second)).has(404);
    gate.ask(&listing(&first)).has(200);
    gate.ask(&listing(&third)).has(200);
}

#[test]
fn a_session_is_a_session_of_the_gate_too() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let (one, other) = (gate.session(|ask| ask), gate.session(|ask| ask));
    let stats = json!({"name": "text.stats", "arguments": {"text": "hello"}});
    let hit = |session: &str| {
        let heard = gate.ask(&Ask::legacy(session, "tools/call", stats.clone()));
        result(&heard.has(200).json())["_meta"]["tollgate/result"]["cache_hit"] == true
    };
    assert!(!hit(&one) && hit(&one));
    assert!(!hit(&other), "nothing is shared between sessions");
}
