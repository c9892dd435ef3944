//! What a finished call looks like from outside: envelope, log line, span.
//!
//! Invariant: an envelope is put together from clean parts only.

use std::sync::Arc;

use tollgate_core::{
    Block, Envelope, ErrorCode, Failure, Meta, Shape, Status, StoreError, Warning, audit::Hash,
    store::Receipt,
};

use super::{Disposition, Inner, Outcome, Stop};
use crate::{
    record::{CacheUse, LogEvent, Span, Trail},
    sanitize::Clean,
    session::{Kept, SessionState, Source},
};

/// What is shown and written of one ending.
pub(super) struct Shown {
    pub(super) kept: Option<Arc<Kept>>,
    pub(super) failure: Option<Clean<Failure>>,
    pub(super) warnings: Vec<Warning>,
    pub(super) redactions: usize,
    pub(super) disposition: Disposition,
    pub(super) call: tollgate_core::CallId,
    /// The question it leaves open, by the digest of its call.
    pub(super) asked: Option<Hash>,
    /// The call that keeps the body of this very answer to these very arguments.
    pub(super) source: Option<Arc<Source>>,
}

impl Shown {
    pub(super) fn kept(kept: Arc<Kept>, call: tollgate_core::CallId, redactions: usize) -> Self {
        let failure = kept.failure.clone().map(Clean::of_failure);
        let disposition = failure.as_ref().map_or(Disposition::Done, |failure| {
            Disposition::of(failure.get().code)
        });
        Self {
            warnings: kept.warnings.clone(),
            kept: Some(kept),
            failure,
            redactions,
            disposition,
            call,
            asked: None,
            source: None,
        }
    }

    pub(super) fn failed(failure: Clean<Failure>, call: tollgate_core::CallId) -> Self {
        Self {
            disposition: Disposition::of(failure.get().code),
            kept: None,
            failure: Some(failure),
            warnings: Vec::new(),
            redactions: 0,
            call,
            asked: None,
            source: None,
        }
    }

    pub(super) fn status(&self) -> Status {
        self.kept.as_ref().map_or(Status::Error, |kept| kept.status)
    }

    pub(super) fn preview(&self, inner: &Inner) -> String {
        let text = match (&self.kept, &self.failure) {
            (Some(kept), _) => kept.payload.raw(),
            (None, Some(failure)) => &failure.get().message,
            (None, None) => "",
        };
        inner.cleaner.preview(text, inner.settings.preview)
    }
}

pub(super) fn answer(
    inner: &Inner,
    trail: &Trail,
    session: &SessionState,
    shown: Shown,
    receipt: Receipt,
    reviews: Vec<String>,
) -> Outcome {
    session.learn(receipt.session);
    let place = receipt
        .places
        .last()
        .map(tollgate_core::audit::Place::receipt);
    let wants_receipt = trail.effect && (trail.intent || trail.cache == CacheUse::Recorded);
    let outcome = assemble(
        inner,
        trail,
        session.ledger(),
        shown,
        place,
        reviews,
        wants_receipt,
    );
    report(inner, trail, &outcome);
    outcome
}

/// The answer when even the ending could not be written.
pub(super) fn without_store(inner: &Inner, trail: &Trail, stop: Stop) -> Outcome {
    let outcome = unreported(inner, trail, stop);
    report(inner, trail, &outcome);
    outcome
}

/// The same for a call that broke where others would hear of it.
pub(super) fn unreported(inner: &Inner, trail: &Trail, stop: Stop) -> Outcome {
    let shown = Shown::failed(inner.cleaner.failure(stop.failure), trail.call.clone());
    let ledger = tollgate_core::BudgetLedger::default();
    assemble(inner, trail, ledger, shown, None, Vec::new(), false)
}

/// What helps while a stopped process holds the lock of the state.
const RESUME: &str = "Let the process that the message names go on (`kill -CONT PID`) or end it.";

/// What a caller is told when its ending could not be written.
pub(super) fn withheld(error: &StoreError, trail: &Trail) -> Stop {
    let message = format!("the call could not be written down, so its answer is withheld: {error}");
    let mut stop = Stop::new(error.code(), message);
    if trail.ran {
        let advice = "The tool has run. Run `tollgate doctor`, and check what happened before repeating a side effect.";
        let advice = if error.code() == ErrorCode::StoreHeld {
            format!("{advice} {RESUME}")
        } else {
            advice.to_owned()
        };
        stop.failure = stop.failure.suggest(advice);
        stop.failure.can_retry = trail.idempotent;
        if trail.effect {
            stop.failure = stop.failure.with("outcome", "unknown");
        }
    }
    stop
}

