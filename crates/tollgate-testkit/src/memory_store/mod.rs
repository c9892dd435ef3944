//! A store without a disk, for tests that are about something else.
//!
//! It passes the same suite as the others. A batch is applied to a copy, so that
//! a refused one leaves nothing behind; that is slow for much state and right
//! for little.

mod apply;
mod read;
mod runs;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ed25519_dalek::SigningKey;
use tollgate_core::{
    Store,
    audit::{AuditRow, Hash, Place, link},
    store::{Batch, Change, Durability, Receipt, StoreError},
};

pub use self::runs::MemoryBlobs;
use self::state::State;

/// The name of the chain of every store in memory.
const CHAIN: &str = "memory";

/// Keeps everything until it is dropped.
#[derive(Debug)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
    key: SigningKey,
    owner: String,
}

#[derive(Debug, Default)]
struct Inner {
    state: State,
    rows: Vec<AuditRow>,
    /// What the next commits are told instead of being made.
    failures: Vec<StoreError>,
    /// What every commit is told until the store is mended.
    refuses: Option<fn() -> StoreError>,
    /// Changes that are refused as `Conflict`.
    conflicts: Option<fn(&Change) -> bool>,
    /// What the next commits are told although they are made.
    doubts: Vec<StoreError>,
    /// What the next who ask for a session are told.
    session_failures: Vec<StoreError>,
    /// How many commits asked to be on disk.
    synced: usize,
    /// What the next who ask for a run are told.
    run_failures: Vec<StoreError>,
    /// How many calls may commit soon, as it was told last.
    foreseen: usize,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self {
            inner: Mutex::default(),
            key: SigningKey::from_bytes(&[7; 32]),
            owner: "memory-owner".to_owned(),
        }
    }

    /// Makes the next commit fail like this, after the failures asked for before.
    pub fn fail_next(&self, error: StoreError) {
        self.inner().failures.push(error);
    }

    /// Makes every commit fail like this until the store is mended.
    pub fn break_down(&self, error: fn() -> StoreError) {
        self.inner().refuses = Some(error);
    }

    /// Ends [`MemoryStore::break_down`].
    pub fn mend(&self) {
        self.inner().refuses = None;
    }

    /// Refuses every batch with such a change as `Conflict`.
    pub fn refuse(&self, conflicts: fn(&Change) -> bool) {
        self.inner().conflicts = Some(conflicts);
    }

    /// Makes the next commit and then says that it failed, as a disk that cannot be synced does.
    pub fn doubt_next(&self, error: StoreError) {
        self.inner().doubts.push(error);
    }

    /// Makes the next question for a session fail like this, after the failures asked for before.
    pub fn fail_next_session(&self, error: StoreError) {
        self.inner().session_failures.push(error);
    }

    /// Makes the next question for a run fail like this, after the failures asked for before.
    pub fn fail_next_run(&self, error: StoreError) {
        self.inner().run_failures.push(error);
    }

    /// Makes `owner` count as dead: its intents are abandoned.
    pub fn bury(&self, owner: impl Into<String>) {
        self.inner().state.dead.insert(owner.into());
    }

    /// How many commits asked to be on disk before they return.
    pub fn synced(&self) -> usize {
        self.inner().synced
    }

    /// How many calls may commit soon, as it was told last.
    pub fn foreseen(&self) -> usize {
        self.inner().foreseen
    }

    /// Every row of the log, in order.
    pub fn rows(&self) -> Vec<AuditRow> {
        self.inner().rows.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit_shared(&self, batch: Arc<Batch>) -> Result<Receipt, StoreError> {
        let batch = Arc::unwrap_or_clone(batch);
        let mut inner = self.inner();
        if !inner.failures.is_empty() {
            return Err(inner.failures.remove(0));
        }
        if let Some(error) = inner.refuses {
            return Err(error());
        }
        let conflicts = inner.conflicts.unwrap_or(|_| false);
        if batch.changes.iter().any(conflicts) {
            return Err(StoreError::Conflict);
        }
        inner.synced += usize::from(batch.durability == Durability::Disk);
        let mut receipt = Receipt::default();
        if !batch.changes.is_empty() {
            let mut state = inner.state.clone();
            state.apply(batch.changes, &mut receipt)?;
            inner.state = state;
        }
        for entry in batch.audit {
            let seq = inner.rows.last().map_or(0, |row| row.seq) + 1;
            let previous: Hash = inner.rows.last().map_or([0; 32], |row| row.hash);
            let hash = link(&previous, CHAIN, seq, entry.content());
            inner.rows.push(AuditRow {
                chain: CHAIN.to_owned(),
                seq,
                hash,
                body: entry.body().to_owned(),
                columns: entry.columns().clone(),
            });
            receipt.places.push(Place {
                chain: CHAIN.into(),
                seq,
                hash,
            });
        }
        if !inner.doubts.is_empty() {
            return Err(inner.doubts.remove(0));
        }
        Ok(receipt)
    }

    fn foresee(&self, calls: usize) {
        self.inner().foreseen = calls;
    }
}
