//! What a call would do is shown to whoever is asked, by its provider's account.

use async_trait::async_trait;
use serde_json::json;
use tollgate_core::{
    Answer, CallContext, Payload, Provider, ProviderError, ToolCall, ToolResult, ToolSpec,
};
use tollgate_engine::Decided;
use tollgate_testkit::fakes::says;

use crate::support::{Setup, World, details, said, spec_paid, spec_write};

/// A provider that says what a call would do, or cannot.
struct Seer;

#[async_trait]
impl Provider for Seer {
    fn id(&self) -> &str {
        "seer"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        let tool = |name| ToolSpec {
            provider_id: "seer".to_owned(),
            ..spec_write(name)
        };
        let priced = |name| ToolSpec {
            provider_id: "seer".to_owned(),
            ..spec_paid(name, 5, true)
        };
        Ok(vec![
            tool("seer.write"),
            tool("seer.blind"),
            tool("seer.falls"),
            priced("seer.buy"),
            priced("seer.buy_nothing"),
        ])
    }

    async fn call(&self, _: ToolCall, _: CallContext) -> Result<Answer, ProviderError> {
        let result = ToolResult::ok(Payload::empty_object());
        Ok(Answer::Done(result))
    }

    async fn preview(
        &self,
        call: &ToolCall,
        cx: &CallContext,
    ) -> Result<Option<String>, ProviderError> {
        match call.tool.as_str() {
            "seer.write" => {
                let key = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
                let who = cx.principal.as_str();
                Ok(Some(format!("line 1 for {who}\nline 2 {key}")))
            }
            "seer.buy" => Ok(None),
            "seer.blind" | "seer.buy_nothing" => {
                Err(ProviderError::not_found("there is nothing to be done"))
            }
            _ => panic!("on purpose"),
        }
    }
}

async fn world() -> World {
    let each = ToolSpec {
        requires_confirm: true,
        ..spec_write("shelf.each")
    };
    Setup::new()
        .tool(each, says(json!({})))
        .provider(Seer)
        .build()
        .await
}

#[tokio::test]
async fn it_is_part_of_the_question_line_by_line_and_clean() {
    let world = world().await;
    let asked = world.call("seer.write", "{}").await;
    assert_eq!(said(&asked), "confirmation_required");
    let preview = details(&asked)["preview"].clone();
    let effect = preview["effect"].as_str().unwrap();
    assert!(
        effect.starts_with("line 1 for user:1000\nline 2 "),
        "{effect}"
    );
    assert!(!effect.contains("16C7e42F"), "{effect}");
    assert_eq!(preview["effect_cleaned"], true);
    let question = world.question(&asked).await;
    assert_eq!(question.preview["effect"], preview["effect"]);
    world.decide(&asked, Decided::Once).await;
    assert_eq!(said(&world.call("seer.write", "{}").await), "ok");
}

#[tokio::test]
async fn what_cannot_be_done_is_not_asked_for() {
    let world = world().await;
    let refused = world.call("seer.blind", "{}").await;
    assert_eq!(said(&refused), "not_found");
    assert_eq!(details(&refused)["approval_id"], serde_json::Value::Null);
    let crashed = world.call("seer.falls", "{}").await;
    assert_eq!(said(&crashed), "provider_crashed");
    assert_eq!(
        said(&world.call("seer.write", "{}").await),
        "confirmation_required"
    );
}

#[tokio::test]
async fn nobody_is_asked_to_pay_for_what_cannot_be_done() {
    let world = world().await;
    let asked = world.call("seer.buy", "{}").await;
    assert_eq!(said(&asked), "confirmation_required");
    assert_eq!(details(&asked)["consent"], "agent");
    assert_eq!(details(&asked)["preview"].get("effect"), None);
    let refused = world.call("seer.buy_nothing", "{}").await;
    assert_eq!(said(&refused), "not_found");
}

#[tokio::test]
async fn a_tool_that_is_agreed_to_call_by_call_is_covered_by_no_grant() {
    let world = world().await;
    let asked = world.call("shelf.each", r#"{"n":1}"#).await;
    world.decide(&asked, Decided::ToolForSession).await;
    let outcome = world.call("shelf.each", r#"{"n":2}"#).await;
    assert_eq!(said(&outcome), "confirmation_required");
    world.decide(&outcome, Decided::Once).await;
    assert_eq!(said(&world.call("shelf.each", r#"{"n":2}"#).await), "ok");
    assert_eq!(world.fake.count(), 1);
}
