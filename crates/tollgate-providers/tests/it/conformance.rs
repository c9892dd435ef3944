//! What the fixtures of the conformance suite answer.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tollgate_core::{
    Answer, AskKinds, ErrorCode, InputResponses, Notice, NoticeSink, Payload, Provider, offer,
};
use tollgate_providers::{Settings, conformance};
use tollgate_testkit::{call_tool, fakes::context};

/// The questions with the state they leave, or the result.
async fn ask(
    provider: &dyn Provider,
    tool: &str,
    arguments: Value,
    responses: Option<InputResponses>,
) -> Value {
    let mut cx = context();
    cx.responses = responses;
    cx.asks = AskKinds {
        sampling: true,
        ..AskKinds::default()
    };
    match call_tool(provider, tool, arguments, cx).await.unwrap() {
        Answer::Done(result) => result.payload.value().clone(),
        Answer::NeedsInput(request) => json!({
            "asks": request.asks,
            "state": String::from_utf8(request.state).unwrap(),
        }),
    }
}

fn heard(state: &str, answers: &[(&str, Value)]) -> Option<InputResponses> {
    let answers = answers
        .iter()
        .map(|(id, answer)| ((*id).to_owned(), Payload::from(answer.clone())));
    Some(InputResponses {
        answers: answers.collect(),
        state: state.as_bytes().to_vec(),
        given_up: false,
    })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn accepted(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

#[tokio::test]
async fn they_are_offered_only_when_asked_for() {
    let ids = |conformance| -> Vec<String> {
        let settings = Settings {
            conformance,
            ..Settings::default()
        };
        let all = tollgate_providers::all(settings, &[]);
        all.iter().map(|one| one.id().to_owned()).collect()
    };
    let (usual, asked_for) = (ids(false), ids(true));
    assert!(!usual.contains(&"conformance".to_owned()), "{usual:?}");
    assert_eq!(asked_for, [usual, vec!["conformance".to_owned()]].concat());
}

#[tokio::test]
async fn every_listed_tool_answers_or_asks() {
    let provider = conformance::provider();
    let listed = provider.tools().await.unwrap();
    assert_eq!(listed.len(), 36);
    // One of them breaks, which is what it is for.
    let answering = listed.into_iter();
    for spec in answering.filter(|spec| spec.name.as_str() != "protocol_error_job") {
        assert!(!spec.has_side_effects(), "{}", spec.name);
        let answer = ask(&provider, spec.name.as_str(), json!({}), None).await;
        let answers = answer["content"].is_array() || answer["asks"].is_object();
        assert!(answers, "{}: {answer}", spec.name);
    }
}

#[tokio::test]
async fn a_question_is_asked_until_the_answer_makes_sense() {
    let provider = conformance::provider();
    let tool = "test_input_required_result_elicitation";
    let first = ask(&provider, tool, json!({}), None).await;
    let message = &first["asks"]["user_name"]["params"]["message"];
    assert_eq!(message, "What is your name?");
    for wrong in [json!(12345), json!({"action": "decline"})] {
        let again = ask(
            &provider,
            tool,
            json!({}),
            heard("", &[("user_name", wrong)]),
        )
        .await;
        assert_eq!(again, first);
    }
    let good = accepted(json!({"name": "Alice"}));
    let done = ask(
        &provider,
        tool,
        json!({}),
        heard("", &[("user_name", good)]),
    )
    .await;
    assert_eq!(text(&done), "Hello, Alice!");
}

#[tokio::test]
async fn what_was_said_in_the_first_round_is_known_in_the_second() {
    let provider = conformance::provider();
    let tool = "test_input_required_result_multi_round";
    let name = accepted(json!({"name": "Alice"}));
    let second = ask(
        &provider,
        tool,
        json!({}),
        heard("begun", &[("step1", name)]),
    )
    .await;
    let state = second["state"].as_str().unwrap();
    assert!(second["asks"]["step2"].is_object());
    let color = accepted(json!({"color": "blue"}));
    let done = ask(
        &provider,
        tool,
        json!({}),
        heard(state, &[("step2", color)]),
    )
    .await;
    assert_eq!(text(&done), "Alice likes blue");
}

#[tokio::test]
async fn only_what_the_client_can_answer_is_asked() {
    let provider = conformance::provider();
    let tool = "test_input_required_result_capabilities";
    let asked = ask(&provider, tool, json!({}), None).await;
    let ids: Vec<_> = asked["asks"].as_object().unwrap().keys().collect();
    assert_eq!(ids, ["greeting"]);
}

#[tokio::test]
async fn a_confirmation_needs_its_state() {
    let provider = conformance::provider();
    let tool = "test_input_required_result_request_state";
    let first = ask(&provider, tool, json!({}), None).await;
    let yes = [("confirm", accepted(json!({"ok": true})))];
    let other = ask(&provider, tool, json!({}), heard("other", &yes)).await;
    assert_eq!(other, first);
    let state = first["state"].as_str().unwrap();
    let done = ask(&provider, tool, json!({}), heard(state, &yes)).await;
    assert_eq!(text(&done), "state-ok");
}

#[derive(Default)]
struct Noticed(Mutex<Vec<Notice>>);

impl NoticeSink for Noticed {
    fn notice(&self, notice: Notice) {
        self.0.lock().unwrap().push(notice);
    }
}

#[tokio::test]
async fn lists_really_change_and_say_so() {
    let provider = conformance::provider();
    let noticed = Arc::new(Noticed::default());
    provider.watch(Arc::clone(&noticed) as Arc<dyn NoticeSink>);
    let tools = provider.tools().await.unwrap().len();
    let prompts = provider.offers().await.unwrap().prompts.len();
    for trigger in ["tool_change", "prompt_change", "resource_update"] {
        ask(
            &provider,
            &format!("test_trigger_{trigger}"),
            json!({}),
            None,
        )
        .await;
    }
    assert_eq!(provider.tools().await.unwrap().len(), tools + 1);
    assert_eq!(provider.offers().await.unwrap().prompts.len(), prompts + 1);
    let watched = "test://watched-resource".to_owned();
    let read = ask(&provider, offer::READ, json!({"uri": watched}), None).await;
    assert_eq!(read["contents"][0]["text"], "updated 1 times");
    assert_eq!(
        *noticed.0.lock().unwrap(),
        [
            Notice::ListsChanged,
            Notice::ListsChanged,
            Notice::ResourceUpdated(watched)
        ]
    );
    ask(&provider, "test_trigger_tool_change", json!({}), None).await;
    assert_eq!(provider.tools().await.unwrap().len(), tools);
}

#[tokio::test]
async fn a_template_is_filled_and_nothing_else_is_read() {
    let provider = conformance::provider();
    let uri = "test://template/123/data";
    let read = ask(&provider, offer::READ, json!({"uri": uri}), None).await;
    assert_eq!(
        read["contents"][0]["text"],
        r#"{"id":"123","templateTest":true,"data":"Data for ID: 123"}"#
    );
    for wrong in [
        "test://template//data",
        "test://template/1/2/data",
        "test://x",
    ] {
        let read = call_tool(&provider, offer::READ, json!({"uri": wrong}), context()).await;
        assert_eq!(read.unwrap_err().code, ErrorCode::NotFound, "{wrong}");
    }
}

#[tokio::test]
async fn a_prompt_is_filled_and_its_arguments_completed() {
    let provider = conformance::provider();
    let wanted = json!({
        "name": "test_prompt_with_arguments",
        "arguments": {"arg1": "hello", "arg2": "world"},
    });
    let prompt = ask(&provider, offer::GET_PROMPT, wanted, None).await;
    assert_eq!(
        prompt["messages"][0]["content"]["text"],
        "Prompt with arguments: arg1='hello', arg2='world'"
    );
    let begun = json!({
        "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
        "argument": {"name": "arg1", "value": "par"},
    });
    let completed = ask(&provider, offer::COMPLETE, begun, None).await;
    assert_eq!(
        completed["completion"]["values"],
        json!(["park", "paris", "party"])
    );
}
