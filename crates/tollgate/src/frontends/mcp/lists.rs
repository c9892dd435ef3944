//! Lists of tools that were put together before.
//!
//! A list of thousands is asked for page by page, and again by every client that comes
//! back; policy is asked about each tool only once. Invariant: a kept list is used only
//! while the catalog, the rules, the skills, the caller and what it wants to see are the same.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use serde_json::Value;
use tollgate_core::{ResultView, SessionKey, Spelling, Surface, TrustLevel};
use tollgate_engine::{Caller, Catalog, Gateway, Skills, policy::Policies};

use super::{pages::Names, select::Selection};

/// Lists that are kept.
const KEPT: usize = 8;
/// Bytes of all lists that are kept.
const BYTES: usize = 16 << 20;

/// The lists asked for lately, the latest last.
#[derive(Default)]
pub(super) struct Lists(Mutex<VecDeque<Arc<Prepared>>>);

/// A list, printed entry by entry.
pub(super) struct Prepared {
    key: Key,
    pub(super) entries: Vec<String>,
    /// What was used to put it together, for whoever wonders.
    pub(super) used: Value,
    /// What is on it, in order, for whoever asks for the next page.
    pub(super) names: Names,
}

/// Everything a list depends on.
pub(super) struct Key {
    catalog: Weak<Catalog>,
    policies: Weak<Policies>,
    skills: Weak<Skills>,
    session: SessionKey,
    surface: Surface,
    trust: TrustLevel,
    scope: Option<Arc<[String]>>,
    spelling: Spelling,
    results: ResultView,
    selection: Selection,
}

impl Key {
    pub(super) fn new(gateway: &Gateway, caller: &Caller, selection: &Selection) -> Self {
        Self {
            catalog: Arc::downgrade(&gateway.catalog()),
            policies: Arc::downgrade(&gateway.policies()),
            skills: Arc::downgrade(&gateway.skills()),
            session: caller.session.clone(),
            surface: caller.surface,
            trust: caller.trust,
            scope: caller.scope.clone(),
            spelling: caller.spelling,
            results: caller.results,
            selection: selection.clone(),
        }
    }

    /// Whether both look at the same tools by the same rules.
    fn is_of_the_same_gate(&self, other: &Self) -> bool {
        self.catalog.ptr_eq(&other.catalog)
            && self.policies.ptr_eq(&other.policies)
            && self.skills.ptr_eq(&other.skills)
    }

    fn is(&self, other: &Self) -> bool {
        self.is_of_the_same_gate(other)
            && self.session == other.session
            && self.surface == other.surface
            && self.trust == other.trust
            && self.scope == other.scope
            && self.spelling == other.spelling
            && self.results == other.results
            && self.selection == other.selection
    }
}

impl Prepared {
    pub(super) fn new(key: Key, entries: Vec<String>, used: Value, names: Names) -> Self {
        Self {
            key,
            entries,
            used,
            names,
        }
    }

    fn bytes(&self) -> usize {
        self.entries.iter().map(String::len).sum()
    }
}

impl Lists {
    /// The list for this key, if it was put together before.
    pub(super) fn find(&self, key: &Key) -> Option<Arc<Prepared>> {
        let mut lists = self.lists();
        let at = lists.iter().position(|list| list.key.is(key))?;
        let list = lists.remove(at)?;
        lists.push_back(Arc::clone(&list));
        Some(list)
    }

    /// Keeps a list; lists of an earlier catalog or earlier rules are forgotten.
    pub(super) fn keep(&self, list: &Arc<Prepared>) {
        let mut lists = self.lists();
        lists.retain(|kept| kept.key.is_of_the_same_gate(&list.key) && !kept.key.is(&list.key));
        let mut bytes: usize = lists.iter().map(|list| list.bytes()).sum();
        bytes += list.bytes();
        if list.bytes() > BYTES {
            return;
        }
        lists.push_back(Arc::clone(list));
        while lists.len() > KEPT || bytes > BYTES {
            let Some(oldest) = lists.pop_front() else {
                break;
            };
            bytes -= oldest.bytes();
        }
    }

    fn lists(&self) -> MutexGuard<'_, VecDeque<Arc<Prepared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
