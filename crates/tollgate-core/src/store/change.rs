//! The one way to write.

use serde_json::Value;

use super::{
    records::{
        Approval, ApprovalLimits, Body, CacheKey, Credential, Grant, GrantScope, Intent,
        ReviewItem, Session,
    },
    runs::RunChange,
};
use crate::{
    audit::{AuditEntry, Hash},
    call::CallId,
    clock::Timestamp,
    identity::{Principal, SessionKey},
    ledger::{ConsumedSource, Estimate},
};

/// Changes that become true together.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// What changes.
    pub changes: Vec<Change>,
    /// What describes it.
    pub audit: Vec<AuditEntry>,
    /// How much must be true before the commit returns.
    pub durability: Durability,
}

/// How much must be true before [`super::Store::commit`] returns.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the death of the process. Enough for calls that only read.
    #[default]
    Process,
    /// Survives a power cut. For effects, approvals and run transitions.
    Disk,
}

/// One change. A refused change undoes its whole batch.
#[derive(Debug, Clone)]
pub enum Change {
    /// Creates the session if it is not there; otherwise changes nothing.
    OpenSession(Session),
    /// Sets the limit and profile of a session.
    Configure {
        /// The session.
        session: SessionKey,
        /// Its limit.
        limit: Option<u64>,
        /// Its profile.
        profile: Option<String>,
    },
    /// Sets budget aside; refused as `Budget` if the estimate does not fit the limit.
    Reserve {
        /// The session.
        session: SessionKey,
        /// What is added to `estimated` and `reserved`.
        estimate: Estimate,
    },
    /// Gives back what was set aside and books what was consumed.
    Settle {
        /// The session.
        session: SessionKey,
        /// What [`Change::Reserve`] had set aside.
        reserved: u64,
        /// What was really consumed.
        consumed: u64,
        /// Who says so.
        source: ConsumedSource,
    },
    /// Notes a call that was not made, and adds what it was estimated at; the last 100 are kept.
    Block {
        /// The session.
        session: SessionKey,
        /// What was blocked.
        action: Value,
    },
    /// Notes an answer that cost nothing.
    CountHit {
        /// The session.
        session: SessionKey,
    },
    /// Says that a call is about to happen.
    OpenIntent(Intent),
    /// Says how it ended; refused as `AlreadyEnded` if it has before.
    EndIntent(Ending),
    /// Says that the caller has the answer to an effect.
    Delivered {
        /// The call.
        call: CallId,
    },
    /// Asks for consent; an open question with the same digest is kept instead. Refused as
    /// `ApprovalsFull` beyond the limits. Questions that have ended undecided lose their preview.
    AskApproval {
        /// The question.
        approval: Approval,
        /// What may be open, this question included.
        limits: ApprovalLimits,
    },
    /// Decides an open question; refused as `ApprovalGone` unless it is pending and in time.
    DecideApproval {
        /// Which.
        id: String,
        /// Whether it was granted.
        granted: bool,
        /// By whom.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// Uses a granted approval up; refused as `ApprovalGone` if there is none in time.
    ConsumeApproval {
        /// The keyed digest of the call.
        digest: Hash,
        /// The call that uses it.
        call: CallId,
        /// The time.
        at: Timestamp,
    },
    /// Grants a tool or a site for a session.
    Grant(Grant),
    /// Takes such a grant back.
    Revoke {
        /// The session.
        session: SessionKey,
        /// What was granted.
        scope: GrantScope,
    },
    /// Keeps a clean answer.
    Remember {
        /// Where.
        key: CacheKey,
        /// What, as the engine spells it.
        answer: Vec<u8>,
        /// Until when; `None` is as long as the session.
        until: Option<Timestamp>,
        /// The time.
        at: Timestamp,
    },
    /// Forgets every answer of a session.
    Forget {
        /// The session.
        session: SessionKey,
    },
    /// Opens a review item; one of the same id is kept instead.
    OpenReview(ReviewItem),
    /// Resolves one; refused as `Conflict` if it is resolved.
    ResolveReview {
        /// Which.
        id: String,
        /// `approve`, `reject` or `note`.
        resolution: String,
        /// What the reviewer says.
        note: Option<String>,
        /// By whom.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// Keeps what replay needs.
    KeepBody(Body),
    /// Keeps a credential's digest.
    AddCredential(Credential),
    /// Ends a credential.
    RevokeCredential {
        /// Which.
        id: String,
        /// When.
        at: Timestamp,
    },
    /// Writes provider state only if `version` is current (`None`: only if absent).
    PutState {
        /// The provider.
        namespace: String,
        /// Whose.
        principal: Principal,
        /// The key.
        key: String,
        /// The version it replaces.
        version: Option<u64>,
        /// The value.
        value: Vec<u8>,
        /// Until when.
        until: Option<Timestamp>,
        /// The time; an entry past its end counts as absent.
        at: Timestamp,
    },
    /// Deletes provider state.
    DeleteState {
        /// The provider.
        namespace: String,
        /// Whose.
        principal: Principal,
        /// The key.
        key: String,
    },
    /// Changes a run or an artifact.
    Run(RunChange),
}

/// How an announced call ended.
#[derive(Debug, Clone)]
pub struct Ending {
    /// The call.
    pub call: CallId,
    /// What the caller is told if it asks again; kept for effects. An effect without one was never
    /// called, so the same may be announced again under the same key.
    pub answer: Option<Vec<u8>>,
    /// When.
    pub at: Timestamp,
}
