//! Reads runs, their steps and their artifacts.

use async_trait::async_trait;
use rusqlite::{Row, params};
use tollgate_core::{
    Principal, SessionKey, Timestamp,
    store::{ArtifactRow, Intents as _, RunQuery, RunRow, Runs, StoreError},
};

use super::{Content, all, one};
use crate::{SqliteStore, sqlite::owner};

const RUN: &str = "SELECT id, principal, handle, template, status, over, created, updated, owner,
    fence, canceled, record, sealed,
    EXISTS (SELECT 1 FROM resting_runs WHERE run = id) FROM runs";
const ARTIFACT: &str = "SELECT id, run, principal, name, kind, mime_type, size, sha256, created,
    until, gone, tainted FROM artifacts";

fn run(row: &Row<'_>) -> Content<RunRow> {
    Ok(Ok(RunRow {
        id: row.get(0)?,
        session: SessionKey::new(
            Principal::from_stored(row.get(1)?),
            row.get::<_, String>(2)?,
        ),
        template: row.get(3)?,
        status: row.get(4)?,
        is_over: row.get(5)?,
        created: Timestamp(row.get(6)?),
        updated: Timestamp(row.get(7)?),
        owner: row.get(8)?,
        fence: row.get::<_, i64>(9)?.cast_unsigned(),
        is_canceled: row.get(10)?,
        record: row.get(11)?,
        sealed: row.get(12)?,
        is_resting: row.get(13)?,
    }))
}

fn artifact(row: &Row<'_>) -> Content<ArtifactRow> {
    Ok(Ok(ArtifactRow {
        id: row.get(0)?,
        run: row.get(1)?,
        principal: Principal::from_stored(row.get(2)?),
        name: row.get(3)?,
        kind: row.get(4)?,
        mime_type: row.get(5)?,
        size: row.get::<_, i64>(6)?.cast_unsigned(),
        sha256: row.get(7)?,
        created: Timestamp(row.get(8)?),
        until: row.get::<_, Option<i64>>(9)?.map(Timestamp),
        is_gone: row.get(10)?,
        is_tainted: row.get(11)?,
    }))
}

#[async_trait]
impl Runs for SqliteStore {
    async fn run(&self, id: &str) -> Result<Option<RunRow>, StoreError> {
        self.readers
            .look_up(|db| one(db, &format!("{RUN} WHERE id = ?1"), [id], run))
    }

    async fn run_canceled(&self, id: &str) -> Result<Option<bool>, StoreError> {
        let sql = "SELECT canceled FROM runs WHERE id = ?1";
        self.readers
            .look_up(|db| one(db, sql, [id], |row| Ok(Ok(row.get(0)?))))
    }

    async fn run_steps(&self, id: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let sql = "SELECT name, record FROM run_steps
             WHERE run = (SELECT number FROM runs WHERE id = ?1)";
        self.readers
            .look_up(|db| all(db, sql, [id], |row| Ok(Ok((row.get(0)?, row.get(1)?)))))
    }

    async fn runs(&self, query: &RunQuery) -> Result<Vec<RunRow>, StoreError> {
        let query = query.clone();
        self.readers
            .scan(move |db| {
                let mut sql = format!("{RUN} WHERE 1");
                let mut values: Vec<&dyn rusqlite::ToSql> = Vec::new();
                let principal = query.principal.as_ref().map(|it| it.as_str().to_owned());
                let filters = [
                    ("principal", &principal),
                    ("status", &query.status),
                    ("template", &query.template),
                ];
                for (column, value) in filters {
                    if let Some(value) = value {
                        values.push(value);
                        sql += &format!(" AND {column} = ?{}", values.len());
                    }
                }
                sql += &format!(
                    " ORDER BY number DESC LIMIT {} OFFSET {}",
                    query.limit, query.offset
                );
                all(db, &sql, values.as_slice(), run)
            })
            .await
    }

    async fn waiting_runs(&self, limit: u32) -> Result<Vec<RunRow>, StoreError> {
        let free = format!("{RUN} WHERE over = 0 AND owner IS NULL ORDER BY number LIMIT ?1");
        let others = format!("{RUN} WHERE over = 0 AND owner <> ?1 ORDER BY number");
        self.readers.look_up(|db| {
            let mut waiting = all(db, &others, [self.owner()], run)?;
            waiting.retain(|run| {
                let owner = run.owner.as_deref();
                owner.is_some_and(|owner| owner::is_dead(&self.state_dir, owner))
            });
            waiting.append(&mut all(db, &free, params![limit], run)?);
            waiting.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            Ok(waiting)
        })
    }

    async fn open_runs(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM runs WHERE over = 0";
        let count = self.readers.look_up(|db| {
            one(db, sql, [], |row| {
                Ok(Ok(row.get::<_, i64>(0)?.cast_unsigned()))
            })
        })?;
        Ok(count.unwrap_or(0))
    }

    async fn artifact(&self, id: &str) -> Result<Option<ArtifactRow>, StoreError> {
        self.readers
            .look_up(|db| one(db, &format!("{ARTIFACT} WHERE id = ?1"), [id], artifact))
    }

    async fn artifacts(&self, run: &str) -> Result<Vec<ArtifactRow>, StoreError> {
        let sql = format!("{ARTIFACT} WHERE run = ?1 ORDER BY number");
        self.readers.look_up(|db| all(db, &sql, [run], artifact))
    }

    async fn stale_artifacts(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<ArtifactRow>, StoreError> {
        let sql =
            format!("{ARTIFACT} WHERE gone = 0 AND until IS NOT NULL AND until <= ?1 LIMIT ?2");
        self.readers
            .look_up(|db| all(db, &sql, params![now.0, limit], artifact))
    }
}
