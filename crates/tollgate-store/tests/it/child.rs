//! Other processes: this test binary, started again to play a part.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use tollgate_core::{
    CallId, Estimate, SystemClock, Timestamp,
    store::{Batch, Change, Durability, Intent, Intents as _, Session, Store as _, StoreError},
};
use tollgate_store::SqliteStore;

use crate::world::{entry, session, settings};

const PART: &str = "TOLLGATE_TEST_PART";
const PLACE: &str = "TOLLGATE_TEST_PLACE";

/// How much the shared session may consume.
pub(crate) const LIMIT: u64 = 500;
/// How often each spender tries; eight of them want more than there is.
const TRIES: u64 = 120;

/// What another process does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// Waits for the start, then spends from the shared session.
    Spend,
    /// Writes until it is killed, and notes what was acknowledged.
    Write,
    /// Announces a call and waits to be killed.
    Announce,
}

/// Starts another process; its notes are in `directory/<name>`.
pub(crate) fn start(part: Part, directory: &Path, name: &str) -> Child {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test starts itself; it is no tool"
    )]
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child::plays_its_part", "--nocapture"])
        .env(PART, format!("{part:?}"))
        .env(PLACE, directory.join(name))
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits for a file another process makes.
pub(crate) fn wait_for(path: &Path) -> String {
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "how a test tells its child what to do"
    )]
    std::env::var(name).ok()
}

#[tokio::test]
async fn plays_its_part() {
    let (Some(part), Some(place)) = (variable(PART), variable(PLACE)) else {
        return;
    };
    let place = PathBuf::from(place);
    let directory = place.parent().unwrap();
    match part.as_str() {
        "Spend" => spend(directory, &place).await,
        "Write" => write(directory, &place).await,
        _ => announce(directory, &place).await,
    }
}

fn open(directory: &Path) -> SqliteStore {
    SqliteStore::open(settings(directory), Arc::new(SystemClock)).unwrap()
}

async fn spend(directory: &Path, place: &Path) {
    wait_for(&directory.join("go"));
    let store = Arc::new(open(directory));
    let opened = Session {
        limit: Some(LIMIT),
        ..Session::new(session(), Timestamp(0))
    };
    let batch = Batch {
        changes: vec![Change::OpenSession(opened)],
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
    let tasks: Vec<_> = (0..4_u64)
        .map(|task| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut spent = 0;
                for number in 0..TRIES / 4 {
                    let batch = Batch {
                        changes: vec![Change::Reserve {
                            session: session(),
                            estimate: Estimate::exactly(1),
                        }],
                        audit: vec![entry(task * TRIES + number)],
                        durability: Durability::Process,
                    };
                    match store.commit(batch).await {
                        Ok(_) => spent += 1,
                        Err(StoreError::Budget { left: 0 }) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
                spent
            })
        })
        .collect();
    let mut spent = 0;
    for task in tasks {
        spent += task.await.unwrap();
    }
    store.close().await;
    fs::write(place, format!("{spent}\n")).unwrap();
}

async fn write(directory: &Path, place: &Path) {
    let store = open(directory);
    let mut notes = OpenOptions::new()
        .append(true)
        .create(true)
        .open(place)
        .unwrap();
    for number in 0.. {
        let durability = match number % 8 {
            0 => Durability::Disk,
            _ => Durability::Process,
        };
        let batch = Batch {
            audit: vec![entry(number)],
            durability,
            ..Batch::default()
        };
        let receipt = store.commit(batch).await.unwrap();
        let line = format!("{}\n", receipt.places[0].receipt());
        notes.write_all(line.as_bytes()).unwrap();
    }
}

async fn announce(directory: &Path, place: &Path) {
    let store = open(directory);
    let name = place.file_name().unwrap().to_string_lossy().into_owned();
    let intent = Intent {
        call: CallId(name.as_str().into()),
        owner: store.owner().to_owned(),
        session: session(),
        tool: "mail.send".to_owned(),
        trace_id: "trace".to_owned(),
        reserved: 0,
        effect: true,
        digest: None,
        idempotency_key: None,
        at: Timestamp(0),
    };
    let batch = Batch {
        changes: vec![Change::OpenIntent(intent)],
        durability: Durability::Disk,
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
    fs::write(place, format!("{}\n", store.owner())).unwrap();
    loop {
        thread::sleep(Duration::from_secs(60));
    }
}
