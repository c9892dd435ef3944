//! What a process that takes a run over finds, counts, repeats and cleans up.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_core::{Annotations, Clock as _, HeldClock, Timestamp, ToolSpec};

use super::{
    Shop, agreed, answers,
    crash::{in_a_process_that_dies, opened},
    data, over, seen, started,
};
use crate::support::{Setup, World, error, said, spec_read, spec_write, waits};

const HANG: &str =
    "id: hang\nversion: 1.0.0\nname: Hang\nsteps:\n  - {id: hang, tool: shelf.hang}\n";

#[test]
fn more_runs_of_the_dead_than_may_be_driven_all_end() {
    let folder = TempDir::new().unwrap();
    let ids = in_a_process_that_dies(async {
        let shop = Shop::new(&[HANG], |settings| settings.concurrent = 4);
        let world = Setup::new()
            .store(opened(folder.path()))
            .tool(spec_read("shelf.hang"), |_, _| std::future::pending())
            .runs(&shop.runs)
            .build()
            .await;
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(started(&world, "hang", json!({})).await);
        }
        world.until_seen(4).await;
        ids
    });
    in_a_process_that_dies(async {
        let shop = Shop::new(&[HANG], |settings| settings.concurrent = 1);
        let world = Setup::new()
            .store(opened(folder.path()))
            .tool(spec_read("shelf.hang"), |_, _| answers(json!({})))
            .runs(&shop.runs)
            .build()
            .await;
        for id in &ids {
            assert_eq!(over(&world, id).await["status"], "succeeded");
        }
    });
}

const EFFECT: &str = "id: effect\nversion: 1.0.0\nname: Effect\nsteps:\n  - {id: put, tool: shelf.put, args: {v: 1}}\n";

/// An effect that can be repeated without harm.
fn spec_put() -> ToolSpec {
    let spec = spec_write("shelf.put");
    ToolSpec {
        annotations: Annotations {
            idempotent: true,
            ..spec.annotations
        },
        ..spec
    }
}

/// A process that drives the run until `put` hangs, and dies; the first one starts it.
fn dies_in_put(folder: &Path, id: Option<String>) -> String {
    in_a_process_that_dies(async {
        let shop = Shop::new(&[EFFECT], |_| {});
        let world = Setup::new()
            .store(opened(folder))
            .tool(spec_put(), |_, _| std::future::pending())
            .runs(&shop.runs)
            .build()
            .await;
        let id = match id {
            Some(id) => {
                seen(&world, &id).await;
                id
            }
            None => {
                let args = r#"{"templateId":"effect","options":{"mode":"async"}}"#;
                let queued = agreed(&world, args).await;
                assert_eq!(said(&queued), "ok");
                data(&queued)["runId"].as_str().unwrap().to_owned()
            }
        };
        world.until_seen(1).await;
        id
    })
}

fn put_answers(folder: &Path, id: &str) -> (Value, usize) {
    in_a_process_that_dies(async {
        let shop = Shop::new(&[EFFECT], |_| {});
        let world = Setup::new()
            .store(opened(folder))
            .tool(spec_put(), |_, _| answers(json!({"put": true})))
            .runs(&shop.runs)
            .build()
            .await;
        (over(&world, id).await, world.fake.count())
    })
}

#[test]
fn an_effect_that_does_no_harm_twice_is_repeated() {
    let folder = TempDir::new().unwrap();
    let mut id = dies_in_put(folder.path(), None);
    id = dies_in_put(folder.path(), Some(id));
    let (run, calls) = put_answers(folder.path(), &id);
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!(run["result"]["put"], json!({"put": true}));
    assert_eq!(run["steps"][0]["attempts"], 1, "it is the same attempt");
    assert_eq!(calls, 1);
}

#[test]
fn an_effect_that_kills_whoever_makes_it_is_not_repeated_for_ever() {
    let folder = TempDir::new().unwrap();
    let mut id = dies_in_put(folder.path(), None);
    for _ in 0..3 {
        id = dies_in_put(folder.path(), Some(id));
    }
    let (run, calls) = put_answers(folder.path(), &id);
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(
        run["error"]["details"]["code"],
        "tool.gate.record.interrupted"
    );
    assert_eq!(calls, 0);
}

const SINGLE: &str = "id: timed\nversion: 1.0.0\nname: Timed\nsteps:\n  - {id: work, tool: shelf.work}\n  - {id: hang, tool: shelf.hang}\n";
const EACH: &str = "id: timed\nversion: 1.0.0\nname: Timed\nsteps:\n  - id: item\n    for_each: inputs.items\n    steps:\n      - {id: work, tool: shelf.work}\n      - {id: hang, tool: shelf.hang}\n";

