//! Sessions of older clients: bound to who made them, few bytes each, ended when unused.

use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;
use tollgate_core::Principal;
use tollgate_engine::random_hex;

use super::{
    super::{
        legacy::{Conversation, locked},
        rpc::Told,
    },
    stream::Log,
};

/// Requests of one session whose events can be read again.
const LOGS: usize = 8;

/// One session.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) principal: Principal,
    pub(super) conversation: Conversation,
    /// Whether somebody reads what concerns no request.
    pub(super) listened: AtomicBool,
    pub(super) running: Mutex<HashMap<String, CancellationToken>>,
    pub(super) ended: CancellationToken,
    logs: Mutex<VecDeque<(u64, Arc<Log>)>>,
    numbers: AtomicU64,
    used: Mutex<Instant>,
}

impl Session {
    /// A log for a new request, and its number.
    pub(super) fn log(&self) -> (u64, Arc<Log>) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let log = Arc::new(Log::default());
        let mut logs = locked(&self.logs);
        if logs.len() >= LOGS {
            logs.pop_front();
        }
        logs.push_back((number, Arc::clone(&log)));
        (number, log)
    }

    /// Forgets a log that nobody needs to read again.
    pub(super) fn forget(&self, number: u64) {
        let mut logs = locked(&self.logs);
        logs.retain(|(own, _)| *own != number);
        if logs.is_empty() {
            logs.shrink_to_fit();
        }
    }

    /// The log of a request, to be read again.
    pub(super) fn again(&self, number: u64) -> Option<Arc<Log>> {
        let logs = locked(&self.logs);
        let found = logs.iter().find(|(own, _)| *own == number);
        found.map(|(_, log)| Arc::clone(log))
    }

    /// Notes a request that begins, unless one with the same id is being answered.
    pub(super) fn begins(&self, key: &str, cancel: &CancellationToken) -> bool {
        let mut running = locked(&self.running);
        let is_new = !running.contains_key(key);
        if is_new {
            running.insert(key.to_owned(), cancel.clone());
        }
        is_new
    }

    /// It is over: nobody hears of it any more, and what it runs is cancelled in order.
    fn close(&self) {
        self.ended.cancel();
        locked(&self.running)
            .values()
            .for_each(CancellationToken::cancel);
    }

    /// Takes a notification of the client.
    pub(super) fn hear(&self, told: &Told) {
        if let Some(id) = told.cancelled()
            && let Some(running) = locked(&self.running).get(&id)
        {
            running.cancel();
        }
    }

    fn is_idle(&self, ttl: Duration, now: Instant) -> bool {
        now.duration_since(*locked(&self.used)) > ttl
            && !self.listened.load(Ordering::Relaxed)
            && locked(&self.running).is_empty()
    }
}

/// Every session. Whoever begins too many loses their own, never somebody else's.
pub(super) struct Sessions {
    all: Mutex<All>,
    most: usize,
    ttl: Duration,
}

#[derive(Default)]
struct All {
    by_id: HashMap<String, Arc<Session>>,
    counts: HashMap<Principal, usize>,
}

impl All {
    fn remove(&mut self, id: &str) -> Option<Arc<Session>> {
        let session = self.by_id.remove(id)?;
        if let Some(count) = self.counts.get_mut(&session.principal) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&session.principal);
            }
        }
        Some(session)
    }

    /// The session that was unused longest, of one principal.
    fn oldest(&self, of: &Principal) -> Option<String> {
        let own = self.by_id.values().filter(|one| one.principal == *of);
        let oldest = own.min_by_key(|session| *locked(&session.used));
        oldest.map(|session| session.id.clone())
    }

    /// Whoever has the most sessions.
    fn busiest(&self) -> Option<Principal> {
        let most = self.counts.iter().max_by_key(|(_, count)| **count);
        most.map(|(principal, _)| principal.clone())
    }
}

impl Sessions {
    pub(super) fn new(most: usize, ttl: Duration) -> Self {
        Self {
            all: Mutex::default(),
            most,
            ttl,
        }
    }

