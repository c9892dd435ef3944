//! When nobody needs to say who calls, and when that ends by itself.

use std::time::{Duration, Instant};

use super::{bearer, list};
use crate::{mcp::wire::peer::Gate, support::TestEnv};

/// Asks without a token until it is refused; whether that is soon.
fn is_closed_soon(gate: &Gate) -> bool {
    let at = Instant::now();
    while at.elapsed() < Duration::from_secs(10) {
        if gate.ask(&list()).status == 401 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}

#[test]
fn a_token_that_may_call_ends_it_and_an_approvers_does_not() {
    let env = TestEnv::new();
    let mut gate = Gate::open(&env);
    gate.result(&list());
    env.approver();
    std::thread::sleep(Duration::from_millis(2500));
    gate.result(&list());
    let token = bearer(&env, &[]);
    assert!(is_closed_soon(&gate));
    gate.result(&list().bearing(&token));
    drop((gate.note(), gate.note()));
    // A gate that is started now says so.
    let mut later = Gate::open(&env);
    later.ask(&list()).has(401);
    let notes = [later.note(), later.note(), later.note()].concat();
    assert!(notes.contains("without a token"), "{notes}");
}

#[test]
fn a_token_that_has_ended_does_not_end_it() {
    let env = TestEnv::new();
    let token = bearer(&env, &[]);
    let id = env.run(&["token", "list", "--json"]).exits(0).json();
    let id = id.to_string();
    let id = id.split("\"tk-").nth(1).unwrap().split('"').next().unwrap();
    env.run(&["token", "revoke", &format!("tk-{id}")]).exits(0);
    let gate = Gate::open(&env);
    gate.result(&list());
    gate.ask(&list().bearing(&token)).has(401);
}

#[test]
fn a_host_of_elsewhere_ends_it() {
    let env = TestEnv::with_config("[serve]\nallowed_hosts = [\"gate.example\"]\n");
    let gate = Gate::open(&env);
    gate.ask(&list()).has(401);
    gate.ask(&list().header("host", "gate.example")).has(401);
}

#[test]
fn who_says_so_keeps_it_and_is_warned() {
    let config = "[serve]\nanonymous = true\nallowed_hosts = [\"gate.example\"]\n";
    let env = TestEnv::with_config(config);
    let token = bearer(&env, &[]);
    let mut gate = Gate::open(&env);
    gate.result(&list());
    gate.result(&list().bearing(&token));
    // What names a host of elsewhere came from there.
    gate.ask(&list().header("host", "gate.example")).has(401);
    let notes = [gate.note(), gate.note(), gate.note()].concat();
    assert!(notes.contains("serve.anonymous"), "{notes}");
    let said = env.run(&["doctor"]).out;
    assert!(said.contains("serve.anonymous"), "{said}");
    let plain = TestEnv::new();
    assert!(!plain.run(&["doctor"]).out.contains("serve.anonymous"));
}
