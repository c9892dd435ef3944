//! Whatever is called in whatever order: one ending each, a whole chain, no overspending.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use tollgate_core::{ErrorCode, FromCache, ProviderError, ToolSpec};
use tollgate_engine::{Decided, Outcome, Request};
use tollgate_testkit::fakes::{asks, fails, says};

use crate::support::{
    Setup, World, details, never, panics, priced, request, spec_kept, spec_paid, spec_read,
    spec_write,
};

/// The most a session may spend here.
const LIMIT: u64 = 40;

/// One thing a caller does.
#[derive(Debug, Clone)]
struct Step {
    tool: &'static str,
    argument: u8,
    yes: bool,
    from_cache: bool,
    dry_run: bool,
    key: Option<u8>,
    gone: bool,
    delivered: bool,
    approves: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let tools = prop::sample::select(vec![
        "t.look",
        "t.buy",
        "t.dear",
        "t.write",
        "t.free",
        "t.fails",
        "t.breaks",
        "t.hangs",
        "t.lies",
        "t.asks",
        "t.unheard_of",
        "tools.call",
    ]);
    let flags = prop::array::uniform6(prop::bool::weighted(0.3));
    (tools, 0..3_u8, flags, prop::option::weighted(0.2, 0..3_u8)).prop_map(
        |(tool, argument, [yes, from_cache, dry_run, gone, delivered, approves], key)| Step {
            tool,
            argument,
            yes,
            from_cache: from_cache && yes,
            dry_run: dry_run && delivered,
            key,
            gone: gone && !delivered,
            delivered,
            approves,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_call_ends_once_and_no_limit_is_passed(
        steps in prop::collection::vec(step(), 1..24),
        at_once in prop::bool::ANY,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let world = Arc::new(shop().await);
            let calls = steps.len();
            if at_once {
                let tasks: Vec<_> = steps
                    .into_iter()
                    .map(|step| {
                        let world = Arc::clone(&world);
                        tokio::spawn(async move { take(&world, step).await })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
            } else {
                for step in steps {
                    take(&world, step).await;
                }
            }
            while world.rows("ending").await.len() < calls {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            world.check(calls).await;
            let spent = world.session("s1").await.consumed;
            assert!(spent <= LIMIT, "{spent}");
        });
    }
}

async fn take(world: &World, step: Step) {
    let wanted = wanted(&step);
    if step.gone {
        wanted.cancel.cancel();
    }
    let outcome: Outcome = world.ask(wanted).await;
    if step.delivered {
        world.gateway.delivered(&outcome).await.unwrap();
    }
    if step.approves
        && let Some(id) = details(&outcome)["approval_id"].as_str()
        && let Some(approval) = world.gateway.store().approval(id).await.unwrap()
    {
        drop(world.gateway.decide(&approval, &Decided::Once, "ann").await);
    }
}

fn wanted(step: &Step) -> Request {
    let arguments = match step.tool {
        "tools.call" => format!(
            r#"{{"name":"t.buy","arguments":{{"n":{}}}}}"#,
            step.argument
        ),
        _ => format!(r#"{{"n":{}}}"#, step.argument),
    };
    let mut wanted = request(step.tool, &arguments);
    wanted.control.yes = step.yes;
    if step.from_cache {
        wanted.control.from_cache = FromCache::SameArguments;
    }
    wanted.control.dry_run = step.dry_run;
    wanted.control.idempotency_key = step.key.map(|key| format!("k{key}"));
    wanted
}

async fn shop() -> World {
    let paid = |name: &str| spec_paid(name, 6, false);
    let free = ToolSpec {
        cost: paid("x").cost,
        toolsets: vec!["free".to_owned()],
        ..spec_write("t.free")
    };
    let lies = ToolSpec {
        output_schema: Some(json!({"type": "array"}).into()),
        ..paid("t.lies")
    };
    let hangs = ToolSpec {
        timeout_ms: 100,
        ..paid("t.hangs")
    };
    Setup::new()
        .tool(spec_kept("t.look"), says(json!({"n": 1})))
        .tool(paid("t.buy"), priced(json!({"n": 2}), 4))
        .tool(spec_paid("t.dear", 9, true), says(json!({"n": 3})))
        .tool(spec_write("t.write"), says(json!({"n": 4})))
        .tool(free, says(json!({"n": 5})))
        .tool(
            paid("t.fails"),
            fails(|| ProviderError::new(ErrorCode::ToolFailed, "no")),
        )
        .tool(spec_read("t.breaks"), panics())
        .tool(hangs, never())
        .tool(lies, says(json!({})))
        .tool(spec_write("t.asks"), asks(json!({}), Vec::new()))
        .settings(|settings| settings.session_limit = Some(LIMIT))
        .rules(
            r#"@id("free") permit (principal, action == Action::"call", resource)
                when { resource.toolsets.contains("free") };"#,
        )
        .build()
        .await
}
