//! Sessions of one transaction, changed in memory and written at its end.
//!
//! Invariant: what is in memory is what the database would say if it were asked
//! inside this transaction; [`Ledger::undo`] takes back the batch since the mark.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use serde_json::Value;
use tollgate_core::{
    SessionKey,
    store::{Change, Session, StoreError},
};

use super::Refusal;
use crate::sqlite::rows;

/// How many blocked calls a session remembers.
const BLOCKED: usize = 100;

/// The sessions a transaction has touched.
#[derive(Default)]
pub(super) struct Ledger {
    rows: HashMap<SessionKey, Entry>,
    before: Vec<(SessionKey, Option<Entry>)>,
    touches: u64,
}

#[derive(Clone)]
struct Entry {
    session: Session,
    id: Option<i64>,
    /// When it was last touched within this transaction; `None` is not at all.
    touch: Option<u64>,
    /// How many of the last blocked calls the database does not have.
    unwritten: usize,
}

impl Ledger {
    /// What happens from here on can be undone.
    pub(super) fn mark(&mut self) {
        self.before.clear();
    }

    /// Takes back everything since the mark.
    pub(super) fn undo(&mut self) {
        for (key, entry) in self.before.drain(..).rev() {
            match entry {
                Some(entry) => self.rows.insert(key, entry),
                None => self.rows.remove(&key),
            };
        }
    }

    /// The session as it is inside this transaction.
    pub(super) fn session(&self, key: &SessionKey) -> Option<Session> {
        self.rows.get(key).map(|entry| entry.session.clone())
    }

    /// Makes a change of a session; says which, or `None` if it is none.
    pub(super) fn change<'a>(
        &mut self,
        connection: &Connection,
        change: &'a Change,
    ) -> Result<Option<&'a SessionKey>, Refusal> {
        let key = match change {
            Change::OpenSession(session) => {
                self.open(connection, session)?;
                return Ok(Some(&session.key));
            }
            Change::Configure { session, .. }
            | Change::Reserve { session, .. }
            | Change::Settle { session, .. }
            | Change::Block { session, .. }
            | Change::CountHit { session } => session,
            Change::OpenIntent(_)
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
            | Change::Run(_) => return Ok(None),
        };
        self.load(connection, key)?;
        self.remember(key);
        self.touches += 1;
        let touch = self.touches;
        let entry = self.rows.get_mut(key).ok_or(StoreError::Missing)?;
        entry.touch = Some(touch);
        entry.make(change)?;
        Ok(Some(key))
    }

    /// Writes every touched session; `uses` is the last place in their order.
    pub(super) fn flush(&mut self, connection: &Connection, uses: u64) -> rusqlite::Result<u64> {
        let mut touched: Vec<_> = self
            .rows
            .values_mut()
            .filter(|entry| entry.touch.is_some())
            .collect();
        touched.sort_by_key(|entry| entry.touch);
        let mut last = uses;
        for entry in touched {
            last += 1;
            entry.write(connection, last)?;
        }
        Ok(last)
    }

    fn open(&mut self, connection: &Connection, session: &Session) -> Result<(), Refusal> {
        self.load(connection, &session.key)?;
        if !self.rows.contains_key(&session.key) {
            self.remember(&session.key);
            self.touches += 1;
            let entry = Entry {
                session: session.clone(),
                id: None,
                touch: Some(self.touches),
                unwritten: session.blocked.len(),
            };
            self.rows.insert(session.key.clone(), entry);
        }
        Ok(())
    }

    fn load(&mut self, connection: &Connection, key: &SessionKey) -> Result<(), Refusal> {
        if self.rows.contains_key(key) {
            return Ok(());
        }
        if let Some((id, session)) = rows::session(connection, key).map_err(Refusal::Broken)? {
            let entry = Entry {
                session,
                id: Some(id),
                touch: None,
                unwritten: 0,
            };
            self.rows.insert(key.clone(), entry);
        }
        Ok(())
    }

    fn remember(&mut self, key: &SessionKey) {
        if !self.before.iter().any(|(known, _)| known == key) {
            self.before.push((key.clone(), self.rows.get(key).cloned()));
        }
    }
}

