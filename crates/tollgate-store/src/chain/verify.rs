//! Checks the whole log against itself, its signatures and its anchor.
//!
//! Rows are read in pieces, each in a short transaction, so that a check of a
//! long log never keeps the write-ahead log from starting over. The anchor is
//! read first: the chain may grow past it meanwhile, never fall behind.

use std::{collections::HashMap, path::Path};

use ed25519_dalek::VerifyingKey;
use rusqlite::{Connection, OptionalExtension as _, Row};
use tollgate_core::{
    audit::{Accepted, AuditRow, Hash, SignedHead, Verification},
    canonical::hex,
    store::StoreError,
};

use super::{Anchor, Seal, anchored_hash, key};
use crate::{
    error::store_error,
    sqlite::{
        EPOCH_OPENED, index, must_be_anchored, read_noted,
        rows::{self, AUDIT},
    },
};

/// Rows in one piece.
const PIECE: i64 = 2048;
/// Problems that are worth listing.
const LISTED: usize = 100;

/// Checks every row, every signature and the anchor.
pub(crate) fn verify(
    connection: &mut Connection,
    chain: &str,
    anchor: &Anchor,
    state_dir: &Path,
) -> Result<Verification, StoreError> {
    let key = match key::public(state_dir) {
        Ok(key) => key,
        Err(error) => return Err(StoreError::Failed(Box::new(error))),
    };
    let mut check = Check {
        chain,
        key,
        cursor: i64::MIN,
        last: 0,
        hash: [0; 32],
        places: HashMap::new(),
        anchor: None,
        found: Verification::default(),
    };
    check.read_anchor(anchor);
    while check.piece(connection)? {}
    // A state of an earlier release does not say whether it has one.
    if check.found.anchored.is_none()
        && anchor.read().is_ok_and(|noted| noted.is_none())
        && must_be_anchored(connection, chain).unwrap_or(false)
    {
        check.problem("anchor: it is gone".to_owned());
    }
    check.finish();
    Ok(check.found)
}

struct Check<'a> {
    chain: &'a str,
    key: Option<VerifyingKey>,
    /// The key of the last row that was looked at.
    cursor: i64,
    /// The same as a place, 0 before the first.
    last: u64,
    /// The hash there.
    hash: Hash,
    /// The hashes of the current piece.
    places: HashMap<u64, Hash>,
    anchor: Option<SignedHead>,
    found: Verification,
}

