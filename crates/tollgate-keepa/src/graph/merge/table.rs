//! What several graphs hold, gathered so that a million edges are compared as numbers.
//!
//! Every id and type is numbered once; the order of the numbers' names is worked out once, and edges are sorted by it.

use std::collections::HashMap;

use serde_json::Value;

use crate::graph::source::Source;

/// A node wherever it was seen: the place of its source, and the node itself.
pub(super) type Seen<'a> = Vec<(usize, &'a Value)>;

/// Source, type and target, by number.
type Ends = [usize; 3];

/// Everything the sources hold.
#[derive(Default)]
pub(super) struct Table<'a> {
    numbers: HashMap<&'a str, usize>,
    names: Vec<&'a str>,
    seen: Vec<Seen<'a>>,
    edges: Vec<(Ends, &'a Value)>,
}

impl<'a> Table<'a> {
    pub(super) fn of(sources: &[Source<'a>]) -> Self {
        let mut table = Self::default();
        for (place, source) in sources.iter().enumerate() {
            for (id, node) in source.nodes() {
                let at = table.number(id);
                table.seen[at].push((place, node));
            }
            for ((from, kind, to), edge) in source.edges() {
                let ends = [from, kind, to].map(|name| table.number(name));
                table.edges.push((ends, edge));
            }
        }
        table
    }

    fn number(&mut self, name: &'a str) -> usize {
        let next = self.names.len();
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
            self.seen.push(Seen::new());
        }
        number
    }

    /// The nodes, by id.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&'a str, &Seen<'a>)> {
        let all = self.names.iter().copied().zip(&self.seen);
        all.filter(|(_, seen)| !seen.is_empty())
    }

    /// Where a node was seen.
    pub(super) fn seen(&self, id: &str) -> Option<&Seen<'a>> {
        let at = *self.numbers.get(id)?;
        self.seen.get(at).filter(|seen| !seen.is_empty())
    }

    /// The nodes that no edge leads to or from.
    pub(super) fn alone(&self) -> Vec<&'a str> {
        let mut is_connected = vec![false; self.names.len()];
        for ([from, _, to], _) in &self.edges {
            is_connected[*from] = true;
            is_connected[*to] = true;
        }
        let all = self.nodes();
        all.filter(|(id, _)| !is_connected[self.numbers[id]])
            .map(|(id, _)| id)
            .collect()
    }

    /// The edges by source, type and target; of equal ones the last.
    pub(super) fn edges(&self) -> Vec<&'a Value> {
        let mut in_order: Vec<usize> = (0..self.names.len()).collect();
        in_order.sort_unstable_by_key(|number| self.names[*number]);
        let mut rank = vec![0; self.names.len()];
        for (at, number) in in_order.into_iter().enumerate() {
            rank[number] = at;
        }
        let ranked = self.edges.iter().enumerate();
        let mut sorted: Vec<(Ends, usize)> = ranked
            .map(|(at, (ends, _))| (ends.map(|number| rank[number]), at))
            .collect();
        sorted.sort_unstable();
        let last_of_equals = sorted.iter().enumerate().filter(|(at, (ends, _))| {
            let next = sorted.get(at + 1);
            next.is_none_or(|(following, _)| following != ends)
        });
        last_of_equals
            .map(|(_, (_, at))| self.edges[*at].1)
            .collect()
    }
}
