//! The seven tools of document 004.

mod about;
mod artifact;
mod begin;
mod cancel;
mod look;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};
use tollgate_core::{
    Condensed, NeedRule, Payload, ProviderError, Status as CallStatus, Telling, Tool, ToolResult,
    ToolSet, Warning, toolset::Output,
};

use super::{Shared, view::RunView};

pub(super) use cancel::call_off;
pub use look::LISTED;

/// The tool that starts runs.
pub(crate) const RUN: &str = "run_task_template";
/// How much longer than its run a call may take.
const MARGIN: Duration = Duration::from_secs(10);

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
         `waitingFor` says what to approve. `options.mode`: `sync` waits and answers the run as `get_task_run` does, \
         `async` answers a `runId` at once, `auto` is as the template says. Success: the run. Unknown template: \
         TEMPLATE_NOT_FOUND, use `list_task_templates`. A run that fails is answered too, with its `error`: \
         STEP_EXECUTION_FAILED names the step and its code in `details`; RUN_TIMEOUT: allow more time or do less.",
    )
    .sets(SETS);
    run.capability = tollgate_core::Capability::L0;
    run.timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    run.telling = telling();
    run.telling.need = Some(step_tools(Arc::clone(shared)));
    let mut cancel = Tool::write(
        "cancel_task_run",
        "Cancel a run",
        "Asks a run of yours to stop. The step that is under way ends first, those after it are skipped, and what was \
         done so far stays readable; `get_task_run` shows when it is `canceled`. A run that is over: \
         `cancelRequested` is false. Unknown run: RUN_NOT_FOUND. Success: `cancelRequested` is true.",
    )
    .sets(SETS);
    cancel.capability = tollgate_core::Capability::L0;
    cancel.annotations.idempotent = true;
    let mut get = Tool::read(
        "get_task_run",
        "Look at a run",
        "Shows a run of yours: status, progress, and once it is over its result, error and artifacts; with \
         `includeSteps` also its steps. Ask every two seconds while it is queued or running. Success: the run. Unknown run: RUN_NOT_FOUND.",
    )
    .sets(SETS);
    get.telling = telling();
    ToolSet::new("runs", Arc::clone(shared))
        .tool(
            Tool::read(
                "list_task_templates",
                "List task templates",
                "Lists the templates that can be run, with version, limits, trust levels and the schemas of inputs and \
                 outputs. Use it before `run_task_template`. An empty list means that there is none. \
                 Success: the templates. Always succeeds.",
            )
            .sets(SETS),
            about::templates,
        )
        .shaped(run, begin::start)
        .shaped(get, look::get)
        .tool(
            Tool::read(
                "list_task_runs",
                "List runs",
                "Lists your runs, newest first, by status or template if you like. An empty list means that there is none. \
                 Success: the runs. Fails: INVALID_PARAMETER, for a status that is none.",
            )
            .sets(SETS),
            look::list,
        )
        .tool(cancel, cancel::cancel_run)
        .shaped(
            Tool::read(
                "get_artifact",
                "Read an artifact",
                "Gives a piece of something a run left behind, as base64, at most 256 KiB at a time. Go on with `offset` \
                 until `complete`. Unknown: ARTIFACT_NOT_FOUND. Kept for a day after its run: then ARTIFACT_EXPIRED. \
                 Success: the piece.",
            )
            .sets(SETS),
            artifact::artifact,
        )
        .tool(
            Tool::read(
                "get_runtime_profile",
                "Limits of the runtime",
                "Tells the version of the runtime and its limits: runs at once, the longest run, the largest piece of an \
                 artifact. Use it to plan large tasks. Success: `limits`. Always succeeds.",
            )
            .sets(SETS),
            about::profile,
        )
}

/// A view as an answer; what is built on tainted text, or is not what was promised, says so.
fn shaped<T: Serialize>(
    view: RunView,
    wrap: impl FnOnce(Box<RunView>) -> T,
) -> Result<Output<T>, ProviderError> {
    let warnings = warnings(&view);
    marked(wrap(Box::new(view)), warnings)
}

fn warnings(view: &RunView) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(view.tainted.then_some(Warning::TaintedContent));
    warnings.extend(view.misfit.as_ref().map(|_| Warning::ResultMisfit));
    warnings
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

/// The tools that the steps of a run call: those of every version of its template.
fn step_tools(shared: Handle) -> NeedRule {
    Arc::new(move |arguments| {
        let Some(id) = arguments.get("templateId").and_then(Value::as_str) else {
            return Vec::new();
        };
        let shelf = shared.library.shelf();
        let versions = shelf.versions(id);
        let tools = versions
            .iter()
            .flat_map(|version| version.calls().map(|(_, call)| call.tool.clone()));
        let tools: BTreeSet<String> = tools.collect();
        tools.into_iter().collect()
    })
}

/// A run that left artifacts behind refers to files: clients that read text are given their
/// addresses.
fn telling() -> Telling {
    let condense = |data: &Value| {
        let artifacts = data["artifacts"].as_array()?.iter();
        let resources: Vec<Value> = artifacts
            .map(|it| {
                json!({
                    "uri": it["uri"],
                    "type": it["type"],
                    "name": it["name"],
                    "mimeType": it["mimeType"],
                    "size_bytes": it["size"],
                })
            })
            .collect();
        (!resources.is_empty()).then(|| Condensed {
            data: data.clone(),
            resources,
        })
    };
    Telling {
        condense: Some(Arc::new(condense)),
        ..Telling::default()
    }
}
