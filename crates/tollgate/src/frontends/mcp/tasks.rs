//! The Tasks extension: a call that goes on by itself, for clients that say they can wait.
//!
//! Invariant: nobody gets a task who did not say in this very request that tasks are
//! understood, and a task is on disk before its id leaves. What a task means is the engine's
//! to say; here it is only spelled.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tollgate_core::{Deferral, ErrorCode, Payload};
use tollgate_engine::{
    Decided, Disposition, Request, can_be_granted_for_session,
    runs::{Runs, Task, TaskAsk, TaskState, WaitingFor},
};

use super::{
    Exchange, Reply, Server, call,
    consent::{self, Reaction},
    era, input, reply,
    rpc::{RpcError, code},
};

/// How often a client may ask, in milliseconds.
const POLL_MS: u64 = 500;

/// Whether a call goes on here, as a task, or not at all.
pub(super) enum Way {
    Here,
    Task,
    Refused(RpcError),
}

/// How a call is made for this client.
pub(super) fn way(server: &Server, exchange: &Exchange, request: &Request) -> Way {
    if server.runs.is_none() {
        return Way::Here;
    }
    match server.gateway.deferral(&exchange.caller, request) {
        Deferral::Never => Way::Here,
        Deferral::Possible | Deferral::Required if exchange.client.tasks => Way::Task,
        Deferral::Possible => Way::Here,
        Deferral::Required => Way::Refused(lacking()),
    }
}

fn lacking() -> RpcError {
    let message = "this needs a client that understands tasks";
    RpcError::new(code::MISSING_CAPABILITY, message)
        .with(json!({"requiredCapabilities": {"extensions": {era::TASKS_KEY: {}}}}))
}

/// The tasks of this process's clients.
fn runs(server: &Server) -> Result<&Runs, RpcError> {
    server.runs.as_ref().ok_or_else(lacking)
}

/// Makes a task of a call.
pub(super) async fn open(server: &Server, exchange: &Exchange, request: &Request) -> Reply {
    let runs = match runs(server) {
        Ok(runs) => runs,
        Err(error) => return error.into(),
    };
    match runs.open_task(&exchange.caller, request).await {
        Ok(task) => created(exchange, &task).into(),
        Err(error) => {
            let code = error.code;
            let refused = server
                .gateway
                .refuse(&exchange.caller, code, &error.message);
            let outcome = refused.await;
            call::finished(server, exchange, &request.tool, outcome).await
        }
    }
}

/// The answer that says that a call goes on as a task.
pub(super) fn created(exchange: &Exchange, task: &Task) -> Result<String, RpcError> {
    let mut result = about(task);
    result.insert("resultType".to_owned(), json!("task"));
    Ok(reply::dressed(exchange, result))
}

/// What is told of every task.
fn about(task: &Task) -> Map<String, Value> {
    let (status, message) = match &task.state {
        TaskState::Working => ("working", None),
        TaskState::Waiting(asks) => ("input_required", asks.iter().find_map(how)),
        TaskState::Done(outcome) if is_broken(&outcome.disposition) => ("failed", None),
        TaskState::Done(_) | TaskState::Over => ("completed", None),
        TaskState::Failed(why) => ("failed", Some(why.clone())),
        TaskState::Cancelled => ("cancelled", None),
    };
    let mut all = Map::new();
    all.insert("taskId".to_owned(), json!(task.id));
    all.insert("status".to_owned(), json!(status));
    if let Some(message) = message {
        all.insert("statusMessage".to_owned(), json!(message));
    }
    all.insert("createdAt".to_owned(), json!(task.created.to_string()));
    all.insert("lastUpdatedAt".to_owned(), json!(task.updated.to_string()));
    let ttl = u64::try_from(task.kept_for.as_millis()).unwrap_or(u64::MAX);
    all.insert("ttlMs".to_owned(), json!(ttl.max(1)));
    all.insert("pollIntervalMs".to_owned(), json!(POLL_MS));
    all
}

/// How a human answers, where only a human can.
fn how(ask: &TaskAsk) -> Option<String> {
    match ask {
        TaskAsk::Human(waiting) => Some(format!(
            "`{}` needs a human's consent: {}",
            waiting.tool, waiting.approve
        )),
        TaskAsk::Caller { .. } => None,
    }
}

/// Whether a call broke instead of failing: the protocol's fault or ours, not the tool's.
const fn is_broken(disposition: &Disposition) -> bool {
    match disposition {
        Disposition::Failed(code) => {
            call::is_protocol_error(*code)
                || matches!(
                    code,
                    ErrorCode::Panicked
                        | ErrorCode::Interrupted
                        | ErrorCode::Internal
                        | ErrorCode::StoreUnavailable
                        | ErrorCode::StoreHeld
                        | ErrorCode::StoreCorrupt
                )
        }
        Disposition::Done
        | Disposition::NeedsConsent
        | Disposition::Denied
        | Disposition::NeedsInput(_) => false,
    }
}

/// The task that a request names, if its client understands tasks and may see it.
async fn named(server: &Server, exchange: &Exchange) -> Result<Task, RpcError> {
    if !exchange.client.tasks {
        return Err(lacking());
    }
    let Some(id) = exchange.params()["taskId"].as_str() else {
        return Err(RpcError::invalid_params("`taskId` must name a task"));
    };
    let found = runs(server)?.task(&exchange.caller, id).await;
    let found =
        found.map_err(|error| RpcError::new(code::INTERNAL, format!("the task: {error}")))?;
    found.ok_or_else(|| RpcError::invalid_params(format!("there is no task `{id}` of yours")))
}

