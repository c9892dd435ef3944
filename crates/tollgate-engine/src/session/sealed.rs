//! Values that were taken out of answers, by the ids that stand for them in a session.
//!
//! Invariant: bounded in number and bytes; the value kept longest ago gives way, and is then unknown.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

/// The most bytes of values that a session keeps.
const MAX_BYTES: usize = 4 << 20;
/// The most values.
const MAX_VALUES: usize = 20_000;
/// The most values that are looked for in later answers because they were put into arguments.
const MAX_USED: usize = 256;
/// The most objects and hosts that are remembered of one value.
const MAX_PLACES: usize = 32;

/// Something that can be read and written again: a file, a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Object {
    /// Whose it is.
    pub(crate) provider: String,
    /// What it is called there.
    pub(crate) name: String,
}

/// A value that was taken out of an answer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sealed {
    pub(crate) rule: String,
    pub(crate) value: String,
    /// Which tool answered it first.
    pub(crate) tool: String,
    /// What it was read from.
    pub(crate) objects: BTreeSet<Object>,
    /// The hosts of the addresses it was part of.
    pub(crate) hosts: BTreeSet<String>,
}

#[derive(Default)]
pub(super) struct Vault {
    values: HashMap<String, Arc<Sealed>>,
    /// Ids of values that were put into arguments.
    used: VecDeque<String>,
    order: VecDeque<String>,
    bytes: usize,
}

impl Vault {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Sealed>> {
        self.values.get(id).cloned()
    }

    /// Notes that a value was put into arguments: later answers may repeat it.
    pub(super) fn note_use(&mut self, id: &str) {
        if !self.used.iter().any(|used| used == id) {
            self.used.push_back(id.to_owned());
        }
        if self.used.len() > MAX_USED {
            self.used.pop_front();
        }
    }

    /// The values that were put into arguments, with their ids.
    pub(super) fn used(&self) -> Vec<(String, Arc<Sealed>)> {
        let known = |id: &String| Some((id.clone(), self.get(id)?));
        self.used.iter().filter_map(known).collect()
    }

    pub(super) fn put(&mut self, id: &str, sealed: Sealed) {
        if let Some(known) = self.values.get_mut(id).map(Arc::make_mut) {
            known.objects.extend(sealed.objects);
            known.hosts.extend(sealed.hosts);
            while known.objects.len() > MAX_PLACES {
                known.objects.pop_first();
            }
            while known.hosts.len() > MAX_PLACES {
                known.hosts.pop_first();
            }
            return;
        }
        self.bytes += sealed.value.len();
        self.order.push_back(id.to_owned());
        self.values.insert(id.to_owned(), Arc::new(sealed));
        while self.bytes > MAX_BYTES || self.values.len() > MAX_VALUES {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            if let Some(gone) = self.values.remove(&oldest) {
                self.bytes -= gone.value.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(value: String, name: &str) -> Sealed {
        let object = Object {
            provider: "mcp_files".to_owned(),
            name: name.to_owned(),
        };
        Sealed {
            rule: "email".to_owned(),
            value,
            tool: "mcp.files.read".to_owned(),
            objects: BTreeSet::from([object]),
            hosts: BTreeSet::new(),
        }
    }

    #[test]
    fn the_oldest_value_gives_way_and_objects_add_up() {
        let mut vault = Vault::default();
        vault.put("first", sealed("x".repeat(MAX_BYTES / 2), "a"));
        vault.put("first", sealed("x".repeat(MAX_BYTES / 2), "b"));
        assert_eq!(vault.get("first").unwrap().objects.len(), 2);
        assert_eq!(vault.bytes, MAX_BYTES / 2);
        vault.put("second", sealed("y".repeat(MAX_BYTES / 2), "a"));
        assert!(vault.get("first").is_some());
        vault.put("third", sealed("z".to_owned(), "a"));
        assert!(vault.get("first").is_none());
        assert!(vault.get("second").is_some() && vault.get("third").is_some());
        for at in 0..100 {
            vault.put("third", sealed("z".to_owned(), &at.to_string()));
        }
        assert_eq!(vault.get("third").unwrap().objects.len(), MAX_PLACES);
    }
}
