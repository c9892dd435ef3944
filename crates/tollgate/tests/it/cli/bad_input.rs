//! Whatever is typed or piped: a clear error, nothing called, nothing on standard output
//! that is not the envelope.

use serde_json::json;

use crate::support::TestEnv;

/// Arguments that never become a call.
#[track_caller]
fn refused(arguments: &str, because: &str) {
    let env = TestEnv::new();
    let ran = env.call("text.stats", arguments, &[]).exits(2);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains(because), "{}", ran.err);
}

#[test]
fn malformed_json_says_where() {
    refused("{\"text\": ", "line 1 column");
}

#[test]
fn arguments_that_are_no_object_are_refused() {
    for arguments in ["[1]", "5", "null", "\"text\""] {
        refused(arguments, "must be a JSON object");
    }
    refused("", "not valid JSON");
}

#[test]
fn deep_json_is_refused_before_it_is_read() {
    let deep = format!("{{\"text\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    refused(&deep, "nest");
}

#[test]
fn a_file_that_is_not_utf_8_is_refused() {
    let env = TestEnv::new();
    env.write("project/bytes.json", b"{\"text\":\"\xff\"}");
    let ran = env.call("text.stats", "@bytes.json", &[]).exits(2);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("not UTF-8"), "{}", ran.err);
}

#[test]
fn arguments_that_cannot_be_read_or_never_end_are_refused() {
    refused("@.", "cannot be read");
    refused("@/dev/zero", "too long");
    refused("@/dev/null", "not valid JSON");
}

#[test]
fn numbers_beyond_all_bounds_are_usage_errors_or_mean_all() {
    let env = TestEnv::new();
    env.ok("text.stats", r#"{"text":"a"}"#);
    let most = u64::MAX.to_string();
    for concurrent in ["0", "4097", &most, "-1", "x"] {
        env.run(&["jsonl", "--concurrent", concurrent]).exits(2);
    }
    env.run(&["tools", "search", "text", "--limit", &most])
        .exits(0);
    env.run(&["audit", "show", &most]).exits(2);
    env.run(&["audit", "receipt", &most]).exits(1);
    env.run(&["audit", "list", "--limit", "0"]).exits(0);
    env.approver_with(&["--quiet", "--expires", &most]);
}

#[test]
fn ten_megabytes_of_arguments_are_too_large_and_recorded() {
    let env = TestEnv::new();
    let large = json!({"text": "x".repeat(10 << 20)}).to_string();
    env.write("project/large.json", &large);
    let ran = env.call("text.stats", "@large.json", &[]).exits(2).json();
    assert_eq!(ran["error"]["kind"], "request_too_large");
    let recorded = env.recorded();
    assert_eq!(recorded[0]["error_code"], "tool.gate.request.too_large");
    let piped = ["call", "text.stats", "--args", "-", "--json"];
    let piped = env.feed(&piped, large).exits(2).json();
    assert_eq!(piped["error"]["kind"], "request_too_large");
}

#[test]
fn wrong_types_and_unknown_fields_are_listed() {
    let env = TestEnv::new();
    let ran = env.call("text.stats", r#"{"text":5,"colour":"red"}"#, &[]);
    let error = ran.exits(1).json()["error"].clone();
    assert_eq!(error["kind"], "invalid_arguments");
    let problems = error["details"]["problems"].to_string();
    assert!(problems.contains("text") && problems.contains("colour"));
    assert_eq!(error["can_retry"], false);
}

#[test]
fn an_unknown_tool_comes_with_the_nearest_names() {
    let env = TestEnv::new();
    let ran = env.call("text.stat", "{}", &[]).exits(2);
    let error = ran.json()["error"].clone();
    assert_eq!(error["kind"], "unknown_tool");
    assert_eq!(error["details"]["nearest"][0], "text.stats");
    let people = env.run(&["call", "text.stat"]).exits(2);
    assert!(people.err.contains("nearest: text.stats"));
}

#[test]
fn names_that_are_no_names_are_unknown_tools() {
    let env = TestEnv::new();
    let long = "x".repeat(10_000);
    for name in ["../../etc", "a b", "", "\u{202e}stats.text", long.as_str()] {
        let ran = env.call(name, "{}", &[]).exits(2);
        assert_eq!(ran.json()["error"]["kind"], "unknown_tool", "{name}");
    }
    assert_eq!(env.recorded().len(), 5);
    env.whole();
}

#[test]
fn a_command_line_that_is_not_utf_8_is_a_usage_error() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let env = TestEnv::new();
    let mut command = env.command(&["call"]);
    let output = command
        .arg(OsStr::from_bytes(b"text\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty());
}

#[test]
fn numbers_survive_as_they_were_written() {
    let env = TestEnv::with_config("[providers.stub]\ntools = [\"echo.back\"]\n");
    let huge = r#"{"n":12345678901234567890123,"f":1.10}"#;
    let ran = env.call("echo.back", huge, &[]).exits(0);
    assert!(ran.out.contains("echo.back"));
    let odd = r#"{"a":1,"a":2}"#;
    let ran = env.call("echo.back", odd, &[]);
    assert!(ran.code <= 2, "{ran:?}");
}
