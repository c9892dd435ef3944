//! The seven tools of document 004.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use tollgate_core::{
    CallContext, ErrorCode, Event, Payload, Principal, ProviderError, Status as CallStatus,
    StoreError, Tool, ToolResult, ToolSet, Warning,
    store::{Batch, Change, Durability, RunChange, RunQuery, RunRow},
    toolset::Output,
};
use tollgate_runs::{Status, Template};

use super::{
    Shared, artifacts, errors,
    start::{Mode, RunArgs},
    view::RunView,
};
use crate::call::Inner;

/// The tool that starts runs.
pub(super) const RUN: &str = "run_task_template";
/// How much longer than its run a call may take.
const MARGIN: Duration = Duration::from_secs(10);
/// How often a run that another process drives is looked at.
const LOOK: Duration = Duration::from_millis(200);

const SETS: &[&str] = &["runs"];

/// What the tools share.
pub(super) type Handle = Arc<Shared>;

pub(super) fn all(shared: &Arc<Shared>) -> ToolSet<Handle> {
    let timeout = shared.settings.timeout + MARGIN;
    let mut run = Tool::write(
        RUN,
        "Run a task template",
        "Runs a template: steps that call other tools in order, with retries, limits and artifacts. It needs the \
         consent that its steps need, once for the whole run; a step that a human has to see first makes it wait, and \
         `waitingFor` says what to approve. `options.mode`: `sync` waits and answers the whole run, \
         `async` answers a `runId` at once for `get_task_run`, `auto` is as the template says. Unknown template: \
         TEMPLATE_NOT_FOUND, use `list_task_templates`. A step that fails: STEP_EXECUTION_FAILED with the step and its \
         code in `details`. Too slow: RUN_TIMEOUT, allow more time or do less.",
    )
    .sets(SETS);
    run.capability = tollgate_core::Capability::L0;
    run.timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    let mut cancel = Tool::write(
        "cancel_task_run",
        "Cancel a run",
        "Asks a run of yours to stop. The step that is under way ends first, those after it are skipped, and what was \
         done so far stays readable; `get_task_run` shows when it is `canceled`. A run that is over: \
         `cancelRequested` is false. Unknown run: RUN_NOT_FOUND.",
    )
    .sets(SETS);
    cancel.capability = tollgate_core::Capability::L0;
    cancel.annotations.idempotent = true;
    ToolSet::new("runs", Arc::clone(shared))
        .tool(
            Tool::read(
                "list_task_templates",
                "List task templates",
                "Lists the templates that can be run, with version, limits, trust levels and the schemas of inputs and \
                 outputs. Use it before `run_task_template`. An empty list means that there is none.",
            )
            .sets(SETS),
            templates,
        )
        .shaped(run, start)
        .shaped(
            Tool::read(
                "get_task_run",
                "Look at a run",
                "Shows a run of yours: status, progress, steps, and once it is over its result, error and artifacts. \
                 Ask every two seconds while it is queued or running. Unknown run: RUN_NOT_FOUND.",
            )
            .sets(SETS),
            get,
        )
        .tool(
            Tool::read(
                "list_task_runs",
                "List runs",
                "Lists your runs, newest first, by status or template if you like. An empty list means that there is none.",
            )
            .sets(SETS),
            list,
        )
        .tool(cancel, cancel_run)
        .shaped(
            Tool::read(
                "get_artifact",
                "Read an artifact",
                "Gives a piece of something a run left behind, as base64, at most 256 KiB at a time. Go on with `offset` \
                 until `complete`. Unknown: ARTIFACT_NOT_FOUND. Kept for a day after its run: then ARTIFACT_EXPIRED.",
            )
            .sets(SETS),
            artifact,
        )
        .tool(
            Tool::read(
                "get_runtime_profile",
                "Limits of the runtime",
                "Tells the version of the runtime and its limits: runs at once, the longest run, the largest piece of an \
                 artifact. Use it to plan large tasks.",
            )
            .sets(SETS),
            profile,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
struct Templates {
    templates: Vec<TemplateShown>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = template_fields()))]
struct TemplateShown {
    /// What `run_task_template` wants.
    template_id: String,
    /// Its version.
    version: String,
    /// Its name for people.
    name: String,
    /// What it does and when to use it.
    description: String,
    /// The trust levels whose callers may run it.
    trust_level_support: Vec<String>,
    /// Whether a run may succeed in part.
    supports_partial_success: bool,
    /// What one run may be given and do.
    limits: Map<String, Value>,
    /// What a run is given.
    inputs_schema: Map<String, Value>,
    /// What it comes to.
    outputs_schema: Map<String, Value>,
}