/// A hundred seconds of work, then a crash, then a day in which nobody drives the run.
fn timed(template: &str, timeout_ms: u64, is_answered: bool) -> Value {
    let folder = TempDir::new().unwrap();
    let clock = Arc::new(HeldClock::new(Timestamp(1_800_000_000_000)));
    let setup = |shop: &Shop| {
        let watch = Arc::clone(&clock);
        Setup::new()
            .store(opened(folder.path()))
            .clock(&clock)
            .runs(&shop.runs)
            .tool(spec_read("shelf.work"), move |_, _| {
                watch.set(watch.now().plus(Duration::from_secs(100)));
                answers(json!({}))
            })
    };
    let id = in_a_process_that_dies(async {
        let shop = Shop::new(&[template], |_| {});
        let world = setup(&shop)
            .tool(spec_read("shelf.hang"), |_, _| std::future::pending())
            .build()
            .await;
        let args = json!({
            "templateId": "timed",
            "inputs": {"items": [1]},
            "options": {"mode": "async", "timeoutMs": timeout_ms},
        });
        let queued = world.call("run_task_template", &args.to_string()).await;
        world.until_seen(2).await;
        data(&queued)["runId"].as_str().unwrap().to_owned()
    });
    clock.set(clock.now().plus(Duration::from_secs(24 * 3600)));
    in_a_process_that_dies(async {
        let shop = Shop::new(&[template], |_| {});
        let door = Arc::new(tokio::sync::Semaphore::new(usize::from(is_answered)));
        let world = setup(&shop)
            .tool(spec_read("shelf.hang"), waits(&door, json!({})))
            .build()
            .await;
        over(&world, &id).await
    })
}

#[test]
fn only_the_time_in_which_somebody_drives_a_run_is_its_own() {
    for template in [SINGLE, EACH] {
        let run = timed(template, 150_000, true);
        assert_eq!(run["status"], "succeeded", "{run}");
        assert_eq!(run["metrics"]["elapsedMs"], 100_000, "{run}");
        // What it had spent before the crash is gone all the same.
        let late = timed(template, 90_000, false);
        assert_eq!(late["status"], "failed", "{late}");
        assert_eq!(late["error"]["errorCode"], "RUN_TIMEOUT", "{late}");
    }
}

#[tokio::test]
async fn a_run_tells_its_time_and_its_last_change_while_it_goes_on() {
    let shop = Shop::new(&[SINGLE], |_| {});
    let clock = Arc::new(HeldClock::new(Timestamp(1_800_000_000_000)));
    let watch = Arc::clone(&clock);
    let world = Setup::new()
        .clock(&clock)
        .tool(spec_read("shelf.work"), move |_, _| {
            watch.set(watch.now().plus(Duration::from_secs(7)));
            answers(json!({}))
        })
        .tool(spec_read("shelf.hang"), |_, _| std::future::pending())
        .runs(&shop.runs)
        .build()
        .await;
    let id = started(&world, "timed", json!({})).await;
    world.until_seen(2).await;
    world.later(Duration::from_secs(5));
    let run = seen(&world, &id).await;
    assert_eq!(run["metrics"]["elapsedMs"], 12_000, "{run}");
    assert_eq!(run["createdAt"], 1_800_000_000_000_i64);
    assert_eq!(run["updatedAt"], 1_800_000_007_000_i64, "{run}");
    let listed = data(&world.call("list_task_runs", "{}").await);
    assert_eq!(listed["runs"][0]["updatedAt"], 1_800_000_007_000_i64);
}

const PAGES: &str = "id: pages\nversion: 1.0.0\nname: Pages\nsupportsPartialSuccess: true\nsteps:\n  - id: page\n    for_each: inputs.items\n    steps:\n      - id: open\n        tool: shelf.open\n        args: {n: '{{ item }}'}\n        artifacts: [{name: page, content: '{{ data.n }}'}]\n      - {id: read, tool: shelf.look, args: {n: '{{ item }}'}}\n      - {id: close, tool: shelf.close, args: {n: '{{ item }}'}, always: true}\n";

/// `open` and `read` of the second item hang where they are told to.
fn pages(
    folder: &Path,
    shop: &Shop,
    hangs: Option<&'static str>,
    closed: &Arc<AtomicUsize>,
) -> Setup {
    let hang = move |name: &'static str| {
        move |call: tollgate_core::ToolCall, _: tollgate_core::CallContext| async move {
            let n = call.arguments.value()["n"].clone();
            if hangs == Some(name) && n == json!(2) {
                std::future::pending::<()>().await;
            }
            answers(json!({"n": n})).await
        }
    };
    let closed = Arc::clone(closed);
    Setup::new()
        .store(opened(folder))
        .tool(spec_read("shelf.open"), hang("open"))
        .tool(spec_read("shelf.look"), hang("read"))
        .tool(spec_read("shelf.close"), move |_, _| {
            closed.fetch_add(1, Ordering::SeqCst);
            answers(json!({}))
        })
        .runs(&shop.runs)
}

