//! Records as rows, read back the way they were written.
//!
//! A value no writer of ours would have stored is damage, never a default.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::de::DeserializeOwned;
use tollgate_core::{
    CallId, Principal, SessionKey, Timestamp,
    audit::{AuditRow, Columns},
    ledger::ConsumedSource,
    store::{
        Approval, ApprovalState, Credential, CredentialKind, Effect, Grant, Intent, ReviewItem,
        Session, StoreError,
    },
};

use crate::error::{store_error, unreadable};

/// The columns [`audit_row`] reads.
pub(crate) const AUDIT: &str =
    "seq, chain, hash, at, kind, call_id, trace_id, principal, session, tool, status, body";
/// The columns [`approval`] reads.
pub(crate) const APPROVAL: &str = "id, digest, tool, spec_digest, principal, handle, preview,
    estimate, created, expires, state, decided_by, decided_at, consumed_by, consumed_at";
/// The columns [`credential`] reads.
pub(crate) const CREDENTIAL: &str = "id, digest, kind, label, scopes, created, expires, revoked";
/// The columns [`effect`] reads.
pub(crate) const EFFECT: &str = "call, digest, answer, delivered";
const SESSION_BY_KEY: &str = "SELECT id, principal, handle, budget, profile, estimated,
        consumed, reserved, cache_hits, source, created, has_blocked
    FROM sessions WHERE principal = ?1 AND handle = ?2";
const SESSIONS_BY_USE: &str = "SELECT id, principal, handle, budget, profile, estimated,
        consumed, reserved, cache_hits, source, created, has_blocked
    FROM sessions WHERE principal = ?1 ORDER BY used DESC";

/// One session and its row.
pub(crate) fn session(
    connection: &Connection,
    key: &SessionKey,
) -> Result<Option<(i64, Session)>, StoreError> {
    let found = connection
        .prepare_cached(SESSION_BY_KEY)
        .and_then(|mut statement| {
            statement
                .query_row(params![key.principal.as_str(), key.handle], read_session)
                .optional()
        })
        .map_err(store_error)?;
    found
        .map(|found| with_blocked(connection, found))
        .transpose()
}

/// All sessions of a principal, the last used first.
pub(crate) fn sessions(
    connection: &Connection,
    principal: &Principal,
) -> Result<Vec<Session>, StoreError> {
    let found: Vec<_> = connection
        .prepare_cached(SESSIONS_BY_USE)
        .and_then(|mut statement| {
            statement
                .query_map([principal.as_str()], read_session)?
                .collect()
        })
        .map_err(store_error)?;
    found
        .into_iter()
        .map(|found| Ok(with_blocked(connection, found)?.1))
        .collect()
}

fn read_session(row: &Row<'_>) -> rusqlite::Result<(i64, Session, bool)> {
    let session = Session {
        key: session_key(row, 1)?,
        limit: row.get::<_, Option<i64>>(3)?.map(i64::cast_unsigned),
        profile: row.get(4)?,
        estimated: unsigned(row, 5)?,
        consumed: unsigned(row, 6)?,
        reserved: unsigned(row, 7)?,
        cache_hits: unsigned(row, 8)?,
        blocked: Vec::new(),
        source: ConsumedSource::parse(row.get_ref(9)?.as_str()?),
        created: Timestamp(row.get(10)?),
    };
    Ok((row.get(0)?, session, row.get(11)?))
}

fn with_blocked(
    connection: &Connection,
    (id, mut session, has_blocked): (i64, Session, bool),
) -> Result<(i64, Session), StoreError> {
    if has_blocked {
        let texts: Vec<String> = connection
            .prepare_cached("SELECT action FROM blocked_actions WHERE session = ?1 ORDER BY id")
            .and_then(|mut statement| statement.query_map([id], |row| row.get(0))?.collect())
            .map_err(store_error)?;
        session.blocked = texts
            .iter()
            .map(|text| json(text, "blocked action"))
            .collect::<Result<_, _>>()?;
    }
    Ok((id, session))
}

