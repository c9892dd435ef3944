//! Guided sessions as a caller sees them.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tollgate_core::{Answer, CallContext, Provider, ProviderError};
use tollgate_providers::knowledge;
use tollgate_testkit::{call_tool, fakes::context};

const BASE: &str = r#"{
  "fallback": "没听懂", "closing": "再见",
  "nodes": {
    "root": {"response": "欢迎", "options": [
      {"id": "tea", "description": "绿茶", "next_node": "tea"},
      {"id": "end", "description": "结束", "next_node": null}]},
    "tea": {"response": "水温八十度", "options": [{"id": "end", "description": "结束", "next_node": null}]}
    // more to come
  }
}"#;

fn with(path: &Path) -> impl Provider {
    knowledge::provider(knowledge::Settings {
        paths: vec![path.to_owned()],
        ..knowledge::Settings::default()
    })
}

async fn ask(
    provider: &dyn Provider,
    cx: &CallContext,
    tool: &str,
    arguments: Value,
) -> Result<Value, ProviderError> {
    match call_tool(provider, tool, arguments, cx.clone()).await? {
        Answer::Done(result) => Ok(result.payload.value().clone()),
        Answer::NeedsInput(_) => Err(ProviderError::rejected("asked")),
    }
}

#[tokio::test]
async fn a_session_is_walked_to_its_end_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tea.json");
    fs::write(&path, BASE).unwrap();
    let cx = context();
    let provider = with(&path);
    let begun = ask(
        &provider,
        &cx,
        "initiate_session",
        json!({"user_query": "你好"}),
    )
    .await;
    let begun = begun.unwrap();
    let id = begun["session_id"].as_str().unwrap();
    let fields = [
        "session_id",
        "response",
        "current_step",
        "options",
        "is_complete",
    ];
    assert!(begun.as_object().unwrap().keys().take(5).eq(fields));
    assert_eq!(
        begun["options"][0],
        json!({"id": "tea", "description": "绿茶"})
    );
    let again = with(&path);
    let step = |option: &str| json!({"session_id": id, "selected_option_id": option});
    let tea = ask(&again, &cx, "navigate_session", step("tea"))
        .await
        .unwrap();
    assert_eq!(
        (&tea["response"], &tea["path"]),
        (&json!("水温八十度"), &json!(["root", "tea"]))
    );
    let end = ask(&again, &cx, "navigate_session", step("end"))
        .await
        .unwrap();
    assert_eq!(
        (&end["response"], &end["is_complete"]),
        (&json!("再见"), &json!(true))
    );
    let error = ask(&again, &cx, "navigate_session", step("back"))
        .await
        .unwrap_err();
    assert_eq!(error.message, "the session is complete");
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tea.json");
    fs::write(&path, BASE).unwrap();
    let (cx, provider) = (context(), with(&path));
    let begun = ask(
        &provider,
        &cx,
        "initiate_session",
        json!({"user_query": "你好"}),
    )
    .await;
    let begun = begun.unwrap();
    let wrong = json!({"session_id": begun["session_id"], "selected_option_id": "coffee"});
    let error = ask(&provider, &cx, "navigate_session", wrong)
        .await
        .unwrap_err();
    assert_eq!(error.details["options"], json!(["tea", "end"]));
    let step = json!({"session_id": begun["session_id"], "selected_option_id": "tea"});
    let foreign = ask(&provider, &context(), "navigate_session", step).await;
    assert!(foreign.unwrap_err().message.contains("there is no session"));
    let empty = ask(
        &provider,
        &cx,
        "initiate_session",
        json!({"user_query": " "}),
    )
    .await;
    assert_eq!(empty.unwrap_err().message, "`user_query` is empty");
}

#[tokio::test]
async fn of_two_steps_at_once_one_wins_and_the_other_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tea.json");
    fs::write(&path, BASE).unwrap();
    let (cx, provider) = (context(), with(&path));
    let begun = ask(
        &provider,
        &cx,
        "initiate_session",
        json!({"user_query": "你好"}),
    )
    .await;
    let step = json!({"session_id": begun.unwrap()["session_id"], "selected_option_id": "tea"});
    let (one, two) = tokio::join!(
        ask(&provider, &cx, "navigate_session", step.clone()),
        ask(&provider, &cx, "navigate_session", step)
    );
    let lost: Vec<String> = [one, two]
        .into_iter()
        .filter_map(|answer| answer.err().map(|error| error.message))
        .collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    // The slower one either read the old place and lost, or the new one, where `tea` is no option.
    let told = lost[0].contains("came first") || lost[0].contains("no option `tea`");
    assert!(told, "{lost:?}");
}

#[tokio::test]
async fn a_good_change_is_taken_up_and_a_bad_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tea.json");
    fs::write(&path, BASE).unwrap();
    let (cx, provider) = (context(), with(&path));
    let welcome = async |text: &str| {
        fs::write(&path, text).unwrap();
        let begun = ask(
            &provider,
            &cx,
            "initiate_session",
            json!({"user_query": "你好"}),
        )
        .await;
        begun.unwrap()["response"].clone()
    };
    assert_eq!(welcome(BASE).await, "欢迎");
    assert_eq!(
        welcome(&BASE.replace("欢迎", "您好，欢迎")).await,
        "您好，欢迎"
    );
    assert_eq!(welcome("{\"nodes\": {").await, "您好，欢迎");
}

#[tokio::test]
async fn without_a_base_there_are_no_tools() {
    let provider = knowledge::provider(knowledge::Settings::default());
    assert!(provider.tools().await.unwrap().is_empty());
    let missing = with(Path::new("missing.json"));
    let begun = ask(
        &missing,
        &context(),
        "initiate_session",
        json!({"user_query": "x"}),
    )
    .await;
    assert_eq!(
        begun.unwrap_err().message,
        "no knowledge base could be read"
    );
}
