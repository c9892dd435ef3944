//! All sessions in use, and what they hold together.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tollgate_core::{
    ErrorCode, Principal, SessionKey, Store, StoreError, Timestamp, store::Session,
};

use super::{
    BodyBudget, Counters, Opening, Sealed, SessionState, State, budget::Held, limit_is_set,
    memory::Memory, sealed::Vault, taint::Marks,
};
use crate::{call::Stop, settings::Budgets};

/// A session that was not used for so long counts no more, if it is nothing to forget.
const LIVE: Duration = Duration::from_secs(3600);
/// How long to wait before looking for such sessions once more.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(1);
/// A session with marks of taint is not forgotten before.
const MARKED_LIVE: Duration = Duration::from_secs(86_400);

/// Every session in use.
pub(crate) struct Sessions {
    open: Mutex<Open>,
    all: Arc<AtomicUsize>,
    adding: Mutex<()>,
    pub(crate) counters: Counters,
    pub(crate) bodies: BodyBudget,
}

#[derive(Default)]
struct Open {
    sessions: HashMap<SessionKey, Arc<SessionState>>,
    holders: HashMap<Principal, Holder>,
    swept: Option<Timestamp>,
}

/// What one principal holds.
#[derive(Default)]
struct Holder {
    sessions: usize,
    bytes: Arc<AtomicUsize>,
}

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum SessionError {
    /// There are too many, and none that may be forgotten.
    Full,
    Store(StoreError),
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SessionError> for Stop {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Full => full("too many sessions are in use"),
            SessionError::Store(error) => error.into(),
        }
    }
}

