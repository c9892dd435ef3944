//! How what becomes of a run is kept: whole batches, asked for until they are in.
//!
//! Invariant: a run that ended here does so in the store as well, now or when the store can
//! write again; while this process lives, nobody else would see to it.

use std::{sync::PoisonError, time::Duration};

use serde_json::{Value, json};
use tollgate_core::{
    StoreError, Timestamp,
    store::{Batch, Change, Durability, ReviewItem, RunChange},
};
use tollgate_runs::Status;

use super::{Shared, body::Body, errors};
use crate::{call::Inner, record};

/// How long to wait before a store that cannot write is tried again, at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is kept together; made into a batch as often as the store has to be asked.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) changes: Vec<RunChange>,
    pub(super) review: Option<ReviewItem>,
    pub(super) notes: Vec<Value>,
    pub(super) durability: Durability,
}

impl Kept {
    /// Commits; a store that is busy or full is asked again until it is not.
    pub(super) async fn commit(&self, inner: &Inner) -> Result<(), StoreError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let now = inner.clock.now();
        let mut pause = Duration::from_millis(50);
        loop {
            match self.once(inner, now).await {
                Err(StoreError::Busy | StoreError::Held(_) | StoreError::Full) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PATIENCE);
                }
                kept => return kept,
            }
        }
    }

    async fn once(&self, inner: &Inner, now: Timestamp) -> Result<(), StoreError> {
        let changes = self.changes.iter().cloned().map(Change::Run);
        let review = self.review.iter().cloned().map(Change::OpenReview);
        let batch = Batch {
            changes: changes.chain(review).collect(),
            audit: self
                .notes
                .iter()
                .map(|note| record::note("run", now, note.clone()))
                .collect(),
            durability: self.durability,
        };
        inner.store.commit(batch).await.map(|_| ())
    }
}

/// The changes that end a run.
pub(super) fn over(
    shared: &Shared,
    (id, fence, now): (&str, u64, Timestamp),
    status: Status,
    body: &Body,
) -> [RunChange; 2] {
    [
        RunChange::Move {
            id: id.to_owned(),
            fence,
            status: status.as_str().to_owned(),
            is_over: true,
            record: body.written(),
            at: now,
        },
        RunChange::Until {
            run: id.to_owned(),
            until: now.plus(shared.settings.artifact_ttl),
        },
    ]
}

/// Ends a run that cannot be driven, with the reason.
pub(super) async fn fail(
    shared: &Shared,
    inner: &Inner,
    (id, fence): (&str, u64),
    body: Option<Box<Body>>,
    reason: &str,
) {
    let now = inner.clock.now();
    let mut body = body.map_or_else(Body::unreadable, |body| *body);
    body.error = Some(errors::broken(id, reason));
    body.ended = Some(now);
    body.source = None;
    let kept = Kept {
        changes: over(shared, (id, fence, now), Status::Failed, &body).to_vec(),
        notes: vec![json!({"run": id, "status": Status::Failed.as_str(), "reason": reason})],
        durability: Durability::Disk,
        ..Kept::default()
    };
    if let Err(error) = kept.commit(inner).await {
        shared.end_later(kept, &error);
    }
}

impl Shared {
    /// Has an ending tried again that the store would not take, unless the run is not ours
    /// any more.
    fn end_later(&self, kept: Kept, error: &StoreError) {
        if matches!(error, StoreError::Conflict | StoreError::Missing) {
            return;
        }
        let unkept = self.unkept.lock();
        unkept.unwrap_or_else(PoisonError::into_inner).push(kept);
    }

    /// Tries the endings again that the store would not take.
    pub(super) async fn end_unkept(&self, inner: &Inner) {
        let unkept = {
            let mut unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *unkept)
        };
        for kept in unkept {
            match kept.once(inner, inner.clock.now()).await {
                Ok(()) => self.moved.send_modify(|moves| *moves += 1),
                Err(error) => self.end_later(kept, &error),
            }
        }
    }
}
