//! Every way out of the path: settled, written down, and only then answered.
//!
//! Invariant: an outcome leaves only after its ending is committed. If the store
//! cannot take the ending, the answer is withheld, the caller is told so, and the ending
//! is written as soon as the store takes it.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tollgate_core::{
    CallId, ConsumedSource, ErrorCode, Failure, InputRequest, Status, StoreError, ToolResult,
    Usage, Warning,
    store::{Batch, Body, Change, Durability},
};
use tollgate_sanitize::Scope;

use super::{
    Disposition, Inner, Outcome, Stage, Stop,
    admit::Told,
    answer::{Shown, answer, withheld, without_store},
    cache::{self, Keeping},
    closing::{Written, close, commit, entry},
    consent::{self, Recorded},
    placeholders::{Echoes, Taking},
    validate::Checked,
};
use crate::{
    catalog::{self, Listing},
    record::{CacheUse, CleanArguments, Trail},
    review,
    sanitize::{Clean, Found},
    session::{Kept, Lifetime, Recalled, SessionState, Source},
    tools::result,
};

/// For how long calls refer to a body that was kept before; then it is kept anew, so
/// that it is not forgotten while calls that refer to it are young.
const BODY_SHARED: Duration = Duration::from_secs(3600);

/// How a call went, before it is written down.
pub(super) enum End {
    Answered(Answered),
    Hit(Recalled),
    Recorded(Box<Recorded>),
    DryRun(Told),
    NeedsInput(InputRequest),
    Stopped(Stop),
}

/// A fresh, clean answer.
pub(super) struct Answered {
    pub(super) kept: Arc<Kept>,
    pub(super) usage: Usage,
    pub(super) redactions: usize,
    pub(super) caching: Option<Keeping>,
}

/// A clean answer and what cleaning found.
pub(super) struct CleanAnswer {
    pub(super) result: Clean<ToolResult>,
    pub(super) found: Found,
}

/// The ending of an effect, as it is shown again to a caller who missed it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredEnding {
    pub(crate) kept: Option<Kept>,
    pub(crate) failure: Option<Failure>,
    /// The question that was still open.
    #[serde(default)]
    pub(crate) input: Option<InputRequest>,
}

/// Cleans a checked answer; if that changed it, it has to be checked again.
pub(super) fn clean(
    inner: &Inner,
    listing: &Listing,
    checked: Checked,
    taking: &Taking<'_>,
    echoes: &Echoes,
) -> CleanAnswer {
    let open_world = listing.spec.annotations.open_world;
    let made = listing.made();
    let none = tollgate_sanitize::Identifiers::none();
    let identifiers = made.map_or(&none, |made| &made.identifiers);
    let scope = Scope {
        open_world,
        identifiers,
        seals: Some(taking),
        escapes: taking.escapes(),
    };
    let is_of_others = catalog::is_of_others(listing.provider.id());
    let hide = |result: &mut ToolResult| echoes.hide_in(result);
    let (result, found) = inner.cleaner.result(checked, is_of_others, &scope, hide);
    CleanAnswer { result, found }
}

/// Writes an ending down and answers. A question that there is no room for is not asked.
pub(super) async fn finish(
    inner: &Arc<Inner>,
    trail: &mut Trail,
    session: &SessionState,
    end: End,
) -> Outcome {
    match try_finish(inner, trail, session, end).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let refused = End::Stopped(consent::too_many());
            // Boxed to keep the hot future small.
            match Box::pin(try_finish(inner, trail, session, refused)).await {
                Ok(outcome) => outcome,
                Err(error) => without_store(inner, trail, withheld(&error, trail)),
            }
        }
    }
}

