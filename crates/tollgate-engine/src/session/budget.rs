//! What callers may hold: sessions, memory, and bodies on disk, each for one principal and for
//! all of them together.
//!
//! Invariant: only kept answers and bodies for replay ever give way. What a session must not
//! forget (its ledger, marks of taint, approvals, effects, the record) is never dropped to make
//! room: a call that would need more is `overloaded`.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use tollgate_core::{Principal, Timestamp};

use crate::settings::Budgets;

/// Principals whose bodies are counted at once; those with a full allowance are forgotten first.
const MAX_PRINCIPALS: usize = 16_384;
const DAY_MS: u64 = 86_400_000;

/// Bytes that sessions hold in memory, counted as they change.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) all: Arc<AtomicUsize>,
    pub(super) own: Arc<AtomicUsize>,
}

impl Held {
    /// Takes the place of `before` bytes with `after`.
    pub(super) fn change(&self, before: usize, after: usize) {
        for counter in [&self.all, &self.own] {
            if after >= before {
                counter.fetch_add(after - before, Ordering::AcqRel);
            } else {
                counter.fetch_sub(before - after, Ordering::AcqRel);
            }
        }
    }
}

/// What was refused or gave way since the process began.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(super) answers_evicted: AtomicU64,
    pub(super) sessions_refused: AtomicU64,
    bodies_left_out: AtomicU64,
}

impl Counters {
    pub(crate) fn answers_evicted(&self) -> u64 {
        self.answers_evicted.load(Ordering::Relaxed)
    }

    pub(crate) fn sessions_refused(&self) -> u64 {
        self.sessions_refused.load(Ordering::Relaxed)
    }

    pub(crate) fn bodies_left_out(&self) -> u64 {
        self.bodies_left_out.load(Ordering::Relaxed)
    }
}

/// Bytes that may be written, filled again in the course of a day.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    left: u64,
    at: Timestamp,
}

impl Allowance {
    fn fill(&mut self, most: u64, now: Timestamp) {
        let passed = u64::try_from(now.0.saturating_sub(self.at.0)).unwrap_or(0);
        let more = u128::from(most) * u128::from(passed) / u128::from(DAY_MS);
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        // Less than a byte is left to pass on.
        if more > 0 {
            self.left = self.left.saturating_add(more).min(most);
            self.at = self.at.max(now);
        }
    }
}

/// Bodies for replay that may still be written.
#[derive(Debug, Default)]
pub(crate) struct BodyBudget(Mutex<Allowances>);

#[derive(Debug, Default)]
struct Allowances {
    all: Option<Allowance>,
    own: HashMap<Principal, Allowance>,
}

impl BodyBudget {
    /// Whether a body of so many bytes may be written for a principal; counts it if so.
    pub(crate) fn take(
        &self,
        (budgets, counters): (&Budgets, &Counters),
        principal: &Principal,
        bytes: usize,
        now: Timestamp,
    ) -> bool {
        let bytes = bytes as u64;
        let (most, most_own) = (
            budgets.body_bytes_per_day,
            budgets.body_bytes_per_day_per_principal,
        );
        let full = |most| Allowance {
            left: most,
            at: now,
        };
        let mut state = lock(&self.0);
        let Allowances { all, own } = &mut *state;
        if own.len() >= MAX_PRINCIPALS && !own.contains_key(principal) {
            own.retain(|_, allowance| {
                allowance.fill(most_own, now);
                allowance.left < most_own
            });
        }
        let all = all.get_or_insert_with(|| full(most));
        all.fill(most, now);
        let has_room = own.len() < MAX_PRINCIPALS || own.contains_key(principal);
        let fits = has_room && all.left >= bytes && {
            let own = own
                .entry(principal.clone())
                .or_insert_with(|| full(most_own));
            own.fill(most_own, now);
            let fits = own.left >= bytes;
            if fits {
                own.left -= bytes;
                all.left -= bytes;
            }
            fits
        };
        if !fits {
            counters.bodies_left_out.fetch_add(1, Ordering::Relaxed);
        }
        fits
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_of_one_leave_room_for_those_of_others_and_come_back_with_time() {
        let budgets = Budgets {
            body_bytes_per_day: 250,
            body_bytes_per_day_per_principal: 100,
            ..Budgets::default()
        };
        let (bodies, counters) = (BodyBudget::default(), Counters::default());
        let take = |who: &str, bytes, at| {
            let principal = Principal::token(who);
            bodies.take((&budgets, &counters), &principal, bytes, Timestamp(at))
        };
        assert!(take("a", 60, 0) && take("a", 40, 0) && !take("a", 1, 0));
        assert!(take("b", 100, 0), "another has an allowance of its own");
        assert!(
            take("c", 50, 0) && !take("c", 10, 0),
            "all together have one"
        );
        let half = 43_200_000;
        assert!(!take("a", 60, half) && take("a", 50, half));
        assert!(
            !take("a", 60, half - 1000),
            "a clock that goes back fills nothing"
        );
        assert_eq!(counters.bodies_left_out(), 4);
    }
}
