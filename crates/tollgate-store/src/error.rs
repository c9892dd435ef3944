//! How failures of SQLite and of the disk become ours.

use std::io;

use rusqlite::ErrorCode as Sqlite;
use tollgate_core::{ErrorCode, StoreError, store::LockHolder};

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The name of the chain would not make a file name.
    #[error("`{0}` is no chain name: use lower-case letters, digits and dashes")]
    ChainName(String),
    /// The state belongs to another chain.
    #[error("the state belongs to the chain `{0}`")]
    OtherChain(String),
    /// There is no state and it must not be created.
    #[error("there is no state yet")]
    Absent,
    /// The directory cannot be made or written.
    #[error("the state directory cannot be used: {0}")]
    Directory(#[source] io::Error),
    /// The state cannot be written.
    #[error("the state is read-only")]
    ReadOnly,
    /// Another process holds the lock for too long.
    #[error("another process holds the state for too long")]
    Busy,
    /// Another process keeps the lock.
    #[error("{0}")]
    Held(LockHolder),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The file is not a database or is damaged.
    #[error("the state is damaged: {0}")]
    Corrupt(String),
    /// A later release wrote it.
    #[error("the state has version {found}, this release knows versions up to {known}")]
    TooNew {
        /// What the file says.
        found: u32,
        /// What this release knows.
        known: u32,
    },
    /// The signing key is there but cannot be used.
    #[error("the signing key cannot be used: {0}")]
    Key(String),
    /// Anything else.
    #[error("the store failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl OpenError {
    /// The stable code a caller sees.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Held(holder) if holder.is_stopped => ErrorCode::StoreHeld,
            Self::Busy | Self::Held(_) => ErrorCode::Overloaded,
            Self::Corrupt(_) => ErrorCode::StoreCorrupt,
            Self::ChainName(_)
            | Self::OtherChain(_)
            | Self::Absent
            | Self::Directory(_)
            | Self::ReadOnly
            | Self::Full
            | Self::TooNew { .. }
            | Self::Key(_)
            | Self::Failed(_) => ErrorCode::StoreUnavailable,
        }
    }
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        store_error(error).into()
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::Busy,
            StoreError::Held(holder) => Self::Held(holder),
            StoreError::Full => Self::Full,
            StoreError::ReadOnly => Self::ReadOnly,
            StoreError::Corrupt(what) => Self::Corrupt(what),
            StoreError::Failed(source) => Self::Failed(source),
            other @ (StoreError::Budget { .. }
            | StoreError::ApprovalGone
            | StoreError::ApprovalsFull
            | StoreError::AlreadyEnded
            | StoreError::Conflict
            | StoreError::Unsynced
            | StoreError::NotAcknowledged(_)
            | StoreError::Missing) => Self::Failed(Box::new(other)),
        }
    }
}

/// What a failure of SQLite means to a caller.
pub(crate) fn store_error(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(Sqlite::DiskFull) => StoreError::Full,
        Some(Sqlite::ReadOnly | Sqlite::PermissionDenied) => StoreError::ReadOnly,
        Some(Sqlite::DatabaseCorrupt | Sqlite::NotADatabase) => {
            StoreError::Corrupt(error.to_string())
        }
        Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked | Sqlite::FileLockingProtocolFailed) => {
            StoreError::Busy
        }
        _ => StoreError::Failed(Box::new(error)),
    }
}

/// What a failure of the file system means to a caller.
pub(crate) fn io_error(error: io::Error) -> StoreError {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let kind = error.kind();
    if matches!(kind, StorageFull | QuotaExceeded) {
        StoreError::Full
    } else if matches!(kind, ReadOnlyFilesystem | PermissionDenied) {
        StoreError::ReadOnly
    } else {
        StoreError::Failed(Box::new(error))
    }
}

/// A row that says something no writer of ours would.
pub(crate) fn unreadable(what: &'static str) -> StoreError {
    StoreError::Corrupt(format!("a stored {what} cannot be read"))
}
