//! Edits in two phases, as a caller of the provider sees them.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_core::{
    Answer, CallContext, ErrorCode, Health, Payload, Provider, ProviderError, StoreError,
    Timestamp, ToolCall, ToolName,
    store::{ProviderState, Versioned},
};
use tollgate_providers::docs;
use tollgate_testkit::{call_tool, fakes::context};

const GUIDE: &str = "# Guide\n\nFirst step.\nSecond step.\nThird step.\n";

/// A folder of documents, a provider for it, and somebody who calls.
struct Office {
    folder: TempDir,
    provider: Box<dyn Provider>,
    cx: CallContext,
}

impl Office {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("open/sub")).unwrap();
        fs::write(folder.path().join("open/guide.md"), GUIDE).unwrap();
        fs::write(folder.path().join("secret.txt"), "secret\n").unwrap();
        let provider = provider(folder.path());
        Self {
            folder,
            provider,
            cx: context(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("open").join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ProviderError> {
        match call_tool(&*self.provider, tool, arguments, self.cx.clone()).await? {
            Answer::Done(result) => Ok(result.payload.value().clone()),
            Answer::NeedsInput(_) => Err(ProviderError::rejected("asked")),
        }
    }

    async fn propose(&self, file: &str, edits: Value) -> Result<Value, ProviderError> {
        let arguments = json!({"file": file, "edits": edits});
        self.call("docs.propose_edit", arguments).await
    }

    /// Proposes one replacement in the guide; gives the id.
    async fn swap(&self, old: &str, new: &str) -> String {
        let edits = json!([{"old": old, "new": new}]);
        let proposed = self.propose("handbook/guide.md", edits).await.unwrap();
        proposed["proposal_id"].as_str().unwrap().to_owned()
    }

    async fn apply(&self, id: &str) -> Result<Value, ProviderError> {
        let arguments = json!({"proposal_id": id});
        self.call("docs.apply_edit", arguments).await
    }

    async fn revert(&self, id: &str) -> Result<Value, ProviderError> {
        self.call("docs.revert", json!({"proposal_id": id})).await
    }

    async fn preview(&self, tool: &str, id: &str) -> Result<Option<String>, ProviderError> {
        let call = ToolCall {
            id: self.cx.call.clone(),
            tool: ToolName::new(tool).unwrap(),
            arguments: Payload::from(json!({"proposal_id": id})),
        };
        self.provider.preview(&call, &self.cx).await
    }
}

fn provider(folder: &Path) -> Box<dyn Provider> {
    let roots: BTreeMap<String, PathBuf> = [("handbook".to_owned(), folder.join("open"))].into();
    Box::new(docs::provider(docs::Settings {
        roots,
        file_bytes: 64 << 10,
        ..docs::Settings::default()
    }))
}

#[track_caller]
fn reason(refused: Result<Value, ProviderError>) -> String {
    let error = refused.unwrap_err();
    let reason = error.details.get("reason").and_then(Value::as_str);
    reason.unwrap_or(error.code.kind()).to_owned()
}

#[tokio::test]
async fn an_edit_is_shown_first_then_made_and_taken_back() {
    let office = Office::new();
    let edits = json!([{"old": "Second", "new": "2nd"}, {"start_line": 6, "end_line": 5, "new": "Fourth step."}]);
    let proposed = office.propose("handbook/guide.md", edits).await.unwrap();
    assert_eq!(
        proposed["diff"],
        "--- a/handbook/guide.md\n+++ b/handbook/guide.md\n@@ -1,5 +1,6 @@\n # Guide\n \n First step.\n\
         -Second step.\n+2nd step.\n Third step.\n+Fourth step.\n"
    );
    assert_eq!(proposed["conflicts"], json!([]));
    assert_eq!(office.text("guide.md"), GUIDE, "nothing is written yet");

    let id = proposed["proposal_id"].as_str().unwrap();
    let shown = office
        .preview("docs.apply_edit", id)
        .await
        .unwrap()
        .unwrap();
    assert!(
        shown.contains(proposed["diff"].as_str().unwrap()),
        "{shown}"
    );
    assert!(
        shown.contains(proposed["digest"].as_str().unwrap()),
        "{shown}"
    );
    let applied = office.apply(id).await.unwrap();
    assert_eq!(applied["changed"], true);
    assert_eq!(applied["new_digest"], proposed["new_digest"]);
    let edited = GUIDE.replace("Second", "2nd") + "Fourth step.\n";
    assert_eq!(office.text("guide.md"), edited);
    assert_eq!(office.apply(id).await.unwrap()["changed"], false);

    let shown = office.preview("docs.revert", id).await.unwrap().unwrap();
    assert!(shown.contains("-2nd step.\n+Second step.\n"), "{shown}");
    assert_eq!(office.revert(id).await.unwrap()["changed"], true);
    assert_eq!(office.text("guide.md"), GUIDE);
    assert_eq!(office.revert(id).await.unwrap()["changed"], false);
    assert_eq!(
        office.apply(id).await.unwrap()["changed"],
        true,
        "and once more"
    );
    let left: Vec<_> = fs::read_dir(office.path("")).unwrap().collect();
    assert_eq!(left.len(), 2, "no spare file stays behind: {left:?}");
}

#[tokio::test]
async fn the_id_is_the_change_itself() {
    let office = Office::new();
    let id = office.swap("First", "1st").await;
    assert_eq!(office.swap("First", "1st").await, id);
    assert_ne!(office.swap("First", "One").await, id);
    fs::write(office.path("guide.md"), format!("{GUIDE}\n")).unwrap();
    assert_ne!(office.swap("First", "1st").await, id, "another version");
}

#[tokio::test]
async fn a_file_that_changed_since_is_left_alone() {
    let office = Office::new();
    let id = office.swap("First", "1st").await;
    let other = format!("{GUIDE}By somebody else.\n");
    fs::write(office.path("guide.md"), &other).unwrap();
    let refused = office.apply(&id).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InputRejected);
    assert_eq!(refused.details["reason"], "file_changed");
    assert_eq!(refused.next_steps, ["docs.propose_edit"]);
    assert_eq!(office.text("guide.md"), other);
    let shown = office.preview("docs.apply_edit", &id).await;
    assert_eq!(
        reason(shown.map(|_| Value::Null)),
        "file_changed",
        "nobody is asked"
    );

    fs::write(office.path("guide.md"), GUIDE).unwrap();
    office.apply(&id).await.unwrap();
    fs::write(office.path("guide.md"), &other).unwrap();
    assert_eq!(reason(office.revert(&id).await), "file_changed");
    assert_eq!(office.text("guide.md"), other);
    fs::remove_file(office.path("guide.md")).unwrap();
    assert_eq!(reason(office.revert(&id).await), "file_changed");
    assert_eq!(reason(office.apply(&id).await), "file_changed");
}

