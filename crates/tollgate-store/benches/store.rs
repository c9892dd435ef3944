//! What a commit costs: alone and together, in an empty log and a long one, and
//! when eight processes want to write at once. Prints figures, asserts nothing.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench reports by printing and fails by panicking"
)]

use std::{
    path::Path,
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tollgate_core::{
    CallId, Clock as _, Principal, SessionKey, Store, SystemClock,
    audit::AuditEntry,
    store::{
        AuditLog as _, Batch, Body, Cache as _, CacheKey, Change, Durability, Session,
        Sessions as _,
    },
};
use tollgate_store::{Settings, SqliteStore};

/// How long the log is in the long case.
const LONG: u64 = 1_000_000;
/// How long eight processes write.
const RUSH: Duration = Duration::from_secs(4);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--rush") {
        return rush_child(Path::new(&arguments[at + 1]), arguments[at + 2] == "disk");
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let directory = tempfile::tempdir_in(".").unwrap();
    let state = directory.path().join("long");
    println!("one command: {}", one_command(&runtime, directory.path()));
    println!(
        "{:<22}{:>12}{:>12}{:>14}",
        "commit", "per second", "µs of CPU", "CPU at 1 M"
    );
    let cases = [
        ("process, 1 caller", Durability::Process, 1, 20_000),
        ("process, 32 callers", Durability::Process, 32, 100_000),
        ("disk, 1 caller", Durability::Disk, 1, 500),
        ("disk, 32 callers", Durability::Disk, 32, 5_000),
    ];
    let empty: Vec<_> = cases
        .iter()
        .map(|&(_, durability, callers, commits)| {
            let directory = tempfile::tempdir_in(".").unwrap();
            let store = open(directory.path());
            runtime.block_on(commit_many(store, durability, callers, commits))
        })
        .collect();
    let filled = Instant::now();
    runtime.block_on(fill(&state));
    let filled = filled.elapsed();
    let store = open(&state);
    for (&(name, durability, callers, commits), empty) in cases.iter().zip(empty) {
        let long = runtime.block_on(commit_many(
            Arc::clone(&store),
            durability,
            callers,
            commits,
        ));
        println!(
            "{name:<22}{:>12.0}{:>12.1}{:>8.1} ({:.2}x)",
            empty.per_second,
            empty.cpu,
            long.cpu,
            long.cpu / empty.cpu
        );
    }
    let checked = Instant::now();
    let found = runtime.block_on(store.verify()).unwrap();
    println!(
        "verify: {} rows in {:.1?}, {} problems; filled in {filled:.1?}",
        found.rows,
        checked.elapsed(),
        found.problems.len()
    );
    println!("{}", runtime.block_on(look_ups(&store)));
    drop(store);
    rush(&directory.path().join("rush-process"), "process");
    rush(&directory.path().join("rush-disk"), "disk");
}

struct Figures {
    per_second: f64,
    cpu: f64,
}

/// The better of two runs: the first still pays for what came before it.
async fn commit_many(
    store: Arc<SqliteStore>,
    durability: Durability,
    callers: u64,
    commits: u64,
) -> Figures {
    let first = commit_once(Arc::clone(&store), durability, callers, commits).await;
    let second = commit_once(store, durability, callers, commits).await;
    if first.cpu < second.cpu {
        first
    } else {
        second
    }
}

