//! Stand-ins for tools of ours: they take what those take and answer as those answer.

use serde_json::json;

use crate::support::TestEnv;

fn env() -> TestEnv {
    TestEnv::with_config(
        "preferred_provider_order = [\"stub\", \"builtin\"]\n\
         [providers.stub]\ntools = [\"web.search\", \"session.info\", \"keepa.products_get\", \"nobody.knows\"]\n",
    )
}

#[test]
fn a_stand_in_answers_within_the_schema_of_the_tool_it_stands_in_for() {
    let env = env();
    let question = r#"{"query":"milk"}"#;
    let found = env.ok("web.search", question);
    assert_eq!(found["meta"]["provider"], "stub");
    let item = &found["data"]["items"][0];
    for field in ["title", "url", "snippet", "provider"] {
        assert!(item[field].is_string(), "{field}: {found:#}");
    }
    assert!(item["rank"].is_u64(), "{found:#}");
    let again = env.ok("web.search", question);
    assert_eq!(again["data"], found["data"], "the same again");
    let other = env.ok("web.search", r#"{"query":"honey"}"#);
    assert_ne!(other["data"], found["data"]);
    // Tools of the gate itself and of the Keepa pack have schemas, too.
    let session = env.ok("session.info", "{}");
    assert_eq!(session["meta"]["provider"], "stub", "{session:#}");
    env.ok("keepa.products_get", r#"{"asins":["B000000001"]}"#);
}

#[test]
fn a_stand_in_checks_what_the_tool_would_check() {
    let env = env();
    for (tool, arguments) in [
        ("web.search", json!({})),
        ("web.search", json!({"query": 5})),
        ("web.search", json!({"query": "milk", "colour": "red"})),
    ] {
        let refused = env.call(tool, &arguments.to_string(), &[]).exits(1).json();
        assert_eq!(refused["error"]["kind"], "invalid_arguments", "{refused:#}");
    }
}

#[test]
fn a_stand_in_for_what_nobody_knows_takes_anything() {
    let answer = env().ok("nobody.knows", r#"{"any":"thing"}"#);
    assert_eq!(answer["data"]["arguments"], json!({"any": "thing"}));
}
