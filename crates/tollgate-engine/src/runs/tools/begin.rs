//! Starting a run, and waiting for it where that is wanted.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::{
    CallContext, Event, Failure, Payload, ProviderError, ToolResult, store::RunRow, toolset::Output,
};
use tollgate_runs::Status;

use super::{Handle, cancel::call_off, shaped, warnings};
use crate::{
    call::Inner,
    runs::{
        Shared, errors,
        start::{Mode, RunArgs},
        view::RunView,
    },
};

/// How often a run that another process drives is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What starting a run answers: the run itself if it is waited for, else how to find it.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Started {
    /// It is over.
    Done(Box<RunView>),
    /// It goes on.
    Queued {
        /// What `get_task_run` wants.
        #[serde(rename = "runId")]
        #[schemars(extend("x-identifier" = true, "x-volatile" = true))]
        run_id: String,
        /// Where it stands.
        status: String,
        /// When it was made, in milliseconds.
        #[serde(rename = "createdAt")]
        #[schemars(extend("x-volatile" = true))]
        created_at: i64,
    },
}

pub(super) async fn start(
    shared: Arc<Handle>,
    args: RunArgs,
    cx: CallContext,
) -> Result<Output<Started>, ProviderError> {
    let shared = Arc::clone(&shared);
    let inner = shared.engine()?;
    let ready = shared.ready(&args, cx.trust)?.if_agreed(&cx)?;
    let is_sync = match args.options.mode {
        Mode::Sync => true,
        Mode::Async => false,
        Mode::Auto => ready.run.is_sync_by_default(),
    };
    let row = shared.open(&inner, &args, &ready, &cx).await?;
    shared.begin(&inner);
    if !is_sync {
        // It may be under way already; its first state is what the document answers.
        return Ok(Output::Data(Started::Queued {
            run_id: row.id,
            status: Status::Queued.as_str().to_owned(),
            created_at: row.created.0,
        }));
    }
    let row = waited(&shared, &inner, &row.id, &cx).await?;
    let view = shared
        .view(&inner, &row)
        .await
        .map_err(errors::from_store)?
        .in_short();
    let failure = view
        .error
        .as_ref()
        .filter(|_| view.status != "partial_success")
        .map(|error| errors::answered(error).into_failure(false));
    ended(view, failure)
}

/// The run that was waited for. One that failed is an error and still the same object.
fn ended(view: RunView, failure: Option<Failure>) -> Result<Output<Started>, ProviderError> {
    let Some(mut failure) = failure else {
        return shaped(view, Started::Done);
    };
    failure.next_steps = vec!["get_task_run".to_owned()];
    let warnings = warnings(&view);
    let run = Payload::from_serialize(&view).map_err(ProviderError::unavailable)?;
    Ok(Output::Result(Box::new(ToolResult {
        warnings,
        ..ToolResult::failed(run, failure)
    })))
}

/// Waits for a run to be over or to need a human, wherever it is driven; whoever goes away
/// calls it off.
async fn waited(
    shared: &Arc<Shared>,
    inner: &Arc<Inner>,
    id: &str,
    cx: &CallContext,
) -> Result<RunRow, ProviderError> {
    let mut is_called_off = false;
    loop {
        let row = inner.store.run(id).await.map_err(errors::from_store)?;
        let row = row.ok_or_else(|| errors::no_run(id))?;
        if row.is_over || row.is_resting {
            return Ok(row);
        }
        if cx.cancel.is_cancelled() && !is_called_off {
            // A wish that could not be kept is said again.
            is_called_off = call_off(shared, inner, id).await.is_ok();
        }
        match shared.driven(id) {
            Some(driven) => {
                let mut live = driven.live.subscribe();
                let mut told = (usize::MAX, 0);
                loop {
                    let now = live.borrow_and_update().clone();
                    if told != (now.done, now.total) {
                        told = (now.done, now.total);
                        cx.events.emit(Event::Progress {
                            done: now.done as f64,
                            total: Some(now.total as f64).filter(|total| *total > 0.0),
                            message: Some(now.message.clone()).filter(|it| !it.is_empty()),
                        });
                    }
                    if now.is_over || now.is_resting {
                        break;
                    }
                    tokio::select! {
                        changed = live.changed() => if changed.is_err() { break },
                        () = cx.cancel.cancelled(), if !is_called_off => {
                            is_called_off = call_off(shared, inner, id).await.is_ok();
                            if !is_called_off {
                                tokio::time::sleep(LOOK).await;
                            }
                        }
                    }
                }
            }
            None => tokio::time::sleep(LOOK).await,
        }
    }
}
