//! Approvals, grants, reviews and credentials: what humans decide.

use rusqlite::{Connection, OptionalExtension as _, params};
use tollgate_core::{
    CallId, SessionKey, Timestamp,
    audit::Hash,
    store::{
        Approval, ApprovalLimits, ApprovalState, Credential, Grant, GrantScope, ReviewItem,
        ReviewStatus, StoreError,
    },
};

use super::Refusal;
use crate::{
    error::unreadable,
    sqlite::rows::{self, APPROVAL},
};

/// Asks, unless the same question is open or too many are.
pub(super) fn ask(
    connection: &Connection,
    approval: &Approval,
    limits: &ApprovalLimits,
) -> Result<(), Refusal> {
    let state = ApprovalState::Pending;
    let open = of_digest(connection, &approval.digest, state)?;
    if open.iter().any(|known| known.in_time(approval.created)) {
        return Ok(());
    }
    let preview = approval.preview.to_string();
    forget_previews(connection, approval.created)?;
    make_sure_of_room(connection, approval, preview.len(), limits)?;
    let added = connection
        .prepare_cached(&format!(
            "INSERT OR IGNORE INTO approvals ({APPROVAL}, preview_bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
        ))?
        .execute(params![
            approval.id,
            approval.digest,
            approval.tool,
            approval.spec_digest,
            approval.session.principal.as_str(),
            approval.session.handle,
            preview,
            text(&approval.estimate, "estimate")?,
            approval.created.0,
            approval.expires.0,
            approval.state.as_str(),
            approval.decided_by,
            approval.decided_at.map(|at| at.0),
            approval.consumed_by.as_ref().map(CallId::as_str),
            approval.consumed_at.map(|at| at.0),
            i64::try_from(preview.len()).unwrap_or(i64::MAX),
        ])?;
    once(added, StoreError::Conflict)
}

/// The most questions that lose their previews at once.
const STRIDE: u32 = 256;

/// Drops what was shown of questions that have ended undecided; the questions are pruned later.
pub(in super::super) fn forget_previews(
    connection: &Connection,
    now: Timestamp,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE approvals SET preview = 'null', preview_bytes = 0 WHERE number IN
                 (SELECT number FROM approvals INDEXED BY approvals_waiting
                  WHERE state = 'pending' AND preview_bytes > 0 AND expires <= ?1 LIMIT ?2)",
        )?
        .execute(params![now.0, STRIDE])?;
    Ok(())
}

/// Refuses a question beyond the limits. Open questions are few, and all that is counted is in
/// their index.
fn make_sure_of_room(
    connection: &Connection,
    approval: &Approval,
    bytes: usize,
    limits: &ApprovalLimits,
) -> Result<(), Refusal> {
    let [all, all_bytes, own, own_bytes] = connection
        .prepare_cached(
            "SELECT count(*), coalesce(sum(preview_bytes), 0),
                 count(*) FILTER (WHERE principal = ?1),
                 coalesce(sum(preview_bytes) FILTER (WHERE principal = ?1), 0)
             FROM approvals INDEXED BY approvals_waiting
             WHERE state = 'pending' AND preview_bytes > 0 AND expires > ?2",
        )?
        .query_row(
            params![approval.session.principal.as_str(), approval.created.0],
            |row| {
                let count = |at| Ok::<_, rusqlite::Error>(row.get::<_, i64>(at)?.cast_unsigned());
                Ok([count(0)?, count(1)?, count(2)?, count(3)?])
            },
        )?;
    let bytes = bytes as u64;
    let fits = all < limits.pending
        && own < limits.pending_per_principal
        && all_bytes.saturating_add(bytes) <= limits.preview_bytes
        && own_bytes.saturating_add(bytes) <= limits.preview_bytes_per_principal;
    if fits {
        Ok(())
    } else {
        Err(StoreError::ApprovalsFull.into())
    }
}

/// Decides an open question that is in time.
pub(super) fn decide(
    connection: &Connection,
    id: &str,
    granted: bool,
    (by, at): (&str, Timestamp),
) -> Result<(), Refusal> {
    let known = connection
        .prepare_cached(&format!("SELECT {APPROVAL} FROM approvals WHERE id = ?1"))?
        .query_row([id], rows::approval)
        .optional()?
        .transpose()
        .map_err(Refusal::Broken)?;
    let open =
        known.is_some_and(|known| known.state == ApprovalState::Pending && known.in_time(at));
    if !open {
        return Err(StoreError::ApprovalGone.into());
    }
    let state = if granted {
        ApprovalState::Granted
    } else {
        ApprovalState::Denied
    };
    let decided = connection
        .prepare_cached(
            "UPDATE approvals SET state = ?2, decided_by = ?3, decided_at = ?4 WHERE id = ?1",
        )?
        .execute(params![id, state.as_str(), by, at.0])?;
    once(decided, StoreError::ApprovalGone)
}

