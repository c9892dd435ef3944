//! What the engine needs remembered.
//!
//! Everything that changes together is written together: one [`Batch`] carries
//! the state changes of a call and the audit entries that describe them, and the
//! store commits it as one transaction. The store alone assigns sequence numbers
//! and links the hash chain, because only it knows the head. Every backend passes
//! the same conformance suite in `tollgate-testkit`.

mod change;
mod condition;
mod read;
mod records;
mod runs;

use std::sync::Arc;

use async_trait::async_trait;

use crate::{audit::Place, error::ErrorCode};

pub use change::{Batch, Change, Durability, Ending};
pub use condition::{LockHolder, StateProblem};
pub use read::{
    Approvals, AuditLog, Cache, Credentials, Intents, ProviderState, Reviews, Sessions, States,
};
pub use records::{
    Approval, ApprovalFilter, ApprovalLimits, ApprovalState, Body, CacheKey, Credential,
    CredentialKind, Effect, EffectQuery, Grant, GrantScope, Intent, ReviewItem, ReviewStatus,
    Session, Versioned,
};
pub use runs::{ArtifactRow, Blobs, RunChange, RunQuery, RunRow, Runs};

/// Everything the engine needs from one backend: one way to write, small ways to read.
#[async_trait]
pub trait Store:
    Sessions + Cache + Approvals + Reviews + AuditLog + Credentials + Intents + States + Runs
{
    /// Commits the whole batch or nothing, and says where it stands in the chain.
    async fn commit(&self, batch: Batch) -> Result<Receipt, StoreError> {
        self.commit_shared(Arc::new(batch)).await
    }

    /// The same for whoever still needs the batch if it is refused.
    async fn commit_shared(&self, batch: Arc<Batch>) -> Result<Receipt, StoreError>;

    /// Whether commits work: one did lately and none failed since, or a small one does now. A store
    /// without a disk has nothing that could fail.
    async fn check_commit(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Whether it is worth saying that a commit will come.
    fn can_look_ahead(&self) -> bool {
        false
    }

    /// A commit will come soon: what it needs to know may be looked up now, while its caller
    /// waits for something else. It changes nothing, and costs nobody anything if none comes.
    fn look_ahead(&self) {}

    /// So many calls are with their providers and may commit soon: commits may wait a moment
    /// for theirs, to share what a transaction costs.
    fn foresee(&self, _calls: usize) {}
}

/// Where a batch ended up, and what it changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Receipt {
    /// The places of its audit entries, in order.
    pub places: Vec<Place>,
    /// The last session the batch touched, as it is afterwards.
    pub session: Option<Session>,
    /// The version of the provider state it wrote.
    pub version: Option<u64>,
}

/// Why the store did not do it. Nothing of the batch was written, or it is not known to be
/// on disk; [`StoreError::is_certain`] tells which.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The estimate does not fit what is left.
    #[error("the budget has {left} units left")]
    Budget {
        /// What is left.
        left: u64,
    },
    /// The approval was used up, denied, has ended, or never was.
    #[error("the approval is gone")]
    ApprovalGone,
    /// Too many questions wait for a human, or they show too much.
    #[error("too many approvals wait for a human")]
    ApprovalsFull,
    /// A call can end only once.
    #[error("the call has ended before")]
    AlreadyEnded,
    /// Someone else wrote in the meantime.
    #[error("the state changed in the meantime")]
    Conflict,
    /// What the change refers to is not there.
    #[error("there is no such record")]
    Missing,
    /// Others hold the lock for too long, or the queue is full.
    #[error("the store is busy")]
    Busy,
    /// Another process keeps the lock.
    #[error("{0}")]
    Held(LockHolder),
    /// What was written could not be synced to the disk.
    #[error("the disk does not sync")]
    Unsynced,
    /// The state is not the one that was acknowledged.
    #[error("the state is not the one that was acknowledged: {0}")]
    NotAcknowledged(StateProblem),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The state cannot be written.
    #[error("the state is read-only")]
    ReadOnly,
    /// The state file is damaged.
    #[error("the state is damaged: {0}")]
    Corrupt(String),
    /// Anything else.
    #[error("the store failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Whether the state itself says no: the same batch would be refused again.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Budget { .. }
            | Self::ApprovalGone
            | Self::ApprovalsFull
            | Self::AlreadyEnded
            | Self::Conflict
            | Self::Missing => true,
            Self::Busy
            | Self::Held(_)
            | Self::Unsynced
            | Self::NotAcknowledged(_)
            | Self::Full
            | Self::ReadOnly
            | Self::Corrupt(_)
            | Self::Failed(_) => false,
        }
    }

    /// Whether nothing was written for certain. A disk that fails while a batch is synced leaves
    /// it where it may still be read.
    pub fn is_certain(&self) -> bool {
        self.is_refusal()
            || match self {
                Self::Busy | Self::Held(_) => true,
                // What was written to a file that was deleted is gone with it.
                Self::NotAcknowledged(problem) => !problem.stops_everything(),
                Self::Budget { .. }
                | Self::ApprovalGone
                | Self::ApprovalsFull
                | Self::AlreadyEnded
                | Self::Conflict
                | Self::Missing
                | Self::Unsynced
                | Self::Full
                | Self::ReadOnly
                | Self::Corrupt(_)
                | Self::Failed(_) => false,
            }
    }

    /// The stable code a caller sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Budget { .. } => ErrorCode::BudgetExceeded,
            Self::ApprovalGone => ErrorCode::ConfirmationRequired,
            Self::Missing => ErrorCode::NotFound,
            Self::Held(holder) if holder.is_stopped => ErrorCode::StoreHeld,
            Self::Busy | Self::Held(_) | Self::ApprovalsFull => ErrorCode::Overloaded,
            Self::NotAcknowledged(_) => ErrorCode::StateNotAcknowledged,
            Self::Unsynced | Self::Full | Self::ReadOnly | Self::Failed(_) => {
                ErrorCode::StoreUnavailable
            }
            Self::Corrupt(_) => ErrorCode::StoreCorrupt,
            Self::AlreadyEnded | Self::Conflict => ErrorCode::Internal,
        }
    }
}

#[cfg(test)]
fn _store_is_dyn_compatible(_: &dyn Store, _: &dyn ProviderState, _: &dyn Blobs) {}
