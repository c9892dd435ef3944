//! A tool is listed if some call of it could be permitted.

use super::*;

fn lists(policies: &Policies, ask: &Ask) -> bool {
    policies.could_permit(&ask.question())
}

fn forbidding(condition: &str) -> Policies {
    beside_default(&format!(
        "@id(\"no\") forbid (principal, action, resource) when {{ {condition} }};"
    ))
}

#[test]
fn full_consent_is_taken_for_granted() {
    let policies = Policies::shipped().unwrap();
    let mut ask = Ask::about(writer("a.b"));
    ask.tainted = true;
    ask.estimate.confirm = true;
    ask.tool.annotations.sensitive_sink = true;
    assert!(lists(&policies, &ask));
    assert!(!lists(&only(""), &ask));
}

#[test]
fn a_forbid_hides_only_if_no_call_could_pass() {
    let cases = [
        ("true", false),
        ("resource.name == \"a.b\"", false),
        ("context.trust == \"local\"", false),
        ("context.consent < 2", true),
        ("context.tainted", true),
        // Depends on the call, so the tool is shown.
        ("context.arguments.url like \"http:*\"", true),
        ("!(context.arguments.url like \"http:*\")", true),
        ("context.arguments has url", true),
        ("!(context.arguments has url)", true),
        ("context.worst_case > 0", true),
        ("context has budget_left && context.budget_left < 100", true),
        (
            "if context.arguments.a then true else context.tainted",
            true,
        ),
        // Holds whatever the call is.
        (
            "context.arguments.a == 1 || context.trust == \"local\"",
            false,
        ),
        (
            "if context.arguments.a then true else context.trust == \"local\"",
            false,
        ),
        (
            "!(context.arguments.a == 1 && context.trust == \"remote\")",
            false,
        ),
        // Fails whatever the call is.
        (
            "context.arguments.a == 1 && context.trust == \"remote\"",
            true,
        ),
    ];
    for (condition, listed) in cases {
        let policies = forbidding(condition);
        let ask = Ask::about(reader("a.b"));
        assert_eq!(lists(&policies, &ask), listed, "{condition}");
        assert_eq!(lists(&policies, &ask), listed, "{condition}, remembered");
    }
}

#[test]
fn a_permit_that_looks_at_arguments_could_hold() {
    let policies = only(
        r#"@id("home") permit (principal, action, resource)
           when { context.arguments.path like "/home/*" && context.trust == "local" };"#,
    );
    let mut ask = Ask::about(reader("file.read"));
    assert!(lists(&policies, &ask));
    ask.trust = TrustLevel::Remote;
    assert!(!lists(&policies, &ask));
}

#[test]
fn a_rule_that_errs_on_every_call_hides() {
    let overflow = "context.consent + 9223372036854775807 > 0";
    let policies = forbidding(overflow);
    assert!(!lists(&policies, &Ask::about(reader("a.b"))));
}

#[test]
fn whatever_is_allowed_is_listed() {
    let policies = forbidding("context.arguments has a && context.arguments.a > 3");
    for arguments in [r#"{"a":1}"#, r#"{"a":9}"#, r#"{"a":"x"}"#, "{}"] {
        let ask = Ask::about(reader("a.b")).with(arguments);
        let allowed = ask.decide(&policies).decision == Decision::Allow;
        assert!(lists(&policies, &ask) || !allowed, "{arguments}");
    }
}
