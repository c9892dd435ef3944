//! Addresses that leave calls waiting and answer nothing else either.
//!
//! Such a server hangs, or is so busy with one call that it hears nothing; from outside both look
//! the same. Invariants: calls under way are left alone, only those that come later are told at
//! once; whatever is heard ends it; and who came back after a silence is given twice as long
//! the next time.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tollgate_core::{ErrorCode, ProviderError};

use super::{Upstream, http::Http, life::AWAKE, link::Link, peer::Peer};

/// Questions in a row that nobody answers before a server counts as stalled.
const ASKED: u32 = 2;

/// More than passes between two looks at the clock, and less than any silence that counts.
const BETWEEN: Duration = Duration::from_millis(10);

/// Whether a server is stalled.
#[derive(Debug, Default)]
pub(super) struct Stall {
    /// Read by every call, so it says nothing more.
    is: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    /// The silence from which on it may count as stalled.
    tolerated: Duration,
}

impl Stall {
    pub(super) fn is_none(&self) -> bool {
        !self.is.load(Ordering::Relaxed)
    }

    /// Takes note of a silence; says whether that is news.
    fn begin(&self, silence: Duration) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if silence < state.tolerated || state.since.is_some() {
            return false;
        }
        state.since = Instant::now().checked_sub(silence);
        self.is.store(true, Ordering::Relaxed);
        true
    }

    /// Something was heard; says whether that is news.
    fn end(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.is.store(false, Ordering::Relaxed);
        let Some(since) = state.since.take() else {
            return false;
        };
        state.tolerated = state.tolerated.max(since.elapsed() * 2);
        true
    }

    /// For how long nothing had been heard, if it is stalled.
    fn lasts(&self) -> Option<Duration> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.since.map(|since| since.elapsed())
    }

    /// Another life begins, which may be another server's.
    pub(super) fn forget(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State::default();
        self.is.store(false, Ordering::Relaxed);
    }
}

impl Upstream {
    /// Asks an address that leaves calls waiting whether it answers at all.
    pub(super) async fn look_at_address(&self, peer: &Peer, http: &Http) {
        let leaves_waiting = !self.is_idle() && http.silence() >= self.settings.health_interval;
        if self.stall.is_none() && !leaves_waiting {
            return;
        }
        let patience = AWAKE.min(self.settings.timeout);
        for _ in 0..ASKED {
            if peer.is_awake(patience).await || http.silence() < patience {
                self.answers_again();
                return;
            }
        }
        if self.stall.begin(http.silence()) {
            let seconds = http.silence().as_secs();
            let why = format!("it leaves calls waiting and has answered nothing for {seconds} s");
            self.journal("mcp.stalled", &why);
        }
    }

    fn answers_again(&self) {
        if self.stall.end() {
            self.journal("mcp.awake", "it answers again");
        }
    }

    /// What a call hears that comes while a server is stalled; it is looked at again.
    pub(super) fn despite_stall(&self, peer: Arc<Peer>) -> Result<Arc<Peer>, ProviderError> {
        let silence = match &*peer.link {
            Link::Http(http) => http.silence(),
            Link::Stdio(_) => Duration::ZERO,
        };
        match self.stall.lasts() {
            Some(lasts) if silence + BETWEEN >= lasts => {
                self.wanted.notify_one();
                let why = format!("it has answered nothing for {} s", lasts.as_secs());
                Err(self.unavailable(&why, ErrorCode::Unavailable, AWAKE))
            }
            Some(_) | None => {
                self.answers_again();
                Ok(peer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_back_is_given_twice_as_long() {
        let seconds = Duration::from_secs;
        let stall = Stall::default();
        assert!(!stall.end());
        assert!(stall.begin(seconds(20)));
        assert!(!stall.begin(seconds(30)), "it is known");
        assert!(!stall.is_none());
        assert!(stall.end());
        assert!(stall.is_none());
        assert!(!stall.begin(seconds(39)));
        assert!(stall.is_none());
        assert!(stall.begin(seconds(41)));
        stall.forget();
        assert!(stall.is_none());
        assert!(stall.begin(seconds(1)));
    }
}
