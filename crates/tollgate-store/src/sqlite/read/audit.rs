//! Reads the log.

use std::fmt::Write as _;

use async_trait::async_trait;
use rusqlite::{Connection, params_from_iter, types::Value};
use tollgate_core::{
    CallId,
    audit::{AuditQuery, AuditRow, SignedHead, Verification},
    store::{AuditLog, Body, StoreError},
};

use super::{all, one};
use crate::{
    SqliteStore,
    chain::{self, Seal},
    sqlite::{
        read_head,
        rows::{self, AUDIT},
    },
};

#[async_trait]
impl AuditLog for SqliteStore {
    async fn records(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        let query = query.clone();
        let chain = self.chain.clone();
        self.readers
            .scan(move |db| match &query.trace_id {
                Some(trace) => by_trace(db, &query, trace, &chain),
                None => select(db, &query, query.limit, None),
            })
            .await
    }

    async fn body(&self, call: &CallId) -> Result<Option<Body>, StoreError> {
        self.readers.look_up(|db| {
            let sql = "SELECT arguments, data FROM bodies WHERE call = ?1 ORDER BY id DESC LIMIT 1";
            one(db, sql, [call.as_str()], |row| {
                Ok(Ok(Body {
                    call: call.clone(),
                    arguments: row.get(0)?,
                    data: row.get(1)?,
                }))
            })
        })
    }

    async fn signed_head(&self, at_or_after: u64) -> Result<Option<SignedHead>, StoreError> {
        let at = i64::try_from(at_or_after).unwrap_or(i64::MAX);
        self.readers.look_up(|db| {
            let sql = "SELECT seq, hash, key, signature FROM audit_signed_heads
                 WHERE seq >= ?1 ORDER BY seq LIMIT 1";
            one(db, sql, [at], |row| {
                let seal = Seal {
                    seq: row.get::<_, i64>(0)?.cast_unsigned(),
                    hash: row.get(1)?,
                    key: row.get(2)?,
                    signature: row.get(3)?,
                };
                Ok(Ok(seal.signed_head(&self.chain)))
            })
        })
    }

    async fn verify(&self) -> Result<Verification, StoreError> {
        let chain = self.chain.clone();
        let anchor = self.anchor.clone();
        let state_dir = self.state_dir.clone();
        self.readers
            .scan(move |db| chain::verify(db, &chain, &anchor, &state_dir))
            .await
    }
}

/// Asks one segment of the index after the other until there is enough.
fn by_trace(
    db: &Connection,
    query: &AuditQuery,
    trace: &str,
    chain: &str,
) -> Result<Vec<AuditRow>, StoreError> {
    let head = read_head(db, chain).map_err(crate::error::store_error)?;
    let last = head.map_or(0, |head| head.seq) >> 8;
    let from = query.cursor.unwrap_or(0) >> 8;
    let segments: Box<dyn Iterator<Item = u64>> = match (query.newest_first, query.cursor) {
        (true, None) => Box::new((0..=last).rev()),
        (true, Some(_)) => Box::new((0..=from.min(last)).rev()),
        (false, _) => Box::new(from..=last),
    };
    let mut found = Vec::new();
    for segment in segments {
        let room = query
            .limit
            .saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
        if room == 0 {
            break;
        }
        found.append(&mut select(db, query, room, Some((segment, trace)))?);
    }
    Ok(found)
}

/// Rows that match, from one segment of a trace or from everywhere.
fn select(
    db: &Connection,
    query: &AuditQuery,
    limit: u32,
    segment: Option<(u64, &str)>,
) -> Result<Vec<AuditRow>, StoreError> {
    let mut sql = format!("SELECT {AUDIT} FROM audit_entries WHERE 1");
    let mut parameters: Vec<Value> = Vec::new();
    let mut require = |condition: &str, value: Value| {
        parameters.push(value);
        let _ = write!(sql, " AND {condition} ?{}", parameters.len());
    };
    if let Some((segment, trace)) = segment {
        require("(seq >> 8) =", Value::Integer(segment.cast_signed()));
        require("trace_id =", Value::Text(trace.to_owned()));
    }
    if let Some(cursor) = query.cursor {
        let condition = if query.newest_first { "seq <" } else { "seq >" };
        let cursor = i64::try_from(cursor).unwrap_or(i64::MAX);
        require(condition, Value::Integer(cursor));
    }
    let equal = [
        ("call_id =", &query.call_id),
        ("session =", &query.session),
        ("tool =", &query.tool),
        ("kind =", &query.kind),
        ("principal =", &query.principal),
    ];
    for (condition, value) in equal {
        if let Some(value) = value {
            require(condition, Value::Text(value.clone()));
        }
    }
    let order = if query.newest_first { "DESC" } else { "ASC" };
    let _ = write!(sql, " ORDER BY seq {order} LIMIT {limit}");
    all(db, &sql, params_from_iter(parameters), |row| {
        Ok(Ok(rows::audit_row(row)?))
    })
}