/// The same; `Err` only if the ending asks a human and too many questions are open.
async fn try_finish(
    inner: &Arc<Inner>,
    trail: &mut Trail,
    session: &SessionState,
    end: End,
) -> Result<Outcome, StoreError> {
    let mut changes: Vec<Change> = session.opening().into_iter().collect();
    let (consumed, source) = settle(&end, trail);
    let shown = show(inner, trail, session, end, &mut changes);
    if trail.cache == CacheUse::Hit || trail.cache == CacheUse::Shared {
        changes.push(Change::CountHit {
            session: session.key().clone(),
        });
    }
    close(inner, trail, &shown, (consumed, source), &mut changes);
    let is_error = shown.failure.is_some() || shown.status() == Status::Error;
    if let (Some(key), true) = (&trail.cache_key, trail.intent || trail.ran) {
        session.count(key, is_error);
        if is_error {
            let earlier = Box::pin(review::earlier_failures(inner, trail)).await;
            trail.attempt = trail.attempt.max(earlier.saturating_add(1));
        }
    }
    let reviews = review::items(inner, trail, session, &reviewed(&shown)).await;
    let ids = reviews.named;
    changes.extend(reviews.opened.into_iter().map(Change::OpenReview));
    let replayable = keep_body(inner, trail, &shown, &mut changes);
    let written = Written {
        consumed,
        source,
        replayable,
        reviews: &ids,
    };
    let entry = entry(inner, trail, &shown, &written);
    let synced = trail.intent && trail.effect || shown.disposition == Disposition::NeedsConsent;
    let batch = Batch {
        changes,
        audit: vec![entry],
        durability: if synced {
            Durability::Disk
        } else {
            Durability::Process
        },
    };
    inner.store.foresee(inner.turns_taken());
    match commit(inner, trail, batch).await {
        Ok(receipt) => {
            inner.probe(trail, Stage::Record);
            if replayable.is_ok() {
                locate(trail, session, &shown);
            }
            let shown = if shown.asked.is_some() {
                Box::pin(name_question(inner, shown)).await
            } else {
                shown
            };
            Ok(answer(inner, trail, session, shown, receipt, ids))
        }
        Err(full @ StoreError::ApprovalsFull) => Err(full),
        Err(error) => Ok(without_store(inner, trail, withheld(&error, trail))),
    }
}

/// Ends a call whose session the store could not even tell.
pub(super) async fn without_session(inner: &Arc<Inner>, trail: &Trail, stop: Stop) -> Outcome {
    let shown = Shown::failed(
        inner.cleaner.failure(stop.failure.clone()),
        trail.call.clone(),
    );
    let (consumed, source) = settle(&End::Stopped(stop.failure.clone().into()), trail);
    let mut changes = Vec::new();
    close(inner, trail, &shown, (consumed, source), &mut changes);
    let written = Written {
        consumed,
        source,
        replayable: Err("no_session"),
        reviews: &[],
    };
    let batch = Batch {
        changes,
        audit: vec![entry(inner, trail, &shown, &written)],
        durability: if trail.intent && trail.effect {
            Durability::Disk
        } else {
            Durability::Process
        },
    };
    // Whether or not it is written now, the caller is told what failed first.
    drop(commit(inner, trail, batch).await);
    without_store(inner, trail, stop)
}

/// Of several who asked the same at once, one question was kept: names that one.
async fn name_question(inner: &Inner, mut shown: Shown) -> Shown {
    if let (Some(digest), Some(failure)) = (shown.asked, &shown.failure)
        && let Ok(Some(kept)) = inner.store.approval_of(&digest).await
        && failure.get().details.get("approval_id") != Some(&kept.id.as_str().into())
    {
        let failure = consent::naming(failure.get().clone(), &kept.id);
        shown.failure = Some(inner.cleaner.asking(failure));
    }
    shown
}

/// What was consumed, and who says so.
fn settle(end: &End, trail: &Trail) -> (Option<u64>, ConsumedSource) {
    let Some(reserved) = trail.reserved else {
        return (None, ConsumedSource::None);
    };
    match end {
        End::Answered(answered) => match answered.usage.consumed {
            Some(units) => (Some(units), ConsumedSource::TokenBucket),
            None => (Some(reserved), ConsumedSource::EstimatedFallback),
        },
        End::Stopped(stop) if stop.failure.code == ErrorCode::InputRejected => {
            (Some(0), ConsumedSource::None)
        }
        // A failure whose price is known costs that, and not what was estimated.
        End::Stopped(stop) if stop.failure.consumed == Some(0) => (Some(0), ConsumedSource::None),
        End::Stopped(stop) if stop.failure.consumed.is_some() => {
            (stop.failure.consumed, ConsumedSource::TokenBucket)
        }
        End::Stopped(_) | End::NeedsInput(_) => (Some(reserved), ConsumedSource::EstimatedFallback),
        End::Hit(_) | End::Recorded(_) | End::DryRun(_) => (Some(0), ConsumedSource::None),
    }
}

