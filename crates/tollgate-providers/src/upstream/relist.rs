//! Reads a server's lists again when it says that they have changed.
//!
//! Invariant: a list that cannot be read again leaves what is known as it is and costs no call;
//! whether the server still answers at all is found out by whoever watches over it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::{Instant, sleep, sleep_until, timeout};
use tollgate_core::Notice;

use super::{
    Upstream,
    pace::{Pace, Waits},
    peer::{AskError, Listed, Peer},
};

/// The first wait before lists that could not be read are asked for again.
const FIRST: Duration = Duration::from_secs(1);

/// A list is being read, however that ends.
struct Now<'a>(&'a AtomicBool);

impl<'a> Now<'a> {
    fn begin(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Now<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Upstream {
    /// Reads the lists of a server that can be called again, whenever that is due; `others` are
    /// those beside its tools, as they were read last.
    pub(super) fn keep_lists(self: &Arc<Self>, peer: &Arc<Peer>, mut others: Listed) {
        let (own, peer) = (Arc::clone(self), Arc::clone(peer));
        tokio::spawn(async move {
            let over = peer.over.clone();
            let mut pace = Pace::default();
            let keeps = async {
                loop {
                    own.relist.notified().await;
                    sleep_until(pace.due(Instant::now())).await;
                    // What was said until here is no reason to read them a second time.
                    drop(timeout(Duration::ZERO, own.relist.notified()).await);
                    own.read_until_known(&peer, &mut others).await;
                    pace.read(Instant::now());
                }
            };
            tokio::select! {
                biased;
                // What is said to the next life is not for this one.
                () = over.cancelled() => {}
                () = keeps => {}
            }
        });
    }

    async fn read_until_known(self: &Arc<Self>, peer: &Peer, others: &mut Listed) {
        let mut waits = Waits::from(FIRST);
        while let Some(error) = self.read_lists_again(peer, others).await {
            if let AskError::Silent(_) = error {
                self.suspicion.notify_one();
            }
            let wait = waits.next();
            sleep(error.wait().map_or(wait, |asked| asked.max(wait))).await;
        }
    }

    /// Reads the lists once; says why that has to be done again.
    async fn read_lists_again(
        self: &Arc<Self>,
        peer: &Peer,
        others: &mut Listed,
    ) -> Option<AskError> {
        let listed = {
            let _now = Now::begin(&self.lists_now);
            peer.list(self.settings.start_timeout).await
        };
        let mut listed = match listed {
            Ok(listed) => listed,
            Err(error) => {
                let why = format!("its tools stay as they were: {error}");
                self.journal("mcp.list_tools.failed", &why);
                return Some(error);
            }
        };
        // Who refuses one of them answered; the others did not.
        let is_due = |error: &AskError| !matches!(error, AskError::Refused(_));
        let mut unread = listed.unread.iter().map(|(_, error)| error);
        let due = unread.find(|error| is_due(error)).cloned();
        listed.keep_unread(others);
        *others = listed.others();
        self.learn(listed).await;
        self.notice(Notice::ListsChanged);
        due
    }
}
