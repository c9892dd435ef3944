//! What each session answered and wrote, as long as this process lives.
//!
//! Invariant: it is bounded. The oldest answers of a session go first, then the session that was used longest ago.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tollgate_core::SessionKey;

const SESSIONS: usize = 64;
const ANSWERS: usize = 64;
/// The most all answers of one session take, printed.
const BYTES: usize = 32 << 20;

#[derive(Default)]
struct Session {
    order: VecDeque<String>,
    answers: HashMap<String, (Arc<Value>, usize)>,
    bytes: usize,
    written: HashSet<PathBuf>,
    used: u64,
}

#[derive(Default)]
struct Inner {
    sessions: HashMap<SessionKey, Session>,
    turn: u64,
}

/// The memory.
#[derive(Default)]
pub(super) struct Memory(Mutex<Inner>);

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, key: &SessionKey, work: impl FnOnce(&mut Session) -> T) -> T {
        let mut inner = self.lock();
        inner.turn += 1;
        let turn = inner.turn;
        if !inner.sessions.contains_key(key) && inner.sessions.len() >= SESSIONS {
            let oldest = inner.sessions.iter().min_by_key(|(_, one)| one.used);
            let oldest = oldest.map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                inner.sessions.remove(&oldest);
            }
        }
        let session = inner.sessions.entry(key.clone()).or_default();
        session.used = turn;
        work(session)
    }

    /// Keeps an answer under its keys.
    pub(super) fn keep(&self, session: &SessionKey, keys: &[String], answer: Value, size: usize) {
        if size > BYTES {
            return;
        }
        let answer = Arc::new(answer);
        self.with(session, |session| {
            for key in keys {
                if let Some((_, before)) = session.answers.remove(key) {
                    session.bytes -= before;
                    session.order.retain(|known| known != key);
                }
                session.order.push_back(key.clone());
                session
                    .answers
                    .insert(key.clone(), (Arc::clone(&answer), size));
                session.bytes += size;
            }
            while session.order.len() > ANSWERS || session.bytes > BYTES {
                let Some(oldest) = session.order.pop_front() else {
                    break;
                };
                if let Some((_, before)) = session.answers.remove(&oldest) {
                    session.bytes -= before;
                }
            }
        });
    }

    pub(super) fn recall(&self, session: &SessionKey, key: &str) -> Option<Arc<Value>> {
        let inner = self.lock();
        let (answer, _) = inner.sessions.get(session)?.answers.get(key)?;
        Some(Arc::clone(answer))
    }

    pub(super) fn keys(&self, session: &SessionKey) -> Vec<String> {
        let inner = self.lock();
        let session = inner.sessions.get(session);
        session.map_or_else(Vec::new, |session| session.order.iter().cloned().collect())
    }

    /// Remembers a file that a session wrote.
    pub(super) fn wrote(&self, session: &SessionKey, path: PathBuf) {
        self.with(session, |session| session.written.insert(path));
    }

    /// Whether a session wrote a file of this folder.
    pub(super) fn has_written_into(&self, session: &SessionKey, folder: &Path) -> bool {
        let inner = self.lock();
        let session = inner.sessions.get(session);
        session.is_some_and(|session| {
            let mut written = session.written.iter();
            written.any(|path| path.parent() == Some(folder))
        })
    }

    pub(super) fn has_written(&self, session: &SessionKey, path: &Path) -> bool {
        let inner = self.lock();
        inner
            .sessions
            .get(session)
            .is_some_and(|session| session.written.contains(path))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tollgate_core::Principal;

    use super::*;

    fn session(handle: &str) -> SessionKey {
        SessionKey::new(Principal::anonymous(), handle)
    }

    #[test]
    fn sessions_do_not_see_each_other_and_the_oldest_answers_go() {
        let memory = Memory::default();
        let (one, two) = (session("one"), session("two"));
        for at in 0..100 {
            memory.keep(&one, &[format!("k{at}")], json!(at), 10);
        }
        assert_eq!(memory.keys(&one).len(), ANSWERS);
        assert_eq!(memory.recall(&one, "k99").as_deref(), Some(&json!(99)));
        assert_eq!(memory.recall(&one, "k0"), None);
        assert_eq!(memory.recall(&two, "k99"), None);
        memory.keep(&one, &["huge".to_owned()], json!(1), BYTES + 1);
        assert_eq!(memory.recall(&one, "huge"), None);
        for at in 0..200 {
            memory.wrote(&session(&at.to_string()), PathBuf::from("x"));
        }
        assert!(memory.lock().sessions.len() <= SESSIONS);
    }
}
