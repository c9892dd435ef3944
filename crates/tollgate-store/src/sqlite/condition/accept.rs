//! Accepts a state that is not the one that was acknowledged, on an operator's word.
//!
//! Invariant: it is never done in silence. The chain goes on in a new epoch, whose first entry says
//! what was wrong, where the chain ended, what the anchor said and who accepted it; that entry is
//! signed, synced and anchored like any other, and stays.

use std::{fs::File, path::Path, sync::Arc};

use rusqlite::{Connection, params};
use serde_json::json;
use tollgate_core::{
    Timestamp,
    audit::AuditEntry,
    canonical::hex,
    store::{Batch, StateProblem, StoreError},
};

use super::guard::protect;
use crate::{
    chain::{Anchor, Keyring, Prepared, Seal, anchored_hash},
    error::{io_error, store_error},
    sqlite::{
        apply::{Group, Refusal, read_head},
        open,
    },
};

/// The kind of the first entry of an epoch.
pub(crate) const EPOCH_OPENED: &str = "epoch_opened";

/// Who accepts a log of an earlier release that has no anchor.
const FIRST_START: &str = "the first start with a release that wants an anchor";

/// Where a state is, as [`open_epoch`] needs it.
pub(crate) struct Place<'a> {
    pub(crate) state_dir: &'a Path,
    pub(crate) anchor: &'a Anchor,
    pub(crate) chain: &'a Arc<str>,
}

/// Opens an epoch; the caller holds the lock.
pub(crate) fn open_epoch(
    connection: &Connection,
    keyring: &Keyring,
    place: &Place<'_>,
    problems: &[StateProblem],
    (by, now): (&str, Timestamp),
) -> Result<(), StoreError> {
    protect(place.state_dir).map_err(io_error)?;
    let mut group = Group::begin(connection, (place.state_dir, place.chain), now)?;
    let epoch = next_epoch(connection, place.chain).map_err(store_error)?;
    let head = group.head();
    let reasons: Vec<&str> = problems.iter().map(StateProblem::as_str).collect();
    let body = json!({
        "v": 1,
        "kind": EPOCH_OPENED,
        "at": now.0,
        "epoch": epoch,
        "reasons": reasons,
        "problems": problems,
        "continues": {"seq": head.seq, "hash": hex(&head.hash)},
        "anchor": place.anchor.text(),
        "by": by,
    });
    let batch = Batch {
        audit: vec![AuditEntry::new(body.to_string())],
        ..Batch::default()
    };
    group.apply(&batch).map_err(|refusal| match refusal {
        Refusal::Refused(error) | Refusal::Broken(error) => error,
    })?;
    let head = group.head();
    let seal = keyring.seal(place.chain, head.seq, head.hash);
    group.seal(&seal)?;
    group.commit()?;
    sync_log(place.state_dir).map_err(io_error)?;
    let prepared = prepare(place, &seal).map_err(io_error)?;
    place.anchor.replace(&prepared).map_err(io_error)?;
    expect_anchor(connection, place.chain)
}

/// Gives a chain without an anchor its first one, for whatever it has so far; the caller holds the
/// lock. Without a place to put it there is none, and none is expected.
pub(crate) fn anchor_first(
    connection: &Connection,
    keyring: &Keyring,
    place: &Place<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    if matches!(place.anchor.read(), Ok(None)) {
        let Some(head) = read_head(connection, place.chain).map_err(store_error)? else {
            return Ok(());
        };
        identify(connection, place.chain)?;
        // The anchor is on the disk before its chain is; without the id they would contradict
        // each other after a power failure.
        sync_log(place.state_dir).map_err(io_error)?;
        let hash = anchored_hash(connection, head.seq).map_err(store_error)?;
        let seal = keyring.seal(place.chain, head.seq, hash.unwrap_or(head.hash));
        let Ok(prepared) = prepare(place, &seal) else {
            return Ok(());
        };
        if head.seq > 0 {
            // Entries without an anchor: nobody knows what was cut off, so it is written down.
            let lost = [StateProblem::AnchorLost];
            return open_epoch(connection, keyring, place, &lost, (FIRST_START, now));
        }
        place.anchor.replace(&prepared).map_err(io_error)?;
    }
    expect_anchor(connection, place.chain)
}

fn sync_log(state_dir: &Path) -> std::io::Result<()> {
    File::open(state_dir.join(open::LOG))?.sync_data()
}

fn prepare(place: &Place<'_>, seal: &Seal) -> std::io::Result<Prepared> {
    let name = format!("first-{}", std::process::id());
    place.anchor.prepare(seal.signed_head(place.chain), &name)
}

/// Gives the chain the random id it is known by, unless it has one.
fn identify(connection: &Connection, chain: &str) -> Result<(), StoreError> {
    let mut id = [0_u8; 16];
    getrandom::fill(&mut id).map_err(|error| StoreError::Failed(error.to_string().into()))?;
    connection
        .execute(
            "UPDATE audit_head SET chain_id = coalesce(chain_id, ?2) WHERE chain = ?1",
            params![chain, id],
        )
        .map_err(store_error)?;
    Ok(())
}

/// From now on the anchor must be there.
fn expect_anchor(connection: &Connection, chain: &str) -> Result<(), StoreError> {
    identify(connection, chain)?;
    connection
        .execute(
            "UPDATE audit_head SET is_anchored = 1 WHERE chain = ?1",
            [chain],
        )
        .map_err(store_error)?;
    Ok(())
}

fn next_epoch(connection: &Connection, chain: &str) -> rusqlite::Result<u64> {
    connection.query_row(
        "UPDATE audit_head SET epoch = epoch + 1 WHERE chain = ?1 RETURNING epoch",
        [chain],
        |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()),
    )
}
