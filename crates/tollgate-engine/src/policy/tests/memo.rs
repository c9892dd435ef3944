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

fn some_ask() -> impl Strategy<Value = Ask> {
    let place = (
        0..3_usize,
        0..2_usize,
        any::<bool>(),
        any::<bool>(),
        0..4_usize,
    );
    let call = (
        0..3_usize,
        0..2_usize,
        0..3_usize,
        0..3_usize,
        any::<bool>(),
    );
    let money = (0..3_u64, 0..3_u64, any::<bool>(), 0..4_usize);
    (place, call, money).prop_map(|(place, call, money)| {
        let (tool, kind, sink, remote, action) = place;
        let (consent, who, surface, session, tainted) = call;
        let (left, worst, confirm, arguments) = money;
        let name = ["t.one", "t.two", "t.three"][tool];
        let tool = [reader, writer][kind](name);
        let mut ask = Ask::about(tool);
        ask.tool.annotations.sensitive_sink = sink;
        ask.action = Action::ALL[action];
        ask.principal = [Principal::user(1), Principal::token("x")][who].clone();
        ask.consent = Consent::ALL[consent];
        ask.surface = Surface::ALL[surface];
        ask.trust = TrustLevel::ALL[usize::from(remote)];
        ask.session = format!("s{session}");
        ask.profile = [None, Some("safe".to_owned()), Some("x".to_owned())][session].clone();
        ask.budget_left = left.checked_sub(1);
        ask.estimate = Estimate {
            estimated: worst,
            worst_case: worst,
            confirm,
        };
        ask.tainted = tainted;
        ask.with(["{}", r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":"x"}"#][arguments])
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn remembering_changes_nothing(
        chosen in prop::collection::vec(any::<bool>(), RULES.len()),
        asks in prop::collection::vec(some_ask(), 40),
    ) {
        let rules: Vec<&str> = RULES
            .iter()
            .zip(chosen)
            .filter_map(|(rule, chosen)| chosen.then_some(*rule))
            .collect();
        let policies = beside_default(&rules.join("\n"));
        for ask in &asks {
            let question = ask.question();
            let anew = policies.judge(&question, &policies.tool(&question).unwrap());
            prop_assert_eq!(&policies.decide(&question), &anew);
            prop_assert_eq!(&policies.decide(&question), &anew);
            if anew.decision == Decision::Allow {
                prop_assert!(policies.could_permit(&question));
            }
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
