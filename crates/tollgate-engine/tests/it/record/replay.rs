//! What was called before: played back, decided anew, or really called again.

use std::time::Duration;

use serde_json::json;
use tollgate_engine::{
    Decided, Outcome, Request,
    replay::{Recorded, Redecided},
};
use tollgate_testkit::fakes::{FakeProvider, says};

use crate::support::{Setup, World, caller, request, said, spec_kept, spec_read, spec_write};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

#[tokio::test]
async fn the_calls_of_a_trace_are_played_back_in_order() {
    let world = shop().await;
    for n in 1..=3 {
        traced(&world, "shelf.look", &format!(r#"{{"n": {n}}}"#)).await;
    }
    let other = world.call("shelf.look", "{}").await;
    let steps = world.gateway.recorded(TRACE).await.unwrap();
    let arguments: Vec<_> = steps
        .iter()
        .map(|step| step.arguments.clone().unwrap())
        .collect();
    assert_eq!(arguments, [r#"{"n": 1}"#, r#"{"n": 2}"#, r#"{"n": 3}"#]);
    assert_eq!(steps[0].data.as_deref(), Some(r#"{"price":5}"#));
    assert_eq!(steps[0].field("tool"), Some("shelf.look"));
    let one = world.gateway.recorded(other.call.as_str()).await.unwrap();
    assert_eq!(one.len(), 1);
    assert_eq!(world.gateway.recorded("nothing").await.unwrap().len(), 0);
    assert_eq!(world.fake.count(), 4, "playing back calls nothing");
}

#[tokio::test]
async fn what_cannot_be_replayed_says_so() {
    let world = shop().await;
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(70 << 10));
    let reasons = [
        ("shelf.look", r#"{"to":"ann@example.com"}"#, "redacted"),
        ("shelf.leaks", "{}", "redacted"),
        ("shelf.look", large.as_str(), "too_large"),
    ];
    for (tool, arguments, reason) in reasons {
        let outcome = world.call(tool, arguments).await;
        let ending = world.ending(&outcome).await;
        assert_eq!(
            (&ending["replayable"], &ending["not_replayable"]),
            (&json!(false), &json!(reason)),
            "{tool}"
        );
        let step = recorded(&world, &outcome).await;
        assert!(!format!("{step:?}").contains("ann@example.com"));
    }
    let whole = world.call("shelf.look", "{}").await;
    assert_eq!(world.ending(&whole).await["replayable"], true);
}

#[tokio::test]
async fn other_rules_decide_anew_with_the_consent_the_call_had() {
    let world = shop().await;
    let looked = recorded(
        &world,
        &world.call("shelf.look", r#"{"path":"/etc/x"}"#).await,
    )
    .await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Once).await;
    let refused = recorded(&world, &asked).await;
    let wrote = recorded(&world, &world.call("shelf.write", "{}").await).await;
    assert_eq!(wrote.field("status"), Some("ok"));

    let verdict = |decision, rule: &str| Redecided::Verdict {
        decision,
        rule: rule.to_owned(),
    };
    let same = world.other_rules("");
    let decide = |step: &Recorded| world.gateway.redecide(step, &same);
    assert_eq!(decide(&looked), verdict("allow", "default.read"));
    assert_eq!(decide(&refused), verdict("needs_human", "default.write"));
    assert_eq!(decide(&wrote), verdict("allow", "default.write"));

    let stricter = world.other_rules(
        r#"@id("no.etc") forbid (principal, action == Action::"call", resource)
            when { context.arguments has path && context.arguments.path like "/etc/*" };
           @id("no.write") forbid (principal, action == Action::"call",
            resource == Tool::"shelf.write");"#,
    );
    let decide = |step: &Recorded| world.gateway.redecide(step, &stricter);
    assert_eq!(decide(&looked), verdict("deny", "no.etc"));
    assert_eq!(decide(&wrote), verdict("deny", "no.write"));
}

#[tokio::test]
async fn a_needed_argument_that_was_redacted_leaves_it_undecided() {
    let world = shop().await;
    let outcome = world
        .call("shelf.look", r#"{"to":"ann@example.com"}"#)
        .await;
    let step = recorded(&world, &outcome).await;
    let by_argument = world.other_rules(
        r#"@id("no.mail") forbid (principal, action == Action::"call",
            resource == Tool::"shelf.look")
            when { context.arguments has to && context.arguments.to like "*@example.com" };"#,
    );
    assert!(matches!(
        world.gateway.redecide(&step, &by_argument),
        Redecided::Undecided(_)
    ));
    let by_tool = world.other_rules(
        r#"@id("no.look") forbid (principal, action == Action::"call",
            resource == Tool::"shelf.look");"#,
    );
    assert_eq!(
        world.gateway.redecide(&step, &by_tool),
        Redecided::Verdict {
            decision: "deny",
            rule: "no.look".to_owned()
        }
    );
    world.now_offers(FakeProvider::new("fake")).await;
    assert_eq!(
        world.gateway.redecide(&step, &by_tool),
        Redecided::Undecided("the tool is gone")
    );
}

#[tokio::test]
async fn calling_again_shows_what_differs() {
    let world = shop().await;
    let step = recorded(&world, &world.call("shelf.look", r#"{"n":1}"#).await).await;
    let same = world
        .gateway
        .again(&caller("s1"), &step, false)
        .await
        .unwrap();
    assert_eq!((same.same, same.difference), (true, Vec::new()));

    let fresh = FakeProvider::new("fake").tool(
        spec_read("shelf.look"),
        says(json!({"price": 7, "sale": true})),
    );
    let fresh = world.now_offers(fresh).await;
    let now = world
        .gateway
        .again(&caller("s1"), &step, false)
        .await
        .unwrap();
    assert!(!now.same);
    assert_eq!(
        now.difference,
        ["- \"price\": 5", "+ \"price\": 7,", "+ \"sale\": true"]
    );
    assert_eq!(now.envelope["data"], json!({"price": 7, "sale": true}));
    assert_eq!(fresh.seen()[0].arguments, r#"{"n":1}"#);
    world.check(3).await;
}

#[tokio::test]
async fn calling_an_effect_again_needs_consent_again() {
    let world = shop().await;
    let asked = world.call("shelf.write", "{}").await;
    world.decide(&asked, Decided::Once).await;
    let ran = world.call("shelf.write", "{}").await;
    world.gateway.delivered(&ran).await.unwrap();
    let step = recorded(&world, &ran).await;
    let again = world
        .gateway
        .again(&caller("s1"), &step, false)
        .await
        .unwrap();
    assert_eq!(again.envelope["error"]["kind"], "confirmation_required");
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn an_answer_given_again_is_played_back_from_the_body_kept_first() {
    let world = shop().await;
    let first = world.call("shelf.keep", r#"{"n":1}"#).await;
    let again = world.call("shelf.keep", r#"{ "n": 1 }"#).await;
    assert_eq!((said(&first), said(&again)), ("ok", "hit"));
    let ending = world.ending(&again).await;
    assert_eq!(ending["body_of"], json!(first.call.as_str()));
    assert_eq!(ending["replayable"], true);
    assert_eq!(world.ending(&first).await.get("body_of"), None);
    assert_eq!(world.gateway.store().body(&again.call).await.unwrap(), None);
    let step = recorded(&world, &again).await;
    assert_eq!(step.arguments.as_deref(), Some(r#"{"n":1}"#));
    assert_eq!(step.data.as_deref(), Some(r#"{"price":6}"#));
    assert!(!step.altered);
}

#[tokio::test]
async fn a_body_is_kept_anew_before_it_is_old() {
    let world = shop().await;
    world.call("shelf.keep", "{}").await;
    world.later(Duration::from_secs(2 * 3600));
    let late = world.call("shelf.keep", "{}").await;
    let later = world.call("shelf.keep", "{}").await;
    assert_eq!((said(&late), said(&later)), ("hit", "hit"));
    assert_eq!(world.ending(&late).await.get("body_of"), None);
    assert!(recorded(&world, &late).await.data.is_some());
    let ending = world.ending(&later).await;
    assert_eq!(ending["body_of"], json!(late.call.as_str()));
}

#[tokio::test]
async fn an_answer_that_cannot_be_replayed_is_not_referred_to() {
    let world = shop().await;
    world.call("shelf.leaks_kept", "{}").await;
    let again = world.call("shelf.leaks_kept", "{}").await;
    let ending = world.ending(&again).await;
    assert_eq!(said(&again), "hit");
    assert_eq!(ending["not_replayable"], "redacted");
    assert_eq!(ending.get("body_of"), None);
}

async fn recorded(world: &World, outcome: &Outcome) -> Recorded {
    let id = &outcome.envelope.get().meta.call_id;
    world.gateway.recorded(id).await.unwrap().remove(0)
}

async fn traced(world: &World, tool: &str, arguments: &str) {
    let outcome = world
        .ask(Request {
            traceparent: Some(format!("00-{TRACE}-b7ad6b7169203331-01")),
            ..request(tool, arguments)
        })
        .await;
    assert_eq!(said(&outcome), "ok");
}

async fn shop() -> World {
    Setup::new()
        .tool(spec_read("shelf.look"), says(json!({"price": 5})))
        .tool(
            spec_read("shelf.leaks"),
            says(json!({"mail": "ann@example.com"})),
        )
        .tool(spec_kept("shelf.keep"), says(json!({"price": 6})))
        .tool(
            spec_kept("shelf.leaks_kept"),
            says(json!({"mail": "ann@example.com"})),
        )
        .tool(spec_write("shelf.write"), says(json!({"n": 1})))
        .build()
        .await
}
