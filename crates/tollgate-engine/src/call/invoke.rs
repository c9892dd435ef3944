//! The only place that calls a provider, or asks it what a call would do.
//!
//! A panic of a provider costs one call, and a call that is cancelled or out of time
//! is asked to stop in order. What it still answers after that is written down beside
//! the ending, never in its place.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use tokio_util::sync::CancellationToken;
use tollgate_core::{
    Answer, BudgetLedger, CallContext, CallId, Control, ErrorCode, Event, EventSink, Failure,
    InputResponses, NoEvents, ProviderError, Retry, SessionKey, Standing, ToolCall, store::Batch,
};

use super::{
    Inner, Stop,
    announce::Announced,
    flight::Lead,
    owed,
    owned::{Owned, Panicked},
    placeholders::Echoes,
    state::Scoped,
    validate::Valid,
};
use crate::{
    record::{self, LATE_ANSWER, Trail},
    sanitize::Cleaner,
};

/// How long a call that was asked to stop may take to do so.
const GRACE: Duration = Duration::from_millis(500);
/// How long a late answer is still written down.
const LATE: Duration = Duration::from_secs(600);
/// How long a provider may take to say what a call would do.
const PREVIEW: Duration = Duration::from_secs(10);

type Running = Owned<Result<Answer, ProviderError>>;

pub(super) async fn run(
    inner: &Arc<Inner>,
    announced: Announced,
    trail: &Trail,
    (lead, echoes): (Option<&Lead>, &Arc<Echoes>),
) -> Result<Answer, Stop> {
    let (valid, ledger) = announced.into_parts();
    let spec = Arc::clone(&valid.listing.spec);
    let limit = Duration::from_millis(spec.timeout_ms).min(inner.settings.call_timeout);
    let cancel = valid.cancel.clone();
    let stop = CancellationToken::new();
    let mut running = start(inner, (valid, ledger, echoes), trail, limit, stop.clone());
    let deadline = tokio::time::sleep(limit);
    tokio::pin!(deadline);
    let mut wanted = true;
    let mut looks_ahead = inner.store.can_look_ahead();
    loop {
        tokio::select! {
            biased;
            finished = waited(inner, &mut running, &mut looks_ahead) => return ended(finished, trail),
            () = &mut deadline => {
                let message = format!("`{}` did not answer within {} ms", spec.name, limit.as_millis());
                let over = give_up(inner, running, &stop, trail, ErrorCode::TimedOut, message);
                return Err(Box::pin(over).await);
            }
            () = cancel.cancelled(), if wanted => wanted = false,
            () = unfollowed(lead), if !wanted => {
                let message = format!("the call of `{}` was cancelled", spec.name);
                let over = give_up(inner, running, &stop, trail, ErrorCode::Cancelled, message);
                return Err(Box::pin(over).await);
            }
        }
    }
}

/// Waits for the end of a call. Once it is under way there is time to look up what it takes to
/// write that down, and none when the answer is here.
async fn waited(
    inner: &Inner,
    running: &mut Running,
    looks_ahead: &mut bool,
) -> <Running as Future>::Output {
    poll_fn(|cx| {
        let polled = Pin::new(&mut *running).poll(cx);
        if polled.is_pending() && std::mem::take(looks_ahead) {
            inner.store.look_ahead();
        }
        polled
    })
    .await
}

/// Waits until nobody else wants the answer.
async fn unfollowed(lead: Option<&Lead>) {
    if let Some(lead) = lead {
        lead.unfollowed().await;
    }
}

