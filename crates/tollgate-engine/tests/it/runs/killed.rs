//! kill -9 at every place that a run passes, on the real store and with real files.
//!
//! The child is this very test binary; it counts the stages that all its calls pass and the
//! files that are written, and dies at the one it is told. The parent takes the run over.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tollgate_core::{
    CallId, StoreError,
    store::{Blobs, RunQuery},
};
use tollgate_engine::{
    Decided, Stage, StageProbe,
    runs::{Runs, Settings},
};
use tollgate_runs::Library;
use tollgate_store::FolderBlobs;

use super::{answers, crash::opened, over};
use crate::support::{Setup, World, said, spec_read, spec_write};

const ORDERS: &str = "TOLLGATE_TEST_RUN_CRASH";
const TEMPLATE: &str = "id: three\nversion: 1.0.0\nname: Three\nsteps:\n  - id: look\n    tool: shelf.read\n    artifacts: [{name: seen, content: '{{ data.n }}'}]\n  - {id: put, tool: shelf.write, args: {v: '{{ steps.look.data.n }}'}}\n  - {id: last, tool: shelf.read}\n";
const ARGS: &str = r#"{"templateId":"three","options":{"mode":"async"}}"#;

/// Counts places, and kills this process the hard way at one of them.
struct Killer {
    passed: AtomicUsize,
    fatal: Option<usize>,
    armed: std::sync::atomic::AtomicBool,
}

impl Killer {
    fn pass(&self) {
        if !self.armed.load(Ordering::SeqCst) {
            return;
        }
        let place = self.passed.fetch_add(1, Ordering::SeqCst);
        if Some(place) == self.fatal {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
        }
    }
}

impl StageProbe for Killer {
    fn passed(&self, _: &CallId, _: Stage) {
        self.pass();
    }
}

/// Files that are a place before and a place after each is written.
struct Files(FolderBlobs, Arc<Killer>);

#[async_trait]
impl Blobs for Files {
    async fn put(&self, name: &str, content: Vec<u8>) -> Result<(), StoreError> {
        self.1.pass();
        let put = self.0.put(name, content).await;
        self.1.pass();
        put
    }

    async fn part(&self, name: &str, from: u64, bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.part(name, from, bytes).await
    }

    async fn remove(&self, name: &str) -> Result<(), StoreError> {
        self.0.remove(name).await
    }
}

async fn open(directory: &Path, killer: &Arc<Killer>) -> (World, Runs) {
    let templates = directory.join("templates");
    fs::create_dir_all(&templates).unwrap();
    fs::write(templates.join("three.yaml"), TEMPLATE).unwrap();
    let files = FolderBlobs::new(directory.join("artifacts"));
    let blobs = Arc::new(Files(files, Arc::clone(killer)));
    let library = Library::new(&[], vec![templates]);
    let runs = Runs::new(library, Settings::default(), blobs);
    let effects = directory.join("effects");
    let world = Setup::new()
        .store(opened(directory))
        .probe(Arc::clone(killer) as Arc<_>)
        .tool(spec_read("shelf.read"), |_, _| answers(json!({"n": 7})))
        .tool(spec_write("shelf.write"), move |_, _| {
            let file = fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(&effects);
            file.unwrap().write_all(b"put\n").unwrap();
            answers(json!({}))
        })
        .runs(&runs)
        .build()
        .await;
    (world, runs)
}

fn killer(fatal: Option<usize>) -> Arc<Killer> {
    Arc::new(Killer {
        passed: AtomicUsize::new(0),
        fatal,
        armed: false.into(),
    })
}

/// Not a test of its own: what the child does when the test below starts it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_child_that_is_killed() {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is how the child is told what to do"
    )]
    let Ok(orders) = std::env::var(ORDERS) else {
        return;
    };
    let (directory, place) = orders.split_once('|').unwrap();
    let killer = killer(place.parse().ok());
    let (world, runs) = open(&PathBuf::from(directory), &killer).await;
    let asked = world.call("run_task_template", ARGS).await;
    world.decide(&asked, Decided::Once).await;
    killer.armed.store(true, Ordering::SeqCst);
    let started = world.call("run_task_template", ARGS).await;
    assert_eq!(said(&started), "ok");
    runs.settle().await;
    println!("places {}.", killer.passed.load(Ordering::SeqCst));
}

/// Starts the child; what it says if it was not killed.
fn child(directory: &Path, place: &str) -> Option<String> {
    let binary = std::env::current_exe().unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "only a process of its own can be killed"
    )]
    let output = Command::new(binary)
        .args([
            "--exact",
            "runs::killed::the_child_that_is_killed",
            "--nocapture",
        ])
        .env(ORDERS, format!("{}|{place}", directory.display()))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(told)
}

/// Takes over what the child left; how the run ended, if there was one.
fn taken_over(directory: &Path) -> Option<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (world, _runs) = open(directory, &killer(None)).await;
        let query = RunQuery {
            limit: 10,
            ..RunQuery::default()
        };
        let rows = world.gateway.store().runs(&query).await.unwrap();
        assert!(rows.len() <= 1, "{rows:?}");
        let id = &rows.first()?.id;
        let run = tokio::time::timeout(Duration::from_secs(120), over(&world, id)).await;
        Some(run.expect("it is stuck"))
    })
}

/// Places are many, so each of a few tests takes its share of them.
fn dies_everywhere(share: usize, shares: usize) {
    let directory = tempfile::tempdir().unwrap();
    let told = child(directory.path(), "never").expect("nothing kills it");
    let count = told.split_once("places ").unwrap().1;
    let count: usize = count.split_once('.').unwrap().0.parse().unwrap();
    assert!(count > 20, "{told}");
    assert_eq!(taken_over(directory.path()).unwrap()["status"], "succeeded");
    for place in (share..count).step_by(shares) {
        let directory = tempfile::tempdir().unwrap();
        if child(directory.path(), &place.to_string()).is_some() {
            // Which calls overlap differs from time to time, and so does their number.
            continue;
        }
        let run = taken_over(directory.path());
        let effects = fs::read_to_string(directory.path().join("effects")).unwrap_or_default();
        let effects = effects.lines().count();
        assert!(effects <= 1, "place {place}: an effect happened twice");
        let Some(run) = run else {
            assert_eq!(effects, 0, "place {place}");
            continue;
        };
        match run["status"].as_str().unwrap() {
            "succeeded" => {
                assert_eq!(effects, 1, "place {place}: {run}");
                assert_eq!(run["artifacts"][0]["name"], "seen", "place {place}");
            }
            "failed" => {
                let details = &run["error"]["details"];
                assert_eq!(details["failedStep"], "put", "place {place}: {run}");
                assert_eq!(details["code"], "tool.gate.record.interrupted");
            }
            other => panic!("place {place}: {other}"),
        }
    }
}

#[test]
fn a_run_survives_a_kill_at_any_place() {
    dies_everywhere(0, 2);
}

#[test]
fn a_run_survives_a_kill_at_any_other_place() {
    dies_everywhere(1, 2);
}
