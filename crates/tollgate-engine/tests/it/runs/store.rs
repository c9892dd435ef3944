//! A store that fails under a run: the run ends all the same, and nobody is told otherwise.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tollgate_core::{StoreError, store::RunRow};
use tollgate_engine::Stage;
use tollgate_testkit::MemoryStore;

use super::{
    Shop, answers,
    crash::{in_a_process_that_dies, opened},
    data, over, started,
};
use crate::support::{At, Setup, World, body, said, spec_read};

const HOLD: &str =
    "id: hold\nversion: 1.0.0\nname: Hold\nsteps:\n  - {id: hold, tool: shelf.hold}\n";
const LARGE: &str = "id: large\nversion: 1.0.0\nname: Large\nsteps:\n  - {id: read, tool: shelf.read}\n  - {id: hold, tool: shelf.hold, after: [read]}\nresult: {text: '{{ steps.read.data.text }}'}\n";

/// One run whose only step waits for `door`, on a store that does what the test says.
struct Scene {
    world: World,
    shop: Shop,
    store: Arc<MemoryStore>,
    door: Arc<Semaphore>,
    /// Whether the next intent is followed by a store that cannot write.
    is_armed: Arc<AtomicBool>,
    run: String,
}

impl Scene {
    async fn new() -> Self {
        let shop = Shop::new(&[HOLD], |_| {});
        let store = Arc::new(MemoryStore::new());
        let door = Arc::new(Semaphore::new(0));
        let inside = Arc::clone(&door);
        let is_armed = Arc::new(AtomicBool::new(false));
        let (broken, armed) = (Arc::clone(&store), Arc::clone(&is_armed));
        let world = Setup::new()
            .store(Arc::clone(&store) as Arc<_>)
            .tool(spec_read("shelf.hold"), move |_, _| {
                let door = Arc::clone(&inside);
                async move {
                    door.acquire().await.unwrap().forget();
                    answers(json!({})).await
                }
            })
            .probe(At::stage(Stage::Intent, move || {
                if armed.swap(false, Ordering::SeqCst) {
                    broken.fail_next(StoreError::ReadOnly);
                }
            }))
            .runs(&shop.runs)
            .build()
            .await;
        let run = started(&world, "hold", json!({})).await;
        world.until_seen(1).await;
        Self {
            world,
            shop,
            store,
            door,
            is_armed,
            run,
        }
    }

    /// The run once it is over; asking for it writes nothing.
    async fn over(&self) -> RunRow {
        let store = self.world.gateway.store();
        let waiting = async {
            loop {
                let row = store.run(&self.run).await.unwrap().unwrap();
                if row.is_over {
                    return row;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let most = Duration::from_secs(20);
        tokio::time::timeout(most, waiting).await.expect("it ends")
    }
}

#[tokio::test]
async fn a_run_whose_ending_the_store_refuses_ends_when_it_can_write_again() {
    let scene = Scene::new().await;
    // The ending of the call, what the run came to, that it failed, and that once more.
    for _ in 0..4 {
        scene.store.fail_next(StoreError::ReadOnly);
    }
    scene.door.add_permits(1);
    assert_eq!(scene.over().await.status, "failed");
    scene.shop.runs.settle().await;
}

#[tokio::test]
async fn a_run_that_is_given_up_ends_its_conversation_too() {
    let scene = Scene::new().await;
    for _ in 0..2 {
        scene.store.fail_next(StoreError::ReadOnly);
    }
    scene.door.add_permits(1);
    scene.over().await;
    assert_eq!(scene.world.fake.left().len(), 1);
}

#[tokio::test]
async fn a_wish_to_stop_that_cannot_be_kept_is_no_answer_but_an_error() {
    let scene = Scene::new().await;
    let cancel = json!({"runId": scene.run}).to_string();
    scene.is_armed.store(true, Ordering::SeqCst);
    let refused = scene.world.call("cancel_task_run", &cancel).await;
    assert_eq!(said(&refused), "store_unavailable", "{}", body(&refused));
    let taken = data(&scene.world.call("cancel_task_run", &cancel).await);
    assert_eq!(taken["cancelRequested"], true, "{taken}");
    scene.door.add_permits(1);
    assert_eq!(scene.over().await.status, "canceled");
}

#[tokio::test]
async fn a_store_that_cannot_tell_does_not_say_that_nothing_is_left() {
    let scene = Scene::new().await;
    scene.door.add_permits(1);
    scene.over().await;
    while !scene.shop.runs.is_idle().await {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    scene.store.fail_next_run(StoreError::Busy);
    assert!(!scene.shop.runs.is_idle().await);
    assert!(scene.shop.runs.is_idle().await);
}

#[test]
fn a_run_whose_large_result_is_lost_fails_and_says_so() {
    let folder = TempDir::new().unwrap();
    let shop = || Shop::new(&[LARGE], |settings| settings.spill_bytes = 100);
    let read = |_, _| answers(json!({"text": "x".repeat(500)}));
    let id = in_a_process_that_dies(async {
        let shop = shop();
        let world = Setup::new()
            .store(opened(folder.path()))
            .tool(spec_read("shelf.read"), read)
            .tool(spec_read("shelf.hold"), |_, _| std::future::pending())
            .runs(&shop.runs)
            .build()
            .await;
        let id = started(&world, "large", json!({})).await;
        world.until_seen(2).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        id
    });
    // Contents are kept in memory here, so they are gone with the process.
    in_a_process_that_dies(async {
        let shop = shop();
        let world = Setup::new()
            .store(opened(folder.path()))
            .tool(spec_read("shelf.read"), read)
            .tool(spec_read("shelf.hold"), |_, _| answers(json!({})))
            .runs(&shop.runs)
            .build()
            .await;
        shop.runs.work();
        let run = over(&world, &id).await;
        assert_eq!(run["status"], "failed", "{run}");
        let why = run["error"].to_string();
        assert!(why.contains("step `read`") && why.contains("gone"), "{why}");
        assert_eq!(world.fake.left().len(), 1, "its conversation is over");
        assert_eq!(world.fake.count(), 0);
    });
}
