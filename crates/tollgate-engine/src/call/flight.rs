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
type Open = Arc<Mutex<HashMap<Key, Arc<watch::Sender<bool>>>>>;

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
    followers: Arc<watch::Sender<bool>>,
}

/// Tells when the leader is done.
pub(super) struct Done(watch::Receiver<bool>);

impl Flights {
    pub(super) fn join(&self, key: Key) -> Seat {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = open.get(&key) {
            return Seat::Follower(Done(sender.subscribe()));
        }
        let followers = Arc::new(watch::Sender::new(false));
        open.insert(key.clone(), Arc::clone(&followers));
        Seat::Leader(Lead {
            key,
            open: Arc::clone(&self.open),
            followers,
        })
    }
}

impl Lead {
    /// Waits until nobody else waits for this answer.
    pub(super) async fn unfollowed(&self) {
        self.followers.closed().await;
    }

    /// The answer is where followers look for it.
    pub(super) fn answered(&self) {
        self.followers.send_replace(true);
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
