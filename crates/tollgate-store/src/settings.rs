//! What a store is told when it is opened.

use std::{path::PathBuf, time::Duration};

/// Where the state is and how much of it is kept.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory of the database, the locks and the signing key.
    pub state_dir: PathBuf,
    /// Where the last synced head is also noted; best outside `state_dir`.
    pub anchor_dir: PathBuf,
    /// The name of the audit chain: lower-case letters, digits and dashes.
    pub chain: String,
    /// How long a commit of [`tollgate_core::store::Durability::Process`] may be unsynced.
    pub sync_interval: Duration,
    /// What bounds waiting and growing.
    pub limits: Limits,
    /// What is forgotten.
    pub retention: Retention,
}

impl Settings {
    /// The defaults, with the anchor beside the state.
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        let state_dir = state_dir.into();
        Self {
            anchor_dir: state_dir.join("anchor"),
            state_dir,
            chain: "main".to_owned(),
            sync_interval: Duration::from_millis(50),
            limits: Limits::default(),
            retention: Retention::default(),
        }
    }
}

/// What bounds waiting and growing.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Commits that may wait in this process; one more is refused as busy.
    pub queue: usize,
    /// Commits that share one transaction.
    pub group: usize,
    /// How long a commit may wait for other processes.
    pub busy: Duration,
    /// Frames of 4 KiB in the write-ahead log before they are moved to the database.
    pub wal_frames: u32,
    /// The most pages the database may have; for tests of a full disk.
    pub pages: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue: 1024,
            group: 256,
            busy: Duration::from_secs(5),
            wal_frames: 2000,
            pages: None,
        }
    }
}

/// What is forgotten. The audit log never is.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Effects without an idempotency key, after this long.
    pub effects: Duration,
    /// Effects with an idempotency key, after this long. Steps of runs have one.
    pub keyed_effects: Duration,
    /// Approvals that were decided, this long after their end.
    pub approvals: Duration,
    /// Those that nobody decided, this long after their end. What they showed goes at once.
    pub undecided: Duration,
    /// Runs, this long after they were over; what they left behind goes before.
    pub runs: Duration,
    /// Bodies for replay, after this long.
    pub bodies: Duration,
    /// Bodies for replay, beyond so many.
    pub body_rows: u64,
    /// Cached answers without an end, after this long.
    pub cache: Duration,
    /// Cached answers, beyond so many.
    pub cache_rows: u64,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(86_400);
        Self {
            effects: 7 * DAY,
            keyed_effects: 90 * DAY,
            approvals: 90 * DAY,
            undecided: DAY,
            runs: 90 * DAY,
            bodies: 90 * DAY,
            body_rows: 200_000,
            cache: 30 * DAY,
            cache_rows: 100_000,
        }
    }
}
