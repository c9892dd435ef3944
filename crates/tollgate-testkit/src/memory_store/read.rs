//! Reads from memory.

use async_trait::async_trait;
use ed25519_dalek::Signer as _;
use tollgate_core::{
    CallId, Principal, SessionKey, Timestamp,
    audit::{AuditQuery, AuditRow, Hash, SignedHead, Verification},
    canonical::hex,
    store::{
        Approval, ApprovalFilter, Approvals, AuditLog, Body, Cache, CacheKey, Credential,
        Credentials, Effect, EffectQuery, Grant, Intent, Intents, ReviewItem, ReviewStatus,
        Reviews, Session, Sessions, States, StoreError, Versioned,
    },
};

use super::{CHAIN, MemoryStore};

#[async_trait]
impl Sessions for MemoryStore {
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        let mut inner = self.inner();
        if !inner.session_failures.is_empty() {
            return Err(inner.session_failures.remove(0));
        }
        Ok(inner.state.sessions.get(key).map(|(_, s)| s.clone()))
    }

    async fn sessions(&self, principal: &Principal) -> Result<Vec<Session>, StoreError> {
        let inner = self.inner();
        let mut found: Vec<_> = inner
            .state
            .sessions
            .values()
            .filter(|(_, session)| session.key.principal == *principal)
            .collect();
        found.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
        Ok(found.into_iter().map(|(_, s)| s.clone()).collect())
    }
}

#[async_trait]
impl Cache for MemoryStore {
    async fn peek(&self, key: &CacheKey, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.recall(key, now).await?.is_some())
    }

    async fn recall(&self, key: &CacheKey, now: Timestamp) -> Result<Option<Vec<u8>>, StoreError> {
        let inner = self.inner();
        let found = inner.state.cache.get(key);
        Ok(found
            .filter(|(lasts, _)| lasts.is_none_or(|(from, until)| now.is_within(from, until)))
            .map(|(_, answer)| answer.clone()))
    }

    async fn entries(
        &self,
        session: &SessionKey,
        prefix: &str,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<CacheKey>, StoreError> {
        let inner = self.inner();
        let fitting = inner.state.cache.iter().filter(|(key, (lasts, _))| {
            &key.session == session
                && key.key.starts_with(prefix)
                && lasts.is_none_or(|(from, until)| now.is_within(from, until))
        });
        let mut keys: Vec<CacheKey> = fitting.map(|(key, _)| key.clone()).collect();
        keys.sort_by(|a, b| (&a.key, &a.binding).cmp(&(&b.key, &b.binding)));
        keys.truncate(limit as usize);
        Ok(keys)
    }
}

#[async_trait]
impl Approvals for MemoryStore {
    async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let inner = self.inner();
        Ok(inner.state.approvals.iter().find(|a| a.id == id).cloned())
    }

    async fn approvals(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>, StoreError> {
        let inner = self.inner();
        let wanted = |a: &&Approval| filter.state.is_none_or(|state| a.state == state);
        let newest = inner.state.approvals.iter().rev().filter(wanted);
        Ok(newest.take(filter.limit as usize).cloned().collect())
    }

    async fn approval_of(&self, digest: &Hash) -> Result<Option<Approval>, StoreError> {
        let mut inner = self.inner();
        Ok(inner.state.approval_of(digest, |_| true).cloned())
    }

    async fn grants(&self, session: &SessionKey) -> Result<Vec<Grant>, StoreError> {
        let inner = self.inner();
        let of_session = |grant: &&Grant| grant.session == *session;
        Ok(inner
            .state
            .grants
            .iter()
            .filter(of_session)
            .cloned()
            .collect())
    }
}

#[async_trait]
impl Reviews for MemoryStore {
    async fn reviews(
        &self,
        status: Option<ReviewStatus>,
        limit: u32,
    ) -> Result<Vec<ReviewItem>, StoreError> {
        let inner = self.inner();
        let wanted = |item: &&ReviewItem| status.is_none_or(|status| item.status == status);
        let newest = inner.state.reviews.iter().rev().filter(wanted);
        Ok(newest.take(limit as usize).cloned().collect())
    }

    async fn review(&self, id: &str) -> Result<Option<ReviewItem>, StoreError> {
        let inner = self.inner();
        let found = inner.state.reviews.iter().find(|item| item.item_id == id);
        Ok(found.cloned())
    }
}

