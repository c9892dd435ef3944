//! What a person sees at a terminal, and what a pipe gets instead.

use crate::{
    support::{TestEnv, Watched, watched},
    upstream,
};

/// How colour begins.
const COLOUR: &str = "\u{1b}[";

/// Commands that print something painted to standard output.
const PAINTED: [&[&str]; 4] = [
    &["tools", "list"],
    &["doctor"],
    &["audit", "verify"],
    &["explain", "text.stats", r#"{"text":"a"}"#],
];

/// A call whose progress is seen.
const SLOW: &str = r#"{"steps":3,"pause":0.01}"#;

#[test]
fn there_is_colour_on_a_terminal_and_nowhere_else() {
    let mut env = TestEnv::new();
    env.ok("text.stats", r#"{"text":"a"}"#);
    for arguments in PAINTED {
        let (shown, ran) = watched(&env, arguments, Watched::Output);
        assert!(shown.contains(COLOUR), "{arguments:?}: {shown}");
        assert!(!ran.err.contains(COLOUR), "{arguments:?}: {}", ran.err);
        let piped = env.run(arguments).exits(0);
        assert!(!piped.out.contains(COLOUR), "{arguments:?}: {}", piped.out);
    }
    for (name, value) in [("TERM", "dumb"), ("NO_COLOR", "1")] {
        env.set(name, value);
        for arguments in PAINTED {
            let (shown, ran) = watched(&env, arguments, Watched::Both);
            ran.exits(0);
            assert!(!shown.contains(COLOUR), "{name} {arguments:?}: {shown}");
        }
        env.set(name, "");
    }
    let (shown, _) = watched(&env, PAINTED[0], Watched::Output);
    assert!(shown.contains(COLOUR), "an empty variable is none: {shown}");
}

#[test]
fn each_stream_is_painted_by_what_it_is() {
    let env = TestEnv::new();
    let stats = ["call", "text.stats", "--args", r#"{"text":"a"}"#];
    // How it went is told on standard error, the answer on standard output.
    let (shown, ran) = watched(&env, &stats, Watched::Errors);
    assert!(shown.contains("\u{1b}[32mok\u{1b}[0m"), "{shown}");
    assert!(ran.out.starts_with("characters"), "{}", ran.out);
    assert!(!ran.out.contains(COLOUR), "{}", ran.out);
    let (shown, ran) = watched(&env, &stats, Watched::Output);
    assert!(shown.starts_with("characters"), "{shown}");
    assert!(ran.err.starts_with("ok text.stats"), "{}", ran.err);
    assert!(!ran.err.contains(COLOUR), "{}", ran.err);
    let (shown, ran) = watched(
        &env,
        &["call", "text.stats", "--args", "5"],
        Watched::Errors,
    );
    ran.exits(2);
    assert!(shown.starts_with("\u{1b}[31merror:\u{1b}[0m"), "{shown}");
}

#[test]
fn json_is_never_painted() {
    let env = TestEnv::new();
    for arguments in PAINTED {
        let all = [arguments, &["--json"]].concat();
        let (shown, ran) = watched(&env, &all, Watched::Output);
        ran.exits(0);
        assert!(!shown.contains(COLOUR), "{all:?}: {shown}");
        serde_json::from_str::<serde_json::Value>(&shown).expect("one document");
    }
}

#[test]
fn progress_is_seen_on_standard_error_of_a_terminal_only() {
    let env = upstream::with("legacy", "");
    let slow = ["call", "mcp.s.slow", "--args", SLOW, "--json"];
    let (shown, ran) = watched(&env, &slow, Watched::Errors);
    let ran = ran.exits(0);
    assert!(shown.contains("100 %"), "{shown}");
    assert!(shown.contains(" 33 %"), "{shown}");
    assert_eq!(ran.json()["data"]["content"][0]["text"], "done");
    let piped = env.run(&[&slow[..], &["--session", "piped"]].concat());
    let piped = piped.exits(0);
    assert_eq!(piped.err, "");
    assert_eq!(piped.json()["ok"], true);
    let (shown, ran) = watched(
        &env,
        &[&slow[..], &["--session", "shown"]].concat(),
        Watched::Output,
    );
    assert_eq!(ran.err, "");
    assert!(!shown.contains(" %"), "{shown}");
    serde_json::from_str::<serde_json::Value>(&shown).expect("one document");
}
