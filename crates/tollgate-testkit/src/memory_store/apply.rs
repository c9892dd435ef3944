//! Makes changes in memory.

use serde_json::Value;
use tollgate_core::{
    CallId, SessionKey, Timestamp,
    audit::Hash,
    store::{
        Approval, ApprovalLimits, ApprovalState, Change, Credential, Effect, Ending, Grant, Intent,
        Receipt, ReviewItem, ReviewStatus, Session, StoreError, Versioned,
    },
};

use super::state::{Kept, State, StateKey};

impl State {
    /// Makes all changes, or some before it refuses; the caller works on a copy.
    pub(super) fn apply(
        &mut self,
        changes: Vec<Change>,
        receipt: &mut Receipt,
    ) -> Result<(), StoreError> {
        let mut touched = None;
        for change in changes {
            match change {
                Change::OpenSession(session) => touched = Some(self.open_session(session)),
                Change::Configure {
                    session,
                    limit,
                    profile,
                } => {
                    let known = self.touch(&session)?;
                    known.limit = limit;
                    known.profile = profile;
                    touched = Some(session);
                }
                Change::Reserve { session, estimate } => {
                    reserve(self.touch(&session)?, estimate.estimated)?;
                    touched = Some(session);
                }
                Change::Settle {
                    session,
                    reserved,
                    consumed,
                    source,
                } => {
                    let known = self.touch(&session)?;
                    known.reserved = known.reserved.saturating_sub(reserved);
                    known.consumed = known.consumed.saturating_add(consumed);
                    known.source = source;
                    touched = Some(session);
                }
                Change::Block { session, action } => {
                    block(self.touch(&session)?, action);
                    touched = Some(session);
                }
                Change::CountHit { session } => {
                    self.touch(&session)?.cache_hits += 1;
                    touched = Some(session);
                }
                other @ (Change::OpenIntent(_)
                | Change::EndIntent(_)
                | Change::Delivered { .. }
                | Change::AskApproval { .. }
                | Change::DecideApproval { .. }
                | Change::ConsumeApproval { .. }
                | Change::Grant(_)
                | Change::Revoke { .. }
                | Change::Remember { .. }
                | Change::Forget { .. }
                | Change::OpenReview(_)
                | Change::ResolveReview { .. }
                | Change::KeepBody(_)
                | Change::AddCredential(_)
                | Change::RevokeCredential { .. }
                | Change::PutState { .. }
                | Change::DeleteState { .. }
                | Change::Run(_)) => {
                    if let Some(version) = self.change(other)? {
                        receipt.version = Some(version);
                    }
                }
            }
        }
        receipt.session = touched
            .and_then(|key| self.sessions.get(&key))
            .map(|(_, session)| session.clone());
        Ok(())
    }

    /// Makes a change outside the sessions; says the version of state it wrote.
    fn change(&mut self, change: Change) -> Result<Option<u64>, StoreError> {
        match change {
            Change::OpenSession(_)
            | Change::Configure { .. }
            | Change::Reserve { .. }
            | Change::Settle { .. }
            | Change::Block { .. }
            | Change::CountHit { .. } => {}
            Change::OpenIntent(intent) => self.open_intent(intent)?,
            Change::EndIntent(ending) => self.end_intent(ending)?,
            Change::Delivered { call } => {
                for kept in self.effects.iter_mut().filter(|k| k.effect.call == call) {
                    kept.effect.delivered = true;
                }
            }
            Change::AskApproval { approval, limits } => self.ask(approval, limits)?,
            Change::DecideApproval {
                id,
                granted,
                by,
                at,
            } => self.decide(&id, granted, (by, at))?,
            Change::ConsumeApproval { digest, call, at } => self.consume(&digest, call, at)?,
            Change::Grant(grant) => self.grant(grant),
            Change::Revoke { session, scope } => {
                let before = self.grants.len();
                self.grants
                    .retain(|grant| grant.session != session || grant.scope != scope);
                found(before > self.grants.len(), StoreError::Missing)?;
            }
            Change::Remember {
                key,
                answer,
                until,
                at,
            } => {
                let lasts = until.map(|until| (at, until));
                self.cache.insert(key, (lasts, answer));
            }
            Change::Forget { session } => self.cache.retain(|key, _| key.session != session),
            Change::OpenReview(item) => self.open_review(item),
            Change::ResolveReview {
                id,
                resolution,
                note,
                by,
                at,
            } => self.resolve_review(&id, (resolution, note), (by, at))?,
            Change::KeepBody(body) => {
                self.bodies.insert(body.call.clone(), body);
            }
            Change::AddCredential(credential) => self.add_credential(credential)?,
            Change::RevokeCredential { id, at } => {
                let known = self.credentials.iter_mut().find(|known| known.id == id);
                known.ok_or(StoreError::Missing)?.revoked.get_or_insert(at);
            }
            Change::PutState {
                namespace,
                principal,
                key,
                version,
                value,
                until,
                at,
            } => {
                let key = (namespace, principal.as_str().to_owned(), key);
                return self.put_state(key, (version, at), (value, until)).map(Some);
            }
            Change::DeleteState {
                namespace,
                principal,
                key,
            } => {
                self.states
                    .remove(&(namespace, principal.as_str().to_owned(), key));
            }
            Change::Run(change) => self.change_run(change)?,
        }
        Ok(None)
    }

