//! Our own sessions: cache, ledger and consent, keyed by (principal, handle).
//!
//! A transport's session is not ours. A foreign handle is simply another session,
//! and an unknown one is created. Sessions of a process live as long as it does;
//! stored ones (the CLI's) are read from and written to the store.

mod budget;
mod memory;
mod sealed;
mod table;
mod taint;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tollgate_core::{
    BudgetLedger, SessionKey, Store, StoreError, Timestamp,
    store::{Change, Session},
};

use crate::settings::Budgets;

use budget::Held;
pub(crate) use budget::{BodyBudget, Counters};
use memory::Memory;
pub(crate) use memory::{Kept, Lasts, Recalled, Source, fingerprint_of};
use sealed::Vault;
pub(crate) use sealed::{MAX_VALUES, Object, Sealed};
pub(crate) use table::{SessionError, Sessions};
use taint::Marks;
pub(crate) use taint::tainted_runs;

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
    held: Held,
    state: Mutex<State>,
}

impl Drop for SessionState {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.held.change(state.bytes(), 0);
    }
}

struct State {
    known: Session,
    opened: bool,
    /// The operator's limit has changed and is not written yet.
    relimited: bool,
    memory: Memory,
    marks: Marks,
    vault: Vault,
    failures: HashMap<String, u32>,
    used: Timestamp,
}

impl State {
    fn bytes(&self) -> usize {
        self.memory.bytes() + self.marks.bytes() + self.vault.bytes()
    }
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

    /// Keys and bindings of the kept answers whose keys begin like this.
    pub(crate) fn entries(&self, prefix: &str, now: Timestamp) -> Vec<(String, String)> {
        self.with(|state| state.memory.entries(prefix, now))
    }

    pub(crate) fn remember(&self, key: &str, binding: &str, lasts: Option<Lasts>, kept: Arc<Kept>) {
        self.counted(|state| state.memory.put(key, binding, lasts, kept));
    }

    /// Notes which call keeps the body of a kept answer.
    pub(crate) fn locate(&self, key: &str, source: Source) {
        self.with(|state| state.memory.locate(key, source));
    }

    pub(crate) fn forget(&self) {
        self.counted(|state| state.memory.clear());
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

    /// The value that an id stands for.
    pub(crate) fn unsealed(&self, id: &str) -> Option<Arc<Sealed>> {
        self.with(|state| state.vault.get(id))
    }

    /// Notes that values were put into arguments: later answers may repeat them.
    pub(crate) fn note_uses<'i>(&self, ids: impl IntoIterator<Item = &'i str>) {
        self.with(|state| ids.into_iter().for_each(|id| state.vault.note_use(id)));
    }

    /// The values that were put into arguments, with their ids.
    pub(crate) fn used_values(&self) -> Vec<(String, Arc<Sealed>)> {
        self.with(|state| state.vault.used())
    }

    /// Keeps values under their ids.
    fn seal(&self, values: impl IntoIterator<Item = (String, Sealed)>) {
        self.counted(|state| {
            for (id, sealed) in values {
                state.vault.put(&id, sealed);
            }
        });
    }

    /// How many bytes more it would hold with these values.
    fn growth(&self, values: &[(String, Sealed)]) -> usize {
        self.with(|state| state.vault.growth(values))
    }

    /// Remembers text that came from a tainted answer.
    pub(crate) fn mark(&self, runs: &[u64]) {
        self.counted(|state| state.marks.add(runs));
    }

    /// Whether arguments hold text that came from a tainted answer.
    pub(crate) fn is_tainted_by(&self, arguments: &serde_json::Value) -> bool {
        self.with(|state| state.marks.carried_by(arguments))
    }

    /// Changes what it holds in memory, and counts that.
    fn counted<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        self.with(|state| {
            let before = state.bytes();
            let done = act(state);
            self.held.change(before, state.bytes());
            done
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
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
    pub(crate) budgets: Budgets,
}
