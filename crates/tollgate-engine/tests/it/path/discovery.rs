//! Which tools there are for whom, and by which names.

use serde_json::{Value, json};
use tollgate_core::{ErrorCode, Surface, ToolName, ToolSpec, TrustLevel};
use tollgate_engine::{Caller, Disposition, Profile};
use tollgate_testkit::fakes::says;

use crate::support::{
    Setup, World, body, caller, details, error, said, spec_kept, spec_read, spec_write,
};

#[tokio::test]
async fn an_unknown_tool_lists_the_nearest_ones_this_caller_may_know() {
    let world = shop(|_| {}).await;
    let outcome = world.call("shelf.lok", "{}").await;
    assert_eq!(
        outcome.disposition,
        Disposition::Failed(ErrorCode::UnknownTool)
    );
    assert_eq!(error(&outcome)["message"], "there is no tool `shelf.lok`");
    let nearest = details(&outcome)["nearest"].clone();
    assert_eq!(nearest[0], "shelf.look");
    assert!(!nearest.to_string().contains("shelf.look_mcp"), "{nearest}");
    world.check(1).await;
}

#[tokio::test]
async fn a_tool_answers_to_every_spelling_it_has() {
    let world = shop(|_| {}).await;
    for name in ["shelf.look", "shelf_look", "shelf.peek", "look.now"] {
        let outcome = world.call(name, "{}").await;
        assert_eq!(outcome.envelope.get().tool, "shelf.look", "{name}");
        assert!(outcome.envelope.get().ok, "{name}");
    }
}

#[tokio::test]
async fn a_tool_off_the_surface_is_unknown_there_however_it_is_asked_for() {
    let world = shop(|_| {}).await;
    let on_mcp = Caller {
        surface: Surface::Mcp,
        ..caller("s1")
    };
    assert_eq!(
        said(&world.call_as(&on_mcp, "shelf.look_mcp", "{}").await),
        "ok"
    );
    assert_hidden(&world, &caller("s1"), "shelf.look_mcp").await;
}

#[tokio::test]
async fn what_the_operator_leaves_out_does_not_exist() {
    let excluded = shop(|discovery| discovery.exclude_tools = vec!["shelf.look".to_owned()]).await;
    assert_hidden(&excluded, &caller("s1"), "shelf.look").await;
    let allowed = shop(|discovery| {
        discovery.allow_tools = vec!["tools.*".to_owned(), "shelf.write".to_owned()];
    })
    .await;
    assert_hidden(&allowed, &caller("s1"), "shelf.look").await;
    let described = allowed.call("shelf.write", "{}").await;
    assert_eq!(said(&described), "confirmation_required");
}