/// An editor that keeps a file open writes into the version that was there, whenever it likes.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_that_another_program_has_open_for_writing_is_left_alone() {
    use std::io::Write as _;

    let office = Office::new();
    let id = office.swap("First", "1st").await;
    let path = office.path("guide.md");
    let mut editor = fs::OpenOptions::new().append(true).open(&path).unwrap();
    assert_eq!(reason(office.apply(&id).await), "file_busy");
    assert_eq!(office.text("guide.md"), GUIDE);
    // Nothing of what it writes then is lost.
    editor.write_all(b"By an editor.\n").unwrap();
    drop(editor);
    assert_eq!(office.text("guide.md"), format!("{GUIDE}By an editor.\n"));
    assert_eq!(reason(office.apply(&id).await), "file_changed");

    fs::write(&path, GUIDE).unwrap();
    let applied = office.apply(&id).await.unwrap();
    assert_eq!(applied["exclusive"], true, "{applied}");
    let again = office.apply(&id).await.unwrap();
    assert_eq!(again["exclusive"], Value::Null, "nothing was written");
    let editor = fs::OpenOptions::new().append(true).open(&path).unwrap();
    assert_eq!(reason(office.revert(&id).await), "file_busy");
    drop(editor);
    let back = office.revert(&id).await.unwrap();
    assert_eq!(back["exclusive"], true, "{back}");
    assert_eq!(office.text("guide.md"), GUIDE);
}

#[tokio::test]
async fn of_two_proposals_for_one_version_the_first_wins() {
    let office = Office::new();
    let (one, other) = (
        office.swap("First", "1st").await,
        office.swap("Third", "3rd").await,
    );
    office.apply(&one).await.unwrap();
    assert_eq!(reason(office.apply(&other).await), "file_changed");
    assert_eq!(office.text("guide.md"), GUIDE.replace("First", "1st"));
}

