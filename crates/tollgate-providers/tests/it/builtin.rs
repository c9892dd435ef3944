//! What the small tools answer.

use serde_json::{Value, json};
use tollgate_core::ErrorCode;
use tollgate_providers::builtin;

use crate::support::run;

/// The data on success, the code otherwise.
async fn ask(tool: &str, arguments: Value) -> Result<Value, ErrorCode> {
    let provider = builtin::provider(builtin::Settings::default());
    let result = run(&provider, tool, arguments).await?;
    Ok(result.payload.value().clone())
}

#[tokio::test]
async fn text_is_counted_in_every_unit() {
    let data = ask("text.stats", json!({"text": "naïve 你好\nend"})).await;
    assert_eq!(
        data,
        Ok(json!({"characters": 12, "bytes": 17, "words": 3, "lines": 2}))
    );
    let empty = ask("text.stats", json!({"text": ""})).await;
    assert_eq!(
        empty,
        Ok(json!({"characters": 0, "bytes": 0, "words": 0, "lines": 0}))
    );
}

#[tokio::test]
async fn lines_are_numbered_and_a_start_past_the_end_gives_none() {
    let data = ask(
        "text.lines",
        json!({"text": "a\nb\nc", "from": 2, "count": 1}),
    )
    .await;
    assert_eq!(
        data,
        Ok(json!({"total": 3, "lines": [{"number": 2, "text": "b"}]}))
    );
    let past = ask("text.lines", json!({"text": "a", "from": 9})).await;
    assert_eq!(past, Ok(json!({"total": 1, "lines": []})));
}

#[tokio::test]
async fn matches_say_line_and_column_in_characters() {
    let data = ask(
        "text.find",
        json!({"text": "one\n你好 two\ntwo", "pattern": "t[a-z]o", "regex": true}),
    )
    .await;
    assert_eq!(
        data,
        Ok(json!({"matches": [
            {"line": 2, "column": 4, "text": "two"},
            {"line": 3, "column": 1, "text": "two"},
        ], "more": false}))
    );
}

#[tokio::test]
async fn a_literal_pattern_is_not_a_regular_expression() {
    let data = ask(
        "text.find",
        json!({"text": "a.c abc a.c", "pattern": "a.c", "limit": 1}),
    )
    .await;
    assert_eq!(
        data,
        Ok(json!({"matches": [{"line": 1, "column": 1, "text": "a.c"}], "more": true}))
    );
}

#[tokio::test]
async fn hostile_patterns_are_rejected_or_harmless() {
    let bad = ask(
        "text.find",
        json!({"text": "x", "pattern": "(", "regex": true}),
    )
    .await;
    assert_eq!(bad, Err(ErrorCode::InputRejected));
    let huge = json!({"text": "x", "pattern": "(a{1000}){1000}", "regex": true});
    assert_eq!(ask("text.find", huge).await, Err(ErrorCode::InputRejected));
    let backtracking =
        json!({"text": "a".repeat(50_000) + "!", "pattern": "^(a+)+$", "regex": true});
    let data = ask("text.find", backtracking).await;
    assert_eq!(data, Ok(json!({"matches": [], "more": false})));
}

#[tokio::test]
async fn every_occurrence_is_replaced() {
    let data = ask(
        "text.replace",
        json!({"text": "a-b-c", "pattern": "-", "with": "+"}),
    )
    .await;
    assert_eq!(data, Ok(json!({"text": "a+b+c", "count": 2})));
}

#[tokio::test]
async fn a_pointer_reads_one_place_or_names_the_keys_nearby() {
    let json = r#"{"a/b": [{"n": 1.50}]}"#;
    let data = ask("json.get", json!({"json": json, "pointer": "/a~1b/0/n"})).await;
    assert_eq!(data, Ok(json!({"found": true, "value": 1.5, "keys": []})));
    let missing = ask("json.get", json!({"json": json, "pointer": "/x/y"})).await;
    assert_eq!(
        missing,
        Ok(json!({"found": false, "value": null, "keys": ["a/b"]}))
    );
    let broken = ask("json.get", json!({"json": "{", "pointer": ""})).await;
    assert_eq!(broken, Err(ErrorCode::InputRejected));
    let deep = ask(
        "json.get",
        json!({"json": "[".repeat(10_000), "pointer": ""}),
    )
    .await;
    assert_eq!(deep, Err(ErrorCode::InputRejected));
}

#[tokio::test]
async fn digests_are_the_published_ones() {
    let data = ask("hash.digest", json!({"text": "abc", "algorithm": "sha256"})).await;
    assert_eq!(
        data,
        Ok(json!({
            "algorithm": "sha256",
            "digest": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        }))
    );
}

#[tokio::test]
async fn encodings_go_there_and_back() {
    for encoding in ["base64", "base64url", "hex"] {
        let there = ask(
            "hash.encode",
            json!({"text": "Tür?>", "encoding": encoding}),
        )
        .await;
        let encoded = there.unwrap()["text"].clone();
        let back = json!({"text": encoded, "encoding": encoding, "decode": true});
        assert_eq!(ask("hash.encode", back).await, Ok(json!({"text": "Tür?>"})));
    }
    for bad in ["é", "abc", "zz"] {
        let odd = json!({"text": bad, "encoding": "hex", "decode": true});
        assert_eq!(ask("hash.encode", odd).await, Err(ErrorCode::InputRejected));
    }
}

#[tokio::test]
async fn the_clock_tells_utc_and_an_offset() {
    let data = ask("time.now", json!({"offset_minutes": -90}))
        .await
        .unwrap();
    let text = |name: &str| data[name].as_str().unwrap().to_owned();
    assert!(text("utc").ends_with('Z'), "{data}");
    assert!(text("local").ends_with("-01:30"), "{data}");
    assert!(text("weekday").ends_with("day"), "{data}");
}

#[tokio::test]
async fn an_unknown_tool_is_not_found() {
    assert_eq!(ask("text.sing", json!({})).await, Err(ErrorCode::NotFound));
}
