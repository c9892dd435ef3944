//! Calls that were announced, how they ended, and what effects told their callers.
//!
//! Invariant: an intent exists from its announcement to its one ending; deleting
//! it is what ends the call, so a second ending finds nothing.

use rusqlite::{Connection, params};
use tollgate_core::{
    CallId,
    store::{Ending, Intent, StoreError},
};

use super::Refusal;

/// Announces a call.
pub(super) fn open_intent(connection: &Connection, intent: &Intent) -> Result<(), Refusal> {
    let known: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM intents WHERE call = ?1)
                 OR EXISTS (SELECT 1 FROM effects WHERE call = ?1)",
        )?
        .query_row([intent.call.as_str()], |row| row.get(0))?;
    if known {
        return Err(StoreError::Conflict.into());
    }
    if intent.effect {
        open_effect(connection, intent)?;
    }
    connection
        .prepare_cached(
            "INSERT INTO intents (call, owner, principal, handle, tool, trace_id, reserved,
                 effect, digest, idempotency_key, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            intent.call.as_str(),
            intent.owner,
            intent.session.principal.as_str(),
            intent.session.handle,
            intent.tool,
            intent.trace_id,
            intent.reserved.cast_signed(),
            intent.effect,
            intent.digest,
            intent.idempotency_key,
            intent.at.0,
        ])?;
    Ok(())
}

/// Notes an effect; the caller's name for it is used once.
fn open_effect(connection: &Connection, intent: &Intent) -> Result<(), Refusal> {
    let added = connection
        .prepare_cached(
            "INSERT OR IGNORE INTO effects
                 (call, principal, handle, digest, idempotency_key, at, delivered)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)",
        )?
        .execute(params![
            intent.call.as_str(),
            intent.session.principal.as_str(),
            intent.session.handle,
            intent.digest,
            intent.idempotency_key,
            intent.at.0,
        ])?;
    if added == 0 {
        return Err(StoreError::Conflict.into());
    }
    Ok(())
}

/// Ends a call.
pub(super) fn end_intent(connection: &Connection, ending: &Ending) -> Result<(), Refusal> {
    let ended = connection
        .prepare_cached("DELETE FROM intents WHERE call = ?1 RETURNING effect")?
        .query_map([ending.call.as_str()], |row| row.get::<_, bool>(0))?
        .next()
        .transpose()?;
    let Some(effect) = ended else {
        return Err(StoreError::AlreadyEnded.into());
    };
    match &ending.answer {
        Some(answer) if effect => {
            connection
                .prepare_cached("UPDATE effects SET answer = ?2 WHERE call = ?1")?
                .execute(params![ending.call.as_str(), answer])?;
        }
        None if effect => {
            connection
                .prepare_cached(
                    "UPDATE effects SET digest = NULL, idempotency_key = NULL WHERE call = ?1",
                )?
                .execute([ending.call.as_str()])?;
        }
        Some(_) | None => {}
    }
    Ok(())
}

/// Notes that the caller has the answer.
pub(super) fn delivered(connection: &Connection, call: &CallId) -> Result<(), Refusal> {
    connection
        .prepare_cached("UPDATE effects SET delivered = 1 WHERE call = ?1")?
        .execute([call.as_str()])?;
    Ok(())
}
