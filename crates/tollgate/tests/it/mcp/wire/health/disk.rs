//! A disk that is full or cannot sync: not ready, nothing acknowledged, counted as what it is.

use std::{thread, time::Duration};

use serde_json::{Value, json};

use super::{
    failure,
    shim::{Fault, inject, preloaded},
};
use crate::mcp::wire::peer::{Ask, Gate, until};

const CALLS: usize = 20;

fn ready(gate: &Gate) -> (u16, String) {
    let heard = gate.ask(&Ask::new("GET", "/readyz"));
    (heard.status, heard.body)
}

/// Whether a call succeeded; one that did not says which code.
fn stats(gate: &Gate, text: &str) -> Result<(), Value> {
    let result = gate.call("text.stats", json!({"text": text}));
    if result["isError"] != true {
        return Ok(());
    }
    Err(failure(&result)["code"].clone())
}

#[test]
fn with_a_full_disk_a_gateway_is_not_ready_and_counts_the_failures() {
    let Some(env) = preloaded() else { return };
    let gate = Gate::open(&env);
    assert_eq!(ready(&gate), (200, "ready\n".to_owned()));
    inject(&env, Fault::Full);
    for number in 0..CALLS {
        let code = stats(&gate, &format!("full {number}")).unwrap_err();
        assert_eq!(code, "tool.gate.store.unavailable");
    }
    assert_eq!(ready(&gate), (503, "the disk is full\n".to_owned()));
    let figures = gate.ask(&Ask::new("GET", "/metrics")).has(200).body;
    let failed = "tollgate_requests_total{method=\"tools/call\",outcome=\"tool_error\"} 20";
    let coded = "tollgate_call_errors_total{code=\"tool.gate.store.unavailable\"} 20";
    for line in [failed, coded] {
        assert!(figures.lines().any(|it| it == line), "{line}: {figures}");
    }
    assert!(
        !figures.contains("method=\"tools/call\",outcome=\"ok\""),
        "{figures}"
    );
    inject(&env, Fault::Nothing);
    until(|| ready(&gate).0 == 200);
    stats(&gate, "room again").unwrap();
}

#[test]
fn a_gateway_that_nobody_calls_notices_a_full_disk_by_its_own_commit() {
    let Some(env) = preloaded() else { return };
    let gate = Gate::open(&env);
    inject(&env, Fault::Full);
    until(|| ready(&gate).0 == 503);
    inject(&env, Fault::Nothing);
    until(|| ready(&gate).0 == 200);
}

#[test]
fn while_syncs_fail_no_read_is_acknowledged() {
    let Some(env) = preloaded() else { return };
    let gate = Gate::open(&env);
    inject(&env, Fault::Sync);
    // The first one may be acknowledged before the background sync fails.
    drop(stats(&gate, "before"));
    thread::sleep(Duration::from_millis(300));
    for number in 0..CALLS {
        let code = stats(&gate, &format!("unsynced {number}")).unwrap_err();
        assert_eq!(code, "tool.gate.store.unavailable");
    }
    let (status, said) = ready(&gate);
    assert_eq!((status, said.as_str()), (503, "the disk does not sync\n"));
    inject(&env, Fault::Nothing);
    until(|| ready(&gate).0 == 200);
    stats(&gate, "synced again").unwrap();
    drop(gate);
    env.whole();
}
