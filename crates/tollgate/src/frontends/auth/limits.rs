//! How much one principal may ask for: a bucket of requests that fills with time, and a
//! number of requests at once.
//!
//! A refused request costs nothing, and a principal that is quiet long enough to have a full
//! bucket is forgotten when room is needed, so memory is bounded whoever calls.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tollgate_core::Principal;

/// Principals that are remembered at the same time.
const PRINCIPALS: usize = 16_384;
/// How long to wait before looking for quiet principals once more.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(1);

/// The most streams on which one principal listens at once.
const LISTENING: usize = 1024;

/// The limits of every principal.
pub(crate) struct PrincipalLimits {
    per_second: f64,
    burst: f64,
    concurrent: usize,
    most: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    principals: HashMap<Principal, Arc<Account>>,
    swept: Option<Instant>,
}

struct Account {
    running: AtomicUsize,
    listening: AtomicUsize,
    bucket: Mutex<Bucket>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

/// One request that is being answered; dropping it makes room for another.
pub(crate) struct Guard {
    account: Arc<Account>,
    listens: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.account.of(self.listens).fetch_sub(1, Ordering::AcqRel);
    }
}

impl Account {
    fn of(&self, listens: bool) -> &AtomicUsize {
        if listens {
            &self.listening
        } else {
            &self.running
        }
    }
}

impl Guard {
    /// Gives up the place a call could have for one of those who only listen.
    pub(crate) fn listening(self) -> Result<Self, u64> {
        let account = Arc::clone(&self.account);
        if account.listening.fetch_add(1, Ordering::AcqRel) >= LISTENING {
            account.listening.fetch_sub(1, Ordering::AcqRel);
            return Err(1);
        }
        let listens = true;
        Ok(Self { account, listens })
    }
}

impl PrincipalLimits {
    /// `concurrent` requests at once, `burst` of them after a pause, `per_second` in the
    /// long run.
    pub(crate) fn new(per_second: u32, burst: u32, concurrent: usize) -> Self {
        Self {
            per_second: f64::from(per_second.max(1)),
            burst: f64::from(burst.max(1)),
            concurrent: concurrent.max(1),
            most: PRINCIPALS,
            known: Mutex::default(),
        }
    }

    /// Lets a request in, or says after how many seconds to try again.
    pub(crate) fn enter(&self, principal: &Principal, now: Instant) -> Result<Guard, u64> {
        let account = self.account(principal, now).ok_or(1_u64)?;
        let mut bucket = lock(&account.bucket);
        // The bucket is locked, so nobody else of this principal enters in between.
        if account.running.load(Ordering::Acquire) >= self.concurrent {
            return Err(1);
        }
        self.take(&mut bucket, now)?;
        account.running.fetch_add(1, Ordering::AcqRel);
        drop(bucket);
        let listens = false;
        Ok(Guard { account, listens })
    }

    /// Lets somebody in who only listens.
    pub(crate) fn listen(&self, principal: &Principal, now: Instant) -> Result<Guard, u64> {
        self.enter(principal, now)?.listening()
    }

    /// Lets something pass that is over at once, such as a notification. It needs no place of
    /// a request: whoever has taken all of them can still cancel one.
    pub(crate) fn pass(&self, principal: &Principal, now: Instant) -> Result<(), u64> {
        let account = self.account(principal, now).ok_or(1_u64)?;
        let mut bucket = lock(&account.bucket);
        self.take(&mut bucket, now)
    }

    fn take(&self, bucket: &mut Bucket, now: Instant) -> Result<(), u64> {
        self.fill(bucket, now);
        if bucket.left < 1.0 {
            let wait = (1.0 - bucket.left) / self.per_second;
            return Err((wait.ceil() as u64).max(1));
        }
        bucket.left -= 1.0;
        Ok(())
    }

    fn account(&self, principal: &Principal, now: Instant) -> Option<Arc<Account>> {
        let mut known = lock(&self.known);
        if let Some(account) = known.principals.get(principal) {
            return Some(Arc::clone(account));
        }
        if known.principals.len() >= self.most {
            let elapsed = known.swept.map(|at| now.saturating_duration_since(at));
            if elapsed.is_none_or(|elapsed| elapsed >= BETWEEN_SWEEPS) {
                known.swept = Some(now);
                known
                    .principals
                    .retain(|_, account| !self.is_quiet(account, now));
            }
        }
        if known.principals.len() >= self.most {
            return None;
        }
        let account = Arc::new(Account {
            running: AtomicUsize::new(0),
            listening: AtomicUsize::new(0),
            bucket: Mutex::new(Bucket {
                left: self.burst,
                at: now,
            }),
        });
        known
            .principals
            .insert(principal.clone(), Arc::clone(&account));
        Some(account)
    }

    /// Nobody holds it, and a new one would be just the same.
    fn is_quiet(&self, account: &Arc<Account>, now: Instant) -> bool {
        let mut bucket = lock(&account.bucket);
        self.fill(&mut bucket, now);
        Arc::strong_count(account) == 1 && bucket.left >= self.burst
    }

