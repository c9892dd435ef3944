//! A run needs what its steps need, once, for that run and that template.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::json;
use tollgate_engine::{Decided, Stage};

use super::{Shop, answers, data, remote};
use crate::support::{At, Setup, World, body, caller, details, error, said, spec_read, spec_write};

const MIXED: &str = "id: mixed\nversion: 1.0.0\nname: Mixed\ninputsSchema: {type: object, properties: {n: {type: integer}}, additionalProperties: false}\nsteps:\n  - {id: look, tool: shelf.read, args: {n: '{{ inputs.n }}'}}\n  - {id: put, tool: shelf.write, args: {v: '{{ steps.look.data.n }}'}}\n";
const READING: &str = "id: reading\nversion: 2.0.0\nname: Reading\ntrustLevelSupport: [local]\nsteps:\n  - {id: look, tool: shelf.read}\n";

async fn world() -> (World, Shop) {
    let shop = Shop::new(&[MIXED, READING], |_| {});
    let world = Setup::new()
        .tool(spec_read("shelf.read"), |_, _| answers(json!({"n": 7})))
        .tool(spec_write("shelf.write"), |_, _| {
            answers(json!({"done": true}))
        })
        .runs(&shop.runs)
        .build()
        .await;
    (world, shop)
}

const RUN: &str = r#"{"templateId":"mixed","inputs":{"n":1}}"#;

