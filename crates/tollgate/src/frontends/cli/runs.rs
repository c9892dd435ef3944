//! `tollgate runs`: what templates were run, how it goes, and what came of it.

use std::{
    io::{IsTerminal, Write},
    time::Duration,
};

use clap::{Args, Subcommand, value_parser};
use serde_json::{Value, json};
use tollgate_core::{Payload, store::RunQuery};
use tollgate_engine::{
    Request,
    runs::{LISTED, RunView, StepShown},
};
use tollgate_runs::Status;

use super::{Exit, Scene, Stop, call, console::Paint, replay, templates};
use crate::wire::Wired;

/// How often a run is looked at while it is watched.
const LOOK: Duration = Duration::from_millis(200);
/// The most that are listed at once.
const MOST_LISTED: i64 = 100_000;
/// How wide the bar is.
const BAR: usize = 30;

#[derive(Debug, Args)]
pub(crate) struct Runs {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// List runs, the newest first
    List {
        /// Only those that stand there
        #[arg(long, value_parser = Status::ALL.map(Status::as_str))]
        status: Option<String>,
        /// Only those of this template
        #[arg(long)]
        template: Option<String>,
        /// How many at most
        #[arg(long, short = 'n', default_value_t = LISTED, value_parser = value_parser!(u32).range(1..=MOST_LISTED))]
        limit: u32,
        /// How many to leave out first
        #[arg(long, default_value_t = 0)]
        offset: u32,
    },
    /// Show one run with its steps
    Show {
        /// The run
        id: String,
    },
    /// Ask a run to stop after the step that is under way
    Cancel {
        /// The run
        id: String,
    },
    /// Follow a run until it is over
    Watch {
        /// The run; the newest, if none is named
        id: Option<String>,
    },
    /// Play the recorded steps of a run back, or make its calls again and show what differs
    Replay {
        /// The run
        id: String,
        /// Really make the calls again
        #[arg(long)]
        live: bool,
        /// Accept the cost of the calls that are made again
        #[arg(long, requires = "live")]
        yes: bool,
    },
    /// List, check, show and draw the templates that can be run
    Templates(templates::Templates),
}

pub(super) async fn run(runs: &Runs, scene: &Scene<'_>) -> Result<Exit, Stop> {
    if let Action::Templates(templates) = &runs.action {
        return templates::run(templates, scene).await;
    }
    let wired = scene.wire().await?;
    let exit = match &runs.action {
        Action::List {
            status,
            template,
            limit,
            offset,
        } => {
            let query = RunQuery {
                status: status.clone(),
                template: template.clone(),
                limit: *limit,
                offset: *offset,
                ..RunQuery::default()
            };
            list(&query, &wired, scene).await?
        }
        Action::Show { id } => {
            show(&found(&wired, id).await?, scene)?;
            Exit::Ok
        }
        Action::Cancel { id } => cancel(id, &wired, scene).await?,
        Action::Watch { id } => {
            let id = match id {
                Some(id) => id.clone(),
                None => newest(&wired).await?,
            };
            watch(&id, &wired, scene).await?
        }
        Action::Replay { id, live, yes } => {
            let again = live.then_some(replay::Again { accepts_cost: *yes });
            replayed(id, again, &wired, scene).await?
        }
        Action::Templates(_) => Exit::Ok,
    };
    wired.close().await;
    Ok(exit)
}

async fn found(wired: &Wired, id: &str) -> Result<RunView, Stop> {
    named(wired.runs.show(id).await?, id)
}

fn named(view: Option<RunView>, id: &str) -> Result<RunView, Stop> {
    view.ok_or_else(|| {
        Stop::usage(format!(
            "there is no run `{id}`; `tollgate runs list` shows those there are"
        ))
    })
}

async fn newest(wired: &Wired) -> Result<String, Stop> {
    let query = RunQuery {
        limit: 1,
        ..RunQuery::default()
    };
    let rows = wired.gateway.store().runs(&query).await?;
    let first = rows.into_iter().next().map(|row| row.id);
    first.ok_or_else(|| {
        Stop::usage("there is no run yet; `tollgate runs templates list` shows what can be run")
    })
}

async fn list(query: &RunQuery, wired: &Wired, scene: &Scene<'_>) -> Result<Exit, Stop> {
    // One more than is shown tells whether there are more.
    let asked = RunQuery {
        limit: query.limit.saturating_add(1),
        ..query.clone()
    };
    let mut rows = wired.gateway.store().runs(&asked).await?;
    let shown = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let has_more = rows.len() > shown;
    rows.truncate(shown);
    if scene.console.is_json() {
        let runs: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "runId": row.id,
                    "templateId": row.template,
                    "status": row.status,
                    "principal": row.session.principal.as_str(),
                    "createdAt": row.created.0,
                    "updatedAt": row.updated.0,
                })
            })
            .collect();
        scene
            .console
            .json(&json!({"runs": runs, "hasMore": has_more}))?;
        return Ok(Exit::Ok);
    }
    if rows.is_empty() {
        scene.console.note("there is no such run");
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| {
            vec![
                row.id,
                row.status,
                row.template,
                row.created.to_string(),
                row.session.principal.to_string(),
            ]
        })
        .collect();
    scene
        .console
        .table(&["RUN", "STATUS", "TEMPLATE", "MADE", "BY"], &rows)?;
    if has_more {
        let next = query.offset.saturating_add(query.limit);
        let line = format!("there are more: --offset {next} goes on, -n shows more at once");
        scene.console.note(&line);
    }
    Ok(Exit::Ok)
}

