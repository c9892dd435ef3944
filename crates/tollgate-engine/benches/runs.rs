//! What a run costs: ten steps that only read, a thousand queued ones, the same beside a
//! hundred thousand that are over, and a piece of an artifact.
//!
//! `cargo bench -p tollgate-engine --bench runs` prints one table. On the real store, with
//! transitions synced; figures are medians of rounds, with their range.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench reports by printing and fails by panicking"
)]

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tollgate_core::{
    Answer, Clock as _, Payload, Principal, Provider, Secret, SessionKey, Store, Surface,
    SystemClock, ToolResult,
    store::{Batch, Change, RunChange, RunRow, Runs as _},
};
use tollgate_engine::{
    Caller, Catalog, Gateway, Outcome, Parts, Request, Selection,
    policy::{Policies, Source},
    runs::{Runs, Settings},
};
use tollgate_runs::Library;
use tollgate_store::{FolderBlobs, SqliteStore};
use tollgate_testkit::fakes::{FakeProvider, spec};

/// The allocator of the program itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 7;
const QUEUED: usize = 1000;
const OVER: usize = 100_000;
const PIECE: usize = 256 << 10;

struct World {
    gateway: Gateway,
    /// Drives what was started as long as it is here.
    _runs: Runs,
    store: Arc<SqliteStore>,
    caller: Caller,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    println!("| what | measured | target |\n|---|---|---|");
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let world = open(folder.path()).await;
        ten_steps(&world).await;
        artifact(&world).await;
        let empty = drained(&world, "an empty store").await;
        fill(&world).await;
        let full = drained(&world, "100,000 runs that are over").await;
        println!(
            "| the last against the one before | {:.2}x | flat |",
            empty / full
        );
    });
}

async fn open(folder: &Path) -> World {
    let templates = folder.join("templates");
    fs::create_dir_all(&templates).unwrap();
    let steps = |count: usize| -> String {
        (0..count)
            .map(|at| format!("  - {{id: s{at}, tool: shelf.read}}\n"))
            .collect()
    };
    let head = |id: &str| format!("id: {id}\nversion: 1.0.0\nname: {id}\nsteps:\n");
    fs::write(templates.join("ten.yaml"), head("ten") + &steps(10)).unwrap();
    fs::write(templates.join("one.yaml"), head("one") + &steps(1)).unwrap();
    let large = "  - id: large\n    tool: shelf.large\n    artifacts: [{name: large, content: '{{ data.text }}'}]\n";
    fs::write(templates.join("large.yaml"), head("large") + large).unwrap();
    let settings = tollgate_store::Settings::new(folder.join("state"));
    let store = Arc::new(SqliteStore::open(settings, Arc::new(SystemClock)).unwrap());
    let answer = |value: Value| Ok(Answer::Done(ToolResult::ok(Payload::from(value))));
    let fake = FakeProvider::new("shelf")
        .tool(spec::read("shelf.read").unwrap(), move |_, _| {
            Box::pin(async move { answer(json!({"n": 1})) })
        })
        .tool(spec::read("shelf.large").unwrap(), move |_, _| {
            Box::pin(async move { answer(json!({"text": "word ".repeat(PIECE / 5 + 1)})) })
        });
    let settings = Settings {
        concurrent: 64,
        ..Settings::default()
    };
    let blobs = Arc::new(FolderBlobs::new(folder.join("artifacts")));
    let runs = Runs::new(Library::new(&[], vec![templates]), settings, blobs);
    let providers: Vec<Arc<dyn Provider>> = vec![Arc::new(fake), runs.provider()];
    let parts = Parts {
        approval_key: Secret::new([7; 32]),
        ..Parts::new(
            Arc::clone(&store) as Arc<dyn Store>,
            Catalog::collect(providers, &Selection::default()).await,
            Policies::compile(vec![Source::shipped()]).unwrap(),
            Arc::new(SystemClock),
        )
    };
    let gateway = Gateway::new(parts);
    runs.attach(&gateway);
    World {
        gateway,
        _runs: runs,
        store,
        caller: Caller::local(Principal::user(1000), "bench", Surface::Jsonl),
    }
}

