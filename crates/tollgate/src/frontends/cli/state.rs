//! `tollgate state`: whether the state is the one that was acknowledged, and an operator's word for it.

use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::json;
use tollgate_core::{Clock, SystemClock, store::StateProblem};
use tollgate_store::SqliteStore;

use super::{Exit, Scene, Stop, console::Paint, terminal};
use crate::wire;

#[derive(Debug, Args)]
pub(crate) struct State {
    #[command(subcommand)]
    pub(crate) action: StateAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StateAction {
    /// Say what is wrong with the state, if anything is
    Check,
    /// Accept the state as it is, at a terminal; the audit log keeps it for good
    Accept,
}

pub(super) async fn run(args: &State, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let clock = Arc::new(SystemClock);
    let store = SqliteStore::open(wire::store_settings(&scene.config), clock.clone())
        .map_err(|error| Stop::failed(error.to_string()))?;
    let problems = store.problems()?;
    let done = match args.action {
        StateAction::Check => check(&problems, scene),
        StateAction::Accept => accept(&store, &problems, scene, clock.now()),
    };
    store.close().await;
    done
}

fn check(problems: &[StateProblem], scene: &Scene<'_>) -> Result<Exit, Stop> {
    let console = scene.console;
    if console.is_json() {
        console.json(&json!({"problems": problems}))?;
    } else if problems.is_empty() {
        console.line(&console.paint(Paint::Good, "the state is the one that was acknowledged"))?;
    } else {
        console.line(&console.paint(Paint::Bad, "effects are refused"))?;
        for problem in problems {
            console.line(&format!("  {problem}"))?;
        }
    }
    Ok(if problems.is_empty() {
        Exit::Ok
    } else {
        Exit::ToolError
    })
}

/// Only a human at a terminal accepts: tokens lie in the state that is in question.
fn accept(
    store: &SqliteStore,
    problems: &[StateProblem],
    scene: &Scene<'_>,
    now: tollgate_core::Timestamp,
) -> Result<Exit, Stop> {
    let console = scene.console;
    if problems.is_empty() {
        console.note("there is nothing to accept");
        return Ok(Exit::Ok);
    }
    let by = terminal::typed_code(&shown(problems, scene))?;
    let accepted = store.accept(&by, now)?;
    if console.is_json() {
        console.json(&json!({"accepted": accepted, "by": by}))?;
    } else {
        console.line(&console.paint(Paint::Warn, "accepted, and written down in the audit log"))?;
    }
    Ok(Exit::Ok)
}

fn shown(problems: &[StateProblem], scene: &Scene<'_>) -> String {
    let lines = problems.iter().map(|problem| format!("\n  {problem}"));
    format!(
        "The state in {} is not the one that was acknowledged:{}\n\
         Accepting it means that approvals and idempotency keys used since may work again.",
        scene.config.state.dir.display(),
        lines.collect::<String>()
    )
}
