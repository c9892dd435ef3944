//! Steps that wait for a human: where they wait, and what they wait for.
//!
//! Invariant: the answer is looked up where it is kept, so it does not matter who gave it,
//! when, or in which process the run is driven by then.

use std::{
    sync::{PoisonError, atomic::Ordering},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tollgate_core::{
    ErrorCode, StoreError, Timestamp,
    store::{ApprovalState, Batch, Change, RunChange},
};
use tollgate_runs::{Need, Record, StepError, Waits};

use super::{
    errors,
    step::Surroundings,
    task::{self, Questions},
};
use crate::call::Inner;

/// How often an open question is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How long a question of a tool can be answered.
pub(super) const OPEN: Duration = Duration::from_secs(3600);

/// A question that a step of a run waits for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingFor {
    /// The step.
    pub step: String,
    /// The tool it calls.
    pub tool: String,
    /// The question.
    #[schemars(extend("x-identifier" = true))]
    pub approval_id: String,
    /// How a human answers it.
    pub approve: String,
    /// When it can no longer be answered, in milliseconds.
    pub expires_at: i64,
    /// What the human is shown.
    pub preview: Map<String, Value>,
}

impl Surroundings {
    /// The change that makes the run rest, or go on if there is room beside `most` others.
    pub(super) fn rest(&self, rests: bool, most: u32) -> RunChange {
        RunChange::Rest {
            id: self.run.clone(),
            fence: self.fence,
            rests,
            most,
        }
    }
}

/// Waits for the answer; what it is if it lets the step not go on.
pub(super) async fn answered(around: &Surroundings, waits: &Waits) -> Result<(), StepError> {
    loop {
        let is_there = match &waits.need {
            Need::Approval(id) => decided(&around.inner, id).await?,
            Need::Input(questions) => told(around, questions, waits.since).await?,
        };
        if is_there {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    place(around).await;
    Ok(())
}

/// Whether a human has agreed; a question that can no longer be answered is a refusal.
async fn decided(inner: &Inner, id: &str) -> Result<bool, StepError> {
    // A store that fails now is asked again.
    let Ok(found) = inner.store.approval(id).await else {
        return Ok(false);
    };
    let Some(approval) = found else {
        return Err(late());
    };
    let in_time = approval.in_time(inner.clock.now());
    match approval.state {
        ApprovalState::Denied => Err(refusal(ErrorCode::PolicyDenied, "a human said no")),
        // Used up for the whole session, or by the same call elsewhere: asking again tells.
        ApprovalState::Consumed => Ok(true),
        ApprovalState::Granted if in_time => Ok(true),
        ApprovalState::Pending if in_time => Ok(false),
        ApprovalState::Granted | ApprovalState::Pending => Err(late()),
    }
}

/// Whether the caller has answered all that the tool asked.
async fn told(around: &Surroundings, questions: &Value, since: i64) -> Result<bool, StepError> {
    let code = ErrorCode::InputRequired;
    let questions: Questions = serde_json::from_value(questions.clone())
        .map_err(|_| refusal(code, "what it asked cannot be read any more"))?;
    // A store that fails now is asked again.
    let given = task::answers(&around.inner, &around.session.principal, &around.run).await;
    let responses = given.ok().and_then(|(given, _)| questions.answered(&given));
    if let Some(responses) = responses {
        let mut answers = around
            .answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *answers = Some(responses);
        return Ok(true);
    }
    if around.inner.clock.now() >= Timestamp(since).plus(OPEN) {
        return Err(refusal(code, "nobody answered what it asked"));
    }
    Ok(false)
}

fn late() -> StepError {
    refusal(
        ErrorCode::ConfirmationRequired,
        "nobody answered while the question was open",
    )
}

fn refusal(code: ErrorCode, message: &str) -> StepError {
    errors::of_step(code, message)
}

/// Waits for a place, if the run gave its own away.
async fn place(around: &Surroundings) {
    while around.is_resting.load(Ordering::SeqCst) {
        let change = around.rest(false, around.shared.settings.concurrent);
        let batch = Batch {
            changes: vec![Change::Run(change)],
            ..Batch::default()
        };
        match around.inner.store.commit(batch).await {
            Err(StoreError::Busy | StoreError::Held(_)) => tokio::time::sleep(LOOK).await,
            Ok(_) | Err(_) => return,
        }
    }
}

/// What a step waits for, as its caller is told.
pub(super) async fn shown(
    inner: &Inner,
    step: &str,
    record: &Record,
) -> Result<Option<WaitingFor>, StoreError> {
    let Some(Waits {
        need: Need::Approval(id),
        ..
    }) = &record.waits
    else {
        return Ok(None);
    };
    let approval = inner.store.approval(id).await?;
    Ok(approval.map(|approval| WaitingFor {
        step: step.to_owned(),
        tool: approval.tool,
        approve: format!("tollgate approvals approve {id}"),
        approval_id: approval.id,
        expires_at: approval.expires.0,
        preview: approval.preview.as_object().cloned().unwrap_or_default(),
    }))
}
