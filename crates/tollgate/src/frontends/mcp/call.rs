//! `tools/call`: from the wire to the door and back.

use std::borrow::Cow;

use serde_json::Value;
use tollgate_core::{Envelope, ErrorCode, Failure, Payload, Spelling, ToolName};
use tollgate_engine::{Catalog, Disposition, Outcome, Request};

use super::{
    Exchange, Reply, Server,
    consent::{self, Reaction, Taken},
    input,
    outlet::Live,
    params::{self, Member},
    reply, results,
    rpc::RpcError,
    tasks::{self, Way},
};

/// Questions a client is asked within one call before it is given up.
const MAX_ROUNDS: usize = 16;

/// `tools/call`.
pub(super) async fn run(server: &Server, exchange: &mut Exchange) -> Reply {
    let request = match request(exchange) {
        Ok(request) => request,
        Err(error) => return Box::pin(refused(server, exchange, error)).await,
    };
    if exchange.is_modern() {
        modern(server, exchange, request).await
    } else {
        Box::pin(legacy(server, exchange, request)).await
    }
}

/// Reads the parameters of a call.
fn request(exchange: &mut Exchange) -> Result<Request, RpcError> {
    let params = &exchange.asked.params;
    let Some(name) = params.text(Member::Name)? else {
        return Err(RpcError::invalid_params("`name` must name a tool"));
    };
    let arguments = match params.get(Member::Arguments)? {
        None | Some("null") => Payload::empty_object(),
        Some(raw) if raw.starts_with('{') => Payload::parse(raw.to_owned())
            .map_err(|error| RpcError::invalid_params(error.to_string()))?,
        Some(_) => return Err(RpcError::invalid_params("`arguments` must be an object")),
    };
    let profile = match params.get(Member::Profile)? {
        None | Some("null") => None,
        Some(raw) => Some(params::text(raw).ok_or_else(|| {
            RpcError::invalid_params("the parameters cannot be read: `profile` is no text")
        })?),
    };
    let profile = profile.map(Cow::into_owned);
    let mut request = Request::new(name.into_owned(), arguments);
    if profile.is_some() {
        exchange.caller.profile = profile;
    }
    request.control = exchange.said.control.clone();
    request.traceparent.clone_from(&exchange.said.traceparent);
    request.aside.clone_from(&exchange.said.aside);
    request.cancel = exchange.cancel.clone();
    request.events = std::sync::Arc::new(Live {
        outlet: std::sync::Arc::clone(&exchange.outlet),
        token: exchange.said.progress_token.clone(),
        level: exchange.client.log_level,
    });
    Ok(request)
}

/// Writes a request down that is none, and answers it.
pub(super) async fn refused(server: &Server, exchange: &Exchange, error: RpcError) -> Reply {
    let code = ErrorCode::MalformedRequest;
    server
        .gateway
        .refuse(&exchange.caller, code, &error.message)
        .await;
    error.into()
}

/// One request, one answer: what is missing is asked for in the answer.
async fn modern(server: &Server, exchange: &Exchange, mut request: Request) -> Reply {
    let given = match input::given(&exchange.asked.params) {
        Ok(given) => given,
        Err(error) => return Box::pin(refused(server, exchange, error)).await,
    };
    // A client that dismissed the question is not asked again.
    let mut may_ask = true;
    match given.state {
        input::State::Consent(sealed) => match consent::reaction(&given.answers) {
            None => return Box::pin(consent::ask_again(server, exchange, &request)).await,
            Some(Reaction::Dismissed) => may_ask = false,
            Some(Reaction::Decided(decided)) => {
                let taken = consent::take(server, exchange, &request, &sealed, &decided);
                match Box::pin(taken).await {
                    Ok(taken) => may_ask = taken == Taken::Allowed,
                    Err(reply) => return reply,
                }
            }
        },
        input::State::Tool(_) | input::State::None
            if given.answers.is_empty() && given.state.is_none() => {}
        input::State::Tool(_) | input::State::None => {
            request.responses = Some(given.into_responses());
        }
    }
    match tasks::way(server, exchange, &request) {
        Way::Here => {}
        Way::Task => return Box::pin(tasks::open(server, exchange, &request)).await,
        Way::Refused(error) => return Box::pin(refused(server, exchange, error)).await,
    }
    let tool = request.tool.clone();
    let outcome = server.gateway.call(&exchange.caller, request).await;
    match &outcome.disposition {
        Disposition::Done if exchange.client.tasks => {
            Box::pin(task_or_answer(server, exchange, &tool, outcome)).await
        }
        Disposition::NeedsInput(asks) => input::required(exchange, asks).into(),
        Disposition::NeedsConsent if may_ask => {
            match Box::pin(consent::question(server, exchange, &outcome)).await {
                Some(question) => consent::required(exchange, &question).into(),
                None => finished(server, exchange, &tool, outcome).await,
            }
        }
        Disposition::Done
        | Disposition::Failed(_)
        | Disposition::Denied
        | Disposition::NeedsConsent => finished(server, exchange, &tool, outcome).await,
    }
}