fn show(view: &RunView, scene: &Scene<'_>) -> Result<(), Stop> {
    let console = scene.console;
    if console.is_json() {
        return Ok(console.json(view)?);
    }
    console.line(&format!(
        "{}  {} {}  {}  {}/{} steps, {} ms",
        console.paint(Paint::Strong, &view.run_id),
        view.template_id,
        view.template_version,
        console.paint(paint(&view.status), &view.status),
        view.progress.done_steps,
        view.progress.total_steps,
        view.metrics.elapsed_ms,
    ))?;
    let rows: Vec<Vec<String>> = view.steps.iter().flatten().map(row).collect();
    if !rows.is_empty() {
        console.table(
            &["STEP", "CALLS", "STATE", "TRIES", "CODE", "WHY", "CALL"],
            &rows,
        )?;
    }
    for each in &view.waiting_for {
        let line = format!("{} waits for a human:  {}", each.step, each.approve);
        console.line(&console.paint(Paint::Warn, &line))?;
    }
    if let Some(misfit) = &view.misfit {
        let line = format!("the result is not what the template promises: {misfit}");
        console.line(&console.paint(Paint::Warn, &line))?;
    }
    let value = json!(view);
    for part in ["error", "result", "artifacts"] {
        if let Some(value) = value.get(part) {
            console.line(&console.paint(Paint::Faint, part))?;
            console.readable(value)?;
        }
    }
    Ok(())
}

fn row(step: &StepShown) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    vec![
        step.id.clone(),
        text(&step.name),
        step.state.clone(),
        step.attempts.to_string(),
        text(&step.error_code),
        text(&step.message),
        text(&step.call_id),
    ]
}

fn paint(status: &str) -> Paint {
    match status {
        "succeeded" => Paint::Good,
        "failed" => Paint::Bad,
        "canceled" | "partial_success" => Paint::Warn,
        _ => Paint::Faint,
    }
}

async fn cancel(id: &str, wired: &Wired, scene: &Scene<'_>) -> Result<Exit, Stop> {
    let arguments = Payload::from(json!({"runId": id}));
    let request = Request::new("cancel_task_run", arguments);
    let outcome = call::waited(&wired.gateway, &scene.caller(), request).await;
    call::show(&outcome, scene)?;
    wired.gateway.delivered(&outcome).await?;
    Ok(Exit::from(&outcome))
}

/// Follows a run; it is driven here if nobody else does.
async fn watch(id: &str, wired: &Wired, scene: &Scene<'_>) -> Result<Exit, Stop> {
    wired.runs.work();
    let is_seen = std::io::stderr().is_terminal();
    let mut told = String::new();
    loop {
        let view = named(wired.runs.look(id).await?, id)?;
        let line = bar(&view);
        if line != told {
            let mut err = std::io::stderr().lock();
            if is_seen {
                write!(err, "\r\x1b[2K{line}")?;
                err.flush()?;
            } else {
                writeln!(err, "{line}")?;
            }
            told = line;
        }
        let is_over = !matches!(view.status.as_str(), "queued" | "running");
        if is_over {
            if is_seen {
                scene.console.note("");
            }
            show(&found(wired, id).await?, scene)?;
            return Ok(match view.status.as_str() {
                "succeeded" | "partial_success" => Exit::Ok,
                _ => Exit::ToolError,
            });
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn bar(view: &RunView) -> String {
    let progress = (view.progress.done_steps, view.progress.total_steps);
    let mut steps = view.steps.iter().flatten().rev();
    let step = steps.find(|step| step.state == "running");
    let mut words = vec![view.status.clone()];
    words.extend(step.map(|step| step.id.clone()));
    let waiting = view.waiting_for.first();
    words.extend(waiting.map(|it| format!("waits for a human: {}", it.approve)));
    drawn(progress, &words)
}

/// How far something has come, and what is said beside it.
fn drawn((done, total): (usize, usize), words: &[String]) -> String {
    let full = (BAR * done / total.max(1)).min(BAR);
    let (before, after) = ("#".repeat(full), ".".repeat(BAR - full));
    format!("[{before}{after}] {done}/{total} {}", words.join(" "))
}

async fn replayed(
    id: &str,
    live: Option<replay::Again>,
    wired: &Wired,
    scene: &Scene<'_>,
) -> Result<Exit, Stop> {
    found(wired, id).await?;
    let calls = wired.runs.recorded(id).await?;
    let mut ending = replay::Ending::default();
    let mut steps = Vec::new();
    if let Some(live) = live {
        let caller = scene.caller();
        let made = wired.runs.again(&caller, id, &calls, live.accepts_cost);
        for (call, again) in calls.iter().zip(made.await) {
            steps.push(replay::compared(call, again, &mut ending));
        }
    } else {
        steps.extend(calls.iter().map(replay::playback));
    }
    for (step, call) in steps.iter_mut().zip(&calls) {
        step["run_step"] = call.field("run_step").into();
    }
    if scene.console.is_json() {
        scene.console.json(&json!({"runId": id, "steps": steps}))?;
    } else {
        for step in &steps {
            let name = step["run_step"].as_str().unwrap_or_default();
            scene
                .console
                .line(&scene.console.paint(Paint::Strong, name))?;
            replay::show(step, scene)?;
        }
        ending.advise(scene);
    }
    Ok(ending.exit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_as_full_as_the_run_has_come() {
        let bar = |done, total| drawn((done, total), &["running".to_owned(), "exec".to_owned()]);
        let (full, empty) = ("#".repeat(10), ".".repeat(20));
        assert_eq!(bar(1, 3), format!("[{full}{empty}] 1/3 running exec"));
        assert_eq!(bar(0, 0), format!("[{}] 0/0 running exec", ".".repeat(30)));
        assert_eq!(bar(3, 3), format!("[{}] 3/3 running exec", "#".repeat(30)));
        assert_eq!(bar(9, 3), format!("[{}] 9/3 running exec", "#".repeat(30)));
    }
}
