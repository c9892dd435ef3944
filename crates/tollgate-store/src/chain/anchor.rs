//! The last synced head, noted outside the database.
//!
//! Invariant: the anchor only moves forward along the chain it vouches for. Whoever shortens the chain, even to
//! a state that once was whole, is found out by it.
//!
//! It has a lock of its own: putting a file in the place of another may wait for the disk, and those who write
//! to the chain must not wait with it.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OptionalExtension as _};
use sha2::{Digest as _, Sha256};
use tollgate_core::{
    audit::{Hash, SignedHead},
    canonical::hex,
};

/// The lock of whoever puts a note in its place.
pub(crate) const ANCHOR_LOCK: &str = "anchor.lock";

/// The file in which the head is noted.
#[derive(Debug, Clone)]
pub(crate) struct Anchor {
    directory: PathBuf,
    /// What only one process at a time holds, beside the database.
    turn: PathBuf,
    chain: String,
}

/// A note that is on the disk, but not yet in its place.
#[derive(Debug)]
pub(crate) struct Prepared {
    head: SignedHead,
    path: PathBuf,
}

impl Prepared {
    /// The place it notes.
    pub(crate) fn seq(&self) -> u64 {
        self.head.seq
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Once it is in its place there is nothing left here.
        let _ = fs::remove_file(&self.path);
    }
}

impl Anchor {
    /// The anchor of a chain in the database of `state_dir`.
    pub(crate) fn new(directory: &Path, state_dir: &Path, chain: &str) -> Self {
        Self {
            directory: directory.to_owned(),
            turn: state_dir.join(ANCHOR_LOCK),
            chain: chain.to_owned(),
        }
    }

    /// What is noted; `Err` says what is wrong with it.
    pub(crate) fn read(&self) -> Result<Option<SignedHead>, String> {
        match fs::read(self.path()) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| format!("the anchor is malformed: {error}")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("the anchor cannot be read: {error}")),
        }
    }

    /// The note as it lies there, as evidence; nothing if there is none.
    pub(crate) fn text(&self) -> Option<String> {
        let bytes = fs::read(self.path()).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.chars().take(4096).collect())
    }

    /// Puts a prepared note in place of whatever is there; only for the first one, and for an operator.
    pub(crate) fn replace(&self, prepared: &Prepared) -> io::Result<()> {
        fs::rename(&prepared.path, self.path())?;
        // Once a state says that it must be there, no power failure may take it away.
        #[cfg(unix)]
        File::open(&self.directory)?.sync_all()?;
        Ok(())
    }

    /// Writes the next note beside the current one; `name` keeps writers apart.
    pub(crate) fn prepare(&self, head: SignedHead, name: &str) -> io::Result<Prepared> {
        fs::create_dir_all(&self.directory)?;
        let path = self
            .directory
            .join(format!("{}.{name}.{}.tmp", self.chain, head.seq));
        let mut text = serde_json::to_vec(&head)?;
        text.push(b'\n');
        let mut file = File::create(&path)?;
        let prepared = Prepared { head, path };
        file.write_all(&text)?;
        file.sync_data()?;
        Ok(prepared)
    }

    /// Puts a prepared note in place of one that the chain extends. `false` if another process is about to.
    ///
    /// A note that cannot be read, or that the chain in `database` does not contain, is left
    /// alone: it is evidence. So is its absence.
    pub(crate) fn advance(&self, prepared: &Prepared, database: &Connection) -> io::Result<bool> {
        let turn = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.turn)?;
        match turn.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let may_advance = match self.read() {
            Ok(Some(noted)) => noted.seq < prepared.head.seq && contains(database, &noted),
            Ok(None) | Err(_) => false,
        };
        if may_advance {
            fs::rename(&prepared.path, self.path())?;
        }
        Ok(true)
    }

    fn path(&self) -> PathBuf {
        self.directory.join(format!("{}.json", self.chain))
    }
}

fn contains(database: &Connection, head: &SignedHead) -> bool {
    anchored_hash(database, head.seq).is_ok_and(|hash| hash.is_some_and(|it| hex(&it) == head.hash))
}

/// The hash that an anchor at `seq` holds.
///
/// Before the first entry there is nothing to hash, so the anchor holds the digest of the chain's
/// random id: a new database in the place of one that was never anchored further differs in it.
pub(crate) fn anchored_hash(connection: &Connection, seq: u64) -> rusqlite::Result<Option<Hash>> {
    if seq == 0 {
        let id: Option<Vec<u8>> = connection
            .prepare_cached("SELECT chain_id FROM audit_head")?
            .query_row([], |row| row.get(0))?;
        return Ok(Some(id.map_or([0; 32], |id| empty_chain(&id))));
    }
    connection
        .prepare_cached("SELECT hash FROM audit_entries WHERE seq = ?1")?
        .query_row([seq.cast_signed()], |row| row.get(0))
        .optional()
}

/// What stands for the hash of a chain without entries.
fn empty_chain(id: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(b"tollgate/empty-chain/1");
    hasher.update(id);
    hasher.finalize().into()
}