/// Uses up the newest granted approval of a call that is in time.
pub(super) fn consume(
    connection: &Connection,
    digest: &Hash,
    call: &CallId,
    at: Timestamp,
) -> Result<(), Refusal> {
    let granted = of_digest(connection, digest, ApprovalState::Granted)?;
    let Some(approval) = granted.iter().find(|known| known.in_time(at)) else {
        return Err(StoreError::ApprovalGone.into());
    };
    let used = connection
        .prepare_cached(
            "UPDATE approvals SET state = ?2, consumed_by = ?3, consumed_at = ?4 WHERE id = ?1",
        )?
        .execute(params![
            approval.id,
            ApprovalState::Consumed.as_str(),
            call.as_str(),
            at.0
        ])?;
    once(used, StoreError::ApprovalGone)
}

/// Approvals of a call in one state, the newest first.
fn of_digest(
    connection: &Connection,
    digest: &Hash,
    state: ApprovalState,
) -> Result<Vec<Approval>, Refusal> {
    let found: Vec<_> = connection
        .prepare_cached(&format!(
            "SELECT {APPROVAL} FROM approvals INDEXED BY approvals_by_digest
             WHERE digest = ?1 AND state = ?2 ORDER BY number DESC"
        ))?
        .query_map(params![digest, state.as_str()], rows::approval)?
        .collect::<Result<_, _>>()?;
    found
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(Refusal::Broken)
}

/// Grants a scope, replacing what was granted before.
pub(super) fn grant(connection: &Connection, grant: &Grant) -> Result<(), Refusal> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO grants (principal, handle, scope, granted_by, at, expires)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            grant.session.principal.as_str(),
            grant.session.handle,
            text(&grant.scope, "grant")?,
            grant.by,
            grant.at.0,
            grant.expires.0,
        ])?;
    Ok(())
}

/// Takes a grant back.
pub(super) fn revoke(
    connection: &Connection,
    session: &SessionKey,
    scope: &GrantScope,
) -> Result<(), Refusal> {
    let gone = connection
        .prepare_cached("DELETE FROM grants WHERE principal = ?1 AND handle = ?2 AND scope = ?3")?
        .execute(params![
            session.principal.as_str(),
            session.handle,
            text(scope, "grant")?
        ])?;
    once(gone, StoreError::Missing)
}

/// Opens a review item; one of the same id is kept instead.
pub(super) fn open_review(connection: &Connection, item: &ReviewItem) -> Result<(), Refusal> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO reviews (id, status, item) VALUES (?1, ?2, ?3)")?
        .execute(params![
            item.item_id,
            item.status.as_str(),
            text(item, "review item")?
        ])?;
    Ok(())
}

/// Resolves an open review item.
pub(super) fn resolve_review(
    connection: &Connection,
    id: &str,
    (resolution, note): (&str, Option<&str>),
    (by, at): (&str, Timestamp),
) -> Result<(), Refusal> {
    let mut item = connection
        .prepare_cached("SELECT item FROM reviews WHERE id = ?1")?
        .query_row([id], rows::review)
        .optional()?
        .transpose()
        .map_err(Refusal::Broken)?
        .ok_or(StoreError::Missing)?;
    if item.status == ReviewStatus::Resolved {
        return Err(StoreError::Conflict.into());
    }
    item.status = ReviewStatus::Resolved;
    item.resolution = Some(resolution.to_owned());
    item.note = note.map(str::to_owned);
    item.resolved_by = Some(by.to_owned());
    item.resolved_at = Some(at);
    let resolved = connection
        .prepare_cached("UPDATE reviews SET status = ?2, item = ?3 WHERE id = ?1")?
        .execute(params![
            id,
            item.status.as_str(),
            text(&item, "review item")?
        ])?;
    once(resolved, StoreError::Missing)
}

/// Keeps a credential's digest.
pub(super) fn add_credential(
    connection: &Connection,
    credential: &Credential,
) -> Result<(), Refusal> {
    let added = connection
        .prepare_cached(
            "INSERT OR IGNORE INTO credentials
                 (id, digest, kind, label, scopes, created, expires, revoked)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            credential.id,
            credential.digest,
            credential.kind.as_str(),
            credential.label,
            credential.scopes.to_string(),
            credential.created.0,
            credential.expires.map(|at| at.0),
            credential.revoked.map(|at| at.0),
        ])?;
    once(added, StoreError::Conflict)
}

/// Ends a credential; the first end counts.
pub(super) fn revoke_credential(
    connection: &Connection,
    id: &str,
    at: Timestamp,
) -> Result<(), Refusal> {
    let revoked = connection
        .prepare_cached("UPDATE credentials SET revoked = coalesce(revoked, ?2) WHERE id = ?1")?
        .execute(params![id, at.0])?;
    once(revoked, StoreError::Missing)
}

/// Whether exactly one row changed; otherwise the batch is refused.
fn once(changed: usize, refusal: StoreError) -> Result<(), Refusal> {
    if changed == 1 {
        Ok(())
    } else {
        Err(refusal.into())
    }
}

fn text(value: &impl serde::Serialize, what: &'static str) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|_| Refusal::Refused(unreadable(what)))
}
