//! A session goes on with the version it began with, whatever becomes of files and processes.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tollgate_core::{
    Answer, CallContext, ErrorCode, Event, Health, HeldClock, LogLevel, Provider, ProviderError,
    Timestamp,
};
use tollgate_providers::knowledge::{self, Settings};
use tollgate_testkit::{
    call_tool,
    fakes::{Events, context},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const BEGUN: i64 = 1_000_000_000_000;

/// A folder with a base and a place for versions, and a provider over them.
struct Desk {
    folder: tempfile::TempDir,
    cx: CallContext,
    events: Arc<Events>,
    clock: Arc<HeldClock>,
    limit: u64,
    paths: Vec<&'static str>,
    provider: Box<dyn Provider>,
}

fn tea(degrees: &str) -> String {
    format!(
        r#"{{"nodes": {{"root": {{"response": "Tea?", "options": [
            {{"id": "green", "description": "Green", "next_node": "green"}}]}},
          "green": {{"response": "{degrees} degrees", "options": [
            {{"id": "more", "description": "More", "next_node": null}}]}}}}}}"#
    )
}

impl Desk {
    fn new() -> Self {
        Self::with(1 << 30)
    }

    fn with(limit: u64) -> Self {
        let events = Arc::new(Events::default());
        let mut desk = Self {
            folder: tempfile::tempdir().unwrap(),
            cx: CallContext {
                events: events.clone(),
                ..context()
            },
            events,
            clock: Arc::new(HeldClock::new(Timestamp(BEGUN))),
            limit,
            paths: vec!["tea.json"],
            provider: Box::new(knowledge::provider(Settings::default())),
        };
        desk.write("tea.json", &tea("Eighty"));
        desk.restart();
        desk
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn versions(&self) -> PathBuf {
        self.folder.path().join("versions")
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.versions()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_kept = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "kept");
        paths.filter(is_kept).collect()
    }

    fn kept(&self) -> usize {
        self.files().len()
    }

    /// The one version that is kept.
    fn only(&self) -> PathBuf {
        let [path] = &self.files()[..] else {
            panic!("not one version is kept: {:?}", self.files());
        };
        path.clone()
    }

    /// Another process over the same files; nothing of this one is waited for.
    fn restart(&mut self) {
        let path = |name: &&str| self.folder.path().join(name);
        self.provider = Box::new(knowledge::provider(Settings {
            paths: self.paths.iter().map(path).collect(),
            versions: Some(self.versions()),
            versions_limit: self.limit,
            clock: self.clock.clone(),
            session_ttl: DAY,
        }));
    }

    async fn ask(&self, tool: &str, arguments: Value) -> Result<Value, ProviderError> {
        match call_tool(&*self.provider, tool, arguments, self.cx.clone()).await? {
            Answer::Done(result) => Ok(result.payload.value().clone()),
            Answer::NeedsInput(_) => Err(ProviderError::rejected("asked")),
        }
    }

    async fn begin(&self, query: &str) -> Value {
        let begun = self.ask("initiate_session", json!({"user_query": query}));
        begun.await.unwrap()
    }

    async fn go(&self, session: &Value, option: &str) -> Result<Value, ProviderError> {
        let step = json!({"session_id": session["session_id"], "selected_option_id": option});
        self.ask("navigate_session", step).await
    }
}

#[track_caller]
fn is_gone(answer: Result<Value, ProviderError>) -> String {
    let error = answer.unwrap_err();
    assert!(error.message.contains("is no longer kept"), "{error:?}");
    assert_eq!(error.next_steps, ["initiate_session"]);
    let advice = error.suggestion.unwrap();
    assert!(advice.contains("`initiate_session`"), "{advice}");
    error
        .source
        .map(|source| source.to_string())
        .unwrap_or_default()
}

#[tokio::test]
async fn a_session_keeps_its_version_over_a_restart_and_new_ones_get_the_new() {
    let mut desk = Desk::new();
    let session = desk.begin("hello").await;
    desk.write("tea.json", &tea("Ninety"));
    desk.restart();
    let fresh = desk.begin("hello").await;
    assert_ne!(fresh["version"], session["version"]);
    let step = desk.go(&session, "green").await.unwrap();
    assert_eq!(
        (&step["response"], &step["version"]),
        (&json!("Eighty degrees"), &session["version"])
    );
    assert_eq!(
        desk.go(&fresh, "green").await.unwrap()["response"],
        "Ninety degrees"
    );
    // Once more, to a third version, with one session of each.
    desk.write("tea.json", &tea("Seventy"));
    desk.restart();
    let back = desk.go(&session, "back").await.unwrap();
    assert_eq!(back["version"], session["version"]);
    let back = desk.go(&fresh, "back").await.unwrap();
    assert_eq!(back["version"], fresh["version"]);
    assert_eq!(desk.kept(), 2, "nobody has begun with the third one");
    assert_eq!(desk.provider.health().await, Health::Ready);
}

