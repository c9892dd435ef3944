//! Cached answers, bodies for replay, and what providers remember.

use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use tollgate_core::{
    SessionKey, Timestamp,
    store::{Body, CacheKey, StoreError},
};

use super::Refusal;

/// Keeps an answer in place of the one before it.
pub(super) fn remember(
    connection: &Connection,
    key: &CacheKey,
    answer: &[u8],
    (until, at): (Option<Timestamp>, Timestamp),
) -> Result<(), Refusal> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO cache
                 (slot, until, at, principal, handle, key, binding, answer)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            slot(key),
            until.map(|until| until.0),
            at.0,
            key.session.principal.as_str(),
            key.session.handle,
            key.key,
            key.binding,
            answer,
        ])?;
    Ok(())
}

/// Where an answer is kept: the head of a digest over everything it is bound to.
///
/// Two keys in one slot push each other out; a reader compares the whole key.
pub(crate) fn slot(key: &CacheKey) -> i64 {
    let mut hasher = Sha256::new();
    for part in [
        key.session.principal.as_str(),
        &key.session.handle,
        &key.key,
        &key.binding,
    ] {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let mut head = [0; 8];
    head.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(head)
}

/// Forgets every answer of a session.
pub(super) fn forget(connection: &Connection, session: &SessionKey) -> Result<(), Refusal> {
    connection
        .prepare_cached("DELETE FROM cache WHERE handle = ?2 AND principal = ?1")?
        .execute(params![session.principal.as_str(), session.handle])?;
    Ok(())
}

/// Keeps what replay needs.
pub(super) fn keep_body(
    connection: &Connection,
    body: &Body,
    now: Timestamp,
) -> Result<(), Refusal> {
    connection
        .prepare_cached("INSERT INTO bodies (call, at, arguments, data) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            body.call.as_str(),
            now.0,
            body.arguments,
            body.data
        ])?;
    Ok(())
}

/// Writes state if `expected` is its version, and gives it the version `next`.
pub(super) fn put_state(
    connection: &Connection,
    (namespace, principal, key): (&str, &str, &str),
    (expected, next): (Option<u64>, u64),
    (value, until, at): (&[u8], Option<Timestamp>, Timestamp),
) -> Result<(), Refusal> {
    let current = connection
        .prepare_cached(
            "SELECT version FROM provider_states
             WHERE namespace = ?1 AND principal = ?2 AND key = ?3
                 AND (until IS NULL OR until > ?4)",
        )?
        .query_row(params![namespace, principal, key, at.0], |row| {
            row.get::<_, i64>(0).map(i64::cast_unsigned)
        })
        .optional()?;
    if current != expected {
        return Err(StoreError::Conflict.into());
    }
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO provider_states
                 (namespace, principal, key, version, until, value)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            namespace,
            principal,
            key,
            next.cast_signed(),
            until.map(|until| until.0),
            value,
        ])?;
    Ok(())
}

/// Deletes state; its version is never given again.
pub(super) fn delete_state(
    connection: &Connection,
    (namespace, principal, key): (&str, &str, &str),
) -> Result<(), Refusal> {
    connection
        .prepare_cached(
            "DELETE FROM provider_states WHERE namespace = ?1 AND principal = ?2 AND key = ?3",
        )?
        .execute(params![namespace, principal, key])?;
    Ok(())
}