impl Check<'_> {
    fn read_anchor(&mut self, anchor: &Anchor) {
        match anchor.read() {
            Ok(None) => {}
            Ok(Some(head)) => {
                self.found.anchored = Some(head.seq);
                let signed = self.key.is_some_and(|key| key::vouches(&key, &head));
                if !signed || head.chain != self.chain {
                    self.problem(format!("anchor at {}: its signature is not ours", head.seq));
                }
                self.anchor = Some(head);
            }
            Err(problem) => self.problem(problem),
        }
    }

    /// Checks the next piece; says whether there may be more.
    fn piece(&mut self, connection: &mut Connection) -> Result<bool, StoreError> {
        let piece = connection.transaction().map_err(store_error)?;
        let from = self.cursor;
        self.places.clear();
        let whole = self.rows(&piece, from).map_err(store_error)? == PIECE;
        let until = if whole { self.cursor } else { i64::MAX };
        self.signed_heads(&piece, (from, until))
            .map_err(store_error)?;
        self.findable(&piece, from).map_err(store_error)?;
        if !whole {
            self.check_first_anchor(&piece).map_err(store_error)?;
            self.end(&piece);
        }
        Ok(whole)
    }

    fn rows(&mut self, piece: &Connection, from: i64) -> rusqlite::Result<i64> {
        let mut statement = piece.prepare_cached(&format!(
            "SELECT {AUDIT} FROM audit_entries WHERE seq > ?1 ORDER BY seq LIMIT ?2"
        ))?;
        let mut rows = statement.query([from, PIECE])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            self.cursor = row.get(0)?;
            self.row(row);
            self.places.insert(self.last, self.hash);
        }
        Ok(count)
    }

    fn signed_heads(
        &mut self,
        piece: &Connection,
        (from, until): (i64, i64),
    ) -> rusqlite::Result<()> {
        let mut statement = piece.prepare_cached(
            "SELECT seq, chain, hash, key, signature FROM audit_signed_heads
             WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
        )?;
        let mut rows = statement.query([from, until])?;
        while let Some(row) = rows.next()? {
            self.found.signed_heads += 1;
            let seq = row.get::<_, i64>(0)?.cast_unsigned();
            match read_seal(row, seq) {
                Ok((chain, seal)) => self.signed_head(&chain, &seal),
                Err(error) => self.problem(format!("signed head {seq}: unreadable: {error}")),
            }
        }
        Ok(())
    }

    /// Checks that what is indexed can be found.
    fn findable(&mut self, piece: &Connection, from: i64) -> rusqlite::Result<()> {
        let indexed = match read_noted(piece, self.chain) {
            Ok(Some(head)) => head.indexed.cast_signed(),
            // The end of the check says what is wrong with the head.
            Ok(None) | Err(_) => return Ok(()),
        };
        let range = (from.saturating_add(1), self.cursor.min(indexed));
        for (seq, column) in index::lost(piece, range)? {
            self.problem(format!("row {seq}: it cannot be found by its {column}"));
        }
        Ok(())
    }

    fn row(&mut self, row: &Row<'_>) {
        self.found.rows += 1;
        let expected = self.last.wrapping_add(1);
        let seq = self.cursor.cast_unsigned();
        if seq != expected {
            self.problem(format!("row {expected}: missing, the next row is {seq}"));
        }
        self.last = seq;
        match rows::audit_row(row) {
            Ok(row) => {
                if row.chain != self.chain {
                    self.problem(format!("row {seq}: it belongs to another chain"));
                }
                if !row.follows(&self.hash) {
                    self.problem(format!(
                        "row {seq}: its content, its columns or its place were changed"
                    ));
                }
                self.note_epoch(&row);
                self.hash = row.hash;
            }
            Err(error) => self.problem(format!("row {seq}: it cannot be read: {error}")),
        }
        self.check_anchor_here();
    }

    /// Keeps what an operator accepted; it stays to be seen for good.
    fn note_epoch(&mut self, row: &AuditRow) {
        if row.columns.kind != EPOCH_OPENED {
            return;
        }
        match serde_json::from_str::<Accepted>(&row.body) {
            Ok(accepted) => self.found.accepted.push(Accepted {
                seq: row.seq,
                ..accepted
            }),
            Err(error) => self.problem(format!(
                "row {}: its epoch cannot be read: {error}",
                row.seq
            )),
        }
    }

    fn check_anchor_here(&mut self) {
        if let Some(anchor) = &self.anchor
            && anchor.seq == self.last
            && anchor.hash != hex(&self.hash)
        {
            self.problem(format!("row {}: the anchor says another hash", self.last));
        }
    }

    /// An anchor from before the first entry holds what stands for the empty chain.
    fn check_first_anchor(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if let Some(anchor) = &self.anchor
            && anchor.seq == 0
            && anchored_hash(connection, 0)?.is_none_or(|hash| hex(&hash) != anchor.hash)
        {
            self.problem("anchor at 0: it is of another chain".to_owned());
        }
        Ok(())
    }

    fn signed_head(&mut self, chain: &str, seal: &Seal) {
        let seq = seal.seq;
        let head = seal.signed_head(chain);
        if !self.key.is_some_and(|key| key::vouches(&key, &head)) {
            self.problem(format!("signed head {seq}: its signature is not ours"));
        }
        if self.places.get(&seq) != Some(&seal.hash) || chain != self.chain {
            self.problem(format!("signed head {seq}: no such row is in the chain"));
        }
    }

    /// Checks that the chain reaches at least to where its head says, and is the same there.
    fn end(&mut self, connection: &Connection) {
        match read_noted(connection, self.chain) {
            Ok(Some(head)) if head.seq > self.last => self.problem(format!(
                "head: it says the chain reaches {}, the rows end at {}",
                head.seq, self.last
            )),
            Ok(Some(head)) => match hash_at(connection, head.seq) {
                Ok(Some(hash)) if hash == head.hash => {}
                Ok(_) => self.problem(format!("head: row {} has another hash", head.seq)),
                Err(error) => self.problem(format!("head: its row cannot be read: {error}")),
            },
            Ok(None) => self.problem("head: it is gone".to_owned()),
            Err(error) => self.problem(format!("head: it cannot be read: {error}")),
        }
    }

    fn finish(&mut self) {
        if let Some(seq) = self.found.anchored
            && seq > self.last
        {
            self.problem(format!(
                "anchor at {seq}: the chain ends before it, at {}",
                self.last
            ));
        }
        self.found.head = hex(&self.hash);
    }

    fn problem(&mut self, problem: String) {
        if self.found.problems.len() < LISTED {
            self.found.problems.push(problem);
        }
    }
}

/// The hash of a row; before the first one there is nothing to hash.
fn hash_at(connection: &Connection, seq: u64) -> rusqlite::Result<Option<Hash>> {
    if seq == 0 {
        return Ok(Some([0; 32]));
    }
    connection
        .prepare_cached("SELECT hash FROM audit_entries WHERE seq = ?1")?
        .query_row([seq.cast_signed()], |row| row.get(0))
        .optional()
}

fn read_seal(row: &Row<'_>, seq: u64) -> rusqlite::Result<(String, Seal)> {
    let seal = Seal {
        seq,
        hash: row.get(2)?,
        key: row.get(3)?,
        signature: row.get(4)?,
    };
    Ok((row.get(1)?, seal))
}
