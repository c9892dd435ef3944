//! Reads sessions, cached answers, announced calls, effects and provider state.

use std::collections::HashMap;

use async_trait::async_trait;
use rusqlite::{Row, params};
use tollgate_core::{
    Principal, SLACK, SessionKey, Timestamp,
    store::{
        Cache, CacheKey, Effect, EffectQuery, Intent, Intents, Session, Sessions, States,
        StoreError, Versioned,
    },
};

use super::{all, one};
use crate::{
    SqliteStore,
    error::io_error,
    sqlite::{
        apply::slot,
        owner,
        rows::{self, EFFECT},
    },
};

#[async_trait]
impl Sessions for SqliteStore {
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.readers
            .look_up(|db| Ok(rows::session(db, key)?.map(|(_, session)| session)))
    }

    async fn sessions(&self, principal: &Principal) -> Result<Vec<Session>, StoreError> {
        let principal = principal.clone();
        self.readers
            .scan(move |db| rows::sessions(db, &principal))
            .await
    }
}

/// Finds one answer; the slot alone could be shared.
macro_rules! answer {
    ($what:literal) => {
        concat!(
            "SELECT ",
            $what,
            " FROM cache WHERE slot = ?1 AND (until IS NULL OR (until > ?2 AND at <= ?7))
                 AND principal = ?3 AND handle = ?4 AND key = ?5 AND binding = ?6"
        )
    };
}

impl SqliteStore {
    fn answer<T>(
        &self,
        key: &CacheKey,
        now: Timestamp,
        (sql, read): (&str, fn(&Row<'_>) -> rusqlite::Result<T>),
    ) -> Result<Option<T>, StoreError> {
        self.readers.look_up(|db| {
            let parameters = params![
                slot(key),
                now.0,
                key.session.principal.as_str(),
                key.session.handle,
                key.key,
                key.binding,
                now.plus(SLACK).0,
            ];
            one(db, sql, parameters, |row| Ok(Ok(read(row)?)))
        })
    }
}

#[async_trait]
impl Cache for SqliteStore {
    async fn peek(&self, key: &CacheKey, now: Timestamp) -> Result<bool, StoreError> {
        let found = self.answer(key, now, (answer!("1"), |_| Ok(())))?;
        Ok(found.is_some())
    }

    async fn recall(&self, key: &CacheKey, now: Timestamp) -> Result<Option<Vec<u8>>, StoreError> {
        self.answer(key, now, (answer!("answer"), |row| row.get(0)))
    }

    async fn entries(
        &self,
        session: &SessionKey,
        prefix: &str,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<CacheKey>, StoreError> {
        let sql = "SELECT key, binding FROM cache WHERE handle = ?1 AND principal = ?2
             AND substr(key, 1, length(?3)) = ?3
             AND (until IS NULL OR (until > ?4 AND at <= ?5)) ORDER BY key, binding LIMIT ?6";
        self.readers.look_up(|db| {
            let parameters = params![
                session.handle,
                session.principal.as_str(),
                prefix,
                now.0,
                now.plus(SLACK).0,
                limit,
            ];
            all(db, sql, parameters, |row| {
                Ok(Ok(CacheKey {
                    session: session.clone(),
                    key: row.get(0)?,
                    binding: row.get(1)?,
                }))
            })
        })
    }
}

#[async_trait]
impl Intents for SqliteStore {
    async fn abandoned(&self) -> Result<Vec<Intent>, StoreError> {
        let state_dir = self.state_dir.clone();
        let writes = self.writing.is_some();
        self.readers
            .scan(move |db| {
                let sql = "SELECT * FROM intents ORDER BY at, call";
                let announced = all(db, sql, [], |row| Ok(Ok(rows::intent(row)?)))?;
                let mut dead: HashMap<String, bool> = HashMap::new();
                let abandoned = announced
                    .into_iter()
                    .filter(|intent| {
                        *dead
                            .entry(intent.owner.clone())
                            .or_insert_with(|| owner::is_dead(&state_dir, &intent.owner))
                    })
                    .collect();
                if writes {
                    owner::sweep(&state_dir).map_err(io_error)?;
                }
                Ok(abandoned)
            })
            .await
    }

    async fn effect(&self, query: &EffectQuery) -> Result<Option<Effect>, StoreError> {
        let EffectQuery {
            session,
            digest,
            idempotency_key,
            since,
        } = query;
        let (principal, handle) = (session.principal.as_str(), &session.handle);
        let read = |row: &Row<'_>| Ok(Ok(rows::effect(row)?));
        self.readers.look_up(|db| match idempotency_key {
            Some(key) => one(
                db,
                &format!(
                    "SELECT {EFFECT} FROM effects
                     WHERE principal = ?1 AND handle = ?2 AND idempotency_key = ?3"
                ),
                params![principal, handle, key],
                read,
            ),
            None => one(
                db,
                &format!(
                    "SELECT {EFFECT} FROM effects WHERE digest = ?1 AND principal = ?2
                         AND handle = ?3 AND at >= ?4 AND NOT delivered
                     ORDER BY id DESC LIMIT 1"
                ),
                params![digest, principal, handle, since.0],
                read,
            ),
        })
    }

    fn owner(&self) -> &str {
        self.writing
            .as_ref()
            .map_or("reader", |writing| writing.owner.name())
    }
}

#[async_trait]
impl States for SqliteStore {
    async fn state(
        &self,
        namespace: &str,
        principal: &Principal,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Versioned>, StoreError> {
        self.readers.look_up(|db| {
            one(
                db,
                "SELECT value, version FROM provider_states
                 WHERE namespace = ?1 AND principal = ?2 AND key = ?3
                     AND (until IS NULL OR until > ?4)",
                params![namespace, principal.as_str(), key, now.0],
                |row| {
                    Ok(Ok(Versioned {
                        value: row.get(0)?,
                        version: row.get::<_, i64>(1)?.cast_unsigned(),
                    }))
                },
            )
        })
    }
}