    fn fill(&self, bucket: &mut Bucket, now: Instant) {
        let passed = now.saturating_duration_since(bucket.at);
        bucket.left = self
            .burst
            .min(bucket.left + passed.as_secs_f64() * self.per_second);
        bucket.at = bucket.at.max(now);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(id: &str) -> Principal {
        Principal::token(id)
    }

    #[test]
    fn a_burst_is_let_in_and_then_the_long_run_counts() {
        let limits = PrincipalLimits::new(2, 3, 100);
        let start = Instant::now();
        let enter = |millis| {
            let now = start + Duration::from_millis(millis);
            limits.enter(&who("a"), now).map(drop)
        };
        assert_eq!([0; 4].map(enter), [Ok(()), Ok(()), Ok(()), Err(1)]);
        assert_eq!([499, 500, 501].map(enter), [Err(1), Ok(()), Err(1)]);
        // An hour later there is a burst again, not an hour's worth.
        let hour = 3_600_000;
        assert_eq!([hour; 4].map(enter), [Ok(()), Ok(()), Ok(()), Err(1)]);
    }

    #[test]
    fn a_slow_bucket_says_how_long_it_takes() {
        let limits = PrincipalLimits::new(1, 1, 100);
        let start = Instant::now();
        assert!(limits.enter(&who("a"), start).is_ok());
        assert_eq!(limits.enter(&who("a"), start).err(), Some(1));
        // A clock that goes back neither fills nor empties anything.
        let later = start + Duration::from_secs(10);
        assert!(limits.enter(&who("a"), later).is_ok());
        assert_eq!(limits.enter(&who("a"), start).err(), Some(1));
    }

    #[test]
    fn room_is_made_when_a_request_ends() {
        let limits = PrincipalLimits::new(1000, 1000, 2);
        let now = Instant::now();
        let first = limits.enter(&who("a"), now).ok();
        let second = limits.enter(&who("a"), now).ok();
        assert!(first.is_some() && second.is_some());
        assert_eq!(limits.enter(&who("a"), now).err(), Some(1));
        drop(first);
        assert!(limits.enter(&who("a"), now).is_ok());
    }

    #[test]
    fn what_is_over_at_once_counts_but_needs_no_place() {
        let limits = PrincipalLimits::new(1, 3, 1);
        let now = Instant::now();
        let held = limits.enter(&who("a"), now).ok();
        assert!(held.is_some());
        let passed = [(); 3].map(|()| limits.pass(&who("a"), now));
        assert_eq!(passed, [Ok(()), Ok(()), Err(1)]);
        assert_eq!(limits.pass(&who("b"), now), Ok(()));
        drop(held);
        assert_eq!(limits.enter(&who("a"), now).err(), Some(1), "all is spent");
    }

    #[test]
    fn principals_do_not_disturb_each_other() {
        let limits = PrincipalLimits::new(1, 1, 1);
        let now = Instant::now();
        let held = limits.enter(&who("a"), now).ok();
        assert!(limits.enter(&who("a"), now).is_err());
        assert!(limits.enter(&who("b"), now).is_ok());
        drop(held);
    }

    #[test]
    fn a_refused_request_costs_nothing() {
        let limits = PrincipalLimits::new(1, 2, 1);
        let now = Instant::now();
        let held = limits.enter(&who("a"), now).ok();
        for _ in 0..100 {
            assert!(limits.enter(&who("a"), now).is_err());
        }
        drop(held);
        assert!(limits.enter(&who("a"), now).is_ok());
    }

    #[test]
    fn only_the_quiet_are_forgotten() {
        let mut limits = PrincipalLimits::new(1, 2, 10);
        limits.most = 2;
        let start = Instant::now();
        let busy = limits.enter(&who("busy"), start).ok();
        drop(limits.enter(&who("spent"), start));
        assert_eq!(limits.enter(&who("new"), start).err(), Some(1));
        let later = start + Duration::from_secs(5);
        assert!(limits.enter(&who("new"), later).is_ok());
        let names: Vec<String> = lock(&limits.known)
            .principals
            .keys()
            .map(ToString::to_string)
            .collect();
        assert_eq!(names.len(), 2);
        assert!(names.contains(&"token:busy".to_owned()), "{names:?}");
        drop(busy);
    }

    #[test]
    fn many_at_once_never_pass_the_limit() {
        let limits = PrincipalLimits::new(1_000_000, 1_000_000, 4);
        let now = Instant::now();
        let most = AtomicUsize::new(0);
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        if let Ok(guard) = limits.enter(&who("a"), now) {
                            let here = inside.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(here, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(guard);
                        }
                    }
                });
            }
        });
        assert!(most.into_inner() <= 4);
    }

    #[test]
    fn who_listens_takes_no_place_of_a_call_but_one_of_its_own() {
        let limits = PrincipalLimits::new(100_000, 100_000, 1);
        let now = Instant::now();
        let mut all: Vec<Guard> = (0..LISTENING)
            .map(|_| limits.listen(&who("a"), now).unwrap())
            .collect();
        let call = limits.enter(&who("a"), now).unwrap();
        assert!(limits.enter(&who("a"), now).is_err());
        drop(call);
        assert!(limits.listen(&who("a"), now).is_err());
        assert!(limits.listen(&who("b"), now).is_ok());
        all.pop();
        assert!(limits.listen(&who("a"), now).is_ok());
    }
}
