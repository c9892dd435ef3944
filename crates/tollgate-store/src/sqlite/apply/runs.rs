//! Runs, their steps and what they leave behind.
//!
//! Invariant: only runs that somebody alive drives take a place, so those of dead processes
//! never keep anybody from taking them over.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};
use tollgate_core::{
    Timestamp,
    store::{ArtifactRow, RunChange, RunRow, StoreError},
};

use super::Refusal;
use crate::sqlite::owner;

/// Makes one change, or refuses before it writes.
pub(super) fn change(db: &Connection, state_dir: &Path, change: &RunChange) -> Result<(), Refusal> {
    match change {
        RunChange::Open(run) => open(db, run),
        RunChange::Claim {
            id,
            owner,
            fence,
            most,
            status,
            at,
        } => {
            room(db, state_dir, id, *most)?;
            let changed = db
                .prepare_cached(
                    "UPDATE runs SET owner = ?2, fence = fence + 1, status = ?4, updated = ?5
                     WHERE id = ?1 AND fence = ?3 AND over = 0",
                )?
                .execute(params![id, owner, fence.cast_signed(), status, at.0])?;
            some(changed, StoreError::Conflict)?;
            rest(db, id, false)
        }
        RunChange::Move {
            id,
            fence,
            status,
            is_over,
            record,
            at,
        } => {
            let changed = db
                .prepare_cached(
                    "UPDATE runs SET status = ?3, over = ?4, record = ?5, updated = ?6,
                         owner = CASE WHEN ?4 THEN NULL ELSE owner END,
                         sealed = CASE WHEN ?4 THEN NULL ELSE sealed END
                     WHERE id = ?1 AND fence = ?2 AND over = 0",
                )?
                .execute(params![
                    id,
                    fence.cast_signed(),
                    status,
                    is_over,
                    record,
                    at.0
                ])?;
            some(changed, StoreError::Conflict)?;
            if *is_over {
                rest(db, id, false)?;
            }
            Ok(())
        }
        RunChange::Rest {
            id,
            fence,
            rests,
            most,
        } => {
            if !rests {
                room(db, state_dir, id, *most)?;
            }
            held(db, id, *fence)?;
            rest(db, id, *rests)
        }
        RunChange::Steps {
            id,
            fence,
            steps: all,
            at,
        } => steps(db, (id, *fence), all, *at),
        RunChange::Cancel { id, at } => {
            let changed = db
                .prepare_cached(
                    "UPDATE runs SET canceled = 1, updated = ?2 WHERE id = ?1 AND over = 0",
                )?
                .execute(params![id, at.0])?;
            some(changed, StoreError::Missing)
        }
        RunChange::Keep(artifact) => keep(db, artifact),
        RunChange::Until { run, until } => {
            db.prepare_cached("UPDATE artifacts SET until = ?2 WHERE run = ?1")?
                .execute(params![run, until.0])?;
            Ok(())
        }
        RunChange::Gone { artifact } => {
            db.prepare_cached("UPDATE artifacts SET gone = 1 WHERE id = ?1")?
                .execute([artifact])?;
            Ok(())
        }
    }
}

/// Refuses if so many others are being driven already; those that rest do not count, and
/// neither do those whose process is gone.
fn room(db: &Connection, state_dir: &Path, id: &str, most: u32) -> Result<(), Refusal> {
    let others: i64 = db
        .prepare_cached(
            "SELECT count(*) FROM runs
             WHERE over = 0 AND owner IS NOT NULL AND id <> ?1
                 AND id NOT IN (SELECT run FROM resting_runs)",
        )?
        .query_row([id], |row| row.get(0))?;
    // Who lives is asked only where it matters.
    if others >= i64::from(most) && driven(db, state_dir, id)? >= i64::from(most) {
        return Err(StoreError::Busy.into());
    }
    Ok(())
}

/// How many runs beside this one somebody alive drives.
fn driven(db: &Connection, state_dir: &Path, id: &str) -> Result<i64, Refusal> {
    let mut statement = db.prepare_cached(
        "SELECT owner, count(*) FROM runs
         WHERE over = 0 AND owner IS NOT NULL AND id <> ?1
             AND id NOT IN (SELECT run FROM resting_runs)
         GROUP BY owner",
    )?;
    let owners: Vec<(String, i64)> = statement
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let alive = owners
        .iter()
        .filter(|(name, _)| !owner::is_dead(state_dir, name));
    Ok(alive.map(|(_, runs)| runs).sum())
}

/// The number of a run that is not over and whose fence is this.
fn held(db: &Connection, id: &str, fence: u64) -> Result<i64, Refusal> {
    let number = db
        .prepare_cached("SELECT number FROM runs WHERE id = ?1 AND fence = ?2 AND over = 0")?
        .query_row(params![id, fence.cast_signed()], |row| row.get(0))
        .optional()?;
    number.ok_or_else(|| StoreError::Conflict.into())
}

fn steps(
    db: &Connection,
    (id, fence): (&str, u64),
    steps: &[(String, Vec<u8>)],
    at: Timestamp,
) -> Result<(), Refusal> {
    let number = held(db, id, fence)?;
    let sql = "INSERT OR REPLACE INTO run_steps (run, name, record) VALUES (?1, ?2, ?3)";
    let mut insert = db.prepare_cached(sql)?;
    for (name, record) in steps {
        insert.execute(params![number, name, record])?;
    }
    db.prepare_cached("UPDATE runs SET updated = ?2 WHERE number = ?1")?
        .execute(params![number, at.0])?;
    Ok(())
}

fn rest(db: &Connection, id: &str, rests: bool) -> Result<(), Refusal> {
    let sql = if rests {
        "INSERT OR IGNORE INTO resting_runs (run) VALUES (?1)"
    } else {
        "DELETE FROM resting_runs WHERE run = ?1"
    };
    db.prepare_cached(sql)?.execute([id])?;
    Ok(())
}

fn open(db: &Connection, run: &RunRow) -> Result<(), Refusal> {
    let taken = db
        .prepare_cached("SELECT 1 FROM runs WHERE id = ?1")?
        .query_row([&run.id], |_| Ok(()))
        .optional()?;
    if taken.is_some() {
        return Err(StoreError::Conflict.into());
    }
    db.prepare_cached(
        "INSERT INTO runs (id, principal, handle, template, status, over, created, updated,
             owner, fence, canceled, record, sealed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        run.id,
        run.session.principal.as_str(),
        run.session.handle,
        run.template,
        run.status,
        run.is_over,
        run.created.0,
        run.updated.0,
        run.owner,
        run.fence.cast_signed(),
        run.is_canceled,
        run.record,
        run.sealed,
    ])?;
    Ok(())
}

fn keep(db: &Connection, artifact: &ArtifactRow) -> Result<(), Refusal> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO artifacts (id, run, principal, name, kind, mime_type, size,
             sha256, created, until, gone, tainted)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        artifact.id,
        artifact.run,
        artifact.principal.as_str(),
        artifact.name,
        artifact.kind,
        artifact.mime_type,
        artifact.size.cast_signed(),
        artifact.sha256,
        artifact.created.0,
        artifact.until.map(|until| until.0),
        artifact.is_gone,
        artifact.is_tainted,
    ])?;
    Ok(())
}

fn some(changed: usize, refusal: StoreError) -> Result<(), Refusal> {
    if changed == 0 {
        return Err(refusal.into());
    }
    Ok(())
}
