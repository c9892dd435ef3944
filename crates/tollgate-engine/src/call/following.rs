//! Things that somebody wants to hear of when they change, and who is to say so.
//!
//! Invariant: a provider is told once that something of its own is followed, however many
//! follow it, and once that nobody does any more.

use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use super::{
    Caller, Gateway, Inner,
    listing::{Viewer, could_read},
};
use crate::catalog::Wanted;

/// Somebody's wish to hear of one address; dropping it ends the wish.
pub struct Following {
    inner: Weak<Inner>,
    uri: String,
}

impl Gateway {
    /// Sees to it that changes of what is read at an address are announced to somebody who
    /// could read it; for anybody else there is nothing there.
    pub fn follow(&self, caller: &Caller, uri: &str) -> Option<Following> {
        let viewer = Viewer::of_caller(caller);
        if !could_read(&self.0, &viewer, uri) {
            return None;
        }
        let mut followed = self.0.followed();
        let count = followed.entry(uri.to_owned()).or_default();
        *count += 1;
        let is_first = *count == 1;
        drop(followed);
        if is_first {
            self.0.tell_owner(uri, true);
        }
        Some(Following {
            inner: Arc::downgrade(&self.0),
            uri: uri.to_owned(),
        })
    }

    /// Tells whoever owns it now: it may have come only after somebody asked for it.
    pub(super) fn follow_again(&self) {
        let all: Vec<String> = self.0.followed().keys().cloned().collect();
        for uri in all {
            self.0.tell_owner(&uri, true);
        }
    }
}

impl Inner {
    fn followed(&self) -> MutexGuard<'_, std::collections::HashMap<String, usize>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_owner(&self, uri: &str, wanted: bool) {
        let catalog = {
            let catalog = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(&catalog)
        };
        if let Some(owner) = catalog.owner(&Wanted::Resource(uri.to_owned())) {
            owner.follow(uri, wanted);
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let Some(inner) = self.inner.upgrade() else {
            return;
        };
        let mut followed = inner.followed();
        let left = followed.get_mut(&self.uri).map_or(0, |count| {
            *count = count.saturating_sub(1);
            *count
        });
        if left == 0 {
            followed.remove(&self.uri);
        }
        drop(followed);
        if left == 0 {
            inner.tell_owner(&self.uri, false);
        }
    }
}
