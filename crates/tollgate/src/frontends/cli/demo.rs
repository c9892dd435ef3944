//! `tollgate demo`: a governed session from end to end, offline, in a folder that is
//! thrown away. Every step is a real call through the real door.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Value, json};
use tollgate_core::Payload;
use tollgate_engine::{Decided, Gateway, Outcome, Request, random_hex};

use super::{Exit, Scene, Stop, console::Console, console::Paint};
use crate::config::{Config, Environment, Flags};

/// A folder that goes away with its owner.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

pub(super) async fn run(_: &Environment, console: &Console) -> Result<Exit, Stop> {
    let folder = std::env::temp_dir().join(format!("tollgate-demo-{}", random_hex(6)?));
    std::fs::create_dir_all(folder.join("config/tollgate"))?;
    let scratch = Scratch(folder.clone());
    std::fs::write(folder.join("config/tollgate/tollgate.toml"), CONFIG)?;
    let variables = [
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
    ];
    let environment = Environment {
        variables: variables
            .map(|(name, below)| (name.into(), folder.join(below).into()))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        home: Some(folder.clone()),
        current_dir: folder,
        ..Environment::default()
    };
    let config = Config::load(&environment, &Flags::default()).map_err(|errors| Stop {
        exit: Exit::Usage,
        lines: errors.iter().map(ToString::to_string).collect(),
    })?;
    let scene = Scene {
        console,
        environment,
        config,
        session: "demo".to_owned(),
        named: None,
        profile: None,
    };
    let played = play(&scene).await;
    drop(scratch);
    played
}

const CONFIG: &str = r#"
[limits]
session_tokens = 10

[providers.stub]
tools = ["prices.lookup"]
units = 4
"#;

async fn play(scene: &Scene<'_>) -> Result<Exit, Stop> {
    let wired = scene.wire().await?;
    let gateway = &wired.gateway;
    let say = |title: &str| {
        scene
            .console
            .line(&format!("\n{}", scene.console.paint(Paint::Strong, title)))
    };

    say("1. A call: checked, permitted, metered, cleaned, written down")?;
    step(
        gateway,
        scene,
        "text.stats",
        json!({"text": "hello from the gate"}),
    )
    .await?;

    say("2. The same call again: answered from the session, nothing consumed")?;
    step(
        gateway,
        scene,
        "text.stats",
        json!({"text": "hello from the gate"}),
    )
    .await?;

    say("3. A call that costs 4 of the session's 10 units")?;
    step(gateway, scene, "prices.lookup", json!({"item": "lamp"})).await?;

    say("4. What the answer must not carry is taken out")?;
    let leak = "write to ada@example.com, key AKIA".to_owned() + "IOSFODNN7EXAMPLQ";
    step(gateway, scene, "text.lines", json!({"text": leak})).await?;

    say("5. A call that changes something: refused until a human consents")?;
    let change = json!({"limit": 1000});
    let refused = step(gateway, scene, "session.set_limit", change.clone()).await?;
    let id = refused
        .pointer("/error/details/approval_id")
        .and_then(Value::as_str)
        .ok_or_else(|| Stop::failed("the demo expected to be asked for consent"))?
        .to_owned();

    say(
        "6. The human consents (here the demo plays the human: `tollgate approvals approve` asks at a terminal)",
    )?;
    let approval = gateway.store().approval(&id).await?;
    let approval = approval.ok_or_else(|| Stop::failed("the approval is gone"))?;
    gateway
        .decide(&approval, &Decided::Once, "the demo")
        .await?;
    scene
        .console
        .line(&format!("   approved {id}, for this call, once"))?;

    say("7. The same call goes through, exactly once")?;
    step(gateway, scene, "session.set_limit", change.clone()).await?;
    say("8. And asks again the next time")?;
    step(gateway, scene, "session.set_limit", change).await?;

    say("9. The ledger")?;
    let key = scene.caller().session;
    if let Some(session) = gateway.store().session(&key).await? {
        scene
            .console
            .line(&format!("   {}", json!(session.ledger())))?;
    }
    wired.close().await;

    say("10. The audit log, checked from the first entry to the last")?;
    verify(scene).await
}

async fn verify(scene: &Scene<'_>) -> Result<Exit, Stop> {
    let audit = super::arguments::Audit {
        action: super::arguments::AuditAction::Verify,
    };
    super::audit::run(&audit, scene).await
}

async fn step(
    gateway: &Gateway,
    scene: &Scene<'_>,
    tool: &str,
    arguments: Value,
) -> Result<Value, Stop> {
    let console = scene.console;
    console.line(&format!("   $ tollgate call {tool} --args '{arguments}'"))?;
    let outcome: Outcome = gateway
        .call(
            &scene.caller(),
            Request::new(tool, Payload::from(arguments)),
        )
        .await;
    gateway.delivered(&outcome).await?;
    let envelope = serde_json::to_value(outcome.envelope.get()).unwrap_or_default();
    let part = |pointer: &str| envelope.pointer(pointer).cloned().unwrap_or_default();
    let shown = if part("/ok") == Value::Bool(true) {
        let word = console.paint(Paint::Good, "ok");
        format!("{word} {} cache_hit={}", part("/data"), part("/cache_hit"))
    } else {
        let word = console.paint(Paint::Warn, part("/error/kind").as_str().unwrap_or("error"));
        format!(
            "{word} {}",
            part("/error/message").as_str().unwrap_or_default()
        )
    };
    console.line(&format!("   {shown}"))?;
    Ok(envelope)
}
