//! Steps that a human has to see first: the run waits, wherever it is driven, and goes on.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_core::{ToolSpec, store::ApprovalState};
use tollgate_engine::Decided;

use super::{
    Shop, answers,
    crash::{in_a_process_that_dies, opened},
    data, over, seen,
};
use crate::support::{Setup, World, body, deaf, details, said, spec_read, spec_write};

const TWO: &str = "id: two\nversion: 1.0.0\nname: Two\nsteps:\n  - {id: look, tool: shelf.read}\n  - {id: put, tool: shelf.put, args: {v: '{{ steps.look.data.n }}'}, timeoutMs: 60000}\n";
const LOOK: &str =
    "id: looking\nversion: 1.0.0\nname: Looking\nsteps:\n  - {id: look, tool: shelf.read}\n";
const SYNC: &str = r#"{"templateId":"two","options":{"mode":"sync","timeoutMs":1000}}"#;

/// A tool that a human has to agree to call by call.
fn spec_put() -> ToolSpec {
    ToolSpec {
        requires_confirm: true,
        ..spec_write("shelf.put")
    }
}

fn setup(shop: &Shop) -> Setup {
    Setup::new()
        .tool(spec_read("shelf.read"), |_, _| answers(json!({"n": 7})))
        .tool(spec_put(), |_, _| answers(json!({"done": true})))
        .runs(&shop.runs)
}

fn shop() -> Shop {
    Shop::new(&[TWO, LOOK], |settings| settings.concurrent = 1)
}

/// Starts a run that waits; gives what it says.
async fn waiting(world: &World) -> Value {
    let answer = world.call("run_task_template", SYNC).await;
    assert_eq!(said(&answer), "ok", "{}", body(&answer));
    let run = data(&answer);
    assert_eq!(run["status"], "running", "{run}");
    assert_eq!(run["waitingFor"][0]["step"], "put", "{run}");
    run
}

fn text(run: &Value, at: &str) -> String {
    run.pointer(at).unwrap().as_str().unwrap().to_owned()
}

async fn decide(world: &World, run: &Value, decided: Decided) {
    let id = text(run, "/waitingFor/0/approvalId");
    let store = world.gateway.store();
    let asked = store.approval(&id).await.unwrap().unwrap();
    world.gateway.decide(&asked, &decided, "ann").await.unwrap();
}