#[tokio::test]
async fn a_run_asks_once_for_all_its_steps() {
    let (world, _shop) = world().await;
    let asked = world.call("run_task_template", RUN).await;
    assert_eq!(said(&asked), "confirmation_required");
    let shown = details(&asked)["preview"].clone();
    assert_eq!(shown["capability"], "L1");
    assert_eq!(shown["plan"]["version"], "1.0.0");
    assert_eq!(
        shown["plan"]["steps"][1],
        json!({"id": "put", "tool": "shelf.write"})
    );
    assert!(shown["arguments"].as_str().unwrap().contains("\"n\":1"));
    assert_eq!(world.fake.count(), 0);
    world.decide(&asked, Decided::Once).await;
    let ran = world.call("run_task_template", RUN).await;
    assert_eq!(said(&ran), "ok", "{}", body(&ran));
    let run = data(&ran);
    assert_eq!(run["status"], "succeeded");
    assert_eq!(run["result"]["put"], json!({"done": true}));
    assert_eq!(world.fake.seen()[1].arguments, r#"{"v":7}"#);
    // Each step is a recorded call of the same caller, and says which run it belongs to.
    let steps: Vec<_> = world
        .rows("ending")
        .await
        .into_iter()
        .filter(|row| row["run"] == run["runId"])
        .collect();
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[1]["consent"], "human");
    assert_eq!(steps[1]["principal"], "user:1000");
    // The approval is used up.
    let again = world.call("run_task_template", RUN).await;
    assert_eq!(
        said(&again),
        "ok",
        "the answer was not delivered: it is shown again"
    );
    world.gateway.delivered(&ran).await.unwrap();
    let again = world.call("run_task_template", RUN).await;
    assert_eq!(said(&again), "confirmation_required");
    // And it never covers a step called by itself.
    let alone = world.call("shelf.write", r#"{"v":7}"#).await;
    assert_eq!(said(&alone), "confirmation_required");
}

#[tokio::test]
async fn an_approval_is_bound_to_the_template_as_it_was_shown() {
    let (world, shop) = world().await;
    let asked = world.call("run_task_template", RUN).await;
    world.decide(&asked, Decided::Once).await;
    let changed = MIXED.replace("v: '{{ steps.look.data.n }}'", "v: other");
    fs::write(shop.folder.path().join("0.yaml"), changed).unwrap();
    let ran = world.call("run_task_template", RUN).await;
    assert_eq!(said(&ran), "confirmation_required");
    assert_eq!(world.fake.count(), 0);
}

#[tokio::test]
async fn a_template_that_changes_after_the_rules_have_spoken_is_not_run() {
    let shop = Shop::new(&[MIXED], |_| {});
    let file = shop.folder.path().join("0.yaml");
    let is_armed = Arc::new(AtomicBool::new(false));
    let armed = Arc::clone(&is_armed);
    let world = Setup::new()
        .tool(spec_read("shelf.read"), |_, _| answers(json!({"n": 7})))
        .tool(spec_write("shelf.write"), |_, _| answers(json!({})))
        .probe(At::stage(Stage::Intent, move || {
            if armed.swap(false, Ordering::SeqCst) {
                let changed = MIXED.replace("v: '{{ steps.look.data.n }}'", "v: other");
                fs::write(&file, changed).unwrap();
            }
        }))
        .runs(&shop.runs)
        .build()
        .await;
    let asked = world.call("run_task_template", RUN).await;
    world.decide(&asked, Decided::Once).await;
    is_armed.store(true, Ordering::SeqCst);
    let refused = world.call("run_task_template", RUN).await;
    assert_eq!(said(&refused), "state_rejected", "{}", body(&refused));
    assert_eq!(world.fake.count(), 0);
}

#[tokio::test]
async fn a_run_that_only_reads_asks_nobody() {
    let (world, _shop) = world().await;
    let ran = world
        .call("run_task_template", r#"{"templateId":"reading"}"#)
        .await;
    assert_eq!(data(&ran)["status"], "succeeded", "{}", body(&ran));
}

#[tokio::test]
async fn what_cannot_run_is_refused_before_anybody_is_asked() {
    let (world, shop) = world().await;
    for (caller, arguments, code) in [
        (
            caller("s1"),
            r#"{"templateId":"none"}"#,
            "TEMPLATE_NOT_FOUND",
        ),
        (
            caller("s1"),
            r#"{"templateId":"mixed","templateVersion":"9.0.0"}"#,
            "TEMPLATE_VERSION_UNSUPPORTED",
        ),
        (
            remote(),
            r#"{"templateId":"reading"}"#,
            "TRUST_LEVEL_NOT_ALLOWED",
        ),
        (
            caller("s1"),
            r#"{"templateId":"mixed","inputs":{"n":"x"}}"#,
            "INVALID_PARAMETER",
        ),
    ] {
        let refused = world.call_as(&caller, "run_task_template", arguments).await;
        let error = error(&refused);
        assert_eq!(error["errorCode"], code, "{error}");
        assert!(error["recoverHint"].is_string(), "{error}");
    }
    fs::write(
        shop.folder.path().join("lost.yaml"),
        "id: lost\nversion: 3\n",
    )
    .unwrap();
    let faulty = r#"{"templateId":"lost"}"#;
    let refused = error(&world.call("run_task_template", faulty).await);
    assert_eq!(refused["errorCode"], "TEMPLATE_NOT_FOUND", "{refused}");
    let why = refused["message"].as_str().unwrap();
    assert!(why.contains("is faulty: lost.yaml:"), "{why}");
    let missing = MIXED
        .replace("shelf.write", "shelf.gone")
        .replace("id: mixed", "id: lame");
    fs::write(shop.folder.path().join("9.yaml"), missing).unwrap();
    let refused = world
        .call("run_task_template", r#"{"templateId":"lame"}"#)
        .await;
    assert_eq!(details(&refused)["missing_tool"], "shelf.gone");
    let nested =
        "id: nested\nversion: 1.0.0\nname: N\nsteps:\n  - {id: a, tool: run_task_template}\n";
    fs::write(shop.folder.path().join("8.yaml"), nested).unwrap();
    let refused = world
        .call("run_task_template", r#"{"templateId":"nested"}"#)
        .await;
    assert_eq!(said(&refused), "unsupported");
    assert_eq!(world.fake.count(), 0);
}