    /// Begins a session. If there are too many, the one gives way that was unused longest of
    /// whoever has the most; nobody with fewer sessions than the newcomer loses any.
    pub(super) fn begin(
        &self,
        principal: Principal,
        conversation: Conversation,
    ) -> io::Result<Arc<Session>> {
        let session = Arc::new(Session {
            id: random_hex(16)?,
            principal,
            conversation,
            listened: AtomicBool::new(false),
            running: Mutex::default(),
            ended: CancellationToken::new(),
            logs: Mutex::default(),
            numbers: AtomicU64::new(1),
            used: Mutex::new(Instant::now()),
        });
        let mut all = locked(&self.all);
        if all.by_id.len() >= self.most {
            let busiest = all.busiest();
            let oldest = busiest.and_then(|principal| all.oldest(&principal));
            if let Some(gone) = oldest.and_then(|oldest| all.remove(&oldest)) {
                gone.close();
            }
        }
        *all.counts.entry(session.principal.clone()).or_default() += 1;
        all.by_id.insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }

    /// The session of this principal; another's is no session at all, nor is one that was
    /// unused for too long.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let now = Instant::now();
        let mut all = locked(&self.all);
        let session = all.by_id.get(id).filter(|it| it.principal == *principal)?;
        let session = Arc::clone(session);
        if session.is_idle(self.ttl, now) {
            all.remove(id);
            session.close();
            return None;
        }
        *locked(&session.used) = now;
        Some(session)
    }

    /// Ends a session: what it runs is cancelled in order.
    pub(super) fn end(&self, session: &Session) {
        drop(locked(&self.all).remove(&session.id));
        session.close();
    }

    /// Ends what nobody has used for long.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        let mut all = locked(&self.all);
        let idle = all.by_id.values().filter(|one| one.is_idle(self.ttl, now));
        let idle: Vec<String> = idle.map(|session| session.id.clone()).collect();
        for id in idle {
            if let Some(gone) = all.remove(&id) {
                gone.close();
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        locked(&self.all).by_id.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontends::mcp::era::Client;

    fn begin(sessions: &Sessions, who: &str) -> Arc<Session> {
        let principal = Principal::from_stored(who.to_owned());
        sessions
            .begin(principal, Conversation::new(Client::unknown("2025-11-25")))
            .unwrap()
    }

    #[test]
    fn a_session_that_was_unused_for_too_long_is_gone() {
        let sessions = Sessions::new(4, Duration::ZERO);
        let one = begin(&sessions, "one");
        let busy = begin(&sessions, "one");
        assert!(busy.begins("7", &CancellationToken::new()));
        assert!(!busy.begins("7", &CancellationToken::new()));
        std::thread::sleep(Duration::from_millis(2));
        assert!(sessions.find(&one.id, &one.principal).is_none());
        assert!(one.ended.is_cancelled());
        assert!(sessions.find(&busy.id, &busy.principal).is_some());
        assert_eq!(sessions.count(), 1);
    }

    #[test]
    fn who_begins_too_many_sessions_loses_their_own() {
        let sessions = Sessions::new(4, Duration::from_secs(60));
        let quiet = begin(&sessions, "quiet");
        let loud: Vec<_> = (0..20).map(|_| begin(&sessions, "loud")).collect();
        let is_there = |one: &Arc<Session>| sessions.find(&one.id, &one.principal).is_some();
        assert!(is_there(&quiet));
        assert_eq!(sessions.count(), 4);
        assert_eq!(loud.iter().filter(|one| is_there(one)).count(), 3);
        assert!(loud[17..].iter().all(is_there), "the last ones stay");
        assert!(loud[..17].iter().all(|one| one.ended.is_cancelled()));
        let other = begin(&sessions, "other");
        assert!(is_there(&quiet) && is_there(&other));
        sessions.end(&quiet);
        sessions.end(&quiet);
        assert_eq!(sessions.count(), 3);
        assert_eq!(locked(&sessions.all).counts.len(), 2);
    }
}
