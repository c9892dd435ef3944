//! One step: a call through the door in the name of whoever started the run.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tollgate_core::{
    ErrorCode, Event as CallEvent, EventSink, Failure, InputResponses, Payload, SessionKey,
};
use tollgate_runs::{Call, Content, NewArtifact, Outcome};

use super::{
    Shared,
    artifacts::Origin,
    body::Body,
    errors::{self, reads_pages},
    task::Given,
    view::SESSION,
};
use crate::{
    call::{self, Disposition, Gateway, Inner, Request, StepOf},
    policy::Consent,
};

/// How often a call that dead processes had begun is made again; one that kills whoever
/// makes it does not go on for ever.
const MOST_REPEATS: u32 = 3;

/// What all steps of a run have in common.
pub(super) struct Surroundings {
    pub(super) shared: Arc<Shared>,
    pub(super) inner: Arc<Inner>,
    pub(super) run: String,
    pub(super) session: SessionKey,
    pub(super) fence: u64,
    pub(super) body: Body,
    /// Whether the run only waits for somebody's answer.
    pub(super) is_resting: AtomicBool,
    /// What the one call of a task was given.
    pub(super) task: Option<Given>,
    /// Answers to what the call of a task asked last.
    pub(super) answers: Mutex<Option<InputResponses>>,
}

/// What came of a call, before artifacts are made of it.
pub(super) enum Answered {
    Data {
        data: Arc<Value>,
        tainted: bool,
        call: String,
    },
    /// The tool asks its caller something first.
    Input {
        request: tollgate_core::InputRequest,
        call: String,
    },
    /// It was not made: a human has to answer this question first.
    Asked {
        approval: String,
        call: String,
    },
    Failed(Outcome),
}

/// Makes the call and waits for it. One that a dead process had begun is made again if a
/// repeat does no harm; else it has the ending that is recorded for it.
pub(super) async fn make(
    around: &Surroundings,
    call: &Call,
    cancel: CancellationToken,
    events: Arc<dyn EventSink>,
) -> Answered {
    let gateway = Gateway(Arc::clone(&around.inner));
    let mut begun = 0;
    let (outcome, is_late) = loop {
        let mut request = request(around, call, begun);
        request.cancel = cancel.clone();
        request.events = Arc::clone(&events);
        let (outcome, is_late) = in_time(around, call, &gateway, request).await;
        begun += 1;
        if begun > MOST_REPEATS || !may_be_repeated(around, call, &outcome) {
            break (outcome, is_late);
        }
    };
    // The run has it; should it be asked for again, then by its key.
    if outcome.wants_receipt {
        drop(gateway.delivered(&outcome).await);
    }
    let id = outcome.call.as_str().to_owned();
    if around.task.is_some() {
        return whole(outcome, id);
    }
    let envelope = outcome.envelope.get();
    match (&outcome.disposition, &envelope.data, &envelope.error) {
        (Disposition::Done, data, _) => Answered::Data {
            data: Arc::new(
                data.as_ref()
                    .map_or(Value::Null, |data| data.value().clone()),
            ),
            tainted: envelope.meta.tainted,
            call: id,
        },
        (Disposition::NeedsConsent, _, Some(failure)) => match asked(failure) {
            Some(approval) => Answered::Asked { approval, call: id },
            None => Answered::Failed(failed(around, call, Some(failure), id, is_late)),
        },
        (_, _, failure) => Answered::Failed(failed(around, call, failure.as_ref(), id, is_late)),
    }
}

