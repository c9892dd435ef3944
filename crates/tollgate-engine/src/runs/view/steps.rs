//! The steps of a run: what is kept of each, and what the audit log says of its call.
//!
//! Invariant: previews are those of the audit log, which were cleaned when they were written.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tollgate_core::{StoreError, audit::AuditQuery, store::RunRow};
use tollgate_runs::Record;

use super::RunView;
use crate::{call::Inner, runs::body::Body};

/// How many entries of the audit log are read at once.
const PAGE: u32 = 1000;

/// One step of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepShown {
    /// Its name in the template, with the place of its item.
    pub id: String,
    /// What it did: `tool.` and the canonical id of the tool it called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it stands.
    pub state: String,
    /// How often it was tried.
    pub attempts: u32,
    /// A code of document 004 that says why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The gateway's own code for the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The same in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The recorded call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-identifier" = true, "x-volatile" = true))]
    pub call_id: Option<String>,
    /// Who served the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// What the call could do: L0, L1 or L2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability_level: Option<String>,
    /// The trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-identifier" = true, "x-volatile" = true))]
    pub trace_id: Option<String>,
    /// How long the call took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The beginning of what it was called with, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_preview: Option<String>,
    /// The beginning of what it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_preview: Option<String>,
}

impl StepShown {
    /// A step as it is kept.
    pub(super) fn of((id, record): &(String, Record)) -> Self {
        let error = record.error.as_ref();
        let tool = Some(&record.tool).filter(|tool| !tool.is_empty());
        Self {
            id: id.clone(),
            name: tool.map(|tool| named(tool)),
            state: record.state.as_str().to_owned(),
            attempts: record.attempts,
            error_code: error.map(|error| error.code.clone()),
            code: error.and_then(|error| error.own_code.clone()),
            message: error.map(|error| error.message.clone()),
            call_id: record.call.clone(),
            provider_id: None,
            capability_level: None,
            trace_id: None,
            duration_ms: None,
            args_preview: None,
            result_preview: None,
        }
    }

    /// Adds what the audit log says of its call.
    fn add(&mut self, ending: &Value) {
        let text = |name: &str| ending.get(name)?.as_str().map(str::to_owned);
        self.name = text("tool").map(|tool| named(&tool)).or(self.name.take());
        self.provider_id = text("provider");
        self.capability_level = text("capability");
        self.trace_id = text("trace_id");
        let micros = ending.get("duration_us").and_then(Value::as_u64);
        self.duration_ms = micros.map(|micros| micros / 1000);
        self.args_preview = text("args_preview");
        self.result_preview = text("result_preview");
    }
}

/// A tool as document 002 names the step that calls it.
fn named(tool: &str) -> String {
    format!("tool.{tool}")
}

/// The view with what the audit log says of the calls of its steps.
pub(in super::super) async fn with_records(
    inner: &Inner,
    row: &RunRow,
    mut view: RunView,
) -> Result<RunView, StoreError> {
    let Some(steps) = &mut view.steps else {
        return Ok(view);
    };
    let mut called: HashMap<String, &mut StepShown> = steps
        .iter_mut()
        .filter_map(|step| Some((step.call_id.clone()?, step)))
        .collect();
    let traceparent = Body::read(&row.record).map(|body| body.traceparent);
    let trace = traceparent.as_deref().and_then(|it| it.split('-').nth(1));
    let mut query = AuditQuery {
        limit: PAGE,
        kind: Some("ending".to_owned()),
        trace_id: trace.map(str::to_owned),
        ..AuditQuery::default()
    };
    while query.trace_id.is_some() && !called.is_empty() {
        let rows = inner.store.records(&query).await?;
        for row in &rows {
            let id = row.columns.call_id.as_deref().unwrap_or_default();
            if let Some(step) = called.remove(id) {
                step.add(&serde_json::from_str(&row.body).unwrap_or_default());
            }
        }
        query.cursor = rows.last().map(|row| row.seq);
        if rows.len() < PAGE as usize {
            break;
        }
    }
    Ok(view)
}

/// What is known of the steps of a run, those that began first first.
pub(in super::super) async fn read_steps(
    inner: &Inner,
    run: &str,
) -> Result<Vec<(String, Record)>, StoreError> {
    let rows = inner.store.run_steps(run).await?;
    let mut records = Vec::with_capacity(rows.len());
    for (name, bytes) in rows {
        let record: Record = serde_json::from_slice(&bytes)
            .map_err(|_| StoreError::Corrupt("a step of a run cannot be read".to_owned()))?;
        records.push((name, record));
    }
    // What never began has no time of its own and stands last; what began together stands as
    // in the template.
    records.sort_by_key(|(_, record)| (record.began_at.unwrap_or(i64::MAX), record.place));
    Ok(records)
}