#[tokio::test]
async fn a_session_goes_on_although_the_file_is_broken_or_gone_after_a_restart() {
    let mut desk = Desk::new();
    let session = desk.begin("hello").await;
    desk.write("tea.json", "{\"nodes\": {");
    desk.restart();
    let step = desk.go(&session, "green").await.unwrap();
    assert_eq!(step["response"], "Eighty degrees");
    fs::remove_file(desk.folder.path().join("tea.json")).unwrap();
    desk.restart();
    assert_eq!(desk.go(&session, "back").await.unwrap()["response"], "Tea?");
    // A base that the operator has taken away is not brought back.
    desk.paths.clear();
    desk.restart();
    is_gone(desk.go(&session, "green").await);
}

#[tokio::test]
async fn a_version_begun_after_its_file_was_broken_is_kept_too() {
    let mut desk = Desk::new();
    desk.begin("hello").await;
    desk.write("tea.json", &tea("Ninety"));
    // It is read, but no session has begun with it yet.
    assert!(desk.provider.offers().await.is_ok());
    desk.provider.health().await;
    desk.write("tea.json", "{\"nodes\": {");
    let session = desk.begin("hello").await;
    desk.restart();
    let step = desk.go(&session, "green").await.unwrap();
    assert_eq!(step["response"], "Ninety degrees");
}

#[tokio::test]
async fn a_version_that_is_missing_or_damaged_says_to_begin_again() {
    let mut desk = Desk::new();
    let session = desk.begin("hello").await;
    desk.write("tea.json", &tea("Ninety"));
    let path = desk.only();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    desk.restart();
    let cause = is_gone(desk.go(&session, "green").await);
    assert!(
        !cause.is_empty(),
        "the log says what is wrong with the file"
    );
    fs::remove_file(&path).unwrap();
    assert_eq!(is_gone(desk.go(&session, "green").await), "");
    // Put back, it goes on: nothing was lost by the refusals.
    fs::write(&path, whole).unwrap();
    let step = desk.go(&session, "green").await.unwrap();
    assert_eq!(step["response"], "Eighty degrees");
}

#[tokio::test]
async fn a_version_that_cannot_be_read_right_now_is_not_gone() {
    let mut desk = Desk::new();
    let session = desk.begin("hello").await;
    desk.write("tea.json", &tea("Ninety"));
    let path = desk.only();
    let whole = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    // Reading a folder fails, and says nothing about what was kept.
    fs::create_dir(&path).unwrap();
    desk.restart();
    let error = desk.go(&session, "green").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable, "{error:?}");
    fs::remove_dir(&path).unwrap();
    fs::write(&path, whole).unwrap();
    let step = desk.go(&session, "green").await.unwrap();
    assert_eq!(step["response"], "Eighty degrees");
}

