//! The one place of this process that writes, and the thread behind it.
//!
//! Whoever writes takes the lock, takes what waits, and commits it all in one
//! transaction: callers share the cost of a commit, and other processes wait for
//! one turn only. The first of a crowd writes for all of it where it stands, without
//! waking another thread; a caller nobody shares with writes for itself. Neither waits
//! for anything: everything unusual is left to the thread.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;
use tollgate_core::{
    Clock, Timestamp,
    store::{Batch, Durability, Receipt, StateProblem, StoreError},
};

use super::{
    apply::{Group, Head, Refusal, look, roll_back},
    condition::{guard::Guard, health::Health},
    desk::Desk,
    lock::{Held, WriteLock},
    open,
    prune::Pruner,
    queue::{Job, Queue, Wanted, closed},
};
use crate::{
    chain::{Keyring, Seal},
    error::{io_error, store_error},
};

/// What writes, one at a time.
pub(crate) struct Writer {
    pub(crate) lock: WriteLock,
    pub(crate) pen: Pen,
    /// How many commits the last transaction had.
    pub(crate) last: usize,
}

/// Where the writer is until everything is written: with the thread, or with a
/// caller who is alone.
pub(crate) struct Place {
    writer: Mutex<Option<Writer>>,
    /// How many transactions in a row had one commit only, with nobody else about.
    alone: AtomicU32,
    queue: Arc<Queue>,
    desk: Arc<Desk>,
}

/// How long a transaction waits for most of as many commits as the last one had.
///
/// Callers that were just answered are about to come back, and a transaction
/// costs as much as several commits, so gathering them is cheaper for all. Not
/// for all of them, so that the others have something to do while these are written.
const GATHER: Duration = Duration::from_millis(2);
/// With fewer callers than this, nobody waits for anybody.
const CROWD: usize = 4;
/// After so many transactions of one commit each, the next caller is thought to be alone.
const ALONE: u32 = 8;

/// However the writer ends, nobody waits for it in vain.
struct Farewell(Arc<Queue>, Arc<Desk>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.close();
        refuse(self.0.take(usize::MAX), &closed());
        self.1.close();
    }
}

/// What writes once the lock is held.
pub(crate) struct Pen {
    pub(crate) connection: Connection,
    pub(crate) queue: Arc<Queue>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) health: Arc<Health>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) keyring: Keyring,
    pub(crate) pruner: Pruner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chain: Arc<str>,
    pub(crate) state_dir: PathBuf,
    pub(crate) group: usize,
    /// How long the database may be held by others.
    pub(crate) busy: Duration,
    /// The end of the chain, if a transaction is open that has looked at it.
    pub(crate) seen: Option<Head>,
    /// Where the chain ended after the last commit of this process.
    pub(crate) written: u64,
}

/// What a transaction does while others hold the database.
#[derive(Clone, Copy)]
enum Begin {
    /// It fails.
    Now,
    /// It waits.
    WhenFree,
}

impl Begin {
    fn group<'c>(
        self,
        (connection, busy): (&'c Connection, Duration),
        place: (&'c Path, &'c Arc<str>),
        now: Timestamp,
    ) -> Result<Group<'c>, StoreError> {
        let _impatient = match self {
            Self::Now => Some(Impatient::new(connection, busy)?),
            Self::WhenFree => None,
        };
        Group::begin(connection, place, now)
    }
}

/// A transaction that was committed.
struct Written {
    outcomes: Vec<Result<Receipt, StoreError>>,
    seal: Option<Seal>,
    seq: u64,
}

impl Place {
    /// A place for `writer`.
    pub(crate) fn new(writer: Writer) -> Self {
        Self {
            queue: Arc::clone(&writer.pen.queue),
            desk: Arc::clone(&writer.pen.desk),
            writer: Mutex::new(Some(writer)),
            alone: AtomicU32::new(0),
        }
    }

    /// Runs until there is nothing left and nothing more will come.
    pub(crate) fn run(&self) {
        let _farewell = Farewell(Arc::clone(&self.queue), Arc::clone(&self.desk));
        let mut last = 0;
        while self.queue.wait() == Wanted::Work {
            if last >= CROWD {
                self.queue.gather(last * 3 / 4, GATHER);
            }
            let mut writer = self.writer();
            let Some(writer) = writer.as_mut() else {
                return;
            };
            writer.turn();
            last = writer.last;
            self.count(last);
        }
        let mut place = self.writer();
        if let Some(mut writer) = place.take()
            && !self.desk.is_sealed()
        {
            self.queue.want(|chores| chores.seal = true);
            writer.turn();
        }
    }

