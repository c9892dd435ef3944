//! What changes of its own accord, for whoever listens.
//!
//! Invariant: a list is announced as changed only after the new one is in place.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::{Notify, broadcast};
use tollgate_core::{Notice, NoticeSink};

use super::{Gateway, Inner};
use crate::{
    catalog::{Catalog, Problem},
    policy::InsufficientPermit,
};

/// Something that is no longer what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources or of their templates.
    Resources,
    /// What is read at this address.
    Resource(String),
    /// A page that a human was sent to is done; whoever asked knows its name.
    Page(String),
}

/// The event of a permit that does not lift the human where it may be meant to.
const INSUFFICIENT_PERMIT: &str = "policy.permit.insufficient";

/// Changes that a slow listener may be behind; beyond that it misses some.
pub(super) const BACKLOG: usize = 256;

impl Gateway {
    /// Hears of every change from now on.
    pub fn changes(&self) -> broadcast::Receiver<Changed> {
        self.0.changes.subscribe()
    }

    /// Puts another catalogue in place; calls under way keep theirs.
    pub fn replace_catalog(&self, catalog: Catalog) {
        let new = Arc::new(catalog);
        let mut changes = self.0.skills.judge(&new);
        let old = std::mem::replace(
            &mut *self
                .0
                .catalog
                .write()
                .unwrap_or_else(PoisonError::into_inner),
            Arc::clone(&new),
        );
        self.0.tell_problems(&new, old.problems());
        self.0.tell_insufficient_permits(&new);
        for changed in old.differences(&new) {
            if !changes.contains(&changed) {
                changes.push(changed);
            }
        }
        for changed in changes {
            self.0.announce(changed);
        }
        self.follow_again();
    }

    /// Asks every provider again, and puts what they say in place.
    pub(crate) async fn collect_again(&self) {
        let _collecting = self.0.collecting.lock().await;
        let catalog = self.catalog().collect_again().await;
        self.replace_catalog(catalog);
    }

    /// The permits that do not suffice for some of the tools on offer.
    pub fn insufficient_permits(&self) -> Vec<InsufficientPermit> {
        let catalog = self.catalog();
        let specs = catalog.listings().map(|listing| &*listing.spec);
        self.policies().insufficient_permits(specs)
    }

    /// Writes down the permits that do not suffice for some of the tools on offer.
    pub fn log_insufficient_permits(&self) {
        self.0.tell_insufficient_permits(&self.catalog());
    }

    /// Lets providers say that something of theirs has changed.
    pub fn attend(&self) {
        self.log_insufficient_permits();
        let heard = Arc::<Heard>::default();
        for provider in self.catalog().providers() {
            provider.watch(Arc::new(Attendant {
                inner: Arc::downgrade(&self.0),
                provider: provider.id().to_owned(),
                heard: Arc::clone(&heard),
            }));
        }
        let inner = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                heard.again.notified().await;
                let Some(gateway) = inner.upgrade().map(Gateway) else {
                    return;
                };
                let _collecting = gateway.0.collecting.lock().await;
                let changed = heard.take();
                let catalog = gateway.catalog().collect_from(&changed).await;
                gateway.replace_catalog(catalog);
            }
        });
    }
}

impl Inner {
    /// Writes down what is missing from a catalogue and was not known to be.
    pub(super) fn tell_problems(&self, catalog: &Catalog, known: &[Problem]) {
        let problems = catalog.problems().iter();
        for problem in problems.filter(|problem| !known.contains(problem)) {
            let message = self.cleaner.line(&problem.message);
            let event = problem.missing.event();
            self.log.warn(event, &problem.provider, &message);
        }
    }

    /// Writes down which permits do not suffice for the tools of a catalogue, each once for
    /// the same tools.
    fn tell_insufficient_permits(&self, catalog: &Catalog) {
        let specs = catalog.listings().map(|listing| &*listing.spec);
        let found = self.policies().insufficient_permits(specs);
        let told = self.insufficient_permits.lock();
        let mut told = told.unwrap_or_else(PoisonError::into_inner);
        for permit in found.iter().filter(|permit| !told.contains(permit)) {
            let message = self.cleaner.line(&permit.to_string());
            self.log.warn(INSUFFICIENT_PERMIT, "policy", &message);
        }
        *told = found;
    }

    pub(crate) fn announce(&self, changed: Changed) {
        // Nobody listening is no failure.
        drop(self.changes.send(changed));
    }
}

/// Whose lists have changed since anybody looked.
#[derive(Default)]
struct Heard {
    providers: Mutex<BTreeSet<String>>,
    again: Notify,
}

impl Heard {
    fn put(&self, provider: &str) {
        self.providers().insert(provider.to_owned());
        self.again.notify_one();
    }

    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.providers())
    }

    fn providers(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.providers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hears what one provider says.
struct Attendant {
    inner: Weak<Inner>,
    provider: String,
    heard: Arc<Heard>,
}

impl NoticeSink for Attendant {
    fn notice(&self, notice: Notice) {
        match notice {
            Notice::ListsChanged => self.heard.put(&self.provider),
            Notice::ResourceUpdated(uri) => {
                if let Some(inner) = self.inner.upgrade() {
                    inner.announce(Changed::Resource(uri));
                }
            }
            Notice::PageDone(page) => {
                if let Some(inner) = self.inner.upgrade() {
                    inner.announce(Changed::Page(page));
                }
            }
        }
    }
}
