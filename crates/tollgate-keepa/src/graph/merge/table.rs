//! What several graphs hold, gathered so that a million edges are compared as numbers.
//!
//! Every id and type is numbered in the order of the names, which is the only sorting by comparison: nodes and edges
//! are then put in order by counting, at the same price for each however many there are.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::Value;

use crate::graph::source::Source;

/// A node where it was seen.
#[derive(Clone, Copy)]
pub(super) struct Sighting<'a> {
    /// Its id, by number.
    id: u32,
    /// The place of its graph.
    pub(super) graph: u32,
    /// Its own place in there.
    pub(super) at: u32,
    /// The node itself.
    pub(super) node: &'a Value,
}

/// A node wherever it was seen, in the order of the graphs.
pub(super) type Seen<'a> = [Sighting<'a>];

/// An edge by the numbers of its names, and where it lies.
#[derive(Clone, Copy, Default)]
struct Edge {
    source: u32,
    kind: u32,
    target: u32,
    place: EdgePlace,
}

/// Where an edge lies: the place of its graph, and its own in there.
pub(super) type EdgePlace = (u32, u32);

/// Everything the sources hold.
pub(super) struct Table<'a> {
    /// In their order; a number is a place in here.
    names: Vec<&'a str>,
    /// By id.
    sightings: Vec<Sighting<'a>>,
    /// Where the sightings of each id begin, and at last where they all end.
    starts: Vec<u32>,
    edges: Vec<Edge>,
}

impl<'a> Table<'a> {
    pub(super) fn of(sources: &[Source<'a>]) -> Self {
        let mut names = Names::default();
        let count = |one: fn(&Source<'a>) -> usize| sources.iter().map(one).sum();
        let mut sightings = Vec::with_capacity(count(Source::node_count));
        let mut edges = Vec::with_capacity(count(Source::edge_count));
        for (graph, source) in sources.iter().enumerate() {
            let graph = place(graph);
            for ((id, node), at) in source.nodes() {
                let id = names.number(id);
                sightings.push(Sighting {
                    id,
                    graph,
                    at: place(at),
                    node,
                });
            }
            let (mut last_source, mut last_kind) = (None, None);
            for ((from, kind, to), at) in source.edges() {
                edges.push(Edge {
                    source: names.number_after(from, &mut last_source),
                    kind: names.number_after(kind, &mut last_kind),
                    target: names.number(to),
                    place: (graph, place(at)),
                });
            }
        }
        let (names, ranks) = names.in_order();
        let rank = |number: &mut u32| *number = ranks[*number as usize];
        for sighting in &mut sightings {
            rank(&mut sighting.id);
        }
        for edge in &mut edges {
            rank(&mut edge.source);
            rank(&mut edge.kind);
            rank(&mut edge.target);
        }
        let starts = starts(&sightings, names.len(), |one| one.id);
        let mut by_id = sightings.clone();
        scatter(&sightings, &mut by_id, starts.clone(), |one| one.id);
        Self {
            names,
            sightings: by_id,
            starts,
            edges,
        }
    }

    /// The nodes with their ids, in the order of these.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&'a str, &Seen<'a>)> {
        let all = self.names.iter().enumerate();
        all.map(|(number, id)| (*id, self.sightings_of(number)))
            .filter(|(_, seen)| !seen.is_empty())
    }

    /// Where a node was seen.
    pub(super) fn seen(&self, id: &str) -> &Seen<'a> {
        let number = self.names.binary_search(&id);
        number.map_or(&[], |number| self.sightings_of(number))
    }

    fn sightings_of(&self, number: usize) -> &Seen<'a> {
        &self.sightings[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    /// The nodes that no edge leads to or from, in the order of their ids.
    pub(super) fn alone(&self) -> Vec<&'a str> {
        let mut is_connected = vec![false; self.names.len()];
        for edge in &self.edges {
            is_connected[edge.source as usize] = true;
            is_connected[edge.target as usize] = true;
        }
        let all = self.names.iter().enumerate();
        all.filter(|(number, _)| !is_connected[*number] && !self.sightings_of(*number).is_empty())
            .map(|(_, id)| *id)
            .collect()
    }

    /// The places of the edges by source, type and target; of equal ones the last.
    pub(super) fn edges(self) -> Vec<EdgePlace> {
        let mut sorted = self.edges;
        let mut room = vec![Edge::default(); sorted.len()];
        // Each order is kept by the next where that says nothing, so the last is the most important.
        for key in [
            |edge: &Edge| edge.target,
            |edge: &Edge| edge.kind,
            |edge: &Edge| edge.source,
        ] {
            if sorted.is_sorted_by_key(key) {
                continue;
            }
            let starts = starts(&sorted, self.names.len(), key);
            scatter(&sorted, &mut room, starts, key);
            std::mem::swap(&mut sorted, &mut room);
        }
        drop(room);
        let ends = |edge: &Edge| (edge.source, edge.kind, edge.target);
        let last_of_equals = sorted.iter().enumerate().filter(|(at, edge)| {
            let next = sorted.get(at + 1);
            next.is_none_or(|following| ends(following) != ends(edge))
        });
        last_of_equals.map(|(_, edge)| edge.place).collect()
    }
}

/// A place or a number. There are fewer of either than four thousand million: they would
/// not fit into memory.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Where the items of each number begin when they are sorted by it, and where they end.
fn starts<T>(items: &[T], numbers: usize, key: impl Fn(&T) -> u32) -> Vec<u32> {
    let mut starts = vec![0; numbers + 1];
    for item in items {
        starts[key(item) as usize + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}

/// Puts items where they belong, those of one number in the order they had.
fn scatter<T: Copy>(from: &[T], to: &mut [T], mut next: Vec<u32>, key: impl Fn(&T) -> u32) {
    for item in from {
        let at = &mut next[key(item) as usize];
        to[*at as usize] = *item;
        *at += 1;
    }
}

/// Names, numbered as they are met.
#[derive(Default)]
struct Names<'a> {
    numbers: HashMap<&'a str, u32, RandomState>,
    all: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn number(&mut self, name: &'a str) -> u32 {
        *self.numbers.entry(name).or_insert_with(|| {
            self.all.push(name);
            place(self.all.len() - 1)
        })
    }

    /// The number of a name that is often the one before.
    fn number_after(&mut self, name: &'a str, last: &mut Option<(&'a str, u32)>) -> u32 {
        if let Some((_, number)) = last.filter(|(before, _)| *before == name) {
            return number;
        }
        let number = self.number(name);
        *last = Some((name, number));
        number
    }

    /// The names in their order, and the place of each by its number.
    fn in_order(self) -> (Vec<&'a str>, Vec<u32>) {
        let mut in_order: Vec<(&str, u32)> = self.all.into_iter().zip(0..).collect();
        in_order.sort_unstable();
        let mut ranks = vec![0; in_order.len()];
        for ((_, number), rank) in in_order.iter().zip(0..) {
            ranks[*number as usize] = rank;
        }
        (in_order.into_iter().map(|(name, _)| name).collect(), ranks)
    }
}