    /// Whether the next caller is thought to be alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed) >= ALONE
    }

    /// Looks up what a caller who is alone will need, unless somebody is writing.
    pub(crate) fn look_ahead(&self) {
        if self.is_alone()
            && let Ok(mut writer) = self.writer.try_lock()
            && let Some(writer) = writer.as_mut()
        {
            writer.pen.look_ahead();
        }
    }

    /// Writes `batch` for a caller who is alone; whoever is not leaves it to the thread.
    pub(crate) fn write_alone(&self, batch: &Batch) -> Result<Receipt, Declined> {
        if batch.durability != Durability::Process || !self.is_alone() {
            return Err(Declined::Left);
        }
        let mut writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(self.decline()),
        };
        match writer.as_mut() {
            Some(writer) if self.queue.is_empty() => writer.write_alone(batch),
            _ => Err(self.decline()),
        }
    }

    /// Writes what waits for all who wait; whoever cannot at once leaves it to the thread.
    pub(crate) fn write_for_all(&self) {
        let mut writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return self.queue.hand_over(Vec::new()),
        };
        let Some(writer) = writer.as_mut() else {
            return self.queue.hand_over(Vec::new());
        };
        self.queue.arrive();
        match writer.try_turn() {
            Ok(()) => self.count(writer.last),
            Err(jobs) => self.queue.hand_over(jobs),
        }
    }

    fn count(&self, last: usize) {
        if last > 1 {
            self.alone.store(0, Ordering::Relaxed);
        } else {
            self.alone.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Somebody else is about.
    fn decline(&self) -> Declined {
        self.alone.store(0, Ordering::Relaxed);
        Declined::Left
    }

    fn writer(&self) -> MutexGuard<'_, Option<Writer>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    /// Writes what waits, under the lock.
    fn turn(&mut self) {
        self.pen.look_away();
        let held = match acquire(&self.lock, &self.pen.desk) {
            Ok(held) => held,
            Err(error) => return self.pen.refuse_all(&io_error(error)),
        };
        self.pen.health.release();
        let chores = self.pen.queue.take_chores();
        let mut jobs = self.pen.queue.take(self.pen.group);
        if chores.shorten {
            let _ = open::checkpoint(&self.pen.connection);
        }
        if jobs.is_empty() && !chores.seal {
            return;
        }
        let written = self
            .pen
            .write(&mut jobs, (self.pen.group, Begin::WhenFree), chores.seal);
        self.last = jobs.len();
        match written {
            Ok(written) => {
                drop(held);
                self.pen.acknowledge(jobs, written);
            }
            // The log itself may be what takes the room.
            Err(StoreError::Full) => {
                let _ = open::checkpoint(&self.pen.connection);
                self.pen.write_singly(jobs);
            }
            // What one batch broke must not cost its neighbours; but when others
            // hold the database, asking for each would wait for each.
            Err(error) if jobs.len() < 2 || is_for_all(&error) => {
                drop(held);
                self.pen.health.failed(&error);
                refuse(jobs, &error);
            }
            Err(_) => self.pen.write_singly(jobs),
        }
    }
}

/// Why a caller did not write for itself.
pub(crate) enum Declined {
    /// The batch is the thread's.
    Left,
    /// It was looked at, and the state said no.
    Refused(StoreError),
}

impl Writer {
    /// Writes what waits without waiting for anything; gives back what was not written.
    fn try_turn(&mut self) -> Result<(), Vec<Job>> {
        self.pen.look_away();
        let Ok(Some(held)) = self.lock.try_acquire() else {
            return Err(Vec::new());
        };
        let mut jobs = self.pen.queue.take(self.pen.group);
        if jobs.is_empty() {
            return Ok(());
        }
        let written = self
            .pen
            .write(&mut jobs, (self.pen.group, Begin::Now), false);
        drop(held);
        match written {
            Ok(written) => {
                self.last = jobs.len();
                self.pen.acknowledge(jobs, written);
                Ok(())
            }
            Err(error @ StoreError::NotAcknowledged(_)) => {
                refuse(jobs, &error);
                Ok(())
            }
            Err(_) => Err(jobs),
        }
    }

    /// Writes one batch without waiting for anything; what goes wrong, the thread
    /// tries again and answers for.
    fn write_alone(&mut self, batch: &Batch) -> Result<Receipt, Declined> {
        if self.pen.health.is_unsynced() || self.pen.guard.is_closed() {
            return Err(Declined::Left);
        }
        let Ok(Some(held)) = self.lock.try_briefly() else {
            return Err(Declined::Left);
        };
        let written = self.pen.write_one(batch);
        drop(held);
        match written {
            Ok((outcome, seq)) => {
                self.last = 1;
                self.pen.health.committed();
                self.pen.desk.leave(|work| work.seq = seq);
                outcome.map_err(Declined::Refused)
            }
            // It is in a file that nobody will read again: the caller must not hear that it is kept.
            Err(error @ StoreError::NotAcknowledged(_)) => Err(Declined::Refused(error)),
            Err(_) => Err(Declined::Left),
        }
    }
}

impl Pen {
    /// Writes all of `jobs`, and what arrives meanwhile up to `most`, in one transaction.
    fn write(
        &mut self,
        jobs: &mut Vec<Job>,
        limits: (usize, Begin),
        seal: bool,
    ) -> Result<Written, StoreError> {
        // What is wrong with the files says more than what SQLite makes of them.
        let files = |error, guard: &Guard| guard.check_files().err().unwrap_or(error);
        self.try_write(jobs, limits, seal)
            .map_err(|error| files(error, &self.guard))
    }

    fn try_write(
        &mut self,
        jobs: &mut Vec<Job>,
        (most, begin): (usize, Begin),
        seal: bool,
    ) -> Result<Written, StoreError> {
        let now = self.clock.now();
        let place = (&*self.state_dir, &self.chain);
        let mut group = begin.group((&self.connection, self.busy), place, now)?;
        check_end(self.written, group.head().seq)?;
        let mut outcomes = Vec::with_capacity(jobs.len());
        while outcomes.len() < jobs.len() {
            for job in &jobs[outcomes.len()..] {
                if is_probe(&job.batch) {
                    group.probe()?;
                }
                outcomes.push(match self.guard.admit(&job.batch, &self.connection) {
                    Ok(()) => apply(&mut group, &job.batch)?,
                    Err(refused) => Err(refused),
                });
            }
            jobs.extend(self.queue.take(most.saturating_sub(jobs.len())));
        }
        let head = group.head();
        let durable = outcomes
            .iter()
            .zip(&*jobs)
            .any(|(outcome, job)| outcome.is_ok() && job.batch.durability == Durability::Disk);
        let seal = ((seal || durable) && head.seq > 0)
            .then(|| self.keyring.seal(&self.chain, head.seq, head.hash));
        if let Some(seal) = &seal {
            group.seal(seal)?;
        }
        group.prune(&mut self.pruner)?;
        group.commit()?;
        self.guard.check_files()?;
        self.written = head.seq;
        Ok(Written {
            outcomes,
            seal,
            seq: head.seq,
        })
    }

    /// Looks at the end of the chain for a commit that will come soon.
    ///
    /// While it has been looked at, the log cannot start over. So it is done only while there
    /// is something to sign: the turn that signs it, a moment later, looks away.
    fn look_ahead(&mut self) {
        if self.seen.is_none() && !self.desk.is_sealed() {
            // Whoever writes finds out what is wrong.
            self.seen = look(&self.connection, &self.chain).ok();
        }
    }

    /// Ends a transaction that has only looked.
    fn look_away(&mut self) {
        if self.seen.take().is_some() {
            roll_back(&self.connection);
        }
    }

    /// Writes one batch in a transaction of its own, unless others hold the
    /// database; says where the chain ends then.
    fn write_one(
        &mut self,
        batch: &Batch,
    ) -> Result<(Result<Receipt, StoreError>, u64), StoreError> {
        let now = self.clock.now();
        let place = (&*self.state_dir, &self.chain);
        if let Some(head) = self.seen.take() {
            let group = Group::after(head, &self.connection, place, now);
            // Anything else may be due to what others wrote since.
            if let Ok((Ok(receipt), end)) = finish(group, batch, &mut self.pruner) {
                self.guard.check_files()?;
                self.written = end;
                return Ok((Ok(receipt), end));
            }
        }
        let group = Begin::Now.group((&self.connection, self.busy), place, now)?;
        check_end(self.written, group.head().seq)?;
        let (outcome, end) = finish(group, batch, &mut self.pruner)?;
        self.guard.check_files()?;
        self.written = end;
        Ok((outcome, end))
    }

    /// Tells the keeper what to sync, and every caller that does not wait for it.
    fn acknowledge(&self, jobs: Vec<Job>, written: Written) {
        let mut now = Vec::with_capacity(jobs.len());
        let mut synced = Vec::new();
        // After a failed sync the log alone vouches for nothing.
        let all_wait = self.health.is_unsynced();
        for (job, outcome) in jobs.into_iter().zip(written.outcomes) {
            let waits = all_wait || job.batch.durability == Durability::Disk;
            match outcome {
                Ok(receipt) if waits => synced.push((job.reply, receipt)),
                outcome => now.push((job.reply, outcome)),
            }
        }
        if !all_wait {
            self.health.committed();
        }
        self.desk.leave(|work| {
            work.waiting.append(&mut synced);
            work.seq = written.seq;
            if written.seal.is_some() {
                work.seal = written.seal;
            }
        });
        for (reply, outcome) in now {
            let _ = reply.send(outcome);
        }
    }

    /// Writes each job in a transaction of its own.
    fn write_singly(&mut self, jobs: Vec<Job>) {
        for job in jobs {
            let mut jobs = vec![job];
            match self.write(&mut jobs, (1, Begin::WhenFree), false) {
                Ok(written) => self.acknowledge(jobs, written),
                Err(error) => {
                    self.health.failed(&error);
                    refuse(jobs, &error);
                }
            }
        }
    }

    fn refuse_all(&self, error: &StoreError) {
        self.queue.take_chores();
        refuse(self.queue.take(usize::MAX), error);
    }
}

/// What this process has written must still be there.
fn check_end(written: u64, head: u64) -> Result<(), StoreError> {
    if head >= written {
        return Ok(());
    }
    Err(StoreError::NotAcknowledged(StateProblem::RolledBack {
        head,
        anchor: written,
    }))
}

/// Whether every neighbour would be refused as well.
const fn is_for_all(error: &StoreError) -> bool {
    matches!(error, StoreError::Busy | StoreError::NotAcknowledged(_))
}

/// A batch that only asks whether commits work.
fn is_probe(batch: &Batch) -> bool {
    batch.changes.is_empty() && batch.audit.is_empty() && batch.durability == Durability::Disk
}

/// What became of one batch; an error is one of the whole transaction.
fn apply(group: &mut Group<'_>, batch: &Batch) -> Result<Result<Receipt, StoreError>, StoreError> {
    match group.apply(batch) {
        Ok(receipt) => Ok(Ok(receipt)),
        Err(Refusal::Refused(error)) => Ok(Err(error)),
        Err(Refusal::Broken(error)) => Err(error),
    }
}

/// Applies one batch and commits it; says where the chain ends then.
fn finish(
    mut group: Group<'_>,
    batch: &Batch,
    pruner: &mut Pruner,
) -> Result<(Result<Receipt, StoreError>, u64), StoreError> {
    let outcome = apply(&mut group, batch)?;
    let end = group.head().seq;
    group.prune(pruner)?;
    group.commit()?;
    Ok((outcome, end))
}

/// While it lives, whoever finds the database locked is told at once.
struct Impatient<'c> {
    connection: &'c Connection,
    patience: Duration,
}