fn start(
    inner: &Arc<Inner>,
    (valid, ledger, echoes): (Box<Valid>, BudgetLedger, &Arc<Echoes>),
    trail: &Trail,
    limit: Duration,
    cancel: CancellationToken,
) -> Running {
    let provider = Arc::clone(&valid.listing.provider);
    let call = ToolCall {
        id: trail.call.clone(),
        tool: valid.listing.spec.name.clone(),
        arguments: valid.arguments,
    };
    let responses = valid.responses.map(|mut responses| {
        responses.state = super::state::opened(&responses.state);
        responses
    });
    let surroundings = Surroundings {
        limit,
        cancel,
        events: Arc::new(CleanEvents {
            cleaner: inner.cleaner.clone(),
            echoes: Arc::clone(echoes),
            sink: valid.events,
        }),
        control: valid.control,
        aside: valid.aside,
        responses,
        ledger,
        agreed: valid.plan.map(|plan| plan.binding),
    };
    let context = context(inner, provider.id(), trail, surroundings);
    Owned::new(async move {
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        let answer = provider.call(call, context);
        answer.await
    })
}

/// What a context needs beyond what the trail knows.
struct Surroundings {
    limit: Duration,
    cancel: CancellationToken,
    events: Arc<dyn EventSink>,
    control: Control,
    aside: Option<Arc<str>>,
    responses: Option<InputResponses>,
    ledger: BudgetLedger,
    agreed: Option<String>,
}

fn context(
    inner: &Arc<Inner>,
    provider: &str,
    trail: &Trail,
    surroundings: Surroundings,
) -> CallContext {
    let step = trail.step.as_ref();
    let conversation = step.and_then(|step| step.conversation.clone());
    let handle = conversation.unwrap_or_else(|| trail.session.handle.clone());
    CallContext {
        call: trail.call.clone(),
        principal: trail.session.principal.clone(),
        session: SessionKey::new(trail.session.principal.clone(), handle),
        surface: trail.surface,
        transport: trail.transport,
        trust: trail.trust,
        time_left: surroundings.limit,
        cancel: surroundings.cancel,
        events: surroundings.events,
        state: Arc::new(Scoped::new(inner, provider, &trail.session.principal)),
        trace: trail.trace.clone(),
        control: surroundings.control,
        aside: surroundings.aside,
        responses: surroundings.responses,
        scope: trail.scope.clone(),
        spelling: trail.spelling,
        results: trail.results,
        asks: trail.asks,
        profile: trail.profile.clone(),
        standing: Standing {
            consent: u8::try_from(trail.consent.rank()).unwrap_or(0),
            ..trail.standing.clone()
        },
        ledger: surroundings.ledger,
        agreed: surroundings.agreed,
    }
}

/// What the provider says this call would do, for whoever is about to be asked.
pub(super) async fn preview(
    inner: &Arc<Inner>,
    valid: &Valid,
    trail: &Trail,
) -> Result<Option<String>, Stop> {
    let provider = Arc::clone(&valid.listing.provider);
    let call = ToolCall {
        id: trail.call.clone(),
        tool: valid.listing.spec.name.clone(),
        arguments: valid.arguments.clone(),
    };
    let surroundings = Surroundings {
        limit: PREVIEW,
        cancel: valid.cancel.clone(),
        events: Arc::new(NoEvents),
        control: valid.control.clone(),
        aside: None,
        responses: None,
        ledger: BudgetLedger::default(),
        agreed: None,
    };
    let context = context(inner, provider.id(), trail, surroundings);
    let mut asking = Owned::new(async move { provider.preview(&call, &context).await });
    match tokio::time::timeout(PREVIEW, &mut asking).await {
        Ok(Ok(Ok(preview))) => Ok(preview),
        Ok(Ok(Err(error))) => Err(error.into_failure(trail.idempotent).into()),
        Ok(Err(Panicked(_))) => {
            let message = format!("the provider of `{}` crashed on this call", trail.tool);
            Err(Stop::new(ErrorCode::Panicked, message))
        }
        Err(_) => {
            asking.abandon();
            let message = format!("`{}` did not say in time what it would do", trail.tool);
            Err(Stop::new(ErrorCode::TimedOut, message))
        }
    }
}

