//! Attacks on what a human is shown.

use serde_json::{Value, json};
use tollgate_core::{Payload, Secret, canonical::Node};

use super::*;

fn view_of(text: &str, schema: &Value) -> Result<Arguments, Unshowable> {
    let cleaner = Cleaner::shipped();
    let key = ApprovalKey::new(Secret::new([7; 32]));
    let viewer = Viewer {
        cleaner: &cleaner,
        key: &key,
    };
    let payload = Payload::parse(text.to_owned()).unwrap();
    viewer.arguments(&Node::of(&payload).unwrap(), schema)
}

fn view(arguments: &Value) -> Arguments {
    view_of(&arguments.to_string(), &Value::Null).unwrap()
}

#[test]
fn what_is_shown_is_json_that_reads_as_the_arguments() {
    let arguments = json!({"to": "anna@example.com", "n": [1.5, null, true], "o\u{202e}": "a\u{200b}\"\\\n\u{1f600}"});
    let shown = view(&arguments);
    let read: Value = serde_json::from_str(&shown.text).unwrap();
    assert_eq!(read, arguments);
    assert_eq!(shown.changes.spelled, 2);
}

#[test]
fn secrets_at_depth_are_masked_as_scalars_only() {
    let arguments = json!({"a": {"token": {"deep": [{"api_key": "k1"}, "shown", 5]}}, "cookie": ["c1", {"x": "shown too"}], "credentials": {"username": "anna", "pin": 4711}});
    let shown = view(&arguments);
    for visible in ["\"deep\"", "shown too", "anna", "\"api_key\"", "\"c1\""] {
        assert!(shown.text.contains(visible), "{visible}: {}", shown.text);
    }
    for masked in ["\"k1\"", "4711"] {
        assert!(!shown.text.contains(masked), "{masked}: {}", shown.text);
    }
    assert_eq!(shown.changes.masked, 2);
}

#[test]
fn items_of_a_list_below_a_secret_name_are_shown() {
    for hiding in [
        json!({"token": [{"key": "bcc", "value": "eve@evil.example"}]}),
        json!({"token": ["bcc", "eve@evil.example"]}),
        json!({"token": [["bcc", ["eve@evil.example"]]]}),
        json!({"token": {"pass": "bcc", "value": "eve@evil.example"}}),
        json!({"password": [{"to": "bcc", "n": {"key": "eve@evil.example"}}]}),
    ] {
        let shown = view(&hiding);
        for visible in ["bcc", "eve@evil.example"] {
            assert!(shown.text.contains(visible), "{hiding}: {}", shown.text);
        }
        assert_eq!(shown.changes.masked, 0, "{hiding}");
    }
    // A member that is called like a secret itself stays one.
    let shown = view(
        &json!({"logins": [{"user": "anna", "password": "hunter2"}], "credentials": [{"pin": 4711}]}),
    );
    assert!(shown.text.contains("anna"), "{}", shown.text);
    assert!(!shown.text.contains("hunter2") && !shown.text.contains("4711"));
    assert_eq!(shown.changes.masked, 2);
}

#[test]
fn a_schema_marks_scalars_as_secrets_too() {
    let schema = json!({"properties": {"value": {"x-secret-if": {"id": "secret_"}}}});
    let shown = view_of(r#"{"id":"secret_a","value":"hunter2"}"#, &schema).unwrap();
    assert!(!shown.text.contains("hunter2"));
    let shown = view_of(r#"{"id":"input_a","value":"hunter2"}"#, &schema).unwrap();
    assert!(shown.text.contains("hunter2"));
}

#[test]
fn code_is_shown_in_full_or_not_at_all() {
    let code = "# -----BEGIN PRIVATE KEY-----\nevil()\n# -----END PRIVATE KEY-----";
    let shown = view(&json!({"inputs": {"code": code}, "args": ["-c", code]}));
    assert_eq!(shown.code.len(), 2);
    assert!(shown.code.iter().all(|it| it.text == code));
    assert_eq!(shown.changes, Changes::default());
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let refused = view_of(&json!({"cmd": token}).to_string(), &Value::Null);
    assert!(matches!(
        refused,
        Err(Unshowable::KeyInCode {
            rule: "github-token",
            ..
        })
    ));
    let schema = json!({"properties": {"body": {"x-code": true}}});
    let refused = view_of(&json!({"body": token}).to_string(), &schema);
    assert!(refused.is_err());
    let long: String = (0..30_000).map(|n| format!("f({n});")).collect();
    let refused = view_of(&json!({"sql": long}).to_string(), &Value::Null);
    assert!(matches!(refused, Err(Unshowable::CodeTooLong { .. })));
}

#[test]
fn no_line_of_code_passes_for_one_of_ours() {
    let shown = view(&json!({"code": "a\r[2K\u{1b}[1A\nb\u{2028}c\n[REDACTED:x]\n"}));
    assert_eq!(
        shown.code[0].text,
        "a\\r[2K\\u001b[1A\nb\\u2028c\n\\u005bREDACTED:x]\n"
    );
}

#[test]
fn more_arguments_than_can_be_shown_are_refused() {
    let fields: serde_json::Map<String, Value> = (0..20_000)
        .map(|n| (format!("field{n}"), json!("value")))
        .collect();
    let many = Value::Object(fields);
    let numbers = json!({"rows": (0..20_000).collect::<Vec<u32>>(), "bcc": "eve@evil.example"});
    let long: String = (0..20_000).map(|n| format!("n{n}")).collect();
    let name = json!({long: 1});
    for arguments in [many, numbers, name] {
        let refused = view_of(&arguments.to_string(), &Value::Null);
        let Err(Unshowable::ArgumentsTooLong { characters }) = refused else {
            panic!("{refused:?}");
        };
        assert!(characters > ARGUMENTS);
    }
    // Long texts are shortened instead, each with its length and a digest.
    let texts: Vec<String> = (0..40)
        .map(|n| format!("{n} lorem ipsum ").repeat(400))
        .collect();
    let shown = view(&json!({"texts": texts}));
    assert!(shown.text.chars().count() <= ARGUMENTS);
    assert_eq!(shown.text.matches("[LEFT OUT:text, ").count(), 40);
}

#[test]
fn equal_gaps_share_a_digest_that_needs_the_key() {
    let cleaner = Cleaner::shipped();
    let gap = |byte: u8| {
        let key = ApprovalKey::new(Secret::new([byte; 32]));
        let viewer = Viewer {
            cleaner: &cleaner,
            key: &key,
        };
        viewer.gap("REDACTED", "argument", "hunter2")
    };
    assert_eq!(gap(1), gap(1));
    assert_ne!(gap(1), gap(2));
    assert!(gap(1).starts_with("[REDACTED:argument, 7 characters #"));
}
