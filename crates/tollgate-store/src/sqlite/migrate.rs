//! The shape of the database, as steps that only go forward.

use rusqlite::Connection;

use crate::error::OpenError;

/// One step per version; a released step is never edited.
pub(crate) const STEPS: &[&str] = &[include_str!("../migrations/1.sql")];

/// Every step in order, for the contract.
pub fn schema_sql() -> String {
    STEPS
        .iter()
        .enumerate()
        .map(|(index, step)| format!("-- version {}\n{step}", index + 1))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The version the file has; 0 is an empty one.
pub(crate) fn version(connection: &Connection) -> Result<u32, OpenError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Refuses what a later release wrote.
pub(crate) fn check(found: u32, steps: &[&str]) -> Result<(), OpenError> {
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(OpenError::TooNew { found, known });
    }
    Ok(())
}

/// Brings the file to the last of `steps`; the caller holds the lock.
pub(crate) fn migrate(connection: &mut Connection, steps: &[&str]) -> Result<(), OpenError> {
    let found = version(connection)?;
    check(found, steps)?;
    for (step, next) in steps.iter().zip(1_u32..).skip(found as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", next)?;
        transaction.commit()?;
    }
    Ok(())
}