/// The call as it passes the door; `begun` is how often dead processes had begun it.
fn request(around: &Surroundings, call: &Call, begun: u32) -> Request {
    let consent = Consent::from_rank(i64::from(around.body.standing.consent));
    let mut request = match &around.task {
        Some(given) => {
            let mut request = Request::new(&call.tool, given.arguments.clone());
            request.control = given.control.clone();
            let mut answers = around
                .answers
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            request.responses = answers.take().or_else(|| given.responses.clone());
            request
        }
        None => Request::new(&call.tool, Payload::from(call.arguments.clone())),
    };
    request.control.yes = consent >= Consent::Agent;
    // Names the effect, so that a run that goes on after a crash does not repeat it.
    request.control.idempotency_key.get_or_insert_with(|| {
        let name = format!("{}/{}/{}", around.run, call.name, call.attempt);
        match begun {
            0 => name,
            begun => format!("{name}/{begun}"),
        }
    });
    request.traceparent = Some(around.body.traceparent.clone());
    request.attempt = call.attempt;
    request.step = Some(Arc::new(StepOf {
        run: around.run.clone(),
        step: call.name.clone(),
        consent,
        conversation: match around.task {
            Some(_) => None,
            None => Some(around.body.conversation.clone()),
        },
    }));
    request
}

/// Makes one call within the time of its step; says whether that was too short.
async fn in_time(
    around: &Surroundings,
    call: &Call,
    gateway: &Gateway,
    request: Request,
) -> (call::Outcome, bool) {
    let cancel = request.cancel.clone();
    let caller = around.body.caller(&around.session);
    let calling = gateway.call(&caller, request);
    tokio::pin!(calling);
    let limit = call.timeout_ms.map_or(Duration::MAX, Duration::from_millis);
    tokio::select! {
        outcome = &mut calling => (outcome, false),
        () = tokio::time::sleep(limit) => {
            cancel.cancel();
            (calling.await, true)
        }
    }
}

/// Whether it was begun by a process that died, and making it again does no harm. A name
/// that the caller gave the effect stands for that one call.
fn may_be_repeated(around: &Surroundings, call: &Call, outcome: &call::Outcome) -> bool {
    let failure = outcome.envelope.get().error.as_ref();
    let is_cut_short = failure.is_some_and(|failure| failure.code == ErrorCode::Interrupted);
    let is_named = |given: &Given| given.control.idempotency_key.is_some();
    if !is_cut_short || around.task.as_ref().is_some_and(is_named) {
        return false;
    }
    let catalog = around.inner.catalog();
    let listing = catalog.find(&call.tool);
    listing.is_some_and(|listing| listing.spec.annotations.idempotent)
}

/// The ending of the one call of a task, kept whole whatever it is.
fn whole(outcome: call::Outcome, call: String) -> Answered {
    let failure = outcome.envelope.get().error.as_ref();
    if let (Disposition::NeedsConsent, Some(approval)) =
        (&outcome.disposition, failure.and_then(asked))
    {
        return Answered::Asked { approval, call };
    }
    let is_error = outcome.disposition != Disposition::Done;
    let (answer, tainted) = (outcome.to_keep(), outcome.envelope.get().meta.tainted);
    match outcome.disposition {
        Disposition::NeedsInput(request) => Answered::Input { request, call },
        Disposition::Done
        | Disposition::Failed(_)
        | Disposition::NeedsConsent
        | Disposition::Denied => Answered::Data {
            data: Arc::new(json!({"isError": is_error, "answer": answer})),
            tainted,
            call,
        },
    }
}

/// The question that a human has to answer; consent to a cost is nobody's to wait for.
fn asked(failure: &Failure) -> Option<String> {
    let id = failure.details.get("approval_id")?.as_str()?;
    Some(id.to_owned())
}

fn failed(
    around: &Surroundings,
    call: &Call,
    failure: Option<&Failure>,
    id: String,
    is_late: bool,
) -> Outcome {
    let catalog = around.inner.catalog();
    let spec = catalog.find(&call.tool).map(|listing| &listing.spec);
    let is_page = spec.is_some_and(|spec| reads_pages(spec.capability, &spec.annotations));
    let late;
    let failure = match (is_late, call.timeout_ms) {
        (true, Some(limit)) => {
            let message = format!("`{}` took longer than {limit} ms", call.tool);
            let can_retry = failure.is_some_and(|failure| failure.can_retry);
            late = Failure {
                can_retry,
                ..Failure::new(ErrorCode::TimedOut, message)
            };
            Some(&late)
        }
        (true, None) | (false, _) => failure,
    };
    Outcome::Failed {
        error: failure.map_or_else(
            || errors::of_step(ErrorCode::Internal, "it gave no answer"),
            |failure| errors::of_call(failure, is_page),
        ),
        can_retry: failure.is_some_and(|failure| failure.can_retry),
        call: Some(id),
    }
}

