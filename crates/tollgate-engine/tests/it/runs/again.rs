//! Runs looked at again and made again: every attempt, in a conversation of their own.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tollgate_core::{ErrorCode, ProviderError};

use super::{Shop, answers};
use crate::support::{Setup, World, caller, details, error, spec_read};

const TWO: &str = "id: two\nversion: 1.0.0\nname: Two\nsteps:\n  - {id: try, tool: shelf.try, retry: {times: 1}}\n  - {id: fail, tool: shelf.fail, args: {n: 7}}\n";

struct Scene {
    world: World,
    shop: Shop,
    /// The conversation of every call.
    heard: Arc<Mutex<Vec<String>>>,
    /// What `shelf.fail` says.
    says: Arc<Mutex<&'static str>>,
}

/// `shelf.try` fails every other time, `shelf.fail` always.
async fn scene() -> Scene {
    let shop = Shop::new(&[TWO], |_| {});
    let heard = Arc::new(Mutex::new(Vec::new()));
    let says = Arc::new(Mutex::new("no"));
    let (one, other, words) = (Arc::clone(&heard), Arc::clone(&heard), Arc::clone(&says));
    let tries = AtomicUsize::new(0);
    let world = Setup::new()
        .tool(spec_read("shelf.try"), move |_, cx| {
            one.lock().unwrap().push(cx.session.handle.clone());
            let is_bad = tries.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
            async move {
                match is_bad {
                    true => Err(ProviderError::new(ErrorCode::Unavailable, "gone")),
                    false => answers(json!({"n": 1})).await,
                }
            }
        })
        .tool(spec_read("shelf.fail"), move |_, cx| {
            other.lock().unwrap().push(cx.session.handle.clone());
            let word = *words.lock().unwrap();
            async move {
                match word {
                    "yes" => answers(json!({"said": word})).await,
                    "busy" => Err(ProviderError::new(ErrorCode::RateLimited, word)),
                    _ => Err(ProviderError::new(ErrorCode::ToolFailed, word)),
                }
            }
        })
        .runs(&shop.runs)
        .build()
        .await;
    Scene {
        world,
        shop,
        heard,
        says,
    }
}

async fn failed(world: &World) -> String {
    let failed = world
        .call("run_task_template", r#"{"templateId":"two"}"#)
        .await;
    assert_eq!(error(&failed)["details"]["failedStep"], "fail");
    details(&failed)["runId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_attempt_of_a_failed_run_is_played_back() {
    let scene = scene().await;
    let id = failed(&scene.world).await;
    // Another run of the same template is none of its calls.
    failed(&scene.world).await;
    let calls = scene.shop.runs.recorded(&id).await.unwrap();
    let told: Vec<_> = calls
        .iter()
        .map(|call| {
            (
                call.field("run_step").unwrap(),
                call.field("status").unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [("try", "error"), ("try", "ok"), ("fail", "error")]);
    assert_eq!(calls[1].data.as_deref(), Some(r#"{"n":1}"#));
    assert_eq!(calls[2].arguments.as_deref(), Some(r#"{"n":7}"#));
    assert!(
        scene
            .shop
            .runs
            .recorded("run_none")
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_run_is_made_again_in_a_conversation_of_its_own() {
    let scene = scene().await;
    let id = failed(&scene.world).await;
    let calls = scene.shop.runs.recorded(&id).await.unwrap();
    let before = scene.heard.lock().unwrap().clone();
    let made = scene
        .shop
        .runs
        .again(&caller("s1"), &id, &calls, false)
        .await;
    let same: Vec<bool> = made.iter().map(|it| it.as_ref().unwrap().same).collect();
    assert_eq!(same, [true, true, true]);
    let heard = scene.heard.lock().unwrap().split_off(before.len());
    assert_eq!(heard.len(), 3);
    assert!(heard.iter().all(|it| *it == heard[0]), "{heard:?}");
    assert!(!before.contains(&heard[0]) && heard[0] != "s1", "{heard:?}");
    // Now it works, and that is a difference.
    *scene.says.lock().unwrap() = "yes";
    let made = scene
        .shop
        .runs
        .again(&caller("s1"), &id, &calls, false)
        .await;
    let last = made[2].as_ref().unwrap();
    assert!(!last.same);
    let told = &last.difference;
    assert!(told.iter().any(|line| line.contains("said")), "{told:?}");
    assert_eq!(told[0], "- ended: error (tool.provider.run.failed)");
    assert_eq!(told[1], "+ ended: ok");
    // It fails again, but in another way.
    *scene.says.lock().unwrap() = "busy";
    let made = scene
        .shop
        .runs
        .again(&caller("s1"), &id, &calls, false)
        .await;
    let last = made[2].as_ref().unwrap();
    assert!(!last.same);
    let busy = "+ ended: error (tool.provider.limits.rate_limited)";
    assert_eq!(last.difference[1..], [busy.to_owned()]);
    // What was made again is no part of the run.
    let after = scene.shop.runs.recorded(&id).await.unwrap();
    assert_eq!(after.len(), 3);
}
