//! Identical cacheable calls in flight run once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tollgate_core::{ErrorCode, SessionKey};

use super::{Stop, cache::Place};

type Key = (SessionKey, Place);
type Open = Arc<Mutex<HashMap<Key, watch::Sender<bool>>>>;

/// Calls that others may be waiting for.
#[derive(Default)]
pub(crate) struct Flights {
    open: Open,
}

/// What part a call plays.
pub(super) enum Seat {
    /// Runs the tool for everyone.
    Leader(Lead),
    /// Waits for the leader.
    Follower(Done),
    /// Runs the tool for itself.
    Alone,
}

/// The right and duty to run the tool; dropping it wakes everyone who waits.
pub(super) struct Lead {
    key: Key,
    open: Open,
}

/// Tells when the leader is done.
pub(super) struct Done(watch::Receiver<bool>);

impl Flights {
    pub(super) fn join(&self, key: Key) -> Seat {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = open.get(&key) {
            return Seat::Follower(Done(sender.subscribe()));
        }
        open.insert(key.clone(), watch::Sender::new(false));
        Seat::Leader(Lead {
            key,
            open: Arc::clone(&self.open),
        })
    }
}

impl Lead {
    /// Whether someone else waits for this answer.
    pub(super) fn is_followed(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&self.key)
            .is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// The answer is where followers look for it.
    pub(super) fn answered(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = open.get(&self.key) {
            sender.send_replace(true);
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.key);
    }
}

impl Done {
    /// Waits until the leader is done, one way or the other.
    pub(super) async fn wait(mut self, cancel: &CancellationToken) -> Result<(), Stop> {
        tokio::select! {
            () = cancel.cancelled() => {
                Err(Stop::new(ErrorCode::Cancelled, "the caller went away"))
            }
            _ = self.0.changed() => Ok(()),
        }
    }
}
