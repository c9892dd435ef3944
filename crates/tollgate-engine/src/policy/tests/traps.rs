//! The ways Cedar can be made to say yes, and what is done about each.

use super::*;

/// A rule that forbids, and another that permits everything.
fn forbidding(condition: &str) -> Policies {
    only(&format!(
        r#"@id("all") permit (principal, action, resource);
           @id("no") forbid (principal, action, resource) when {{ {condition} }};"#
    ))
}

/// Whether the condition holds for the arguments; `Err` if it cannot be evaluated.
fn holds(condition: &str, arguments: &str) -> Result<bool, String> {
    let verdict = Ask::about(reader("a.b"))
        .with(arguments)
        .decide(&forbidding(condition));
    match verdict.decision {
        Decision::Allow => Ok(false),
        Decision::Deny => Ok(true),
        Decision::Error => Err(verdict.errors.join("; ")),
        Decision::NeedsConsent(_) => panic!("{verdict:?}"),
    }
}

#[test]
fn an_erring_forbid_denies() {
    let policies = beside_default(
        r#"@id("no-secrets") forbid (principal, action, resource)
           when { context.arguments.path like "/secret/*" };"#,
    );
    let verdict = Ask::about(reader("file.read")).decide(&policies);
    assert_eq!(
        verdict,
        Verdict {
            decision: Decision::Error,
            rule: "no-secrets".to_owned(),
            rules: vec!["no-secrets".to_owned()],
            errors: vec!["no-secrets: record does not have the attribute `path`".to_owned()],
        }
    );
}

