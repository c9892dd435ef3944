//! Taint from answer to argument, also across the processes of a stored session.

use tollgate_core::{
    StoreError,
    store::{Batch, Change},
};

use super::{Inner, Stage, validate::Valid};
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
        let (runs, _) = stored(inner, session).await?;
        session.mark(&runs);
    }
    Ok(session.is_tainted_by(valid.arguments.value()))
}

/// Remembers what a tainted answer said.
pub(super) async fn remember(
    inner: &Inner,
    session: &SessionState,
    kept: &Kept,
    trail: &Trail,
) -> Result<(), StoreError> {
    let mut fresh = tainted_runs(&kept.payload, &kept.taint);
    if let Some(whole) = &kept.whole {
        fresh.extend(tainted_runs(&whole.payload, &whole.taint));
    }
    if fresh.is_empty() {
        return Ok(());
    }
    session.mark(&fresh);
    if session.lifetime() == Lifetime::Process {
        return Ok(());
    }
    loop {
        let (mut runs, version) = stored(inner, session).await?;
        runs.extend(&fresh);
        let excess = runs.len().saturating_sub(STORED_RUNS);
        runs.drain(..excess);
        let change = Change::PutState {
            namespace: NAMESPACE.to_owned(),
            principal: session.key().principal.clone(),
            key: session.key().handle.clone(),
            version,
            value: serde_json::to_vec(&runs).unwrap_or_default(),
            until: None,
            at: inner.clock.now(),
        };
        let batch = Batch {
            changes: vec![change],
            ..Batch::default()
        };
        match inner.store.commit(batch).await {
            Ok(_) => {
                inner.probe(trail, Stage::Mark);
                return Ok(());
            }
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error),
        }
    }
}

async fn stored(
    inner: &Inner,
    session: &SessionState,
) -> Result<(Vec<u64>, Option<u64>), StoreError> {
    let key = session.key();
    let now = inner.clock.now();
    let found = inner
        .store
        .state(NAMESPACE, &key.principal, &key.handle, now)
        .await?;
    Ok(found.map_or_else(
        || (Vec::new(), None),
        |found| {
            let runs = serde_json::from_slice(&found.value).unwrap_or_default();
            (runs, Some(found.version))
        },
    ))
}
