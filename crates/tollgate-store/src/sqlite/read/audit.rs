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
    error::store_error,
    sqlite::{
        index::{Field, SEGMENT_BITS, segment},
        read_noted,
        rows::{self, AUDIT},
    },
};

/// The body that lies with an entry about a call.
const BESIDE: &str = "SELECT arguments, data FROM audit_entries WHERE seq IN
        (SELECT entry FROM audit_index WHERE field = 0 AND value = ?1
         UNION ALL SELECT seq FROM audit_entries
         WHERE seq > (SELECT max(indexed) FROM audit_head) AND call_id = ?1)
    AND (arguments IS NOT NULL OR data IS NOT NULL) ORDER BY seq DESC LIMIT 1";

/// The body of a call that has a row of its own.
const APART: &str = "SELECT arguments, data FROM bodies WHERE call = ?1 AND id IN
        (SELECT body FROM body_index WHERE call = ?1
         UNION ALL SELECT id FROM bodies
         WHERE id > (SELECT max(bodies) FROM audit_head) AND call = ?1)
    ORDER BY id DESC LIMIT 1";

#[async_trait]
impl AuditLog for SqliteStore {
    async fn records(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        let query = query.clone();
        let chain = self.chain.clone();
        self.readers
            .scan(move |db| records(db, &query, &chain))
            .await
    }

    async fn body(&self, call: &CallId) -> Result<Option<Body>, StoreError> {
        self.readers.look_up(|db| {
            let find = |sql| {
                one(db, sql, [call.as_str()], |row| {
                    Ok(Ok(Body {
                        call: call.clone(),
                        arguments: row.get(0)?,
                        data: row.get(1)?,
                    }))
                })
            };
            match find(BESIDE)? {
                Some(body) => Ok(Some(body)),
                None => find(APART),
            }
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

/// Where matching entries are looked for.
#[derive(Debug, Clone, Copy)]
enum Part<'q> {
    /// Everywhere, entry by entry.
    Whole,
    /// Among those that are not indexed yet.
    After(u64),
    /// Where the index says, up to an entry.
    Called(&'q str, u64),
    /// In the segments that the index names, up to an entry.
    Among(Field, &'q str, u64),
    /// Where a segment of the index of traces says, up to an entry.
    Traced(u64, &'q str, u64),
}

/// Entries that match, by the most telling index there is.
fn records(db: &Connection, query: &AuditQuery, chain: &str) -> Result<Vec<AuditRow>, StoreError> {
    let head = read_noted(db, chain).map_err(store_error)?;
    let indexed = head.map_or(0, |head| head.indexed);
    let mut parts = match (&query.trace_id, named(query)) {
        (Some(trace), _) => traced(query, trace, indexed),
        (None, Some((Field::Call, value))) => vec![Part::Called(value, indexed)],
        (None, Some((field, value))) => vec![Part::Among(field, value, indexed)],
        (None, None) => return select(db, query, query.limit, Part::Whole),
    };
    let newest = if query.newest_first { 0 } else { parts.len() };
    parts.insert(newest, Part::After(indexed));
    let mut found = Vec::new();
    for part in parts {
        let room = query
            .limit
            .saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
        if room == 0 {
            break;
        }
        found.append(&mut select(db, query, room, part)?);
    }
    Ok(found)
}

/// The field to look by, if one is asked for.
fn named(query: &AuditQuery) -> Option<(Field, &str)> {
    Field::ALL.into_iter().find_map(|field| {
        let value = match field {
            Field::Call => &query.call_id,
            Field::Session => &query.session,
            Field::Tool => &query.tool,
        };
        Some((field, value.as_deref()?))
    })
}

/// The segments of a trace, in the order that was asked for.
fn traced<'q>(query: &AuditQuery, trace: &'q str, indexed: u64) -> Vec<Part<'q>> {
    let last = segment(indexed);
    let from = segment(query.cursor.unwrap_or(0));
    let part = |segment| Part::Traced(segment, trace, indexed);
    match (query.newest_first, query.cursor) {
        (true, None) => (0..=last).rev().map(part).collect(),
        (true, Some(_)) => (0..=from.min(last)).rev().map(part).collect(),
        (false, _) => (from..=last).map(part).collect(),
    }
}

/// Entries of one part that match.
fn select(
    db: &Connection,
    query: &AuditQuery,
    limit: u32,
    part: Part<'_>,
) -> Result<Vec<AuditRow>, StoreError> {
    let mut sql = format!("SELECT {AUDIT} FROM ");
    let mut parameters: Vec<Value> = Vec::new();
    let mut number = |value: u64| {
        parameters.push(Value::Integer(value.cast_signed()));
        parameters.len()
    };
    // A cross join keeps the order of the index, which is the one asked for.
    let key = match part {
        Part::Whole => {
            sql.push_str("audit_entries WHERE 1");
            "seq"
        }
        Part::After(indexed) => {
            let _ = write!(sql, "audit_entries WHERE seq > ?{}", number(indexed));
            "seq"
        }
        Part::Called(value, indexed) => {
            let _ = write!(
                sql,
                "audit_index CROSS JOIN audit_entries ON seq = entry
                 WHERE field = {} AND entry <= ?{} AND value = ?{}",
                Field::Call.number(),
                number(indexed),
                2
            );
            parameters.push(Value::Text(value.to_owned()));
            "entry"
        }
        Part::Among(field, value, indexed) => {
            let _ = write!(
                sql,
                "audit_segments CROSS JOIN audit_entries ON seq >= segment << {SEGMENT_BITS}
                     AND seq < (segment + 1) << {SEGMENT_BITS}
                 WHERE field = {} AND seq <= ?{} AND value = ?{}",
                field.number(),
                number(indexed),
                2
            );
            parameters.push(Value::Text(value.to_owned()));
            if let Some(cursor) = query.cursor {
                let order = if query.newest_first { "<=" } else { ">=" };
                let _ = write!(sql, " AND segment {order} {}", segment(cursor));
            }
            "seq"
        }
        Part::Traced(segment, trace, indexed) => {
            let _ = write!(
                sql,
                "audit_traces CROSS JOIN audit_entries ON seq = entry
                 WHERE segment = ?{} AND entry <= ?{} AND value = ?{}",
                number(segment),
                number(indexed),
                3
            );
            parameters.push(Value::Text(trace.to_owned()));
            "entry"
        }
    };
    let mut require = |condition: &str, value: Value| {
        parameters.push(value);
        let _ = write!(sql, " AND {condition} ?{}", parameters.len());
    };
    if let Some(cursor) = query.cursor {
        let condition = if query.newest_first { "<" } else { ">" };
        let cursor = i64::try_from(cursor).unwrap_or(i64::MAX);
        require(&format!("{key} {condition}"), Value::Integer(cursor));
    }
    let equal = [
        ("trace_id =", &query.trace_id),
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
    let _ = match part {
        Part::Among(..) => write!(sql, " ORDER BY segment {order}, seq {order} LIMIT {limit}"),
        Part::Whole | Part::After(_) | Part::Called(..) | Part::Traced(..) => {
            write!(sql, " ORDER BY {key} {order} LIMIT {limit}")
        }
    };
    all(db, &sql, params_from_iter(parameters), |row| {
        Ok(Ok(rows::audit_row(row)?))
    })
}