/// A call that started a run which goes on is answered by that run as a task.
async fn task_or_answer(
    server: &Server,
    exchange: &Exchange,
    tool: &str,
    outcome: Outcome,
) -> Reply {
    let task = match &server.runs {
        Some(runs) => runs.task_of_call(&exchange.caller, &outcome.call).await,
        None => None,
    };
    match task {
        None => finished(server, exchange, tool, outcome).await,
        Some(task) => Reply {
            result: tasks::created(exchange, &task),
            undelivered: outcome.wants_receipt.then(|| outcome.call.clone()),
            is_tool_error: false,
            failure: None,
        },
    }
}

/// What is missing is asked for while the request is open.
async fn legacy(server: &Server, exchange: &Exchange, mut request: Request) -> Reply {
    for _ in 0..MAX_ROUNDS {
        let outcome = server.gateway.call(&exchange.caller, request.clone()).await;
        match &outcome.disposition {
            Disposition::NeedsInput(asks) => match input::asked(exchange, asks).await {
                Ok(responses) => request.responses = Some(responses),
                Err(unanswered) => {
                    return match input::let_go(server, exchange, &request, unanswered).await {
                        Ok(outcome) => finished(server, exchange, &request.tool, outcome).await,
                        Err(error) => error.into(),
                    };
                }
            },
            Disposition::NeedsConsent => {
                let Some(question) = consent::question(server, exchange, &outcome).await else {
                    return finished(server, exchange, &request.tool, outcome).await;
                };
                let taken = match consent::dialog(exchange, &question).await {
                    Reaction::Dismissed => Taken::Nothing,
                    Reaction::Decided(decided) => {
                        let sealed = &question.sealed;
                        let taken = consent::take(server, exchange, &request, sealed, &decided);
                        match taken.await {
                            Ok(taken) => taken,
                            Err(reply) => return reply,
                        }
                    }
                };
                if taken == Taken::Nothing && !elsewhere(server, &question).await {
                    return finished(server, exchange, &request.tool, outcome).await;
                }
            }
            Disposition::Done | Disposition::Failed(_) | Disposition::Denied => {
                return finished(server, exchange, &request.tool, outcome).await;
            }
        }
    }
    RpcError::invalid_params("the tool asks too many questions").into()
}

/// Whether the call was approved elsewhere while its dialog was open. If that cannot be read,
/// the call still waits for it.
async fn elsewhere(server: &Server, question: &consent::Question) -> bool {
    let granted = server.gateway.is_granted(&question.approval).await;
    granted.unwrap_or(false)
}

/// Dresses an ending as the result of a call, or as the error that it is.
pub(super) async fn finished(
    server: &Server,
    exchange: &Exchange,
    tool: &str,
    outcome: Outcome,
) -> Reply {
    if let Disposition::Failed(code) = &outcome.disposition
        && is_protocol_error(*code)
        && let Some(failure) = &outcome.envelope.get().error
    {
        let mut failure = failure.clone();
        spelled_failure(server, exchange.caller.spelling, &mut failure);
        return Reply {
            failure: Some(*code),
            ..reply::error(exchange, &failure).into()
        };
    }
    let failure = outcome.envelope.get().error.as_ref();
    let failure = failure.map(|failure| failure.code);
    let undelivered = outcome.wants_receipt.then(|| outcome.call.clone());
    let is_tool_error = !outcome.envelope.get().ok;
    let result = results::printed(server, exchange, tool, outcome).await;
    Reply {
        result: Ok(result),
        undelivered,
        is_tool_error,
        failure,
    }
}

/// An unknown tool and a malformed request are errors of the protocol, not of a tool.
pub(super) const fn is_protocol_error(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UnknownTool | ErrorCode::MalformedRequest | ErrorCode::StateRejected
    )
}

/// Spells every tool's name as this client was listed it.
pub(super) fn spelled(server: &Server, spelling: Spelling, envelope: &mut Envelope) {
    let catalog = server.gateway.catalog();
    // Answers of commands name tools to go on with.
    if envelope.command.is_some()
        && let Some(data) = &envelope.data
        && let Cow::Owned(text) = catalog.spelled(data.raw(), spelling)
        && text != data.raw()
        && let Ok(data) = Payload::parse(text)
    {
        envelope.data = Some(data);
    }
    envelope.tool = spell(&catalog, spelling, &envelope.tool);
    if let Some(failure) = &mut envelope.error {
        spelled_failure(server, spelling, failure);
    }
}

fn spelled_failure(server: &Server, spelling: Spelling, failure: &mut Failure) {
    let catalog = server.gateway.catalog();
    let respell = |name: &mut Value| {
        if let Value::String(name) = name {
            *name = spell(&catalog, spelling, name);
        }
    };
    for name in &mut failure.next_steps {
        *name = spell(&catalog, spelling, name);
    }
    let said = std::iter::once(&mut failure.message).chain(&mut failure.recovery_suggestion);
    for text in said {
        *text = catalog.spelled(text, spelling).into_owned();
    }
    let details = &mut failure.details;
    let resumed = details.get_mut("resume_with");
    if let Some(name) = resumed.and_then(|resumed| resumed.get_mut("tool")) {
        respell(name);
    }
    let near = details.get_mut("nearest").and_then(Value::as_array_mut);
    near.into_iter().flatten().for_each(respell);
}

fn spell(catalog: &Catalog, spelling: Spelling, name: &str) -> String {
    let known = catalog
        .find(name)
        .map(|it| catalog.name_of(&it.spec.name, spelling));
    known.unwrap_or_else(|| {
        ToolName::new(name).map_or_else(|_| name.to_owned(), |name| spelling.of(&name))
    })
}