/// `tasks/get`.
pub(super) async fn get(server: &Server, exchange: &Exchange) -> Reply {
    let task = match named(server, exchange).await {
        Ok(task) => task,
        Err(error) => return error.into(),
    };
    let mut result = about(&task);
    let ended = match task.state {
        TaskState::Working | TaskState::Cancelled => {
            return Ok(reply::dressed(exchange, result)).into();
        }
        TaskState::Waiting(asks) => {
            result.insert("inputRequests".to_owned(), requests(exchange, &asks));
            return Ok(reply::dressed(exchange, result)).into();
        }
        TaskState::Failed(why) => Err(RpcError::new(code::INTERNAL, why)),
        TaskState::Done(outcome) if is_broken(&outcome.disposition) => {
            let failure = outcome.envelope.get().error.as_ref();
            Err(failure.map_or_else(
                || RpcError::new(code::INTERNAL, "the call broke"),
                |failure| reply::error(exchange, failure),
            ))
        }
        TaskState::Done(outcome) => {
            let tool = task.tool.unwrap_or_default();
            call::finished(server, exchange, &tool, *outcome)
                .await
                .result
        }
        TaskState::Over => over(server, exchange, &task.id).await,
    };
    match ended {
        Ok(text) => Ok(reply::with(
            reply::dressed(exchange, result),
            "result",
            &text,
        ))
        .into(),
        Err(error) => {
            result.insert("error".to_owned(), json!(error));
            Ok(reply::dressed(exchange, result)).into()
        }
    }
}

/// What a run of a template came to, asked for like by any caller.
async fn over(server: &Server, exchange: &Exchange, id: &str) -> Result<String, RpcError> {
    let arguments = Payload::from(json!({"runId": id}));
    let request = Request::new("get_task_run", arguments);
    let outcome = server.gateway.call(&exchange.caller, request).await;
    call::finished(server, exchange, "get_task_run", outcome)
        .await
        .result
}

/// Open questions, as far as this client can be asked.
fn requests(exchange: &Exchange, asks: &[TaskAsk]) -> Value {
    let mut all = Map::new();
    for ask in asks {
        match ask {
            TaskAsk::Human(waiting) if exchange.client.asks.elicitation => {
                if let Some(params) = consent::form(&Value::Object(waiting.preview.clone())) {
                    let ask = json!({"method": "elicitation/create", "params": params});
                    all.insert(waiting.approval_id.clone(), ask);
                }
            }
            TaskAsk::Caller { id, ask } if exchange.client.asks.can(ask) => {
                let (method, params) = input::spelled(ask);
                let ask = json!({"method": method, "params": params.value()});
                all.insert(id.clone(), ask);
            }
            TaskAsk::Human(_) | TaskAsk::Caller { .. } => {}
        }
    }
    Value::Object(all)
}

/// `tasks/update`.
pub(super) async fn update(server: &Server, exchange: &Exchange) -> Reply {
    updated(server, exchange).await.into()
}

async fn updated(server: &Server, exchange: &Exchange) -> Result<String, RpcError> {
    let task = named(server, exchange).await?;
    let mut answers: BTreeMap<String, Payload> = input::given(&exchange.asked.params)?.answers;
    let failed =
        |error: tollgate_core::StoreError| RpcError::new(code::INTERNAL, error.to_string());
    if let TaskState::Waiting(asks) = &task.state {
        for ask in asks {
            if let TaskAsk::Human(waiting) = ask
                && let Some(answer) = answers.remove(&waiting.approval_id)
            {
                decide(server, exchange, waiting, &answer)
                    .await
                    .map_err(failed)?;
            }
        }
    }
    let taken = runs(server)?.answer_task(&exchange.caller, &task.id, answers);
    taken.await.map_err(failed)?;
    Ok(reply::dressed(exchange, Map::new()))
}

/// A decision in a dialog counts where the operator trusts it; without one, and elsewhere, the
/// question stays open.
async fn decide(
    server: &Server,
    exchange: &Exchange,
    waiting: &WaitingFor,
    answer: &Payload,
) -> Result<(), tollgate_core::StoreError> {
    let Some(Reaction::Decided(decided)) = consent::reaction_of(answer) else {
        return Ok(());
    };
    if !server.trusts_dialogs().await {
        return Ok(());
    }
    let gateway = &server.gateway;
    let Some(asked) = gateway.store().approval(&waiting.approval_id).await? else {
        return Ok(());
    };
    let is_offered = decided != Decided::ToolForSession || can_be_granted_for_session(&asked);
    if asked.session != exchange.caller.session || !is_offered {
        return Ok(());
    }
    match gateway
        .decide(&asked, &decided, &consent::by(server, exchange))
        .await
    {
        // Somebody answered elsewhere in the meantime.
        Err(tollgate_core::StoreError::ApprovalGone) => Ok(()),
        decided => decided,
    }
}

/// `tasks/cancel`.
pub(super) async fn cancel(server: &Server, exchange: &Exchange) -> Reply {
    cancelled(server, exchange).await.into()
}

async fn cancelled(server: &Server, exchange: &Exchange) -> Result<String, RpcError> {
    let task = named(server, exchange).await?;
    let cancelled = runs(server)?.cancel_task(&exchange.caller, &task.id).await;
    cancelled.map_err(|error| RpcError::new(code::INTERNAL, error.to_string()))?;
    Ok(reply::dressed(exchange, Map::new()))
}
