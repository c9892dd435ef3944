//! What callers leave behind is bounded for each of them, and who stays below is unharmed.

use std::io::Write;

use serde_json::{Value, json};

use super::undisturbed;
use crate::{
    mcp::wire::{
        access::bearer,
        peer::{Ask, Gate, Open, meta},
    },
    support::{TestEnv, database},
};

/// Nothing but the budgets stands in the way.
const FAST: &str =
    "[serve]\nanonymous = true\nburst = 1_000_000\nrequests_per_second = 1_000_000\n";

fn in_session(name: &str, arguments: Value) -> Ask {
    calling("text.stats", name, arguments)
}

fn calling(tool: &str, session: &str, arguments: Value) -> Ask {
    let mut meta = meta();
    meta["tollgate/session"] = session.into();
    let params = json!({"name": tool, "arguments": arguments});
    Ask::saying(&meta, "tools/call", params)
}

/// Sends requests one after the other on one connection; gives their results.
fn each(gate: &Gate, all: impl Iterator<Item = Ask>) -> Vec<Value> {
    let mut stream = Open::sending(gate.address, b"");
    all.map(|ask| {
        stream.write_all(&ask.bytes(gate.address)).unwrap();
        let heard = Open::answering(stream.try_clone().unwrap())
            .unwrap()
            .whole();
        serde_json::from_str::<Value>(&heard.body).unwrap()["result"].clone()
    })
    .collect()
}

fn error(result: &Value) -> &Value {
    &result["_meta"]["tollgate/result"]["error"]
}

/// Memory of the process in kilobytes.
fn resident(gate: &Gate) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gate.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

fn figure(gate: &Gate, name: &str) -> u64 {
    let figures = gate.ask(&Ask::new("GET", "/metrics")).has(200).body;
    let line = figures.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name}: {figures}"))
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn fresh_session_names_are_bounded_and_others_unharmed() {
    let config = format!("{FAST}[limits]\nsessions_per_principal = 300\n");
    let env = TestEnv::with_config(&config);
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let own = || in_session("mine", json!({"text": "hello"})).bearing(&token);
    gate.result(&own());
    let before = resident(&gate);
    let large = "large words ".repeat(2000);
    let fresh = |at: usize| in_session(&format!("s{at}"), json!({"text": format!("{large}{at}")}));
    let results = each(&gate, (0..3000).map(fresh));
    let (ok, refused): (Vec<_>, Vec<_>) =
        results.iter().partition(|result| result["isError"] != true);
    assert_eq!(ok.len(), 300);
    for result in refused {
        assert_eq!(error(result)["kind"], "overloaded", "{result}");
        assert!(error(result)["retry_after_seconds"].as_u64() > Some(0));
    }
    let grown = resident(&gate).saturating_sub(before);
    assert!(grown < 96 << 10, "{grown} KB");
    let state = database(&env);
    let rows: i64 = state
        .query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))
        .unwrap();
    assert!(rows <= 305, "{rows}");
    // Sessions that are in use go on, and so does everybody else.
    assert_ne!(each(&gate, [fresh(0)].into_iter())[0]["isError"], true);
    let again = gate.result(&own());
    assert_eq!(
        again["_meta"]["tollgate/result"]["cache_hit"], true,
        "{again}"
    );
    assert_eq!(figure(&gate, "tollgate_sessions_refused_total"), 2700);
    let other = in_session("new", json!({"text": "hello"})).bearing(&token);
    assert_ne!(gate.result(&other)["isError"], true);
}

#[test]
fn kept_answers_are_evicted_from_whoever_holds_most() {
    let config =
        format!("{FAST}[limits]\nmemory_bytes = 131_072\nmemory_bytes_per_principal = 65_536\n");
    let env = TestEnv::with_config(&config);
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let own = || in_session("mine", json!({"text": "hello"})).bearing(&token);
    gate.result(&own());
    let fresh = |at: usize| in_session(&format!("s{}", at % 40), json!({"text": format!("{at}")}));
    let results = each(&gate, (0..2000).map(fresh));
    assert!(results.iter().all(|result| result["isError"] != true));
    assert!(figure(&gate, "tollgate_memory_bytes") <= 131_072);
    assert!(figure(&gate, "tollgate_answers_evicted_total") > 500);
    let again = gate.result(&own());
    assert_eq!(
        again["_meta"]["tollgate/result"]["cache_hit"], true,
        "{again}"
    );
    undisturbed(&gate);
}

