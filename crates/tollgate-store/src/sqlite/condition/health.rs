//! Whether commits of this process work, as the last ones showed.
//!
//! Invariants: the state counts as working only while a commit that worked is recent and no
//! failure came after it; after a failed sync nothing is acknowledged before a sync works.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tollgate_core::store::{LockHolder, StoreError};

/// A commit that worked so long ago still shows that commits work.
const RECENT: Duration = Duration::from_secs(5);
/// A failure counts for so long even if a smaller commit worked after it.
const LINGER: Duration = Duration::from_secs(1);
/// At most one commit of its own in this time.
const PROBE: Duration = Duration::from_secs(1);

/// What is known of the commits of this process.
#[derive(Default)]
pub(crate) struct Health {
    inner: Mutex<Inner>,
    /// A sync failed, and none has worked since.
    unsynced: AtomicBool,
    /// Another process keeps the lock.
    held: AtomicBool,
}

#[derive(Default)]
struct Inner {
    committed: Option<Instant>,
    failed: Option<(Instant, Fault)>,
    probed: Option<Instant>,
    holder: Option<LockHolder>,
}

/// What went wrong last.
#[derive(Clone)]
enum Fault {
    Full,
    ReadOnly,
    Unsynced,
    Corrupt(String),
    Failed(String),
}

/// What is to be said of the state.
pub(crate) enum Verdict {
    Works,
    Fails(StoreError),
    /// Only a commit can tell, and it is time for one.
    Unknown,
}

impl Health {
    /// A commit is in the log.
    pub(crate) fn committed(&self) {
        self.inner().committed = Some(Instant::now());
    }

    /// A commit failed; what the state refuses by its own rules is no failure.
    pub(crate) fn failed(&self, error: &StoreError) {
        let fault = match error {
            StoreError::Full => Fault::Full,
            StoreError::ReadOnly => Fault::ReadOnly,
            StoreError::Unsynced => Fault::Unsynced,
            StoreError::Corrupt(what) => Fault::Corrupt(what.clone()),
            StoreError::Failed(source) => Fault::Failed(source.to_string()),
            StoreError::Budget { .. }
            | StoreError::ApprovalGone
            | StoreError::ApprovalsFull
            | StoreError::AlreadyEnded
            | StoreError::Conflict
            | StoreError::Missing
            | StoreError::Busy
            | StoreError::Held(_)
            | StoreError::NotAcknowledged(_) => return,
        };
        self.inner().failed = Some((Instant::now(), fault));
    }

    /// The log was synced, or not.
    pub(crate) fn synced(&self, is_ok: bool) {
        if !is_ok {
            self.failed(&StoreError::Unsynced);
        }
        self.unsynced.store(!is_ok, Ordering::Release);
    }

    /// Whether a commit has to wait for a sync, whatever it asked for.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.unsynced.load(Ordering::Acquire)
    }

    /// Another process keeps the lock: commits are refused until it lets go.
    pub(crate) fn hold(&self, holder: LockHolder) {
        self.inner().holder = Some(holder);
        self.held.store(true, Ordering::Release);
    }

    /// The lock was taken.
    pub(crate) fn release(&self) {
        if self.held.swap(false, Ordering::AcqRel) {
            self.inner().holder = None;
        }
    }

    /// Who keeps the lock, if it is known that somebody does.
    pub(crate) fn holder(&self) -> Option<LockHolder> {
        if !self.held.load(Ordering::Acquire) {
            return None;
        }
        self.inner().holder
    }

    /// What is known now; whoever is told that nothing is known has to try a commit.
    pub(crate) fn verdict(&self) -> Verdict {
        if let Some(holder) = self.holder() {
            return Verdict::Fails(StoreError::Held(holder));
        }
        let mut inner = self.inner();
        let failure = inner.failed.clone().filter(|(at, _)| {
            inner.committed.is_none_or(|committed| committed <= *at) || at.elapsed() < LINGER
        });
        let is_recent = inner.committed.is_some_and(|at| at.elapsed() < RECENT);
        if failure.is_none() && is_recent {
            return Verdict::Works;
        }
        if inner.probed.is_none_or(|at| at.elapsed() >= PROBE) {
            inner.probed = Some(Instant::now());
            return Verdict::Unknown;
        }
        match failure {
            Some((_, fault)) => Verdict::Fails(fault.into()),
            // The commit that was tried is still under way, and not for long.
            None => Verdict::Works,
        }
    }

    /// The failure that still counts after a commit of its own worked.
    pub(crate) fn lingering(&self) -> Option<StoreError> {
        let inner = self.inner();
        let (at, fault) = inner.failed.as_ref()?;
        (at.elapsed() < LINGER).then(|| fault.clone().into())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Full => Self::Full,
            Fault::ReadOnly => Self::ReadOnly,
            Fault::Unsynced => Self::Unsynced,
            Fault::Corrupt(what) => Self::Corrupt(what),
            Fault::Failed(source) => Self::Failed(source.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_after_a_commit_is_told_and_a_commit_is_tried_once_a_second() {
        let health = Health::default();
        assert!(matches!(health.verdict(), Verdict::Unknown));
        health.committed();
        assert!(matches!(health.verdict(), Verdict::Works));
        health.failed(&StoreError::Full);
        assert!(matches!(health.verdict(), Verdict::Fails(StoreError::Full)));
        health.committed();
        assert!(matches!(health.verdict(), Verdict::Fails(StoreError::Full)));
    }

    #[test]
    fn a_refusal_of_the_state_is_no_failure() {
        let health = Health::default();
        health.committed();
        for error in [
            StoreError::Conflict,
            StoreError::Budget { left: 0 },
            StoreError::Busy,
        ] {
            health.failed(&error);
            assert!(matches!(health.verdict(), Verdict::Works), "{error}");
        }
    }

    #[test]
    fn whoever_keeps_the_lock_is_named_until_it_lets_go() {
        let health = Health::default();
        health.committed();
        let holder = LockHolder {
            pid: Some(7),
            is_stopped: true,
        };
        health.hold(holder);
        assert_eq!(health.holder(), Some(holder));
        assert!(matches!(
            health.verdict(),
            Verdict::Fails(StoreError::Held(_))
        ));
        health.release();
        assert!(matches!(health.verdict(), Verdict::Works));
    }
}
