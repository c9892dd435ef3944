//! Rules as operators write, check, test and explain them.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::TestEnv;

const NO_CLOCKS: &str = r#"@id("mine.clocks")
@reason("No clocks here.")
forbid (principal, action, resource) when { resource.name == "time.now" };
"#;

const TABLE: &str = r#"
[[case]]
tool = "text.stats"
expect = "allow"
rule = "default.read"

[[case]]
name = "forgetting needs a human"
tool = "session.forget"
expect = "needs_human"

[[case]]
name = "and is fine with one"
tool = "session.forget"
consent = "human"
expect = "allow"
"#;

#[test]
fn the_shipped_rules_are_printed_as_they_are() {
    let env = TestEnv::new();
    let shipped = include_str!("../../../../tollgate-engine/policies/default.cedar");
    let shown = env.run(&["policy", "show"]).exits(0).out;
    assert_eq!(shown.trim_end(), shipped.trim_end());
    let json = env.run(&["policy", "show", "--json"]).exits(0).json();
    assert_eq!(json["text"], shipped);
}

#[test]
fn rules_that_compile_are_counted_and_versioned() {
    let env = TestEnv::new();
    let before = env.run(&["policy", "check", "--json"]).exits(0).json();
    assert_eq!(before["files"], 0);
    env.write("config/tollgate/policies/mine.cedar", NO_CLOCKS);
    let after = env.run(&["policy", "check", "--json"]).exits(0).json();
    assert_eq!(after["files"], 1);
    assert_ne!(before["version"], after["version"]);
    assert!(
        env.run(&["policy", "check"])
            .exits(0)
            .out
            .contains("1 file(s) compile")
    );
}

#[test]
fn every_problem_of_the_rules_is_reported_at_once() {
    let env = TestEnv::new();
    env.write(
        "config/tollgate/policies/a.cedar",
        "permit (principal, action, resource);\n@id(\"a\") permit (principal, action, resource) when { resource.colour == 1 };\n",
    );
    env.write("config/tollgate/policies/b.cedar", "nonsense");
    let checked = env.run(&["policy", "check"]).exits(2);
    assert_eq!(checked.out, "");
    for part in ["a.cedar:1", "a.cedar:2", "colour", "b.cedar:1"] {
        assert!(checked.err.contains(part), "{part}: {}", checked.err);
    }
    let called = env.call("text.stats", r#"{"text":""}"#, &[]).exits(2);
    assert!(called.err.contains("tollgate doctor"));
    assert_eq!(called.out, "");
}

#[test]
fn a_table_that_holds_passes() {
    let env = TestEnv::new();
    env.write("project/table.toml", TABLE);
    let ran = env.run(&["policy", "test", "table.toml"]).exits(0);
    assert_eq!(
        ran.out,
        "pass  text.stats  \npass  forgetting needs a human  \npass  and is fine with one  \n3 passed, 0 failed\n"
    );
}

#[test]
fn a_table_that_does_not_hold_fails_case_by_case() {
    let env = TestEnv::new();
    env.write("config/tollgate/policies/mine.cedar", NO_CLOCKS);
    env.write(
        "project/table.toml",
        "[[case]]\ntool = \"time.now\"\nexpect = \"allow\"\n\n\
         [[case]]\ntool = \"text.stats\"\nexpect = \"allow\"\nrule = \"default.look\"\n\n\
         [[case]]\ntool = \"no.such\"\nexpect = \"allow\"\n\n\
         [[case]]\ntool = \"text.stats\"\nexpect = \"allow\"\n",
    );
    let ran = env
        .run(&["policy", "test", "table.toml", "--json"])
        .exits(1);
    let ran = ran.json();
    assert_eq!(ran["failed"], 3);
    assert_snapshot!(serde_json::to_string_pretty(&ran["cases"]).unwrap(), @r#"
    [
      {
        "case": "time.now",
        "line": 1,
        "passed": false,
        "problem": "expected allow, got deny by mine.clocks"
      },
      {
        "case": "text.stats",
        "line": 5,
        "passed": false,
        "problem": "allow as expected, but by default.read, not by default.look"
      },
      {
        "case": "no.such",
        "line": 10,
        "passed": false,
        "problem": "no tool is named `no.such`"
      },
      {
        "case": "text.stats",
        "line": 14,
        "passed": true,
        "problem": null
      }
    ]
    "#);
    let people = env.run(&["policy", "test", "table.toml"]).exits(1).out;
    assert!(people.ends_with("1 passed, 3 failed\n"));
}

#[test]
fn a_file_that_is_no_table_is_a_usage_error() {
    let env = TestEnv::new();
    for (text, because) in [
        ("[[case]]\ntool = \"a\"\nexpect = \"maybe\"\n", "line 3"),
        (
            "[[case]]\ntool = \"a\"\nexpect = \"allow\"\ncolour = 1\n",
            "colour",
        ),
        ("nonsense", "line 1"),
    ] {
        env.write("project/table.toml", text);
        let ran = env.run(&["policy", "test", "table.toml"]).exits(2);
        assert!(ran.err.contains(because), "{}", ran.err);
    }
    env.run(&["policy", "test", "missing.toml"]).exits(2);
}

#[test]
fn explain_prints_the_rule_that_decides() {
    let env = TestEnv::new();
    env.write("config/tollgate/policies/mine.cedar", NO_CLOCKS);
    let read = env
        .run(&["explain", "text.stats", r#"{"text":"a"}"#])
        .exits(0);
    assert!(read.out.contains("default.read"));
    let write = env.run(&["explain", "session.forget"]).exits(3);
    assert!(write.out.contains("default.write") && write.out.contains("human"));
    let denied = env.run(&["explain", "time.now"]).exits(4);
    assert!(denied.out.contains("mine.clocks") && denied.out.contains("No clocks here."));
    let json = env.run(&["explain", "time.now", "--json"]).exits(4).json();
    assert_eq!(json["rule"], "mine.clocks");
    assert_eq!(json["decision"], "denied");
    let unknown = env.run(&["explain", "time.no"]).exits(2);
    assert!(unknown.err.contains("nearest: time.now"));
    assert_eq!(env.recorded().len(), 0, "explaining calls nothing");
}

#[test]
fn rules_look_at_arguments_and_an_erring_one_denies() {
    let env = TestEnv::new();
    env.write(
        "config/tollgate/policies/mine.cedar",
        "@id(\"mine.secret\") forbid (principal, action, resource) \
         when { resource.name == \"text.stats\" && context.arguments.text == \"secret\" };\n\
         @id(\"mine.count\") forbid (principal, action, resource) \
         when { resource.name == \"text.lines\" && context.arguments.count > 5 };\n",
    );
    let denied = env
        .call("text.stats", r#"{"text":"secret"}"#, &[])
        .exits(4)
        .json();
    assert!(denied["error"].to_string().contains("mine.secret"));
    env.call("text.stats", r#"{"text":"open"}"#, &[]).exits(0);
    let error = env
        .call("text.lines", r#"{"text":"a"}"#, &[])
        .exits(4)
        .json();
    assert_eq!(error["error"]["kind"], "policy_error");
    assert_eq!(error["error"]["details"]["rules"], json!(["mine.count"]));
    env.run(&["explain", "text.lines", r#"{"text":"a"}"#])
        .exits(4);
    let forged = r#"{"text":{"__entity":{"type":"Principal","id":"user:0"}}}"#;
    let forged = env.call("text.stats", forged, &[]).exits(1).json();
    assert_eq!(forged["error"]["kind"], "invalid_arguments");
}