#[tokio::test]
async fn edits_that_do_not_fit_are_conflicts_and_no_proposal() {
    let office = Office::new();
    let edits = json!([
        {"old": "step", "new": "stage"},
        {"old": "Tenth", "new": ""},
        {"start_line": 90, "end_line": 91, "new": ""},
        {"start_line": 3, "end_line": 4, "new": "x"},
        {"old": "First step.", "new": "y"},
    ]);
    let proposed = office.propose("handbook/guide.md", edits).await.unwrap();
    assert_eq!(proposed["proposal_id"], Value::Null);
    let told: Vec<String> = proposed["conflicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {} {}", it["edit"], it["reason"], it["lines"]))
        .collect();
    assert_eq!(
        told,
        [
            r#"0 "ambiguous" [3,4,5]"#,
            r#"1 "not_found" null"#,
            r#"2 "out_of_range" null"#,
            r#"4 "overlap" [3]"#
        ]
    );
    let stale = json!({"file": "handbook/guide.md", "edits": [{"old": "First", "new": "1st"}], "base_digest": "0".repeat(64)});
    let proposed = office.call("docs.propose_edit", stale).await.unwrap();
    assert_eq!(proposed["conflicts"][0]["reason"], "file_changed");
}

#[tokio::test]
async fn nothing_outside_the_folders_is_read_or_written() {
    let office = Office::new();
    symlink("../secret.txt", office.path("out.txt")).unwrap();
    symlink("/etc", office.path("etc")).unwrap();
    symlink("nowhere.txt", office.path("dangling.txt")).unwrap();
    symlink("guide.md", office.path("alias.md")).unwrap();
    let edits = json!([{"old": "secret", "new": "stolen"}]);
    for file in [
        "handbook/../secret.txt",
        "handbook/sub/../../secret.txt",
        "handbook//etc/passwd",
        "handbook/out.txt",
        "handbook/etc/passwd",
        "handbook/dangling.txt",
        "handbook/.",
        "handbook/",
        "handbook/sub\\guide.md",
        "handbook/guide.md\0",
        "guide.md",
    ] {
        let refused = reason(office.propose(file, edits.clone()).await);
        assert!(
            refused == "bad_path" || refused == "not_found",
            "{file}: {refused}"
        );
        let fresh = json!({"file": file, "create": true, "edits": [{"start_line": 1, "end_line": 0, "new": "x"}]});
        let refused = reason(office.call("docs.propose_edit", fresh).await);
        assert!(
            ["bad_path", "not_found", "exists", "not_text"].contains(&refused.as_str()),
            "{file}: {refused}"
        );
    }
    assert_eq!(
        reason(office.propose("other/guide.md", edits).await),
        "unknown_folder"
    );
    let secret = fs::read_to_string(office.folder.path().join("secret.txt")).unwrap();
    assert_eq!(secret, "secret\n");

    // A link that stays below is the file it leads to.
    let edits = json!([{"old": "First", "new": "1st"}]);
    let proposed = office.propose("handbook/alias.md", edits).await.unwrap();
    assert_eq!(proposed["file"], "handbook/guide.md");
    office
        .apply(proposed["proposal_id"].as_str().unwrap())
        .await
        .unwrap();
    assert!(
        office
            .path("alias.md")
            .symlink_metadata()
            .unwrap()
            .is_symlink()
    );
    assert!(office.text("guide.md").contains("1st"));
}

#[tokio::test]
async fn a_link_put_in_the_way_since_is_not_followed() {
    let office = Office::new();
    fs::write(office.folder.path().join("secret.txt"), GUIDE).unwrap();
    let id = office.swap("First", "1st").await;
    fs::remove_file(office.path("guide.md")).unwrap();
    symlink("../secret.txt", office.path("guide.md")).unwrap();
    assert_eq!(reason(office.apply(&id).await), "bad_path");
    let secret = fs::read_to_string(office.folder.path().join("secret.txt")).unwrap();
    assert_eq!(secret, GUIDE);
}