async fn cancel(world: &World, id: &str) {
    let args = json!({"runId": id}).to_string();
    let answer = data(&world.call("cancel_task_run", &args).await);
    assert_eq!(answer["cancelRequested"], true);
}

#[test]
fn a_cancelled_run_whose_process_died_keeps_what_it_has_and_cleans_up() {
    for (hangs, calls) in [("read", 5), ("open", 4)] {
        let folder = TempDir::new().unwrap();
        let closed = Arc::new(AtomicUsize::new(0));
        let id = in_a_process_that_dies(async {
            let shop = Shop::new(&[PAGES], |_| {});
            let world = pages(folder.path(), &shop, Some(hangs), &closed)
                .build()
                .await;
            let id = started(&world, "pages", json!({"items": [1, 2, 3]})).await;
            world.until_seen(calls).await;
            cancel(&world, &id).await;
            id
        });
        assert_eq!(closed.load(Ordering::SeqCst), 1, "only the first was read");
        in_a_process_that_dies(async {
            let shop = Shop::new(&[PAGES], |_| {});
            let world = pages(folder.path(), &shop, None, &closed).build().await;
            let run = over(&world, &id).await;
            assert_eq!(run["status"], "canceled", "{run}");
            let items = &run["result"]["items"];
            assert_eq!(items[0]["success"], true, "{hangs}: {run}");
            assert_eq!(items[0]["open"], json!({"n": 1}));
            assert_eq!(items[1]["success"], false);
            let code = &items[1]["error"]["details"]["code"];
            assert_eq!(code, "tool.gate.record.interrupted", "{run}");
            assert_eq!(items[2]["skipped"], true, "{run}");
            assert!(items[2]["error"].is_null(), "{run}");
            let summary = json!({"total": items.as_array().unwrap().len(), "succeeded": 1, "failed": 1, "skipped": 1});
            assert_eq!(run["result"]["summary"], summary, "{run}");
            let kept = run["artifacts"].as_array().unwrap().len();
            assert_eq!(kept, if hangs == "read" { 2 } else { 1 }, "{run}");
            assert_eq!(closed.load(Ordering::SeqCst), 2, "what was begun is closed");
            assert_eq!(world.fake.count(), 1, "and nothing else is called");
        });
    }
}

#[test]
fn a_cancelled_call_that_a_crash_cut_short_says_so() {
    let folder = TempDir::new().unwrap();
    let setup = |shop: &Shop| {
        Setup::new()
            .store(opened(folder.path()))
            .tool(spec_read("shelf.hang"), |_, _| std::future::pending())
            .runs(&shop.runs)
    };
    let id = in_a_process_that_dies(async {
        let shop = Shop::new(&[HANG], |_| {});
        let world = setup(&shop).build().await;
        let id = started(&world, "hang", json!({})).await;
        world.until_seen(1).await;
        cancel(&world, &id).await;
        id
    });
    in_a_process_that_dies(async {
        let shop = Shop::new(&[HANG], |_| {});
        let world = setup(&shop).build().await;
        let run = over(&world, &id).await;
        assert_eq!(run["status"], "canceled", "{run}");
        assert_eq!(run["error"]["errorCode"], "RUN_CANCELED");
        assert_eq!(run["steps"][0]["state"], "failed", "{run}");
        assert_eq!(run["steps"][0]["code"], "tool.gate.record.interrupted");
        let gone = json!({"runId": "run_none"}).to_string();
        let gone = world.call("cancel_task_run", &gone).await;
        assert_eq!(error(&gone)["errorCode"], "RUN_NOT_FOUND");
    });
}

const THEN: &str = "id: then\nversion: 1.0.0\nname: Then\nsteps:\n  - {id: wait, tool: shelf.wait}\n  - {id: next, tool: shelf.wait}\n";

#[tokio::test]
async fn another_process_can_call_a_run_off() {
    let folder = TempDir::new().unwrap();
    let door = Arc::new(tokio::sync::Semaphore::new(0));
    let process = async || {
        let shop = Shop::new(&[THEN], |_| {});
        let world = Setup::new()
            .store(opened(folder.path()))
            .tool(spec_read("shelf.wait"), waits(&door, json!({})))
            .runs(&shop.runs)
            .build()
            .await;
        (world, shop)
    };
    let (drives, _shop) = process().await;
    let (other, _other_shop) = process().await;
    let id = started(&drives, "then", json!({})).await;
    drives.until_seen(1).await;
    cancel(&other, &id).await;
    assert_eq!(seen(&other, &id).await["status"], "running");
    door.add_permits(2);
    let run = over(&other, &id).await;
    assert_eq!(run["status"], "canceled", "{run}");
    assert_eq!(run["steps"][1]["state"], "skipped", "{run}");
    assert_eq!((drives.fake.count(), other.fake.count()), (1, 0));
}
