//! How a gate ends: nothing is cut off, nothing new begins.

use std::{io::Write, net::TcpStream};

use rustix::process::Signal;
use serde_json::json;

use crate::{
    mcp::wire::peer::{Ask, Gate, Held, Open, result, until},
    support::TestEnv,
};

const SLOW: &str = "[providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 4000\n";
/// The server says that its tools only read, and is believed.
const READS: &str = "default_capability = \"L0\"\ntrust_annotations = true";

fn running(gate: &Gate) {
    until(|| {
        let figures = gate.ask(&Ask::new("GET", "/metrics")).body;
        figures.contains("\ntollgate_running 1\n")
    });
}

#[test]
fn calls_in_flight_finish_and_nothing_new_begins() {
    for signal in [Signal::TERM, Signal::INT] {
        let (env, held) = Held::with(READS, "");
        let mut gate = Gate::open(&env);
        let stream = gate.send(&Ask::modern("tools/call", held.call()));
        running(&gate);
        gate.signal(signal);
        until(|| TcpStream::connect(gate.address).is_err());
        held.end();
        let heard = Open::answering(stream).unwrap().whole().has(200);
        let done = result(&heard.json());
        assert_eq!(done["content"][0]["text"], "waited");
        assert_eq!(gate.wait(), Some(0));
        env.whole();
    }
}

#[test]
fn a_call_that_takes_too_long_to_finish_is_cancelled_in_order() {
    let config = format!("{SLOW}[serve]\ndrain_seconds = 0\n");
    let env = TestEnv::with_config(&config);
    let mut gate = Gate::open(&env);
    let _stream = gate.send(&Ask::call("slow.read", json!({})));
    running(&gate);
    gate.signal(Signal::TERM);
    assert_eq!(gate.wait(), Some(0));
    let rows = env.recorded();
    let endings: Vec<_> = rows
        .iter()
        .filter(|row| row["kind"] == "ending" && row["tool"] == "slow.read")
        .collect();
    assert_eq!(endings.len(), 1, "exactly one ending: {endings:?}");
    assert_eq!(endings[0]["error_code"], "tool.gate.invoke.cancelled");
    env.whole();
}

#[test]
fn a_call_whose_client_is_gone_finishes_too() {
    let (env, held) = Held::with(READS, "");
    let mut gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    let stream = gate.send(&Ask::legacy(&session, "tools/call", held.call()));
    running(&gate);
    drop(stream);
    gate.signal(Signal::TERM);
    held.end();
    assert_eq!(gate.wait(), Some(0));
    let rows = env.recorded();
    let mut endings = rows.iter().filter(|row| row["tool"] == Held::TOOL);
    assert_eq!(endings.next().unwrap()["status"], "ok");
}

#[test]
fn whoever_only_listens_does_not_hold_the_end_up() {
    let env = TestEnv::new();
    let mut gate = Gate::open(&env);
    let session = gate.session(|ask| ask);
    let mut listener = gate.begin(&Ask::new("GET", "/mcp").header("mcp-session-id", &session));
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let mut modern = gate.begin(&Ask::modern("subscriptions/listen", wanted));
    modern.event().unwrap();
    let _idle = TcpStream::connect(gate.address).unwrap();
    gate.signal(Signal::TERM);
    assert!(modern.event().unwrap()["result"].is_object());
    assert_eq!(listener.event(), None);
    assert_eq!(gate.wait(), Some(0));
}

#[test]
fn a_gate_that_stops_is_not_ready() {
    let env = TestEnv::new();
    let mut gate = Gate::open(&env);
    let question = Ask::new("GET", "/readyz").bytes(gate.address);
    let (begun, rest) = question.split_at(20);
    // Nobody is let in any more, so whoever hears of it had begun to ask.
    let mut stream = Open::sending(gate.address, begun);
    until(|| gate.has_read(&stream));
    gate.signal(Signal::TERM);
    until(|| TcpStream::connect(gate.address).is_err());
    stream.write_all(rest).unwrap();
    let heard = Open::answering(stream).unwrap().whole().has(503);
    assert_eq!(heard.body, "stopping\n");
    assert_eq!(gate.wait(), Some(0));
}
