//! What several graphs hold, gathered so that a million edges are compared as numbers.
//!
//! Every id and type is numbered once; the order of the numbers' names is worked out once, and edges are sorted by it.

use std::collections::HashMap;

use serde_json::Value;

use crate::graph::source::Source;

/// A node wherever it was seen: the place of its source, and the node itself.
pub(super) type Seen<'a> = Vec<(usize, &'a Value)>;

/// Source, type and target, by number.
type Ends = [u32; 3];

/// Where an edge lies: the place of its graph, and its own in there.
pub(super) type EdgePlace = (usize, usize);

/// Everything the sources hold.
#[derive(Default)]
pub(super) struct Table<'a> {
    numbers: HashMap<&'a str, u32>,
    names: Vec<&'a str>,
    seen: Vec<Seen<'a>>,
    edges: Vec<(Ends, EdgePlace)>,
    /// The type of the last edge, which is mostly that of the next.
    last_kind: (&'a str, u32),
}

impl<'a> Table<'a> {
    pub(super) fn of(sources: &[Source<'a>]) -> Self {
        let mut table = Self::default();
        for (place, source) in sources.iter().enumerate() {
            for (id, node) in source.nodes() {
                let at = table.number(id);
                table.seen[at as usize].push((place, node));
            }
            for ((from, kind, to), at) in source.edges() {
                let ends = [table.number(from), table.kind(kind), table.number(to)];
                table.edges.push((ends, (place, at)));
            }
        }
        table
    }

    fn kind(&mut self, name: &'a str) -> u32 {
        if self.last_kind.0 != name || self.names.is_empty() {
            self.last_kind = (name, self.number(name));
        }
        self.last_kind.1
    }

    /// The number of a name. There are fewer names than four thousand million: their
    /// text alone would not fit into memory.
    fn number(&mut self, name: &'a str) -> u32 {
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
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
        self.seen.get(at as usize).filter(|seen| !seen.is_empty())
    }

    /// The nodes that no edge leads to or from.
    pub(super) fn alone(&self) -> Vec<&'a str> {
        let mut is_connected = vec![false; self.names.len()];
        for ([from, _, to], _) in &self.edges {
            is_connected[*from as usize] = true;
            is_connected[*to as usize] = true;
        }
        let all = self.nodes();
        all.filter(|(id, _)| !is_connected[self.numbers[id] as usize])
            .map(|(id, _)| id)
            .collect()
    }

    /// The places of the edges by source, type and target; of equal ones the last.
    pub(super) fn edges(&self) -> Vec<EdgePlace> {
        let mut in_order: Vec<u32> = (0..).take(self.names.len()).collect();
        in_order.sort_unstable_by_key(|number| self.names[*number as usize]);
        let mut rank = vec![0_u32; self.names.len()];
        for (number, at) in in_order.into_iter().zip(0..) {
            rank[number as usize] = at;
        }
        let mut sorted: Vec<(Ends, EdgePlace)> = self
            .edges
            .iter()
            .map(|(ends, place)| (ends.map(|number| rank[number as usize]), *place))
            .collect();
        sorted.sort_unstable();
        let last_of_equals = sorted.iter().enumerate().filter(|(at, (ends, _))| {
            let next = sorted.get(at + 1);
            next.is_none_or(|(following, _)| following != ends)
        });
        last_of_equals.map(|(_, (_, place))| *place).collect()
    }
}
