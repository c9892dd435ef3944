//! The thread that makes commits durable while others go on writing.
//!
//! It syncs the log, answers those who wait for the disk, anchors the signed
//! head, moves the log into the database, and turns away commits that waited too
//! long for other processes. It sleeps while there is nothing to sync, and never
//! waits for the lock itself while there is a writer: what needs it is left to that.

use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use rusqlite::Connection;
use tollgate_core::{
    audit::SignedHead,
    store::{Receipt, StoreError},
};

use super::{
    desk::{Alarm, Desk, Work},
    lock::WriteLock,
    open,
    queue::{Queue, Reply},
    writer::refuse,
};
use crate::{
    chain::{Anchor, Seal},
    error::{OpenError, io_error},
    settings::Limits,
};

/// Keeps until the writer is done.
pub(crate) struct Keeper {
    pub(crate) desk: Arc<Desk>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) state_dir: PathBuf,
    pub(crate) log: Log,
    pub(crate) anchor: Anchor,
    pub(crate) chain: String,
    /// Keeps the anchor's temporary files of several processes apart.
    pub(crate) name: String,
    pub(crate) limits: Limits,
    pub(crate) interval: Duration,
    /// The last place for which this process prepared an anchor.
    pub(crate) anchored: u64,
}

/// The write-ahead log, from outside and from inside.
pub(crate) struct Log {
    file: File,
    connection: Connection,
    frames: Arc<AtomicU32>,
    /// How many frames there were when they were last moved.
    seen: u32,
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
                    let waiting = self.desk.take_waiting();
                    answer(waiting, &self.log.sync());
                }
                Alarm::Tick => self.tick(early / 3),
                Alarm::Blocked => {}
                Alarm::End => break,
            }
            refuse(self.queue.take_stale(self.limits.busy), &StoreError::Busy);
        }
        self.finish();
    }

    /// Signs, syncs, anchors, and shortens the log.
    fn tick(&mut self, patience: Duration) {
        if !self.desk.is_sealed() {
            self.queue.want(|chores| chores.seal = true);
            self.desk.wait_for_seal(patience);
        }
        let work = self.desk.take();
        let synced = self.log.sync();
        answer(work.waiting, &synced);
        if synced.is_ok()
            && let Some(head) = self.unanchored(work.seal)
            && let Ok(prepared) = self.anchor.prepare(head, &self.name)
            // An anchor that stays behind is caught up with by the next one.
            && let Ok(true) = self.anchor.advance(&prepared, &self.log.connection)
        {
            self.anchored = prepared.seq();
        }
        if self.log.shorten(self.limits.wal_frames) {
            self.queue.want(|chores| chores.shorten = true);
        }
    }

    /// Syncs and anchors the last head. The writer has gone: if the log is long, the lock is taken here.
    fn finish(mut self) {
        let work = self.desk.take();
        if work.dirty_since.is_none() && self.is_anchored(&work) {
            return;
        }
        let head = self.unanchored(work.seal);
        // Two syncs at once take the time of one, and someone waits for the exit.
        let (synced, prepared) = thread::scope(|scope| {
            let prepare = || head.and_then(|head| self.anchor.prepare(head, &self.name).ok());
            let preparing = scope.spawn(prepare);
            (self.log.sync(), preparing.join().ok().flatten())
        });
        answer(work.waiting, &synced);
        if synced.is_err() {
            return;
        }
        if let Some(prepared) = prepared {
            // An anchor that stays behind is caught up with by the next process.
            let _ = self
                .anchor
                .advance_within(self.limits.busy, &prepared, &self.log.connection);
        }
        // The next command has to read what is left of the log.
        if self.log.is_long(self.limits.wal_frames / 8) {
            let lock = WriteLock::open(&self.state_dir).map_err(OpenError::Directory);
            if let Ok(_held) = lock.and_then(|lock| lock.acquire_within(self.limits.busy)) {
                self.log.start_over();
            }
        }
    }

    /// The head, if this process has not anchored it.
    fn unanchored(&self, seal: Option<Seal>) -> Option<SignedHead> {
        seal.filter(|seal| seal.seq > self.anchored)
            .map(|seal| seal.signed_head(&self.chain))
    }

    fn is_anchored(&self, work: &Work) -> bool {
        work.seal
            .as_ref()
            .is_none_or(|seal| seal.seq <= self.anchored)
    }
}

/// Tells those who waited for the disk what became of it.
fn answer(waiting: Vec<(Reply, Receipt)>, synced: &io::Result<()>) {
    for (reply, receipt) in waiting {
        let outcome = match synced {
            Ok(()) => Ok(receipt),
            Err(error) => Err(io_error(io::Error::new(error.kind(), error.to_string()))),
        };
        let _ = reply.send(outcome);
    }
}

impl Log {
    /// Opens the log of a database that is in use.
    pub(crate) fn open(
        state_dir: &Path,
        limits: &Limits,
        frames: Arc<AtomicU32>,
    ) -> Result<Self, OpenError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(state_dir.join(open::LOG))
            .map_err(OpenError::Directory)?;
        Ok(Self {
            file,
            connection: open::writer(state_dir, limits)?,
            frames,
            seen: 0,
            doubtful: false,
        })
    }

    /// Makes everything in the log durable.
    fn sync(&mut self) -> io::Result<()> {
        if self.doubtful {
            // A second sync would succeed without having written what the first
            // lost. Moving the frames into the database writes them again.
            let (frames, moved) = open::checkpoint(&self.connection).map_err(io::Error::other)?;
            if moved < frames {
                return Err(io::Error::other("an earlier sync failed"));
            }
            self.doubtful = false;
        }
        let synced = self.file.sync_data();
        self.doubtful = synced.is_err();
        synced
    }

    /// Whether the log has `bound` frames.
    fn is_long(&self, bound: u32) -> bool {
        self.frames.load(Ordering::Relaxed) >= bound
    }

    /// Empties the log if nobody else uses it.
    ///
    /// How far frames were moved is noted in shared memory only, which ends with the
    /// last process; the next one would read, and move, all of them again.
    fn start_over(&self) {
        if self.connection.busy_timeout(Duration::ZERO).is_ok() {
            let _ = self
                .connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }

    /// Moves frames into the database when there are `bound` new ones, so that the
    /// log can start over; says whether the rest has to be moved under the lock.
    ///
    /// Writers go on meanwhile, so they may be a few frames ahead at the end, and
    /// always would be under constant load. When the log has become long, those
    /// few are moved as well; it then starts over, in blocks the file already has.
    fn shorten(&mut self, bound: u32) -> bool {
        let frames = self.frames.load(Ordering::Relaxed);
        if frames < self.seen {
            self.seen = 0;
        }
        if frames < self.seen.saturating_add(bound) {
            return false;
        }
        self.seen = frames;
        open::checkpoint(&self.connection).is_ok() && frames > bound.saturating_mul(4)
    }
}
