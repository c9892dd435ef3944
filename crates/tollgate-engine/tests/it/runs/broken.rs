//! A gate that crashes on a run itself: the run ends, and others go on.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use tollgate_core::{StoreError, store::Blobs};
use tollgate_engine::runs::{Runs, Settings};
use tollgate_runs::Library;

use super::{Shop, answers, data, over, started};
use crate::support::{Setup, spec_read};

const LEAVES: &str = "id: leaves\nversion: 1.0.0\nname: Leaves\nsteps:\n  - {id: make, tool: shelf.read, artifacts: [{name: n, content: '{{ data.n }}'}]}\n";
const TWICE: &str = "id: twice\nversion: 1.0.0\nname: Twice\nsteps:\n  - {id: a, tool: shelf.read}\n  - {id: b, tool: shelf.read}\n";
const ONCE: &str = "id: once\nversion: 1.0.0\nname: Once\nsteps:\n  - {id: a, tool: shelf.read}\n";

/// A place for contents whose code is wrong.
struct Broken;

#[async_trait]
impl Blobs for Broken {
    async fn put(&self, _: &str, _: Vec<u8>) -> Result<(), StoreError> {
        panic!("a fault of this test");
    }

    async fn part(&self, _: &str, _: u64, _: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }

    async fn remove(&self, _: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

#[tokio::test]
async fn a_run_that_the_gate_crashes_on_ends_and_gives_its_place_back() {
    let shop = Shop::new(&[LEAVES, TWICE, ONCE], |_| {});
    let settings = Settings {
        concurrent: 1,
        inline_bytes: 1000,
        ..Settings::default()
    };
    let library = Library::new(&[], vec![shop.folder.path().to_owned()]);
    let runs = Runs::new(library, settings, Arc::new(Broken));
    let world = Setup::new()
        .runs(&runs)
        .tool(spec_read("shelf.read"), |_, _| {
            answers(json!({"n": "x".repeat(700)}))
        })
        .build()
        .await;
    // While a step leaves something behind.
    let step = over(&world, &started(&world, "leaves", json!({})).await).await;
    assert_eq!(step["status"], "failed", "{step}");
    assert_eq!(step["error"]["details"]["failedStep"], "make", "{step}");
    // While the run itself is brought to its end.
    let whole = over(&world, &started(&world, "twice", json!({})).await).await;
    assert_eq!(whole["status"], "failed", "{whole}");
    assert!(whole["error"].to_string().contains("crashed"), "{whole}");
    let next = world
        .call("run_task_template", r#"{"templateId":"once"}"#)
        .await;
    assert_eq!(data(&next)["status"], "succeeded", "{:?}", data(&next));
}
