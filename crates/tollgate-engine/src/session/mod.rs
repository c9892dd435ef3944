//! Our own sessions: cache, ledger and consent, keyed by (principal, handle).
//!
//! A transport's session is not ours. A foreign handle is simply another session,
//! and an unknown one is created. Sessions of a process live as long as it does;
//! stored ones (the CLI's) are read from and written to the store.

mod memory;
mod taint;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tollgate_core::{
    BudgetLedger, SessionKey, Store, StoreError, Timestamp,
    store::{Change, Session},
};

use memory::Memory;
pub(crate) use memory::{Kept, Lasts, Recalled, Source};
use taint::Marks;
pub(crate) use taint::tainted_runs;

/// Sessions kept in memory at once; the one used longest ago gives way.
const MAX_SESSIONS: usize = 20_000;

/// Calls whose failures are counted at once.
const MAX_FAILURES: usize = 1024;

/// Whether a session outlives its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Ends with the process; its cache is in memory only.
    Process,
    /// Kept in the store.
    Stored,
}

/// A session in use.
pub struct SessionState {
    key: SessionKey,
    lifetime: Lifetime,
    state: Mutex<State>,
}

struct State {
    known: Session,
    opened: bool,
    /// The operator's limit has changed and is not written yet.
    relimited: bool,
    memory: Memory,
    marks: Marks,
    failures: HashMap<String, u32>,
    used: u64,
}

impl SessionState {
    pub(crate) fn key(&self) -> &SessionKey {
        &self.key
    }

    pub(crate) fn lifetime(&self) -> Lifetime {
        self.lifetime
    }

    pub(crate) fn ledger(&self) -> BudgetLedger {
        self.with(|state| state.known.ledger())
    }

    pub(crate) fn limit(&self) -> Option<u64> {
        self.with(|state| state.known.limit)
    }

    pub(crate) fn remaining(&self) -> Option<u64> {
        self.with(|state| state.known.remaining())
    }

    pub(crate) fn profile(&self) -> Option<String> {
        self.with(|state| state.known.profile.clone())
    }

    /// What must be written first if the store has not seen this session.
    pub(crate) fn opening(&self) -> Option<Change> {
        self.with(|state| {
            if !state.opened {
                return Some(Change::OpenSession(state.known.clone()));
            }
            state.relimited.then(|| Change::Configure {
                session: state.known.key.clone(),
                limit: state.known.limit,
                profile: state.known.profile.clone(),
            })
        })
    }

    /// Takes over what the store knows after a commit.
    pub(crate) fn learn(&self, session: Option<Session>) {
        self.with(|state| {
            if let Some(session) = session.filter(|session| session.key == self.key) {
                state.opened = true;
                state.relimited = false;
                state.known = session;
            }
        });
    }

    pub(crate) fn peek(&self, key: &str, binding: &str, now: Timestamp) -> bool {
        self.with(|state| state.memory.has(key, binding, now))
    }

    pub(crate) fn recall(&self, key: &str, binding: &str, now: Timestamp) -> Option<Recalled> {
        self.with(|state| state.memory.get(key, binding, now))
    }

    /// A kept answer by its key alone, for whoever wants to read it again.
    pub(crate) fn recall_any(&self, key: &str, now: Timestamp) -> Option<Arc<Kept>> {
        self.with(|state| state.memory.by_key(key, now))
    }

    pub(crate) fn remember(&self, key: &str, binding: &str, lasts: Option<Lasts>, kept: Arc<Kept>) {
        self.with(|state| state.memory.put(key, binding, lasts, kept));
    }

    /// Notes which call keeps the body of a kept answer.
    pub(crate) fn locate(&self, key: &str, source: Source) {
        self.with(|state| state.memory.locate(key, source));
    }

    pub(crate) fn forget(&self) {
        self.with(|state| state.memory.clear());
    }

    /// How often this call has failed in a row.
    pub(crate) fn failures(&self, key: &str) -> u32 {
        self.with(|state| state.failures.get(key).copied().unwrap_or(0))
    }

    /// Counts a failure of a call, or forgets its failures once it has worked.
    pub(crate) fn count(&self, key: &str, failed: bool) {
        self.with(|state| {
            if !failed {
                state.failures.remove(key);
            } else if state.failures.len() < MAX_FAILURES || state.failures.contains_key(key) {
                *state.failures.entry(key.to_owned()).or_default() += 1;
            }
        });
    }

    /// Remembers text that came from a tainted answer.
    pub(crate) fn mark(&self, runs: &[u64]) {
        self.with(|state| state.marks.add(runs));
    }

    /// Whether arguments hold text that came from a tainted answer.
    pub(crate) fn is_tainted_by(&self, arguments: &serde_json::Value) -> bool {
        self.with(|state| state.marks.carried_by(arguments))
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Every session in use.
pub(crate) struct Sessions {
    open: Mutex<(u64, HashMap<SessionKey, Arc<SessionState>>)>,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        Self {
            open: Mutex::new((0, HashMap::new())),
        }
    }

    /// The session of this key, created if need be.
    pub(crate) async fn open(
        &self,
        store: &dyn Store,
        key: &SessionKey,
        opening: Opening,
    ) -> Result<Arc<SessionState>, StoreError> {
        if let Some(session) = self.in_use(key) {
            return Ok(session);
        }
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
        let fresh = Arc::new(SessionState {
            key: key.clone(),
            lifetime: opening.lifetime,
            state: Mutex::new(State {
                known,
                opened,
                relimited,
                memory: Memory::default(),
                marks: Marks::default(),
                failures: HashMap::new(),
                used: 0,
            }),
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.1.len() >= MAX_SESSIONS {
            evict(&mut open.1);
        }
        Ok(Arc::clone(open.1.entry(key.clone()).or_insert(fresh)))
    }

    /// Takes over what the store knows of a session after a commit, if it is in use.
    pub(crate) fn learn(&self, session: Option<Session>) {
        if let Some(session) = session
            && let Some(known) = self.in_use(&session.key)
        {
            known.learn(Some(session));
        }
    }

    fn in_use(&self, key: &SessionKey) -> Option<Arc<SessionState>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.0 += 1;
        let tick = open.0;
        let session = open.1.get(key)?;
        session.with(|state| state.used = tick);
        Some(Arc::clone(session))
    }
}

/// Where it is kept that a human set a session's limit, which then outlasts the configuration's.
pub(crate) const LIMIT_IS_SET: &str = "gate.limit";

async fn limit_is_set(
    store: &dyn Store,
    key: &SessionKey,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let mark = store
        .state(LIMIT_IS_SET, &key.principal, &key.handle, now)
        .await?;
    Ok(mark.is_some())
}

/// How a session begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) lifetime: Lifetime,
    pub(crate) limit: Option<u64>,
    pub(crate) at: Timestamp,
}

/// Drops the quarter of sessions that were used longest ago.
fn evict(open: &mut HashMap<SessionKey, Arc<SessionState>>) {
    let mut ages: Vec<_> = open
        .values()
        .map(|session| session.with(|state| state.used))
        .collect();
    ages.sort_unstable();
    let cutoff = ages.get(ages.len() / 4).copied().unwrap_or(0);
    open.retain(|_, session| {
        Arc::strong_count(session) > 1 || session.with(|state| state.used) > cutoff
    });
}
