//! What a server says on standard error, handed to the journal while it is fresh.
//!
//! Invariant: a server that shouts costs a bounded amount of work: between two looks only
//! the end of what it said is kept, and the rest is counted.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tollgate_sandbox::{Ring, Watch};

use super::{Upstream, settings::Journal};

/// How long words wait for company.
const LINGER: Duration = Duration::from_millis(100);
/// How long the last words of a server that was ended may take.
const LAST: Duration = Duration::from_millis(200);

/// What one process of a server said, and how far it was written down.
pub(super) struct Spoken {
    ring: Arc<Ring>,
    process: u32,
    seen: Mutex<u64>,
}

impl Spoken {
    /// Writes down what is new; a line that has no end yet waits for it unless this is the
    /// last look.
    fn flush(&self, journal: &dyn Journal, server: &str, is_last: bool) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let total = self.ring.total();
        let fresh = self.ring.since(*seen);
        let missed = (total - *seen).saturating_sub(fresh.len() as u64);
        let whole = match fresh.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None => 0,
        };
        let taken = if is_last || fresh.len() >= self.ring.limit() {
            fresh.len()
        } else {
            whole
        };
        if taken == 0 {
            return;
        }
        *seen += missed + taken as u64;
        drop(seen);
        let text = String::from_utf8_lossy(&fresh[..taken]);
        journal.said(server, self.process, missed, &text);
    }

    /// Follows a process to its end.
    async fn follow(self: Arc<Self>, journal: Arc<dyn Journal>, server: String) {
        let mut looked = 0;
        while self.ring.grown(looked).await {
            tokio::time::sleep(LINGER).await;
            looked = self.ring.total();
            self.look(&journal, &server, false).await;
        }
        self.look(&journal, &server, true).await;
    }

    /// Writing is left to a thread that may wait for a disk.
    async fn look(self: &Arc<Self>, journal: &Arc<dyn Journal>, server: &str, is_last: bool) {
        let (own, journal, server) = (Arc::clone(self), Arc::clone(journal), server.to_owned());
        let write = move || own.flush(&*journal, &server, is_last);
        drop(tokio::task::spawn_blocking(write).await);
    }
}

impl Upstream {
    /// Listens to a process of this server as long as it lives.
    pub(super) fn hear(&self, watch: &Watch) {
        let spoken = Arc::new(Spoken {
            ring: Arc::clone(watch.stderr()),
            process: watch.pid(),
            seen: Mutex::new(0),
        });
        let mut place = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::clone(&spoken));
        drop(place);
        if let Some(journal) = self.journal.clone() {
            let server = self.settings.name.clone();
            tokio::spawn(spoken.follow(journal, server));
        }
    }

    /// Writes down the last words before everything ends.
    pub(super) async fn last_words(&self) {
        let spoken = {
            let place = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
            place.clone()
        };
        let (Some(spoken), Some(journal)) = (spoken, &self.journal) else {
            return;
        };
        let over = async { while spoken.ring.grown(spoken.ring.total()).await {} };
        // What comes even later is not worth waiting for.
        let _in_time = tokio::time::timeout(LAST, over).await.is_ok();
        spoken.flush(&**journal, &self.settings.name, true);
    }
}
