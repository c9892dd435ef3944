//! Guided sessions as a caller sees them.

use std::{fs, path::Path, sync::Arc};

use serde_json::{Value, json};
use tollgate_core::{
    Answer, CallContext, Health, Notice, NoticeSink, Provider, ProviderError, Status, Warning,
};
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

fn with(path: &Path) -> impl Provider + use<> {
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

/// A base in a file of its own, and somebody who has begun a session with it.
struct Desk {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    cx: CallContext,
    provider: Box<dyn Provider>,
    begun: Value,
}

impl Desk {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tea.json");
        fs::write(&path, BASE).unwrap();
        let (cx, provider) = (context(), with(&path));
        let begun = initiate(&provider, &cx, "你好").await.unwrap();
        Self {
            _folder: folder,
            path,
            cx,
            provider: Box::new(provider),
            begun,
        }
    }

    fn step(&self, option: &str) -> Value {
        json!({"session_id": self.begun["session_id"], "selected_option_id": option})
    }

    async fn go(&self, option: &str) -> Result<Value, ProviderError> {
        ask(
            &*self.provider,
            &self.cx,
            "navigate_session",
            self.step(option),
        )
        .await
    }
}

async fn initiate(
    provider: &dyn Provider,
    cx: &CallContext,
    query: &str,
) -> Result<Value, ProviderError> {
    ask(
        provider,
        cx,
        "initiate_session",
        json!({"user_query": query}),
    )
    .await
}

#[tokio::test]
async fn a_session_is_walked_to_its_end_and_survives_a_restart() {
    let mut desk = Desk::open().await;
    let fields = [
        "session_id",
        "response",
        "current_step",
        "options",
        "is_complete",
    ];
    let begun = desk.begun.as_object().unwrap();
    assert!(begun.keys().take(5).eq(fields));
    assert_eq!(
        begun["options"][0],
        json!({"id": "tea", "description": "绿茶"})
    );
    desk.provider = Box::new(with(&desk.path));
    let tea = desk.go("tea").await.unwrap();
    assert_eq!(
        (&tea["response"], &tea["path"]),
        (&json!("水温八十度"), &json!(["root", "tea"]))
    );
    let end = desk.go("end").await.unwrap();
    assert_eq!(
        (&end["response"], &end["is_complete"]),
        (&json!("再见"), &json!(true))
    );
    let error = desk.go("back").await.unwrap_err();
    assert_eq!(error.message, "the session is complete");
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let desk = Desk::open().await;
    let error = desk.go("coffee").await.unwrap_err();
    assert_eq!(error.details["options"], json!(["tea", "end"]));
    let foreign = ask(
        &*desk.provider,
        &context(),
        "navigate_session",
        desk.step("tea"),
    )
    .await;
    assert!(foreign.unwrap_err().message.contains("there is no session"));
    let empty = initiate(&*desk.provider, &desk.cx, " ").await;
    assert_eq!(empty.unwrap_err().message, "`user_query` is empty");
}

#[tokio::test]
async fn of_two_steps_at_once_one_wins_and_the_other_is_told() {
    let desk = Desk::open().await;
    let (one, two) = tokio::join!(desk.go("tea"), desk.go("tea"));
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
    let desk = Desk::open().await;
    let welcome = async |text: &str| {
        fs::write(&desk.path, text).unwrap();
        let begun = initiate(&*desk.provider, &desk.cx, "你好").await;
        begun.unwrap()["response"].clone()
    };
    assert_eq!(welcome(BASE).await, "欢迎");
    let changed = BASE
        .replace("欢迎", "您好，欢迎")
        .replace("水温八十度", "水温九十度");
    assert_eq!(welcome(&changed).await, "您好，欢迎");
    assert_eq!(welcome("{\"nodes\": {").await, "您好，欢迎");
    let Health::Degraded(complaint) = desk.provider.health().await else {
        panic!("a base that cannot be read is said so");
    };
    assert!(
        complaint.contains("tea.json:1:12: error[syntax]"),
        "{complaint}"
    );
    // The session that began before goes on with the version it began with.
    assert_eq!(desk.go("tea").await.unwrap()["response"], "水温八十度");
}