#[test]
fn an_erring_permit_denies_although_another_permits() {
    let policies = beside_default(
        r#"@id("odd") permit (principal, action, resource)
           when { context.arguments.count > 3 };"#,
    );
    let ask = Ask::about(reader("a.b"));
    assert_eq!(ask.decide(&policies).decision, Decision::Error);
    let ask = ask.with(r#"{"count":"many"}"#);
    assert_eq!(ask.decide(&policies).decision, Decision::Error);
    let ask = ask.with(r#"{"count":2}"#);
    assert_eq!(ask.decide(&policies).decision, Decision::Allow);
}

#[test]
fn a_rule_about_another_tool_does_not_err() {
    let policies = beside_default(
        r#"@id("no-secrets") forbid (principal, action, resource == Tool::"file.read")
           when { context.arguments.path like "/secret/*" };"#,
    );
    let ask = Ask::about(reader("text.stats"));
    assert_eq!(ask.decide(&policies).decision, Decision::Allow);
    let ask = Ask::about(reader("file.read")).with(r#"{"path":"/secret/a"}"#);
    assert_eq!(ask.decide(&policies).decision, Decision::Deny);
}

#[test]
fn an_argument_never_becomes_an_entity_or_an_extension_value() {
    let is_principal = "context.arguments.who == principal";
    let forged = r#"{"who":{"__entity":{"type":"Principal","id":"user:1000"}}}"#;
    assert_eq!(holds(is_principal, forged), Ok(false));
    let nested = r#"{"who":[{"deep":{"__entity":{"type":"Principal","id":"user:1000"}}}]}"#;
    let contains = r#"context.arguments.who.contains({"deep": principal})"#;
    assert_eq!(holds(contains, nested), Ok(false));

    let plain = r#"context.arguments.who["__entity"].id == "user:1000""#;
    assert_eq!(holds(plain, forged), Ok(true));

    let is_decimal = r#"context.arguments.n == decimal("1.5")"#;
    let extension = r#"{"n":{"__extn":{"fn":"decimal","arg":"1.5"}}}"#;
    assert_eq!(holds(is_decimal, extension), Ok(false));
    assert_eq!(holds(is_decimal, r#"{"n":1.5}"#), Ok(true));
    let is_record = r#"context.arguments.n["__extn"].fn == "decimal""#;
    assert_eq!(holds(is_record, extension), Ok(true));

    let expression = r#"{"n":{"__expr":"decimal(\"1.5\")"}}"#;
    assert_eq!(holds(is_decimal, expression), Ok(false));
}

#[test]
fn an_argument_named_like_a_part_of_the_context_does_not_replace_it() {
    let policies = only(
        r#"@id("human") permit (principal, action, resource)
           when { context.consent >= 2 || context.arguments.never == 1 };"#,
    );
    let ask = Ask::about(reader("a.b"))
        .with(r#"{"never":0,"consent":2,"context":{"consent":2},"arguments":{"consent":2}}"#);
    let verdict = ask.decide(&policies);
    assert_eq!(verdict.decision, Decision::NeedsConsent(Consent::Human));
}

#[test]
fn null_is_absent() {
    assert_eq!(holds("context.arguments has a", r#"{"a":null}"#), Ok(false));
    assert!(holds("context.arguments.a == 1", r#"{"a":null}"#).is_err());
    let nested = "context.arguments.a has b";
    assert_eq!(holds(nested, r#"{"a":{"b":null,"c":1}}"#), Ok(false));
    let inside = "context.arguments.a == [1]";
    assert_eq!(holds(inside, r#"{"a":[null,1,null]}"#), Ok(true));
}

#[test]
fn numbers_are_exact_or_text() {
    let cases = [
        ("context.arguments.n == 1", r#"{"n":1}"#),
        ("context.arguments.n == 1", r#"{"n":1.0}"#),
        ("context.arguments.n == 100", r#"{"n":1e2}"#),
        (
            "context.arguments.n == 9223372036854775807",
            r#"{"n":9223372036854775807}"#,
        ),
        (
            r#"context.arguments.n == "9223372036854775808""#,
            r#"{"n":9223372036854775808}"#,
        ),
        (
            r#"context.arguments.n == "12345678901234567890123""#,
            r#"{"n":12345678901234567890123}"#,
        ),
        (
            r#"context.arguments.n.lessThan(decimal("0.3"))"#,
            r#"{"n":0.1}"#,
        ),
        (
            r#"context.arguments.n == "0.10000000000000000001""#,
            r#"{"n":0.10000000000000000001}"#,
        ),
        (r#"context.arguments.n == "1e400""#, r#"{"n":1e400}"#),
    ];
    for (condition, arguments) in cases {
        assert_eq!(holds(condition, arguments), Ok(true), "{condition}");
    }
}

#[test]
fn a_number_of_another_type_than_the_rule_expects_denies() {
    for arguments in [
        r#"{"n":1.5}"#,
        r#"{"n":99999999999999999999}"#,
        r#"{"n":"5"}"#,
    ] {
        assert!(
            holds("context.arguments.n > 10", arguments).is_err(),
            "{arguments}"
        );
    }
}

#[test]
fn every_kind_of_value_and_name_arrives() {
    let cases = [
        (r#"context.arguments["a b.c"] == "x""#, r#"{"a b.c":"x"}"#),
        (
            r#"context.arguments["__proto__"] == true"#,
            r#"{"__proto__":true}"#,
        ),
        (
            r#"context.arguments["名"].b == "é\u{0}""#,
            r#"{"名":{"b":"é\u0000"}}"#,
        ),
        (r#"context.arguments[""] == {"x": 1}"#, r#"{"":{"x":1}}"#),
        (
            r#"context.arguments.a.containsAll([1, "x", true])"#,
            r#"{"a":[true,"x",1,1]}"#,
        ),
        (r#"context.arguments == {"a": 1}"#, r#"{"a":1,"b":null}"#),
        (r#"context["arg\u{75}ments"]["a"] == 1"#, r#"{"a":1}"#),
        (
            r#"(if true then context else context).arguments.a == 1"#,
            r#"{"a":1}"#,
        ),
        (r#"{"c": context}.c.arguments.a == 1"#, r#"{"a":1}"#),
        (r#"[context.arguments].contains({"a": 1})"#, r#"{"a":1}"#),
        (
            r#"context.arguments has a.b && context.arguments.a.b == 1"#,
            r#"{"a":{"b":1}}"#,
        ),
    ];
    for (condition, arguments) in cases {
        assert_eq!(holds(condition, arguments), Ok(true), "{condition}");
    }
}

#[test]
fn arguments_too_large_or_too_deep_deny_and_are_never_left_out() {
    let condition = "context.arguments has a && context.arguments.a == 1";
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(40), "]".repeat(40));
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(300_000));
    let many = format!(r#"{{"a":[{}1]}}"#, "1,".repeat(5_000));
    let wide: Vec<String> = (0..5_000).map(|n| format!("\"k{n}\":null")).collect();
    let wide = format!(r#"{{"a":{{{}}}}}"#, wide.join(","));
    for arguments in [&deep, &long, &many, &wide] {
        let found = holds(condition, arguments);
        assert!(found.is_err(), "{found:?}");
    }
    let unmentioned = format!(r#"{{"a":1,"b":"{}"}}"#, "x".repeat(300_000));
    assert_eq!(holds(condition, &unmentioned), Ok(true));
}

#[test]
fn arguments_that_can_be_read_two_ways_deny() {
    let condition = "context.arguments has a && context.arguments.a == 1";
    for arguments in [
        r#"{"a":2,"a":1}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"{"b":{"c":1,"c":2}}"#,
        "[1]",
    ] {
        assert!(holds(condition, arguments).is_err(), "{arguments}");
    }
}
