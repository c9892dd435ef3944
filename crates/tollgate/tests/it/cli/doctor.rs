//! What the doctor finds in healthy and in broken places.

use serde_json::Value;

use crate::support::{Ran, TestEnv, database};

/// What was found about one thing: its state, what was said and what to do.
fn findings(ran: &Ran, what: &str) -> Vec<(String, String)> {
    let report = ran.json();
    let all = report["findings"].as_array().unwrap().iter();
    let about = all.filter(|one| one["what"] == what);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    about
        .map(|one| (text(&one["state"]), text(&one["said"])))
        .collect()
}

/// Examines a broken place, which must say so about `what`, with something to do.
#[track_caller]
fn broken(env: &TestEnv, what: &str) -> String {
    let ran = env.run(&["doctor", "--json"]).exits(1);
    let found = findings(&ran, what);
    let (_, said) = found.iter().find(|(state, _)| state == "broken").unwrap();
    let people = env.run(&["doctor"]).exits(1).out;
    assert!(
        people.contains("BROKEN") && people.contains(" -> "),
        "{people}"
    );
    said.clone()
}

#[test]
fn a_faulty_template_is_told_with_its_place() {
    let env = TestEnv::new();
    env.write(
        "config/tollgate/templates/lost.yaml",
        "id: lost\nversion: 3\n",
    );
    let ran = env.run(&["doctor", "--json"]).exits(0);
    let found = findings(&ran, "template");
    assert!(!found.is_empty());
    for (state, said) in found {
        assert_eq!(state, "limited", "{said}");
        assert!(said.contains("lost.yaml:"), "{said}");
    }
}

#[test]
fn a_healthy_place_is_healthy() {
    let env = TestEnv::new();
    for _ in 0..2 {
        let ran = env.run(&["doctor", "--json"]).exits(0);
        for what in [
            "version",
            "configuration",
            "policy",
            "state",
            "audit",
            "tools",
            "provider",
        ] {
            let found = findings(&ran, what);
            assert!(!found.is_empty(), "{what}");
            assert!(
                found.iter().all(|(state, _)| state == "works"),
                "{what}: {found:?}"
            );
        }
        env.ok("text.stats", r#"{"text":"hello"}"#);
    }
    let people = env.run(&["doctor"]).exits(0).out;
    assert!(people.contains("verified, 2 entries"), "{people}");
    assert!(!people.contains('\u{1b}'));
}

#[test]
fn every_problem_of_the_configuration_is_a_finding() {
    let env = TestEnv::with_config("[limits]\nsession_token = 1\nconcurrent_calls = 0\n");
    let ran = env.run(&["doctor", "--json"]).exits(1);
    assert_eq!(findings(&ran, "configuration").len(), 2);
    assert!(broken(&env, "configuration").contains("session_token"));
}

#[test]
fn rules_that_do_not_compile_are_found() {
    let env = TestEnv::new();
    env.write("config/tollgate/policies/mine.cedar", "nonsense");
    assert!(broken(&env, "policy").contains("mine.cedar:1"));
    let missing = TestEnv::with_config("[policy]\nfiles = [\"gone.cedar\"]\n");
    let ran = missing.run(&["doctor", "--json"]).exits(1);
    assert!(ran.out.contains("gone.cedar"));
}

#[test]
fn a_state_folder_that_is_a_file_is_found() {
    let env = TestEnv::new();
    env.write("data/tollgate", "");
    broken(&env, "state");
}

#[test]
fn a_database_that_is_none_is_found() {
    let env = TestEnv::new();
    env.write("data/tollgate/tollgate.db", vec![7_u8; 64 << 10]);
    broken(&env, "state");
}

#[test]
fn a_changed_log_is_found() {
    let env = TestEnv::new();
    env.ok("text.stats", r#"{"text":"hello"}"#);
    database(&env)
        .execute(
            "UPDATE audit_entries SET body = replace(body, 'hello', 'hullo')",
            [],
        )
        .unwrap();
    assert!(broken(&env, "audit").contains("row 1"));
}

#[test]
fn an_untrusted_project_is_a_limit_not_a_fault() {
    let env = TestEnv::new();
    env.write(
        "project/tollgate.toml",
        "[providers.stub]\ntools = [\"a.b\"]\n",
    );
    let ran = env.run(&["doctor", "--json"]).exits(0);
    let found = findings(&ran, "configuration");
    assert!(
        found.iter().any(|(state, _)| state == "limited"),
        "{found:?}"
    );
}
