//! Values that were taken out of answers, by the ids that stand for them in a session.
//!
//! Invariant: bounded in number and bytes; the value kept longest ago gives way, and is then unknown.
//! What counts is the memory that a value takes with all that finds it, not its own few bytes.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    mem::size_of,
    sync::Arc,
};

use serde::{Deserialize, Serialize};

/// The most bytes that the values of a session take.
const MAX_BYTES: usize = 16 << 20;
/// The most values of an answer, and of a session.
pub(crate) const MAX_VALUES: usize = 20_000;
/// What a value takes beside its strings: the entry of the map, its place in the order, the shared
/// record, the id twice, and what the allocator rounds up. About 350 bytes were measured for short
/// values without objects, of which 90 are strings.
const OVERHEAD: usize = 512;
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

impl Sealed {
    /// About how much memory it takes, with what finds it.
    pub(crate) fn bytes(&self) -> usize {
        let objects = self.objects.iter();
        let objects = objects.map(|object| object.provider.len() + object.name.len());
        let hosts = self.hosts.iter().map(String::len);
        OVERHEAD
            + self.rule.len()
            + self.value.len()
            + self.tool.len()
            + nodes::<Object>(self.objects.len())
            + nodes::<String>(self.hosts.len())
            + objects.chain(hosts).sum::<usize>()
    }
}

/// What the nodes of a tree of so many items take: each has room for eleven, and half of them are
/// in use at least.
fn nodes<T>(items: usize) -> usize {
    items.div_ceil(6) * (11 * size_of::<T>() + 32)
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

    /// How many bytes more it would take with these values.
    pub(super) fn growth(&self, values: &[(String, Sealed)]) -> usize {
        let fresh = values
            .iter()
            .filter(|(id, _)| !self.values.contains_key(id));
        let more: usize = fresh.map(|(_, sealed)| sealed.bytes()).sum();
        // What goes beyond makes the oldest values give way.
        more.min(MAX_BYTES.saturating_sub(self.bytes))
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
            let before = known.bytes();
            known.objects.extend(sealed.objects);
            known.hosts.extend(sealed.hosts);
            while known.objects.len() > MAX_PLACES {
                known.objects.pop_first();
            }
            while known.hosts.len() > MAX_PLACES {
                known.hosts.pop_first();
            }
            self.bytes = (self.bytes + known.bytes()).saturating_sub(before);
            return;
        }
        self.bytes += sealed.bytes();
        self.order.push_back(id.to_owned());
        self.values.insert(id.to_owned(), Arc::new(sealed));
        while self.bytes > MAX_BYTES || self.values.len() > MAX_VALUES {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            if let Some(gone) = self.values.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(gone.bytes());
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
        let (half, mut vault) = (MAX_BYTES / 2 - 4096, Vault::default());
        vault.put("first", sealed("x".repeat(half), "a"));
        let one = vault.bytes;
        vault.put("first", sealed("x".repeat(half), "b"));
        assert_eq!(vault.get("first").unwrap().objects.len(), 2);
        assert_eq!(vault.bytes, one + "mcp_files".len() + 1);
        vault.put("second", sealed("y".repeat(half), "a"));
        assert!(vault.get("first").is_some());
        vault.put("third", sealed("z".repeat(8192), "a"));
        assert!(vault.get("first").is_none());
        assert!(vault.get("second").is_some() && vault.get("third").is_some());
        for at in 0..100 {
            vault.put("third", sealed("z".to_owned(), &at.to_string()));
        }
        assert_eq!(vault.get("third").unwrap().objects.len(), MAX_PLACES);
        let held: usize = vault.values.values().map(|value| value.bytes()).sum();
        assert_eq!(vault.bytes, held);
    }

    #[test]
    fn a_short_value_counts_with_what_finds_it_and_no_vault_grows_beyond_its_bound() {
        let mut vault = Vault::default();
        let of = |at: usize| (format!("id{at}"), sealed(format!("{at}@example.com"), "a"));
        let values: Vec<_> = (0..2 * MAX_VALUES).map(of).collect();
        assert!(vault.growth(&values[..10]) > 10 * OVERHEAD);
        assert_eq!(vault.growth(&values), MAX_BYTES);
        for (id, sealed) in values.clone() {
            vault.put(&id, sealed);
        }
        assert!(vault.bytes <= MAX_BYTES && vault.values.len() <= MAX_VALUES);
        assert_eq!(vault.growth(&values[values.len() - 1..]), 0);
    }
}