#[tokio::test]
async fn what_is_no_small_text_is_not_edited() {
    let office = Office::new();
    fs::write(office.path("pixel.png"), [0x89, 0x50, 0xff, 0x00]).unwrap();
    fs::write(office.path("zero.txt"), "a\0b").unwrap();
    fs::write(office.path("huge.txt"), "x".repeat((64 << 10) + 1)).unwrap();
    let edits = json!([{"old": "a", "new": "b"}]);
    for (file, expected) in [
        ("handbook/pixel.png", "not_text"),
        ("handbook/zero.txt", "not_text"),
        ("handbook/huge.txt", "too_large"),
        ("handbook/sub", "not_text"),
        ("handbook/missing.md", "not_found"),
    ] {
        assert_eq!(
            reason(office.propose(file, edits.clone()).await),
            expected,
            "{file}"
        );
    }
    let burst = json!([{"old": "t", "new": "y".repeat(60_000), "all": true}]);
    assert_eq!(
        reason(office.propose("handbook/guide.md", burst).await),
        "too_large"
    );
    let unreadable = json!([{"old": "First", "new": "y\n".repeat(30_000)}]);
    let refused = office.propose("handbook/guide.md", unreadable).await;
    // Every changed line has a mark of its own, so the difference is larger than the file.
    assert_eq!(reason(refused), ErrorCode::InputRejected.kind());
    let nothing = json!([{"old": "First", "new": "First"}]);
    assert!(office.propose("handbook/guide.md", nothing).await.is_err());
    let zero = json!([{"old": "First", "new": "a\u{0}b"}]);
    assert!(office.propose("handbook/guide.md", zero).await.is_err());
}

#[tokio::test]
async fn a_fresh_file_is_made_and_taken_away_again() {
    let office = Office::new();
    let fresh = json!({"file": "handbook/sub/new.md", "create": true, "edits": [{"start_line": 1, "end_line": 0, "new": "# New\n"}]});
    let proposed = office
        .call("docs.propose_edit", fresh.clone())
        .await
        .unwrap();
    assert!(
        proposed["diff"]
            .as_str()
            .unwrap()
            .starts_with("--- /dev/null\n")
    );
    let id = proposed["proposal_id"].as_str().unwrap();
    office.apply(id).await.unwrap();
    assert_eq!(office.text("sub/new.md"), "# New\n");
    assert_eq!(
        reason(office.call("docs.propose_edit", fresh.clone()).await),
        "exists"
    );
    office.revert(id).await.unwrap();
    assert!(!office.path("sub/new.md").exists());
    fs::write(office.path("sub/new.md"), "mine\n").unwrap();
    assert_eq!(reason(office.apply(id).await), "file_changed");
    assert_eq!(office.text("sub/new.md"), "mine\n");
}

