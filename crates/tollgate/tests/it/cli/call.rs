//! `tollgate call`: the envelope, the session, and how it ends.

use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{TestEnv, approval_id, database, masked};

const STATS: (&str, &str) = ("text.stats", r#"{"text":"hello"}"#);

/// A read, a write and what each costs.
const STUBS: &str = r#"
[limits]
session_tokens = 10

[providers.stub]
tools = ["prices.lookup", "shelf.write"]
writes = ["shelf.write"]
units = 4
"#;

#[test]
fn json_is_exactly_the_envelope() {
    let env = TestEnv::new();
    let ran = env.call(STATS.0, STATS.1, &[]).exits(0);
    assert_eq!(ran.err, "");
    assert_snapshot!(masked(&ran.json()), @r#"
    {
      "ok": true,
      "status": "ok",
      "tool": "text.stats",
      "data": {
        "characters": 5,
        "bytes": 5,
        "words": 1,
        "lines": 1
      },
      "warnings": [],
      "error": null,
      "cache_key": "text.stats:cbbbdcd27692344de5dbab3a",
      "cache_hit": false,
      "budget_ledger": {
        "session_estimated": 0,
        "session_consumed": 0,
        "remaining_limit": null,
        "blocked_actions": [],
        "cache_hits": 0,
        "consumed_source": "none"
      },
      "meta": {
        "call_id": "[call_id]",
        "trace_id": "[trace_id]",
        "duration_ms": "[duration_ms]",
        "provider": "builtin",
        "capability": "L0",
        "cache_hit": false,
        "input_fingerprint": "[input_fingerprint]",
        "output_fingerprint": "a3974d54c32694bed21a2ca0ec91e7c70a52c4a3621d1d717f754098c7edfe03",
        "redaction_applied": false,
        "tainted": false,
        "receipt": "[receipt]"
      }
    }
    "#);
}

#[test]
fn the_second_identical_call_is_answered_from_the_stored_session() {
    let env = TestEnv::new();
    let first = env.ok(STATS.0, STATS.1);
    let again = env.call(STATS.0, r#"{ "text" : "hello" }"#, &[]).exits(0);
    assert!(again.out.contains(r#""cache_hit":true"#));
    let again = again.json();
    assert_eq!(again["data"], first["data"]);
    assert_eq!(again["cache_key"], first["cache_key"]);
    assert_eq!(again["budget_ledger"]["cache_hits"], 1);
    assert_eq!(again["meta"]["cache_hit"], true);
    assert_ne!(again["meta"]["call_id"], first["meta"]["call_id"]);
}

#[test]
fn sessions_do_not_share_answers_or_budgets() {
    let mut env = TestEnv::with_config(STUBS);
    env.ok("prices.lookup", "{}");
    let other = env.call("prices.lookup", "{}", &["--session", "other"]);
    let other = other.exits(0).json();
    assert_eq!(other["cache_hit"], false);
    assert_eq!(other["budget_ledger"]["session_consumed"], 4);
    assert_eq!(env.ok("prices.lookup", "{}")["cache_hit"], true);

    env.set("TOLLGATE_SESSION", "other");
    assert_eq!(env.ok("prices.lookup", "{}")["cache_hit"], true);
    let named = env.call("prices.lookup", "{}", &["--session", "third"]);
    assert_eq!(named.exits(0).json()["cache_hit"], false);
}

#[test]
fn from_cache_never_calls() {
    let env = TestEnv::new();
    let missing = env
        .call(STATS.0, STATS.1, &["--from-cache"])
        .exits(1)
        .json();
    assert_eq!(missing["error"]["kind"], "cache_miss");
    env.ok(STATS.0, STATS.1);
    let found = env
        .call(STATS.0, STATS.1, &["--from-cache"])
        .exits(0)
        .json();
    assert_eq!(found["cache_hit"], true);
}

#[test]
fn a_dry_run_says_verdict_and_estimate_and_calls_nothing() {
    let env = TestEnv::with_config(STUBS);
    let read = env
        .call("prices.lookup", "{}", &["--dry-run"])
        .exits(0)
        .json();
    assert_eq!(
        read["data"],
        json!({
            "dry_run": true, "verdict": "allow", "rule": "default.read", "capability": "L0",
            "estimated_tokens": 4, "worst_case_tokens": 4,
        })
    );
    assert_eq!(read["warnings"], json!(["dry_run"]));
    assert_eq!(read["budget_ledger"]["session_consumed"], 0);
    let write = env
        .call("shelf.write", "{}", &["--dry-run"])
        .exits(0)
        .json();
    assert_eq!(write["data"]["verdict"], "needs_human");
    let approvals = env.run(&["approvals", "--all", "--json"]).exits(0).json();
    assert_eq!(approvals["approvals"], json!([]));
    assert_eq!(env.ok("prices.lookup", "{}")["cache_hit"], false);
}

#[test]
fn arguments_come_from_the_line_a_file_or_standard_input() {
    let env = TestEnv::new();
    env.write("project/arguments.json", "\n{\"text\": \"hello\"}\n");
    let plain = env.ok(STATS.0, STATS.1);
    let file = env.ok(STATS.0, "@arguments.json");
    let all = ["call", STATS.0, "--args", "-", "--json"];
    let piped = env.feed(&all, STATS.1).exits(0).json();
    assert_eq!(plain["data"], file["data"]);
    assert_eq!(plain["data"], piped["data"]);
    let missing = env.call(STATS.0, "@nowhere.json", &[]).exits(2);
    assert_eq!(missing.out, "");
    assert!(missing.err.contains("nowhere.json"));
}

#[test]
fn people_get_plain_text_without_paint_in_a_pipe() {
    let env = TestEnv::new();
    let ran = env.run(&["call", STATS.0, "--args", STATS.1]).exits(0);
    assert_eq!(
        ran.out,
        "characters  5\nbytes       5\nwords       1\nlines       1\n"
    );
    assert!(ran.err.starts_with("ok text.stats ("));
    let refused = env.run(&["call", "session.forget"]).exits(3);
    assert_eq!(refused.out, "");
    assert!(
        refused
            .err
            .contains("to allow it once:  tollgate approvals approve ap-")
    );
    for ran in [ran, refused] {
        assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'));
    }
}

#[test]
fn the_exit_code_says_how_it_ended() {
    let env = TestEnv::with_config(STUBS);
    env.write(
        "config/tollgate/policies/mine.cedar",
        r#"@id("mine.no") forbid (principal, action, resource) when { resource.name == "time.now" };"#,
    );
    let code = |arguments: &[&str]| env.run(arguments).code;
    assert_eq!(code(&["call", STATS.0, "--args", STATS.1]), 0);
    assert_eq!(code(&["call", "text.stats", "--args", r#"{"text":5}"#]), 1);
    assert_eq!(code(&["call", "no.such"]), 2);
    assert_eq!(code(&["call"]), 2);
    assert_eq!(code(&["fly"]), 2);
    assert_eq!(code(&["call", "text.stats", "--args", "{"]), 2);
    assert_eq!(code(&["call", "shelf.write"]), 3);
    assert_eq!(code(&["call", "time.now"]), 4);
    assert_eq!(code(&["--help"]), 0);
    assert_eq!(code(&["--version"]), 0);
}

#[test]
fn a_denied_call_names_its_rule() {
    let env = TestEnv::new();
    env.write(
        "config/tollgate/policies/mine.cedar",
        r#"@id("mine.no") forbid (principal, action, resource) when { resource.name == "time.now" };"#,
    );
    let denied = env.call("time.now", "{}", &[]).exits(4).json();
    assert_eq!(denied["error"]["kind"], "policy_denied");
    assert!(denied["error"].to_string().contains("mine.no"));
    let yes = env.call("time.now", "{}", &["--yes"]).exits(4).json();
    assert_eq!(yes["error"]["kind"], "policy_denied");
}

#[test]
fn a_call_that_does_not_fit_the_budget_names_what_is_left() {
    let env = TestEnv::with_config(STUBS);
    env.ok("prices.lookup", r#"{"item":1}"#);
    let second = env.ok("prices.lookup", r#"{"item":2}"#);
    assert_eq!(second["budget_ledger"]["remaining_limit"], 2);
    let third = env.call("prices.lookup", r#"{"item":3}"#, &[]).exits(1);
    let third = third.json();
    assert_eq!(third["error"]["kind"], "budget_exceeded");
    assert_eq!(third["error"]["details"]["remaining_limit"], 2);
    assert_eq!(env.ok("prices.lookup", r#"{"item":1}"#)["cache_hit"], true);
}

#[test]
fn an_answer_is_clean_wherever_it_is_seen() {
    let env = TestEnv::new();
    let key = ["AKIA", "IOSFODNN7EXAMPLQ"].concat();
    let text = format!("write to ada@example.com with {key}");
    let arguments = json!({"text": text}).to_string();
    let ran = env.call("text.lines", &arguments, &[]).exits(0);
    assert_eq!(ran.json()["meta"]["redaction_applied"], true);
    let recorded = env.run(&["audit", "export"]).exits(0).out;
    for seen in [&ran.out, &recorded] {
        assert!(!seen.contains(&key) && !seen.contains("ada@example.com"));
    }
    let rows = database(&env);
    let answers: i64 = rows
        .query_row("SELECT count(*) FROM cache", [], |row| row.get(0))
        .unwrap();
    let bodies: Vec<String> = rows
        .prepare("SELECT coalesce(arguments, '') || coalesce(data, '') FROM bodies")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(answers <= 1);
    assert!(bodies.iter().all(|body| !body.contains(&key)));
}

#[test]
fn a_tool_that_never_answers_runs_out_of_time() {
    let env = TestEnv::with_config(
        "[limits]\ncall_timeout_ms = 100\n\
         [providers.stub]\ntools = [\"slow.read\"]\ndelay_ms = 60000\n",
    );
    let late = env.call("slow.read", "{}", &[]).exits(1).json();
    assert_eq!(late["error"]["kind"], "timeout");
    assert_eq!(late["error"]["can_retry"], true);
    let recorded = env.recorded();
    let endings = recorded.iter().filter(|row| row["kind"] == "ending");
    assert_eq!(endings.count(), 1);
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let env = TestEnv::new();
    let mut child = env.start(&["tools", "list", "--json"]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn every_command_prints_one_json_document_or_nothing() {
    let env = TestEnv::new();
    env.ok(STATS.0, STATS.1);
    for command in [
        "tools list",
        "tools show text.stats",
        "tools search text",
        "session --all",
        "ledger",
        "approvals --all",
        "grants",
        "review list",
        "audit list",
        "audit show 1",
        "audit verify",
        "audit receipt 1",
        "policy show",
        "policy check",
        "explain text.stats",
        "token create --quiet",
        "token list",
        "doctor",
        "demo",
    ] {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push("--json");
        env.run(&arguments).exits(0).json();
    }
    for command in [
        "approve ap-none",
        "review show rv-none",
        "replay none",
        "audit show 99",
    ] {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push("--json");
        assert_eq!(env.run(&arguments).exits(2).out, "");
    }
}

#[test]
fn an_interrupt_cancels_the_call_in_order() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"slow.write\"]\nwrites = [\"slow.write\"]\ndelay_ms = 60000\n",
    );
    let asked = env.call("slow.write", "{}", &[]).exits(3).json();
    let token = env.approver();
    env.run(&["approve", &approval_id(&asked), "--token", &token])
        .exits(0);
    let child = env.start(&["call", "slow.write", "--json"]);
    env.wait_for_intent();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let envelope: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(envelope["error"]["kind"], "cancelled");
    assert_eq!(
        envelope["error"]["can_retry"], false,
        "it may have happened"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_secret_like_argument_is_neither_kept_nor_shown() {
    let env = TestEnv::with_config("[providers.stub]\ntools = [\"login.try\"]\n");
    let word = ["Zq8", "vT2x", "Lm9R", "w4Ks"].concat();
    let secret = json!({"password": word}).to_string();
    for _ in 0..2 {
        let answer = env.call("login.try", &secret, &[]).exits(0);
        assert_eq!(answer.json()["cache_hit"], false);
    }
    let exported = env.run(&["audit", "export"]).exits(0).out;
    assert!(!exported.contains(&word), "{exported}");
}

#[test]
fn a_profile_turns_tools_off_with_a_reason() {
    let env = TestEnv::with_config(
        "[profiles.quiet]\ninactive = [\"time.*\"]\nreason = \"no clocks here\"\n",
    );
    env.ok("time.now", "{}");
    let off = env.call("time.now", "{}", &["--profile", "quiet"]).exits(1);
    let off = off.json();
    assert_eq!(off["error"]["kind"], "inactive_tool");
    assert!(off["error"].to_string().contains("no clocks here"));
}
