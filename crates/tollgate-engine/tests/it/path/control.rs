//! What a caller may say beside the arguments.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::{
    Caching, Control, FromCache, ProviderError, Rehearsal, ServiceInfo, Telling, ToolSpec,
};
use tollgate_engine::{Outcome, Request};
use tollgate_testkit::fakes::says;

use crate::support::{
    Setup, World, body, details, error, request, said, spec_kept, spec_paid, spec_write,
};

#[tokio::test]
async fn a_dry_run_tells_verdict_and_estimate_and_calls_nothing() {
    let world = shop().await;
    let verdicts = [
        ("shelf.look", json!(["allow", "default.read", "L0", 0, 0])),
        ("shelf.buy", json!(["allow", "default.read", "L0", 5, 5])),
        (
            "shelf.write",
            json!(["needs_human", "default.write", "L1", 0, 0]),
        ),
        ("shelf.hidden", json!(["deny", "no.hidden", "L0", 0, 0])),
    ];
    for (tool, expected) in verdicts {
        let outcome = with(&world, tool, "{}", |control| control.dry_run = true).await;
        let envelope = body(&outcome);
        assert_eq!(envelope["warnings"], json!(["dry_run"]), "{envelope}");
        let data = &envelope["data"];
        let names = [
            "verdict",
            "rule",
            "capability",
            "estimated_tokens",
            "worst_case_tokens",
        ];
        let shown: Value = names.map(|name| data[name].clone()).to_vec().into();
        assert_eq!(shown, expected, "{tool}");
    }
    assert_eq!(world.fake.count(), 0);
    assert_eq!(world.session("s1").await.estimated, 0);
    world.check(4).await;
}