#[tokio::test]
async fn mode_and_owner_are_kept_and_hard_links_are_left() {
    let office = Office::new();
    let path = office.path("guide.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let outside = office.folder.path().join("outside.md");
    fs::hard_link(&path, &outside).unwrap();
    let before = fs::metadata(&path).unwrap();
    let id = office.swap("First", "1st").await;
    office.apply(&id).await.unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!(after.mode() & 0o777, 0o640);
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_eq!(fs::read_to_string(outside).unwrap(), GUIDE);
}

#[tokio::test]
async fn a_proposal_is_its_principals_alone_and_survives_a_restart() {
    let mut office = Office::new();
    let id = office.swap("First", "1st").await;
    // What is remembered is per principal, so another one has a state of its own.
    let mine = office.cx.clone();
    office.cx = context();
    assert_eq!(reason(office.apply(&id).await), ErrorCode::NotFound.kind());
    assert_eq!(reason(office.revert(&id).await), ErrorCode::NotFound.kind());
    let shown = office.preview("docs.apply_edit", &id).await;
    assert!(shown.is_err());
    office.cx = mine;
    office.provider = provider(office.folder.path());
    assert_eq!(office.apply(&id).await.unwrap()["changed"], true);
    office.provider = provider(office.folder.path());
    assert_eq!(office.revert(&id).await.unwrap()["changed"], true);
    assert_eq!(
        reason(office.apply("pe-0").await),
        ErrorCode::NotFound.kind()
    );
}

#[tokio::test]
async fn the_oldest_proposals_give_way() {
    let office = Office::new();
    let first = office.swap("First", "number 0").await;
    for number in 1..=50 {
        office.swap("First", &format!("number {number}")).await;
    }
    assert_eq!(
        reason(office.apply(&first).await),
        ErrorCode::NotFound.kind()
    );
    let last = office.swap("First", "number 50").await;
    office.apply(&last).await.unwrap();
}

/// A state whose disk is full.
struct FullDisk(Arc<dyn ProviderState>);

#[async_trait]
impl ProviderState for FullDisk {
    async fn get(&self, key: &str) -> Result<Option<Versioned>, StoreError> {
        self.0.get(key).await
    }

    async fn compare_and_put(
        &self,
        _: &str,
        _: Option<u64>,
        _: Vec<u8>,
        _: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        Err(StoreError::Full)
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.0.delete(key).await
    }
}

/// A state that forgets nothing, and counts what is kept for good.
struct Clinging(Arc<dyn ProviderState>, Arc<AtomicUsize>);

#[async_trait]
impl ProviderState for Clinging {
    async fn get(&self, key: &str) -> Result<Option<Versioned>, StoreError> {
        self.0.get(key).await
    }

    async fn compare_and_put(
        &self,
        key: &str,
        version: Option<u64>,
        value: Vec<u8>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        self.0.compare_and_put(key, version, value, until).await
    }

    async fn compare_and_keep(
        &self,
        key: &str,
        version: Option<u64>,
        value: Vec<u8>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        assert!(key.starts_with("applied/"), "{key}");
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.compare_and_keep(key, version, value, until).await
    }

    async fn delete(&self, _: &str) -> Result<(), StoreError> {
        Err(StoreError::ReadOnly)
    }
}

#[tokio::test]
async fn a_change_that_was_made_is_told_even_if_its_proposal_cannot_be_forgotten() {
    let mut office = Office::new();
    let id = office.swap("First", "1st").await;
    let kept = Arc::new(AtomicUsize::new(0));
    office.cx.state = Arc::new(Clinging(Arc::clone(&office.cx.state), Arc::clone(&kept)));
    assert_eq!(office.apply(&id).await.unwrap()["changed"], true);
    assert!(office.text("guide.md").contains("1st"));
    assert_eq!(kept.load(Ordering::SeqCst), 1, "the old version is on disk");
    assert_eq!(office.apply(&id).await.unwrap()["changed"], false);
    assert_eq!(office.revert(&id).await.unwrap()["changed"], true);
    assert_eq!(office.text("guide.md"), GUIDE);
}

#[tokio::test]
async fn a_version_that_cannot_be_kept_is_not_replaced() {
    let mut office = Office::new();
    let id = office.swap("First", "1st").await;
    office.cx.state = Arc::new(FullDisk(Arc::clone(&office.cx.state)));
    let refused = office.apply(&id).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::StoreUnavailable);
    assert_eq!(office.text("guide.md"), GUIDE);
    let refused = office.propose("handbook/guide.md", json!([{"old": "First", "new": "x"}]));
    assert_eq!(refused.await.unwrap_err().code, ErrorCode::StoreUnavailable);
}

#[tokio::test]
async fn without_folders_there_are_no_tools_and_a_missing_one_is_said() {
    let none = docs::provider(docs::Settings::default());
    assert!(none.tools().await.unwrap().is_empty());
    let office = Office::new();
    assert_eq!(office.provider.health().await, Health::Ready);
    assert_eq!(office.provider.tools().await.unwrap().len(), 3);
    fs::remove_dir_all(office.path("")).unwrap();
    assert!(matches!(
        office.provider.health().await,
        Health::Degraded(_)
    ));
}

#[tokio::test]
async fn of_many_at_once_each_is_made_whole_or_refused() {
    let office = Arc::new(Office::new());
    let mut ids = Vec::new();
    for number in 0..8 {
        ids.push(office.swap("First", &format!("number {number}")).await);
    }
    let mut running = Vec::new();
    for id in ids {
        let office = Arc::clone(&office);
        running.push(tokio::spawn(async move { office.apply(&id).await.is_ok() }));
    }
    let mut made = 0;
    for one in running {
        made += usize::from(one.await.unwrap());
    }
    assert_eq!(made, 1);
    let text = office.text("guide.md");
    assert_eq!(text.matches("number").count(), 1, "{text}");
}
