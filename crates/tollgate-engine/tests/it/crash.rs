//! kill -9 after every stage of every kind of call, on the real store.
//!
//! The child is this very test binary, told by its environment what to call and
//! where to die. The parent then opens what is left and looks for damage.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};
use tollgate_core::{
    Answer, CallId, Principal, Store, SystemClock, ToolSpec,
    audit::{AuditQuery, Place},
};
use tollgate_engine::{Decided, Outcome, Stage, StageProbe};
use tollgate_store::SqliteStore;
use tollgate_testkit::fakes::{Reply, says};

use crate::support::{Setup, World, done, request, said, spec_kept, spec_paid, spec_write};

/// Tells the child where to work, what to call and where to die.
const ORDERS: &str = "TOLLGATE_TEST_CRASH";

#[test]
fn a_read_survives_a_kill_after_any_stage() {
    kill_after_every_stage("read");
}

#[test]
fn a_paid_read_survives_a_kill_after_any_stage() {
    kill_after_every_stage("paid");
}

#[test]
fn an_effect_survives_a_kill_after_any_stage() {
    kill_after_every_stage("effect");
}

#[test]
fn many_callers_at_once_survive_a_kill_at_any_moment() {
    for acknowledged in [1, 7, 23] {
        let directory = tempfile::tempdir().unwrap();
        let mut child = start(directory.path(), "crowd", "never");
        let mut told = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        while told.matches("ack ").count() < acknowledged {
            assert_ne!(lines.read_line(&mut told).unwrap(), 0, "{told}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        lines.read_to_string(&mut told).unwrap();
        look_for_damage(directory.path(), &told);
    }
}

/// Not a test of its own: what the child does when a test above starts it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_child_that_is_killed() {
    let Some(orders) = orders() else {
        return;
    };
    let mut orders = orders.split('|');
    let directory = PathBuf::from(orders.next().unwrap());
    let (kind, stage) = (orders.next().unwrap(), orders.next().unwrap());
    let killer = Arc::new(Killer {
        stage: Stage::ALL
            .into_iter()
            .find(|known| format!("{known:?}") == stage),
        armed: AtomicBool::new(false),
    });
    let world = open(&directory, Some(Arc::clone(&killer) as Arc<_>)).await;
    for tool in ["shelf.read", "shelf.paid", "shelf.effect"] {
        approve(&world, tool, "{}").await;
        acknowledge(&world.call(tool, "{}").await);
    }
    if kind == "crowd" {
        crowd(&world).await;
    }
    let tool = format!("shelf.{kind}");
    approve(&world, &tool, victim(stage)).await;
    killer.armed.store(true, Ordering::SeqCst);
    acknowledge(&world.call(&tool, victim(stage)).await);
}

/// The call that dies; one that opens the cache has to have been made before.
fn victim(stage: &str) -> &'static str {
    if stage == "OpenCache" {
        "{}"
    } else {
        r#"{"n":1}"#
    }
}

fn kill_after_every_stage(kind: &str) {
    for stage in Stage::ALL {
        let directory = tempfile::tempdir().unwrap();
        let name = format!("{stage:?}");
        let child = start(directory.path(), kind, &name);
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        // An effect never opens the cache, so there is no such place to die.
        let unreachable = kind == "effect" && stage == Stage::OpenCache;
        assert_eq!(output.status.success(), unreachable, "{name}: {told}");
        look_for_damage(directory.path(), &told);
    }
}

/// Opens what the child left, and checks everything that must hold.
fn look_for_damage(directory: &Path, told: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = open(directory, None).await;
        world.gateway.recover().await.unwrap();
        assert_eq!(world.gateway.recover().await.unwrap(), 0);
        assert_whole(&world, told).await;
        // Whatever the child could not finish can be asked for again, and runs at most once.
        for arguments in ["{}", r#"{"n":1}"#] {
            world.call("shelf.effect", arguments).await;
        }
        assert_whole(&world, told).await;
        let effects = fs::read_to_string(directory.join("effects")).unwrap_or_default();
        let lines: Vec<&str> = effects.lines().collect();
        let distinct: BTreeSet<&str> = lines.iter().copied().collect();
        assert_eq!(
            lines.len(),
            distinct.len(),
            "an effect ran twice: {effects}"
        );
    });
}

