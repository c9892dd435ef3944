//! The thread that makes commits durable while others go on writing.
//!
//! It syncs the log, answers those who wait for the disk, signs and anchors the
//! head, moves the log into the database, and turns away commits that waited too
//! long for other processes. It sleeps while there is nothing to sync.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;
use tollgate_core::store::StoreError;

use super::{
    desk::{Alarm, Desk, Work},
    lock::WriteLock,
    open,
    queue::Queue,
    writer::refuse,
};
use crate::{
    chain::{Anchor, Seal},
    error::io_error,
    settings::Limits,
};

/// Keeps until the writer is done.
pub(crate) struct Keeper {
    pub(crate) desk: Arc<Desk>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) lock: WriteLock,
    pub(crate) log: Log,
    pub(crate) anchor: Anchor,
    pub(crate) chain: String,
    /// Keeps the anchor's temporary files of several processes apart.
    pub(crate) name: String,
    pub(crate) limits: Limits,
    pub(crate) interval: Duration,
    /// The last place that was anchored by this process.
    pub(crate) anchored: u64,
}

/// The write-ahead log, from outside and from inside.
pub(crate) struct Log {
    file: File,
    connection: Connection,
    frames: Arc<AtomicU32>,
    /// A sync failed: what the system still holds may never have reached the disk.
    doubtful: bool,
}

impl Keeper {
    /// Runs until the writer is done and everything is synced and anchored.
    pub(crate) fn run(mut self) {
        // The sync has to be over when the interval is.
        let early = self.interval * 3 / 5;
        loop {
            match self.desk.wait(early, self.limits.busy / 4) {
                Alarm::Sync => {
                    self.sync();
                }
                Alarm::Tick => self.tick(early / 3),
                Alarm::Blocked => {}
                Alarm::End => break,
            }
            refuse(self.queue.take_stale(self.limits.busy), &StoreError::Busy);
        }
        self.tick(Duration::ZERO);
    }

    /// Signs, syncs, anchors, and shortens the log.
    fn tick(&mut self, patience: Duration) {
        if !patience.is_zero() && !self.desk.is_sealed() {
            self.queue.want_seal();
            self.desk.wait_for_seal(patience);
        }
        if let Some(seal) = self.sync()
            && seal.seq > self.anchored
            && self.note(&seal).is_ok()
        {
            self.anchored = seal.seq;
        }
        self.log.shorten(&self.lock, self.limits.wal_frames);
    }

    /// Syncs the log and answers whoever waited for it; says which head is safe.
    fn sync(&mut self) -> Option<Seal> {
        let Work {
            waiting,
            dirty_since,
            seal,
            seq: _,
        } = self.desk.take();
        if dirty_since.is_none() && waiting.is_empty() {
            return seal;
        }
        match self.log.sync() {
            Ok(()) => {
                for (reply, receipt) in waiting {
                    let _ = reply.send(Ok(receipt));
                }
                seal
            }
            Err(error) => {
                let text = error.to_string();
                for (reply, _) in waiting {
                    let error = io::Error::new(error.kind(), text.clone());
                    let _ = reply.send(Err(io_error(error)));
                }
                None
            }
        }
    }

    /// Anchors a head; only putting it in place needs the lock.
    fn note(&self, seal: &Seal) -> io::Result<()> {
        let head = seal.signed_head(&self.chain);
        let prepared = self.anchor.prepare(&head, &self.name)?;
        let held = self.lock.acquire(|| ())?;
        let advanced = self.anchor.advance(&head, &prepared);
        drop(held);
        advanced
    }
}

impl Log {
    /// Opens the log of a database that is in use.
    pub(crate) fn open(
        state_dir: &Path,
        limits: &Limits,
        frames: Arc<AtomicU32>,
    ) -> Result<Self, crate::OpenError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(state_dir.join(open::LOG))
            .map_err(crate::OpenError::Directory)?;
        Ok(Self {
            file,
            connection: open::writer(state_dir, limits)?,
            frames,
            doubtful: false,
        })
    }

    /// Makes everything in the log durable.
    fn sync(&mut self) -> io::Result<()> {
        if self.doubtful {
            // A second sync would succeed without having written what the first
            // lost. Moving the frames into the database writes them again.
            let (frames, moved) = self.checkpoint().map_err(io::Error::other)?;
            if moved < frames {
                return Err(io::Error::other("an earlier sync failed"));
            }
            self.doubtful = false;
        }
        let synced = self.file.sync_data();
        self.doubtful = synced.is_err();
        synced
    }

    /// Moves frames into the database so that the log can start over.
    ///
    /// Writers go on meanwhile, so they may be a few frames ahead at the end, and
    /// would always be under constant load. The few are moved under the lock: the
    /// log then starts over, in blocks the file already has.
    fn shorten(&mut self, lock: &WriteLock, bound: u32) {
        if self.frames.load(Ordering::Relaxed) < bound {
            return;
        }
        let Ok((frames, moved)) = self.checkpoint() else {
            return;
        };
        self.frames.store(0, Ordering::Relaxed);
        if moved < frames
            && let Ok(held) = lock.acquire(|| ())
        {
            let _ = self.checkpoint();
            drop(held);
        }
    }

    /// How many frames there are, and how many are in the database.
    fn checkpoint(&self) -> rusqlite::Result<(i64, i64)> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
                Ok((row.get(1)?, row.get(2)?))
            })
    }
}
