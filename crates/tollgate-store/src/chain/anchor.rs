//! The last synced head, noted outside the database.
//!
//! Invariant: the anchor only moves forward along the chain it vouches for. Whoever shortens the chain, even to
//! a state that once was whole, is found out by it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use tollgate_core::{
    audit::{Hash, SignedHead},
    canonical::hex,
};

/// The file in which the head is noted.
#[derive(Debug, Clone)]
pub(crate) struct Anchor {
    directory: PathBuf,
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
    /// The anchor of a chain.
    pub(crate) fn new(directory: &Path, chain: &str) -> Self {
        Self {
            directory: directory.to_owned(),
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

    /// Puts a prepared note in place of one that the chain extends; the caller holds the lock.
    ///
    /// A note that cannot be read, or that the chain in `database` does not
    /// contain, is left alone: it is evidence.
    pub(crate) fn advance(&self, prepared: &Prepared, database: &Connection) -> io::Result<()> {
        let may_advance = match self.read() {
            Ok(Some(noted)) => noted.seq < prepared.head.seq && contains(database, &noted),
            Ok(None) => true,
            Err(_) => false,
        };
        if may_advance {
            fs::rename(&prepared.path, self.path())?;
        }
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.directory.join(format!("{}.json", self.chain))
    }
}

fn contains(database: &Connection, head: &SignedHead) -> bool {
    database
        .prepare_cached("SELECT hash FROM audit_entries WHERE seq = ?1")
        .and_then(|mut statement| {
            statement.query_row([head.seq.cast_signed()], |row| row.get::<_, Hash>(0))
        })
        .is_ok_and(|hash| hex(&hash) == head.hash)
}