/// What a caller is told who would need more than there may be.
fn full(message: &str) -> Stop {
    let mut stop = Stop::new(ErrorCode::Overloaded, message);
    stop.failure.retry_after_seconds = Some(60);
    stop
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self {
            open: Mutex::default(),
            all: Arc::default(),
            adding: Mutex::default(),
            counters: Counters::default(),
            bodies: BodyBudget::default(),
        }
    }

    /// The session of this key, created if need be.
    pub(crate) async fn open(
        &self,
        store: &dyn Store,
        key: &SessionKey,
        opening: Opening,
    ) -> Result<Arc<SessionState>, SessionError> {
        if let Some(session) = self.in_use(key) {
            session.with(|state| state.used = state.used.max(opening.at));
            return Ok(session);
        }
        self.make_room(&mut self.lock(), &key.principal, &opening)?;
        let stored = store.session(key).await?;
        let opened = stored.is_some();
        let relimited = match (&stored, opening.limit) {
            (Some(stored), Some(limit)) if stored.limit != Some(limit) => {
                !limit_is_set(store, key, opening.at).await?
            }
            (Some(_) | None, _) => false,
        };
        let mut known = stored.unwrap_or_else(|| Session {
            limit: opening.limit,
            ..Session::new(key.clone(), opening.at)
        });
        if relimited {
            known.limit = opening.limit;
        }
        let state = State {
            known,
            opened,
            relimited,
            memory: Memory::default(),
            marks: Marks::default(),
            vault: Vault::default(),
            failures: HashMap::new(),
            used: opening.at,
        };
        self.enter(key, state, opening)
    }

    fn enter(
        &self,
        key: &SessionKey,
        state: State,
        opening: Opening,
    ) -> Result<Arc<SessionState>, SessionError> {
        let mut open = self.lock();
        if let Some(session) = open.sessions.get(key) {
            return Ok(Arc::clone(session));
        }
        // Others may have come in meanwhile.
        self.make_room(&mut open, &key.principal, &opening)?;
        let holder = open.holders.entry(key.principal.clone()).or_default();
        holder.sessions += 1;
        let held = Held {
            all: Arc::clone(&self.all),
            own: Arc::clone(&holder.bytes),
        };
        let fresh = Arc::new(SessionState {
            key: key.clone(),
            lifetime: opening.lifetime,
            held,
            state: Mutex::new(state),
        });
        open.sessions.insert(key.clone(), Arc::clone(&fresh));
        Ok(fresh)
    }

    /// Forgets sessions that were not used for long if there are too many.
    fn make_room(
        &self,
        open: &mut Open,
        principal: &Principal,
        opening: &Opening,
    ) -> Result<(), SessionError> {
        let budgets = &opening.budgets;
        let own = |open: &Open| open.holders.get(principal).map_or(0, |it| it.sessions);
        let is_full = |open: &Open| {
            own(open) >= budgets.sessions_per_principal || open.sessions.len() >= budgets.sessions
        };
        if is_full(open) {
            open.forget(opening.at);
        }
        if is_full(open) {
            let refused = &self.counters.sessions_refused;
            refused.fetch_add(1, Ordering::Relaxed);
            return Err(SessionError::Full);
        }
        Ok(())
    }

    /// Drops kept answers of whoever holds most, until they are within their budgets again.
    pub(crate) fn trim(&self, budgets: &Budgets, session: &SessionState) {
        let own = session.held.own.load(Ordering::Acquire);
        if own > budgets.memory_bytes_per_principal {
            let open = self.lock();
            let principal = &session.key.principal;
            let target = budgets.memory_bytes_per_principal / 8 * 7;
            self.shrink(&open, principal, own.saturating_sub(target));
        }
        while self.all.load(Ordering::Acquire) > budgets.memory_bytes {
            let open = self.lock();
            let held = |holder: &Holder| holder.bytes.load(Ordering::Acquire);
            let largest = open.holders.iter().max_by_key(|(_, holder)| held(holder));
            let Some((principal, _)) = largest else {
                return;
            };
            if self.shrink(&open, principal, budgets.memory_bytes / 8) == 0 {
                return;
            }
        }
    }

    /// Drops so many bytes of kept answers from the largest sessions of a principal; says how
    /// many bytes went.
    fn shrink(&self, open: &Open, principal: &Principal, bytes: usize) -> usize {
        let sessions = open.sessions.values();
        let own = sessions.filter(|session| session.key.principal == *principal);
        let mut own: Vec<_> = own
            .map(|session| (session.with(|state| state.memory.bytes()), session))
            .collect();
        own.sort_unstable_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let mut gone = 0;
        for (held, session) in own {
            if gone >= bytes || held == 0 {
                break;
            }
            let left = held.saturating_sub(bytes - gone);
            let (evicted, after) = session.counted(|state| {
                let evicted = state.memory.shrink(left);
                (evicted, state.memory.bytes())
            });
            gone += held.saturating_sub(after);
            let counter = &self.counters.answers_evicted;
            counter.fetch_add(evicted, Ordering::Relaxed);
        }
        gone
    }

    /// Remembers text that came from a tainted answer, if there is room for it.
    pub(crate) fn mark(
        &self,
        budgets: &Budgets,
        session: &SessionState,
        (runs, now): (&[u64], Timestamp),
    ) -> Result<(), Stop> {
        let _adding = self.adding();
        let message = "there is no room to remember what was read";
        self.make_memory(budgets, session, (Marks::size(runs.len()), now), message)?;
        session.mark(runs);
        Ok(())
    }

    /// Keeps redacted values under their ids, if there is room for them.
    pub(crate) fn seal(
        &self,
        budgets: &Budgets,
        session: &SessionState,
        (values, now): (Vec<(String, Sealed)>, Timestamp),
    ) -> Result<(), Stop> {
        let _adding = self.adding();
        let message = "there is no room to remember what was redacted";
        let more = session.growth(&values);
        self.make_memory(budgets, session, (more, now), message)?;
        session.seal(values);
        Ok(())
    }

    /// Refuses bytes that there is no room for, once kept answers gave way, and sessions that
    /// nobody uses any more.
    fn make_memory(
        &self,
        budgets: &Budgets,
        session: &SessionState,
        (more, now): (usize, Timestamp),
        message: &str,
    ) -> Result<(), Stop> {
        let over = || {
            let own = session.held.own.load(Ordering::Acquire) + more;
            let all = self.all.load(Ordering::Acquire) + more;
            own > budgets.memory_bytes_per_principal || all > budgets.memory_bytes
        };
        if more == 0 || !over() {
            return Ok(());
        }
        let smaller = Budgets {
            memory_bytes: budgets.memory_bytes.saturating_sub(more),
            memory_bytes_per_principal: budgets.memory_bytes_per_principal.saturating_sub(more),
            ..*budgets
        };
        self.trim(&smaller, session);
        if over() {
            self.lock().forget(now);
        }
        if over() {
            return Err(full(message));
        }
        Ok(())
    }

    /// Only one adds what never gives way at a time, so that all who add stay within the budgets.
    fn adding(&self) -> MutexGuard<'_, ()> {
        self.adding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sessions in use, and the bytes they hold.
    pub(crate) fn held(&self) -> (usize, usize) {
        let sessions = self.lock().sessions.len();
        (sessions, self.all.load(Ordering::Acquire))
    }

    /// Takes over what the store knows of a session after a commit, if it is in use.
    pub(crate) fn learn(&self, session: Option<Session>) {
        if let Some(session) = session
            && let Some(known) = self.in_use(&session.key)
        {
            known.learn(Some(session));
        }
    }

    pub(crate) fn in_use(&self, key: &SessionKey) -> Option<Arc<SessionState>> {
        self.lock().sessions.get(key).map(Arc::clone)
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Forgets sessions that nobody uses and that were not used for long.
    fn forget(&mut self, now: Timestamp) {
        let again = |swept: Timestamp| !now.is_within(swept, swept.plus(BETWEEN_SWEEPS));
        if !self.swept.is_none_or(again) {
            return;
        }
        let Self {
            sessions,
            holders,
            swept,
        } = self;
        *swept = Some(now);
        sessions.retain(|key, session| {
            let stays = Arc::strong_count(session) > 1
                || session.with(|state| {
                    let live = if state.marks.bytes() > 0 {
                        MARKED_LIVE
                    } else {
                        LIVE
                    };
                    now < state.used.plus(live)
                });
            if !stays && let Some(holder) = holders.get_mut(&key.principal) {
                holder.sessions = holder.sessions.saturating_sub(1);
            }
            stays
        });
        holders.retain(|_, holder| holder.sessions > 0);
    }
}
