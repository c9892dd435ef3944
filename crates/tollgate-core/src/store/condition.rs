//! What can be wrong with the state as a whole, and who may keep others from it.

use std::fmt;

use serde::Serialize;

/// The process that holds the lock which every commit needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockHolder {
    /// Its id, where the system tells it.
    pub pid: Option<u32>,
    /// Whether a signal or a debugger has stopped it.
    pub is_stopped: bool,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => f.write_str("another process")?,
        }
        if self.is_stopped {
            f.write_str(", which is stopped,")?;
        }
        f.write_str(" holds the lock of the state")
    }
}

/// Why the state is not the one that was acknowledged, or may not stay it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum StateProblem {
    /// The chain ends before the place that the anchor notes.
    RolledBack {
        /// Where it ends.
        head: u64,
        /// What the anchor notes.
        anchor: u64,
    },
    /// The chain reaches the place that the anchor notes, with other content.
    Diverged {
        /// What the anchor notes.
        anchor: u64,
    },
    /// The anchor is gone.
    AnchorLost,
    /// The anchor cannot be read, or is not signed with our key.
    AnchorUnusable {
        /// Why.
        why: String,
    },
    /// The database has been deleted while it was open.
    Deleted,
    /// Another file is in the place of the database that is open.
    Replaced,
    /// The database has become shorter while it was open.
    Truncated,
    /// The write-ahead log was deleted, emptied or damaged while it was open.
    LogDamaged,
    /// A later release has changed the database meanwhile.
    NewerSchema {
        /// What the file says.
        found: u32,
        /// What this release knows.
        known: u32,
    },
    /// Others than the owner may read a key.
    KeyExposed {
        /// The name of its file.
        file: &'static str,
    },
    /// Others than the owner may write the folder of the state or its database, and so replace
    /// keys and record.
    Writable {
        /// The name of the file; `.` is the folder itself.
        file: &'static str,
    },
}

impl StateProblem {
    /// The stable word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::RolledBack { .. } => "rolled_back",
            Self::Diverged { .. } => "diverged",
            Self::AnchorLost => "anchor_lost",
            Self::AnchorUnusable { .. } => "anchor_unusable",
            Self::Deleted => "deleted",
            Self::Replaced => "replaced",
            Self::Truncated => "truncated",
            Self::LogDamaged => "log_damaged",
            Self::NewerSchema { .. } => "newer_schema",
            Self::KeyExposed { .. } => "key_exposed",
            Self::Writable { .. } => "writable",
        }
    }

    /// Whether nothing can be acknowledged at all, not even a read.
    pub const fn stops_everything(&self) -> bool {
        match self {
            Self::Deleted
            | Self::Replaced
            | Self::Truncated
            | Self::LogDamaged
            | Self::NewerSchema { .. } => true,
            Self::RolledBack { .. }
            | Self::Diverged { .. }
            | Self::AnchorLost
            | Self::AnchorUnusable { .. }
            | Self::KeyExposed { .. }
            | Self::Writable { .. } => false,
        }
    }
}

impl fmt::Display for StateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.as_str())?;
        match self {
            Self::RolledBack { head, anchor } => write!(
                f,
                "the audit log ends at {head}, but {anchor} entries were acknowledged"
            ),
            Self::Diverged { anchor } => write!(
                f,
                "entry {anchor} of the audit log is not the one that was acknowledged"
            ),
            Self::AnchorLost => f.write_str("the anchor of the audit log is gone"),
            Self::AnchorUnusable { why } => write!(f, "the anchor cannot be used: {why}"),
            Self::Deleted => f.write_str("the database was deleted while it was open"),
            Self::Replaced => f.write_str("the database was replaced while it was open"),
            Self::Truncated => f.write_str("the database was truncated while it was open"),
            Self::LogDamaged => {
                f.write_str("the write-ahead log was deleted or damaged while it was open")
            }
            Self::NewerSchema { found, known } => write!(
                f,
                "a later release has changed the database to version {found}, this one knows {known}"
            ),
            Self::KeyExposed { file } => write!(
                f,
                "`{file}` can be read or written by others than its owner"
            ),
            Self::Writable { file: "." } => {
                f.write_str("the folder of the state can be written by others than its owner")
            }
            Self::Writable { file } => {
                write!(f, "`{file}` can be written by others than its owner")
            }
        }
    }
}
