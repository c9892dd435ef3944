//! The tabs of a session: which there are, which one is active, and how many there may be.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use super::Session;
use crate::{
    boundary::Refusals,
    protocol::{events::Attached, pipe::Connection},
    tab::{Fresh, Tab},
};

pub(super) static NEXT_TAB: AtomicU64 = AtomicU64::new(1);

#[derive(Default)]
pub(super) struct Tabs {
    pub(super) all: Vec<Entry>,
    pub(super) active: Option<String>,
    /// The proxy's refusals, for tabs that open by themselves.
    pub(super) refusals: Arc<Refusals>,
    /// Tabs that opened by themselves and were closed because there were too many.
    dropped: u64,
}

pub(super) struct Entry {
    pub(super) id: String,
    pub(super) tab: Arc<Tab>,
    pub(super) opener: Option<String>,
    /// Whether only those get it who name it.
    pub(super) is_aside: bool,
    pub(super) _slot: Slot,
}

/// One of the tabs that all sessions share.
pub(super) struct Slot(Arc<AtomicUsize>);

impl Slot {
    pub(super) fn take(count: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let taken = count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
            (count < most).then_some(count + 1)
        });
        taken.is_ok().then(|| Self(Arc::clone(count)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Session {
    /// Takes a page that the browser opened; nothing if there are too many.
    pub(crate) fn adopt(&self, connection: &Connection, attached: &Attached) -> Option<Arc<Tab>> {
        let browser = self.browser.upgrade()?;
        let limits = &browser.settings.limits;
        let mut tabs = self.tabs();
        if tabs.all.len() >= limits.tabs_per_session {
            tabs.dropped += 1;
            return None;
        }
        let Some(slot) = Slot::take(&browser.tabs, limits.tabs) else {
            tabs.dropped += 1;
            return None;
        };
        let tab = Tab::new(Fresh {
            target: attached.target_info.target_id.clone(),
            session: attached.session_id.clone(),
            connection: connection.clone(),
            refusals: Arc::clone(&tabs.refusals),
            times: browser.times(),
            roots: Arc::clone(&self.roots),
            memory: Arc::clone(&self.memory),
        });
        tabs.all.push(Entry {
            id: format!("tab_{}", NEXT_TAB.fetch_add(1, Ordering::Relaxed)),
            tab: Arc::clone(&tab),
            opener: attached.target_info.opener_id.clone(),
            is_aside: false,
            _slot: slot,
        });
        Some(tab)
    }

    /// A page closed itself.
    pub(crate) fn forget(&self, target: &str) {
        let mut tabs = self.tabs();
        tabs.all.retain(|entry| entry.tab.target != target);
        tabs.mend();
    }

    pub(crate) fn has_frame(&self, frame: &str) -> bool {
        let tabs = self.tabs();
        tabs.all
            .iter()
            .any(|entry| entry.tab.lock().frames.contains_key(frame))
    }

    /// Its tabs, and the active one.
    pub fn list(&self) -> (Option<String>, Vec<(String, Arc<Tab>)>) {
        let tabs = self.tabs();
        let own = tabs.all.iter().filter(|entry| !entry.tab.lock().is_stage);
        let all = own.map(|entry| (entry.id.clone(), Arc::clone(&entry.tab)));
        (tabs.active.clone(), all.collect())
    }

    /// Tabs that a tab opened, by their ids.
    pub fn opened_by(&self, tab: &Tab) -> Vec<String> {
        let tabs = self.tabs();
        let opened = tabs
            .all
            .iter()
            .filter(|entry| entry.opener.as_ref() == Some(&tab.target));
        opened.map(|entry| entry.id.clone()).collect()
    }

    /// Tabs that opened by themselves and were closed because there were too many.
    pub fn dropped_tabs(&self) -> u64 {
        self.tabs().dropped
    }
}

impl Tabs {
    pub(super) fn id_of(&self, tab: &Arc<Tab>) -> Option<String> {
        let found = self.all.iter().find(|entry| Arc::ptr_eq(&entry.tab, tab));
        found.map(|entry| entry.id.clone())
    }

    /// The active tab is one that is there.
    pub(super) fn mend(&mut self) {
        let is_there = self
            .active
            .as_ref()
            .is_some_and(|id| self.all.iter().any(|it| it.id == *id));
        if !is_there {
            let next = self.all.iter().find(|entry| !entry.is_aside);
            self.active = next.map(|entry| entry.id.clone());
        }
    }
}