async fn assert_whole(world: &World, told: &str) {
    let store = world.gateway.store();
    let found = store.verify().await.unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
    assert_eq!(store.abandoned().await.unwrap(), []);
    let query = AuditQuery {
        limit: 100_000,
        ..AuditQuery::default()
    };
    let mut endings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut intents = BTreeSet::new();
    for row in store.records(&query).await.unwrap() {
        let Some(call) = row.columns.call_id.clone() else {
            continue;
        };
        let place = Place {
            chain: row.chain.into(),
            seq: row.seq,
            hash: row.hash,
        };
        match row.columns.kind.as_str() {
            "ending" => endings.entry(call).or_default().push(place.receipt()),
            "intent" => drop(intents.insert(call)),
            _ => {}
        }
    }
    for (call, receipts) in &endings {
        assert_eq!(receipts.len(), 1, "{call} has one ending");
    }
    for call in &intents {
        assert!(
            endings.contains_key(call),
            "{call} was announced and never ended"
        );
    }
    // A line that was cut off by the kill was not received.
    let received = told.lines().filter_map(|line| {
        line.split_once("ack ")?
            .1
            .strip_suffix('.')?
            .split_once(' ')
    });
    let mut acknowledged = 0;
    for (call, receipt) in received {
        assert_eq!(endings[call], [receipt], "{call} was acknowledged");
        acknowledged += 1;
    }
    assert!(acknowledged > 0, "{told}");
    for session in store.sessions(&Principal::user(1000)).await.unwrap() {
        assert_eq!(session.reserved, 0, "{session:?}");
    }
}

/// Calls of every kind from four callers, until the end.
async fn crowd(world: &World) {
    let callers: Vec<_> = (0..4)
        .map(|caller| {
            let gateway = world.gateway.clone();
            tokio::spawn(async move {
                let who = crate::support::caller("s1");
                for n in 0..10_000 {
                    let arguments = format!(r#"{{"caller":{caller},"n":{n}}}"#);
                    let tool = ["shelf.read", "shelf.paid", "shelf.granted"][n % 3];
                    acknowledge(&gateway.call(&who, request(tool, &arguments)).await);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

async fn approve(world: &World, tool: &str, arguments: &str) {
    if tool == "shelf.effect" {
        let asked = world.call(tool, arguments).await;
        acknowledge(&asked);
        if said(&asked) == "confirmation_required" {
            world.decide(&asked, Decided::Once).await;
        }
    }
}

/// Tells the parent that the answer is here; from then on it must never be missing.
fn acknowledge(outcome: &Outcome) {
    let meta = &outcome.envelope.get().meta;
    let receipt = meta.receipt.as_deref().unwrap();
    println!("ack {} {receipt}.", meta.call_id);
}

async fn open(directory: &Path, probe: Option<Arc<dyn StageProbe>>) -> World {
    let settings = tollgate_store::Settings::new(directory.join("state"));
    let store = SqliteStore::open(settings, Arc::new(SystemClock)).unwrap();
    let granted = ToolSpec {
        toolsets: vec!["granted".to_owned()],
        ..spec_write("shelf.granted")
    };
    let mut setup = Setup::new()
        .store(Arc::new(store) as Arc<dyn Store>)
        .tool(spec_kept("shelf.read"), says(json!({"n": 1})))
        .tool(spec_paid("shelf.paid", 3, false), says(json!({"n": 2})))
        .tool(spec_write("shelf.effect"), happens(directory))
        .tool(granted, happens(directory))
        .rules(
            r#"@id("granted") permit (principal, action == Action::"call", resource)
                when { resource.toolsets.contains("granted") };"#,
        );
    if let Some(probe) = probe {
        setup = setup.probe(probe);
    }
    setup.build().await
}

/// An effect that leaves a trace outside of the store.
fn happens(
    directory: &Path,
) -> impl Fn(tollgate_core::ToolCall, tollgate_core::CallContext) -> Reply + Send + Sync + use<> {
    let file = directory.join("effects");
    move |call, _| {
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .unwrap();
        Box::pin(async move {
            let line: Value = call.arguments.value().clone();
            file.write_all(format!("{} {line}\n", call.tool).as_bytes())
                .unwrap();
            Ok(Answer::Done(done(json!({"n": 3}))))
        })
    }
}

/// Kills this process the hard way when a call passes a stage.
struct Killer {
    stage: Option<Stage>,
    armed: AtomicBool,
}

impl StageProbe for Killer {
    fn passed(&self, _: &CallId, stage: Stage) {
        if Some(stage) == self.stage && self.armed.load(Ordering::SeqCst) {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
        }
    }
}

/// Starts this test binary again as the child.
fn start(directory: &Path, kind: &str, stage: &str) -> Child {
    let binary = std::env::current_exe().unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "only a process of its own can be killed"
    )]
    let mut command = Command::new(binary);
    command
        .args(["--exact", "crash::the_child_that_is_killed", "--nocapture"])
        .env(ORDERS, format!("{}|{kind}|{stage}", directory.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn orders() -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is how the child is told what to do"
    )]
    let orders = std::env::var(ORDERS);
    orders.ok()
}