#[test]
fn bodies_for_replay_are_bounded_by_caller() {
    let config = format!(
        "{FAST}[limits]\nbody_bytes_per_day = 4_194_304\nbody_bytes_per_day_per_principal = 1_048_576\n"
    );
    let env = TestEnv::with_config(&config);
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let large = "large words ".repeat(4000);
    let fresh = |at: usize| in_session("one", json!({"text": format!("{large}{at}")}));
    let results = each(&gate, (0..200).map(fresh));
    assert!(results.iter().all(|result| result["isError"] != true));
    let own = in_session("mine", json!({"text": large})).bearing(&token);
    assert_ne!(gate.result(&own)["isError"], true);
    assert!(figure(&gate, "tollgate_bodies_left_out_total") > 150);
    drop(gate);
    let rows = env.recorded();
    let endings = |principal: &str, replayable: bool| {
        let wanted = rows.iter().filter(|row| {
            let is_its = row["principal"]
                .as_str()
                .unwrap_or_default()
                .starts_with(principal);
            row["kind"] == "ending" && row["tool"] == "text.stats" && is_its
        });
        wanted.filter(|row| row["replayable"] == replayable).count()
    };
    assert_eq!(
        endings("anonymous", true) + endings("anonymous", false),
        200,
        "all are written"
    );
    assert!((10..=30).contains(&endings("anonymous", true)));
    assert_eq!(endings("token:", true), 1);
    let left_out = rows.iter().find(|row| row["replayable"] == false).unwrap();
    assert_eq!(left_out["not_replayable"], "over_budget");
}

#[test]
fn redacted_values_are_bounded_by_the_memory_they_take() {
    let config = format!(
        "{FAST}[limits]\nmemory_bytes = 8_388_608\nmemory_bytes_per_principal = 4_194_304\n"
    );
    let env = TestEnv::with_config(&config);
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let read = |session: &str, lines: usize| {
        let address = |at: usize| format!("user{at}@example.com\n");
        let text: String = (0..lines).map(address).collect();
        let arguments = json!({"text": text, "count": 10_000});
        calling("text.lines", session, arguments)
    };
    let fresh = |at: usize| read(&format!("s{at}"), 6000);
    let before = resident(&gate);
    let results = each(&gate, (0..20).map(fresh));
    let (ok, refused): (Vec<_>, Vec<_>) =
        results.iter().partition(|result| result["isError"] != true);
    assert!((1..=3).contains(&ok.len()), "{}", ok.len());
    for result in refused {
        assert_eq!(error(result)["kind"], "overloaded", "{result}");
        assert!(error(result)["retry_after_seconds"].as_u64() > Some(0));
    }
    assert!(figure(&gate, "tollgate_memory_bytes") <= 4_194_304);
    let grown = resident(&gate).saturating_sub(before);
    assert!(grown < 96 << 10, "{grown} KB");
    // Others are unharmed, and so is whoever asks for nothing that has to be remembered.
    let other = gate.result(&read("mine", 100).bearing(&token));
    assert_ne!(other["isError"], true, "{other}");
    assert_ne!(
        each(
            &gate,
            [in_session("s0", json!({"text": "hello"}))].into_iter()
        )[0]["isError"],
        true
    );
    undisturbed(&gate);
}

#[test]
fn approvals_that_wait_are_bounded_by_caller() {
    let config = format!(
        "{FAST}[limits]\npending_approvals = 40\npending_approvals_per_principal = 30\npending_approval_bytes_per_principal = 262_144\n[providers.stub]\ntools = [\"a.write\"]\nwrites = [\"a.write\"]\n"
    );
    let env = TestEnv::with_config(&config);
    let token = bearer(&env, &[]);
    let gate = Gate::open(&env);
    let ask = |session: &str, arguments: Value| calling("a.write", session, arguments);
    let large = "large words ".repeat(3000);
    let shown = |at: usize| ask("large", json!({"text": format!("{at} {large}")}));
    let kinds = |results: &[Value]| -> (usize, usize) {
        let kind = |wanted: &str| {
            let of = |result: &&Value| error(result)["kind"] == wanted;
            results.iter().filter(of).count()
        };
        (kind("confirmation_required"), kind("overloaded"))
    };
    let results = each(&gate, (0..40).map(shown));
    let (asked, refused) = kinds(&results);
    assert!(asked < 10 && asked + refused == 40, "{asked} {refused}");
    let results = each(&gate, (0..40).map(|at| ask("small", json!({"n": at}))));
    let (more, refused) = kinds(&results);
    assert!(
        asked + more <= 30 && more + refused == 40,
        "{more} {refused}"
    );
    let last = error(results.last().unwrap());
    assert_eq!(last["kind"], "overloaded", "{last}");
    assert!(last["retry_after_seconds"].as_u64() > Some(0), "{last}");
    let advice = last["recovery_suggestion"].as_str().unwrap();
    assert!(
        advice.contains("human") && advice.contains("wait"),
        "{advice}"
    );
    let rows: i64 = database(&env)
        .query_row("SELECT sum(length(preview)) FROM approvals", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(rows <= 262_144, "{rows}");
    // Others still ask, until all together are too many; and what was asked can be decided.
    let other = gate.result(&ask("mine", json!({"n": 1})).bearing(&token));
    assert_eq!(error(&other)["kind"], "confirmation_required", "{other}");
    undisturbed(&gate);
}