#[tokio::test]
async fn a_tool_tells_more_about_a_dry_run_unless_it_is_refused() {
    let tells = |name: &str| ToolSpec {
        service_command: Some("finder.query".to_owned()),
        telling: Telling {
            rehearse: Some(Arc::new(|arguments: &Map<String, Value>| {
                if arguments.contains_key("wrong") {
                    return Err(ProviderError::rejected("that makes no sense"));
                }
                let data =
                    json!({"plan": "mail ada@example.com", "verdict": "mine", "given": arguments});
                Ok(Some(Rehearsal {
                    data: data.as_object().cloned().unwrap_or_default(),
                    service: Some(ServiceInfo {
                        request: json!({"endpoint": "/x"}),
                        token_bucket: json!({"estimated": 5}),
                        cache_key: None,
                    }),
                }))
            })),
            ..Telling::default()
        },
        ..spec_paid(name, 5, true)
    };
    let world = Setup::new()
        .tool(tells("shelf.find"), says(json!({})))
        .tool(tells("shelf.hidden"), says(json!({})))
        .rules(r#"@id("no.hidden") forbid (principal, action, resource == Tool::"shelf.hidden");"#)
        .build()
        .await;
    let told = body(&world.call("shelf.find", r#"{"n":1,"dry_run":true}"#).await);
    assert_eq!(told["data"]["given"]["n"], 1);
    assert_eq!(
        told["data"]["verdict"], "allow",
        "the gate's own words stand"
    );
    assert_eq!(told["request"]["endpoint"], "/x");
    assert_eq!(told["token_bucket"]["estimated"], 5);
    assert!(!told.to_string().contains("ada@example.com"), "{told}");
    let refused = world
        .call("shelf.find", r#"{"wrong":1,"dry_run":true}"#)
        .await;
    assert_eq!(said(&refused), "input_rejected");
    let hidden = body(&world.call("shelf.hidden", r#"{"dry_run":true}"#).await);
    assert_eq!(hidden["data"]["verdict"], "deny");
    assert_eq!(hidden["data"].get("given"), None);
    assert_eq!(world.fake.count(), 0);
}

#[tokio::test]
async fn a_dry_run_leaves_the_approval_alone() {
    let world = shop().await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, tollgate_engine::Decided::Once).await;
    let dry = with(&world, "shelf.write", "{}", |control| {
        control.dry_run = true;
    })
    .await;
    assert_eq!(said(&dry), "ok");
    assert_eq!(world.fake.count(), 0);
    assert_eq!(said(&world.call("shelf.write", "{}").await), "ok");
}

#[tokio::test]
async fn from_cache_reads_only_the_cache() {
    let world = shop().await;
    for tool in ["shelf.look", "shelf.buy", "shelf.write", "shelf.fresh"] {
        let missed = from_cache(&world, tool).await;
        assert_eq!(said(&missed), "cache_miss", "{tool}");
    }
    assert_eq!(world.fake.count(), 0);
    assert_eq!(said(&world.call("shelf.look", "{}").await), "ok");
    assert_eq!(said(&from_cache(&world, "shelf.look").await), "hit");
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn a_refusal_comes_before_what_the_cache_has() {
    let world = shop().await;
    assert_eq!(
        said(&from_cache(&world, "shelf.hidden").await),
        "policy_denied"
    );
}

#[tokio::test]
async fn the_caller_agrees_to_a_cost() {
    let world = shop().await;
    let asked = world.call("shelf.buy", "{}").await;
    assert_eq!(said(&asked), "confirmation_required");
    assert_eq!(world.fake.count(), 0);
    let facts = details(&asked);
    assert_eq!(
        (
            &facts["consent"],
            &facts["estimated_tokens"],
            &facts["approval_id"]
        ),
        (&json!("agent"), &json!(5), &Value::Null)
    );
    assert_eq!(
        error(&asked)["recovery_suggestion"],
        "Repeat the call with `yes: true` to accept the cost."
    );
    let agreed = with(&world, "shelf.buy", "{}", |control| control.yes = true).await;
    assert_eq!(said(&agreed), "ok");
}

#[tokio::test]
async fn a_tool_with_a_service_command_takes_control_arguments_among_its_own() {
    let world = shop().await;
    let asked = world.call("keepa.find", r#"{"page":1}"#).await;
    assert_eq!(said(&asked), "confirmation_required");
    assert_eq!(
        details(&asked)["resume_with"],
        json!({"tool": "keepa.find", "params": {"page": 1, "yes": true}})
    );
    let dry = world
        .call("keepa.find", r#"{"page":1,"dry_run":true}"#)
        .await;
    assert_eq!(body(&dry)["data"]["dry_run"], true);
    let missed = world
        .call("keepa.find", r#"{"page":1,"from_cache":true}"#)
        .await;
    assert_eq!(said(&missed), "cache_miss");
    let agreed = world.call("keepa.find", r#"{"page":1,"yes":true}"#).await;
    assert_eq!(said(&agreed), "ok");
    assert_eq!(world.fake.seen()[0].arguments, r#"{"page":1,"yes":true}"#);
    let again = world
        .call("keepa.find", r#"{"page":1,"from_cache":true}"#)
        .await;
    assert_eq!(said(&again), "hit");
    assert_eq!(
        body(&again)["cache_key"],
        body(&asked)["cache_key"],
        "control arguments are not part of the key"
    );
}

#[tokio::test]
async fn a_sample_is_metered_like_the_call_it_stands_for_and_asks_nobody() {
    let world = shop().await;
    let outcome = with(&world, "keepa.find", "{}", |control| {
        control.fixture = Some("find.json".to_owned());
    })
    .await;
    assert_eq!(said(&outcome), "ok");
    assert_eq!(outcome.envelope.get().budget_ledger.session_consumed, 5);
}

#[tokio::test]
async fn elsewhere_control_arguments_are_the_tools_own() {
    let world = shop().await;
    let arguments = r#"{"dry_run":true,"from_cache":true,"yes":true}"#;
    assert_eq!(said(&world.call("shelf.look", arguments).await), "ok");
    assert_eq!(world.fake.seen()[0].arguments, arguments);
    let asked = world.call("shelf.buy", r#"{"yes":true}"#).await;
    assert_eq!(said(&asked), "confirmation_required");
}

async fn from_cache(world: &World, tool: &str) -> Outcome {
    with(world, tool, "{}", |control| {
        control.from_cache = FromCache::SameArguments;
    })
    .await
}

async fn with(
    world: &World,
    tool: &str,
    arguments: &str,
    change: impl FnOnce(&mut Control),
) -> Outcome {
    let mut request: Request = request(tool, arguments);
    change(&mut request.control);
    world.ask(request).await
}

/// Tools that cost, that write, that a rule hides, and one with a service command.
async fn shop() -> World {
    let find = ToolSpec {
        service_command: Some("finder.query".to_owned()),
        ..spec_paid("keepa.find", 5, true)
    };
    let fresh = ToolSpec {
        caching: Caching::Never,
        ..spec_kept("shelf.fresh")
    };
    Setup::new()
        .tool(spec_kept("shelf.look"), says(json!({"n": 1})))
        .tool(spec_paid("shelf.buy", 5, true), says(json!({"n": 2})))
        .tool(spec_write("shelf.write"), says(json!({"n": 3})))
        .tool(spec_kept("shelf.hidden"), says(json!({"n": 4})))
        .tool(find, says(json!({"n": 5})))
        .tool(fresh, says(json!({"n": 6})))
        .rules(r#"@id("no.hidden") forbid (principal, action, resource == Tool::"shelf.hidden");"#)
        .build()
        .await
}
