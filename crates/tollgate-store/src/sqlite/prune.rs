//! Forgets what is no longer needed, a little with every thousandth audit row.
//!
//! Tied to the writes themselves, so that short commands prune as well as long
//! processes, an idle one never wakes for it, and no turn takes long.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension as _, params};
use tollgate_core::{Timestamp, store::StoreError};

use super::apply::forget_previews;
use crate::{error::store_error, settings::Retention};

/// Rows that one turn looks at, per table; more than arrive between two turns.
const STRIDE: i64 = 2048;

/// Forgets by and by.
#[derive(Debug)]
pub(crate) struct Pruner {
    retention: Retention,
    /// The last cached answer that was looked at.
    cursor: i64,
}

impl Pruner {
    /// Forgets what `retention` says.
    pub(crate) fn new(retention: Retention) -> Self {
        Self {
            retention,
            cursor: 0,
        }
    }

    /// Whether a transaction passes a multiple of 1024 rows.
    pub(crate) fn is_due(rows: Range<u64>) -> bool {
        rows.start >> 10 != rows.end >> 10
    }

    /// Forgets inside the current transaction; `log` is where the entries with bodies
    /// beside them begin and end. Says where they begin then.
    pub(crate) fn prune(
        &mut self,
        connection: &Connection,
        log: Range<u64>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        self.run(connection, now)
            .and_then(|()| self.bare(connection, log, now))
            .map_err(store_error)
    }