fn show(
    inner: &Inner,
    trail: &mut Trail,
    session: &SessionState,
    end: End,
    changes: &mut Vec<Change>,
) -> Shown {
    let call = trail.call.clone();
    match end {
        End::Answered(answered) => {
            keep(inner, session, &answered, changes);
            keep_whole(inner, session, &call, &answered.kept, changes);
            let redactions = answered.redactions;
            Shown::kept(answered.kept, call, redactions)
        }
        End::Hit(Recalled { kept, source }) => {
            keep_whole(inner, session, &call, &kept, changes);
            Shown {
                source: source.filter(|source| serves(source, trail, &kept)),
                ..Shown::kept(kept, call, 0)
            }
        }
        End::Recorded(recorded) => {
            trail.cache = CacheUse::Recorded;
            let mut shown = match (recorded.ending.kept, recorded.ending.failure) {
                (Some(kept), _) => Shown::kept(Arc::new(kept), recorded.call, 0),
                (None, Some(failure)) => {
                    Shown::failed(inner.cleaner.failure(failure), recorded.call)
                }
                (None, None) => {
                    let failure = Failure::new(ErrorCode::Interrupted, "how it ended is not known");
                    Shown::failed(inner.cleaner.failure(failure), recorded.call)
                }
            };
            if let Some(input) = recorded.ending.input {
                shown.disposition = Disposition::NeedsInput(input);
            }
            shown.warnings.push(Warning::RecordedEnding);
            shown
        }
        End::DryRun(told) => {
            let mut kept = Kept::ours(told.report);
            kept.service = told.service;
            let mut shown = Shown::kept(Arc::new(kept), call, 0);
            shown.warnings.push(Warning::DryRun);
            shown
        }
        End::NeedsInput(request) => needs_input(inner, trail, request),
        End::Stopped(stop) => stopped(inner, trail, session, stop, changes),
    }
}

fn stopped(
    inner: &Inner,
    trail: &Trail,
    session: &SessionState,
    mut stop: Stop,
    changes: &mut Vec<Change>,
) -> Shown {
    keep_visible_steps(inner, trail, &mut stop.failure);
    let asked = stop.ask.as_ref().map(|approval| approval.digest);
    if let Some(approval) = stop.ask {
        changes.push(Change::AskApproval {
            approval: *approval,
            limits: inner.settings.budgets.approvals,
        });
    }
    if stop.block {
        let details = &stop.failure.details;
        let units = |name: &str, known: u64| {
            let told = details.get(name).cloned();
            told.unwrap_or_else(|| known.into())
        };
        changes.push(Change::Block {
            session: session.key().clone(),
            action: serde_json::json!({
                "tool": trail.tool,
                "command": trail.command,
                "cache_key": trail.cache_key,
                "estimated_tokens": units("estimated_tokens", trail.estimate.estimated),
                "worst_case_tokens": units("worst_case_tokens", trail.estimate.worst_case),
                "reason": stop.failure.code.kind(),
            }),
        });
    }
    // Only a question of ours is blocked with a preview.
    let failure = match stop.block {
        true => inner.cleaner.asking(stop.failure),
        false => inner.cleaner.failure(stop.failure),
    };
    Shown {
        asked,
        ..Shown::failed(failure, trail.call.clone())
    }
}

/// Leaves only tools that this caller can see among those that a failure names.
pub(super) fn keep_visible_steps(inner: &Inner, trail: &Trail, failure: &mut Failure) {
    let catalog = inner.catalog();
    let sight = super::listing::Sight::of_trail(trail);
    failure.next_steps.retain(|name| {
        catalog
            .find(name)
            .is_some_and(|listing| super::listing::is_visible(inner, &sight, listing))
    });
}

fn needs_input(inner: &Inner, trail: &Trail, mut request: InputRequest) -> Shown {
    let binding = super::state::binding(
        &trail.tool,
        trail.spec_digest.as_deref().unwrap_or_default(),
        trail.arguments.as_ref().map_or("", |it| &it.fingerprint),
        &trail.session,
    );
    request.state = super::state::seal(inner, &trail.call, request.state, binding, trail.consent);
    for ask in request.asks.values_mut() {
        inner.cleaner.ask(ask);
    }
    let code = ErrorCode::InputRequired;
    let failure = Failure::new(code, format!("`{}` asks for something first", trail.tool))
        .suggest(code.advice());
    Shown {
        disposition: Disposition::NeedsInput(request),
        ..Shown::failed(inner.cleaner.failure(failure), trail.call.clone())
    }
}

