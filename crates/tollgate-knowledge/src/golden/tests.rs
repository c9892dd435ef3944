//! Conversations that hold, and ones that do not.

use std::sync::Arc;

use super::*;
use crate::{Format, load_text};

const BASE: &str = r#"{"closing": "Bye", "fallback": "Sorry?", "slots": {"n": {"type": "number"}}, "nodes": {
    "root": {"response": "Hello", "options": [{"id": "a", "next_node": "ask"}, {"id": "end", "next_node": null}]},
    "ask": {"response": "How many?", "ask": "n", "next_node": "done"},
    "done": {"response": "{n} it is"}}}"#;

fn library() -> Library {
    Library::new(vec![Arc::new(load_text("k", BASE, Format::Json).unwrap())])
}

/// The mismatches of every conversation in a text, or why it cannot be read.
fn ran(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.test.yaml");
    fs::write(&path, text).unwrap();
    let name = |text: String| text.replace(&path.display().to_string(), "k");
    match conversations(&path) {
        Ok(all) => {
            let library = library();
            let wrong = all.iter().flat_map(|one| one.run(&library));
            wrong.map(|one| name(one.to_string())).collect()
        }
        Err(problems) => problems.iter().map(|one| name(one.to_string())).collect(),
    }
}

#[test]
fn what_holds_says_nothing() {
    let text = "conversations:\n  - query: hi\n    node: root\n    options: [a, end]\n    matched: root\n    steps:\n      \
        - {choose: a, node: ask, says: How}\n      - {say: none, node: ask, says: Sorry, matched: nothing}\n      \
        - {choose: b, error: unknown_option}\n      - {say: 12 pieces, node: done, says: 12 it, complete: true}\n      \
        - {choose: a, error: finished}\n";
    assert_eq!(ran(text), Vec::<String>::new());
}

#[test]
fn what_differs_is_pointed_at() {
    let text = "conversations:\n  - query: hi\n    node: ask\n    options: [a]\n    steps:\n      \
        - {choose: end, says: Hello, complete: false}\n      - choose: a\n";
    assert_eq!(
        ran(text),
        [
            "k:2:5: expected the node `ask`, came to `root`",
            "k:2:5: expected the options a; found a, end",
            "k:6:9: expected “Hello” in what is said, found “Bye”",
            "k:6:9: expected the session to go on, found it to be over",
            "k:7:9: it cannot go on: the session is complete",
        ]
    );
}

#[test]
fn files_that_make_no_sense_are_refused() {
    for (text, wanted) in [
        (
            "conversations: 5",
            "k:1:16: error[field]: expected a list, found a number",
        ),
        (
            "talks: []",
            "k:1:1: error[unknown-field]: there is no field `talks` here; there are: conversations",
        ),
        (
            "conversations:\n  - node: a",
            "k:2:5: error[field]: a conversation needs a `query`",
        ),
        (
            "conversations:\n  - query: a\n    steps: [{node: b}]",
            "k:3:13: error[field]: a step needs `choose: OPTION` or `say: WORDS`",
        ),
        ("", "k:1:1: error[field]: there are no `conversations`"),
    ] {
        assert_eq!(
            ran(text).first().map(String::as_str),
            Some(wanted),
            "{text}"
        );
    }
}

#[test]
fn what_was_tried_is_a_conversation_that_holds() {
    let library = library();
    let (session, view) = library.start("he said \"hi\": 'x' #1").unwrap();
    let mut transcript = Transcript::new("he said \"hi\": 'x' #1", &session, &view);
    assert_eq!(ran(&transcript.file()), Vec::<String>::new());
    let (session, view) = library.step(&session, "a", None).unwrap();
    transcript.step("a", None, &session, &view);
    let (session, view) = library
        .step(&session, "provide_more_info", Some("7"))
        .unwrap();
    transcript.step("provide_more_info", Some("7"), &session, &view);
    let text = transcript.file();
    assert_eq!(ran(&text), Vec::<String>::new());
    assert!(
        text.contains("say: \"7\"") && text.contains("complete: true"),
        "{text}"
    );
    let both = format!("{text}{}", transcript.entry());
    assert_eq!(ran(&both), Vec::<String>::new());
}
