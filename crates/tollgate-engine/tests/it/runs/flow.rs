//! Order, thresholds, cancelling, time, room and what belongs to whom.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_engine::runs::Settings;

use super::{Shop, answers, data, gate::Gate, over, seen, started, stranger};
use crate::support::{Setup, body, caller, details, error, said, spec_read};

const EACH: &str = "id: each\nversion: 1.0.0\nname: Each\nsupportsPartialSuccess: true\nmaxConcurrency: 3\nsync_if: size(inputs.items) <= 2\nsteps:\n  - {id: item, for_each: inputs.items, tool: shelf.read, args: {n: '{{ item }}'}}\n";
const SLOW: &str = "id: slow\nversion: 1.0.0\nname: Slow\nmaxTimeoutMs: 60000\nsteps:\n  - {id: wait, tool: shelf.wait}\n  - {id: then, tool: shelf.read, args: {n: 1}}\n";

async fn gate(change: impl FnOnce(&mut Settings)) -> Gate {
    Gate::new(&[EACH, SLOW], change).await
}

#[tokio::test]
async fn the_template_says_whether_to_wait() {
    let Gate {
        world, shop: _shop, ..
    } = gate(|_| {}).await;
    let two = r#"{"templateId":"each","inputs":{"items":[1,2]}}"#;
    let ran = data(&world.call("run_task_template", two).await);
    assert_eq!(ran["status"], "succeeded");
    assert_eq!(ran["progress"], json!({"totalSteps": 2, "doneSteps": 2}));
    assert_eq!(
        ran["result"]["summary"],
        json!({"total": 2, "succeeded": 2, "failed": 0})
    );
    let three = r#"{"templateId":"each","inputs":{"items":[1,2,3]}}"#;
    let queued = data(&world.call("run_task_template", three).await);
    assert_eq!(queued["status"], "queued");
    assert!(queued["createdAt"].is_i64());
    let run = over(&world, queued["runId"].as_str().unwrap()).await;
    assert_eq!(run["status"], "succeeded");
    let sync = r#"{"templateId":"each","inputs":{"items":[1,2,3]},"options":{"mode":"sync"}}"#;
    let ran = data(&world.call("run_task_template", sync).await);
    assert_eq!(ran["status"], "succeeded");
}

#[tokio::test]
async fn enough_items_are_a_partial_success_and_too_few_a_failure() {
    let Gate {
        world, shop: _shop, ..
    } = gate(|_| {}).await;
    let half = r#"{"templateId":"each","inputs":{"items":[1,-1]}}"#;
    let ran = data(&world.call("run_task_template", half).await);
    assert_eq!(ran["status"], "partial_success");
    assert_eq!(ran["result"]["items"][1]["success"], false);
    assert_eq!(ran["error"]["errorCode"], "STEP_EXECUTION_FAILED");
    let none = r#"{"templateId":"each","inputs":{"items":[-1,2000]}}"#;
    let failed = world.call("run_task_template", none).await;
    let error = error(&failed);
    assert_eq!(error["errorCode"], "STEP_EXECUTION_FAILED");
    assert_eq!(error["details"]["failedStep"], "item[0]");
    assert_eq!(error["details"]["stepErrorCode"], "EXECUTION_ERROR");
    let id = error["details"]["runId"].as_str().unwrap();
    // The envelope is an error, and its data is the run as it is looked up.
    assert_eq!(body(&failed)["status"], "error");
    let short = json!({"runId": id}).to_string();
    let looked = data(&world.call("get_task_run", &short).await);
    assert_eq!(data(&failed), looked);
    let run = seen(&world, id).await;
    assert_eq!(run["status"], "failed");
    assert_eq!(run["steps"][1]["code"], "tool.provider.run.crashed");
}

