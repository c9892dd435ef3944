//! Checks of the JSON scanner and of the sanitizer on arbitrary bytes, for the fuzz targets and the tests that repeat
//! them.
//!
//! Invariant: a function returns for every input; it panics only where a property does not hold.

#![expect(
    clippy::expect_used,
    reason = "a property that does not hold is a crash, which a fuzzer reports"
)]

use std::borrow::Cow;

use serde_json::{Value, json, value::RawValue};

use crate::{
    JsonError, Sanitizer, Scope, disarmed, is_active, placeholder, truncate_on_char_boundary,
    visible, with_strings,
};

/// The scanner takes exactly what is JSON, and finds each string as a JSON reader would decode it.
pub fn json_scanner(data: &[u8]) {
    let Ok(raw) = std::str::from_utf8(data) else {
        return;
    };
    let scanned = strings_of(raw);
    if matches!(scanned, Err(JsonError::TooDeep { .. })) {
        return;
    }
    let is_json = serde_json::from_str::<&RawValue>(raw).is_ok();
    assert_eq!(
        scanned.is_ok(),
        is_json,
        "the scanner and serde_json differ"
    );
    let Ok(strings) = scanned else {
        return;
    };
    let respelled = with_strings(raw, |text, _| Some(text.to_owned()));
    let respelled = respelled.expect("the same text is scanned again");
    assert_eq!(strings_of(&respelled).as_ref(), Ok(&strings));
    assert_eq!(without_strings(raw), without_strings(&respelled));
    if let Ok(value) = serde_json::from_str::<Value>(raw) {
        let again: Value = serde_json::from_str(&respelled).expect("still JSON");
        assert_eq!(value, again, "a string was decoded or encoded wrongly");
    }
}

/// Each string of a JSON text, and whether it is a name.
fn strings_of(raw: &str) -> Result<Vec<(String, bool)>, JsonError> {
    let mut found = Vec::new();
    let same = with_strings(raw, |text, is_name| {
        found.push((text.to_owned(), is_name));
        None
    })?;
    assert!(
        matches!(same, Cow::Borrowed(_)),
        "nothing was to be changed"
    );
    Ok(found)
}

/// Cleaning twice changes nothing, findings say whether anything changed, and JSON stays JSON of the same shape.
pub fn sanitizer(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    check_text(text);
    check_json(text);
    check_json(&json!({ "note": text, text: 1.50 }).to_string());
    check_json(&json!({ "password": [text] }).to_string());
    let sanitizer = Sanitizer::shipped();
    let logged = sanitizer.url_for_log(text);
    assert_eq!(sanitizer.url_for_log(&logged), logged, "a URL for a log");
    let seen = visible(text);
    assert_eq!(visible(&seen), seen, "visible text");
    let safe = disarmed(text);
    assert!(!is_active(&safe), "disarmed and active");
    assert_eq!(disarmed(&safe), safe, "disarmed twice");
    let limit = text.len() / 2;
    let cut = truncate_on_char_boundary(text, limit);
    assert!(cut.len() <= limit && text.starts_with(cut), "truncated");
}

fn check_text(text: &str) {
    let sanitizer = Sanitizer::shipped();
    let scope = Scope::open_world();
    let once = sanitizer.text(text, &scope);
    let again = sanitizer.text(&once.text, &scope);
    assert_eq!(again.text, once.text, "text cleaned twice");
    assert!(!again.findings.redacted(), "found in clean text");
    assert_eq!(once.findings.redacted(), once.text != text, "findings");
    for span in &once.findings.tainted {
        assert!(once.text.get(span.start..span.end).is_some(), "{span:?}");
    }
    let escapes = Scope {
        escapes: true,
        ..Scope::trusted()
    };
    let escaped = sanitizer.text(text, &escapes);
    let forged = placeholder::parts(&escaped.text)
        .into_iter()
        .any(|part| matches!(part, placeholder::Part::Placeholder(found) if found.id.is_some()));
    assert!(!forged, "a placeholder that nobody made");
}

fn check_json(raw: &str) {
    let sanitizer = Sanitizer::shipped();
    for scope in [Scope::trusted(), Scope::open_world()] {
        let Ok(once) = sanitizer.json(raw, &scope) else {
            return;
        };
        let is_json = serde_json::from_str::<&RawValue>(&once.text).is_ok();
        assert!(is_json, "cleaned JSON is no JSON");
        assert_eq!(
            without_strings(&once.text),
            without_strings(raw),
            "something else than a string changed"
        );
        if !once.findings.redacted() {
            assert_eq!(once.text, raw, "changed without a finding");
        }
        let again = sanitizer.json(&once.text, &scope);
        let again = again.expect("cleaned JSON can be cleaned");
        assert_eq!(again.text, once.text, "JSON cleaned twice");
    }
}

/// The raw text with the inside of every string removed.
fn without_strings(raw: &str) -> String {
    let (mut out, mut inside, mut escaped) = (String::new(), false, false);
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