/// What the document itself promises; the rest is ours and may be absent.
fn template_fields() -> Value {
    serde_json::json!([
        "templateId",
        "version",
        "name",
        "trustLevelSupport",
        "limits",
        "inputsSchema",
        "outputsSchema"
    ])
}

impl From<&Arc<Template>> for TemplateShown {
    fn from(template: &Arc<Template>) -> Self {
        let fields = |schema: &Value| schema.as_object().cloned().unwrap_or_default();
        Self {
            template_id: template.id.clone(),
            version: template.version.clone(),
            name: template.name.clone(),
            description: template.description.clone(),
            trust_level_support: template.trust.clone(),
            supports_partial_success: template.supports_partial_success,
            limits: template.limits.clone(),
            inputs_schema: fields(&template.inputs_schema),
            outputs_schema: fields(&template.outputs_schema),
        }
    }
}

async fn templates(
    shared: Arc<Handle>,
    _: Nothing,
    _: CallContext,
) -> Result<Templates, ProviderError> {
    let shelf = shared.library.shelf();
    Ok(Templates {
        templates: shelf.all().map(Into::into).collect(),
    })
}

/// What starting a run answers: the run itself if it is waited for, else how to find it.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Started {
    /// It is over.
    Done(Box<RunView>),
    /// It goes on.
    Queued {
        /// What `get_task_run` wants.
        #[serde(rename = "runId")]
        #[schemars(extend("x-identifier" = true))]
        run_id: String,
        /// Where it stands.
        status: String,
        /// When it was made, in milliseconds.
        #[serde(rename = "createdAt")]
        created_at: i64,
    },
}

async fn start(
    shared: Arc<Handle>,
    args: RunArgs,
    cx: CallContext,
) -> Result<Output<Started>, ProviderError> {
    let shared = Arc::clone(&shared);
    let inner = shared.engine()?;
    let ready = shared.ready(&args, cx.trust)?;
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
        .map_err(errors::from_store)?;
    if let Some(error) = view
        .error
        .as_ref()
        .filter(|_| view.status != "partial_success")
    {
        let mut answered = errors::answered(error);
        if let Some(result) = &view.result {
            answered
                .details
                .insert("result".to_owned(), Value::Object(result.clone()));
        }
        answered.next_steps = vec!["get_task_run".to_owned()];
        return Err(answered);
    }
    shaped(view, Started::Done)
}

/// A view as an answer; what is built on tainted text, or is not what was promised, says so.
fn shaped<T: Serialize>(
    view: RunView,
    wrap: impl FnOnce(Box<RunView>) -> T,
) -> Result<Output<T>, ProviderError> {
    let mut warnings = Vec::new();
    warnings.extend(view.tainted.then_some(Warning::TaintedContent));
    warnings.extend(view.misfit.as_ref().map(|_| Warning::ResultMisfit));
    marked(wrap(Box::new(view)), warnings)
}

fn marked<T: Serialize>(data: T, warnings: Vec<Warning>) -> Result<Output<T>, ProviderError> {
    if warnings.is_empty() {
        return Ok(Output::Data(data));
    }
    let payload = Payload::from_serialize(&data).map_err(ProviderError::unavailable)?;
    Ok(Output::Result(Box::new(ToolResult {
        status: CallStatus::Degraded,
        warnings,
        ..ToolResult::ok(payload)
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
            is_called_off = true;
            drop(call_off(shared, inner, id).await);
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
                            is_called_off = true;
                            drop(call_off(shared, inner, id).await);
                        }
                    }
                }
            }
            None => tokio::time::sleep(LOOK).await,
        }
    }
}