#[tokio::test]
async fn what_no_consent_could_permit_is_not_found_by_searching() {
    let world = shop(|_| {}).await;
    let found = world
        .call("tools.search", r#"{"query":"shelf forbidden"}"#)
        .await;
    let text = body(&found)["data"].to_string();
    assert!(text.contains("shelf.look"), "{text}");
    assert!(!text.contains("shelf.forbidden"), "{text}");
    let shown = world
        .call("tools.describe", r#"{"name":"shelf.forbidden"}"#)
        .await;
    assert_eq!(said(&shown), "not_found");
}

#[tokio::test]
async fn a_profile_turns_tools_off_and_says_why() {
    let profile = Profile {
        inactive: vec!["toolset:paper".to_owned(), "shelf.write".to_owned()],
        reason: "offline".to_owned(),
    };
    let world = shop(|discovery| {
        discovery.profiles = [("quiet".to_owned(), profile)].into();
    })
    .await;
    let quiet = Caller {
        profile: Some("quiet".to_owned()),
        ..caller("s1")
    };
    for (tool, arguments) in [
        ("shelf.write", "{}"),
        ("shelf.paper", "{}"),
        ("tools.call", r#"{"name":"shelf.paper"}"#),
    ] {
        let outcome = world.call_as(&quiet, tool, arguments).await;
        assert_eq!(said(&outcome), "inactive_tool", "{tool}");
        assert_eq!(
            details(&outcome),
            json!({"inactive_reason": "offline", "profile": "quiet"})
        );
    }
    assert_eq!(world.fake.count(), 0);
    assert_eq!(said(&world.call("shelf.paper", "{}").await), "ok");
}

#[tokio::test]
async fn a_profile_that_does_not_exist_turns_nothing_on() {
    let world = shop(|discovery| {
        discovery.profiles = [("quiet".to_owned(), Profile::default())].into();
        discovery.profile = Some("quiet".to_owned());
    })
    .await;
    for odd in ["nope", ""] {
        let odd = Caller {
            profile: Some(odd.to_owned()),
            ..caller("s1")
        };
        let outcome = world.call_as(&odd, "shelf.paper", "{}").await;
        assert_eq!(said(&outcome), "malformed_request");
        assert_eq!(
            details(&outcome),
            json!({"available_profiles": ["quiet"], "profiles": ["quiet"]})
        );
    }
    assert_eq!(world.fake.count(), 0);
}

#[tokio::test]
async fn a_profile_names_toolsets_as_it_names_tools() {
    for pattern in ["paper", "pap*", "toolset:pap*"] {
        let profile = Profile {
            inactive: vec![pattern.to_owned()],
            reason: "offline".to_owned(),
        };
        let world = shop(|discovery| {
            discovery.profiles = [("quiet".to_owned(), profile)].into();
            discovery.profile = Some("quiet".to_owned());
        })
        .await;
        let outcome = world.call("shelf.paper", "{}").await;
        assert_eq!(said(&outcome), "inactive_tool", "{pattern}");
    }
}

#[tokio::test]
async fn rules_see_the_operators_default_profile() {
    let rule = r#"@id("no.quiet") forbid (principal, action, resource) when { context has profile && context.profile == "quiet" };"#;
    let world = Setup::new()
        .tool(spec_read("shelf.look"), says(json!({})))
        .rules(rule)
        .settings(|settings| {
            settings.discovery.profiles = [("quiet".to_owned(), Profile::default())].into();
            settings.discovery.profile = Some("quiet".to_owned());
        })
        .build()
        .await;
    let outcome = world.call("shelf.look", "{}").await;
    assert_eq!(said(&outcome), "policy_denied");
}

#[tokio::test]
async fn a_profile_can_turn_calling_by_name_off() {
    let profile = Profile {
        inactive: vec!["tools.call".to_owned()],
        reason: "only what is listed".to_owned(),
    };
    let world = shop(|discovery| {
        discovery.profiles = [("listed".to_owned(), profile)].into();
    })
    .await;
    let listed = Caller {
        profile: Some("listed".to_owned()),
        ..caller("s1")
    };
    let by_name = world
        .call_as(&listed, "tools.call", r#"{"name":"shelf.paper"}"#)
        .await;
    assert_eq!(said(&by_name), "inactive_tool");
    assert_eq!(
        said(&world.call_as(&listed, "shelf.paper", "{}").await),
        "ok"
    );
}

#[tokio::test]
async fn a_trust_level_that_a_tool_does_not_support_is_refused_with_the_documents_code() {
    let world = shop(|_| {}).await;
    let remote = Caller {
        trust: TrustLevel::Remote,
        ..caller("s1")
    };
    let outcome = world.call_as(&remote, "shelf.local", "{}").await;
    assert_eq!(outcome.disposition, Disposition::Denied);
    let failure = error(&outcome);
    assert_eq!(
        [&failure["kind"], &failure["code"], &failure["errorCode"]],
        [
            "trust_level_not_allowed",
            "tool.gate.policy.trust_level_not_allowed",
            "TRUST_LEVEL_NOT_ALLOWED"
        ]
    );
    assert_eq!(failure["recoverHint"], failure["recovery_suggestion"]);
    assert_eq!(world.fake.count(), 0);
    assert_eq!(said(&world.call("shelf.local", "{}").await), "ok");
}

#[tokio::test]
async fn a_call_by_name_is_the_inner_call() {
    let world = shop(|_| {}).await;
    let outcome = by_name(&world, "shelf.strict", r#"{"n":1.50}"#).await;
    let envelope = outcome.envelope.get();
    assert_eq!(envelope.tool, "shelf.strict");
    assert_eq!(world.fake.seen()[0].arguments, r#"{"n":1.50}"#);
    let ending = world.ending(&outcome).await;
    assert_eq!(
        (&ending["tool"], &ending["step"]),
        (&json!("shelf.strict"), &json!("tool.shelf.strict"))
    );

    let direct = world.call("shelf.strict", r#"{"n":1.50}"#).await;
    assert_eq!(said(&direct), "hit");
    assert_eq!(direct.envelope.get().cache_key, envelope.cache_key);

    let invalid = by_name(&world, "shelf.strict", r#"{"n":"x"}"#).await;
    assert_eq!(said(&invalid), "invalid_arguments");
    assert_eq!(invalid.envelope.get().tool, "shelf.strict");
    let unpermitted = by_name(&world, "shelf.write", "{}").await;
    assert_eq!(said(&unpermitted), "confirmation_required");
    assert_eq!(details(&unpermitted)["resume_with"]["tool"], "shelf.write");
    let forbidden = by_name(&world, "shelf.forbidden", "{}").await;
    assert_eq!(said(&forbidden), "policy_denied");
    assert_eq!(world.fake.count(), 1);
    world.check(5).await;
}

#[tokio::test]
async fn a_call_by_name_cannot_call_itself_or_be_malformed() {
    let world = shop(|_| {}).await;
    for arguments in [
        r#"{"name":"tools.call","arguments":{"name":"shelf.look"}}"#,
        r#"{"name":"tools_call","arguments":{"name":"shelf.look"}}"#,
        r#"{"arguments":{}}"#,
        r#"{"name":"shelf.look","arguments":[]}"#,
        r#"{"name":"shelf.look","extra":1}"#,
        r#"{"name":"shelf.strict","name":"shelf.look"}"#,
        r#"{"name":"shelf.look","arguments":{},"arguments":{"n":1}}"#,
    ] {
        let outcome = world.call("tools.call", arguments).await;
        assert_eq!(said(&outcome), "invalid_arguments", "{arguments}");
    }
    assert_eq!(world.fake.count(), 0);
}

async fn by_name(world: &World, name: &str, arguments: &str) -> tollgate_engine::Outcome {
    let wrapped = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
    world.call("tools.call", &wrapped).await
}

/// A hidden tool is unknown by its name, by name through `tools.call`, and nowhere named.
async fn assert_hidden(world: &World, caller: &Caller, tool: &str) {
    let before = world.fake.count();
    let unknown = world.call_as(caller, tool, "{}").await;
    assert_eq!(said(&unknown), "unknown_tool");
    let wrapped = format!(r#"{{"name":"{tool}"}}"#);
    let inner = world.call_as(caller, "tools.call", &wrapped).await;
    assert_eq!(said(&inner), "unknown_tool");
    let described = world.call_as(caller, "tools.describe", &wrapped).await;
    assert_eq!(said(&described), "not_found");
    let search = format!(r#"{{"query":"{tool}","limit":50}}"#);
    let found = world.call_as(caller, "tools.search", &search).await;
    assert_eq!(said(&found), "ok");
    let quoted = Value::from(tool).to_string();
    assert!(!details(&unknown).to_string().contains(&quoted));
    assert!(!details(&described).to_string().contains(&quoted));
    assert!(!body(&found)["data"].to_string().contains(&quoted));
    assert_eq!(world.fake.count(), before);
}

async fn shop(change: impl FnOnce(&mut tollgate_engine::Discovery)) -> World {
    let look = ToolSpec {
        aliases: vec![ToolName::new("shelf.peek").unwrap()],
        service_command: Some("look.now".to_owned()),
        ..spec_read("shelf.look")
    };
    let on_mcp = ToolSpec {
        surfaces: vec![Surface::Mcp],
        ..spec_read("shelf.look_mcp")
    };
    let paper = ToolSpec {
        toolsets: vec!["paper".to_owned()],
        ..spec_read("shelf.paper")
    };
    let local = ToolSpec {
        trust: vec![TrustLevel::Local],
        ..spec_read("shelf.local")
    };
    let strict = ToolSpec {
        input_schema: json!({"type": "object", "properties": {"n": {"type": "number"}}}).into(),
        ..spec_kept("shelf.strict")
    };
    let mut setup = Setup::new();
    for spec in [look, on_mcp, paper, local, strict] {
        setup = setup.tool(spec, says(json!({"n": 1})));
    }
    setup
        .tool(spec_write("shelf.write"), says(json!({})))
        .tool(spec_read("shelf.forbidden"), says(json!({})))
        .rules(r#"@id("no.way") forbid (principal, action, resource == Tool::"shelf.forbidden");"#)
        .settings(|settings| change(&mut settings.discovery))
        .build()
        .await
}