    fn open_session(&mut self, session: Session) -> SessionKey {
        let key = session.key.clone();
        if !self.sessions.contains_key(&key) {
            self.uses += 1;
            self.sessions.insert(key.clone(), (self.uses, session));
        }
        key
    }

    fn touch(&mut self, key: &SessionKey) -> Result<&mut Session, StoreError> {
        let (used, session) = self.sessions.get_mut(key).ok_or(StoreError::Missing)?;
        self.uses += 1;
        *used = self.uses;
        Ok(session)
    }

    fn open_intent(&mut self, intent: Intent) -> Result<(), StoreError> {
        let named = |kept: &Kept| {
            kept.session == intent.session
                && kept.idempotency_key.is_some()
                && kept.idempotency_key == intent.idempotency_key
        };
        let taken = self.intents.contains_key(&intent.call)
            || self.effects.iter().any(|k| k.effect.call == intent.call)
            || (intent.effect && self.effects.iter().any(named));
        found(!taken, StoreError::Conflict)?;
        if intent.effect {
            self.effects.push(Kept {
                session: intent.session.clone(),
                idempotency_key: intent.idempotency_key.clone(),
                at: intent.at,
                effect: Effect {
                    call: intent.call.clone(),
                    digest: intent.digest,
                    answer: None,
                    delivered: false,
                },
            });
        }
        self.intents.insert(intent.call.clone(), intent);
        Ok(())
    }

    fn end_intent(&mut self, ending: Ending) -> Result<(), StoreError> {
        let ended = self.intents.remove(&ending.call);
        found(ended.is_some(), StoreError::AlreadyEnded)?;
        if let Some(kept) = self
            .effects
            .iter_mut()
            .find(|kept| kept.effect.call == ending.call)
        {
            if ending.answer.is_none() {
                kept.effect.digest = None;
                kept.idempotency_key = None;
            }
            kept.effect.answer = ending.answer;
        }
        Ok(())
    }

    fn ask(&mut self, approval: Approval, limits: ApprovalLimits) -> Result<(), StoreError> {
        let open = |known: &Approval| {
            known.state == ApprovalState::Pending && known.in_time(approval.created)
        };
        if self.approval_of(&approval.digest, open).is_some() {
            return Ok(());
        }
        let (mut own, mut all) = ([1, bytes(&approval)], [1, bytes(&approval)]);
        for known in &mut self.approvals {
            if known.state != ApprovalState::Pending {
                continue;
            }
            if known.expires <= approval.created {
                known.preview = Value::Null;
                continue;
            }
            let counted = [1, bytes(known)];
            let is_own = known.session.principal == approval.session.principal;
            for at in 0..2 {
                all[at] += counted[at];
                own[at] += if is_own { counted[at] } else { 0 };
            }
        }
        let fits = all[0] <= limits.pending
            && all[1] <= limits.preview_bytes
            && own[0] <= limits.pending_per_principal
            && own[1] <= limits.preview_bytes_per_principal;
        found(fits, StoreError::ApprovalsFull)?;
        let taken = self.approvals.iter().any(|known| known.id == approval.id);
        found(!taken, StoreError::Conflict)?;
        self.approvals.push(approval);
        Ok(())
    }

