//! What writes, and the thread that does it for a crowd.
//!
//! Whoever holds the hand takes the lock of the state and commits what waits in
//! one transaction: callers share the cost of a commit, and other processes wait
//! for one turn only. A caller who is alone writes by itself, because waking a
//! thread and being woken costs more than the write.
//!
//! Invariant: only the holder of the hand writes, so there is one writer in the
//! process; the hand is gone once the writer has ended.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use rusqlite::Connection;
use tollgate_core::{
    Clock,
    store::{Batch, Durability, Receipt, StoreError},
};

use super::{
    apply::{Group, Refusal},
    desk::Desk,
    lock::{Held, WriteLock},
    open,
    prune::Pruner,
    queue::{Chores, Job, Queue, Wanted, closed},
};
use crate::{
    chain::{Anchor, Keyring, Seal},
    error::io_error,
};

/// Writes what comes through the queue, until it ends.
pub(crate) struct Writer {
    pub(crate) hand: Arc<SharedHand>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) desk: Arc<Desk>,
}

/// The hand of a process, which one thread at a time may use.
pub(crate) struct SharedHand(Mutex<Option<Hand>>);

/// The right to write, and what is needed for it.
pub(crate) struct Hand {
    lock: WriteLock,
    pen: Pen,
    /// How many commits the last transaction had.
    last: usize,
    /// How many times in a row there was only one, and nobody came meanwhile.
    alone: u32,
}

/// How long a transaction waits for as many commits as the last one had.
///
/// Callers that were just answered are about to come back, and a transaction
/// costs as much as several commits, so gathering them is cheaper for all.
const GATHER: Duration = Duration::from_millis(1);
/// With fewer callers than this, nobody waits for anybody.
const CROWD: usize = 4;
/// Whoever has been alone so often writes by itself.
const ALONE: u32 = 8;

/// However the writer ends, nobody waits for it in vain.
struct Farewell<'a>(&'a Writer);

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        let Writer { hand, queue, desk } = self.0;
        queue.close();
        refuse(queue.take(usize::MAX), &closed());
        desk.close();
        hand.put_down();
    }
}

/// What writes once the lock is held.
pub(crate) struct Pen {
    pub(crate) connection: Connection,
    pub(crate) queue: Arc<Queue>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) keyring: Keyring,
    pub(crate) anchor: Anchor,
    pub(crate) pruner: Pruner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chain: String,
    pub(crate) group: usize,
}

/// A transaction that was committed.
struct Written {
    outcomes: Vec<Result<Receipt, StoreError>>,
    seal: Option<Seal>,
    seq: u64,
}

impl Writer {
    /// Runs until there is nothing left and nothing more will come, or until a
    /// write broke off in a panic and nobody knows what it left behind.
    pub(crate) fn run(self) {
        let _farewell = Farewell(&self);
        let mut last = 0;
        while self.queue.wait() == Wanted::Work {
            if last >= CROWD {
                self.queue.gather(last, GATHER);
            }
            let Some(mut hand) = self.hand.take_up() else {
                return;
            };
            if let Some(hand) = hand.as_mut() {
                hand.turn();
                last = hand.last;
            }
        }
        if !self.desk.is_sealed()
            && let Some(mut hand) = self.hand.take_up()
            && let Some(hand) = hand.as_mut()
        {
            self.queue.want(|chores| chores.seal = true);
            hand.turn();
        }
    }
}

impl SharedHand {
    /// The hand, for whoever takes it up.
    pub(crate) fn new(hand: Hand) -> Self {
        Self(Mutex::new(Some(hand)))
    }

    /// Writes at once if nobody else writes or waits and the disk is not awaited;
    /// gives the batch back otherwise.
    pub(crate) fn write_now(&self, batch: Batch) -> Result<Result<Receipt, StoreError>, Batch> {
        if batch.durability == Durability::Disk {
            return Err(batch);
        }
        let Ok(mut hand) = self.0.try_lock() else {
            return Err(batch);
        };
        match hand.as_mut() {
            Some(hand) if hand.alone >= ALONE => hand.write_now(batch),
            Some(_) | None => Err(batch),
        }
    }

    /// Waits for the hand; none if its holder panicked.
    fn take_up(&self) -> Option<MutexGuard<'_, Option<Hand>>> {
        self.0.lock().ok()
    }

    /// Nobody writes any more, and the database is closed.
    fn put_down(&self) {
        let mut hand = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        hand.take();
    }
}

impl Hand {
    /// A hand that has not written yet.
    pub(crate) fn new(lock: WriteLock, pen: Pen) -> Self {
        Self {
            lock,
            pen,
            last: 0,
            alone: 0,
        }
    }