fn report(inner: &Inner, trail: &Trail, outcome: &Outcome) {
    let envelope = outcome.envelope.get();
    let status = if envelope.ok { "completed" } else { "error" };
    inner.log(trail, LogEvent::AgentToolDone, status, Some(outcome));
    let looked_at = !trail.cache.is_reuse();
    if looked_at && (envelope.ok || !envelope.meta.review_items.is_empty()) {
        let event = if envelope.meta.review_items.is_empty() {
            LogEvent::AgentReflectPass
        } else {
            LogEvent::AgentReflectFail
        };
        inner.log(trail, event, status, Some(outcome));
    }
    if inner.spans.wants() {
        let error = envelope.error.as_ref().map(|failure| failure.code);
        inner
            .spans
            .export(Span::of(trail, envelope.status.as_str(), error));
    }
}

/// The failure with the code and the hint of the document that describes its tool, if one does.
fn documented(inner: &Inner, trail: &Trail, failure: Clean<Failure>) -> Failure {
    let mut failure = failure.into_inner();
    let catalog = inner.catalog();
    if let Some(listing) = catalog.find(&trail.tool) {
        listing.spec.telling.error_codes.document(&mut failure);
    }
    failure
}

fn assemble(
    inner: &Inner,
    trail: &Trail,
    ledger: tollgate_core::BudgetLedger,
    shown: Shown,
    receipt: Option<String>,
    review_items: Vec<String>,
    wants_receipt: bool,
) -> Outcome {
    let kept = shown.kept;
    let hit = matches!(trail.cache, CacheUse::Hit | CacheUse::Shared);
    let service = kept.as_ref().and_then(|kept| kept.service.clone());
    let meta = Meta {
        call_id: trail.call.as_str().to_owned(),
        trace_id: trail.trace.trace_id.clone(),
        duration_ms: trail.duration_micros() / 1000,
        provider: trail.provider.clone(),
        capability: trail
            .capability
            .map(|capability| capability.as_str().to_owned()),
        cache_hit: hit,
        input_fingerprint: trail.arguments.as_ref().map(|it| it.fingerprint.clone()),
        output_fingerprint: kept.as_ref().map(|kept| kept.fingerprint.clone()),
        redaction_applied: kept.as_ref().is_some_and(|kept| kept.redacted),
        tainted: kept.as_ref().is_some_and(|kept| !kept.taint.is_empty()),
        taint_spans: kept
            .as_ref()
            .map_or_else(Vec::new, |kept| kept.taint.clone()),
        review_items,
        receipt,
    };
    let status = kept.as_ref().map_or(Status::Error, |kept| kept.status);
    let resolved = service.as_ref().and_then(|it| it.cache_key.clone());
    let envelope = Envelope {
        ok: status != Status::Error,
        status,
        tool: trail.tool.clone(),
        command: trail.command.clone(),
        data: kept.as_ref().map(|kept| kept.payload.clone()),
        warnings: shown.warnings,
        error: shown
            .failure
            .map(|failure| documented(inner, trail, failure)),
        request: service.as_ref().map(|service| service.request.clone()),
        token_bucket: service.map(|service| service.token_bucket),
        cache_key: resolved.or_else(|| trail.cache_key.as_deref().map(str::to_owned)),
        cache_hit: hit,
        budget_ledger: ledger,
        meta,
    };
    let blocks: Vec<Block> = kept
        .as_ref()
        .map_or_else(Vec::new, |kept| kept.blocks.clone());
    Outcome {
        envelope: Clean::assembled(envelope),
        blocks: Clean::of_blocks(blocks),
        whole: kept
            .as_ref()
            .and_then(|kept| kept.whole.as_ref())
            .map(|whole| whole.payload.raw().len()),
        shape: kept.as_ref().map_or(Shape::Data, |kept| kept.shape),
        disposition: shown.disposition,
        call: shown.call,
        traceparent: trail.trace.traceparent(),
        wants_receipt,
    }
}
