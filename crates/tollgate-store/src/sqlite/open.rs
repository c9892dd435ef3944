//! The one place where SQLite is opened, with everything that is set on the way.
//!
//! Commits are `synchronous=NORMAL`: in the log, not yet on the disk. Whoever
//! needs more syncs the log file afterwards, outside the lock, so that a slow
//! disk holds up nobody who does not wait for it.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::settings::Limits;

/// The database file in the state directory.
pub(crate) const DATABASE: &str = "tollgate.db";
/// Its write-ahead log, the only part that ordinary file calls may open.
pub(crate) const LOG: &str = "tollgate.db-wal";
/// The index of that log, which the processes share.
pub(crate) const INDEX: &str = "tollgate.db-shm";

const FLAGS: OpenFlags =
    OpenFlags::SQLITE_OPEN_NO_MUTEX.union(OpenFlags::SQLITE_OPEN_PRIVATE_CACHE);

/// Opens the connection that creates, migrates and writes.
pub(crate) fn writer(directory: &Path, limits: &Limits) -> rusqlite::Result<Connection> {
    let flags = FLAGS | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = open(directory, flags, limits.busy)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    // Most of what is written is not read again: more room would fill with it and gain nothing.
    connection.pragma_update(None, "cache_size", -1024)?;
    if let Some(pages) = limits.pages {
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(connection)
}

/// Turns the write-ahead log on; only under the lock, a simultaneous first time fails.
pub(crate) fn use_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))
}

/// Counts the frames of the log into `frames` after every commit.
pub(crate) fn count_frames(
    connection: &mut Connection,
    frames: Arc<AtomicU32>,
) -> rusqlite::Result<()> {
    connection.wal_hook(Some(move |_: &mut _, pages: i32| {
        frames.store(pages.unsigned_abs(), Ordering::Relaxed);
        Ok(())
    }))
}

/// Moves frames of the log into the database, without waiting for anyone; says
/// how many there are, and how many are in the database.
pub(crate) fn checkpoint(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok((row.get(1)?, row.get(2)?))
    })
}

/// Opens a connection that only reads.
pub(crate) fn reader(directory: &Path, busy: Duration) -> rusqlite::Result<Connection> {
    let connection = open(directory, FLAGS | OpenFlags::SQLITE_OPEN_READ_ONLY, busy)?;
    connection.pragma_update(None, "cache_size", -2048)?;
    Ok(connection)
}

/// Opens a file nobody writes, where not even a lock can be taken.
pub(crate) fn frozen_reader(directory: &Path) -> rusqlite::Result<Connection> {
    let path = directory.join(DATABASE);
    let escaped = path
        .to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    let flags = FLAGS | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the module that opens SQLite"
    )]
    Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
}

fn open(directory: &Path, flags: OpenFlags, busy: Duration) -> rusqlite::Result<Connection> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the module that opens SQLite"
    )]
    let connection = Connection::open_with_flags(directory.join(DATABASE), flags)?;
    connection.busy_timeout(busy)?;
    connection.set_prepared_statement_cache_capacity(128);
    // The last process to leave does not pay for moving the log: the keeper does
    // that while it runs, and a short command stays short.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}
