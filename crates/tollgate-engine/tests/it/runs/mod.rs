//! Runs through the whole door: consent, order, cancelling, artifacts, crashes.

mod again;
mod artifacts;
mod broken;
mod consent;
mod crash;
mod flow;
mod gate;
mod killed;
mod limits;
mod review;
mod rules;
mod store;
mod takeover;
mod waiting;

use std::{fs, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_core::{Answer, Payload, Principal, ProviderError, Surface, ToolResult, TrustLevel};
use tollgate_engine::{
    Caller, Decided, Outcome,
    runs::{Runs, Settings},
};
use tollgate_runs::Library;
use tollgate_testkit::MemoryBlobs;

use crate::support::{World, body};

/// Templates in a folder, and runs of them.
pub(crate) struct Shop {
    pub(crate) folder: TempDir,
    pub(crate) blobs: Arc<MemoryBlobs>,
    pub(crate) runs: Runs,
}

impl Shop {
    pub(crate) fn new(templates: &[&str], change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (at, text) in templates.iter().enumerate() {
            fs::write(folder.path().join(format!("{at}.yaml")), text).unwrap();
        }
        let mut settings = Settings::default();
        change(&mut settings);
        let blobs = Arc::new(MemoryBlobs::default());
        let library = Library::new(&[], vec![folder.path().to_owned()]);
        let runs = Runs::new(library, settings, Arc::clone(&blobs) as Arc<_>);
        Self {
            folder,
            blobs,
            runs,
        }
    }
}

/// Somebody else on this machine.
pub(crate) fn stranger() -> Caller {
    Caller::local(Principal::user(7), "s1", Surface::Jsonl)
}

/// The usual caller, from another machine.
pub(crate) fn remote() -> Caller {
    Caller {
        trust: TrustLevel::Remote,
        ..Caller::local(Principal::user(1000), "s1", Surface::Mcp)
    }
}

/// Answers this.
pub(crate) async fn answers(value: Value) -> Result<Answer, ProviderError> {
    Ok(Answer::Done(ToolResult::ok(Payload::from(value))))
}

/// The data of an answer.
pub(crate) fn data(outcome: &Outcome) -> Value {
    body(outcome)["data"].clone()
}

/// Starts a run and gives its id.
pub(crate) async fn started(world: &World, template: &str, inputs: Value) -> String {
    let args = json!({"templateId": template, "inputs": inputs, "options": {"mode": "async"}});
    let answer = world.call("run_task_template", &args.to_string()).await;
    let data = data(&answer);
    assert_eq!(data["status"], "queued", "{:?}", body(&answer));
    data["runId"].as_str().unwrap().to_owned()
}

/// Makes a call that asks first, and that a human agrees to.
pub(crate) async fn agreed(world: &World, arguments: &str) -> Outcome {
    let asked = world.call("run_task_template", arguments).await;
    world.decide(&asked, Decided::Once).await;
    world.call("run_task_template", arguments).await
}

/// Looks at a run with its steps.
pub(crate) async fn seen(world: &World, id: &str) -> Value {
    let args = json!({"runId": id, "includeSteps": true}).to_string();
    data(&world.call("get_task_run", &args).await)
}

/// Waits until a run is over.
pub(crate) async fn over(world: &World, id: &str) -> Value {
    loop {
        let run = seen(world, id).await;
        let status = run["status"].as_str().unwrap();
        if !matches!(status, "queued" | "running") {
            return run;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
