//! Taint from answer to argument, also across the processes of a stored session.

use tollgate_core::StoreError;

use super::{Inner, Stop, answer, session_store, validate::Valid};
use crate::{
    record::Trail,
    session::{Kept, Lifetime, SessionState, tainted_runs},
};

/// Where a stored session keeps its marks.
const NAMESPACE: &str = "gate.taint";
/// Runs kept of a stored session.
const STORED_RUNS: usize = 4000;

/// Whether tainted text is about to leave through a sensitive sink.
pub(super) async fn flows(
    inner: &Inner,
    session: &SessionState,
    valid: &Valid,
) -> Result<bool, StoreError> {
    if !valid.listing.spec.annotations.sensitive_sink {
        return Ok(false);
    }
    if session.lifetime() == Lifetime::Stored {
        let kept = session_store::read(inner, session, NAMESPACE).await?;
        session.mark(&read(kept.map(|(value, _)| value)));
    }
    Ok(session.is_tainted_by(valid.governed().value()))
}

/// Remembers what a tainted answer said.
pub(super) async fn remember(
    inner: &Inner,
    session: &SessionState,
    kept: &Kept,
    trail: &Trail,
) -> Result<(), Stop> {
    let mut fresh = tainted_runs(&kept.payload, &kept.taint);
    if let Some(whole) = &kept.whole {
        fresh.extend(tainted_runs(&whole.payload, &whole.taint));
    }
    if fresh.is_empty() {
        return Ok(());
    }
    let (budgets, now) = (&inner.settings.budgets, inner.clock.now());
    let marked = inner.sessions.mark(budgets, session, (&fresh, now));
    marked.map_err(|stop| without_room(stop, trail))?;
    if session.lifetime() == Lifetime::Process {
        return Ok(());
    }
    let changed = session_store::change(inner, session, NAMESPACE, trail, |before| {
        let mut runs = read(before);
        runs.extend(&fresh);
        let excess = runs.len().saturating_sub(STORED_RUNS);
        runs.drain(..excess);
        Ok(serde_json::to_vec(&runs).unwrap_or_default())
    });
    let changed = changed.await;
    changed.map_err(|error| answer::withheld(&error, trail))
}

/// The tool has run: that there is no room for what it answered is no reason to run it again.
pub(super) fn without_room(mut stop: Stop, trail: &Trail) -> Stop {
    stop.failure.can_retry &= trail.idempotent || !trail.effect;
    stop
}

fn read(kept: Option<Vec<u8>>) -> Vec<u64> {
    let runs = kept.and_then(|kept| serde_json::from_slice(&kept).ok());
    runs.unwrap_or_default()
}
