//! One state directory, and everything a test does to it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tollgate_core::{
    Clock, Principal, SessionKey, SystemClock, Timestamp,
    audit::{AuditEntry, Verification},
    store::{AuditLog as _, Batch, Change, Durability, Store as _},
};
use tollgate_store::{OpenError, Settings, SqliteStore};

/// A directory of its own, gone afterwards.
pub(crate) struct World {
    directory: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn settings(&self) -> Settings {
        settings(self.directory.path())
    }

    pub(crate) fn open(&self) -> SqliteStore {
        self.try_open(self.settings()).unwrap()
    }

    pub(crate) fn try_open(&self, settings: Settings) -> Result<SqliteStore, OpenError> {
        SqliteStore::open(settings, Arc::new(SystemClock))
    }

    pub(crate) fn open_with_clock(&self, clock: Arc<dyn Clock>) -> SqliteStore {
        SqliteStore::open(self.settings(), clock).unwrap()
    }

    /// Goes around the store, as an attacker or a repair tool would.
    pub(crate) fn sql(&self) -> Connection {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test looks behind the store's back"
        )]
        Connection::open(self.path("state/tollgate.db")).unwrap()
    }

    pub(crate) fn count(&self, table: &str) -> u64 {
        let sql = format!("SELECT count(*) FROM {table}");
        let count: i64 = self.sql().query_row(&sql, [], |row| row.get(0)).unwrap();
        count.unsigned_abs()
    }
}

/// The state and the anchor under one directory.
pub(crate) fn settings(directory: &Path) -> Settings {
    Settings {
        anchor_dir: directory.join("anchor"),
        ..Settings::new(directory.join("state"))
    }
}

pub(crate) fn entry(number: u64) -> AuditEntry {
    let body = json!({
        "at": 1_795_000_000_000_u64 + number,
        "kind": "ending",
        "call_id": format!("call-{number}"),
        "trace_id": format!("trace-{number}"),
        "principal": "user:1000",
        "session": "default",
        "tool": "text.stats",
        "status": "ok",
        "note": "é",
    });
    AuditEntry::new(body.to_string())
}

/// A batch with entries only.
pub(crate) fn entries(numbers: impl IntoIterator<Item = u64>, durability: Durability) -> Batch {
    Batch {
        changes: Vec::new(),
        audit: numbers.into_iter().map(entry).collect(),
        durability,
    }
}

pub(crate) fn change(change: Change) -> Batch {
    Batch {
        changes: vec![change],
        ..Batch::default()
    }
}

pub(crate) fn session() -> SessionKey {
    SessionKey::new(Principal::user(1000), "shared")
}

/// An answer to keep, of so many bytes.
pub(crate) fn remember(name: &str, bytes: usize, until: Option<Timestamp>) -> Change {
    Change::Remember {
        key: tollgate_core::store::CacheKey {
            session: session(),
            key: name.to_owned(),
            binding: "v1".to_owned(),
        },
        answer: vec![b'x'; bytes],
        until,
        at: Timestamp(0),
    }
}

/// Writes `rows` rows one by one, the last one to the disk.
pub(crate) async fn write_rows(store: &SqliteStore, rows: u64) {
    for number in 1..rows {
        let batch = entries([number], Durability::Process);
        store.commit(batch).await.unwrap();
    }
    let batch = entries([rows], Durability::Disk);
    store.commit(batch).await.unwrap();
}

pub(crate) async fn verify(world: &World) -> Verification {
    let store = SqliteStore::open_read_only(world.settings()).unwrap();
    store.verify().await.unwrap()
}