fn ended(
    finished: Result<Result<Answer, ProviderError>, Panicked>,
    trail: &Trail,
) -> Result<Answer, Stop> {
    match finished {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(error.into_failure(trail.idempotent).into()),
        Err(Panicked(_)) => Err(unsure(
            ErrorCode::Panicked,
            format!("the provider of `{}` crashed on this call", trail.tool),
            trail,
        )),
    }
}

/// Asks the provider to stop, waits a little, and leaves a note-taker behind.
async fn give_up(
    inner: &Arc<Inner>,
    mut running: Running,
    stop: &CancellationToken,
    trail: &Trail,
    code: ErrorCode,
    message: String,
) -> Stop {
    stop.cancel();
    let early = tokio::time::timeout(GRACE, &mut running).await;
    match early {
        Ok(finished) => note_late(inner, trail, finished.ok()).await,
        Err(_) => {
            let (inner, call) = (Arc::clone(inner), trail.call.clone());
            let facts = trail_of(trail);
            tokio::spawn(async move {
                let finished = tokio::time::timeout(LATE, &mut running).await;
                match finished {
                    Ok(finished) => {
                        note_late_facts(&inner, (&call, facts), finished.ok()).await;
                    }
                    Err(_) => running.abandon(),
                }
            });
        }
    }
    unsure(code, message, trail)
}

/// A failure after which it is not known what has happened.
fn unsure(code: ErrorCode, message: String, trail: &Trail) -> Stop {
    let mut failure = Failure::new(code, message).suggest(code.advice());
    failure.can_retry = match code.retry() {
        Retry::Never => false,
        Retry::Later => true,
        Retry::WhenHarmless => trail.idempotent,
    };
    if trail.effect {
        failure = failure.with("outcome", "unknown");
    }
    failure.into()
}

fn trail_of(trail: &Trail) -> serde_json::Value {
    serde_json::json!({
        "call_id": trail.call.as_str(),
        "trace_id": trail.trace.trace_id,
        "principal": trail.session.principal.as_str(),
        "session": trail.session.handle,
        "tool": trail.tool,
    })
}

async fn note_late(
    inner: &Arc<Inner>,
    trail: &Trail,
    finished: Option<Result<Answer, ProviderError>>,
) {
    note_late_facts(inner, (&trail.call, trail_of(trail)), finished).await;
}

/// Writes a late answer down beside the ending, or as soon as the store takes it.
async fn note_late_facts(
    inner: &Arc<Inner>,
    (call, mut facts): (&CallId, serde_json::Value),
    finished: Option<Result<Answer, ProviderError>>,
) {
    let (status, fingerprint, code) = match &finished {
        Some(Ok(Answer::Done(result))) => {
            let (clean, _) = inner.cleaner.arguments(result.payload.raw());
            let print = tollgate_core::canonical::hex_digest(clean.as_bytes());
            match &result.failure {
                None => ("ok", Some(print), None),
                Some(failure) => ("error", Some(print), Some(failure.code.as_str())),
            }
        }
        Some(Ok(Answer::NeedsInput(_))) => ("needs_input", None, None),
        Some(Err(error)) => ("error", None, Some(error.code.as_str())),
        None => ("crashed", None, None),
    };
    facts["status"] = status.into();
    facts["output_fingerprint"] = fingerprint.into();
    facts["error_code"] = code.into();
    let entry = record::note(LATE_ANSWER, inner.clock.now(), facts);
    let batch = Arc::new(Batch {
        audit: vec![entry],
        ..Batch::default()
    });
    if let Err(error) = inner.store.commit_shared(Arc::clone(&batch)).await {
        owed::owe(inner, (call, LATE_ANSWER), &batch, &error);
    }
}

/// Cleans what a provider says while it runs.
struct CleanEvents {
    cleaner: Cleaner,
    echoes: Arc<Echoes>,
    sink: Arc<dyn EventSink>,
}

impl EventSink for CleanEvents {
    fn emit(&self, mut event: Event) {
        self.echoes.hide_in_event(&mut event);
        self.sink.emit(self.cleaner.event(event));
    }
}
