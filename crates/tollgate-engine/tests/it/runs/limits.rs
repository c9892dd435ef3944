//! Time, thresholds, room and the words for each ending, through the door.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::sync::Semaphore;
use tollgate_core::{ErrorCode, ProviderError};
use tollgate_engine::runs::Settings;

use super::{Shop, data, gate::Gate, over, seen, started};
use crate::support::{Setup, World, body, deaf, error, request, said, spec_read};

const SLOW: &str = "id: slow\nversion: 1.0.0\nname: Slow\nmaxTimeoutMs: 20000\nsteps:\n  - {id: wait, tool: shelf.wait}\n";
const STEP: &str = "id: step\nversion: 1.0.0\nname: Step\nmaxTimeoutMs: 60000\nsteps:\n  - {id: wait, tool: shelf.wait, timeoutMs: 40}\n";
const EACH: &str = "id: each\nversion: 1.0.0\nname: Each\nsupportsPartialSuccess: true\nmaxConcurrency: 8\nsteps:\n  - {id: item, for_each: inputs.items, concurrency: inputs.at_once, tool: shelf.read, args: {n: '{{ item }}'}}\n";
const MAKES: &str = "id: makes\nversion: 1.0.0\nname: Makes\nsteps:\n  - {id: make, tool: shelf.read, args: {n: 1}, artifacts: [{name: n, content: '{{ data.n }}'}]}\n  - {id: wait, tool: shelf.wait}\n";

const RETRIES: &str = "id: retries\nversion: 1.0.0\nname: Retries\nsteps:\n  - {id: read, tool: shelf.gone, retry: {times: 3, delayMs: 60000}}\n";

async fn gate(change: impl FnOnce(&mut Settings)) -> Gate {
    Gate::new(&[SLOW, STEP, EACH, MAKES], change).await
}