#[tokio::test]
async fn a_step_that_a_human_has_to_see_makes_the_run_wait_and_runs_once() {
    let shop = shop();
    let world = setup(&shop).build().await;
    let run = waiting(&world).await;
    let waits = &run["waitingFor"][0];
    assert_eq!(waits["tool"], "shelf.put");
    assert_eq!(waits["preview"]["arguments"], r#"{"v":7}"#);
    assert_eq!(waits["preview"]["run"], run["runId"]);
    assert_eq!(waits["preview"]["run_step"], "put");
    let id = text(&run, "/waitingFor/0/approvalId");
    assert_eq!(waits["approve"], format!("tollgate approvals approve {id}"));
    let looked = seen(&world, &text(&run, "/runId")).await;
    assert_eq!(looked["steps"][1]["state"], "running");
    assert_eq!(world.fake.count(), 1);
    decide(&world, &run, Decided::Once).await;
    let run = over(&world, &text(&run, "/runId")).await;
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!(run["result"]["put"], json!({"done": true}));
    assert_eq!(run["steps"][1]["attempts"], 1, "it is the same attempt");
    assert!(run.get("waitingFor").is_none(), "{run}");
    assert_eq!(world.fake.count(), 2);
    let used = world.gateway.store().approval(&id).await.unwrap().unwrap();
    assert_eq!(used.state, ApprovalState::Consumed);
}

#[tokio::test]
async fn a_human_who_refuses_fails_the_step() {
    let shop = shop();
    let world = setup(&shop).build().await;
    let run = waiting(&world).await;
    decide(&world, &run, Decided::Denied).await;
    let run = over(&world, &text(&run, "/runId")).await;
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(run["error"]["details"]["failedStep"], "put");
    assert_eq!(run["error"]["details"]["code"], "tool.gate.policy.denied");
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test]
async fn a_question_that_nobody_answers_fails_the_step_in_the_end() {
    let shop = shop();
    let world = setup(&shop).build().await;
    let run = waiting(&world).await;
    world.later(world.gateway.settings().approval_ttl);
    let run = over(&world, &text(&run, "/runId")).await;
    assert_eq!(run["status"], "failed", "{run}");
    let details = &run["error"]["details"];
    assert_eq!(details["stepErrorCode"], "EXECUTION_ERROR", "{run}");
    let code = "tool.gate.policy.confirmation_required";
    assert_eq!(details["code"], code, "{run}");
}

#[tokio::test]
async fn a_waiting_run_can_be_called_off() {
    let shop = shop();
    let world = setup(&shop).build().await;
    let run = waiting(&world).await;
    let args = json!({"runId": run["runId"]}).to_string();
    world.call("cancel_task_run", &args).await;
    let run = over(&world, &text(&run, "/runId")).await;
    assert_eq!(run["status"], "canceled", "{run}");
    assert_eq!(run["steps"][1]["state"], "skipped");
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_run_takes_no_place_and_loses_no_time() {
    let shop = shop();
    let world = setup(&shop).build().await;
    let run = waiting(&world).await;
    // Far longer than the run itself may take, by either clock.
    tokio::time::sleep(Duration::from_secs(60)).await;
    world.later(Duration::from_secs(60));
    let other = r#"{"templateId":"looking","options":{"mode":"sync"}}"#;
    let other = data(&world.call("run_task_template", other).await);
    assert_eq!(other["status"], "succeeded", "its place is free: {other}");
    let id = text(&run, "/runId");
    assert_eq!(seen(&world, &id).await["status"], "running");
    decide(&world, &run, Decided::Once).await;
    let run = over(&world, &id).await;
    assert_eq!(run["status"], "succeeded", "{run}");
}

#[tokio::test]
async fn a_run_that_may_go_on_waits_for_a_place() {
    let shop = shop();
    let door = Arc::new(tokio::sync::Semaphore::new(0));
    let world = Setup::new()
        .tool(spec_read("shelf.read"), deaf(&door, json!({"n": 7})))
        .tool(spec_put(), |_, _| answers(json!({"done": true})))
        .runs(&shop.runs)
        .build()
        .await;
    door.add_permits(1);
    let run = waiting(&world).await;
    let other = super::started(&world, "looking", json!({})).await;
    world.until_seen(2).await;
    decide(&world, &run, Decided::Once).await;
    let store = world.gateway.store();
    let id = text(&run, "/waitingFor/0/approvalId");
    let held = store.approval(&id).await.unwrap().unwrap();
    assert_eq!(held.state, ApprovalState::Granted, "the one place is taken");
    door.add_permits(1);
    assert_eq!(over(&world, &other).await["status"], "succeeded");
    let run = over(&world, &text(&run, "/runId")).await;
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!(world.fake.count(), 3);
}

/// What becomes of a run whose question is answered while no process drives it.
fn answered_in_between(decided: Decided) -> (Value, usize) {
    let folder = TempDir::new().unwrap();
    let run = in_a_process_that_dies(async {
        let shop = shop();
        let world = setup(&shop).store(opened(folder.path())).build().await;
        waiting(&world).await
    });
    in_a_process_that_dies(async {
        let shop = shop();
        let world = setup(&shop).store(opened(folder.path())).build().await;
        decide(&world, &run, decided).await;
        let id = text(&run, "/runId");
        let row = world.gateway.store().run(&id).await.unwrap().unwrap();
        assert!(row.is_resting && !row.is_over);
        let run = over(&world, &id).await;
        (run, world.fake.count())
    })
}

#[test]
fn an_answer_counts_whoever_drives_the_run_by_then() {
    let (run, calls) = answered_in_between(Decided::Once);
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!(calls, 1, "what had ended is not repeated");
    let (run, calls) = answered_in_between(Decided::Denied);
    assert_eq!(run["error"]["details"]["code"], "tool.gate.policy.denied");
    assert_eq!(calls, 0);
}

const MIXED: &str = "id: mixed\nversion: 1.0.0\nname: Mixed\nsteps:\n  - {id: write, tool: shelf.write}\n  - {id: put, tool: shelf.put}\n";

#[tokio::test]
async fn the_consent_to_a_run_does_not_cover_what_has_to_be_shown() {
    let shop = Shop::new(&[MIXED], |_| {});
    let world = Setup::new()
        .tool(spec_write("shelf.write"), |_, _| answers(json!({})))
        .tool(spec_put(), |_, _| answers(json!({})))
        .runs(&shop.runs)
        .build()
        .await;
    let args = r#"{"templateId":"mixed"}"#;
    let asked = world.call("run_task_template", args).await;
    assert_eq!(said(&asked), "confirmation_required");
    assert_eq!(details(&asked)["preview"]["plan"]["template"], "mixed");
    world.decide(&asked, Decided::Once).await;
    let run = data(&world.call("run_task_template", args).await);
    assert_eq!(run["waitingFor"][0]["step"], "put", "{run}");
    assert_eq!(world.fake.count(), 1);
    decide(&world, &run, Decided::Once).await;
    let run = over(&world, &text(&run, "/runId")).await;
    assert_eq!(run["status"], "succeeded", "{run}");
}
