//! A remembered verdict is the verdict that would be given anew.

use proptest::prelude::*;

use super::*;

const RULES: &[&str] = &[
    r#"@id("session") forbid (principal, action, resource) when { context.session == "s1" };"#,
    r#"@id("budget") forbid (principal, action, resource == Tool::"t.one")
       when { context has budget_left && context.budget_left < context.worst_case };"#,
    r#"@id("argument") permit (principal, action, resource == Tool::"t.two")
       when { context.arguments has a && context.arguments.a > 1 };"#,
    r#"@id("whole") forbid (principal, action, resource == Tool::"t.two")
       when { context.arguments == {"a": 2} };"#,
    r#"@id("who") permit (principal == Principal::"token:x", action, resource)
       when { context.trust == "local" };"#,
    r#"@id("profile") forbid (principal, action, resource)
       when { context has profile && context.profile == "safe" && !resource.read_only };"#,
    r#"@id("errs") forbid (principal, action, resource)
       when { context.surface == "mcp" && context.consent + 9223372036854775807 > 0 };"#,
];

/// How many things about a question vary.
const FIELDS: usize = 15;

/// The question that a row of choices stands for.
fn ask_of(choices: &[usize; FIELDS]) -> Ask {
    let [
        name,
        kind,
        sink,
        action,
        who,
        consent,
        surface,
        trust,
        session,
        profile,
        left,
        worst,
        confirm,
        tainted,
        arguments,
    ] = *choices;
    let tool = [reader, writer][kind % 2](["t.one", "t.two", "t.three"][name % 3]);
    let mut ask = Ask::about(tool);
    ask.tool.annotations.sensitive_sink = sink % 2 == 1;
    ask.action = Action::ALL[action % 4];
    ask.principal = [Principal::user(1), Principal::token("x")][who % 2].clone();
    ask.consent = Consent::ALL[consent % 3];
    ask.surface = Surface::ALL[surface % 3];
    ask.trust = TrustLevel::ALL[trust % 2];
    ask.session = format!("s{}", session % 3);
    ask.profile = [None, Some("safe"), Some("x")][profile % 3].map(str::to_owned);
    ask.budget_left = [None, Some(0), Some(1)][left % 3];
    ask.estimate.worst_case = [0, 1, 2][worst % 3];
    ask.estimate.confirm = confirm % 2 == 1;
    ask.tainted = tainted % 2 == 1;
    ask.with(["{}", r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":"x"}"#][arguments % 4])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each question differs from the one before in one thing, as those do that a
    /// careless key would confuse.
    #[test]
    fn remembering_changes_nothing(
        chosen in prop::collection::vec(prop::bool::weighted(0.7), RULES.len()),
        start in prop::array::uniform15(0..12_usize),
        changes in prop::collection::vec((0..FIELDS, 0..12_usize), 80),
    ) {
        let rules: Vec<&str> = RULES
            .iter()
            .zip(chosen)
            .filter_map(|(rule, chosen)| chosen.then_some(*rule))
            .collect();
        let policies = beside_default(&rules.join("\n"));
        let mut choices = start;
        for (field, value) in changes {
            let before = choices[field];
            for value in [value, before] {
                choices[field] = value;
                let ask = ask_of(&choices);
                let question = ask.question();
                let anew = policies.judge(&question, &policies.tool(&question).unwrap());
                prop_assert_eq!(&policies.decide(&question), &anew);
                if anew.decision == Decision::Allow {
                    prop_assert!(policies.could_permit(&question));
                }
            }
            choices[field] = value;
        }
    }
}

#[test]
fn a_tool_that_changed_is_judged_anew() {
    let policies = Policies::shipped().unwrap();
    let mut ask = Ask::about(reader("a.b"));
    assert_eq!(ask.decide(&policies).decision, Decision::Allow);
    ask.tool.annotations.destructive = true;
    let verdict = ask.decide(&policies);
    assert_eq!(verdict.decision, Decision::NeedsConsent(Consent::Human));
    ask.tool.annotations.destructive = false;
    assert_eq!(ask.decide(&policies).decision, Decision::Allow);
}

#[test]
fn many_askers_at_once_get_their_own_answers() {
    let policies = beside_default(
        r#"@id("who") forbid (principal == Principal::"user:3", action, resource);"#,
    );
    std::thread::scope(|scope| {
        for uid in 0..6_u32 {
            let policies = &policies;
            scope.spawn(move || {
                for round in 0..2_000 {
                    let ask = Ask {
                        principal: Principal::user(uid),
                        ..Ask::about(reader(&format!("t.n{}", round % 50)))
                    };
                    let allowed = ask.decide(policies).decision == Decision::Allow;
                    assert_eq!(allowed, uid != 3);
                }
            });
        }
    });
}