    fn decide(
        &mut self,
        id: &str,
        granted: bool,
        (by, at): (String, Timestamp),
    ) -> Result<(), StoreError> {
        let known = self
            .approvals
            .iter_mut()
            .find(|known| known.id == id)
            .filter(|known| known.state == ApprovalState::Pending && known.in_time(at))
            .ok_or(StoreError::ApprovalGone)?;
        known.state = if granted {
            ApprovalState::Granted
        } else {
            ApprovalState::Denied
        };
        known.decided_by = Some(by);
        known.decided_at = Some(at);
        Ok(())
    }

    fn consume(&mut self, digest: &Hash, call: CallId, at: Timestamp) -> Result<(), StoreError> {
        let usable = |known: &Approval| known.state == ApprovalState::Granted && known.in_time(at);
        let known = self
            .approval_of(digest, usable)
            .ok_or(StoreError::ApprovalGone)?;
        known.state = ApprovalState::Consumed;
        known.consumed_by = Some(call);
        known.consumed_at = Some(at);
        Ok(())
    }

    fn grant(&mut self, grant: Grant) {
        self.grants
            .retain(|known| known.session != grant.session || known.scope != grant.scope);
        self.grants.push(grant);
    }

    fn open_review(&mut self, item: ReviewItem) {
        let is_known = self.reviews.iter().any(|k| k.item_id == item.item_id);
        if !is_known {
            self.reviews.push(item);
        }
    }

    fn resolve_review(
        &mut self,
        id: &str,
        (resolution, note): (String, Option<String>),
        (by, at): (String, Timestamp),
    ) -> Result<(), StoreError> {
        let item = self.reviews.iter_mut().find(|item| item.item_id == id);
        let item = item.ok_or(StoreError::Missing)?;
        found(item.status == ReviewStatus::Open, StoreError::Conflict)?;
        item.status = ReviewStatus::Resolved;
        item.resolution = Some(resolution);
        item.note = note;
        item.resolved_by = Some(by);
        item.resolved_at = Some(at);
        Ok(())
    }

    fn add_credential(&mut self, credential: Credential) -> Result<(), StoreError> {
        let taken = self
            .credentials
            .iter()
            .any(|known| known.id == credential.id || known.digest == credential.digest);
        found(!taken, StoreError::Conflict)?;
        self.credentials.push(credential);
        Ok(())
    }

    fn put_state(
        &mut self,
        key: StateKey,
        (expected, at): (Option<u64>, Timestamp),
        (value, until): (Vec<u8>, Option<Timestamp>),
    ) -> Result<u64, StoreError> {
        let current = self
            .states
            .get(&key)
            .filter(|(until, _)| until.is_none_or(|until| at < until))
            .map(|(_, known)| known.version);
        found(current == expected, StoreError::Conflict)?;
        self.versions += 1;
        let version = self.versions;
        self.states
            .insert(key, (until, Versioned { value, version }));
        Ok(version)
    }
}

/// The bytes that a question shows.
fn bytes(approval: &Approval) -> u64 {
    approval.preview.to_string().len() as u64
}

fn reserve(session: &mut Session, units: u64) -> Result<(), StoreError> {
    if let Some(left) = session.remaining()
        && left < units
    {
        return Err(StoreError::Budget { left });
    }
    session.estimated = session.estimated.saturating_add(units);
    session.reserved = session.reserved.saturating_add(units);
    Ok(())
}

fn block(session: &mut Session, action: Value) {
    let estimated = action["estimated_tokens"].as_u64().unwrap_or(0);
    session.estimated = session.estimated.saturating_add(estimated);
    if session.blocked.contains(&action) {
        return;
    }
    session.blocked.push(action);
    let extra = session.blocked.len().saturating_sub(100);
    session.blocked.drain(..extra);
}

/// Refuses unless `good`.
pub(super) fn found(good: bool, refusal: StoreError) -> Result<(), StoreError> {
    if good { Ok(()) } else { Err(refusal) }
}
