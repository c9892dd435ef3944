//! The small ways to read.

use async_trait::async_trait;

use super::{
    StoreError,
    records::{
        Approval, ApprovalFilter, Body, CacheKey, Credential, Effect, EffectQuery, Grant, Intent,
        ReviewItem, ReviewStatus, Session, Versioned,
    },
};
use crate::{
    audit::{AuditQuery, AuditRow, Hash, SignedHead, Verification},
    call::CallId,
    clock::Timestamp,
    identity::{Principal, SessionKey},
};

/// Sessions and their ledgers.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// One session.
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError>;
    /// All sessions of a principal, the last used first.
    async fn sessions(&self, principal: &Principal) -> Result<Vec<Session>, StoreError>;
}

/// Clean answers worth reusing.
#[async_trait]
pub trait Cache: Send + Sync {
    /// Whether there is an answer, without reading it.
    async fn peek(&self, key: &CacheKey, now: Timestamp) -> Result<bool, StoreError>;
    /// The answer.
    async fn recall(&self, key: &CacheKey, now: Timestamp) -> Result<Option<Vec<u8>>, StoreError>;
    /// The entries of a session whose keys begin like this, sorted.
    async fn entries(
        &self,
        session: &SessionKey,
        prefix: &str,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<CacheKey>, StoreError>;
}

/// Consent that was asked for and given.
#[async_trait]
pub trait Approvals: Send + Sync {
    /// One approval.
    async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError>;
    /// Approvals by state, the newest first.
    async fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>, StoreError>;
    /// The newest approval of a call, whatever its state.
    async fn approval_of(&self, digest: &Hash) -> Result<Option<Approval>, StoreError>;
    /// What a human granted for a session.
    async fn grants(&self, session: &SessionKey) -> Result<Vec<Grant>, StoreError>;
}

/// Things a human should look at.
#[async_trait]
pub trait Reviews: Send + Sync {
    /// Items by status, the newest first.
    async fn reviews(
        &self,
        status: Option<ReviewStatus>,
        limit: u32,
    ) -> Result<Vec<ReviewItem>, StoreError>;
    /// One item.
    async fn review(&self, id: &str) -> Result<Option<ReviewItem>, StoreError>;
}

/// What happened, for everyone, forever.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Rows that match.
    async fn records(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError>;
    /// What replay needs of a call.
    async fn body(&self, call: &CallId) -> Result<Option<Body>, StoreError>;
    /// The first signed head at or after a place.
    async fn signed_head(&self, at_or_after: u64) -> Result<Option<SignedHead>, StoreError>;
    /// Checks every row, every signature and the anchor.
    async fn verify(&self) -> Result<Verification, StoreError>;
}

/// Digests of tokens that were handed out.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// The credential with this digest.
    async fn credential(&self, digest: &Hash) -> Result<Option<Credential>, StoreError>;
    /// All of them, the newest first.
    async fn credentials(&self) -> Result<Vec<Credential>, StoreError>;
}

/// Calls that were announced.
#[async_trait]
pub trait Intents: Send + Sync {
    /// Announced calls whose process is dead: its lock file is free.
    async fn abandoned(&self) -> Result<Vec<Intent>, StoreError>;
    /// An effect that ran before, by its idempotency key or the digest of its call.
    async fn effect(&self, query: &EffectQuery) -> Result<Option<Effect>, StoreError>;
    /// The name under which this process announces calls.
    fn owner(&self) -> &str;
}

/// Provider state, behind [`ProviderState`].
#[async_trait]
pub trait States: Send + Sync {
    /// The value, if it is there and has not ended.
    async fn state(
        &self,
        namespace: &str,
        principal: &Principal,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Versioned>, StoreError>;
}

/// The little a provider may remember: its own keys, per principal, with an end.
///
/// A provider never sees the store itself.
#[async_trait]
pub trait ProviderState: Send + Sync {
    /// The value, if it is there and has not ended.
    async fn get(&self, key: &str) -> Result<Option<Versioned>, StoreError>;
    /// Writes only if `version` is still the current one (`None`: only if absent).
    async fn compare_and_put(
        &self,
        key: &str,
        version: Option<u64>,
        value: Vec<u8>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError>;
    /// The same, on disk before it returns: for what must outlive a power cut that the effect
    /// after it outlives.
    async fn compare_and_keep(
        &self,
        key: &str,
        version: Option<u64>,
        value: Vec<u8>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        self.compare_and_put(key, version, value, until).await
    }
    /// Forgets the key.
    async fn delete(&self, key: &str) -> Result<(), StoreError>;
}
