//! What the shipped rules decide, for every kind of tool and every consent.

use super::*;

/// Every combination of what a tool can declare, with a name that says which.
fn every_tool() -> Vec<ToolSpec> {
    let mut tools = Vec::new();
    for capability in [Capability::L0, Capability::L1, Capability::L2] {
        for bits in 0..64_u32 {
            let flag = |bit: u32| bits & (1 << bit) != 0;
            let mut tool = reader(&format!("tool.{}_{bits}", capability.as_str()));
            tool.capability = capability;
            tool.annotations = Annotations {
                read_only: flag(0),
                idempotent: flag(1),
                destructive: flag(2),
                open_world: flag(3),
                sensitive_sink: flag(4),
            };
            tool.requires_confirm = flag(5);
            tools.push(tool);
        }
    }
    tools
}

/// The contract, written a second time.
fn needed(ask: &Ask) -> Consent {
    let annotations = ask.tool.annotations;
    let human = ask.tool.capability > Capability::L0
        || !annotations.read_only
        || annotations.destructive
        || annotations.sensitive_sink
        || ask.tool.requires_confirm;
    if human {
        Consent::Human
    } else if ask.estimate.confirm {
        Consent::Agent
    } else {
        Consent::None
    }
}

#[test]
fn the_whole_matrix_of_tools_costs_taint_and_consent() {
    let policies = Policies::shipped().unwrap();
    let mut asked = 0;
    for tool in every_tool() {
        for consent in Consent::ALL {
            for (confirm, tainted) in [(false, false), (true, false), (false, true), (true, true)] {
                let mut ask = Ask::about(tool.clone()).consenting(consent);
                ask.estimate.confirm = confirm;
                ask.tainted = tainted;
                let needed = needed(&ask);
                let expected = if consent >= needed {
                    Decision::Allow
                } else {
                    Decision::NeedsConsent(needed)
                };
                let verdict = ask.decide(&policies);
                assert_eq!(verdict.decision, expected, "{:?} {verdict:?}", ask.tool);
                assert_eq!(verdict.rules.first(), Some(&verdict.rule));
                asked += 1;
            }
        }
    }
    assert_eq!(asked, 3 * 64 * 3 * 4);
}

#[test]
fn resources_prompts_and_completions_are_reads() {
    let policies = Policies::shipped().unwrap();
    for action in [Action::Read, Action::GetPrompt, Action::Complete] {
        let ask = Ask {
            action,
            ..Ask::about(writer("a.b"))
        };
        let verdict = ask.decide(&policies);
        assert_eq!(verdict.decision, Decision::Allow);
        assert_eq!(verdict.rule, "default.look");
    }
}

#[test]
fn arguments_that_raise_a_read_need_a_human() {
    let policies = Policies::shipped().unwrap();
    let ask = Ask::about(reader("http.get"));
    let raised = Question {
        capability: Capability::L2,
        ..ask.question()
    };
    let verdict = policies.decide(&raised);
    assert_eq!(verdict.decision, Decision::NeedsConsent(Consent::Human));
    assert_eq!(verdict.rule, "default.code");
}

#[test]
fn a_user_can_widen_for_one_tool() {
    let policies = beside_default(
        r#"@id("notes") permit (principal, action == Action::"call", resource == Tool::"notes.add");"#,
    );
    let verdict = Ask::about(writer("notes.add")).decide(&policies);
    assert_eq!(
        (verdict.decision, verdict.rule.as_str()),
        (Decision::Allow, "notes")
    );
    let verdict = Ask::about(writer("notes.drop")).decide(&policies);
    assert_eq!(verdict.decision, Decision::NeedsConsent(Consent::Human));
}

#[test]
fn a_user_can_take_the_agents_word_for_a_write() {
    let policies = beside_default(
        r#"@id("notes") permit (principal, action == Action::"call", resource in Toolset::"gate")
           when { context.consent >= 1 && context.capability <= 1 };"#,
    );
    let ask = Ask::about(writer("notes.add"));
    let verdict = ask.decide(&policies);
    assert_eq!(verdict.decision, Decision::NeedsConsent(Consent::Agent));
    assert_eq!(verdict.rules, ["notes"]);
    let verdict = ask.consenting(Consent::Agent).decide(&policies);
    assert_eq!(verdict.decision, Decision::Allow);
}

