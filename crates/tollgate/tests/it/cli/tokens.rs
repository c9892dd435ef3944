//! Tokens for calling over HTTP: what they may do is decided, shown and recorded.

use serde_json::{Value, json};

use crate::support::TestEnv;

#[test]
fn a_token_for_calling_says_what_its_bearer_may_do() {
    let env = TestEnv::new();
    let made = env.run(&[
        "token",
        "create",
        "--toolset",
        "gate",
        "--toolset",
        "moon",
        "--trust",
        "local",
        "--session-limit",
        "50",
        "--expires",
        "30",
        "--label",
        "agent",
    ]);
    let made = made.exits(0);
    let token = made.out.trim().to_owned();
    assert!(token.starts_with("tgb_") && token.len() == 52, "{token}");
    let said = "with gate, moon (local, 50 units a session)";
    assert!(made.err.contains(said), "{}", made.err);
    assert!(made.err.contains("no tool is in the toolset `moon`"));
    assert!(!made.err.contains("`gate`"), "{}", made.err);
    assert!(!made.err.contains(&token));

    let listed = env.run(&["token", "list"]).exits(0).out;
    for part in ["bearer", "live", "gate, moon (local, 50 units", "agent"] {
        assert!(listed.contains(part), "{listed}");
    }
    let all = env.run(&["token", "list", "--json"]).exits(0).json();
    let scopes = json!({"toolsets": ["gate", "moon"], "trust": "local", "session_limit": 50});
    assert_eq!(all["tokens"][0]["scopes"], scopes);
    let recorded: Vec<Value> = env.recorded();
    let noted = recorded.iter().find(|row| row["kind"] == "token").unwrap();
    assert_eq!(noted["scopes"], scopes);
    assert!(noted["expires"].is_i64() || noted["expires"].is_string());
}

#[test]
fn a_token_made_without_a_word_is_for_calling_and_remote() {
    let env = TestEnv::new();
    let quiet = env.run(&["token", "create", "--quiet"]).exits(0);
    assert!(quiet.out.starts_with("tgb_"));
    assert_eq!(quiet.err, "");
    let all = env.run(&["token", "list", "--json"]).exits(0).json();
    assert_eq!(all["tokens"][0]["kind"], "bearer");
    assert_eq!(all["tokens"][0]["scopes"], json!({"trust": "remote"}));
    let listed = env.run(&["token", "list"]).exits(0).out;
    assert!(listed.contains("all toolsets (remote)") && listed.contains("never"));
}

#[test]
fn a_token_for_calling_cannot_approve() {
    let env = TestEnv::with_config(
        "[providers.stub]\ntools = [\"shelf.write\"]\nwrites = [\"shelf.write\"]\n",
    );
    let bearer = env.run(&["token", "create", "--quiet"]).exits(0).out;
    let asked = env.call("shelf.write", "{}", &[]).exits(3);
    let id = crate::support::approval_id(&asked.json());
    env.run(&["approve", &id, "--token", bearer.trim()])
        .exits(2);
    env.call("shelf.write", "{}", &[]).exits(3);
}

#[test]
fn what_makes_no_sense_together_is_refused() {
    let env = TestEnv::new();
    for arguments in [
        ["--approver", "--toolset", "gate"],
        ["--approver", "--trust", "local"],
        ["--approver", "--session-limit", "1"],
        ["--quiet", "--trust", "full"],
        ["--quiet", "--toolset", "a b"],
        ["--quiet", "--toolset", ""],
        ["--quiet", "--session-limit", "-1"],
    ] {
        let mut command = vec!["token", "create"];
        command.extend(arguments);
        env.run(&command).exits(2);
    }
    let all = env.run(&["token", "list", "--json"]).exits(0).json();
    assert_eq!(all["tokens"], json!([]));
}
