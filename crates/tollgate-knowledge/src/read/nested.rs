//! What JSON and YAML have in common: named values inside each other.
//!
//! A syntax says where a group begins, how its names are read and what a value is; how a
//! file becomes entries, and that no name stands twice, is said here once.

use std::{borrow::Cow, collections::BTreeSet};

use super::{Entry, Fault, Field, Item, NODES, Sink};
use crate::problem::Place;

/// From so many names on a group is looked up and not gone through.
const MANY: usize = 64;

/// Is given every name of a group, with the reader at its value.
pub(super) type Each<'f, 't, R> =
    &'f mut dyn FnMut(&mut R, Cow<'t, str>, Place) -> Result<(), Fault>;

/// A syntax whose values are inside each other.
pub(super) trait Nested<'t> {
    /// Whether a group of named values comes next.
    fn is_at_map(&mut self) -> bool;

    /// Reads a whole value.
    fn item(&mut self, depth: usize) -> Result<Item<'t>, Fault>;

    /// Reads a group, name by name.
    fn map(&mut self, each: Each<'_, 't, Self>) -> Result<(), Fault>;
}

/// Hands over what stands at the top, the nodes one by one.
pub(super) fn entries<'t, R: Nested<'t>>(reader: &mut R, sink: Sink<'_, 't>) -> Result<(), Fault> {
    let mut seen: BTreeSet<Cow<'t, str>> = BTreeSet::new();
    reader.map(&mut |reader, key, place| {
        if !seen.insert(key.clone()) {
            return Err(Fault::twice(place, &key));
        }
        if key != NODES || !reader.is_at_map() {
            let value = reader.item(1)?;
            return sink(Entry::Field(Field { key, place, value }));
        }
        reader.map(&mut |reader, key, place| {
            let value = reader.item(2)?;
            sink(Entry::Node(Field { key, place, value }))
        })
    })
}

/// The names of a group, once it has too many to go through them for each one more.
#[derive(Default)]
struct Names<'t>(BTreeSet<Cow<'t, str>>);

impl<'t> Names<'t> {
    /// Whether a group has this name already; if not, it is about to.
    fn have(&mut self, key: Cow<'t, str>, fields: &[Field<'t>]) -> bool {
        if fields.len() < MANY {
            return fields.iter().any(|field| field.key == key);
        }
        if self.0.is_empty() {
            self.0 = fields.iter().map(|field| field.key.clone()).collect();
        }
        !self.0.insert(key)
    }
}

/// The fields of a group that is kept whole.
pub(super) fn fields<'t, R: Nested<'t>>(
    reader: &mut R,
    depth: usize,
) -> Result<Vec<Field<'t>>, Fault> {
    let mut fields: Vec<Field<'t>> = Vec::new();
    let mut names = Names::default();
    reader.map(&mut |reader, key, place| {
        if names.have(key.clone(), &fields) {
            return Err(Fault::twice(place, &key));
        }
        let value = reader.item(depth + 1)?;
        fields.push(Field { key, place, value });
        Ok(())
    })?;
    Ok(fields)
}
