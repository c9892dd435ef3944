//! Budget set aside and intent written, before anything happens.
//!
//! Invariant: an effect is announced on disk, and its approval used up, in the
//! same transaction. A call that costs nothing, changes nothing and needs no approval
//! needs neither. The answer to a question is used up in the same transaction, or in one of
//! its own, so that a call which cannot be announced leaves it as it was.

use std::sync::Arc;

use tollgate_core::{
    BudgetLedger, ErrorCode, Failure, StoreError,
    store::{Batch, Change, Durability, Intent},
};

use super::{
    Inner, Stage, Stop,
    admit::Permitted,
    cache::{self, Keeping},
    consent, state,
    validate::Valid,
};
use crate::{
    catalog::Listing,
    record::{self, Trail},
    session::SessionState,
};

/// A call that may now happen, once.
pub(super) struct Announced {
    valid: Box<Valid>,
    keeping: Option<Keeping>,
    ledger: BudgetLedger,
}

impl Announced {
    pub(super) fn valid(&self) -> &Valid {
        &self.valid
    }

    pub(super) fn listing(&self) -> &Arc<Listing> {
        &self.valid.listing
    }

    pub(super) fn caching(&self) -> Option<Keeping> {
        self.keeping.clone()
    }

    pub(super) fn into_parts(self) -> (Box<Valid>, BudgetLedger) {
        (self.valid, self.ledger)
    }
}

pub(super) async fn announce(
    inner: &Inner,
    session: &SessionState,
    permitted: Permitted,
    trail: &mut Trail,
) -> Result<Announced, Stop> {
    let estimate = permitted.estimate();
    let costs = estimate.estimated > 0 || estimate.worst_case > 0;
    let resumed = permitted.valid().resumes.as_ref();
    let answer = resumed
        .filter(|_| !trail.effect)
        .map(|resumed| state::using_up(inner, session.key(), resumed));
    let answers = answer.is_some();
    if trail.effect || costs || permitted.approval().is_some() {
        let mut batch = batch(inner, session, &permitted, trail, costs);
        batch.changes.extend(answer);
        let committed = inner.store.commit(batch).await;
        trail.doubtful = committed.as_ref().is_err_and(|error| !error.is_certain());
        if committed.is_ok() || trail.doubtful {
            trail.intent = true;
            trail.reserved = costs.then_some(estimate.estimated);
        }
        match committed {
            Ok(receipt) => session.learn(receipt.session),
            Err(StoreError::Conflict) if answers => return Err(state::used_up()),
            Err(error) => return Err(refused(&error, &permitted)),
        }
    } else if let Some(answer) = answer {
        let batch = Batch {
            changes: vec![answer],
            ..Batch::default()
        };
        match inner.store.commit(batch).await {
            Ok(_) => inner.probe(trail, Stage::UseUp),
            Err(StoreError::Conflict) => return Err(state::used_up()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Announced {
        keeping: cache::keeping(&permitted, inner.clock.now()),
        ledger: session.ledger(),
        valid: permitted.into_valid(),
    })
}

fn batch(
    inner: &Inner,
    session: &SessionState,
    permitted: &Permitted,
    trail: &Trail,
    costs: bool,
) -> Batch {
    let valid = permitted.valid();
    let estimate = permitted.estimate();
    let mut changes: Vec<Change> = session.opening().into_iter().collect();
    if let Some(digest) = permitted.approval() {
        changes.push(Change::ConsumeApproval {
            digest,
            call: trail.call.clone(),
            at: inner.clock.now(),
        });
    }
    if costs {
        changes.push(Change::Reserve {
            session: session.key().clone(),
            estimate,
        });
    }
    changes.push(Change::OpenIntent(Intent {
        call: trail.call.clone(),
        owner: inner.store.owner().to_owned(),
        session: session.key().clone(),
        tool: trail.tool.clone(),
        trace_id: trail.trace.trace_id.clone(),
        reserved: if costs { estimate.estimated } else { 0 },
        effect: trail.effect,
        digest: permitted.digest(),
        idempotency_key: valid.effect_key(),
        at: trail.at,
    }));
    // Whoever answers a question has got it.
    changes.extend(valid.resumes.as_ref().map(|resumed| Change::Delivered {
        call: resumed.call.clone(),
    }));
    let clean = trail.arguments.as_ref().map_or("", |clean| &clean.text);
    let preview = inner.cleaner.preview(clean, inner.settings.preview);
    Batch {
        changes,
        audit: if trail.effect {
            vec![record::intent(trail, &preview)]
        } else {
            Vec::new()
        },
        durability: if trail.effect || permitted.approval().is_some() {
            Durability::Disk
        } else {
            Durability::Process
        },
    }
}

fn refused(error: &StoreError, permitted: &Permitted) -> Stop {
    match error {
        StoreError::Budget { left } => {
            let estimate = permitted.estimate();
            let message = format!(
                "the estimate of {} units does not fit the {left} that are left",
                estimate.estimated
            );
            let failure = Failure::new(ErrorCode::BudgetExceeded, message)
                .suggest(ErrorCode::BudgetExceeded.advice())
                .with("remaining_limit", *left)
                .with("estimated_tokens", estimate.estimated)
                .with("worst_case_tokens", estimate.worst_case);
            Stop {
                block: true,
                ..failure.into()
            }
        }
        // The same effect has been announced since this call looked for it.
        StoreError::ApprovalGone | StoreError::Conflict => consent::running(),
        StoreError::AlreadyEnded
        | StoreError::ApprovalsFull
        | StoreError::Missing
        | StoreError::Busy
        | StoreError::Held(_)
        | StoreError::Unsynced
        | StoreError::NotAcknowledged(_)
        | StoreError::Full
        | StoreError::ReadOnly
        | StoreError::Corrupt(_)
        | StoreError::Failed(_) => {
            let message = format!("nothing was called, because it could not be announced: {error}");
            let mut stop = Stop::new(error.code(), message);
            stop.failure.consumed = Some(0);
            stop
        }
    }
}