/// Whether an answer is too large to be kept in the run.
pub(super) fn is_large(around: &Surroundings, data: &Value) -> bool {
    let room = Room(around.shared.settings.spill_bytes);
    serde_json::to_writer(room, data).is_err()
}

/// Takes so many bytes and no more.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.checked_sub(bytes.len()) {
            Some(left) => self.0 = left,
            None => return Err(io::ErrorKind::StorageFull.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How a step has ended whose answer leaves nothing else behind.
pub(super) fn plain((data, tainted, call): (Arc<Value>, bool, String)) -> Outcome {
    Outcome::Done {
        data,
        artifacts: Vec::new(),
        spilled: None,
        tainted,
        call,
    }
}

/// What the template wants kept of a step.
pub(super) struct Wanted {
    pub(super) artifacts: Vec<NewArtifact>,
    /// Whether anything the run has read so far reads like instructions.
    pub(super) is_tainted: bool,
}

/// Keeps what the template wants kept, and what is too large to be kept in the run.
pub(super) async fn settled(
    around: &Surroundings,
    call: &Call,
    wanted: Wanted,
    (data, tainted, id): (Arc<Value>, bool, String),
) -> Outcome {
    let mut artifacts = wanted.artifacts;
    clean(around, call, &mut artifacts);
    let is_large = is_large(around, &data);
    if is_large {
        artifacts.push(NewArtifact {
            name: format!("{}.json", call.name),
            kind: "json".to_owned(),
            mime_type: Some("application/json".to_owned()),
            content: Content::Text(data.to_string()),
        });
    }
    let origin = Origin {
        run: &around.run,
        principal: &around.session.principal,
        step: &call.name,
        attempt: call.attempt,
        is_tainted: wanted.is_tainted,
    };
    match around.shared.keep(&around.inner, &origin, artifacts).await {
        Ok(notes) => {
            let spilled = notes.last().filter(|_| is_large);
            Outcome::Done {
                spilled: spilled.map(|note| note.artifact_id.clone()),
                data,
                artifacts: notes,
                tainted,
                call: id,
            }
        }
        Err(error) => Outcome::Failed {
            error: errors::of_step(
                error.code(),
                format!("its artifacts could not be kept: {error}"),
            ),
            can_retry: false,
            call: Some(id),
        },
    }
}

/// What a template puts together may quote what the run was given, which nobody has cleaned.
fn clean(around: &Surroundings, call: &Call, artifacts: &mut [NewArtifact]) {
    let catalog = around.inner.catalog();
    let listing = catalog.find(&call.tool);
    let made = listing.and_then(|listing| listing.made().ok());
    let known = made.map(|made| made.identifiers.clone());
    let mut identifiers = known.unwrap_or_default();
    identifiers.insert(SESSION);
    let cleaner = &around.inner.cleaner;
    for artifact in artifacts {
        artifact.name = cleaner.line(&artifact.name);
        match &mut artifact.content {
            Content::Text(text) => *text = cleaner.document(text, &identifiers),
            Content::Base64(_) => {}
        }
    }
}

/// Takes progress of a step and hands it to those who wait for the run.
pub(super) struct Relay {
    pub(super) live: tokio::sync::watch::Sender<super::Live>,
    pub(super) step: String,
}

impl EventSink for Relay {
    fn emit(&self, event: CallEvent) {
        if let CallEvent::Progress { message, .. } = event {
            let message = message.unwrap_or_default();
            self.live.send_if_modified(|live| {
                live.message = format!("{}: {message}", self.step);
                false
            });
        }
    }
}