pub(super) async fn call_off(shared: &Shared, inner: &Inner, id: &str) -> Result<(), StoreError> {
    let batch = Batch {
        changes: vec![Change::Run(RunChange::Cancel {
            id: id.to_owned(),
            at: inner.clock.now(),
        })],
        durability: Durability::Disk,
        ..Batch::default()
    };
    inner.store.commit(batch).await?;
    if let Some(driven) = shared.driven(id) {
        driven.cancel.cancel();
    }
    Ok(())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RunId {
    /// As `run_task_template` answered it.
    #[schemars(length(min = 1, max = 64))]
    run_id: String,
}

async fn own_run(inner: &Inner, id: &str, principal: &Principal) -> Result<RunRow, ProviderError> {
    let row = inner.store.run(id).await.map_err(errors::from_store)?;
    row.filter(|row| row.session.principal == *principal)
        .ok_or_else(|| errors::no_run(id))
}

async fn get(
    shared: Arc<Handle>,
    args: RunId,
    cx: CallContext,
) -> Result<Output<RunView>, ProviderError> {
    let inner = shared.engine()?;
    shared.begin(&inner);
    let row = own_run(&inner, &args.run_id, &cx.principal).await?;
    let view = shared
        .view(&inner, &row)
        .await
        .map_err(errors::from_store)?;
    shaped(view, |view| *view)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ListArgs {
    /// Only runs that stand there.
    #[serde(default)]
    status: Option<StatusWanted>,
    /// Only runs of this template.
    #[serde(default)]
    #[schemars(length(min = 1, max = 64))]
    template_id: Option<String>,
    /// How many at most.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
    /// How many to leave out first.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    offset: u32,
}

fn fifty() -> u32 {
    50
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
struct Listed {
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

async fn list(
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

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Canceled {
    /// Whether the wish was taken.
    cancel_requested: bool,
    /// Where the run stands.
    current_status: String,
}

async fn cancel_run(
    shared: Arc<Handle>,
    args: RunId,
    cx: CallContext,
) -> Result<Canceled, ProviderError> {
    let inner = shared.engine()?;
    let row = own_run(&inner, &args.run_id, &cx.principal).await?;
    let taken = !row.is_over && call_off(&shared, &inner, &row.id).await.is_ok();
    shared.begin(&inner);
    let row = own_run(&inner, &args.run_id, &cx.principal).await?;
    Ok(Canceled {
        cancel_requested: taken,
        current_status: row.status,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ArtifactArgs {
    /// As `get_task_run` lists it.
    #[schemars(length(min = 1, max = 64))]
    artifact_id: String,
    /// Where to begin.
    #[serde(default)]
    offset: u64,
    /// How many bytes at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["artifactId", "mimeType", "size", "data", "complete"]))]
struct Piece {
    #[schemars(extend("x-identifier" = true))]
    artifact_id: String,
    /// Its type for programs.
    mime_type: String,
    /// Of all of it.
    size: u64,
    /// This piece, as base64.
    #[schemars(with = "String")]
    data: Box<RawValue>,
    /// Where this piece begins.
    offset: u64,
    /// How long it is.
    bytes_returned: u64,
    /// Whether nothing follows.
    complete: bool,
}

async fn artifact(
    shared: Arc<Handle>,
    args: ArtifactArgs,
    cx: CallContext,
) -> Result<Output<Piece>, ProviderError> {
    let inner = shared.engine()?;
    let row = shared
        .artifact(&inner, &cx.principal, &args.artifact_id)
        .await?;
    if args.offset > row.size {
        let message = format!("`offset` {} is past the end at {}", args.offset, row.size);
        return Err(ProviderError {
            code: ErrorCode::InputRejected,
            ..errors::INVALID_PARAMETER.with(message, [("size", row.size.into())])
        });
    }
    let most = shared.settings.inline_bytes;
    let wanted = args.limit.map_or(most, |limit| limit.min(most));
    let bytes = shared.part(&row, args.offset, wanted).await?;
    let returned = bytes.len() as u64;
    // What no run has left, a provider handed over: strangers wrote it.
    let tainted = row.run.is_empty();
    let piece = Piece {
        artifact_id: row.id,
        mime_type: row.mime_type,
        size: row.size,
        data: artifacts::coded(&bytes)?,
        offset: args.offset,
        bytes_returned: returned,
        complete: args.offset + returned >= row.size,
    };
    marked(
        piece,
        Vec::from_iter(tainted.then_some(Warning::TaintedContent)),
    )
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Profile {
    runtime_version: String,
    limits: Limits,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Limits {
    max_concurrent_runs: u32,
    max_run_timeout_ms: u64,
    max_artifact_inline_bytes: u64,
}

async fn profile(
    shared: Arc<Handle>,
    _: Nothing,
    _: CallContext,
) -> Result<Profile, ProviderError> {
    let settings = &shared.settings;
    Ok(Profile {
        runtime_version: settings.version.clone(),
        limits: Limits {
            max_concurrent_runs: settings.concurrent,
            max_run_timeout_ms: u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX),
            max_artifact_inline_bytes: settings.inline_bytes,
        },
    })
}
