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
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tollgate_core::{
    audit::SignedHead,
    store::{Receipt, StoreError},
};

use super::{
    condition::{
        guard::Guard,
        health::Health,
        holder::{holder, holder_of},
        wal,
    },
    desk::{Alarm, Desk, Work},
    lock::{LOOK, WriteLock},
    open,
    queue::{Queue, Reply},
    writer::refuse,
};
use crate::{
    chain::{ANCHOR_LOCK, Anchor, Prepared, Seal},
    error::OpenError,
    settings::Limits,
};

/// When a sync that failed is tried again, if nobody waits for it.
const AGAIN: Duration = Duration::from_millis(500);

/// How long the end of the process waits for another one. What is left undone is no part of the
/// record: the next process makes up for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps until the writer is done.
pub(crate) struct Keeper {
    pub(crate) desk: Arc<Desk>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) health: Arc<Health>,
    pub(crate) guard: Arc<Guard>,
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
    /// Which run of the log was last synced.
    salt: Option<[u8; 8]>,
    /// A frame of that run, and what it is known by.
    last: Option<(u32, [u8; 16])>,
}

impl Keeper {
    /// Runs until the writer is done and everything is synced and anchored.
    pub(crate) fn run(mut self) {
        // The sync has to be over when the interval is.
        let early = self.interval * 3 / 5;
        loop {
            match self.desk.wait(early, (self.limits.busy / 4).min(LOOK)) {
                Alarm::Sync => {
                    let waiting = self.desk.take_waiting();
                    let synced = self.sync();
                    self.answer(waiting, synced);
                }
                Alarm::Tick => self.tick(early / 3),
                Alarm::Blocked => self.look_who_holds(),
                Alarm::End => break,
            }
            refuse(self.queue.take_stale(self.limits.busy), &StoreError::Busy);
        }
        self.finish();
    }

    /// Syncs the log, and notes how that went.
    fn sync(&mut self) -> bool {
        let is_whole = self.log.begins_as_one();
        if !is_whole {
            self.guard.log_is_damaged();
        }
        let is_synced = is_whole && self.log.sync().is_ok();
        self.health.synced(is_synced);
        is_synced
    }

    /// Tells those who waited for the disk what became of it.
    fn answer(&self, waiting: Vec<(Reply, Receipt)>, is_synced: bool) {
        if is_synced && !waiting.is_empty() {
            self.health.committed();
        }
        for (reply, receipt) in waiting {
            let outcome = if is_synced {
                Ok(receipt)
            } else {
                Err(StoreError::Unsynced)
            };
            let _ = reply.send(outcome);
        }
    }

    /// Nobody waits for a process that is stopped, or that has held the lock for too long.
    fn look_who_holds(&self) {
        let holder = holder(&self.state_dir);
        let is_stale = self
            .queue
            .oldest()
            .is_some_and(|age| age >= self.limits.busy);
        if holder.is_stopped || is_stale {
            self.desk.while_blocked(|| self.health.hold(holder));
        }
        if let Some(holder) = self.health.holder() {
            refuse(self.queue.take(usize::MAX), &StoreError::Held(holder));
        }
    }