async fn call(world: &World, tool: &str, arguments: Value) -> Value {
    let request = Request::new(tool, Payload::from(arguments));
    let outcome: Outcome = world.gateway.call(&world.caller, request).await;
    let envelope = outcome.envelope.get();
    assert!(envelope.ok, "{:?}", envelope.error);
    envelope.data.as_ref().unwrap().value().clone()
}

/// A run of ten steps, from its call to its result.
async fn ten_steps(world: &World) {
    let run = || call(world, "run_task_template", json!({"templateId": "ten"}));
    run().await;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        const RUNS: u32 = 50;
        let (cpu, wall) = (cpu_time(), Instant::now());
        for _ in 0..RUNS {
            run().await;
        }
        let wall = wall.elapsed().as_secs_f64() * 1000.0 / f64::from(RUNS);
        rounds.push((
            (cpu_time() - cpu).as_secs_f64() * 1000.0 / f64::from(RUNS),
            wall,
        ));
    }
    let cpu = middle(rounds.iter().map(|round| round.0).collect());
    let wall = middle(rounds.iter().map(|round| round.1).collect());
    println!("| a run of 10 steps that read, CPU ms | {cpu} | <= 5 |");
    println!("| the same, wall ms, transitions synced | {wall} | printed beside |");
}

async fn artifact(world: &World) {
    let run = call(world, "run_task_template", json!({"templateId": "large"})).await;
    let all = run["artifacts"].as_array().unwrap();
    let large = all.iter().find(|it| it["name"] == "large").unwrap();
    let args = json!({"artifactId": large["artifactId"], "limit": PIECE});
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        const READS: u32 = 100;
        let wall = Instant::now();
        for _ in 0..READS {
            let piece = call(world, "get_artifact", args.clone()).await;
            assert_eq!(piece["bytesReturned"], PIECE);
        }
        rounds.push(wall.elapsed().as_secs_f64() * 1000.0 / f64::from(READS));
    }
    println!(
        "| `get_artifact` of 256 KiB, wall ms | {} | <= 2 |",
        middle(rounds)
    );
}

/// Queues a thousand runs and waits until all are over; runs a second.
async fn drained(world: &World, beside: &str) -> f64 {
    let args = json!({"templateId": "one", "options": {"mode": "async"}});
    let mut rounds = Vec::new();
    for _ in 0..3 {
        let wall = Instant::now();
        for _ in 0..QUEUED / 50 {
            let starting = (0..50).map(|_| {
                let (gateway, caller) = (world.gateway.clone(), world.caller.clone());
                let request = Request::new("run_task_template", Payload::from(args.clone()));
                tokio::spawn(async move { gateway.call(&caller, request).await })
            });
            for started in starting.collect::<Vec<_>>() {
                assert!(started.await.unwrap().envelope.get().ok);
            }
        }
        while world.store.open_runs().await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        rounds.push(QUEUED as f64 / wall.elapsed().as_secs_f64());
    }
    let mut sorted = rounds.clone();
    sorted.sort_by(f64::total_cmp);
    println!(
        "| {QUEUED} async runs at 64 at once, beside {beside}, runs a second | {} | >= 150 |",
        middle(rounds)
    );
    sorted[sorted.len() / 2]
}

/// Runs that are over, as they are kept.
async fn fill(world: &World) {
    // So young that nobody forgets them meanwhile.
    let now = SystemClock.now();
    for batch in 0..OVER / 1000 {
        let rows = (0..1000).map(|at| {
            Change::Run(RunChange::Open(Box::new(RunRow {
                id: format!("run_old_{batch}_{at}"),
                session: SessionKey::new(Principal::user(1000), "bench"),
                template: "one".to_owned(),
                status: "succeeded".to_owned(),
                is_over: true,
                created: now,
                updated: now,
                owner: None,
                fence: 1,
                is_canceled: false,
                is_resting: false,
                record: vec![b' '; 600],
                sealed: None,
            })))
        });
        let batch = Batch {
            changes: rows.collect(),
            ..Batch::default()
        };
        world.store.commit(batch).await.unwrap();
    }
}

/// The median, and the range that is the noise.
fn middle(mut all: Vec<f64>) -> String {
    all.sort_by(f64::total_cmp);
    let (first, last) = (all[0], all[all.len() - 1]);
    format!("{:.2} ({first:.2} to {last:.2})", all[all.len() / 2])
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
