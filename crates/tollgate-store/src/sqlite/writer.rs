//! The one thread of this process that writes.
//!
//! It takes the lock, takes what waits, and commits it all in one transaction:
//! callers share the cost of a commit, and other processes wait for one turn only.

use std::{io, sync::Arc, time::Duration};

use rusqlite::Connection;
use tollgate_core::{
    Clock,
    store::{Durability, Receipt, StoreError},
};

use super::{
    apply::{Group, Refusal},
    desk::Desk,
    lock::{Held, WriteLock},
    open,
    prune::Pruner,
    queue::{Job, Queue, Wanted, closed},
};
use crate::{
    chain::{Anchor, Keyring, Seal},
    error::io_error,
};

/// Writes until the queue ends.
pub(crate) struct Writer {
    pub(crate) lock: WriteLock,
    pub(crate) pen: Pen,
    /// How many commits the last transaction had.
    pub(crate) last: usize,
}

/// How long a transaction waits for half as many commits as the last one had.
///
/// Callers that were just answered are about to come back, and a transaction
/// costs as much as several commits, so gathering them is cheaper for all. Half
/// of them, so that the others have something to do while these are written.
const GATHER: Duration = Duration::from_millis(1);
/// With fewer callers than this, nobody waits for anybody.
const CROWD: usize = 4;

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
    /// Runs until there is nothing left and nothing more will come.
    pub(crate) fn run(mut self) {
        let _farewell = Farewell(Arc::clone(&self.pen.queue), Arc::clone(&self.pen.desk));
        while self.pen.queue.wait() == Wanted::Work {
            if self.last >= CROWD {
                self.pen.queue.gather(self.last / 2, GATHER);
            }
            self.turn();
        }
        if !self.pen.desk.is_sealed() {
            self.pen.queue.want(|chores| chores.seal = true);
            self.turn();
        }
    }

    /// Writes what waits, under the lock.
    fn turn(&mut self) {
        let held = match acquire(&self.lock, &self.pen.desk) {
            Ok(held) => held,
            Err(error) => return self.pen.refuse_all(&io_error(error)),
        };
        let chores = self.pen.queue.take_chores();
        let mut jobs = self.pen.queue.take(self.pen.group);
        if let Some(prepared) = &chores.anchor {
            // An anchor that stays behind is caught up with by the next one.
            let _ = self.pen.anchor.advance(prepared, &self.pen.connection);
        }
        if chores.shorten {
            let _ = open::checkpoint(&self.pen.connection);
        }
        if jobs.is_empty() && !chores.seal {
            return;
        }
        let written = self.pen.write(&mut jobs, self.pen.group, chores.seal);
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
            Err(error) if jobs.len() < 2 || matches!(error, StoreError::Busy) => {
                drop(held);
                refuse(jobs, &error);
            }
            Err(_) => self.pen.write_singly(jobs),
        }
    }
}

impl Pen {
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
