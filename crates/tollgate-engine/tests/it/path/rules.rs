//! What rules make of a call at the gate.

use serde_json::json;
use tollgate_core::{Annotations, Capability, ErrorCode, Raise, ToolSpec};
use tollgate_engine::Disposition;
use tollgate_testkit::fakes::says;

use crate::support::{Setup, World, details, error, said, spec_read, spec_write};

#[tokio::test]
async fn a_denial_names_the_rule_and_asks_nobody() {
    let world =
        ruled(r#"@id("no.shelf") forbid (principal, action, resource == Tool::"shelf.write");"#)
            .await;
    let outcome = world.call("shelf.write", "{}").await;
    assert_eq!(outcome.disposition, Disposition::Denied);
    let failure = error(&outcome);
    assert_eq!(
        [&failure["kind"], &failure["code"]],
        ["policy_denied", "tool.gate.policy.denied"]
    );
    assert_eq!(details(&outcome), json!({"rule": "no.shelf"}));
    let ending = world.ending(&outcome).await;
    assert_eq!([&ending["verdict"], &ending["rule"]], ["deny", "no.shelf"]);
    assert_eq!(world.fake.count(), 0);
    let blocked = &outcome.envelope.get().budget_ledger.blocked_actions;
    assert_eq!(blocked.len(), 1, "{blocked:?}");
    assert_eq!(blocked[0]["reason"], "policy_denied");
}

#[tokio::test]
async fn a_forbid_that_cannot_be_evaluated_denies() {
    let rule = r#"@id("no.secrets") forbid (principal, action == Action::"call", resource)
        when { context.arguments.path like "*secret*" };"#;
    let world = ruled(rule).await;
    let outcome = world.call("shelf.look", "{}").await;
    assert_eq!(outcome.disposition, Disposition::Denied);
    assert_eq!(error(&outcome)["code"], ErrorCode::PolicyError.as_str());
    assert_eq!(details(&outcome)["rules"], json!(["no.secrets"]));
    assert_eq!(world.ending(&outcome).await["verdict"], "error");
    assert_eq!(world.fake.count(), 0);
    let harmless = world.call("shelf.look", r#"{"path":"plain"}"#).await;
    assert_eq!(said(&harmless), "ok");
    let forbidden = world.call("shelf.look", r#"{"path":"my secret"}"#).await;
    assert_eq!(said(&forbidden), "policy_denied");
}

#[tokio::test]
async fn an_entity_in_an_argument_forges_nothing() {
    let rule = r#"@id("only.root") forbid (principal, action == Action::"call", resource)
        when { context.arguments has who && !(context.arguments.who == "root") };"#;
    let world = ruled(rule).await;
    for who in [
        r#"{"__entity":{"type":"User","id":"root"}}"#,
        r#"{"__extn":{"fn":"decimal","arg":"1.0"}}"#,
        r#"{"__expr":"\"root\""}"#,
    ] {
        let outcome = world
            .call("shelf.look", &format!(r#"{{"who":{who}}}"#))
            .await;
        assert!(
            matches!(said(&outcome), "policy_denied" | "policy_error"),
            "{who}"
        );
    }
    assert_eq!(world.fake.count(), 0);
    let plain = world
        .call(
            "shelf.look",
            r#"{"other":{"__entity":{"type":"User","id":"root"}}}"#,
        )
        .await;
    assert_eq!(
        said(&plain),
        "ok",
        "an argument no rule mentions is left alone"
    );
}

#[tokio::test]
async fn what_writes_runs_code_destroys_or_carries_out_waits_for_a_human() {
    let with = |name: &str, change: fn(&mut ToolSpec)| {
        let mut spec = spec_read(name);
        change(&mut spec);
        spec
    };
    let specs = [
        with("shelf.l1", |spec| spec.capability = Capability::L1),
        with("shelf.l2", |spec| spec.capability = Capability::L2),
        with("shelf.destroys", |spec| spec.annotations.destructive = true),
        with("shelf.sends", |spec| spec.annotations.sensitive_sink = true),
        with("shelf.changes", |spec| spec.annotations.read_only = false),
        with("shelf.asks", |spec| spec.requires_confirm = true),
        with("shelf.unknown", |spec| {
            spec.annotations = Annotations::UNKNOWN;
        }),
    ];
    let names: Vec<String> = specs.iter().map(|spec| spec.name.to_string()).collect();
    let mut setup = Setup::new();
    for spec in specs {
        setup = setup.tool(spec, says(json!({})));
    }
    let world = setup.build().await;
    for name in &names {
        let mut request = crate::support::request(name, "{}");
        request.control.yes = true;
        let outcome = world.ask(request).await;
        assert_eq!(outcome.disposition, Disposition::NeedsConsent, "{name}");
        assert_eq!(details(&outcome)["consent"], "human", "{name}");
    }
    assert_eq!(world.fake.count(), 0);
    world.check(names.len()).await;
}

#[tokio::test]
async fn arguments_can_raise_what_a_call_may_do() {
    let spec = ToolSpec {
        raise: Raise::by(std::sync::Arc::new(|arguments| {
            if arguments.contains_key("path") {
                Capability::L1
            } else {
                Capability::L0
            }
        })),
        ..crate::support::spec_kept("shelf.save")
    };
    let world = Setup::new().tool(spec, says(json!({}))).build().await;
    assert_eq!(said(&world.call("shelf.save", "{}").await), "ok");
    let raised = world.call("shelf.save", r#"{"path":"x"}"#).await;
    assert_eq!(said(&raised), "confirmation_required");
    assert_eq!(raised.envelope.get().meta.capability.as_deref(), Some("L1"));
    world
        .decide(&raised, tollgate_engine::Decided::ToolForSession)
        .await;
    for _ in 0..2 {
        let outcome = world.call("shelf.save", r#"{"path":"x"}"#).await;
        assert_eq!(
            said(&outcome),
            "ok",
            "an effect is never answered from the cache"
        );
    }
    assert_eq!(world.fake.count(), 3);
}

#[tokio::test]
async fn a_rule_of_the_user_can_widen_what_is_allowed() {
    let rule = r#"@id("trust.write") permit (principal, action == Action::"call", resource == Tool::"shelf.write");"#;
    let world = ruled(rule).await;
    let outcome = world.call("shelf.write", "{}").await;
    assert_eq!(said(&outcome), "ok");
    assert_eq!(world.ending(&outcome).await["rule"], "trust.write");
}

async fn ruled(rules: &str) -> World {
    Setup::new()
        .tool(spec_read("shelf.look"), says(json!({"n": 1})))
        .tool(spec_write("shelf.write"), says(json!({"n": 2})))
        .rules(rules)
        .build()
        .await
}
