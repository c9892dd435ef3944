//! The last synced head, noted outside the database.
//!
//! Invariant: the anchor only moves forward. Whoever shortens the chain, even to
//! a state that once was whole, is found out by it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tollgate_core::audit::SignedHead;

/// The file in which the head is noted.
#[derive(Debug, Clone)]
pub(crate) struct Anchor {
    directory: PathBuf,
    chain: String,
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
    pub(crate) fn prepare(&self, head: &SignedHead, name: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.directory)?;
        let path = self.directory.join(format!("{}.{name}.tmp", self.chain));
        let mut text = serde_json::to_vec(head)?;
        text.push(b'\n');
        let mut file = File::create(&path)?;
        file.write_all(&text)?;
        file.sync_all()?;
        Ok(path)
    }

    /// Puts a prepared note in place unless a later one is there; the caller holds the lock.
    ///
    /// A note that cannot be read is left alone: it is evidence.
    pub(crate) fn advance(&self, head: &SignedHead, prepared: &Path) -> io::Result<()> {
        let may_advance = match self.read() {
            Ok(Some(noted)) => noted.seq < head.seq,
            Ok(None) => true,
            Err(_) => false,
        };
        if may_advance {
            fs::rename(prepared, self.path())
        } else {
            fs::remove_file(prepared)
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(format!("{}.json", self.chain))
    }
}
