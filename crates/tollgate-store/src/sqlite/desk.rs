//! What the writer leaves for the keeper: commits to sync, heads to anchor.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tollgate_core::store::Receipt;

use super::queue::Reply;
use crate::chain::Seal;

/// Shared by the writer, which adds, and the keeper, which takes.
#[derive(Default)]
pub(crate) struct Desk {
    inner: Mutex<Inner>,
    wake: Condvar,
}

#[derive(Default)]
struct Inner {
    work: Work,
    /// The writer waits for other processes.
    blocked: bool,
    /// The writer is done.
    closing: bool,
    /// The keeper sleeps without an end.
    idle: bool,
}

/// What the keeper should do.
#[derive(Default)]
pub(crate) struct Work {
    /// Commits that may be acknowledged once the log is synced.
    pub(crate) waiting: Vec<(Reply, Receipt)>,
    /// Since when there is something to sync and to anchor.
    pub(crate) dirty_since: Option<Instant>,
    /// The last signed head in the log.
    pub(crate) seal: Option<Seal>,
    /// Where the chain of this process ends.
    pub(crate) seq: u64,
}

/// Why the keeper woke up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// Someone waits for the disk.
    Sync,
    /// It is time for the regular sync.
    Tick,
    /// The writer has been waiting for a while.
    Blocked,
    /// The writer is done.
    End,
}

impl Desk {
    /// Leaves a commit; `add` says what it brings.
    pub(crate) fn leave(&self, add: impl FnOnce(&mut Work)) {
        let mut inner = self.inner();
        inner.work.dirty_since.get_or_insert_with(Instant::now);
        add(&mut inner.work);
        if inner.idle || !inner.work.waiting.is_empty() {
            inner.idle = false;
            drop(inner);
            self.wake.notify_one();
        }
    }

    /// Says whether the writer waits for other processes.
    pub(crate) fn blocked(&self, blocked: bool) {
        let mut inner = self.inner();
        inner.blocked = blocked;
        if blocked && std::mem::take(&mut inner.idle) {
            drop(inner);
            self.wake.notify_one();
        }
    }

    /// Does something unless the writer has stopped waiting for other processes.
    pub(crate) fn while_blocked(&self, act: impl FnOnce()) {
        let inner = self.inner();
        if inner.blocked {
            act();
        }
        drop(inner);
    }

    /// Says that the writer is done.
    pub(crate) fn close(&self) {
        self.inner().closing = true;
        self.wake.notify_one();
    }

    /// Sleeps until there is something to do: at once for the disk, `interval`
    /// after the first unsynced commit, or every `patience` while the writer waits.
    pub(crate) fn wait(&self, interval: Duration, patience: Duration) -> Alarm {
        let mut inner = self.inner();
        let asleep = Instant::now();
        loop {
            if inner.closing {
                return Alarm::End;
            }
            if !inner.work.waiting.is_empty() {
                return Alarm::Sync;
            }
            let tick = inner.work.dirty_since.map(|since| since + interval);
            let look = inner.blocked.then(|| asleep + patience);
            let now = Instant::now();
            if tick.is_some_and(|at| at <= now) {
                return Alarm::Tick;
            }
            if look.is_some_and(|at| at <= now) {
                return Alarm::Blocked;
            }
            inner = match tick.into_iter().chain(look).min() {
                Some(at) => self
                    .wake
                    .wait_timeout(inner, at.saturating_duration_since(now))
                    .map_or_else(|poisoned| poisoned.into_inner().0, |(inner, _)| inner),
                None => {
                    inner.idle = true;
                    self.wake
                        .wait(inner)
                        .unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    /// Waits a little for a head that covers the chain; whoever waits for the disk goes first.
    pub(crate) fn wait_for_seal(&self, limit: Duration) {
        let (guard, _) = self
            .wake
            .wait_timeout_while(self.inner(), limit, |inner| {
                !inner.closing && inner.work.waiting.is_empty() && !inner.work.is_sealed()
            })
            .unwrap_or_else(PoisonError::into_inner);
        drop(guard);
    }

    /// A sync failed: the regular one comes again after a pause.
    pub(crate) fn sync_again(&self, pause: Duration) {
        self.inner().work.dirty_since = Instant::now().checked_add(pause);
    }

    /// Takes those who wait for the disk; the regular sync still comes.
    pub(crate) fn take_waiting(&self) -> Vec<(Reply, Receipt)> {
        std::mem::take(&mut self.inner().work.waiting)
    }

    /// Takes what has to be synced; where the chain ends stays known, and what came after the
    /// last signature has another turn.
    pub(crate) fn take(&self) -> Work {
        let mut inner = self.inner();
        let rest = Work {
            seal: inner.work.seal.clone(),
            seq: inner.work.seq,
            dirty_since: (!inner.work.is_sealed()).then(Instant::now),
            ..Work::default()
        };
        std::mem::replace(&mut inner.work, rest)
    }

    /// Whether the last commit of this process is under a signature.
    pub(crate) fn is_sealed(&self) -> bool {
        self.inner().work.is_sealed()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Work {
    fn is_sealed(&self) -> bool {
        self.seal.as_ref().map_or(0, |seal| seal.seq) >= self.seq
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_after_the_last_signature_has_another_turn() {
        let desk = Desk::default();
        let seal = Seal {
            seq: 1,
            hash: [0; 32],
            key: [0; 32],
            signature: [0; 64],
        };
        desk.leave(|work| work.seq = 1);
        desk.leave(|work| work.seal = Some(seal));
        desk.leave(|work| work.seq = 2);
        for _ in 0..2 {
            assert_eq!(desk.take().dirty_since.is_some(), !desk.is_sealed());
        }
        desk.leave(|work| work.seq = 1);
        desk.take();
        assert!(desk.take().dirty_since.is_none());
    }
}
