//! What must hold for any input.

use proptest::prelude::*;
use serde_json::Value;
use tollgate_sanitize::{Sanitizer, Scope};

/// Pieces that come near the rules, to be strung together.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ -~]{0,12}",
        2 => any::<String>(),
        2 => "[a-zA-Z0-9]{8,40}",
        2 => "[0-9 ()+.x-]{5,22}",
        1 => "(password|secret|apiKey|token|cache_key|KEY|access)[ =:\"'_-]{0,4}",
        1 => "(https|postgres)://[a-z]{1,5}(:[a-z0-9*]{0,8})?@?[a-z.]{0,8}[?](sig|token|key|x)=[a-zA-Z0-9]{0,9}&?",
        1 => "(Bearer|Basic|Authorization:) [A-Za-z0-9=]{4,30}",
        1 => "[\u{1b}\u{9b}\u{200b}\u{200d}\u{fe0f}\u{202e}\u{ad}😀ع\\[\\]m;0-9]{1,8}",
        1 => "[a-z.]{1,6}@[a-z]{1,6}\\.[a-z]{2,3}",
        1 => Just("[REDACTED:email]".to_owned()),
        1 => "\\[REDACTED:[a-z0-9-]{0,12}\\]?",
        1 => "(-----BEGIN RSA PRIVATE KEY-----|-----END RSA PRIVATE KEY-----|eyJ[a-z0-9]{12}\\.[a-z]{12})",
        1 => "(ignore|忽略|all previous instructions|以上指令|system prompt)",
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..8).prop_map(|pieces| pieces.concat())
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The document with every string blanked and every key counted only.
fn skeleton(value: &Value) -> String {
    match value {
        Value::String(_) => "s".to_owned(),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(skeleton).collect::<Vec<_>>().join(",")
        ),
        Value::Object(fields) => format!(
            "{{{}}}",
            fields.values().map(skeleton).collect::<Vec<_>>().join(",")
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The raw text with the inside of every string removed.
fn without_strings(raw: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    let mut escaped = false;
    for c in raw.chars() {
        match (inside, escaped, c) {
            (true, true, _) => escaped = false,
            (true, false, '\\') => escaped = true,
            (_, _, '"') => {
                inside = !inside;
                out.push(c);
            }
            (true, false, _) => {}
            (false, _, _) => out.push(c),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cleaning_text_twice_changes_nothing(text in text()) {
        let sanitizer = Sanitizer::shipped();
        let once = sanitizer.text(&text, &Scope::open_world());
        let twice = sanitizer.text(&once.text, &Scope::open_world());
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(!twice.findings.redacted());
        prop_assert_eq!(once.findings.redacted(), once.text != text);
        for span in &once.findings.tainted {
            prop_assert!(once.text.get(span.start..span.end).is_some());
        }
    }

    #[test]
    fn json_stays_json(document in document(), pretty in any::<bool>()) {
        let raw = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
        let raw = raw.expect("a document");
        let sanitizer = Sanitizer::shipped();
        let once = sanitizer.json(&raw, &Scope::open_world()).expect("valid JSON");
        let parsed: Value = serde_json::from_str(&once.text).expect("still JSON");
        prop_assert_eq!(without_strings(&once.text), without_strings(&raw));
        if !once.findings.redacted() {
            prop_assert_eq!(&once.text, &raw);
            prop_assert_eq!(skeleton(&parsed), skeleton(&document));
        }
        let twice = sanitizer.json(&once.text, &Scope::open_world()).expect("valid JSON");
        prop_assert_eq!(&twice.text, &once.text);
    }

    #[test]
    fn anything_may_be_thrown_at_it(text in any::<String>(), near in text()) {
        let sanitizer = Sanitizer::shipped();
        for text in [&text, &near] {
            let ours = sanitizer.json(text, &Scope::open_world()).is_ok();
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
            prop_assert_eq!(ours, theirs);
            let logged = sanitizer.url_for_log(text);
            prop_assert_eq!(sanitizer.url_for_log(&logged), &*logged);
        }
    }
}