#[tokio::test]
async fn a_cancelled_run_lets_its_step_end_and_skips_the_rest() {
    let Gate {
        world,
        shop: _shop,
        door,
    } = gate(|_| {}).await;
    let id = started(&world, "slow", json!({})).await;
    world.until_seen(1).await;
    let cancel = json!({"runId": id}).to_string();
    let answer = data(&world.call("cancel_task_run", &cancel).await);
    assert_eq!(
        answer,
        json!({"cancelRequested": true, "currentStatus": "running"})
    );
    assert_eq!(seen(&world, &id).await["status"], "running");
    door.add_permits(1);
    let run = over(&world, &id).await;
    assert_eq!(run["status"], "canceled");
    let states: Vec<&Value> = run["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["state"])
        .collect();
    assert_eq!(states, ["succeeded", "skipped"]);
    let late = data(&world.call("cancel_task_run", &cancel).await);
    assert_eq!(
        late,
        json!({"cancelRequested": false, "currentStatus": "canceled"})
    );
    assert_eq!(world.fake.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_when_its_time_is_up() {
    let Gate {
        world, shop: _shop, ..
    } = gate(|_| {}).await;
    let args = r#"{"templateId":"slow","options":{"timeoutMs":50,"mode":"sync"}}"#;
    let late = world.call("run_task_template", args).await;
    assert_eq!(error(&late)["errorCode"], "RUN_TIMEOUT", "{}", body(&late));
    let id = details(&late)["runId"].as_str().unwrap().to_owned();
    assert_eq!(seen(&world, &id).await["status"], "failed");
}

#[tokio::test]
async fn no_more_runs_are_under_way_than_allowed_and_all_get_their_turn() {
    let Gate {
        world,
        shop: _shop,
        door,
    } = gate(|settings| settings.concurrent = 2).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(started(&world, "slow", json!({})).await);
    }
    world.until_seen(2).await;
    let count = async |status: &str| {
        let args = json!({"status": status}).to_string();
        let listed = data(&world.call("list_task_runs", &args).await);
        listed["runs"].as_array().unwrap().len()
    };
    assert_eq!((count("running").await, count("queued").await), (2, 3));
    door.add_permits(5);
    for id in &ids {
        assert_eq!(over(&world, id).await["status"], "succeeded");
    }
    assert_eq!(world.fake.count(), 10);
}

#[tokio::test]
async fn too_many_waiting_runs_are_refused() {
    let Gate {
        world, shop: _shop, ..
    } = gate(|settings| settings.queued = 1).await;
    started(&world, "slow", json!({})).await;
    let args = r#"{"templateId":"slow","options":{"mode":"async"}}"#;
    let refused = world.call("run_task_template", args).await;
    assert_eq!(said(&refused), "overloaded");
}

#[tokio::test]
async fn runs_belong_to_who_started_them() {
    let Gate {
        world,
        shop: _shop,
        door,
    } = gate(|_| {}).await;
    door.add_permits(1);
    let id = started(&world, "slow", json!({})).await;
    over(&world, &id).await;
    let other = stranger();
    let args = json!({"runId": id}).to_string();
    for tool in ["get_task_run", "cancel_task_run"] {
        let refused = world.call_as(&other, tool, &args).await;
        assert_eq!(error(&refused)["errorCode"], "RUN_NOT_FOUND");
    }
    let listed = data(&world.call_as(&other, "list_task_runs", "{}").await);
    assert_eq!(listed["runs"], json!([]));
    let own = data(
        &world
            .call_as(&caller("another session"), "list_task_runs", "{}")
            .await,
    );
    assert_eq!(own["runs"][0]["runId"], json!(id));
}

#[tokio::test]
async fn runs_hold_no_turn_that_their_steps_need() {
    let shop = Shop::new(&[EACH], |settings| settings.concurrent = 8);
    let world = Setup::new()
        .tool(spec_read("shelf.read"), |_, _| answers(json!({})))
        .settings(|settings| settings.concurrent_calls = 1)
        .runs(&shop.runs)
        .build()
        .await;
    let args = r#"{"templateId":"each","inputs":{"items":[1,2]}}"#;
    let calls: Vec<_> = (0..8)
        .map(|_| world.start(crate::support::request("run_task_template", args)))
        .collect();
    for call in calls {
        let outcome = tokio::time::timeout(Duration::from_secs(60), call).await;
        assert_eq!(said(&outcome.unwrap().unwrap()), "ok");
    }
}

#[tokio::test]
async fn the_runtime_tells_its_limits_and_its_templates() {
    let Gate {
        world, shop: _shop, ..
    } = gate(|_| {}).await;
    let profile = data(&world.call("get_runtime_profile", "{}").await);
    assert_eq!(
        profile["limits"],
        json!({"maxConcurrentRuns": 5, "maxRunTimeoutMs": 900_000, "maxArtifactInlineBytes": 262_144})
    );
    let listed = data(&world.call("list_task_templates", "{}").await);
    assert_eq!(listed["templates"][0]["templateId"], "each");
    assert_eq!(listed["templates"][0]["limits"]["maxConcurrency"], 3);
    assert_eq!(listed["templates"][0]["supportsPartialSuccess"], true);
}

#[tokio::test]
async fn a_clock_that_jumps_neither_ends_a_run_nor_keeps_it_alive() {
    let Gate {
        world,
        shop: _shop,
        door,
    } = gate(|_| {}).await;
    for jump in [1, -1] {
        let seen_before = world.fake.count();
        let id = started(&world, "slow", json!({})).await;
        world.until_seen(seen_before + 1).await;
        let day = Duration::from_secs(24 * 3600);
        if jump > 0 {
            world.later(day);
        } else {
            world.earlier(day + day);
        }
        door.add_permits(1);
        let run = over(&world, &id).await;
        assert_eq!(run["status"], "succeeded", "{jump}: {run}");
        assert!(run["metrics"]["elapsedMs"].is_u64());
    }
}

const MANY: &str = "id: many\nversion: 1.0.0\nname: Many\nmaxItems: 1000\nsteps:\n  - {id: list, tool: shelf.list, args: {n: '{{ inputs.n }}'}}\n  - {id: each, for_each: steps.list.data.items, tool: shelf.list, args: {n: 1}}\n";

#[tokio::test]
async fn a_million_items_and_what_is_no_list_fail_the_run_at_once() {
    let shop = Shop::new(&[MANY], |_| {});
    let world = Setup::new()
        .tool(spec_read("shelf.list"), |call, _| {
            let n = call.arguments.value()["n"].as_u64().unwrap_or(0);
            let items: Vec<u8> = vec![0; usize::try_from(n).unwrap()];
            match n {
                0 => answers(json!({"items": "none"})),
                _ => answers(json!({"items": items})),
            }
        })
        .runs(&shop.runs)
        .build()
        .await;
    for n in [1_000_000, 1001, 0] {
        let args = json!({"templateId": "many", "inputs": {"n": n}}).to_string();
        let failed = error(&world.call("run_task_template", &args).await);
        assert_eq!(failed["errorCode"], "STEP_EXECUTION_FAILED", "{n}");
        let step = failed["details"]["failedStep"].as_str().unwrap();
        assert!(matches!(step, "list" | "each"), "{failed}");
    }
    assert_eq!(world.fake.count(), 3, "not one item was begun");
}

#[tokio::test]
async fn the_log_tells_of_a_run_as_the_document_wants_it() {
    let Gate {
        world, shop: _shop, ..
    } = gate(|_| {}).await;
    let ran = world
        .call(
            "run_task_template",
            r#"{"templateId":"each","inputs":{"items":[1]}}"#,
        )
        .await;
    assert_eq!(said(&ran), "ok");
    let lines = world.log.written();
    let told: Vec<&str> = lines
        .iter()
        .map(|line| line["event"].as_str().unwrap())
        .filter(|event| !event.starts_with("agent_tool") && !event.starts_with("agent_reflect"))
        .collect();
    assert_eq!(
        told,
        [
            "agent_plan_start",
            "agent_plan_done",
            "agent_aggregate_start",
            "agent_aggregate_done",
            "agent_finalize_done"
        ]
    );
    let last = lines
        .iter()
        .rfind(|line| line["event"] == "agent_finalize_done");
    let last = last.unwrap();
    assert_eq!(last["status"], "completed");
    assert_eq!(last["request_id"], body(&ran)["meta"]["call_id"]);
    let failed = r#"{"templateId":"each","inputs":{"items":[-1]}}"#;
    world.call("run_task_template", failed).await;
    let lines = world.log.written();
    let last = lines
        .iter()
        .rfind(|line| line["event"] == "agent_finalize_done");
    assert_eq!(last.unwrap()["error_code"], "STEP_EXECUTION_FAILED");
}

/// A step is shown as document 002 wants it: what was called, by whom it was served, at which
/// level, in which trace, with what and what came of it.
#[tokio::test]
async fn steps_are_shown_only_to_who_asks_and_with_their_calls() {
    let Gate {
        world, shop: _shop, ..
    } = gate(|_| {}).await;
    let args = r#"{"templateId":"each","inputs":{"items":[1,-1]}}"#;
    let ran = data(&world.call("run_task_template", args).await);
    assert!(ran.get("steps").is_none(), "{ran}");
    let id = ran["runId"].as_str().unwrap();
    let short = json!({"runId": id}).to_string();
    let looked = data(&world.call("get_task_run", &short).await);
    assert_eq!(
        looked, ran,
        "what is waited for and what is looked up are the same"
    );
    let steps = seen(&world, id).await["steps"].clone();
    let (good, bad) = (&steps[0], &steps[1]);
    assert_eq!(
        (&good["state"], &bad["state"]),
        (&json!("succeeded"), &json!("failed"))
    );
    for step in [good, bad] {
        let name = step["name"].as_str().unwrap();
        assert!(name.starts_with("tool.shelf."), "{steps}");
        assert!(step["providerId"].is_string(), "{steps}");
        assert_eq!(step["capabilityLevel"], "L0", "{steps}");
        assert_eq!(step["traceId"].as_str().unwrap().len(), 32, "{steps}");
        assert!(step["durationMs"].is_u64(), "{steps}");
        assert!(
            step["argsPreview"].as_str().unwrap().starts_with('{'),
            "{steps}"
        );
        assert!(
            !step["resultPreview"].as_str().unwrap().is_empty(),
            "{steps}"
        );
        assert!(step["callId"].is_string(), "{steps}");
    }
    assert_eq!(bad["errorCode"], "EXECUTION_ERROR", "{steps}");
    assert_eq!(bad["code"], "tool.provider.run.failed", "{steps}");
}

/// Whatever the gateway says of a call that starts no run has a code of document 004, too.
#[tokio::test]
async fn arguments_that_do_not_fit_are_an_invalid_parameter_with_a_hint() {
    let Gate {
        world, shop: _shop, ..
    } = gate(|_| {}).await;
    for (tool, args) in [
        ("get_task_run", "{}"),
        ("get_task_run", r#"{"runId":7}"#),
        (
            "run_task_template",
            r#"{"templateId":"each","mode":"sync"}"#,
        ),
        ("list_task_runs", r#"{"status":"lost"}"#),
        ("get_artifact", r#"{"artifactId":"a","limit":0}"#),
    ] {
        let refused = error(&world.call(tool, args).await);
        assert_eq!(
            refused["errorCode"], "INVALID_PARAMETER",
            "{tool} {refused}"
        );
        assert!(refused["recoverHint"].is_string(), "{tool} {refused}");
        let own = &refused["details"]["code"];
        assert_eq!(own, "tool.gate.input.invalid_arguments", "{tool}");
    }
}