#[tokio::test]
async fn several_bases_are_one_list_and_a_double_id_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let tea = write(
        "tea.json",
        r#"{"title": "Tea", "choose": "Which?", "nodes": {"root": {"response": "Tea!", "keywords": ["sencha"]}}}"#,
    );
    let coffee = write(
        "coffee.yaml",
        "title: Coffee\nnodes: {root: {response: Coffee!, keywords: [espresso]}}\n",
    );
    let twin = write(
        "twin.xml",
        "<k id=\"tea\"><node id=\"root\"><response>Twin</response></node></k>",
    );
    let provider = knowledge::provider(knowledge::Settings {
        paths: vec![tea, coffee, twin],
        ..knowledge::Settings::default()
    });
    let cx = context();
    let found = initiate(&provider, &cx, "an espresso please")
        .await
        .unwrap();
    assert_eq!(
        (&found["knowledge_base"], &found["matched"]),
        (&json!("coffee"), &json!("node"))
    );
    let chosen = initiate(&provider, &cx, "something else").await.unwrap();
    assert_eq!(
        chosen["options"],
        json!([{"id": "tea", "description": "Tea"}, {"id": "coffee", "description": "Coffee"}])
    );
    assert_eq!(
        provider.health().await,
        Health::Degraded("two knowledge bases are called `tea`".to_owned())
    );
}

#[tokio::test]
async fn without_a_base_there_are_no_tools() {
    let provider = knowledge::provider(knowledge::Settings::default());
    assert!(provider.tools().await.unwrap().is_empty());
    assert!(provider.offers().await.unwrap().is_empty());
    let missing = with(Path::new("missing.json"));
    let begun = initiate(&missing, &context(), "x").await;
    assert_eq!(
        begun.unwrap_err().message,
        "no knowledge base could be read"
    );
}

#[tokio::test]
async fn several_nodes_that_fit_are_offered_and_the_choice_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lamps.json");
    let base = r#"{"choose": "Which one?", "nodes": {"root": {"response": "Hi"},
        "desk": {"title": "Desk lamp", "keywords": ["lamp"], "response": "On the desk"},
        "wall": {"title": "Wall lamp", "keywords": ["lamp"], "response": "On the wall"}}}"#;
    fs::write(&path, base).unwrap();
    let (cx, provider) = (context(), with(&path));
    let begun = initiate(&provider, &cx, "lamp").await.unwrap();
    assert_eq!(
        (&begun["matched"], &begun["response"]),
        (&json!("several"), &json!("Which one?"))
    );
    let ids: Vec<&str> = begun["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["desk", "wall"]);
    let again = with(&path);
    let chosen = ask(
        &again,
        &cx,
        "navigate_session",
        json!({"session_id": begun["session_id"], "selected_option_id": "provide_more_info", "user_input": "2"}),
    )
    .await
    .unwrap();
    assert_eq!(chosen["response"], "On the wall", "{chosen}");
}

#[tokio::test]
async fn one_read_gives_at_most_a_megabyte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.json");
    let leaves = "leaf ".repeat(300_000);
    let text = format!(
        r#"{{"nodes": {{"root": {{"response": "Hi", "next_node": "large"}}, "large": {{"response": "{leaves}"}}}}}}"#
    );
    fs::write(&path, text).unwrap();
    let provider = with(&path);
    let read = async |uri: &str| {
        let read = json!({"uri": uri});
        ask(&provider, &context(), tollgate_core::offer::READ, read).await
    };
    let error = read("knowledge://large/nodes/large").await.unwrap_err();
    assert!(error.message.contains("at most 1048576"), "{error:?}");
    assert!(error.suggestion.is_some());
    assert!(read("knowledge://large/nodes/root").await.is_ok());
}

