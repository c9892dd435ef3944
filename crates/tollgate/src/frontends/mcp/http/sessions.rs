//! Sessions of older clients: bound to who made them, few bytes each, ended when unused.

use std::{
    collections::{HashMap, VecDeque},
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
    super::legacy::{Conversation, locked},
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

    fn is_idle(&self, ttl: Duration, now: Instant) -> bool {
        now.duration_since(*locked(&self.used)) > ttl
            && !self.listened.load(Ordering::Relaxed)
            && locked(&self.running).is_empty()
    }
}

/// Every session.
pub(super) struct Sessions {
    all: Mutex<HashMap<String, Arc<Session>>>,
    most: usize,
    ttl: Duration,
}

impl Sessions {
    pub(super) fn new(most: usize, ttl: Duration) -> Self {
        Self {
            all: Mutex::default(),
            most,
            ttl,
        }
    }

    /// Begins a session; the one unused longest gives way if there are too many.
    pub(super) fn begin(&self, principal: Principal, conversation: Conversation) -> Arc<Session> {
        let session = Arc::new(Session {
            id: random_hex(16),
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
        if all.len() >= self.most {
            let oldest = all
                .values()
                .min_by_key(|session| *locked(&session.used))
                .map(|session| session.id.clone());
            if let Some(gone) = oldest.and_then(|oldest| all.remove(&oldest)) {
                gone.ended.cancel();
            }
        }
        all.insert(session.id.clone(), Arc::clone(&session));
        session
    }

    /// The session of this principal; another's is no session at all.
    pub(super) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let all = locked(&self.all);
        let session = all.get(id).filter(|it| it.principal == *principal)?;
        *locked(&session.used) = Instant::now();
        Some(Arc::clone(session))
    }

    /// Ends a session: what it runs is cancelled in order.
    pub(super) fn end(&self, session: &Session) {
        locked(&self.all).remove(&session.id);
        session.ended.cancel();
        locked(&session.running)
            .values()
            .for_each(CancellationToken::cancel);
    }

    /// Ends what nobody has used for long.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        locked(&self.all).retain(|_, session| {
            let idle = session.is_idle(self.ttl, now);
            if idle {
                session.ended.cancel();
            }
            !idle
        });
    }

    pub(super) fn count(&self) -> usize {
        locked(&self.all).len()
    }
}
