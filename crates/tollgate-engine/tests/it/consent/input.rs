//! A tool may ask for something first, and gets its own state back unread.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use tollgate_core::{InputAsk, InputRequest, InputResponses, Payload, Principal, Surface};
use tollgate_engine::{Caller, Decided, Disposition, HumanConsent, Outcome, Request};
use tollgate_testkit::fakes::asks;

use crate::support::{Setup, World, body, caller, error, request, said, spec_read, spec_write};

#[tokio::test]
async fn a_question_is_an_ending_and_the_answer_goes_on_with_it() {
    let world = shop().await;
    let asked = world.call("form.read", r#"{"n":1}"#).await;
    assert_eq!(said(&asked), "input_required");
    let input = input(&asked);
    assert_eq!(
        input.asks,
        BTreeMap::from([("name".to_owned(), elicitation())])
    );
    assert_ne!(input.state, b"page 2".to_vec(), "the client cannot read it");
    let outcome = world
        .ask(answering("form.read", r#"{"n":1}"#, &input))
        .await;
    assert_eq!(body(&outcome)["data"], json!({"name": "Ann"}));
    let seen = world.fake.seen();
    assert_eq!(seen[0].responses, None);
    assert_eq!(
        seen[1].responses,
        Some(InputResponses {
            answers: BTreeMap::from([("name".to_owned(), Payload::from(json!("Ann")))]),
            state: b"page 2".to_vec(),
            given_up: false,
        })
    );
    world.check(2).await;
}

#[tokio::test]
async fn what_a_tool_asks_is_cleaned() {
    let question = json!({"message": "Is ann@example.com you?\u{202e}"});
    let world = Setup::new()
        .tool(spec_read("form.read"), asks(question, b"s".to_vec()))
        .build()
        .await;
    let input = input(&world.call("form.read", "{}").await);
    let expected = Payload::from(json!({"message": "Is [REDACTED:email] you?"}));
    assert_eq!(input.asks["name"], InputAsk::Elicitation(expected));
}

#[tokio::test]
async fn going_on_keeps_the_consent_the_call_had() {
    let world = shop().await;
    let input = approved_question(&world).await;
    let outcome = world.ask(answering("form.send", "{}", &input)).await;
    assert_eq!(body(&outcome)["data"], json!({"name": "Ann"}));
    assert_eq!(world.ending(&outcome).await["consent"], "human");
    world.check(3).await;
}

#[tokio::test]
async fn going_on_works_whether_or_not_the_question_is_known_to_have_arrived() {
    for delivers in [true, false] {
        for key in [None, Some("k1".to_owned())] {
            let world = shop().await;
            let asked = named(&world, request("form.send", "{}"), key.clone()).await;
            world.decide(&asked, Decided::Once).await;
            let question = named(&world, request("form.send", "{}"), key.clone()).await;
            if delivers {
                world.gateway.delivered(&question).await.unwrap();
            }
            let going_on = answering("form.send", "{}", &input(&question));
            let outcome = named(&world, going_on, key.clone()).await;
            assert_eq!(
                body(&outcome)["data"],
                json!({"name": "Ann"}),
                "delivered: {delivers}, key: {key:?}"
            );
            assert_eq!(world.fake.count(), 2);
            world.check(3).await;
        }
    }
}

#[tokio::test]
async fn an_undelivered_question_is_asked_again_not_run_again() {
    let world = shop().await;
    let first = approved_question(&world).await;
    let again = world.call("form.send", "{}").await;
    assert_eq!(input(&again), first);
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn one_consent_is_not_many_however_often_the_answer_is_sent() {
    let world = shop().await;
    let input = approved_question(&world).await;
    let ran = world.ask(answering("form.send", "{}", &input)).await;
    assert_eq!(said(&ran), "ok");
    world.gateway.delivered(&ran).await.unwrap();
    for _ in 0..3 {
        let again = world.ask(answering("form.send", "{}", &input)).await;
        assert_eq!(body(&again)["warnings"], json!(["recorded_ending"]));
        world.gateway.delivered(&again).await.unwrap();
    }
    assert_eq!(world.fake.count(), 2);
}

#[tokio::test]
async fn answers_without_a_state_reach_the_tool_and_are_no_consent() {
    let world = shop().await;
    let unasked = InputRequest {
        asks: BTreeMap::new(),
        state: Vec::new(),
    };
    let outcome = world.ask(answering("form.read", "{}", &unasked)).await;
    assert_eq!(said(&outcome), "ok");
    let outcome = world.ask(answering("form.send", "{}", &unasked)).await;
    assert_eq!(said(&outcome), "confirmation_required");
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn an_answer_is_used_once() {
    let world = shop().await;
    let input = input(&world.call("form.read", "{}").await);
    let outcome = world.ask(answering("form.read", "{}", &input)).await;
    assert_eq!(said(&outcome), "ok");
    let outcome = world.ask(answering("form.read", "{}", &input)).await;
    assert_eq!(said(&outcome), "state_rejected");
    assert_eq!(world.fake.count(), 2);
}

#[tokio::test]
async fn a_forged_state_is_refused() {
    let world = shop().await;
    let input = input(&world.call("form.read", "{}").await);
    let mut sealed: Value = serde_json::from_slice(&input.state).unwrap();
    let mut forgeries: Vec<Vec<u8>> = vec![b"page 2".to_vec(), b"{}".to_vec()];
    for (field, value) in [
        ("state", json!(b"page 9".to_vec())),
        ("consent", json!(2)),
        ("expires", json!(i64::MAX)),
        ("tag", json!([0, 1, 2])),
    ] {
        let genuine = sealed[field].clone();
        sealed[field] = value;
        forgeries.push(serde_json::to_vec(&sealed).unwrap());
        sealed[field] = genuine;
    }
    for state in forgeries {
        let forged = InputRequest {
            asks: BTreeMap::new(),
            state,
        };
        let outcome = world.ask(answering("form.read", "{}", &forged)).await;
        assert_eq!(said(&outcome), "state_rejected");
        let with_human = Request {
            human: Some(HumanConsent {
                by: "elicitation".to_owned(),
            }),
            ..answering("form.read", "{}", &forged)
        };
        assert_eq!(said(&world.ask(with_human).await), "state_rejected");
    }
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn a_state_belongs_to_one_call_of_one_session() {
    let world = shop().await;
    let input = input(&world.call("form.read", r#"{"n":1}"#).await);
    let other_user = Caller::local(Principal::user(1001), "s1", Surface::Jsonl);
    let strangers = [
        (caller("s1"), "form.read", r#"{"n":2}"#),
        (caller("s1"), "form.other", r#"{"n":1}"#),
        (caller("s2"), "form.read", r#"{"n":1}"#),
        (other_user, "form.read", r#"{"n":1}"#),
    ];
    for (who, tool, arguments) in strangers {
        let outcome = world
            .gateway
            .call(&who, answering(tool, arguments, &input))
            .await;
        assert_eq!(said(&outcome), "state_rejected", "{tool} {arguments}");
        assert_eq!(
            error(&outcome)["message"],
            "this answer belongs to no open question"
        );
    }
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn a_question_does_not_stay_open_forever() {
    let world = shop().await;
    let input = input(&world.call("form.read", "{}").await);
    world.later(Duration::from_secs(3600));
    let outcome = world.ask(answering("form.read", "{}", &input)).await;
    assert_eq!(said(&outcome), "state_rejected");
}

/// The question of an approved call.
async fn approved_question(world: &World) -> InputRequest {
    let asked = world.call("form.send", "{}").await;
    world.decide(&asked, Decided::Once).await;
    input(&world.call("form.send", "{}").await)
}

async fn named(world: &World, mut request: Request, key: Option<String>) -> Outcome {
    request.control.idempotency_key = key;
    world.ask(request).await
}

fn input(outcome: &Outcome) -> InputRequest {
    let Disposition::NeedsInput(input) = &outcome.disposition else {
        panic!("no question but {:?}", outcome.disposition);
    };
    input.clone()
}

fn answering(tool: &str, arguments: &str, input: &InputRequest) -> Request {
    Request {
        responses: Some(InputResponses {
            answers: BTreeMap::from([("name".to_owned(), Payload::from(json!("Ann")))]),
            state: input.state.clone(),
            given_up: false,
        }),
        ..request(tool, arguments)
    }
}

fn elicitation() -> InputAsk {
    InputAsk::Elicitation(Payload::from(json!({"message": "Your name?"})))
}

async fn shop() -> World {
    let question = || asks(json!({"message": "Your name?"}), b"page 2".to_vec());
    Setup::new()
        .tool(spec_read("form.read"), question())
        .tool(spec_read("form.other"), question())
        .tool(spec_write("form.send"), question())
        .build()
        .await
}
