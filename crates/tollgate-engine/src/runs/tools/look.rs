//! Looking at runs: one with all that is known of it, or many in short.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_core::{
    CallContext, Principal, ProviderError,
    store::{RunQuery, RunRow},
    toolset::Output,
};
use tollgate_runs::Status;

use super::{Handle, shaped};
use crate::{
    call::Inner,
    runs::{
        errors,
        view::{RunView, with_records},
    },
};

/// How many runs are listed unless another number is asked for.
pub const LISTED: u32 = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RunId {
    /// As `run_task_template` answered it.
    #[schemars(length(min = 1, max = 64))]
    pub(super) run_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct GetArgs {
    /// As `run_task_template` answered it.
    #[schemars(length(min = 1, max = 64))]
    run_id: String,
    /// Whether its steps are wanted too, each with its tool, provider, level, trace and previews.
    #[serde(default)]
    include_steps: bool,
}

/// A run that belongs to who asks.
pub(super) async fn own_run(
    inner: &Inner,
    id: &str,
    principal: &Principal,
) -> Result<RunRow, ProviderError> {
    let row = inner.store.run(id).await.map_err(errors::from_store)?;
    row.filter(|row| row.session.principal == *principal)
        .ok_or_else(|| errors::no_run(id))
}

pub(super) async fn get(
    shared: Arc<Handle>,
    args: GetArgs,
    cx: CallContext,
) -> Result<Output<RunView>, ProviderError> {
    let inner = shared.engine()?;
    shared.begin(&inner);
    let row = own_run(&inner, &args.run_id, &cx.principal).await?;
    let view = shared
        .view(&inner, &row)
        .await
        .map_err(errors::from_store)?;
    let view = match args.include_steps {
        true => with_records(&inner, &row, view)
            .await
            .map_err(errors::from_store)?,
        false => view.in_short(),
    };
    shaped(view, |view| *view)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ListArgs {
    /// Only runs that stand there.
    #[serde(default)]
    status: Option<StatusWanted>,
    /// Only runs of this template.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    template_id: Option<String>,
    /// How many at most.
    #[serde(default = "listed")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
    /// How many to leave out first.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    offset: u32,
}

fn listed() -> u32 {
    LISTED
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StatusWanted {
    Queued,
    Running,
    Succeeded,
    Failed,
    Canceled,
    PartialSuccess,
}

impl StatusWanted {
    const fn status(self) -> Status {
        match self {
            Self::Queued => Status::Queued,
            Self::Running => Status::Running,
            Self::Succeeded => Status::Succeeded,
            Self::Failed => Status::Failed,
            Self::Canceled => Status::Canceled,
            Self::PartialSuccess => Status::PartialSuccess,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Listed {
    runs: Vec<ListedRun>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedRun {
    #[schemars(extend("x-identifier" = true))]
    run_id: String,
    template_id: String,
    status: String,
    created_at: i64,
    updated_at: i64,
}

pub(super) async fn list(
    shared: Arc<Handle>,
    args: ListArgs,
    cx: CallContext,
) -> Result<Listed, ProviderError> {
    let inner = shared.engine()?;
    shared.begin(&inner);
    let query = RunQuery {
        principal: Some(cx.principal.clone()),
        status: args
            .status
            .map(|status| status.status().as_str().to_owned()),
        template: args.template_id,
        limit: args.limit,
        offset: args.offset,
    };
    let rows = inner.store.runs(&query).await.map_err(errors::from_store)?;
    let runs = rows.into_iter().map(|row| ListedRun {
        run_id: row.id,
        template_id: row.template,
        status: row.status,
        created_at: row.created.0,
        updated_at: row.updated.0,
    });
    Ok(Listed {
        runs: runs.collect(),
    })
}
