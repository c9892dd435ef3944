//! The bases there are, and the versions that running sessions still walk in.

use std::{collections::VecDeque, sync::Arc};

use super::{Session, StepError};
use crate::base::Base;

/// How many versions that are no longer current are kept.
const MOST_RETIRED: usize = 16;
/// How many nodes the older ones of them have together at most.
const MOST_NODES: usize = 500_000;

/// Every base there is. Cheap to clone; a change makes a new one.
#[derive(Debug, Clone, Default)]
pub struct Library {
    current: Vec<Arc<Base>>,
    retired: VecDeque<Arc<Base>>,
}

impl Library {
    /// A library of these bases; the first ones win where all else is equal.
    pub fn new(bases: Vec<Arc<Base>>) -> Self {
        Self {
            current: bases,
            retired: VecDeque::new(),
        }
    }

    /// Puts a base in the place of the one with its id, or behind the others.
    ///
    /// Sessions that began with the other version go on with that one.
    pub fn replace(&mut self, base: Arc<Base>) {
        let same = self.current.iter_mut().find(|known| known.id == base.id);
        match same {
            Some(known) if known.version == base.version => {}
            Some(known) => {
                let old = std::mem::replace(known, base);
                self.keep(old);
            }
            None => self.current.push(base),
        }
    }

    /// Takes a base away from new sessions; those that began with it go on.
    pub fn retire(&mut self, id: &str) {
        if let Some(at) = self.current.iter().position(|known| known.id == id) {
            let old = self.current.remove(at);
            self.keep(old);
        }
    }

    /// Keeps a version for the sessions that walk in it: the last one always, older ones as
    /// long as they are few and small.
    fn keep(&mut self, old: Arc<Base>) {
        let mut nodes = 0;
        let fits = |base: &&Arc<Base>| {
            nodes += base.node_count();
            nodes <= MOST_NODES
        };
        let older = self.retired.iter().take_while(fits).count();
        self.retired.truncate(older.min(MOST_RETIRED - 1));
        self.retired.push_front(old);
    }

    /// Puts the bases into this order; others come behind.
    pub fn arrange(&mut self, ids: &[&str]) {
        let place = |base: &Arc<Base>| ids.iter().position(|id| *id == base.id);
        self.current
            .sort_by_key(|base| place(base).unwrap_or(usize::MAX));
    }

    /// The bases that new sessions are answered from.
    pub fn bases(&self) -> &[Arc<Base>] {
        &self.current
    }

    /// A base by its id.
    pub fn base(&self, id: &str) -> Option<&Arc<Base>> {
        self.current.iter().find(|base| base.id == id)
    }

    /// Whether a version is here.
    pub fn has(&self, id: &str, version: &str) -> bool {
        self.find(id, version).is_some()
    }

    /// Takes a version in again that sessions still walk in; new ones are not answered from it.
    pub fn restore(&mut self, base: Arc<Base>) {
        if !self.has(&base.id, &base.version) {
            self.keep(base);
        }
    }

    /// The version a session walks in.
    pub(super) fn base_of(&self, session: &Session) -> Result<&Arc<Base>, StepError> {
        self.version(&session.base, &session.version)
    }

    /// A version of a base, and no other one: what was said before must go on.
    pub(super) fn version(&self, id: &str, version: &str) -> Result<&Arc<Base>, StepError> {
        self.find(id, version)
            .ok_or_else(|| StepError::Gone(id.to_owned()))
    }

    fn find(&self, id: &str, version: &str) -> Option<&Arc<Base>> {
        let mut all = self.current.iter().chain(&self.retired);
        all.find(|base| base.id == id && base.version == version)
    }
}
