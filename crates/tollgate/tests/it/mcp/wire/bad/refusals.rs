//! What is refused is told clean, and written down once.

use serde_json::{Value, json};

use super::{MALFORMED, endings, good, undisturbed};
use crate::{
    mcp::wire::peer::{Ask, Gate, Stdio, VERSION_KEY, code, meta, request, until},
    support::TestEnv,
};

const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

#[test]
fn no_refusal_repeats_a_secret_or_a_control_character() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let odd = format!("\u{1b}[31m\u{202e}{SECRET}");
    let asks = [
        Ask::modern("tools/list", json!({"toolset": odd})),
        Ask::modern("tools/list", json!({"profile": odd})),
        Ask::modern("resources/read", json!({"uri": format!("odd://{SECRET}")})),
        Ask::modern("prompts/get", json!({"name": SECRET})),
        Ask::call(SECRET, json!({})),
        Ask::modern(&format!("odd/{SECRET}"), json!({})),
    ];
    for ask in asks {
        let heard = gate.ask(&ask);
        assert!(code(&heard.json()) != 0, "{heard:?}");
        assert!(!heard.body.contains(SECRET), "{heard:?}");
        assert!(!heard.body.contains("\\u001b") && !heard.body.contains('\u{202e}'));
    }
    let listed = gate.ask(&Ask::modern("tools/list", json!({"allow_tools": [SECRET]})));
    assert!(!listed.has(200).body.contains(SECRET));
    undisturbed(&gate);
}

#[test]
fn a_session_is_a_plain_name() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let named = |name: &str| {
        let mut said: Value = meta();
        said["tollgate/session"] = json!(name);
        Ask::saying(
            &said,
            "tools/call",
            json!({"name": "text.stats", "arguments": {"text": "x"}}),
        )
    };
    for odd in [SECRET, "two words", "\u{1b}[31m", "名", ""] {
        let heard = gate.ask(&named(odd));
        assert_eq!(code(&heard.json()), -32602, "{odd}: {heard:?}");
    }
    assert_eq!(gate.result(&named("research-1"))["isError"], false);
    let record = Value::Array(env.recorded()).to_string();
    assert!(!record.contains(SECRET) && !record.contains("two words"));
}

#[test]
fn refusals_of_every_method_are_written_down_once() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let asks = [
        Ask::modern("tools/list", json!({"toolset": "nope"})),
        Ask::modern("tools/list", json!({"cursor": "nope"})),
        Ask::modern("nothing/here", json!({})),
        Ask::modern("subscriptions/listen", json!({})),
    ];
    for (number, ask) in asks.iter().enumerate() {
        gate.ask(ask);
        assert_eq!(endings(&env, MALFORMED), number + 1, "{number}");
    }
    gate.ask(&good().bearing("tgb_nobody")).has(401);
    assert_eq!(endings(&env, "tool.provider.auth.refused"), 1);
}

#[test]
fn a_version_nobody_speaks_is_written_down() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let mut client = Stdio::modern(&env, &[]);
    let odd = "2030-01-01";
    let mut said: Value = meta();
    said[VERSION_KEY] = json!(odd);
    let bare = request(1, "tools/list", &json!({})).to_string();
    let asks = [Ask::saying(&said, "tools/list", json!({})), Ask::post(bare)];
    for (number, ask) in asks.into_iter().enumerate() {
        let heard = gate.ask(&ask.header("mcp-protocol-version", odd)).has(400);
        assert_eq!(code(&heard.json()), -32022);
        assert_eq!(endings(&env, MALFORMED), number + 1);
    }
    client.meta = Some(said);
    assert_eq!(client.error("tools/list", json!({}))["code"], -32022);
    assert_eq!(endings(&env, MALFORMED), 3);
    let rows = env.recorded();
    let rows = rows.iter().filter(|row| row["error_code"] == MALFORMED);
    let told: Vec<String> = rows.map(Value::to_string).collect();
    assert!(told.iter().all(|row| row.contains(odd)), "{told:#?}");
}

#[test]
fn headers_that_are_there_twice_are_refused() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    for (name, value) in [
        ("Mcp-Method", "tools/list"),
        ("Mcp-Name", "text.find"),
        ("MCP-Protocol-Version", "2025-11-25"),
    ] {
        let bytes = String::from_utf8(good().bytes(gate.address)).unwrap();
        let twice = bytes.replacen("\r\n", &format!("\r\n{name}: {value}\r\n"), 1);
        let open = crate::mcp::wire::peer::Open::answering(crate::mcp::wire::peer::Open::sending(
            gate.address,
            twice.as_bytes(),
        ));
        let heard = open.unwrap().whole();
        assert_eq!(code(&heard.has(400).json()), -32020, "{name}");
    }
}

#[test]
fn a_body_that_is_compressed_is_not_read() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    gate.ask(&good().header("content-encoding", "gzip"))
        .has(415);
    undisturbed(&gate);
}

#[test]
fn whoever_only_listens_takes_no_place_from_calls() {
    let env = TestEnv::with_config("[serve]\nconcurrent_calls = 2\n");
    let gate = Gate::open(&env);
    let listen = Ask::modern(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    let mut streams: Vec<_> = (0..4).map(|_| gate.begin(&listen)).collect();
    for stream in &mut streams {
        let first = stream.event().unwrap();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    }
    undisturbed(&gate);
    drop(streams);
    until(|| gate.call("text.stats", json!({"text": "hello"}))["isError"] == false);
}
