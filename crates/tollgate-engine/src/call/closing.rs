//! The last batch of a call: what ends it in the store, and what says so in the log.

use std::sync::Arc;

use tollgate_core::{
    ConsumedSource, StoreError,
    audit::AuditEntry,
    store::{Batch, Change, Ending, Receipt},
};

use super::{Disposition, Inner, answer::Shown, finish::StoredEnding, owed};
use crate::record::{self, ENDING, Note, Trail};

/// Commits an ending, or leaves it to be committed later. One that asks a human what there is no
/// room for is not committed: its call ends in another way.
pub(super) async fn commit(
    inner: &Arc<Inner>,
    trail: &Trail,
    batch: Batch,
) -> Result<Receipt, StoreError> {
    let mut batch = Arc::new(batch);
    let mut committed = inner.store.commit_shared(Arc::clone(&batch)).await;
    if trail.doubtful && matches!(committed, Err(StoreError::AlreadyEnded)) {
        batch = Arc::new(owed::unannounced(&batch));
        committed = inner.store.commit_shared(Arc::clone(&batch)).await;
    }
    match &committed {
        Ok(_) => inner.owed.hurry(),
        Err(StoreError::ApprovalsFull) => {}
        Err(error) => owed::owe(inner, (&trail.call, ENDING), &batch, error),
    }
    committed
}

/// Gives back what was set aside, and ends what was announced.
pub(super) fn close(
    inner: &Inner,
    trail: &Trail,
    shown: &Shown,
    (consumed, source): (Option<u64>, ConsumedSource),
    changes: &mut Vec<Change>,
) {
    if let Some(reserved) = trail.reserved {
        changes.push(Change::Settle {
            session: trail.session.clone(),
            reserved,
            consumed: consumed.unwrap_or(0),
            source,
        });
    }
    if trail.intent {
        changes.push(Change::EndIntent(Ending {
            call: trail.call.clone(),
            // What could not be announced for certain was not called: it may be tried again.
            answer: (trail.effect && (trail.ran || !trail.doubtful)).then(|| stored(shown)),
            at: inner.clock.now(),
        }));
    }
}

/// What an ending says of how it is written down.
pub(super) struct Written<'a> {
    pub(super) consumed: Option<u64>,
    pub(super) source: ConsumedSource,
    pub(super) replayable: Result<(), &'static str>,
    pub(super) reviews: &'a [String],
}

/// Says in the log how a call ended.
pub(super) fn entry(
    inner: &Inner,
    trail: &Trail,
    shown: &Shown,
    written: &Written<'_>,
) -> AuditEntry {
    let kept = shown.kept.as_ref();
    record::ending(
        trail,
        &Note {
            status: shown.status(),
            error_code: shown.failure.as_ref().map(|failure| failure.get().code),
            warnings: &shown.warnings,
            output_fingerprint: kept.map(|kept| kept.fingerprint.as_str()),
            result_preview: &shown.preview(inner),
            arguments_preview: &arguments_preview(inner, trail),
            redactions: shown.redactions,
            tainted: kept.is_some_and(|kept| !kept.taint.is_empty()),
            consumed: written.consumed,
            source: written.source,
            replayable: written.replayable,
            body_of: shown.source.as_ref().map(|source| source.call.as_str()),
            reviews: written.reviews,
        },
    )
}

fn stored(shown: &Shown) -> Vec<u8> {
    let ending = StoredEnding {
        kept: shown.kept.as_deref().cloned(),
        failure: shown.failure.as_ref().map(|failure| failure.get().clone()),
        input: match &shown.disposition {
            Disposition::NeedsInput(request) => Some(request.clone()),
            Disposition::Done
            | Disposition::Failed(_)
            | Disposition::NeedsConsent
            | Disposition::Denied => None,
        },
    };
    serde_json::to_vec(&ending).unwrap_or_default()
}

fn arguments_preview(inner: &Inner, trail: &Trail) -> String {
    let text = trail.arguments.as_ref().map_or("", |clean| &clean.text);
    inner.cleaner.preview(text, inner.settings.preview)
}
