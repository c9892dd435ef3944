//! Runs whose process is gone: taken over, never twice, never stuck.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tempfile::TempDir;
use tollgate_core::{
    Capability, Clock as _, Cost, Estimate, HeldClock, Raise, Store, SystemClock, Timestamp,
    ToolSpec,
    store::{Batch, Change, RunChange, RunQuery},
};
use tollgate_engine::Decided;
use tollgate_store::SqliteStore;

use super::{Shop, agreed, answers, data, over, started};
use crate::support::{Setup, World, said, spec_read, spec_write};

const TWO: &str = "id: two\nversion: 1.0.0\nname: Two\ninputsSchema: {type: object, properties: {secret: {type: string}}}\nsteps:\n  - {id: one, tool: shelf.read}\n  - {id: hang, tool: shelf.hang, args: {s: '{{ inputs.secret }}'}}\n";

/// The state as one process has it open.
pub(super) fn opened(folder: &Path) -> Arc<dyn Store> {
    let settings = tollgate_store::Settings::new(folder.join("state"));
    Arc::new(SqliteStore::open(settings, Arc::new(SystemClock)).unwrap())
}

/// Does something as a process that is gone afterwards, whatever was under way.
pub(super) fn in_a_process_that_dies<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let made = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::from_secs(10));
    made
}

