//! Lines that are no requests: each is answered and recorded, and the next good line works.

use serde_json::{Value, json};

use crate::support::{Lines, TestEnv};

const GOOD: &str = r#"{"id":"good","method":"text.stats","params":{"text":"hello"}}"#;

/// Sends one bad line and a good one; gives the answer to the bad one.
#[track_caller]
fn answered(bad: &[u8]) -> (Value, Value) {
    let env = TestEnv::new();
    let mut lines = Lines::start(&env, &[]);
    lines.raw(bad);
    lines.raw(b"\n");
    let response = lines.until("response");
    assert_eq!(lines.until("done")["id"], response["id"]);
    assert_eq!(lines.ask(GOOD)["data"]["characters"], 5);
    lines.end();
    assert_eq!(lines.wait(), Some(0));
    let recorded = env.recorded();
    assert_eq!(recorded.len(), 2);
    assert_eq!(
        recorded[0]["error_code"],
        response["payload"]["error"]["code"]
    );
    env.whole();
    (response["id"].clone(), response["payload"]["error"].clone())
}

#[track_caller]
fn malformed(bad: &[u8], because: &str) -> Value {
    let (id, error) = answered(bad);
    assert_eq!(error["code"], "tool.gate.request.malformed");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(because), "{message}");
    assert_eq!(error["can_retry"], false);
    id
}

#[test]
fn malformed_json() {
    malformed(b"{\"id\":1,", "EOF");
    malformed(b"hello", "expected value");
    malformed(b"{} {}", "missing field `method`");
}

#[test]
fn json_that_is_no_object() {
    malformed(b"5", "invalid type");
    malformed(b"\"text\"", "invalid type");
    malformed(b"null", "invalid type");
    malformed(
        br#"[1,"text.stats",{"text":"a"},null]"#,
        "must be a JSON object",
    );
}

#[test]
fn a_line_of_ten_megabytes() {
    let long = format!(
        r#"{{"id":1,"method":"text.stats","params":{{"text":"{}"}}}}"#,
        "x".repeat(10 << 20)
    );
    let (id, error) = answered(long.as_bytes());
    assert_eq!(id, Value::Null);
    assert_eq!(error["code"], "tool.gate.request.too_large");
}

#[test]
fn ten_thousand_levels() {
    let deep = format!(
        r#"{{"id":1,"method":"text.stats","params":{}{}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    malformed(deep.as_bytes(), "nests too deeply");
}

#[test]
fn bytes_that_are_no_utf_8() {
    malformed(
        b"{\"id\":1,\"method\":\"text.stats\",\"params\":{\"text\":\"\xff\xfe\"}}",
        "not UTF-8",
    );
    malformed(b"\x00\x01\x02", "expected value");
}

#[test]
fn unknown_fields_and_wrong_types_keep_their_id() {
    let unknown = br#"{"id":7,"method":"text.stats","params":{"text":"a"},"colour":1}"#;
    assert_eq!(malformed(unknown, "colour"), 7);
    let wrong = br#"{"id":"a","method":5}"#;
    assert_eq!(malformed(wrong, "invalid type"), "a");
    let missing = br#"{"id":[1]}"#;
    assert_eq!(malformed(missing, "method"), json!([1]));
}

#[test]
fn arguments_that_do_not_fit_never_reach_a_tool() {
    for params in [
        r#"{"text":5}"#,
        r#"{"text":"a","colour":1}"#,
        "{}",
        "[1]",
        "5",
    ] {
        let line = format!(r#"{{"id":1,"method":"text.stats","params":{params}}}"#);
        let (id, error) = answered(line.as_bytes());
        assert_eq!(id, 1);
        assert_eq!(error["kind"], "invalid_arguments", "{params}");
    }
}

#[test]
fn an_unknown_tool_comes_with_the_nearest_names() {
    let (_, error) = answered(br#"{"id":1,"method":"text.stat"}"#);
    assert_eq!(error["kind"], "unknown_tool");
    assert_eq!(error["details"]["nearest"][0], "text.stats");
}

#[test]
fn blank_lines_and_line_ends_of_any_kind_mean_nothing() {
    let env = TestEnv::new();
    let input = format!("\n   \n\r\n\t\n{GOOD}\r\n\n{GOOD}");
    let ran = env.feed(&["jsonl"], input).exits(0);
    assert_eq!(ran.out.lines().count(), 8);
    assert_eq!(env.recorded().len(), 2);
    let nothing = env.feed(&["jsonl"], "").exits(0);
    assert_eq!((nothing.out.as_str(), nothing.err.as_str()), ("", ""));
}

#[test]
fn a_flood_of_garbage_is_answered_line_by_line() {
    let env = TestEnv::new();
    let mut input: Vec<u8> = Vec::new();
    for number in 0..50_u8 {
        input.extend([b'{', number.wrapping_mul(37) | 0x80, number.max(11), b'\n']);
    }
    input.extend(GOOD.as_bytes());
    let ran = env.feed(&["jsonl"], input).exits(0);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let done = lines.iter().filter(|line| line["event"] == "done").count();
    assert_eq!(done, 51);
    assert_eq!(lines.last().unwrap()["id"], "good");
    assert_eq!(env.whole()["rows"], 51);
}