    /// Signs, syncs, anchors, and shortens the log.
    fn tick(&mut self, patience: Duration) {
        if !self.desk.is_sealed() {
            self.queue.want(|chores| chores.seal = true);
            self.desk.wait_for_seal(patience);
        }
        let work = self.desk.take();
        let is_synced = self.sync();
        self.answer(work.waiting, is_synced);
        if !is_synced {
            self.desk.sync_again(AGAIN);
        }
        // What cannot be looked at now is looked at when it is asked for.
        let _ = self.guard.look_again(&self.log.connection);
        // The head of a file that nobody will find again is no evidence of the state.
        let is_ours = self.guard.check_files().is_ok();
        if is_synced
            && is_ours
            && let Some(head) = self.unanchored(work.seal)
            && let Ok(prepared) = self.anchor.prepare(head, &self.name)
            // An anchor that stays behind is caught up with by the next one.
            && let Ok(true) = self.anchor.advance(&prepared, &self.log.connection)
        {
            self.anchored = prepared.seq();
        }
        // A checkpoint would restore the length of a database that was cut off.
        if is_ours && self.log.shorten(self.limits.wal_frames) {
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
            (self.log.sync().is_ok(), preparing.join().ok().flatten())
        });
        self.answer(work.waiting, synced);
        if !synced || self.guard.check_files().is_err() {
            return;
        }
        if let Some(prepared) = prepared {
            self.advance_at_the_end(&prepared);
        }
        // The next command has to read what is left of the log.
        if self.log.is_long(self.limits.wal_frames / 8) {
            let lock = WriteLock::open(&self.state_dir).map_err(OpenError::Directory);
            let patience = self.limits.busy.min(PATIENCE);
            if let Ok(_held) = lock.and_then(|lock| lock.acquire_within(patience)) {
                self.log.start_over();
            }
        }
    }

    /// Puts the last anchor in its place, tried again while another process is at it, but not
    /// while that one is stopped: an anchor that stays behind is caught up with by the next process.
    fn advance_at_the_end(&self, prepared: &Prepared) {
        let (begun, limit) = (Instant::now(), self.limits.busy.min(PATIENCE));
        let mut look = LOOK;
        // An error is one of the folder, and does not go away.
        while let Ok(false) = self.anchor.advance(prepared, &self.log.connection) {
            let waited = begun.elapsed();
            if waited >= limit {
                return;
            }
            if waited >= look {
                if holder_of(&self.state_dir, &[ANCHOR_LOCK]).is_stopped {
                    return;
                }
                look += LOOK;
            }
            thread::sleep(Duration::from_millis(1));
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
            salt: None,
            last: None,
        })
    }

    /// Makes everything in the log durable.
    fn sync(&mut self) -> io::Result<()> {
        if self.doubtful {
            self.check_frames()?;
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
        if !self.doubtful {
            self.remember()?;
        }
        synced
    }

    /// Whether the log still has what was written before a sync failed: the system may have dropped it.
    ///
    /// A log that has started over since was moved and synced before.
    fn check_frames(&self) -> io::Result<()> {
        let written = self.frames.load(Ordering::Relaxed);
        let lost = || io::Error::other("the write-ahead log has lost what was written");
        let header = wal::header(&self.file)?.ok_or_else(lost)?;
        let is_same = self.salt.is_none_or(|salt| salt == header.salt);
        if is_same && wal::valid_frames(&self.file, header)? < written {
            return Err(lost());
        }
        Ok(())
    }

    /// Keeps what the log is known by until the next sync.
    fn remember(&mut self) -> io::Result<()> {
        let header = wal::header(&self.file)?;
        self.salt = header.map(|header| header.salt);
        let frame = self.frames.load(Ordering::Relaxed);
        let mark = match header {
            Some(header) => wal::mark(&self.file, header, frame)?,
            None => None,
        };
        // The count may be of an earlier run of the log.
        let is_of_run = |mark: &[u8; 16]| self.salt.is_some_and(|salt| mark[..8] == salt);
        self.last = mark.filter(is_of_run).map(|mark| (frame, mark));
        Ok(())
    }

    /// Whether what was last synced is still there, unless the log has started over since.
    fn is_as_it_was(&self, header: wal::Header) -> bool {
        match self.last {
            Some((frame, mark)) if self.salt == Some(header.salt) => {
                wal::mark(&self.file, header, frame).is_ok_and(|found| found == Some(mark))
            }
            Some(_) | None => true,
        }
    }

    /// Whether the log is empty or begins with a header: after it was cut off under us, SQLite
    /// would write on behind a hole, where nobody finds it again; an older copy in its place is the same.
    fn begins_as_one(&self) -> bool {
        // The header may be read while another process writes it.
        (0..3).any(|_| {
            let is_empty = self.file.metadata().is_ok_and(|found| found.len() == 0);
            let header = || wal::header(&self.file).ok().flatten();
            is_empty || header().is_some_and(|header| self.is_as_it_was(header))
        })
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
