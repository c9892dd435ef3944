//! What is known of a session's state without asking the browser: what pages stored, told by
//! events, and cookies as of the last look.
//!
//! Invariant: pages cannot make it grow without end. A site that stores more than there is room
//! for is not kept at all.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout_at},
};

use super::kept::Kept;
use crate::protocol::{
    events::{StorageChanged, StorageId},
    pipe::Event,
};

/// How much pages of one session may store and have kept, in bytes.
const ROOM: usize = 8 << 20;
/// How many origins are looked at again.
const MOST_UNSURE: usize = 100;

/// What is known of a session's state.
#[derive(Default)]
pub(crate) struct Memory {
    known: Mutex<Known>,
    /// Whether somebody writes it down as it changes.
    pub(crate) is_kept: bool,
    /// Wakes whoever writes it down.
    pub(crate) changed: Notify,
    /// Tells whoever waits until an origin's storage is known.
    told: watch::Sender<()>,
}

#[derive(Default)]
pub(super) struct Known {
    /// As it is.
    pub(super) now: Kept,
    /// As it was written down.
    pub(super) saved: Kept,
    /// Whether what was kept has been read.
    pub(super) is_loaded: bool,
    /// Origins that store too much.
    left_out: BTreeSet<String>,
    /// Origins that may have stored more than is known.
    unsure: BTreeSet<String>,
    bytes: usize,
}

impl Memory {
    pub(super) fn new(is_kept: bool) -> Self {
        Self {
            is_kept,
            ..Self::default()
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened after which cookies may be different.
    pub(crate) fn touch(&self) {
        self.changed.notify_one();
    }

    /// Pages of these origins went away, and nobody asked them what they stored last.
    pub(crate) fn lose(&self, origins: impl IntoIterator<Item = String>) {
        {
            let mut known = self.lock();
            for origin in origins {
                if known.unsure.len() < MOST_UNSURE {
                    known.unsure.insert(origin);
                }
            }
        }
        self.touch();
    }

    /// The origins that have to be looked at; whoever takes them does, or puts it off.
    pub(super) fn take_unsure(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.lock().unsure)
    }

    pub(super) fn put_off(&self, origins: BTreeSet<String>) {
        self.lock().unsure.extend(origins);
    }

    /// Takes an event about what pages store.
    pub(crate) fn take(&self, event: &Event<'_>) {
        let Some(it) = event.read::<StorageChanged>() else {
            return;
        };
        let Some(origin) = origin(&it.storage_id) else {
            return;
        };
        {
            let mut known = self.lock();
            match (event.method, it.key, it.new_value) {
                ("DOMStorage.domStorageItemsCleared", _, _) => known.forget(&origin),
                ("DOMStorage.domStorageItemRemoved", Some(key), _) => known.remove(&origin, &key),
                (_, Some(key), Some(value)) => known.set(origin, key, value),
                _ => return,
            }
        }
        self.told.send_replace(());
        self.touch();
    }

    /// Waits until events have told that an origin stores just this; false if they have not by
    /// `deadline`.
    pub(crate) async fn hears(
        &self,
        origin: &str,
        items: &BTreeMap<String, String>,
        deadline: Instant,
    ) -> bool {
        let mut told = self.told.subscribe();
        while !self.lock().agrees(origin, items) {
            if !matches!(timeout_at(deadline, told.changed()).await, Ok(Ok(()))) {
                return false;
            }
        }
        true
    }

    /// Takes what an origin stores as its page says.
    pub(crate) fn replace(&self, origin: &str, items: BTreeMap<String, String>) {
        {
            let mut known = self.lock();
            known.forget(origin);
            for (key, value) in items {
                known.set(origin.to_owned(), key, value);
            }
        }
        self.touch();
    }
}

impl Known {
    /// Begins with what was kept.
    pub(super) fn begin(&mut self, kept: Kept) {
        self.bytes = kept.origins.values().flatten().map(size).sum();
        self.now = kept.clone();
        self.saved = kept;
        self.is_loaded = true;
    }

    /// Whether there is nothing to learn from what a page of an origin says that it stores.
    fn agrees(&self, origin: &str, items: &BTreeMap<String, String>) -> bool {
        match self.now.origins.get(origin) {
            Some(known) => known == items,
            None => items.is_empty() || self.left_out.contains(origin),
        }
    }

    fn set(&mut self, origin: String, key: String, value: String) {
        if self.left_out.contains(&origin) {
            return;
        }
        let of = self.now.origins.entry(origin.clone()).or_default();
        self.bytes += size((&key, &value));
        let name = key.clone();
        if let Some(old) = of.insert(key, value) {
            self.bytes -= size((&name, &old));
        }
        if self.bytes > ROOM {
            self.forget(&origin);
            self.left_out.insert(origin);
        }
    }

    fn remove(&mut self, origin: &str, key: &str) {
        let Some(of) = self.now.origins.get_mut(origin) else {
            return;
        };
        if let Some(old) = of.remove(key) {
            self.bytes -= key.len() + old.len();
        }
        if of.is_empty() {
            self.now.origins.remove(origin);
        }
    }

    fn forget(&mut self, origin: &str) {
        if let Some(of) = self.now.origins.remove(origin) {
            self.bytes -= of.iter().map(size).sum::<usize>();
        }
    }
}

fn size((key, value): (&String, &String)) -> usize {
    key.len() + value.len()
}

/// The origin whose own storage it is; storage that a frame has inside of another site is not
/// what a visitor is known by.
fn origin(id: &StorageId) -> Option<String> {
    let name = id
        .storage_key
        .as_deref()
        .or(id.security_origin.as_deref())?;
    let is_web = name.starts_with("http://") || name.starts_with("https://");
    let is_own = id.is_local_storage && is_web && !name.contains('^');
    is_own.then(|| name.trim_end_matches('/').to_owned())
}

/// What pages stored, in the order of origins.
pub(super) type Stored = BTreeMap<String, BTreeMap<String, String>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_that_stores_too_much_is_left_out_and_nobody_else() {
        let mut known = Known::default();
        let set = |known: &mut Known, origin: &str, key: &str, bytes: usize| {
            known.set(origin.into(), key.into(), "x".repeat(bytes));
        };
        set(&mut known, "https://a.test", "k", 1000);
        set(&mut known, "https://a.test", "k", 10);
        for it in 0..9 {
            set(&mut known, "https://b.test", &it.to_string(), 1 << 20);
        }
        set(&mut known, "https://b.test", "more", 1);
        assert_eq!(Vec::from_iter(known.now.origins.keys()), ["https://a.test"]);
        assert_eq!(known.bytes, 11);
        known.remove("https://a.test", "k");
        assert!(known.now.is_empty() && known.bytes == 0);
    }
}
