//! How what becomes of a run is kept: whole batches, asked for until they are in.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::{
    StoreError, Timestamp,
    store::{Batch, Change, Durability, RunChange},
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
    pub(super) notes: Vec<Value>,
    pub(super) durability: Durability,
}

impl Kept {
    /// Commits; a store that is busy or full is asked again until it is not.
    pub(super) async fn commit(self, inner: &Inner) -> Result<(), StoreError> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let now = inner.clock.now();
        let mut pause = Duration::from_millis(50);
        loop {
            let batch = Batch {
                changes: self.changes.iter().cloned().map(Change::Run).collect(),
                audit: self
                    .notes
                    .iter()
                    .map(|note| record::note("run", now, note.clone()))
                    .collect(),
                durability: self.durability,
            };
            match inner.store.commit(batch).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Busy | StoreError::Full) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PATIENCE);
                }
                Err(error) => return Err(error),
            }
        }
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
    };
    // If even that cannot be kept, whoever comes next finds the run and ends it.
    drop(kept.commit(inner).await);
}