    /// Writes what waits, under the lock.
    fn turn(&mut self) {
        let held = match acquire(&self.lock, &self.pen.desk) {
            Ok(held) => held,
            Err(error) => return self.pen.refuse_all(&io_error(error)),
        };
        let chores = self.pen.queue.take_chores();
        let jobs = self.pen.queue.take(self.pen.group);
        self.pen.run_errands(&chores);
        if jobs.is_empty() && !chores.seal {
            return;
        }
        let written = self.pen.settle(jobs, self.pen.group, chores.seal, held);
        self.saw(written);
    }

    fn saw(&mut self, written: usize) {
        self.last = written;
        self.alone = if written > 1 || self.pen.queue.len() > 0 {
            0
        } else {
            self.alone.saturating_add(1)
        };
    }

    fn write_now(&mut self, batch: Batch) -> Result<Result<Receipt, StoreError>, Batch> {
        // Whoever came first is written first; and what the lock itself says is
        // said by the one who waits for it.
        let held = match self.lock.try_acquire() {
            Ok(Some(held)) if self.pen.queue.is_open_and_empty() => held,
            Ok(_) | Err(_) => return Err(batch),
        };
        let (job, mut answer) = Job::new(batch);
        let written = self.pen.settle(vec![job], 1, false, held);
        self.saw(written);
        Ok(answer.try_recv().unwrap_or_else(|_| Err(closed())))
    }
}

impl Pen {
    /// Does what else waits for the lock.
    fn run_errands(&self, chores: &Chores) {
        if let Some(prepared) = &chores.anchor {
            // An anchor that stays behind is caught up with by the next one.
            let _ = self.anchor.advance(prepared, &self.connection);
        }
        if chores.shorten {
            let _ = open::checkpoint(&self.connection);
        }
    }

    /// Writes `jobs`, and what arrives meanwhile, and answers them; says how many there were.
    fn settle(&mut self, mut jobs: Vec<Job>, most: usize, seal: bool, held: Held<'_>) -> usize {
        let written = self.write(&mut jobs, most, seal);
        let count = jobs.len();
        match written {
            Ok(written) => {
                drop(held);
                self.acknowledge(jobs, written);
            }
            // The log itself may be what takes the room.
            Err(StoreError::Full) => {
                let _ = open::checkpoint(&self.connection);
                self.write_singly(jobs);
            }
            // What one batch broke must not cost its neighbours; but when others
            // hold the database, asking for each would wait for each.
            Err(error) if jobs.len() < 2 || matches!(error, StoreError::Busy) => {
                drop(held);
                refuse(jobs, &error);
            }
            Err(_) => self.write_singly(jobs),
        }
        count
    }

    /// Writes all of `jobs`, and what arrives meanwhile up to `most`, in one transaction.
    fn write(
        &mut self,
        jobs: &mut Vec<Job>,
        most: usize,
        seal: bool,
    ) -> Result<Written, StoreError> {
        let now = self.clock.now();
        let mut group = Group::begin(&self.connection, &self.chain, now)?;
        let before = group.head().seq;
        let mut outcomes = Vec::with_capacity(jobs.len());
        while outcomes.len() < jobs.len() {
            for job in &jobs[outcomes.len()..] {
                match group.apply(&job.batch) {
                    Ok(receipt) => outcomes.push(Ok(receipt)),
                    Err(Refusal::Refused(error)) => outcomes.push(Err(error)),
                    Err(Refusal::Broken(error)) => return Err(error),
                }
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
        if self.pruner.is_due(before, head.seq) {
            self.pruner.prune(&self.connection, now)?;
        }
        group.commit()?;
        Ok(Written {
            outcomes,
            seal,
            seq: head.seq,
        })
    }

    /// Tells the keeper what to sync, and every caller that does not wait for it.
    fn acknowledge(&self, jobs: Vec<Job>, written: Written) {
        let mut now = Vec::with_capacity(jobs.len());
        let mut synced = Vec::new();
        for (job, outcome) in jobs.into_iter().zip(written.outcomes) {
            match (outcome, job.batch.durability) {
                (Ok(receipt), Durability::Disk) => synced.push((job.reply, receipt)),
                (outcome, Durability::Process | Durability::Disk) => {
                    now.push((job.reply, outcome));
                }
            }
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
            match self.write(&mut jobs, 1, false) {
                Ok(written) => self.acknowledge(jobs, written),
                Err(error) => refuse(jobs, &error),
            }
        }
    }

    fn refuse_all(&self, error: &StoreError) {
        self.queue.take_chores();
        refuse(self.queue.take(usize::MAX), error);
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
        StoreError::AlreadyEnded => StoreError::AlreadyEnded,
        StoreError::Conflict => StoreError::Conflict,
        StoreError::Missing => StoreError::Missing,
        StoreError::Busy => StoreError::Busy,
        StoreError::Full => StoreError::Full,
        StoreError::ReadOnly => StoreError::ReadOnly,
        StoreError::Corrupt(what) => StoreError::Corrupt(what.clone()),
        StoreError::Failed(source) => StoreError::Failed(source.to_string().into()),
    }
}