#[test]
fn no_rule_of_a_user_lets_tainted_input_into_a_sink_unasked() {
    let policies = beside_default(
        r#"@id("mail") @lifts("human")
           permit (principal, action, resource == Tool::"mail.send");"#,
    );
    let mut ask = Ask::about(reader("mail.send"));
    ask.tool.annotations.sensitive_sink = true;
    assert_eq!(ask.decide(&policies).decision, Decision::Allow);
    ask.tainted = true;
    let verdict = ask.decide(&policies);
    assert_eq!(verdict.decision, Decision::NeedsConsent(Consent::Human));
    assert_eq!(verdict.rule, "default.tainted_sink");
}

#[test]
fn a_forbid_wins_whoever_agrees() {
    let policies = beside_default(
        r#"@id("never") forbid (principal, action, resource == Tool::"disk.wipe");"#,
    );
    let verdict = Ask::about(writer("disk.wipe"))
        .consenting(Consent::Human)
        .decide(&policies);
    assert_eq!(
        (verdict.decision, verdict.rule.as_str()),
        (Decision::Deny, "never")
    );
}

#[test]
fn without_a_permit_nothing_happens() {
    let policies =
        only(r#"@id("no") forbid (principal, action, resource) when { context.tainted };"#);
    let verdict = Ask::about(reader("a.b")).decide(&policies);
    assert_eq!(
        verdict,
        Verdict {
            decision: Decision::Deny,
            rule: "default-deny".to_owned(),
            rules: Vec::new(),
            errors: Vec::new(),
        }
    );
    let nothing = Policies::compile(Vec::new()).unwrap();
    assert_eq!(
        Ask::about(reader("a.b")).decide(&nothing).decision,
        Decision::Deny
    );
}

#[test]
fn the_least_consent_that_is_enough_is_reported_even_past_an_error() {
    // With an agent's consent the second rule errs; with a human's it does not apply.
    let policies = only(
        r#"@id("ask") permit (principal, action, resource) when { context.consent >= 1 };
           @id("odd") forbid (principal, action, resource)
           when { context.consent == 1 && context.arguments.gone == 1 };"#,
    );
    let verdict = Ask::about(reader("a.b")).decide(&policies);
    assert_eq!(verdict.decision, Decision::NeedsConsent(Consent::Human));

    let policies = only(
        r#"@id("ask") permit (principal, action, resource) when { context.consent >= 1 };
           @id("odd") forbid (principal, action, resource)
           when { context.consent >= 1 && context.arguments.gone == 1 };"#,
    );
    let verdict = Ask::about(reader("a.b")).decide(&policies);
    assert_eq!(verdict.decision, Decision::Deny);
    assert_eq!(
        verdict.errors,
        ["odd: record does not have the attribute `gone`"]
    );
}

#[test]
fn explain_names_every_rule_and_the_consent_that_is_enough() {
    let policies = beside_default(
        r#"
        @id("office-hours")
        @reason("Only the human at the keyboard.")
        forbid (principal, action, resource) unless { context.consent >= 2 };"#,
    );
    let mut ask = Ask::about(writer("file.write"));
    ask.tool.annotations.destructive = true;
    let explanation = policies.explain(&ask.question());
    assert_eq!(explanation.enough, Some(Consent::Human));
    insta::assert_snapshot!(explanation, @r#"
    needs consent: human (rule office-hours)
      office-hours forbids (user, user.cedar:2)
        Only the human at the keyboard.
      default.destructive would permit with consent `human` (shipped, default.cedar:71)
        It may delete, overwrite or submit something, so a human has to agree.
      default.write would permit with consent `human` (shipped, default.cedar:88)
        It changes something, so a human has to agree.
    "#);
    let allowed = Ask::about(reader("a.b")).consenting(Consent::Human);
    insta::assert_snapshot!(policies.explain(&allowed.question()), @r#"
    allowed (rule default.read)
      default.read permits (shipped, default.cedar:15)
        It only reads, and costs nothing worth asking about.
    "#);
    let nothing = only("");
    insta::assert_snapshot!(nothing.explain(&allowed.question()), @r#"
    denied, whoever agrees (rule default-deny)
      no rule permits it
    "#);
}
