//! Names that nobody knows: the message says where the right ones are.

use crate::support::TestEnv;

#[test]
fn a_name_that_nobody_knows_says_where_the_known_ones_are() {
    let env = TestEnv::new();
    for (words, hint) in [
        (&["runs", "show", "nosuch"][..], "tollgate runs list"),
        (&["runs", "watch", "nosuch"], "tollgate runs list"),
        (&["runs", "replay", "nosuch"], "tollgate runs list"),
        (&["runs", "watch"], "tollgate runs templates list"),
        (&["replay", "nosuch"], "tollgate audit list"),
        (&["audit", "show", "nosuch"], "tollgate audit list"),
        (&["review", "show", "nosuch"], "tollgate review list"),
        (&["approve", "nosuch"], "tollgate approvals"),
        (&["token", "revoke", "nosuch"], "tollgate token list"),
        (&["init", "--client", "nosuch"], "claude-code"),
        (&["mcp", "logs", "nosuch"], "there are none"),
    ] {
        let ran = env.run(words).exits(2);
        assert!(ran.err.contains(hint), "{words:?}: {}", ran.err);
    }
    let unused = env.run(&["session", "--session", "nosuch"]).exits(0);
    assert!(
        unused.err.contains("tollgate session list"),
        "{}",
        unused.err
    );
    let words = ["call", "time.now", "--profile", "nosuch"];
    let profile = env.run(&words).exits(2);
    assert!(
        profile.err.contains("offline_fixture_only"),
        "{}",
        profile.err
    );
    assert!(profile.err.contains("--profile"), "{}", profile.err);
}

#[test]
fn a_configuration_that_is_not_there_says_what_to_do() {
    let env = TestEnv::new();
    let ran = env
        .run(&["--config", "nope.toml", "tools", "list"])
        .exits(2);
    assert!(
        ran.err.contains("nope.toml: there is no such file"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("leave `--config`"), "{}", ran.err);
}

#[test]
fn the_arguments_of_a_call_may_stand_by_themselves() {
    let env = TestEnv::new();
    let arguments = r#"{"text":"hello"}"#;
    let ran = env
        .run(&["call", "text.stats", arguments, "--json"])
        .exits(0);
    assert_eq!(ran.json()["data"]["characters"], 5);
    env.run(&["call", "text.stats", arguments, "--args", arguments])
        .exits(2);
    let ran = env.run(&["call", "text.stats", "hello"]).exits(2);
    assert!(ran.err.contains("give JSON such as"), "{}", ran.err);
}
