//! How long whoever writes for a crowd waits for more of it.
//!
//! A transaction costs as much as several commits, and the calls of one server end one after
//! the other: taken as they come, they would hardly share any. Invariants: nobody waits for
//! few, for longer than [`PATIENCE`], or while nobody comes for [`PAUSE`]; and all waiting
//! together lasts no longer than those who came meanwhile were worth, but for a first try now
//! and then.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

/// The longest wait for others.
pub(super) const PATIENCE: Duration = Duration::from_micros(300);
/// The longest wait for the next of them.
pub(super) const PAUSE: Duration = Duration::from_micros(100);
/// Fewer commits than this are not worth a wait.
const FEW: usize = 3;
/// How many microseconds of waiting a commit is worth that came meanwhile.
const WORTH: usize = 200;
/// What a transaction that waits for nobody adds to the next try.
const TRY: usize = 10;
/// The most that is saved up.
const MOST: usize = 5_000;

/// What is known of those who may commit together.
pub(super) struct Crowd {
    /// How many calls may commit soon, as far as somebody said so.
    foreseen: AtomicUsize,
    /// For how many microseconds may still be waited. Only whoever leads changes it.
    saved: AtomicUsize,
}

impl Default for Crowd {
    fn default() -> Self {
        Self {
            foreseen: AtomicUsize::new(0),
            saved: AtomicUsize::new(micros(PATIENCE)),
        }
    }
}

impl Crowd {
    /// So many calls may commit soon.
    pub(super) fn foresee(&self, calls: usize) {
        self.foreseen.store(calls, Ordering::Relaxed);
    }

    /// So many commits are enough: half as many as are still to come, so that their servers
    /// have something to do meanwhile. Where only few will come, any number is.
    pub(super) fn enough(&self) -> usize {
        let half = self.foreseen.load(Ordering::Relaxed) / 2;
        if half < FEW { 0 } else { half }
    }

    /// Whether the next transaction may wait.
    pub(super) fn may_wait(&self) -> bool {
        let saved = self.saved.load(Ordering::Relaxed);
        let can = saved >= micros(PATIENCE);
        if !can {
            self.saved.store(saved + TRY, Ordering::Relaxed);
        }
        can
    }

    /// So many came within a wait.
    pub(super) fn came(&self, count: usize, waited: Duration) {
        let saved = self.saved.load(Ordering::Relaxed) + count.saturating_mul(WORTH);
        let left = saved.saturating_sub(micros(waited)).min(MOST);
        self.saved.store(left, Ordering::Relaxed);
    }
}

fn micros(duration: Duration) -> usize {
    usize::try_from(duration.as_micros()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand transactions waited, if each wait lasts this long and brings
    /// so many commits.
    fn waits(waited: Duration, count: usize) -> usize {
        let crowd = Crowd::default();
        let one = |_: &usize| {
            let waits = crowd.may_wait();
            if waits {
                crowd.came(count, waited);
            }
            waits
        };
        (0..1_000).filter(one).count()
    }

    #[test]
    fn half_of_those_to_come_are_enough_and_few_are_not_waited_for() {
        let crowd = Crowd::default();
        for (foreseen, enough) in [(0, 0), (1, 0), (5, 0), (6, 3), (7, 3), (32, 16), (1, 0)] {
            crowd.foresee(foreseen);
            assert_eq!(crowd.enough(), enough, "{foreseen}");
        }
    }

    #[test]
    fn whoever_comes_pays_for_the_wait() {
        assert_eq!(waits(PATIENCE, 2), 1_000);
        assert_eq!(waits(PATIENCE / 2, 1), 1_000);
    }

    #[test]
    fn a_wait_in_vain_is_tried_again_now_and_then_only() {
        assert_eq!(waits(PATIENCE, 0), 1 + 999 / 31);
        assert_eq!(waits(PATIENCE, 1), 1 + 999 / 11);
    }

    #[test]
    fn a_crowd_that_stays_away_is_soon_no_longer_waited_for() {
        let crowd = Crowd::default();
        crowd.came(1_000, PATIENCE);
        let mut waits = 0;
        while crowd.may_wait() {
            crowd.came(0, PATIENCE);
            waits += 1;
        }
        assert_eq!(waits, MOST / micros(PATIENCE));
    }
}
