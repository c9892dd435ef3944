//! Requests of nobody in particular: refused, counted, and written down in bounds.

use std::io::Write;

use rustix::process::Signal;

use super::{good, undisturbed};
use crate::{
    mcp::wire::peer::{Ask, Gate, Open},
    support::TestEnv,
};

const REQUESTS: usize = 1500;

/// Sends requests on one connection until all are answered.
fn flood(gate: &Gate, ask: &Ask, status: u16) {
    let bytes = ask.bytes(gate.address);
    let mut stream = Open::sending(gate.address, b"");
    for _ in 0..REQUESTS {
        stream.write_all(&bytes).unwrap();
        let heard = Open::answering(stream.try_clone().unwrap()).unwrap();
        heard.whole().has(status);
    }
}

#[test]
fn strangers_do_not_fill_the_log() {
    let env = TestEnv::new();
    let mut gate = Gate::open(&env);
    let wrong = format!("tgb_{}", "0".repeat(48));
    flood(&gate, &good().bearing(&wrong), 401);
    flood(&gate, &good().header("host", "evil.example"), 403);
    undisturbed(&gate);
    let figures = gate.ask(&Ask::new("GET", "/metrics")).has(200).body;
    let counted = format!("tollgate_refused_total {}\n", 2 * REQUESTS);
    assert!(figures.contains(&counted), "each one is counted");
    gate.signal(Signal::TERM);
    assert_eq!(gate.wait(), Some(0));
    let rows = env.recorded();
    let strangers: Vec<_> = rows
        .iter()
        .filter(|row| row["principal"] == "unauthenticated")
        .collect();
    // A window may end meanwhile; each has two rows of a kind at most.
    assert!((2..=12).contains(&strangers.len()), "{}", strangers.len());
    let count = |row: &&serde_json::Value| row["count"].as_u64().unwrap_or(0);
    let total: u64 = strangers.iter().map(count).sum();
    assert_eq!(
        total,
        2 * REQUESTS as u64,
        "no refusal is lost: {strangers:?}"
    );
}