#[tokio::test]
async fn a_damaged_version_is_written_again_while_it_can_be() {
    let mut desk = Desk::new();
    let session = desk.begin("hello").await;
    let path = desk.only();
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(&path, &bytes).unwrap();
    // The file is still the same, so whoever begins with it next has what is missing.
    desk.restart();
    let second = desk.begin("hello").await;
    assert_eq!(second["version"], session["version"]);
    desk.write("tea.json", &tea("Ninety"));
    desk.restart();
    for session in [session, second] {
        let step = desk.go(&session, "green").await.unwrap();
        assert_eq!(step["response"], "Eighty degrees");
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_said_and_stops_nobody() {
    let desk = Desk::new();
    fs::write(desk.versions(), "in the way").unwrap();
    let session = desk.begin("hello").await;
    let heard = desk.events.heard();
    let [Event::Log { level, data, .. }] = &heard[..] else {
        panic!("the caller is told: {heard:?}");
    };
    assert_eq!(*level, LogLevel::Warning);
    let told = data.as_str().unwrap();
    assert!(told.contains("is not kept"), "{told}");
    assert_eq!(
        desk.provider.health().await,
        Health::Degraded(told.to_owned())
    );
    desk.go(&session, "green").await.unwrap();
}

#[tokio::test]
async fn a_change_that_is_refused_is_said_once_with_its_place() {
    let mut desk = Desk::new();
    let session = desk.begin("hello").await;
    let told = || -> Vec<String> {
        let heard = desk.events.heard();
        heard.iter().map(|event| format!("{event:?}")).collect()
    };
    assert_eq!(told(), [""; 0]);
    desk.write("tea.json", "{\"nodes\": {");
    desk.go(&session, "green").await.unwrap();
    desk.begin("hello").await;
    let [first] = &told()[..] else {
        panic!("one change is one warning: {:?}", told());
    };
    for words in ["Warning", "tea.json:1:12: error[syntax]"] {
        assert!(first.contains(words), "{first}");
    }
    desk.write("tea.json", "{\"nodes\": [1, 2]}");
    desk.begin("hello").await;
    desk.begin("hello").await;
    assert_eq!(told().len(), 2, "{:?}", told());
    desk.write("tea.json", &tea("Ninety"));
    desk.begin("hello").await;
    assert_eq!(told().len(), 2, "{:?}", told());
    // Nothing is left to answer from: the operator reads why.
    desk.write("tea.json", "{\"nodes\": {");
    desk.restart();
    let Health::Down(why) = desk.provider.health().await else {
        panic!("there is no base");
    };
    assert!(why.contains("tea.json:1:12: error[syntax]"), "{why}");
}

#[tokio::test]
async fn a_full_folder_is_said_and_stops_nobody() {
    let mut desk = Desk::with(10);
    let session = desk.begin("hello").await;
    let heard = desk.events.heard();
    let [Event::Log { level, data, .. }] = &heard[..] else {
        panic!("the caller is told: {heard:?}");
    };
    assert_eq!(*level, LogLevel::Warning);
    let told = data.as_str().unwrap();
    for words in ["10 bytes", "are used up", "knowledge.session_ttl_seconds"] {
        assert!(told.contains(words), "{told}");
    }
    assert_eq!(
        desk.provider.health().await,
        Health::Degraded(told.to_owned())
    );
    assert_eq!(desk.kept(), 0);
    // As long as the process lives, and while the file is the same, nothing is lost.
    desk.go(&session, "green").await.unwrap();
    desk.restart();
    desk.go(&session, "back").await.unwrap();
    desk.write("tea.json", &tea("Ninety"));
    assert!(desk.go(&session, "green").await.is_ok());
    desk.restart();
    is_gone(desk.go(&session, "back").await);
}

#[tokio::test]
async fn a_large_base_is_written_beside_the_answer_and_before_the_end() {
    let mut desk = Desk::new();
    let large = |degrees: &str| {
        let filling = format!(
            "\"filling\": {{\"response\": \"{}\"}}",
            "leaf ".repeat(300_000)
        );
        tea(degrees).replace("\"nodes\": {", &format!("\"nodes\": {{{filling},"))
    };
    desk.write("tea.json", &large("Eighty"));
    let session = desk.begin("hello").await;
    desk.provider.close().await;
    assert_eq!(desk.kept(), 1);
    desk.write("tea.json", &large("Ninety"));
    desk.restart();
    let step = desk.go(&session, "green").await.unwrap();
    assert_eq!(step["response"], "Eighty degrees");
}

#[tokio::test]
async fn a_version_ends_with_its_last_session_and_is_put_off_by_every_use() {
    let mut desk = Desk::new();
    let after = |hours: i64| Timestamp(BEGUN + hours * 60 * 60 * 1000);
    let session = desk.begin("hello").await;
    desk.write("tea.json", &tea("Ninety"));
    // One that nobody goes on with.
    desk.begin("hello").await;
    desk.write("tea.json", &tea("Seventy"));
    for hours in [20, 40, 60] {
        desk.clock.set(after(hours));
        desk.go(&session, "green").await.unwrap();
        desk.go(&session, "back").await.unwrap();
        desk.restart();
    }
    assert_eq!(desk.kept(), 1, "the one in use is left");
    assert_eq!(
        desk.go(&session, "green").await.unwrap()["response"],
        "Eighty degrees"
    );
    desk.clock.set(after(60 + 30));
    desk.begin("hello").await;
    assert_eq!(desk.kept(), 1, "only what has just begun");
}

#[tokio::test]
async fn a_choice_among_bases_keeps_the_version_of_each() {
    let mut desk = Desk::new();
    let lamp = |said: &str| {
        format!(
            r#"{{"choose": "Which?", "nodes": {{"root": {{"response": "Hi"}},
              "lamp": {{"title": "Lamp", "keywords": ["lamp"], "response": "{said}"}}}}}}"#
        )
    };
    desk.write("desk.json", &lamp("On the desk"));
    desk.write("wall.json", &lamp("On the wall"));
    desk.paths = vec!["desk.json", "wall.json"];
    desk.restart();
    let session = desk.begin("lamp").await;
    assert_eq!(session["matched"], "several", "{session}");
    for name in ["desk.json", "wall.json"] {
        desk.write(name, &lamp("Elsewhere"));
    }
    desk.restart();
    let chosen = desk.go(&session, "wall.lamp").await.unwrap();
    assert_eq!(chosen["response"], "On the wall");
}