    fn run(&mut self, connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
        self.prune_bodies(connection, now)?;
        let kept = &self.retention;
        connection
            .prepare_cached(
                "DELETE FROM effects WHERE id IN (SELECT id FROM effects INDEXED BY effects_by_age
                     WHERE idempotency_key IS NULL AND at < ?2 ORDER BY at LIMIT ?1)
                     AND call NOT IN (SELECT call FROM intents)",
            )?
            .execute(params![STRIDE, now.minus(kept.effects).0])?;
        // Those without a key are gone long before, so the first ones are the oldest with one.
        connection
            .prepare_cached(
                "DELETE FROM effects WHERE id IN (SELECT id FROM effects ORDER BY id LIMIT ?1)
                     AND idempotency_key IS NOT NULL AND at < ?2
                     AND call NOT IN (SELECT call FROM intents)",
            )?
            .execute(params![STRIDE, now.minus(kept.keyed_effects).0])?;
        connection
            .prepare_cached(
                "DELETE FROM approvals WHERE number IN
                     (SELECT number FROM approvals ORDER BY number LIMIT ?1) AND expires < ?2",
            )?
            .execute(params![STRIDE, now.minus(kept.approvals).0])?;
        prune_undecided(connection, now, now.minus(kept.undecided))?;
        connection
            .prepare_cached("DELETE FROM provider_states WHERE until IS NOT NULL AND until < ?1")?
            .execute([now.0])?;
        self.prune_runs(connection, now)?;
        self.prune_cache(connection, now)
    }

    /// Runs that were over long ago, with their steps; one whose artifacts still have their
    /// content waits until that is swept.
    fn prune_runs(&self, connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
        const OLD: &str = "FROM runs WHERE number IN
                 (SELECT number FROM runs ORDER BY number LIMIT ?1)
             AND over = 1 AND updated < ?2 AND NOT EXISTS
                 (SELECT 1 FROM artifacts WHERE artifacts.run = runs.id AND gone = 0)";
        let since = now.minus(self.retention.runs).0;
        for sql in [
            format!("DELETE FROM run_steps WHERE run IN (SELECT number {OLD})"),
            format!("DELETE FROM artifacts WHERE run IN (SELECT id {OLD})"),
            format!("DELETE FROM runs WHERE number IN (SELECT number {OLD})"),
        ] {
            connection
                .prepare_cached(&sql)?
                .execute(params![STRIDE, since])?;
        }
        Ok(())
    }

    /// Bodies have numbers in a row, so what is too many is a range of them; what is too
    /// old is looked for only if the first one is.
    fn prune_bodies(&self, connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
        let first = connection
            .prepare_cached("SELECT id, at FROM bodies ORDER BY id LIMIT 1")?
            .query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
            .optional()?;
        let Some((first, at)) = first else {
            return Ok(());
        };
        let last: i64 = connection
            .prepare_cached("SELECT max(id) FROM bodies")?
            .query_row([], |row| row.get(0))?;
        // The last one stays, so that its number is not given again.
        let most = first.saturating_add(STRIDE - 1).min(last - 1);
        let spare = last.saturating_sub(rows(self.retention.body_rows));
        if first <= spare {
            forget_bodies(connection, [spare.min(most), i64::MAX])?;
        }
        let oldest = now.minus(self.retention.bodies).0;
        if at < oldest {
            forget_bodies(connection, [most, oldest])?;
        }
        Ok(())
    }

    /// Forgets what lies with entries that are too far back or too old; says up to which.
    fn bare(
        &self,
        connection: &Connection,
        log: Range<u64>,
        now: Timestamp,
    ) -> rusqlite::Result<u64> {
        let most = log
            .start
            .saturating_add(STRIDE.cast_unsigned())
            .min(log.end);
        let spare = log.end.saturating_sub(self.retention.body_rows).min(most);
        let first_kept: Option<i64> = connection
            .prepare_cached(
                "SELECT min(seq) FROM audit_entries WHERE seq > ?1 AND seq <= ?2 AND at >= ?3",
            )?
            .query_row(
                params![
                    log.start.max(spare).cast_signed(),
                    most.cast_signed(),
                    now.minus(self.retention.bodies).0
                ],
                |row| row.get(0),
            )?;
        let until = first_kept.map_or(most, |seq| seq.cast_unsigned().saturating_sub(1));
        connection
            .prepare_cached(
                "UPDATE audit_entries SET arguments = NULL, data = NULL
                 WHERE seq > ?1 AND seq <= ?2
                     AND (arguments IS NOT NULL OR data IS NOT NULL)",
            )?
            .execute([log.start.cast_signed(), until.cast_signed()])?;
        Ok(until)
    }

    /// Ends of cached answers have no index, so the cursor visits them in rotation.
    fn prune_cache(&mut self, connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "DELETE FROM cache WHERE id IN (SELECT id FROM cache ORDER BY id LIMIT ?1)
                     AND id <= (SELECT max(id) FROM cache) - ?2",
            )?
            .execute(params![STRIDE, rows(self.retention.cache_rows)])?;
        let last: Option<i64> = connection
            .prepare_cached(
                "SELECT max(id) FROM
                     (SELECT id FROM cache WHERE id > ?1 ORDER BY id LIMIT ?2)",
            )?
            .query_row(params![self.cursor, STRIDE], |row| row.get(0))?;
        let Some(last) = last else {
            self.cursor = 0;
            return Ok(());
        };
        connection
            .prepare_cached(
                "DELETE FROM cache WHERE id > ?1 AND id <= ?2
                     AND coalesce(until <= ?3, at < ?4)",
            )?
            .execute(params![
                self.cursor,
                last,
                now.0,
                now.minus(self.retention.cache).0
            ])?;
        self.cursor = last;
        Ok(())
    }
}

/// Questions that nobody decided: what they showed as soon as they have ended, the rest soon after.
fn prune_undecided(
    connection: &Connection,
    now: Timestamp,
    since: Timestamp,
) -> rusqlite::Result<()> {
    forget_previews(connection, now)?;
    connection
        .prepare_cached(
            "DELETE FROM approvals WHERE number IN
                 (SELECT number FROM approvals INDEXED BY approvals_by_state
                  WHERE state = 'pending' ORDER BY number LIMIT ?1) AND expires < ?2",
        )?
        .execute(params![STRIDE, since.0])?;
    Ok(())
}

/// Forgets bodies up to a number and before a time, and what finds them.
fn forget_bodies(connection: &Connection, range: [i64; 2]) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM body_index WHERE (call, body) IN
             (SELECT call, id FROM bodies WHERE id <= ?1 AND at < ?2)",
        "DELETE FROM bodies WHERE id <= ?1 AND at < ?2",
    ] {
        connection.prepare_cached(sql)?.execute(range)?;
    }
    Ok(())
}

fn rows(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
