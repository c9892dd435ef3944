//! What changes of its own accord, for whoever listens.
//!
//! Invariant: a list is announced as changed only after the new one is in place.

use std::sync::{Arc, PoisonError, Weak};

use tokio::sync::broadcast;
use tollgate_core::{Notice, NoticeSink};

use super::{Gateway, Inner};
use crate::catalog::{Catalog, Problem};

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

/// Tools that are compared in no time. More of them take a while, and nobody's call waits for
/// that; but another thread keeps memory of its own.
const QUICK: usize = 500;
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

    /// Lets providers say that something of theirs has changed.
    pub fn attend(&self) {
        let again = Arc::new(tokio::sync::Notify::new());
        let sink: Arc<dyn NoticeSink> = Arc::new(Attendant {
            inner: Arc::downgrade(&self.0),
            again: Arc::clone(&again),
        });
        for provider in self.catalog().providers() {
            provider.watch(Arc::clone(&sink));
        }
        let inner = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                again.notified().await;
                let Some(gateway) = inner.upgrade().map(Gateway) else {
                    return;
                };
                let catalog = gateway.catalog().collect_again().await;
                let is_long = catalog.listings().nth(QUICK).is_some();
                let put = move || gateway.replace_catalog(catalog);
                if is_long {
                    // If it breaks, the catalogue stays as it is.
                    drop(tokio::task::spawn_blocking(put).await);
                } else {
                    put();
                }
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

    fn announce(&self, changed: Changed) {
        // Nobody listening is no failure.
        drop(self.changes.send(changed));
    }
}

struct Attendant {
    inner: Weak<Inner>,
    again: Arc<tokio::sync::Notify>,
}

impl NoticeSink for Attendant {
    fn notice(&self, notice: Notice) {
        match notice {
            Notice::ListsChanged => self.again.notify_one(),
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