/// Keeps the whole of an answer that shows only a part, for whoever searches it by this call.
fn keep_whole(
    inner: &Inner,
    session: &SessionState,
    call: &CallId,
    kept: &Kept,
    changes: &mut Vec<Change>,
) {
    if let Some(whole) = &kept.whole
        && inner.may_write(&session.key().principal, whole.payload.raw().len())
    {
        let id = call.as_str();
        changes.push(result::keeping(inner, session.key(), id, &whole.payload));
    }
}

/// Keeps a good answer in the store as well, for sessions that live there.
fn keep(inner: &Inner, session: &SessionState, answered: &Answered, changes: &mut Vec<Change>) {
    let Some(keeping) = answered
        .caching
        .as_ref()
        .filter(|_| answered.kept.is_success())
    else {
        return;
    };
    cache::remember(session, Some(keeping), &answered.kept);
    inner.sessions.trim(&inner.settings.budgets, session);
    if session.lifetime() == Lifetime::Stored
        && let Ok(bytes) = serde_json::to_vec(answered.kept.as_ref())
    {
        for place in cache::places(&keeping.place, &answered.kept) {
            changes.push(Change::Remember {
                key: cache::stored_key(session, &place),
                answer: bytes.clone(),
                until: keeping.until,
                at: inner.clock.now(),
            });
        }
    }
}

/// Whether a body kept before says all that this call's own would, and lasts about as long.
fn serves(source: &Source, trail: &Trail, kept: &Kept) -> bool {
    let same = |arguments: &CleanArguments| arguments.fingerprint == source.input;
    trail.at < source.at.plus(BODY_SHARED)
        && kept.fingerprint == source.output
        && trail.arguments.as_deref().is_some_and(same)
}

/// The body is committed: those who get this answer again may refer to it.
fn locate(trail: &Trail, session: &SessionState, shown: &Shown) {
    if let (Some(arguments), Some(kept), Some(key), None) = (
        &trail.arguments,
        &shown.kept,
        &trail.cache_key,
        &shown.source,
    ) && trail.cache != CacheUse::Off
    {
        let source = Source {
            call: trail.call.clone(),
            input: arguments.fingerprint.clone(),
            output: kept.fingerprint.clone(),
            at: trail.at,
        };
        session.locate(key, source);
    }
}

/// Keeps what replay needs, or says why it cannot.
fn keep_body(
    inner: &Inner,
    trail: &Trail,
    shown: &Shown,
    changes: &mut Vec<Change>,
) -> Result<(), &'static str> {
    let Some(arguments) = &trail.arguments else {
        return Err("no_arguments");
    };
    if shown.warnings.contains(&Warning::DryRun) {
        return Err("dry_run");
    }
    if shown.source.is_some() {
        return Ok(());
    }
    let limit = inner.settings.max_body;
    let data = shown.kept.as_ref().map(|kept| kept.payload.raw());
    let fits = |text: &str| text.len() <= limit;
    let parts = [Some(arguments.text.as_str()), data];
    let parts = parts.into_iter().flatten().filter(|text| fits(text));
    if !inner.may_write(&trail.session.principal, parts.map(str::len).sum()) {
        return Err("over_budget");
    }
    let redacted = arguments.redacted || shown.kept.as_ref().is_some_and(|kept| kept.redacted);
    changes.push(Change::KeepBody(Body {
        call: trail.call.clone(),
        arguments: Some(&arguments.text)
            .filter(|text| fits(text) && !arguments.redacted)
            .cloned(),
        data: data.filter(|text| fits(text)).map(str::to_owned),
    }));
    if redacted {
        return Err("redacted");
    }
    let large = !fits(&arguments.text) || data.is_some_and(|text| !fits(text));
    if large { Err("too_large") } else { Ok(()) }
}

fn reviewed(shown: &Shown) -> review::Reviewed<'_> {
    review::Reviewed {
        data: shown.kept.as_ref().map(|kept| &kept.payload),
        status: shown.status(),
        warnings: &shown.warnings,
        code: shown.failure.as_ref().map(|failure| failure.get().code),
        redactions: shown.redactions,
    }
}