impl<'c> Impatient<'c> {
    fn new(connection: &'c Connection, patience: Duration) -> Result<Self, StoreError> {
        connection
            .busy_timeout(Duration::ZERO)
            .map_err(store_error)?;
        Ok(Self {
            connection,
            patience,
        })
    }
}

impl Drop for Impatient<'_> {
    fn drop(&mut self) {
        // Setting a number of an open connection does not fail; if it did, the
        // thread would be told of a locked database sooner.
        let _ = self.connection.busy_timeout(self.patience);
    }
}

fn acquire<'a>(lock: &'a WriteLock, desk: &Desk) -> io::Result<Held<'a>> {
    let mut waited = false;
    let held = lock.acquire(|| {
        waited = true;
        desk.blocked(true);
    });
    if waited {
        desk.blocked(false);
    }
    held
}

/// Answers jobs of which nothing was written.
pub(crate) fn refuse(jobs: Vec<Job>, error: &StoreError) {
    for job in jobs {
        let _ = job.reply.send(Err(again(error)));
    }
}

/// The same error for the next caller.
fn again(error: &StoreError) -> StoreError {
    match error {
        StoreError::Budget { left } => StoreError::Budget { left: *left },
        StoreError::ApprovalGone => StoreError::ApprovalGone,
        StoreError::ApprovalsFull => StoreError::ApprovalsFull,
        StoreError::AlreadyEnded => StoreError::AlreadyEnded,
        StoreError::Conflict => StoreError::Conflict,
        StoreError::Missing => StoreError::Missing,
        StoreError::Busy => StoreError::Busy,
        StoreError::Held(holder) => StoreError::Held(*holder),
        StoreError::Unsynced => StoreError::Unsynced,
        StoreError::NotAcknowledged(problem) => StoreError::NotAcknowledged(problem.clone()),
        StoreError::Full => StoreError::Full,
        StoreError::ReadOnly => StoreError::ReadOnly,
        StoreError::Corrupt(what) => StoreError::Corrupt(what.clone()),
        StoreError::Failed(source) => StoreError::Failed(source.to_string().into()),
    }
}
