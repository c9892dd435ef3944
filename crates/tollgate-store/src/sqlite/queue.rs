//! Commits on their way to the one thread that writes.
//!
//! Invariant: a job is answered exactly once, by whoever took it out: the writer,
//! or the keeper when it has waited too long. One that is still here was not begun.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;
use tollgate_core::store::{Batch, Receipt, StoreError};

/// Where the answer to a commit goes.
pub(crate) type Reply = oneshot::Sender<Result<Receipt, StoreError>>;

/// One commit.
pub(crate) struct Job {
    pub(crate) batch: Arc<Batch>,
    pub(crate) reply: Reply,
    since: Instant,
}

/// Commits that wait, and what else the writer should do.
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    wake: Condvar,
    bound: usize,
}

#[derive(Default)]
struct Inner {
    jobs: VecDeque<Job>,
    chores: Chores,
    closing: bool,
    idle: bool,
    /// Below so many commits the writer need not be woken.
    enough: usize,
}

/// What needs the lock, and is therefore left to the writer.
#[derive(Default)]
pub(crate) struct Chores {
    /// The head should be signed.
    pub(crate) seal: bool,
    /// The rest of the log should be moved into the database.
    pub(crate) shorten: bool,
}

impl Chores {
    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        !self.seal && !self.shorten
    }
}

/// Why the writer woke up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// There are commits or chores.
    Work,
    /// Nothing more will come.
    End,
}

impl Queue {
    /// A queue that refuses the commit after `bound`.
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            inner: Mutex::default(),
            wake: Condvar::new(),
            bound,
        }
    }

    /// Adds a commit.
    pub(crate) fn push(
        &self,
        batch: Arc<Batch>,
    ) -> Result<oneshot::Receiver<Result<Receipt, StoreError>>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let since = Instant::now();
        let mut inner = self.inner();
        if inner.closing {
            return Err(closed());
        }
        if inner.jobs.len() >= self.bound {
            return Err(StoreError::Busy);
        }
        inner.jobs.push_back(Job {
            batch,
            reply,
            since,
        });
        self.wake_if_idle(inner);
        Ok(answer)
    }

    /// Asks the writer to do something with its next commits, or by itself.
    pub(crate) fn want(&self, add: impl FnOnce(&mut Chores)) {
        let mut inner = self.inner();
        add(&mut inner.chores);
        self.wake_if_idle(inner);
    }

    /// Says that nothing more will come.
    pub(crate) fn close(&self) {
        let mut inner = self.inner();
        inner.closing = true;
        self.wake_if_idle(inner);
    }

    /// Sleeps until there is something to do.
    pub(crate) fn wait(&self) -> Wanted {
        let mut inner = self.inner();
        loop {
            if !inner.jobs.is_empty() || !inner.chores.is_empty() {
                return Wanted::Work;
            }
            if inner.closing {
                return Wanted::End;
            }
            inner.idle = true;
            inner = self
                .wake
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
            inner.idle = false;
        }
    }

    /// Sleeps until `enough` commits wait, but not for longer than `limit`.
    pub(crate) fn gather(&self, enough: usize, limit: Duration) {
        let mut inner = self.inner();
        if inner.jobs.len() >= enough || inner.closing {
            return;
        }
        inner.enough = enough;
        let waiting = |inner: &mut Inner| {
            inner.idle = inner.jobs.len() < enough && !inner.closing;
            inner.idle
        };
        let (mut inner, _) = self
            .wake
            .wait_timeout_while(inner, limit, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        inner.enough = 0;
        inner.idle = false;
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        let inner = self.inner();
        inner.jobs.is_empty() && !inner.closing
    }

    /// Takes what waits, up to `most`.
    pub(crate) fn take(&self, most: usize) -> Vec<Job> {
        let mut inner = self.inner();
        let count = inner.jobs.len().min(most);
        inner.jobs.drain(..count).collect()
    }

    /// Takes what else should be done.
    pub(crate) fn take_chores(&self) -> Chores {
        std::mem::take(&mut self.inner().chores)
    }

    /// Takes what has waited for longer than `limit`.
    pub(crate) fn take_stale(&self, limit: Duration) -> Vec<Job> {
        let mut inner = self.inner();
        let stale = inner
            .jobs
            .iter()
            .take_while(|job| job.since.elapsed() >= limit)
            .count();
        inner.jobs.drain(..stale).collect()
    }

    /// Wakes the writer once: until it has looked, those who come later need not.
    fn wake_if_idle(&self, mut inner: MutexGuard<'_, Inner>) {
        let wakes = inner.idle && (inner.jobs.len() >= inner.enough || inner.closing);
        if wakes {
            inner.idle = false;
        }
        drop(inner);
        if wakes {
            self.wake.notify_one();
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a commit after the end is told.
pub(crate) fn closed() -> StoreError {
    StoreError::Failed("the store is closed".into())
}