/// How long a run was given before its time was up, by the clock of the runtime.
async fn patience(gate: &Gate, template: &str, wanted: Option<u64>) -> u64 {
    let mut args = json!({"templateId": template, "options": {"mode": "sync"}});
    if let Some(wanted) = wanted {
        args["options"]["timeoutMs"] = wanted.into();
    }
    let began = tokio::time::Instant::now();
    let late = gate
        .world
        .call("run_task_template", &args.to_string())
        .await;
    assert_eq!(error(&late)["errorCode"], "RUN_TIMEOUT", "{}", body(&late));
    u64::try_from(began.elapsed().as_millis()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_least_of_user_template_and_runtime_is_the_time_of_a_run() {
    // Time stands still but for what everybody waits for, so it is exact to the tick.
    for (runtime, wanted, allowed) in [
        (900, Some(5_000), 5_000),
        (900, Some(70_000), 20_000),
        (900, None, 20_000),
        (10, Some(70_000), 10_000),
        (10, None, 10_000),
    ] {
        let gate = gate(|settings| settings.timeout = Duration::from_secs(runtime)).await;
        let took = patience(&gate, "slow", wanted).await;
        let slack = took.checked_sub(allowed);
        assert!(
            slack.is_some_and(|slack| slack < 1000),
            "{took} for {allowed}"
        );
    }
}

/// A gate with a tool that is never there, so that `retries` waits for its next attempt.
async fn retrying() -> (Shop, World) {
    let shop = Shop::new(&[RETRIES], |_| {});
    let world = Setup::new()
        .tool(spec_read("shelf.gone"), |_, _| async {
            Err(ProviderError::new(ErrorCode::Unavailable, "gone"))
        })
        .runs(&shop.runs)
        .build()
        .await;
    (shop, world)
}

#[tokio::test(start_paused = true)]
async fn time_is_up_also_for_a_step_that_waits_to_be_tried_again() {
    let (_shop, world) = retrying().await;
    let began = tokio::time::Instant::now();
    let args = r#"{"templateId":"retries","options":{"mode":"sync","timeoutMs":1000}}"#;
    let late = error(&world.call("run_task_template", args).await);
    assert_eq!(late["errorCode"], "RUN_TIMEOUT", "{late}");
    assert!(began.elapsed() < Duration::from_secs(2), "{began:?}");
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_waits_to_be_tried_again_is_called_off_at_once() {
    let (_shop, world) = retrying().await;
    let id = started(&world, "retries", json!({})).await;
    world.until_seen(1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = tokio::time::Instant::now();
    let cancel = json!({"runId": id}).to_string();
    world.call("cancel_task_run", &cancel).await;
    let run = over(&world, &id).await;
    assert_eq!(run["status"], "canceled", "{run}");
    assert_eq!(run["steps"][0]["state"], "failed", "{run}");
    assert_eq!(
        run["steps"][0]["code"], "tool.provider.run.unavailable",
        "{run}"
    );
    assert!(began.elapsed() < Duration::from_secs(1), "{began:?}");
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_takes_longer_than_it_may_fails_with_timeout() {
    let gate = gate(|_| {}).await;
    let args = r#"{"templateId":"step"}"#;
    let failed = error(&gate.world.call("run_task_template", args).await);
    assert_eq!(failed["errorCode"], "STEP_EXECUTION_FAILED", "{failed}");
    assert_eq!(failed["details"]["failedStep"], "wait");
    assert_eq!(failed["details"]["stepErrorCode"], "EXECUTION_ERROR");
    assert_eq!(failed["details"]["code"], "tool.gate.invoke.timed_out");
}

#[tokio::test]
async fn whoever_waits_for_a_cancelled_run_is_told_so() {
    let gate = gate(|_| {}).await;
    let args = r#"{"templateId":"slow","options":{"mode":"sync"}}"#;
    let waiting = gate.world.start(request("run_task_template", args));
    gate.world.until_seen(1).await;
    let listed = data(&gate.world.call("list_task_runs", "{}").await);
    let id = listed["runs"][0]["runId"].as_str().unwrap().to_owned();
    let cancel = json!({"runId": id}).to_string();
    gate.world.call("cancel_task_run", &cancel).await;
    gate.door.add_permits(1);
    let told = error(&waiting.await.unwrap());
    assert_eq!(told["errorCode"], "RUN_CANCELED", "{told}");
    assert_eq!(told["details"]["runId"], json!(id));
    assert!(told["recoverHint"].is_string());
    let run = seen(&gate.world, &id).await;
    assert_eq!(run["status"], "canceled");
    assert_eq!(run["error"]["errorCode"], "RUN_CANCELED", "{run}");
    assert!(run["error"]["recoverHint"].is_string());
    assert_eq!(run["error"]["details"]["runId"], json!(id));
}

#[tokio::test]
async fn a_run_that_waits_for_its_turn_can_be_called_off() {
    let gate = gate(|settings| settings.concurrent = 1).await;
    let first = started(&gate.world, "slow", json!({})).await;
    gate.world.until_seen(1).await;
    let second = started(&gate.world, "slow", json!({})).await;
    assert_eq!(seen(&gate.world, &second).await["status"], "queued");
    let cancel = json!({"runId": second}).to_string();
    let answer = data(&gate.world.call("cancel_task_run", &cancel).await);
    assert_eq!(answer["cancelRequested"], true);
    // It needs no place for that: the other run still has the only one.
    let run = over(&gate.world, &second).await;
    assert_eq!(seen(&gate.world, &first).await["status"], "running");
    gate.door.add_permits(1);
    assert_eq!(over(&gate.world, &first).await["status"], "succeeded");
    assert_eq!(run["status"], "canceled", "{run}");
    assert_eq!(run["steps"][0]["state"], "skipped", "{run}");
    assert_eq!(gate.world.fake.count(), 1, "not one of its steps was begun");
}

#[tokio::test]
async fn the_runtimes_threshold_holds_where_the_template_says_nothing() {
    for (threshold, status) in [(0.8, "failed"), (0.75, "partial_success")] {
        let gate = gate(|settings| settings.threshold = threshold).await;
        let id = started(
            &gate.world,
            "each",
            json!({"items": [1, 2, 3, -1], "at_once": 2}),
        )
        .await;
        let run = over(&gate.world, &id).await;
        assert_eq!(run["status"], status, "{run}");
    }
}

#[tokio::test]
async fn the_threshold_of_the_template_stands_above_the_runtimes() {
    let lenient = EACH.replace("maxConcurrency: 8", "threshold: 0.25");
    let strict = EACH.replace("maxConcurrency: 8", "threshold: 0.9");
    for (template, global, status) in [(&lenient, 0.8, "partial_success"), (&strict, 0.1, "failed")]
    {
        let gate = Gate::new(&[template], |settings| settings.threshold = global).await;
        let inputs = json!({"items": [1, -1, -1, -1], "at_once": 2});
        let mixed = json!({"items": [1, 2, 3, -1], "at_once": 2});
        let inputs = if status == "failed" { mixed } else { inputs };
        let id = started(&gate.world, "each", inputs).await;
        let run = over(&gate.world, &id).await;
        assert_eq!(run["status"], status, "{run}");
    }
}

#[tokio::test]
async fn a_run_follows_the_version_that_is_named_or_the_newest() {
    let newer = MAKES.replace("version: 1.0.0", "version: 1.10.0").replace(
        "- {id: wait, tool: shelf.wait}",
        "- {id: last, tool: shelf.read}",
    );
    let older = newer
        .replace("1.10.0", "1.9.0")
        .replace("id: last", "id: end");
    let gate = Gate::new(&[&newer, &older], |_| {}).await;
    for (version, ran, last) in [
        (None, "1.10.0", "last"),
        (Some("1.9.0"), "1.9.0", "end"),
        (Some("1.10.0"), "1.10.0", "last"),
    ] {
        let mut args = json!({"templateId": "makes", "options": {"mode": "sync"}});
        if let Some(version) = version {
            args["templateVersion"] = version.into();
        }
        let run = gate
            .world
            .call("run_task_template", &args.to_string())
            .await;
        let run = data(&run);
        assert_eq!(run["templateVersion"], ran, "{run}");
        assert!(run["steps"].is_null(), "only who asks is sent them: {run}");
        let seen = seen(&gate.world, run["runId"].as_str().unwrap()).await;
        assert_eq!(seen["steps"][1]["id"], last, "{seen}");
    }
    let listed = data(&gate.world.call("list_task_templates", "{}").await);
    let versions: Vec<_> = listed["templates"].as_array().unwrap().iter().collect();
    assert!(
        versions.iter().any(|it| it["version"] == "1.10.0"),
        "{listed}"
    );
}

#[tokio::test]
async fn artifacts_are_kept_from_the_end_of_the_run_not_from_their_own() {
    let gate = gate(|settings| settings.artifact_ttl = Duration::from_secs(60)).await;
    let id = started(&gate.world, "makes", json!({})).await;
    gate.world.until_seen(2).await;
    let steps = gate.world.gateway.store().artifacts(&id).await.unwrap();
    let args = json!({"artifactId": steps[0].id}).to_string();
    let read = async || body(&gate.world.call("get_artifact", &args).await);
    gate.world.later(Duration::from_secs(600));
    assert_eq!(gate.shop.runs.sweep().await.unwrap(), 0, "the run goes on");
    assert_eq!(read().await["status"], "ok");
    gate.door.add_permits(1);
    over(&gate.world, &id).await;
    gate.world.later(Duration::from_secs(59));
    assert_eq!(read().await["status"], "ok");
    gate.world.later(Duration::from_secs(1));
    let expired = read().await;
    assert_eq!(
        expired["error"]["errorCode"], "ARTIFACT_EXPIRED",
        "{expired}"
    );
    assert!(expired["error"]["recoverHint"].is_string());
}

#[tokio::test]
async fn a_group_has_no_more_under_way_than_it_says() {
    let shop = Shop::new(&[EACH], |_| {});
    let door = Arc::new(Semaphore::new(0));
    let world = Setup::new()
        .tool(spec_read("shelf.read"), deaf(&door, json!({})))
        .runs(&shop.runs)
        .build()
        .await;
    let id = started(
        &world,
        "each",
        json!({"items": [1, 2, 3, 4, 5], "at_once": 2}),
    )
    .await;
    world.until_seen(2).await;
    for done in 1..=5 {
        let run = seen(&world, &id).await;
        let running = run["steps"].as_array().unwrap().iter();
        let running = running.filter(|step| step["state"] == "running").count();
        assert_eq!(running, 2.min(5 - done + 1), "{run}");
        door.add_permits(1);
        let is_done = async || {
            let run = seen(&world, &id).await;
            run["progress"]["doneSteps"].as_u64().unwrap() >= done as u64
        };
        while !is_done().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    assert_eq!(over(&world, &id).await["status"], "succeeded");
}

#[tokio::test]
async fn fifty_runs_are_listed_unless_another_number_is_asked_for() {
    let gate = gate(|_| {}).await;
    for _ in 0..51 {
        let args = r#"{"templateId":"each","inputs":{"items":[]}}"#;
        let ran = gate.world.call("run_task_template", args).await;
        assert_eq!(said(&ran), "ok", "{}", body(&ran));
    }
    let count = async |args: &str| {
        let listed = data(&gate.world.call("list_task_runs", args).await);
        listed["runs"].as_array().unwrap().len()
    };
    assert_eq!(count("{}").await, 50);
    assert_eq!(count(r#"{"limit":51}"#).await, 51);
}