/// An approval; the outer result is SQLite's, the inner one is about the content.
pub(crate) fn approval(row: &Row<'_>) -> rusqlite::Result<Result<Approval, StoreError>> {
    let preview = json(row.get_ref(6)?.as_str()?, "preview");
    let estimate = json(row.get_ref(7)?.as_str()?, "estimate");
    let state =
        ApprovalState::parse(row.get_ref(10)?.as_str()?).ok_or_else(|| unreadable("approval"));
    let (preview, estimate, state) = match (preview, estimate, state) {
        (Ok(preview), Ok(estimate), Ok(state)) => (preview, estimate, state),
        (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => return Ok(Err(error)),
    };
    Ok(Ok(Approval {
        id: row.get(0)?,
        digest: row.get(1)?,
        tool: row.get(2)?,
        spec_digest: row.get(3)?,
        session: session_key(row, 4)?,
        preview,
        estimate,
        created: Timestamp(row.get(8)?),
        expires: Timestamp(row.get(9)?),
        state,
        decided_by: row.get(11)?,
        decided_at: timestamp(row, 12)?,
        consumed_by: call(row, 13)?,
        consumed_at: timestamp(row, 14)?,
    }))
}

/// A grant, from `scope, granted_by, at, expires`.
pub(crate) fn grant(
    row: &Row<'_>,
    session: &SessionKey,
) -> rusqlite::Result<Result<Grant, StoreError>> {
    let scope = match json(row.get_ref(0)?.as_str()?, "grant") {
        Ok(scope) => scope,
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(Grant {
        session: session.clone(),
        scope,
        by: row.get(1)?,
        at: Timestamp(row.get(2)?),
        expires: Timestamp(row.get(3)?),
    }))
}

/// A review item, from its only column.
pub(crate) fn review(row: &Row<'_>) -> rusqlite::Result<Result<ReviewItem, StoreError>> {
    Ok(json(row.get_ref(0)?.as_str()?, "review item"))
}

/// A credential.
pub(crate) fn credential(row: &Row<'_>) -> rusqlite::Result<Result<Credential, StoreError>> {
    let kind = match row.get_ref(2)?.as_str()? {
        "approver" => CredentialKind::Approver,
        "bearer" => CredentialKind::Bearer,
        "dialog" => CredentialKind::Dialog,
        _ => return Ok(Err(unreadable("credential"))),
    };
    let scopes = match json(row.get_ref(4)?.as_str()?, "scope") {
        Ok(scopes) => scopes,
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(Credential {
        id: row.get(0)?,
        digest: row.get(1)?,
        kind,
        label: row.get(3)?,
        scopes,
        created: Timestamp(row.get(5)?),
        expires: timestamp(row, 6)?,
        revoked: timestamp(row, 7)?,
    }))
}

/// An effect.
pub(crate) fn effect(row: &Row<'_>) -> rusqlite::Result<Effect> {
    Ok(Effect {
        call: CallId(row.get(0)?),
        digest: row.get(1)?,
        answer: row.get(2)?,
        delivered: row.get(3)?,
    })
}

/// An intent, from all its columns.
pub(crate) fn intent(row: &Row<'_>) -> rusqlite::Result<Intent> {
    Ok(Intent {
        call: CallId(row.get("call")?),
        owner: row.get("owner")?,
        session: SessionKey::new(
            Principal::from_stored(row.get("principal")?),
            row.get::<_, String>("handle")?,
        ),
        tool: row.get("tool")?,
        trace_id: row.get("trace_id")?,
        reserved: row.get::<_, i64>("reserved")?.cast_unsigned(),
        effect: row.get("effect")?,
        digest: row.get("digest")?,
        idempotency_key: row.get("idempotency_key")?,
        at: Timestamp(row.get("at")?),
    })
}

/// A row of the log.
pub(crate) fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        seq: unsigned(row, 0)?,
        chain: row.get(1)?,
        hash: row.get(2)?,
        columns: Columns {
            at: row.get(3)?,
            kind: row.get(4)?,
            call_id: row.get(5)?,
            trace_id: row.get(6)?,
            principal: row.get(7)?,
            session: row.get(8)?,
            tool: row.get(9)?,
            status: row.get(10)?,
        },
        body: row.get(11)?,
    })
}

fn session_key(row: &Row<'_>, at: usize) -> rusqlite::Result<SessionKey> {
    Ok(SessionKey::new(
        Principal::from_stored(row.get(at)?),
        row.get::<_, String>(at + 1)?,
    ))
}

fn unsigned(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(i64::cast_unsigned)
}

fn timestamp(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Timestamp))
}

fn call(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<CallId>> {
    Ok(row.get::<_, Option<std::sync::Arc<str>>>(at)?.map(CallId))
}

fn json<T: DeserializeOwned>(text: &str, what: &'static str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|_| unreadable(what))
}