#[tokio::test]
async fn many_versions_of_one_process_are_all_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tea.json");
    let text = |at: usize| BASE.replace("水温八十度", &format!("水温{at}度"));
    fs::write(&path, text(0)).unwrap();
    let cx = context();
    let provider = knowledge::provider(knowledge::Settings {
        paths: vec![path.clone()],
        versions: Some(folder.path().join("versions")),
        ..knowledge::Settings::default()
    });
    let mut begun = Vec::new();
    // More than are kept in memory.
    for at in 0..20 {
        fs::write(&path, text(at)).unwrap();
        begun.push(initiate(&provider, &cx, "你好").await.unwrap());
    }
    for (at, session) in begun.iter().enumerate() {
        let step = json!({"session_id": session["session_id"], "selected_option_id": "tea"});
        let answer = ask(&provider, &cx, "navigate_session", step).await.unwrap();
        assert_eq!(answer["response"], format!("水温{at}度"));
        assert_eq!(answer["version"], session["version"]);
    }
}

/// Remembers that lists have changed.
#[derive(Default)]
struct Told(tokio::sync::Notify);

impl NoticeSink for Told {
    fn notice(&self, notice: Notice) {
        assert_eq!(notice, Notice::ListsChanged);
        self.0.notify_one();
    }
}

#[tokio::test]
async fn a_large_base_holds_nobody_up_and_is_listed_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.json");
    let leaves = "leaf ".repeat(300_000);
    let text = format!("{{\"nodes\": {{\"root\": {{\"response\": \"{leaves}\"}}}}}}");
    fs::write(&path, text).unwrap();
    let provider = with(&path);
    let told = Arc::new(Told::default());
    let addresses = async || {
        let offers = provider.offers().await.unwrap();
        let uris = offers.resources.into_iter().map(|one| one.uri);
        uris.collect::<Vec<String>>()
    };
    let large = "knowledge://large".to_owned();
    // What is asked first is answered at once, without it.
    assert!(!addresses().await.contains(&large));
    // Whether it has been read by the time somebody listens or not, it is told.
    provider.watch(told.clone());
    told.0.notified().await;
    assert!(addresses().await.contains(&large));
}

/// The file of the document, walked as the document says; it leaves most of its nodes out.
#[tokio::test]
async fn the_documents_own_file_answers_every_step_with_words_and_ways_on() {
    let text = include_str!("../../../tollgate-knowledge/tests/fixtures/document.json");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document.json");
    fs::write(&path, text).unwrap();
    let (cx, provider) = (context(), with(&path));
    for question in ["AI硬件", "NVIDIA", "GPU 头部公司", "GPU", "随便看看"] {
        let state = initiate(&provider, &cx, question).await.unwrap();
        assert_ne!(state["response"], "", "{question}: {state}");
        assert_ne!(state["options"], json!([]), "{question}: {state}");
    }
    let begun = initiate(&provider, &cx, "随便看看").await.unwrap();
    let step = json!({"session_id": begun["session_id"], "selected_option_id": "cloud"});
    let answer = call_tool(&provider, "navigate_session", step, cx.clone()).await;
    let Answer::Done(result) = answer.unwrap() else {
        panic!("it asked");
    };
    assert_eq!(result.status, Status::Degraded);
    assert_eq!(result.warnings, [Warning::BrokenLink]);
    let state = result.payload.value();
    assert_eq!(
        state["response"],
        "“云计算与数据中心”还没有内容，请选择其他选项。"
    );
    assert_eq!(state["options"].as_array().unwrap().len(), 1, "{state}");
    assert_eq!(state["options"][0]["id"], "ai");
    let told = state["warning"].as_str().unwrap();
    assert!(told.contains("`cloud`"), "{told}");
    let step = json!({"session_id": begun["session_id"], "selected_option_id": "ai"});
    let state = ask(&provider, &cx, "navigate_session", step).await.unwrap();
    assert_eq!(state["path"], json!(["root", "node_ai"]));

    let begun = initiate(&provider, &cx, "头部公司").await.unwrap();
    let end = json!({"session_id": begun["session_id"], "selected_option_id": "end"});
    let ended = ask(&provider, &cx, "navigate_session", end).await.unwrap();
    assert_eq!(ended["is_complete"], true);
    assert_eq!(ended["response"], "结束咨询", "without a closing sentence");
}
