//! Runs as the document shows them.

mod steps;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tollgate_core::{StoreError, store::RunRow};
use tollgate_runs::Note;

use super::{
    Shared,
    body::{Body, ErrorShown},
    waiting::{self, WaitingFor},
};
use crate::call::Inner;

pub use steps::StepShown;
pub(super) use steps::{read_steps, with_records};

/// The session that a run leaves open is told as it is, in its result and in what it keeps of it:
/// whoever has the run may use it. The schema of `RunView::result` says the same.
pub(super) const SESSION: &str = "/sessionId";

/// How far a run has come.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgressShown {
    /// Steps there are, as far as that is known.
    pub total_steps: usize,
    /// Steps that have ended.
    pub done_steps: usize,
}

/// How long a run took: while it was driven, and did not only wait for a human.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// In milliseconds.
    #[schemars(extend("x-volatile" = true))]
    pub elapsed_ms: u64,
}

/// Something a run left behind.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["artifactId", "type", "size"]))]
pub struct ArtifactShown {
    /// What `get_artifact` wants.
    #[schemars(extend("x-identifier" = true, "x-volatile" = true))]
    pub artifact_id: String,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many bytes.
    pub size: u64,
    /// What it is called.
    pub name: String,
    /// Its type for programs.
    pub mime_type: String,
    /// The digest of its content.
    #[schemars(extend("x-identifier" = true))]
    pub sha256: String,
    /// Where it can be read as a resource.
    #[schemars(extend("x-volatile" = true))]
    pub uri: String,
}

/// A run as it is asked for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["runId", "templateId", "status", "progress", "metrics"]))]
pub struct RunView {
    /// Its id.
    #[schemars(extend("x-identifier" = true, "x-volatile" = true))]
    pub run_id: String,
    /// The template it follows.
    pub template_id: String,
    /// Of which version.
    pub template_version: String,
    /// Where it stands.
    pub status: String,
    /// How far it has come.
    pub progress: ProgressShown,
    /// How long it took.
    pub metrics: Metrics,
    /// What it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("properties" = {
        "sessionId": {"x-identifier": true, "x-volatile": true},
        "usage": {"x-volatile": true},
    }))]
    pub result: Option<Map<String, Value>>,
    /// What it left behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<ArtifactShown>>,
    /// Why it is no success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ErrorShown>,
    /// When it was made, in milliseconds.
    #[schemars(extend("x-volatile" = true))]
    pub created_at: i64,
    /// When it last changed.
    #[schemars(extend("x-volatile" = true))]
    pub updated_at: i64,
    /// The session its steps belong to.
    #[schemars(extend("x-volatile" = true))]
    pub session_id: String,
    /// What a human has to agree to before it can go on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<WaitingFor>,
    /// Its steps that have begun or ended, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepShown>>,
    /// Whether anything it is built on holds text that reads like instructions.
    #[serde(skip)]
    pub tainted: bool,
    /// In what way the result is not what the template promises.
    #[serde(skip)]
    pub misfit: Option<String>,
}

/// Where an artifact can be read as a resource.
pub(super) fn uri(artifact: &str) -> String {
    format!("{}{artifact}", super::provider::ARTIFACTS)
}

impl From<&Note> for ArtifactShown {
    fn from(note: &Note) -> Self {
        Self {
            artifact_id: note.artifact_id.clone(),
            kind: note.kind.clone(),
            size: note.size,
            name: note.name.clone(),
            mime_type: note.mime_type.clone(),
            sha256: note.sha256.clone(),
            uri: uri(&note.artifact_id),
        }
    }
}

impl RunView {
    /// Without its steps, whose number has no bound.
    #[must_use]
    pub(super) fn in_short(mut self) -> Self {
        self.steps = None;
        self
    }
}

impl Shared {
    /// A run with all that is kept of it.
    pub(super) async fn view(&self, inner: &Inner, row: &RunRow) -> Result<RunView, StoreError> {
        let body = Body::read(&row.record)
            .ok_or_else(|| StoreError::Corrupt("a run cannot be read".to_owned()))?;
        let records = read_steps(inner, &row.id).await?;
        let mut waiting_for = Vec::new();
        for (name, record) in &records {
            waiting_for.extend(waiting::shown(inner, name, record).await?);
        }
        let settled = records
            .iter()
            .filter(|(_, record)| record.state.is_settled())
            .count();
        let done = if row.is_over { body.done } else { settled };
        let artifacts: Vec<ArtifactShown> = if row.is_over {
            body.artifacts.iter().map(Into::into).collect()
        } else {
            let notes = records.iter().flat_map(|(_, record)| &record.artifacts);
            notes.map(Into::into).collect()
        };
        Ok(RunView {
            run_id: row.id.clone(),
            template_id: row.template.clone(),
            template_version: body.version.clone(),
            status: row.status.clone(),
            progress: ProgressShown {
                total_steps: body.total.max(done),
                done_steps: done,
            },
            metrics: Metrics {
                elapsed_ms: body.elapsed_ms(inner.clock.now()),
            },
            result: body.result.as_ref().and_then(Value::as_object).cloned(),
            artifacts: row
                .is_over
                .then_some(artifacts)
                .filter(|all| !all.is_empty()),
            error: body.error.clone(),
            created_at: row.created.0,
            updated_at: row.updated.0,
            session_id: body.session_id.unwrap_or(body.conversation),
            waiting_for,
            steps: Some(records.iter().map(StepShown::of).collect()),
            tainted: body.tainted,
            misfit: body.misfit.clone(),
        })
    }
}