/// Waits until it is written down that a step has begun, which comes a little after quick ones.
async fn until_kept(world: &World, id: &str, step: &str) {
    loop {
        let steps = world.gateway.store().run_steps(id).await.unwrap();
        if steps.iter().any(|(name, _)| name == step) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[test]
fn a_run_of_a_dead_process_is_taken_over_where_it_was() {
    let folder = TempDir::new().unwrap();
    let reads = Arc::new(AtomicUsize::new(0));
    let setup = |shop: &Shop| {
        let counted = Arc::clone(&reads);
        Setup::new()
            .store(opened(folder.path()))
            .runs(&shop.runs)
            .tool(spec_read("shelf.read"), move |_, _| {
                counted.fetch_add(1, Ordering::SeqCst);
                answers(json!({"n": 1}))
            })
    };
    let id = in_a_process_that_dies(async {
        let shop = Shop::new(&[TWO], |_| {});
        let world = setup(&shop)
            .tool(spec_read("shelf.hang"), |_, _| std::future::pending())
            .build()
            .await;
        let id = started(&world, "two", json!({"secret": "hunter2"})).await;
        world.until_seen(2).await;
        until_kept(&world, &id, "hang").await;
        let row = world.gateway.store().run(&id).await.unwrap().unwrap();
        let kept = [row.record, row.sealed.unwrap()].concat();
        assert!(!String::from_utf8_lossy(&kept).contains("hunter2"));
        id
    });
    in_a_process_that_dies(async {
        let shop = Shop::new(&[TWO], |_| {});
        let world = setup(&shop)
            .tool(spec_read("shelf.hang"), |call, _| {
                answers(json!({"got": call.arguments.value()["s"]}))
            })
            .build()
            .await;
        let run = over(&world, &id).await;
        assert_eq!(run["status"], "succeeded", "{run}");
        assert_eq!(run["result"]["hang"], json!({"got": "hunter2"}));
        assert_eq!(
            reads.load(Ordering::SeqCst),
            1,
            "what had ended is not repeated"
        );
        let store = world.gateway.store();
        let row = store.run(&id).await.unwrap().unwrap();
        assert!(row.sealed.is_none());
        // Whoever was thought dead and is not can change nothing any more.
        let stale = Change::Run(RunChange::Steps {
            id: id.clone(),
            fence: 1,
            steps: vec![("hang".to_owned(), Vec::new())],
            at: SystemClock.now(),
        });
        let batch = Batch {
            changes: vec![stale],
            ..Batch::default()
        };
        assert!(store.commit(batch).await.is_err());
    });
}

#[test]
fn a_clock_that_jumps_between_two_processes_leaves_no_run_behind() {
    let day = 24 * 3600 * 1000;
    for jump in [100 * day, -100 * day] {
        let folder = TempDir::new().unwrap();
        let now = SystemClock.now();
        let setup = |shop: &Shop, clock: &Arc<HeldClock>| {
            Setup::new()
                .store(opened(folder.path()))
                .clock(clock)
                .runs(&shop.runs)
                .tool(spec_read("shelf.read"), |_, _| answers(json!({"n": 1})))
        };
        let id = in_a_process_that_dies(async {
            let shop = Shop::new(&[TWO], |_| {});
            let world = setup(&shop, &Arc::new(HeldClock::new(now)))
                .tool(spec_read("shelf.hang"), |_, _| std::future::pending())
                .build()
                .await;
            let id = started(&world, "two", json!({})).await;
            world.until_seen(2).await;
            id
        });
        in_a_process_that_dies(async {
            let shop = Shop::new(&[TWO], |_| {});
            let later = Arc::new(HeldClock::new(Timestamp(now.0 + jump)));
            let world = setup(&shop, &later)
                .tool(spec_read("shelf.hang"), |_, _| answers(json!({"n": 2})))
                .build()
                .await;
            let run = over(&world, &id).await;
            // What nobody drove it for is none of its time, however long that seems to be.
            assert_eq!(run["status"], "succeeded", "{jump}: {run}");
            assert!(run["metrics"]["elapsedMs"].as_u64().unwrap() < 60_000);
        });
    }
}

const EFFECT: &str = "id: effect\nversion: 1.0.0\nname: Effect\nsteps:\n  - {id: put, tool: shelf.write, args: {v: 1}}\n";

#[test]
fn an_effect_that_may_have_happened_is_not_repeated() {
    let folder = TempDir::new().unwrap();
    let id = in_a_process_that_dies(async {
        let shop = Shop::new(&[EFFECT], |_| {});
        let world = Setup::new()
            .store(opened(folder.path()))
            .tool(spec_write("shelf.write"), |_, _| std::future::pending())
            .runs(&shop.runs)
            .build()
            .await;
        let args = r#"{"templateId":"effect","options":{"mode":"async"}}"#;
        let queued = agreed(&world, args).await;
        assert_eq!(said(&queued), "ok");
        world.until_seen(1).await;
        data(&queued)["runId"].as_str().unwrap().to_owned()
    });
    in_a_process_that_dies(async {
        let shop = Shop::new(&[EFFECT], |_| {});
        let world = Setup::new()
            .store(opened(folder.path()))
            .tool(spec_write("shelf.write"), |_, _| answers(json!({})))
            .runs(&shop.runs)
            .build()
            .await;
        let run = over(&world, &id).await;
        assert_eq!(run["status"], "failed", "{run}");
        assert_eq!(
            run["error"]["details"]["code"],
            "tool.gate.record.interrupted"
        );
        assert_eq!(world.fake.count(), 0);
    });
}

const QUICK: &str = "id: quick\nversion: 1.0.0\nname: Quick\nsteps:\n  - {id: a, tool: shelf.read}\n  - {id: b, tool: shelf.read}\n  - {id: c, tool: shelf.read}\n  - {id: d, tool: shelf.write, args: {out: x}}\n";

/// How many steps are written down when the last one, which changes something, begins.
async fn written_before(changes: ToolSpec) -> usize {
    let folder = TempDir::new().unwrap();
    let store = opened(folder.path());
    let found = Arc::new(AtomicUsize::new(0));
    let shop = Shop::new(&[QUICK], |_| {});
    let (state, counted) = (Arc::clone(&store), Arc::clone(&found));
    let world = Setup::new()
        .store(store)
        .runs(&shop.runs)
        .tool(spec_read("shelf.read"), |_, _| answers(json!({"n": 1})))
        .tool(changes, move |_, _| {
            let (state, counted) = (Arc::clone(&state), Arc::clone(&counted));
            async move {
                let query = RunQuery {
                    limit: 1,
                    ..RunQuery::default()
                };
                let runs = state.runs(&query).await.unwrap();
                let steps = state.run_steps(&runs[0].id).await.unwrap();
                counted.store(steps.len(), Ordering::SeqCst);
                answers(json!({})).await
            }
        })
        .build()
        .await;
    let args = json!({"templateId": "quick", "options": {"mode": "sync"}}).to_string();
    let mut done = world.call("run_task_template", &args).await;
    if data(&done).is_null() {
        world.decide(&done, Decided::Once).await;
        done = world.call("run_task_template", &args).await;
    }
    assert_eq!(data(&done)["status"], "succeeded", "{:?}", data(&done));
    found.load(Ordering::SeqCst)
}

#[tokio::test]
async fn what_quick_steps_came_to_is_written_before_anything_is_changed() {
    assert_eq!(written_before(spec_write("shelf.write")).await, 4);
    // Also what changes something with these arguments only, is paid for, or is out of our hands.
    let raised = ToolSpec {
        raise: Raise::by(Arc::new(|arguments| match arguments.get("out") {
            Some(_) => Capability::L1,
            None => Capability::L0,
        })),
        ..spec_read("shelf.write")
    };
    assert_eq!(written_before(raised).await, 4);
    let paid = ToolSpec {
        cost: Cost::Fixed(Estimate::default()),
        ..spec_read("shelf.write")
    };
    assert_eq!(written_before(paid).await, 4);
    let mut outside = spec_read("shelf.write");
    outside.annotations.open_world = true;
    assert_eq!(written_before(outside).await, 4);
}
