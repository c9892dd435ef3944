//! Commits on their way to whoever writes them.
//!
//! Invariants: a job is answered exactly once, by whoever took it out and did not put it
//! back: a writer, or the keeper when it has waited too long. One that is here was not
//! begun, or it was undone. While somebody leads, the thread leaves the jobs to them.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;
use tollgate_core::store::{Batch, Receipt, StoreError};

/// Where the answer to a commit goes.
pub(crate) type Reply = oneshot::Sender<Result<Receipt, StoreError>>;

/// Where the answer to a commit comes from.
pub(crate) type Answer = oneshot::Receiver<Result<Receipt, StoreError>>;

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
    /// A caller will write what waits.
    is_led: bool,
    /// One of them should not wait for others.
    is_hurried: bool,
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

    /// Adds a commit for the thread.
    pub(crate) fn push(&self, batch: Arc<Batch>) -> Result<Answer, StoreError> {
        let (answer, mut inner) = self.add(batch)?;
        inner.is_hurried = true;
        self.wake_if_idle(inner);
        Ok(answer)
    }

    /// Adds a commit without waking anyone; says whether the caller has to lead.
    pub(crate) fn join(&self, batch: Arc<Batch>) -> Result<(Answer, bool), StoreError> {
        let (answer, mut inner) = self.add(batch)?;
        let leads = !std::mem::replace(&mut inner.is_led, true);
        Ok((answer, leads))
    }

    /// How many commits wait.
    pub(crate) fn len(&self) -> usize {
        self.inner().jobs.len()
    }

    /// Whether whoever leads need not wait any longer: enough have come, others took them all,
    /// or one of them is in a hurry.
    pub(crate) fn is_gathered(&self, enough: usize) -> bool {
        let inner = self.inner();
        let waiting = inner.jobs.len();
        waiting == 0 || waiting >= enough || inner.is_hurried || inner.closing
    }

    /// Whoever led has come to write.
    pub(crate) fn arrive(&self) {
        self.inner().is_led = false;
    }

    /// Whoever led does not write after all: the thread does.
    pub(crate) fn hand_over(&self, jobs: Vec<Job>) {
        let mut inner = self.inner();
        inner.is_led = false;
        for job in jobs.into_iter().rev() {
            inner.jobs.push_front(job);
        }
        self.wake_if_idle(inner);
    }

    fn add(&self, batch: Arc<Batch>) -> Result<(Answer, MutexGuard<'_, Inner>), StoreError> {
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
        Ok((answer, inner))
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
            let is_mine = !inner.is_led || inner.closing;
            if (is_mine && !inner.jobs.is_empty()) || !inner.chores.is_empty() {
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
        inner.is_hurried &= count < inner.jobs.len();
        inner.jobs.drain(..count).collect()
    }

    /// How long the first has waited.
    pub(crate) fn oldest(&self) -> Option<Duration> {
        self.inner().jobs.front().map(|job| job.since.elapsed())
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
