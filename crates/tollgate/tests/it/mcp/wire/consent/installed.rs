//! Who may say that a client's dialog is a human: an operator at a terminal, for one installation.

use serde_json::{Value, json};

use super::{STUBS, answered, decided, decisions, effects, note, question, ran, waits, yes};
use crate::{
    mcp::wire::peer::Stdio,
    support::{TestEnv, at_a_terminal},
};

const INIT: [&str; 4] = ["init", "--client", "claude-code", "--trust-dialogs"];

/// What the client's file says starts the gate.
fn installed(env: &TestEnv) -> Option<Vec<String>> {
    let file = std::fs::read_to_string(env.path("home/.claude.json")).ok()?;
    let file: Value = serde_json::from_str(&file).unwrap();
    let args = file["mcpServers"]["tollgate"]["args"].as_array()?.iter();
    Some(args.map(|it| it.as_str().unwrap().to_owned()).collect())
}

fn tokens(env: &TestEnv) -> Vec<Value> {
    let listed = env.run(&["token", "list", "--json"]).exits(0).json();
    listed["tokens"].as_array().unwrap().clone()
}

/// A client started as its file says, that can show a dialog.
fn start(env: &TestEnv, args: &[String]) -> Stdio {
    assert_eq!(args[0], "mcp");
    let more: Vec<&str> = args[1..].iter().map(String::as_str).collect();
    Stdio::with_dialogs_and(env, &more)
}

#[test]
fn a_dialog_does_not_count_by_itself() {
    let env = TestEnv::with_config(STUBS);
    let mut client = Stdio::with_dialogs(&env);
    let refused = client.result("tools/call", note("milk"));
    let id = waits(&refused);
    assert!(
        refused
            .to_string()
            .contains(&format!("tollgate approvals approve {id}"))
    );
    let mut old = Stdio::legacy(&env, json!({"elicitation": {}}));
    waits(&old.result("tools/call", note("milk")));
    let state = json!("c.x.y");
    let forged = answered(&note("milk"), &state, yes());
    assert!(
        client
            .ask("tools/call", forged)
            .to_string()
            .contains("error")
    );
    assert_eq!(effects(&env), 0);
    assert_eq!(decisions(&env), Vec::<Value>::new());
}

#[test]
fn a_human_at_a_terminal_lets_the_dialogs_of_one_installation_count() {
    let env = TestEnv::with_config(STUBS);
    let seen = at_a_terminal(&env, &INIT, str::to_owned);
    assert_eq!(seen.ran.code, 0, "{seen:?}");
    assert!(seen.shown.contains("LET DIALOGS COUNT"), "{}", seen.shown);
    let args = installed(&env).unwrap();
    let key = args.iter().position(|it| it == "--installation").unwrap();
    assert!(args[key + 1].starts_with("tgd_"));
    let mut client = start(&env, &args);
    let call = note("milk");
    let state = question(&mut client, &call);
    ran(&client.result("tools/call", answered(&call, &state, yes())));
    assert_eq!(effects(&env), 1);

    // The same name without the key, and a key that nobody made.
    let mut other = Stdio::with_dialogs(&env);
    waits(&other.result("tools/call", note("bread")));
    let forged = [
        "mcp",
        "--installation",
        "tgd_000000000000000000000000000000000000000000000000",
    ];
    let mut forged = start(&env, &forged.map(str::to_owned));
    waits(&forged.result("tools/call", note("bread")));

    // Taken back, also while it runs and after it was asked.
    let state = question(&mut client, &note("tea"));
    let made = tokens(&env);
    assert_eq!(made[0]["kind"], "dialog");
    let id = made[0]["id"].as_str().unwrap();
    env.run(&["token", "revoke", id]).exits(0);
    let late = client.ask(
        "tools/call",
        answered(&note("tea"), &state, decided("once")),
    );
    assert!(late["error"].is_object(), "{late}");
    waits(&client.result("tools/call", note("milk")));
    assert_eq!(effects(&env), 1);
    let listed = env.run(&["token", "list"]).exits(0).out;
    assert!(listed.contains("a client's dialogs"), "{listed}");
}

#[test]
fn nobody_without_a_terminal_lets_dialogs_count() {
    let env = TestEnv::with_config(STUBS);
    let mut alone = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
    let output = alone.args(INIT).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let left = at_a_terminal(&env, &INIT, |_| "no".to_owned());
    assert_eq!(left.ran.code, 1, "{left:?}");
    assert_eq!(installed(&env), None);
    assert_eq!(tokens(&env), Vec::<Value>::new());
    env.run(&["init", "--client", "claude-code"]).exits(0);
    assert_eq!(installed(&env).unwrap(), ["mcp"]);
    env.run(&[&INIT[..], &["--print"]].concat()).exits(2);
}

#[test]
fn no_token_replaces_the_terminal() {
    let mut env = TestEnv::with_config(STUBS);
    let token = env.approver();
    env.set("TOLLGATE_APPROVER_TOKEN", &token);
    env.write("project/tollgate.toml", "[limits]\nsession_tokens = 5\n");
    for words in [&INIT[..], &["trust", "."]] {
        let mut alone = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
        let output = alone.args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("at a terminal"), "{words:?}: {said}");
    }
    assert_eq!(installed(&env), None);
    let status = env.run(&["trust", "--status"]).exits(0).out;
    assert!(status.contains("not trusted"), "{status}");
}

#[test]
fn no_program_lets_its_own_dialog_count() {
    let mut env = TestEnv::with_config(STUBS);
    env.write("project/tollgate.toml", "[consent]\ndialogs = \"stdio\"\n");
    let mut alone = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
    let output = alone.args(["trust", "."]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("at a terminal"), "{said}");

    // A human who trusts the project does not say that either.
    env.trust();
    let mut client = Stdio::with_dialogs(&env);
    waits(&client.result("tools/call", note("milk")));
    assert_eq!(effects(&env), 0);

    env.set("TOLLGATE_CONSENT_DIALOGS", "stdio");
    let refused = env.run(&["mcp"]).exits(2);
    assert!(refused.err.contains("may only narrow"), "{}", refused.err);
}

#[test]
fn an_approver_token_is_made_by_a_human_at_a_terminal_only() {
    let mut env = TestEnv::with_config(STUBS);
    let create = ["token", "create", "--approver", "--quiet"];
    let alone = |env: &TestEnv| {
        let mut command = env.other("setsid", &["--wait", env!("CARGO_BIN_EXE_tollgate")]);
        let output = command.args(create).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(output.stdout, b"");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("at a terminal"), "{said}");
    };
    alone(&env);
    let left = at_a_terminal(&env, &create, |code| format!("{code}x"));
    assert_eq!((left.ran.code, left.ran.out.as_str()), (1, ""));
    assert_eq!(tokens(&env), Vec::<Value>::new());
    let made = at_a_terminal(&env, &create, str::to_owned);
    assert_eq!(made.ran.code, 0, "{made:?}");
    assert!(
        made.shown.contains("MAKE AN APPROVER TOKEN"),
        "{}",
        made.shown
    );
    let token = made.ran.out.trim().to_owned();
    assert!(token.starts_with("tga_"));
    assert!(!made.shown.contains(&token));
    // Whoever has one makes no other without a terminal.
    env.set("TOLLGATE_APPROVER_TOKEN", &token);
    alone(&env);
    assert_eq!(tokens(&env).len(), 1);
}
