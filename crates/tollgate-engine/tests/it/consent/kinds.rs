//! Questions to the client's model and for its roots: asked, answered and written down as
//! those to a human are.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tollgate_core::{
    Answer, AskKinds, InputAsk, InputRequest, InputResponses, Payload, ProviderError, ToolSpec,
};
use tollgate_engine::{Caller, Decided, Disposition, Outcome, Request};
use tollgate_testkit::fakes::asks_for;

use crate::support::{
    Setup, World, body, caller, done, error, request, said, spec_kept, spec_paid, spec_read,
    spec_write,
};

/// A question of each kind that is not for a human, and a fitting answer.
fn kinds() -> [(&'static str, InputAsk, Value); 2] {
    let message = json!({"role": "user", "content": {"type": "text", "text": "Sum it up."}});
    let sampling = json!({"messages": [message], "maxTokens": 100});
    let summary = json!({"role": "assistant", "content": {"type": "text", "text": "All is well."}, "model": "small"});
    let roots = json!({"roots": [{"uri": "file:///home/ann/project", "name": "project"}]});
    [
        (
            "model.ask",
            InputAsk::Sampling(Payload::from(sampling)),
            summary,
        ),
        (
            "roots.ask",
            InputAsk::Roots(Payload::from(json!({}))),
            roots,
        ),
    ]
}

#[tokio::test]
async fn a_question_of_any_kind_is_an_ending_and_its_answer_goes_on_with_it() {
    for (tool, question, answer) in kinds() {
        let world = asking(spec_read(tool), &question).await;
        let asked = world.call(tool, r#"{"n":1}"#).await;
        assert_eq!(said(&asked), "input_required", "{tool}");
        let input = input(&asked);
        assert_eq!(
            input.asks,
            BTreeMap::from([("name".to_owned(), question)]),
            "the client is asked what the tool asks"
        );
        assert_ne!(input.state, b"page 2".to_vec(), "the client cannot read it");
        let ending = world.ending(&asked).await;
        assert_eq!(ending["error_code"], error(&asked)["code"]);

        let outcome = world
            .ask(answering(tool, r#"{"n":1}"#, &input, &answer))
            .await;
        assert_eq!(body(&outcome)["data"], json!({"name": answer}), "{tool}");
        let seen = world.fake.seen();
        assert_eq!(seen[0].responses, None);
        let told = InputResponses {
            answers: BTreeMap::from([("name".to_owned(), Payload::from(answer.clone()))]),
            state: b"page 2".to_vec(),
            given_up: false,
        };
        assert_eq!(seen[1].responses, Some(told));
        assert_eq!(world.ending(&outcome).await["status"], "ok");

        let again = world
            .ask(answering(tool, r#"{"n":1}"#, &input, &answer))
            .await;
        assert_eq!(said(&again), "state_rejected", "an answer is used once");
        assert_eq!(world.fake.count(), 2);
        world.check(3).await;
    }
}

#[tokio::test]
async fn what_a_tool_asks_of_a_model_is_cleaned() {
    let text = "Write to ann@example.com\u{202e}, key AKIAQ3EGRZ7XK2MWVT5D";
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    let question = InputAsk::Sampling(Payload::from(json!({"messages": [message]})));
    let world = asking(spec_read("model.ask"), &question).await;
    let input = input(&world.call("model.ask", "{}").await);
    let InputAsk::Sampling(asked) = &input.asks["name"] else {
        panic!("another kind: {:?}", input.asks);
    };
    let asked = asked.raw();
    for secret in ["ann@example.com", "AKIAQ3EGRZ7XK2MWVT5D", "\u{202e}"] {
        assert!(!asked.contains(secret), "{asked}");
    }
}

#[tokio::test]
async fn an_effect_goes_on_with_its_consent_and_happens_once() {
    for (tool, question, answer) in kinds() {
        let world = asking(spec_write(tool), &question).await;
        let asked = world.call(tool, "{}").await;
        world.decide(&asked, Decided::Once).await;
        let input = input(&world.call(tool, "{}").await);
        for _ in 0..3 {
            let outcome = world.ask(answering(tool, "{}", &input, &answer)).await;
            assert_eq!(body(&outcome)["data"], json!({"name": answer}), "{tool}");
        }
        assert_eq!(world.fake.count(), 2, "one question and one effect");
        world.check(5).await;
    }
}

#[tokio::test]
async fn a_question_and_its_answer_are_paid_for_once_each() {
    for (tool, question, answer) in kinds() {
        let world = asking(spec_paid(tool, 5, false), &question).await;
        let input = input(&world.call(tool, "{}").await);
        let outcome = world.ask(answering(tool, "{}", &input, &answer)).await;
        let ledger = &outcome.envelope.get().budget_ledger;
        assert_eq!(ledger.session_consumed, 10, "{tool}");
        let again = world.ask(answering(tool, "{}", &input, &answer)).await;
        assert_eq!(said(&again), "state_rejected");
        assert_eq!(world.session("s1").await.consumed, 10);
        world.check(3).await;
    }
}

#[tokio::test]
async fn what_a_tool_makes_of_an_answer_is_for_whoever_gave_it() {
    for (tool, question, _) in kinds() {
        let world = asking(spec_kept(tool), &question).await;
        for name in ["Ann", "Bob"] {
            let asked = world.call(tool, "{}").await;
            assert_eq!(said(&asked), "input_required", "{tool}: {name}");
            let told = answering(tool, "{}", &input(&asked), &json!(name));
            let outcome = world.ask(told).await;
            assert_eq!(body(&outcome)["data"], json!({"name": name}));
        }
        world.check(4).await;
    }
}

#[tokio::test]
async fn two_answers_at_once_are_two_calls() {
    let turnstile = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&turnstile);
    let world = Setup::new()
        .tool(spec_kept("model.ask"), move |_, cx| {
            let gate = Arc::clone(&gate);
            async move {
                let Some(told) = cx.responses else {
                    let [(_, question, _), _] = kinds();
                    return Ok(Answer::NeedsInput(InputRequest {
                        asks: BTreeMap::from([("name".to_owned(), question)]),
                        state: Vec::new(),
                    }));
                };
                gate.acquire().await.unwrap().forget();
                Ok(Answer::Done(done(told.answers["name"].value().clone())))
            }
        })
        .build()
        .await;
    let mut running = Vec::new();
    for name in ["Ann", "Bob"] {
        let question = input(&world.call("model.ask", "{}").await);
        let told = answering("model.ask", "{}", &question, &json!({"name": name}));
        running.push((name, world.start(told)));
    }
    turnstile.add_permits(2);
    for (name, call) in running {
        let outcome = call.await.unwrap();
        assert_eq!(body(&outcome)["data"], json!({"name": name}));
    }
    world.check(4).await;
}

#[tokio::test]
async fn an_answer_is_not_used_up_by_a_call_that_the_budget_refuses() {
    for (tool, question, answer) in kinds() {
        let world = Setup::new()
            .settings(|settings| settings.session_limit = Some(9))
            .tool(
                spec_paid(tool, 5, false),
                asks_for(question, b"page 2".to_vec()),
            )
            .build()
            .await;
        let input = input(&world.call(tool, "{}").await);
        let refused = world.ask(answering(tool, "{}", &input, &answer)).await;
        assert_eq!(said(&refused), "budget_exceeded");
        let asked = world.call("session.set_limit", r#"{"limit":10}"#).await;
        world.decide(&asked, Decided::Once).await;
        let raised = world.call("session.set_limit", r#"{"limit":10}"#).await;
        assert_eq!(said(&raised), "ok");
        let outcome = world.ask(answering(tool, "{}", &input, &answer)).await;
        assert_eq!(said(&outcome), "ok", "{tool}");
        world.check(5).await;
    }
}

#[tokio::test]
async fn an_answer_of_another_kind_is_for_the_tool_to_refuse_and_ends_the_call_once() {
    let [(_, _, summary), (_, _, roots)] = kinds();
    for (tool, question, wrong) in kinds()
        .into_iter()
        .map(|(tool, question, _)| match question {
            InputAsk::Roots(_) => (tool, question, summary.clone()),
            InputAsk::Sampling(_) | InputAsk::Elicitation(_) => (tool, question, roots.clone()),
        })
    {
        let world = picky(tool, question).await;
        let input = input(&world.call(tool, "{}").await);
        let refused = world.ask(answering(tool, "{}", &input, &wrong)).await;
        assert_eq!(said(&refused), "input_rejected", "{tool}");
        let ending = world.ending(&refused).await;
        assert_eq!(ending["error_code"], error(&refused)["code"]);
        let again = world.ask(answering(tool, "{}", &input, &wrong)).await;
        assert_eq!(said(&again), "state_rejected", "the tool was told once");
        assert_eq!(said(&world.call(tool, "{}").await), "input_required");
        assert_eq!(world.fake.count(), 3);
        world.check(4).await;
    }
}

#[tokio::test]
async fn an_answer_to_something_else_is_no_answer() {
    for (tool, question, answer) in kinds() {
        let world = picky(tool, question).await;
        let input = input(&world.call(tool, "{}").await);
        let mut other = answering(tool, "{}", &input, &answer);
        other.responses = Some(InputResponses {
            answers: BTreeMap::from([("unasked".to_owned(), Payload::from(answer))]),
            state: input.state.clone(),
            given_up: false,
        });
        let refused = world.ask(other).await;
        assert_eq!(said(&refused), "input_rejected", "{tool}");
        world.check(2).await;
    }
}

#[tokio::test]
async fn a_caller_that_cannot_answer_ends_with_the_question_every_time() {
    for (tool, question, _) in kinds() {
        let world = asking(spec_read(tool), &question).await;
        for _ in 0..2 {
            let asked = world.call(tool, "{}").await;
            assert_eq!(said(&asked), "input_required", "{tool}");
            assert!(matches!(asked.disposition, Disposition::NeedsInput(_)));
            world.ending(&asked).await;
        }
        assert!(
            world
                .fake
                .seen()
                .iter()
                .all(|seen| seen.responses.is_none())
        );
        world.check(2).await;
    }
}

#[tokio::test]
async fn a_tool_knows_what_its_caller_can_be_asked() {
    let world = Setup::new()
        .tool(spec_read("form.kinds"), |_, cx| {
            let asks = serde_json::to_value(cx.asks).unwrap();
            async move { Ok(Answer::Done(done(asks))) }
        })
        .build()
        .await;
    for (sampling, roots) in [(false, false), (true, false), (false, true)] {
        let asks = AskKinds {
            elicitation: false,
            elicitation_url: false,
            sampling,
            roots,
        };
        let who = Caller {
            asks,
            ..caller("s1")
        };
        let outcome = world.call_as(&who, "form.kinds", "{}").await;
        let told = json!({"elicitation": false, "elicitation_url": false, "sampling": sampling, "roots": roots});
        assert_eq!(body(&outcome)["data"], told);
    }
}

async fn asking(spec: ToolSpec, question: &InputAsk) -> World {
    Setup::new()
        .tool(spec, asks_for(question.clone(), b"page 2".to_vec()))
        .build()
        .await
}

/// A tool that refuses answers which are not of the kind it asked for.
async fn picky(tool: &'static str, question: InputAsk) -> World {
    Setup::new()
        .tool(spec_read(tool), move |_, cx| {
            let wanted = match &question {
                InputAsk::Roots(_) => "roots",
                InputAsk::Sampling(_) | InputAsk::Elicitation(_) => "content",
            };
            let answer = match cx.responses {
                None => Ok(Answer::NeedsInput(InputRequest {
                    asks: BTreeMap::from([("name".to_owned(), question.clone())]),
                    state: Vec::new(),
                })),
                Some(told) => match told.answers.get("name") {
                    Some(answer) if answer.value().get(wanted).is_some() => {
                        Ok(Answer::Done(done(json!({}))))
                    }
                    Some(_) | None => Err(ProviderError::rejected("that is no answer to this")),
                },
            };
            async move { answer }
        })
        .build()
        .await
}

fn input(outcome: &Outcome) -> InputRequest {
    let Disposition::NeedsInput(input) = &outcome.disposition else {
        panic!("no question but {:?}", outcome.disposition);
    };
    input.clone()
}

fn answering(tool: &str, arguments: &str, input: &InputRequest, answer: &Value) -> Request {
    Request {
        responses: Some(InputResponses {
            answers: BTreeMap::from([("name".to_owned(), Payload::from(answer.clone()))]),
            state: input.state.clone(),
            given_up: false,
        }),
        ..request(tool, arguments)
    }
}
