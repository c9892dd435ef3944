//! `tollgate keepa …`: the pack's commands, each a call through the door.

mod eval;
mod show;
mod tree;

use std::sync::Arc;

use clap::Args;
use tollgate_core::Payload;
use tollgate_engine::Request;

use super::{Exit, Scene, Stop, call};
use tree::Typed;

/// What was typed after `tollgate keepa`.
#[derive(Debug, Args)]
pub(crate) struct Keepa {
    #[command(subcommand)]
    typed: Typed,
}

pub(super) async fn run(typed: &Keepa, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let (command, params) = match &typed.typed {
        Typed::Run(command, params) => (*command, params.clone()),
        Typed::Eval {
            folder,
            fixtures,
            prefix,
        } => return eval::run(folder, fixtures.as_deref(), prefix, scene).await,
    };
    let wired = scene.wire().await?;
    let arguments = Payload::from(serde_json::Value::Object(params));
    let mut request = Request::new(command.name(), arguments);
    request.traceparent = scene.environment.text("TRACEPARENT").map(str::to_owned);
    request.events = Arc::new(call::Progress::on_terminal());
    let outcome = call::waited(&wired.gateway, &scene.caller(), request).await;
    if scene.console.is_json() {
        call::show(&outcome, scene)?;
    } else {
        show::outcome(&outcome, scene)?;
    }
    let delivered = wired.gateway.delivered(&outcome).await;
    wired.close().await;
    delivered?;
    Ok(Exit::from(&outcome))
}
