//! Whether arguments and answers fit, and that nothing else gets through.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::{
    Caching, Capability, Cost, ErrorCode, Estimate, FromCache, Payload, Raise, Reuse, Telling,
    ToolResult, ToolSpec, depth::MAX_DEPTH,
};
use tollgate_testkit::fakes::says;

use crate::support::{Setup, World, body, details, error, request, result, said, spec_read};

#[tokio::test]
async fn an_invalid_call_never_reaches_a_provider() {
    let world = strict().await;
    for arguments in [
        "{}",
        r#"{"n":"1"}"#,
        r#"{"n":0}"#,
        r#"{"n":1,"day":"2026-02-30"}"#,
        r#"{"n":1,"other":2}"#,
        r#"{"n":1,"word":"UPPER"}"#,
        "[]",
        "null",
        r#""n""#,
    ] {
        let outcome = world.call("shelf.strict", arguments).await;
        assert_eq!(said(&outcome), "invalid_arguments", "{arguments}");
    }
    assert_eq!(world.fake.count(), 0);
    world.check(9).await;
    assert_eq!(said(&world.call("shelf.strict", r#"{"n":1}"#).await), "ok");
}

#[tokio::test]
async fn what_is_wrong_with_arguments_is_listed_without_quoting_them() {
    let world = strict().await;
    let secret = "hunter2-hunter2";
    let outcome = world
        .call("shelf.strict", &format!(r#"{{"n":"{secret}","word":"X"}}"#))
        .await;
    let problems = details(&outcome)["problems"].clone();
    let places: Vec<_> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["at"].clone())
        .collect();
    assert_eq!(places, ["/n", "/word"]);
    assert!(!body(&outcome).to_string().contains(secret));
}

#[tokio::test]
async fn arguments_that_can_be_read_two_ways_are_refused() {
    let world = strict().await;
    for arguments in [
        r#"{"n":1,"n":2}"#,
        r#"{"n":1,"\u006e":2}"#,
        r#"{"n":1,"free":{"a":1,"a":2}}"#,
        r#"{"n":1,"free":[{"a":1,"a":1}]}"#,
    ] {
        let outcome = world.call("shelf.strict", arguments).await;
        assert_eq!(said(&outcome), "invalid_arguments", "{arguments}");
        let wrapped = format!(r#"{{"name":"shelf.strict","arguments":{arguments}}}"#);
        let inner = world.call("tools.call", &wrapped).await;
        assert_eq!(said(&inner), "invalid_arguments", "{arguments}");
    }
    assert_eq!(world.fake.count(), 0);
}

#[tokio::test]
async fn a_provider_gets_the_arguments_byte_for_byte() {
    let world = strict().await;
    for arguments in [
        r#"{"z":1.50,"a":12345678901234567890123,"m":1e2,"k":-0.0}"#,
        r#"{ "spaced" : [ 1 , 2 ] }"#,
        r#"{"é":"\u00e9","emoji":"\ud83d\ude00","tab":"\t"}"#,
        r#"{"nested":{"b":{},"a":[]},"null":null}"#,
    ] {
        let outcome = world.call("shelf.any", arguments).await;
        assert_eq!(said(&outcome), "ok", "{arguments}");
        assert_eq!(world.fake.seen().pop().unwrap().arguments, arguments);
        let wrapped = format!(r#"{{"name":"shelf.any","arguments":{arguments}}}"#);
        world.call("tools.call", &wrapped).await;
        assert_eq!(world.fake.seen().pop().unwrap().arguments, arguments);
    }
}

#[tokio::test]
async fn arguments_are_known_by_one_name_before_anything_looks_at_them() {
    let schema = json!({
        "type": "object",
        "properties": {"dry_run": {"type": "boolean"}, "out_dir": {"type": "string"}, "n": {}},
        "additionalProperties": false,
    });
    let strict = |name: &str| ToolSpec {
        input_schema: schema.clone().into(),
        service_command: Some("shelf.list".to_owned()),
        caching: Caching::Session,
        cost: Cost::Estimated(Arc::new(|arguments: &Map<String, Value>| {
            let tokens = 7 * u64::from(arguments.contains_key("out_dir"));
            Estimate {
                estimated: tokens,
                worst_case: tokens,
                confirm: false,
            }
        })),
        raise: Raise::by(Arc::new(|arguments: &Map<String, Value>| {
            if arguments.contains_key("out_dir") {
                Capability::L1
            } else {
                Capability::L0
            }
        })),
        ..spec_read(name)
    };
    let lenient = |name: &str| ToolSpec {
        telling: Telling {
            respell: Some(Arc::new(|name: &str| {
                let known = ["dry-run", "out-dir"].contains(&name);
                known.then(|| name.replace('-', "_"))
            })),
            ..Telling::default()
        },
        ..strict(name)
    };
    let world = Setup::new()
        .tool(lenient("shelf.lenient"), says(json!({"ok": true})))
        .tool(strict("shelf.strict"), says(json!({"ok": true})))
        .build()
        .await;
    // What is told of a call before it is made is told of the same call.
    let told = |arguments: &str| {
        let arguments = Payload::parse(arguments.to_owned()).unwrap();
        world
            .gateway
            .estimate("shelf.lenient", &arguments)
            .estimated
    };
    assert_eq!([told(r#"{"out-dir":"a"}"#), told("{}")], [7, 0]);
    let dry = body(&world.call("shelf.lenient", r#"{"dry-run":true}"#).await);
    assert_eq!(dry["data"]["dry_run"], true, "{dry}");
    // A place to write to is one whatever it is called, and so is the consent it takes.
    let asked = world.call("shelf.lenient", r#"{"out-dir":"a"}"#).await;
    assert_eq!(said(&asked), "confirmation_required");
    assert_eq!(
        details(&asked)["resume_with"]["params"],
        json!({"out_dir": "a"})
    );
    world.decide(&asked, tollgate_engine::Decided::Once).await;
    let done = world.call("shelf.lenient", r#"{"out_dir":"a"}"#).await;
    assert_eq!(said(&done), "ok");
    assert_eq!(
        world.fake.seen().pop().unwrap().arguments,
        r#"{"out_dir":"a"}"#
    );
    // Through a call by name it is the same call, and its answer is kept under one key.
    assert_eq!(said(&world.call("shelf.lenient", r#"{"n":1}"#).await), "ok");
    let wrapped = r#"{"name":"shelf.lenient","arguments":{"n":1,"dry-run":false}}"#;
    let inner = world.call("tools.call", wrapped).await;
    assert_eq!(said(&inner), "ok");
    let plain = world
        .call("shelf.lenient", r#"{"n":1,"dry_run":false}"#)
        .await;
    assert_eq!(said(&plain), "hit");
    for (tool, arguments) in [
        ("shelf.lenient", r#"{"out-dir":"a","out_dir":"b"}"#),
        ("shelf.lenient", r#"{"some-thing":1}"#),
        ("shelf.strict", r#"{"dry-run":true}"#),
    ] {
        let refused = world.call(tool, arguments).await;
        assert_eq!(said(&refused), "invalid_arguments", "{tool} {arguments}");
    }
}

#[tokio::test]
async fn an_answer_that_depends_on_more_than_arguments_is_read_on_request_only() {
    let spec = ToolSpec {
        caching: Caching::Session,
        telling: Telling {
            reuse: Some(Arc::new(|arguments: &Map<String, Value>| {
                match arguments.get("file").and_then(Value::as_str) {
                    None => Reuse::Always,
                    Some("live") => Reuse::Never,
                    Some(_) => Reuse::OnRequest,
                }
            })),
            ..Telling::default()
        },
        ..spec_read("shelf.read")
    };
    let world = Setup::new()
        .tool(spec, says(json!({"ok": true})))
        .build()
        .await;
    for (arguments, again, on_request) in [
        ("{}", "hit", "hit"),
        (r#"{"file":"a"}"#, "ok", "hit"),
        (r#"{"file":"live"}"#, "ok", "cache_miss"),
    ] {
        assert_eq!(said(&world.call("shelf.read", arguments).await), "ok");
        let second = world.call("shelf.read", arguments).await;
        assert_eq!(said(&second), again, "{arguments}");
        let mut asked = request("shelf.read", arguments);
        asked.control.from_cache = FromCache::SameArguments;
        assert_eq!(said(&world.ask(asked).await), on_request, "{arguments}");
    }
    assert_eq!(world.fake.count(), 5);
}

#[tokio::test]
async fn an_answer_keeps_its_spelling() {
    let raw = r#"{"z":1.50,"a":12345678901234567890123,"m":1e2}"#;
    let payload = Payload::parse(raw.to_owned()).unwrap();
    let world = Setup::new()
        .tool(spec_read("shelf.any"), result(ToolResult::ok(payload)))
        .build()
        .await;
    let outcome = world.call("shelf.any", "{}").await;
    assert_eq!(outcome.envelope.get().data.as_ref().unwrap().raw(), raw);
}

#[tokio::test]
async fn arguments_are_bounded_in_size_and_depth() {
    let world = strict().await;
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(2 << 20));
    let outcome = world.call("shelf.any", &large).await;
    assert_eq!(said(&outcome), "request_too_large");
    let wrapped = format!(r#"{{"name":"shelf.any","arguments":{large}}}"#);
    assert_eq!(
        said(&world.call("tools.call", &wrapped).await),
        "request_too_large"
    );
    assert_eq!(world.fake.count(), 0);

    let fits = format!(r#"{{"text":"{}"}}"#, "x".repeat(900 << 10));
    assert_eq!(said(&world.call("shelf.any", &fits).await), "ok");
    let deepest = nested(MAX_DEPTH);
    assert_eq!(said(&world.call("shelf.any", &deepest).await), "ok");
    assert_eq!(world.fake.seen().pop().unwrap().arguments, deepest);
    assert!(Payload::parse(nested(MAX_DEPTH + 1)).is_err());
    assert!(Payload::parse(nested(10_000)).is_err());
    world.check(4).await;
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_the_tools_error_and_is_recorded() {
    let world = answering(json!({"n": "one"})).await;
    let outcome = world.call("shelf.promise", "{}").await;
    assert_eq!(said(&outcome), "invalid_output");
    assert_eq!(details(&outcome)["problems"][0]["at"], "/n");
    assert_eq!(outcome.envelope.get().data, None);
    let ending = world.ending(&outcome).await;
    assert_eq!(
        [&ending["status"], &ending["error_code"]],
        ["error", ErrorCode::InvalidOutput.as_str()]
    );
    let whole = answering(json!("text")).await;
    let message = error(&whole.call("shelf.promise", "{}").await)["message"].clone();
    assert_eq!(
        message,
        "the answer of `shelf.promise` does not fit its own schema: value is not of type \"object\""
    );
}

#[tokio::test]
async fn an_answer_that_cleaning_breaks_is_no_answer() {
    let world = answering(json!({"n": 1, "contact": "ann@example.com"})).await;
    let outcome = world.call("shelf.promise", "{}").await;
    assert_eq!(said(&outcome), "invalid_output");
    assert_eq!(details(&outcome)["problems"][0]["at"], "/contact");
    assert!(!body(&outcome).to_string().contains("ann@example.com"));
    world.ending(&outcome).await;
}

#[tokio::test]
async fn an_answer_is_bounded_in_size() {
    let world = Setup::new()
        .tool(
            spec_read("shelf.any"),
            says(json!({"text": "x".repeat(2000)})),
        )
        .settings(|settings| settings.result_bytes = 1000)
        .build()
        .await;
    let outcome = world.call("shelf.any", "{}").await;
    assert_eq!(said(&outcome), "output_too_large");
    world.check(1).await;
}

#[tokio::test]
async fn a_tool_whose_schema_cannot_be_used_is_never_called() {
    let schemas = [
        json!({"$ref": "https://example.test/schema.json"}),
        json!({"type": 12}),
        json!({"pattern": "("}),
    ];
    for schema in schemas {
        let spec = ToolSpec {
            input_schema: schema.clone().into(),
            ..spec_read("shelf.hostile")
        };
        let world = Setup::new().tool(spec, says(json!({}))).build().await;
        let outcome = world.call("shelf.hostile", "{}").await;
        assert_eq!(said(&outcome), "unsupported", "{schema}");
        assert_eq!(world.fake.count(), 0);
    }
}

#[tokio::test]
async fn a_request_that_could_not_be_read_is_written_down_too() {
    let world = strict().await;
    let outcome = world
        .gateway
        .refuse(
            &crate::support::caller("s1"),
            ErrorCode::MalformedRequest,
            "not JSON: ann@example.com",
        )
        .await;
    assert_eq!(said(&outcome), "malformed_request");
    assert_eq!(error(&outcome)["message"], "not JSON: [REDACTED:email]");
    world.ending(&outcome).await;
    world.check(1).await;
    drop(request("shelf.any", "{}"));
}

fn nested(depth: usize) -> String {
    let inner = depth - 1;
    format!(r#"{{"a":{}{}}}"#, "[".repeat(inner), "]".repeat(inner))
}

async fn strict() -> World {
    let spec = ToolSpec {
        input_schema: json!({
            "type": "object",
            "properties": {
                "n": {"type": "integer", "minimum": 1},
                "day": {"type": "string", "format": "date"},
                "word": {"type": "string", "pattern": "^[a-z]+$"},
                "free": {},
            },
            "required": ["n"],
            "additionalProperties": false,
        })
        .into(),
        ..spec_read("shelf.strict")
    };
    Setup::new()
        .tool(spec, says(json!({"ok": true})))
        .tool(spec_read("shelf.any"), says(json!({"ok": true})))
        .build()
        .await
}

async fn answering(data: Value) -> World {
    let spec = ToolSpec {
        output_schema: Some(
            json!({
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "contact": {"type": "string", "format": "email"},
                },
            })
            .into(),
        ),
        ..spec_read("shelf.promise")
    };
    Setup::new().tool(spec, says(data)).build().await
}
