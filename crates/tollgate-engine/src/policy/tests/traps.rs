//! The ways Cedar can be made to say yes, and what is done about each.

use super::*;

#[test]
fn an_erring_forbid_denies() {
    let policies = beside_default(
        r#"@id("no-secrets") forbid (principal, action, resource)
           when { context.arguments.path like "/secret/*" };"#,
    );
    let verdict = Ask::about(reader("file.read")).decide(&policies);
    assert_eq!(verdict.decision, Decision::Error);
    assert_eq!(verdict.rule, "no-secrets");
    assert_eq!(verdict.rules, ["no-secrets"]);
    assert_eq!(
        verdict.errors,
        ["no-secrets: record does not have the attribute `path`"]
    );
}