impl Entry {
    fn make(&mut self, change: &Change) -> Result<(), StoreError> {
        let session = &mut self.session;
        match change {
            Change::Configure { limit, profile, .. } => {
                session.limit = *limit;
                session.profile.clone_from(profile);
            }
            Change::Reserve { estimate, .. } => {
                if let Some(left) = session.remaining()
                    && left < estimate.estimated
                {
                    return Err(StoreError::Budget { left });
                }
                session.estimated = session.estimated.saturating_add(estimate.estimated);
                session.reserved = session.reserved.saturating_add(estimate.estimated);
            }
            Change::Settle {
                reserved,
                consumed,
                source,
                ..
            } => {
                session.reserved = session.reserved.saturating_sub(*reserved);
                session.consumed = session.consumed.saturating_add(*consumed);
                session.source = *source;
            }
            Change::Block { action, .. } => self.block(action),
            Change::CountHit { .. } => session.cache_hits = session.cache_hits.saturating_add(1),
            Change::OpenSession(_)
            | Change::OpenIntent(_)
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
            | Change::Run(_) => {}
        }
        Ok(())
    }

    fn block(&mut self, action: &Value) {
        let estimated = action["estimated_tokens"].as_u64().unwrap_or(0);
        self.session.estimated = self.session.estimated.saturating_add(estimated);
        let blocked = &mut self.session.blocked;
        if blocked.contains(action) {
            return;
        }
        blocked.push(action.clone());
        let extra = blocked.len().saturating_sub(BLOCKED);
        blocked.drain(..extra);
        self.unwritten = (self.unwritten + 1).min(blocked.len());
    }

    fn write(&self, connection: &Connection, used: u64) -> rusqlite::Result<()> {
        let id = match self.id {
            Some(id) => {
                self.update(connection, id, used)?;
                id
            }
            None => self.insert(connection, used)?,
        };
        self.write_blocked(connection, id)
    }

    fn insert(&self, connection: &Connection, used: u64) -> rusqlite::Result<i64> {
        let session = &self.session;
        connection
            .prepare_cached(
                "INSERT INTO sessions (principal, handle, budget, profile, estimated, consumed,
                     reserved, cache_hits, source, created, used, has_blocked)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .insert(params![
                session.key.principal.as_str(),
                session.key.handle,
                session.limit.map(u64::cast_signed),
                session.profile,
                session.estimated.cast_signed(),
                session.consumed.cast_signed(),
                session.reserved.cast_signed(),
                session.cache_hits.cast_signed(),
                session.source.as_str(),
                session.created.0,
                used.cast_signed(),
                !session.blocked.is_empty(),
            ])
    }

    fn update(&self, connection: &Connection, id: i64, used: u64) -> rusqlite::Result<()> {
        let session = &self.session;
        connection
            .prepare_cached(
                "UPDATE sessions SET budget = ?2, profile = ?3, estimated = ?4, consumed = ?5,
                     reserved = ?6, cache_hits = ?7, source = ?8, used = ?9, has_blocked = ?10
                 WHERE id = ?1",
            )?
            .execute(params![
                id,
                session.limit.map(u64::cast_signed),
                session.profile,
                session.estimated.cast_signed(),
                session.consumed.cast_signed(),
                session.reserved.cast_signed(),
                session.cache_hits.cast_signed(),
                session.source.as_str(),
                used.cast_signed(),
                !session.blocked.is_empty(),
            ])?;
        Ok(())
    }

    fn write_blocked(&self, connection: &Connection, id: i64) -> rusqlite::Result<()> {
        if self.unwritten == 0 {
            return Ok(());
        }
        let known = self.session.blocked.len() - self.unwritten;
        for action in &self.session.blocked[known..] {
            connection
                .prepare_cached("INSERT INTO blocked_actions (session, action) VALUES (?1, ?2)")?
                .execute(params![id, action.to_string()])?;
        }
        connection
            .prepare_cached(
                "DELETE FROM blocked_actions WHERE session = ?1 AND id <=
                     (SELECT id FROM blocked_actions WHERE session = ?1
                      ORDER BY id DESC LIMIT 1 OFFSET 100)",
            )?
            .execute([id])?;
        Ok(())
    }
}