#[async_trait]
impl AuditLog for MemoryStore {
    async fn records(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        let inner = self.inner();
        let wanted = |row: &&AuditRow| matches(row, query);
        let limit = query.limit as usize;
        Ok(if query.newest_first {
            let newest = inner.rows.iter().rev().filter(wanted);
            newest.take(limit).cloned().collect()
        } else {
            let oldest = inner.rows.iter().filter(wanted);
            oldest.take(limit).cloned().collect()
        })
    }

    async fn body(&self, call: &CallId) -> Result<Option<Body>, StoreError> {
        Ok(self.inner().state.bodies.get(call).cloned())
    }

    async fn signed_head(&self, at_or_after: u64) -> Result<Option<SignedHead>, StoreError> {
        let inner = self.inner();
        let last = inner.rows.last().filter(|row| row.seq >= at_or_after);
        Ok(last.map(|row| {
            let hash = hex(&row.hash);
            let message = SignedHead::message(CHAIN, row.seq, &hash);
            SignedHead {
                chain: CHAIN.to_owned(),
                seq: row.seq,
                hash,
                key: hex(self.key.verifying_key().as_bytes()),
                signature: hex(&self.key.sign(message.as_bytes()).to_bytes()),
            }
        }))
    }

    async fn verify(&self) -> Result<Verification, StoreError> {
        let inner = self.inner();
        let mut found = Verification::default();
        let mut previous: Hash = [0; 32];
        for row in &inner.rows {
            found.rows += 1;
            if row.seq != found.rows || !row.follows(&previous) {
                found.problems.push(format!("row {}: changed", row.seq));
            }
            previous = row.hash;
        }
        found.head = hex(&previous);
        Ok(found)
    }
}

#[async_trait]
impl Credentials for MemoryStore {
    async fn credential(&self, digest: &Hash) -> Result<Option<Credential>, StoreError> {
        let inner = self.inner();
        let known = inner.state.credentials.iter();
        Ok(known.clone().find(|c| c.digest == *digest).cloned())
    }

    async fn credentials(&self) -> Result<Vec<Credential>, StoreError> {
        let inner = self.inner();
        Ok(inner.state.credentials.iter().rev().cloned().collect())
    }
}

#[async_trait]
impl Intents for MemoryStore {
    async fn abandoned(&self) -> Result<Vec<Intent>, StoreError> {
        let inner = self.inner();
        let is_dead = |intent: &&Intent| inner.state.dead.contains(&intent.owner);
        Ok(inner
            .state
            .intents
            .values()
            .filter(is_dead)
            .cloned()
            .collect())
    }

    async fn effect(&self, query: &EffectQuery) -> Result<Option<Effect>, StoreError> {
        let inner = self.inner();
        let found = inner.state.effects.iter().rev().find(|kept| {
            kept.session == query.session
                && match &query.idempotency_key {
                    Some(key) => kept.idempotency_key.as_ref() == Some(key),
                    None => {
                        kept.effect.digest == Some(query.digest)
                            && !kept.effect.delivered
                            && kept.at >= query.since
                    }
                }
        });
        Ok(found.map(|kept| kept.effect.clone()))
    }

    fn owner(&self) -> &str {
        &self.owner
    }
}

#[async_trait]
impl States for MemoryStore {
    async fn state(
        &self,
        namespace: &str,
        principal: &Principal,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Versioned>, StoreError> {
        let inner = self.inner();
        let place = (
            namespace.to_owned(),
            principal.as_str().to_owned(),
            key.to_owned(),
        );
        let found = inner.state.states.get(&place);
        Ok(found
            .filter(|(until, _)| until.is_none_or(|until| now < until))
            .map(|(_, value)| value.clone()))
    }
}

fn matches(row: &AuditRow, query: &AuditQuery) -> bool {
    let columns = &row.columns;
    let after = query.cursor.is_none_or(|cursor| {
        if query.newest_first {
            row.seq < cursor
        } else {
            row.seq > cursor
        }
    });
    let equal = |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
    after
        && query.kind.as_ref().is_none_or(|kind| columns.kind == *kind)
        && equal(&query.call_id, &columns.call_id)
        && equal(&query.trace_id, &columns.trace_id)
        && equal(&query.tool, &columns.tool)
        && equal(&query.session, &columns.session)
        && equal(&query.principal, &columns.principal)
}
