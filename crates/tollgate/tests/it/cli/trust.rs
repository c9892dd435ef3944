//! What a project's own `tollgate.toml` may do before and after it is trusted.

use crate::support::{TestEnv, at_a_terminal};

const PROJECT: &str = "[limits]\nsession_tokens = 500\n\
                       [policy]\nfiles = [\"mine.cedar\"]\n\
                       [providers.stub]\ntools = [\"prices.lookup\"]\n";
const RULE: &str = r#"@id("project.no") forbid (principal, action, resource) when { resource.name == "time.now" };"#;

fn project() -> TestEnv {
    let env = TestEnv::with_config("[limits]\nsession_tokens = 100\n");
    env.write("project/tollgate.toml", PROJECT);
    env.write("project/mine.cedar", RULE);
    env
}

fn offers_prices(env: &TestEnv) -> bool {
    let listed = env.run(&["tools", "list", "--json"]).exits(0);
    listed.json().to_string().contains("prices.lookup")
}

#[test]
fn an_untrusted_project_only_narrows_and_says_what_it_could_not_do() {
    let env = project();
    let called = env.call("session.info", "{}", &[]).exits(0);
    assert_eq!(called.json()["data"]["limit"], 100);
    assert!(
        called.err.contains("limits.session_tokens"),
        "{}",
        called.err
    );
    assert!(
        called.err.contains("providers.stub.tools"),
        "{}",
        called.err
    );
    assert!(called.err.contains("tollgate trust"), "{}", called.err);
    assert!(!offers_prices(&env));
    env.run(&["call", "time.now"]).exits(4);
    let status = env.run(&["trust", "--status"]).exits(0).out;
    assert!(status.contains("not trusted"));
}

#[test]
fn a_trusted_project_is_used_whole_but_its_rules_still_only_forbid() {
    let env = project();
    env.trust();
    assert_eq!(env.run(&["trust", "--status"]).exits(0).out, "trusted\n");
    let called = env.call("session.info", "{}", &[]).exits(0);
    assert_eq!(called.json()["data"]["limit"], 500);
    assert_eq!(called.err, "");
    assert!(offers_prices(&env));
    env.run(&["call", "time.now"]).exits(4);
    env.write(
        "project/mine.cedar",
        r#"@id("project.yes") permit (principal, action, resource);"#,
    );
    env.trust();
    let refused = env.run(&["policy", "check"]).exits(2);
    assert!(refused.err.contains("project.yes"), "{}", refused.err);
}

#[test]
fn a_changed_file_is_untrusted_again() {
    for file in ["project/tollgate.toml", "project/mine.cedar"] {
        let env = project();
        env.trust();
        let text = std::fs::read_to_string(env.path(file)).unwrap();
        let comment = if file.ends_with("toml") {
            "# more"
        } else {
            "// more"
        };
        env.write(file, format!("{text}\n{comment}\n"));
        assert!(!offers_prices(&env), "{file}");
        let called = env.call("session.info", "{}", &[]).exits(0);
        assert!(
            called.err.contains("changed since you trusted it"),
            "{}",
            called.err
        );
        env.trust();
        assert!(offers_prices(&env), "{file}");
    }
}

#[test]
fn trust_is_taken_back() {
    let env = project();
    env.trust();
    let removed = env.run(&["trust", "--remove", "."]).exits(0);
    assert_eq!(removed.out, "no longer trusted\n");
    assert!(!offers_prices(&env));
    let again = env
        .run(&["trust", "--remove", ".", "--json"])
        .exits(0)
        .json();
    assert_eq!(again["standing"], "it was not trusted");
}

#[test]
fn only_a_human_at_a_terminal_trusts_a_project() {
    let env = project();
    let mut alone = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
    let output = alone.args(["trust", "."]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let left = at_a_terminal(&env, &["trust", "."], |code| format!("{code}x"));
    assert_eq!(left.ran.code, 1, "{left:?}");
    let status = env.run(&["trust", "--status"]).exits(0).out;
    assert!(status.contains("not trusted"), "{status}");

    let seen = at_a_terminal(&env, &["trust", "."], str::to_owned);
    assert_eq!(seen.ran.code, 0, "{seen:?}");
    for shown in [
        "TRUST A PROJECT",
        "limits.session_tokens = 500",
        "providers.stub.tools = [\"prices.lookup\"]",
    ] {
        assert!(seen.shown.contains(shown), "{}", seen.shown);
    }
    let mut alone = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
    let removed = alone.args(["trust", "--remove", "."]).output().unwrap();
    assert_eq!(removed.status.code(), Some(0));
}

#[test]
fn a_folder_without_a_file_or_with_a_bad_one_is_not_trusted() {
    let env = TestEnv::new();
    let none = env.run(&["trust", "."]).exits(2);
    assert!(none.err.contains("holds no tollgate.toml"), "{}", none.err);
    env.write("project/tollgate.toml", "[limits]\nsession_token = 5\n");
    let bad = env.run(&["trust", "."]).exits(2);
    assert!(bad.err.contains("session_token"), "{}", bad.err);
    env.run(&["trust", "nowhere"]).exits(2);
}
