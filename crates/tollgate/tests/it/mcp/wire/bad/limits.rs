//! Too much, and too slowly.

use std::io::{Read, Write};

use serde_json::json;

use super::{MALFORMED, endings, good, undisturbed};
use crate::{
    mcp::wire::peer::{Ask, Gate, Open, Stdio, code, meta, request, until, with_meta},
    support::TestEnv,
};

const MIB: usize = 1 << 20;

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_read() {
    let env = TestEnv::new();
    let mut client = Stdio::modern(&env, &[]);
    client.raw(&vec![b'x'; 16 * MIB]);
    client.raw(b"\n");
    let refused = client.next();
    assert_eq!(code(&refused), -32600);
    assert!(refused["id"].is_null());
    let said = refused["error"]["message"].as_str().unwrap();
    assert!(said.contains("4194304"), "{said}");
    assert_eq!(endings(&env, "tool.gate.request.too_large"), 1);
    client.result("tools/list", json!({}));
}

#[test]
fn a_body_that_is_too_long_is_refused_unread() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let whole = good().bytes(gate.address);
    let head = String::from_utf8(whole).unwrap();
    let (head, _) = head.split_once("content-length").unwrap();
    let mut stream = Open::sending(
        gate.address,
        format!("{head}content-length: {}\r\n\r\n", 5 * MIB).as_bytes(),
    );
    stream.write_all(&vec![b' '; 4 * MIB + 1]).unwrap();
    let heard = Open::answering(stream).unwrap().whole().has(413);
    assert_eq!(code(&heard.json()), -32600);
    assert_eq!(heard.header("connection"), Some("close"));
    assert_eq!(endings(&env, "tool.gate.request.too_large"), 1);
    undisturbed(&gate);
}

#[test]
fn half_a_line_holds_nobody_up() {
    let env = TestEnv::new();
    let mut slow = Stdio::modern(&env, &[]);
    let params = with_meta(json!({}), &meta());
    let line = request(1, "tools/list", &params).to_string();
    let (first, second) = line.split_at(20);
    slow.raw(first.as_bytes());
    let mut other = Stdio::modern(&env, &[]);
    other.result("tools/list", json!({}));
    slow.raw(format!("{second}\n").as_bytes());
    assert_eq!(slow.next()["id"], 1, "the rest may come later");
    slow.raw(first.as_bytes());
    let (code, _) = slow.finish();
    assert_eq!(code, Some(0), "half a line at the end is no failure");
}

#[test]
fn half_a_request_holds_nobody_up_and_is_let_go() {
    let env =
        TestEnv::with_config("[serve]\nheader_timeout_seconds = 1\nbody_timeout_seconds = 1\n");
    let gate = Gate::open(&env);
    let whole = good().bytes(gate.address);
    let mut half_head = Open::sending(gate.address, &whole[..40]);
    let half_body = Open::sending(gate.address, &whole[..whole.len() - 10]);
    undisturbed(&gate);
    let heard = Open::answering(half_body).unwrap().whole().has(408);
    assert_eq!(code(&heard.json()), -32600);
    assert_eq!(endings(&env, MALFORMED), 1, "it is written down");
    let mut rest = Vec::new();
    drop(half_head.read_to_end(&mut rest));
    let said = String::from_utf8(rest).unwrap();
    assert!(!said.contains("200"), "{said}");
    undisturbed(&gate);
}

#[test]
fn who_takes_nothing_of_the_answers_is_let_go() {
    const ASKED: usize = 200;
    let env = TestEnv::with_config("[serve]\nbody_timeout_seconds = 1\n");
    let gate = Gate::open(&env);
    let all = Ask::modern("tools/list", json!({"toolset": "all"})).bytes(gate.address);
    let mut stream = Open::sending(gate.address, &all);
    let whole = Open::answering(stream.try_clone().unwrap()).unwrap();
    let size = whole.whole().has(200).body.len();
    let mut writing = stream.try_clone().unwrap();
    // Nobody reads, so at some point nothing more can be sent either way.
    let asking = std::thread::spawn(move || {
        (0..ASKED)
            .take_while(|_| writing.write_all(&all).is_ok())
            .count()
    });
    let figure = |gate: &Gate| gate.ask(&Ask::new("GET", "/metrics")).has(200).body;
    let open = "tollgate_connections 1\n";
    until(|| figure(&gate).contains(open));
    let mut heard = Vec::new();
    drop(stream.read_to_end(&mut heard));
    assert!(heard.len() < size * ASKED, "{} of {size}", heard.len());
    assert!(asking.join().unwrap() <= ASKED);
    undisturbed(&gate);
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let heard = gate.ask(&good().header("x-long", &"x".repeat(128 << 10)));
    assert_eq!(heard.status, 431);
    let many = (0..200).fold(good(), |ask, number| {
        ask.header(&format!("x-{number}"), "1")
    });
    assert_eq!(gate.ask(&many).status, 431);
    undisturbed(&gate);
}

#[test]
fn one_connection_carries_many_requests() {
    let env = TestEnv::new();
    let gate = Gate::open(&env);
    let bytes = good().bytes(gate.address);
    let mut stream = Open::sending(gate.address, &bytes);
    for _ in 0..3 {
        let again = stream.try_clone().unwrap();
        let heard = Open::answering(again).unwrap().whole().has(200);
        assert!(heard.body.contains("\"characters\":5"));
        stream.write_all(&bytes).unwrap();
    }
}

#[test]
fn arguments_that_are_too_large_are_a_result() {
    let env = TestEnv::with_config("[limits]\nargument_bytes = 65_536\n");
    let gate = Gate::open(&env);
    let heard = gate.ask(&Ask::call(
        "text.stats",
        json!({"text": "x".repeat(70_000)}),
    ));
    let heard = heard.has(200).json();
    assert_eq!(heard["result"]["isError"], true, "{heard}");
    undisturbed(&gate);
}