async fn commit_once(
    store: Arc<SqliteStore>,
    durability: Durability,
    callers: u64,
    commits: u64,
) -> Figures {
    let each = commits / callers;
    // Made in the order in which they will be committed, like ids made on the way.
    let mut batches: Vec<Vec<Batch>> = (0..callers).map(|_| Vec::new()).collect();
    for number in 0..each {
        for (caller, batches) in (0..).zip(&mut batches) {
            batches.push(batch(number * callers + caller, durability));
        }
    }
    batches.iter_mut().for_each(|batches| batches.reverse());
    let (began, cpu) = (Instant::now(), cpu_time());
    let tasks: Vec<_> = batches
        .drain(..)
        .map(|mut batches| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                while let Some(batch) = batches.pop() {
                    store.commit(batch).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let count = (each * callers) as f64;
    Figures {
        per_second: count / began.elapsed().as_secs_f64(),
        cpu: (cpu_time() - cpu).as_secs_f64() * 1e6 / count,
    }
}

/// One entry of the usual size, and a body for replay.
fn batch(number: u64, durability: Durability) -> Batch {
    let call = format!("{:012x}{:020x}", SystemClock.now().0, scatter(number));
    Batch {
        changes: vec![Change::KeepBody(Body {
            call: CallId(call.as_str().into()),
            arguments: Some("{\"text\":\"hello\"}".to_owned()),
            data: Some("{\"characters\":5,\"words\":1,\"lines\":1}".to_owned()),
        })],
        audit: vec![entry(number, &call)],
        durability,
    }
}

fn entry(number: u64, call: &str) -> AuditEntry {
    let body = json!({
        "at": SystemClock.now().0,
        "kind": "ending",
        "call_id": call,
        "trace_id": format!("{:032x}", u128::from(scatter(number)) << 64 | u128::from(number)),
        "principal": "user:1000",
        "session": "default",
        "tool": "text.stats",
        "status": "ok",
        "provider": "builtin",
        "capability": "L0",
        "consent": "none",
        "verdict": "allow",
        "rule": "read-only tools are allowed",
        "cache": "miss",
        "units": 0,
        "duration_us": 41,
        "arguments_preview": "{\"text\":\"hello\"}",
        "result_preview": "{\"characters\":5,\"words\":1,\"lines\":1}",
        "arguments_digest": "6f25fe463674001668f4a5df6f25fe463674001668f4a5df6f25fe463674001668",
        "output_fingerprint": "4001668f4a5df6f25fe463674001668f4a5df6f25fe463674001668f4a5df6f2",
    });
    AuditEntry::new(body.to_string())
}

/// Spreads numbers like random ids.
fn scatter(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
}

async fn fill(state: &Path) {
    let store = open(state);
    let mut number = 0;
    while number < LONG {
        let audit = (number..number + 500)
            .map(|number| {
                let call = format!("{:012x}{:020x}", SystemClock.now().0, scatter(number));
                entry(number, &call)
            })
            .collect();
        let batch = Batch {
            audit,
            ..Batch::default()
        };
        store.commit(batch).await.unwrap();
        number += 500;
    }
    store.close().await;
}

/// What a short command pays: open, commit once, close.
fn one_command(runtime: &tokio::runtime::Runtime, directory: &Path) -> String {
    let state = directory.join("command");
    let mut times: Vec<_> = (0..20)
        .map(|number| {
            let began = Instant::now();
            let store = open(&state);
            let opened = began.elapsed();
            let commit = store.commit(batch(number, Durability::Process));
            runtime.block_on(commit).unwrap();
            let committed = began.elapsed();
            drop(store);
            (began.elapsed(), committed, opened)
        })
        .collect();
    let first = times.remove(0);
    times.sort_unstable();
    let (closed, committed, opened) = times[times.len() / 2];
    format!(
        "opened after {opened:.1?}, committed after {committed:.1?}, closed after {closed:.1?} \
         (the first ever: {:.1?})",
        first.0
    )
}

/// What the path reads before a call.
async fn look_ups(store: &SqliteStore) -> String {
    const COUNT: u32 = 20_000;
    let session = SessionKey::new(Principal::user(1000), "default");
    let opened = Batch {
        changes: vec![Change::OpenSession(Session::new(
            session.clone(),
            SystemClock.now(),
        ))],
        ..Batch::default()
    };
    store.commit(opened).await.unwrap();
    let key = CacheKey {
        session: session.clone(),
        key: "text.stats:6f25fe463674001668f4a5df".to_owned(),
        binding: "6f25fe463674001668f4a5df6f25fe463674001668f4a5df".to_owned(),
    };
    let cpu = cpu_time();
    for _ in 0..COUNT {
        store.session(&session).await.unwrap();
    }
    let sessions = (cpu_time() - cpu) / COUNT;
    let cpu = cpu_time();
    for _ in 0..COUNT {
        store.peek(&key, SystemClock.now()).await.unwrap();
    }
    let peeks = (cpu_time() - cpu) / COUNT;
    format!("look up a session: {sessions:.1?}; see that an answer is not cached: {peeks:.1?}")
}

/// Eight processes that write all the time.
fn rush(state: &Path, durability: &str) {
    drop(open(state));
    let children: Vec<Child> = (0..8)
        .map(|_| {
            #[expect(
                clippy::disallowed_methods,
                reason = "the bench starts itself; it is no tool"
            )]
            std::process::Command::new(std::env::current_exe().unwrap())
                .arg("--rush")
                .arg(state)
                .arg(durability)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let (mut total, mut worst, mut least) = (0, 0, u64::MAX);
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (count, wait) = text.trim().split_once(' ').unwrap();
        let count: u64 = count.parse().unwrap();
        total += count;
        least = least.min(count);
        worst = worst.max(wait.parse::<u64>().unwrap());
    }
    println!(
        "eight processes, {durability}: {:.0} a second, the slowest process {:.0}, the worst wait {} ms",
        total as f64 / RUSH.as_secs_f64(),
        least as f64 / RUSH.as_secs_f64(),
        worst / 1000
    );
}

fn rush_child(state: &Path, disk: bool) {
    let durability = if disk {
        Durability::Disk
    } else {
        Durability::Process
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = open(state);
    let tally = Arc::new(Mutex::new((0_u64, Duration::ZERO)));
    let until = Instant::now() + RUSH;
    let tasks: Vec<_> = (0..32_u64)
        .map(|caller| {
            let (store, tally) = (Arc::clone(&store), Arc::clone(&tally));
            runtime.spawn(async move {
                let mut number = (u64::from(std::process::id()) << 40) + (caller << 32);
                while Instant::now() < until {
                    number += 1;
                    let batch = batch(number, durability);
                    let asked = Instant::now();
                    store.commit(batch).await.unwrap();
                    let mut tally = tally.lock().unwrap();
                    tally.0 += 1;
                    tally.1 = tally.1.max(asked.elapsed());
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    let (count, worst) = *tally.lock().unwrap();
    println!("{count} {}", worst.as_micros());
}

fn open(state: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(Settings::new(state), Arc::new(SystemClock)).unwrap())
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
