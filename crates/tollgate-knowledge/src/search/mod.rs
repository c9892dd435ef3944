//! Finding the node that a question is about.
//!
//! Deterministic: the same files and the same words give the same answer in every
//! process. Work is bounded, so one question costs about the same at any size.

mod index;
mod query;

pub use index::Index;
pub(crate) use query::Query;

use crate::base::{Base, NodeId};

/// The most postings one question reads; rare words come first.
const WORK: usize = 300_000;
/// From one node in so many on, a table of all nodes is worth its while.
const SPARSE: usize = 16;
/// How fast more of the same word stops counting.
const SATURATION: f32 = 1.2;
/// How much long texts are held back.
const LENGTH: f32 = 0.4;
/// The part of a question's weight that a node has to have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Enough {
    /// When a keyword, a title or an option that leads there was said.
    pub(crate) named: f32,
    /// When it is only mentioned there.
    pub(crate) mentioned: f32,
}

impl Enough {
    /// For a first question, which may say a lot around one word that counts.
    pub(crate) const ENTRY: Self = Self {
        named: 0.1,
        mentioned: 0.3,
    };
    /// For words in the middle of a session, which could be about anything.
    pub(crate) const ONWARD: Self = Self {
        named: 0.3,
        mentioned: 0.5,
    };
    /// For words where something else was asked for: only what is clearly about a node.
    pub(crate) const INSTEAD: Self = Self {
        named: 0.6,
        mentioned: f32::INFINITY,
    };
}

/// A node that fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hit {
    /// The number of the base.
    pub(crate) base: usize,
    pub(crate) node: NodeId,
    pub(crate) score: f32,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    score: f32,
    covered: f32,
    named: bool,
}

/// The nodes that are close to the question, best first.
pub(crate) fn search(
    bases: &[&Base],
    words: &str,
    enough: Enough,
    keep: &dyn Fn(usize, NodeId) -> bool,
    most: usize,
) -> Vec<Hit> {
    let query = Query::new(words);
    let mut hits = Vec::new();
    let indexes: Vec<&Index> = bases.iter().map(|base| base.index()).collect();
    let nodes: usize = indexes.iter().map(|index| index.len()).sum();
    for (number, base) in bases.iter().enumerate() {
        let concepts = query.for_base(base);
        let weigh = |keys: &[u64]| -> f32 {
            let found: usize = indexes.iter().map(|index| index.frequency(keys)).sum();
            rarity(nodes, found)
        };
        let mut weighed: Vec<(f32, &Vec<Vec<u64>>)> = concepts
            .iter()
            .map(|concept| {
                let weights = concept.iter().map(|keys| weigh(keys));
                (weights.fold(f32::MAX, f32::min), concept)
            })
            .collect();
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0));
        let total: f32 = weighed.iter().map(|(weight, _)| weight).sum();
        let tallies = tally(indexes[number], &weighed);
        for (node, tally) in tallies {
            let part = tally.covered / total.max(f32::MIN_POSITIVE);
            let wanted = if tally.named {
                enough.named
            } else {
                enough.mentioned
            };
            let is_entry = base.at(node).is_entry();
            if part >= wanted && is_entry && keep(number, node) {
                hits.push(Hit {
                    base: number,
                    node,
                    score: tally.score,
                });
            }
        }
    }
    let order = |a: &Hit, b: &Hit| {
        b.score
            .total_cmp(&a.score)
            .then(a.base.cmp(&b.base))
            .then(a.node.cmp(&b.node))
    };
    if hits.len() > most {
        hits.select_nth_unstable_by(most, order);
        hits.truncate(most);
    }
    hits.sort_by(order);
    hits
}

fn rarity(nodes: usize, found: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a weight need not be exact")]
    let (nodes, found) = (nodes as f32, found as f32);
    (1.0 + (nodes - found + 0.5).max(0.0) / (found + 0.5)).ln()
}

/// What each node that has any of the words is worth, in the order of nodes.
fn tally(index: &Index, concepts: &[(f32, &Vec<Vec<u64>>)]) -> Vec<(NodeId, Tally)> {
    let mut work = WORK;
    let mut found: Vec<(f32, Vec<(NodeId, u8)>)> = Vec::with_capacity(concepts.len());
    for (weight, alternatives) in concepts {
        let mut best: Vec<(NodeId, u8)> = Vec::new();
        for keys in alternatives.iter() {
            let nodes = index.find(keys);
            if nodes.len() > work {
                continue;
            }
            work -= nodes.len();
            best = if best.is_empty() {
                nodes
            } else {
                merge(&best, &nodes)
            };
        }
        found.push((*weight, best));
    }
    let add = |tally: &mut Tally, weight: f32, node: NodeId, strength: u8| {
        let often = f32::from(strength) / 2.0;
        let longer = 1.0 - LENGTH + LENGTH * index.relative_length(node);
        tally.score += weight * often * (SATURATION + 1.0) / (often + SATURATION * longer);
        tally.covered += weight;
        tally.named |= strength >= index::NAMED;
    };
    let postings: usize = found.iter().map(|(_, nodes)| nodes.len()).sum();
    if postings < index.len() / SPARSE {
        // Few of many nodes: what each word finds is added to what the words before found.
        let mut tallies: Vec<(NodeId, Tally)> = Vec::new();
        for (weight, nodes) in &found {
            let mut before = std::mem::take(&mut tallies).into_iter().peekable();
            for &(node, strength) in nodes {
                tallies.extend(std::iter::from_fn(|| before.next_if(|one| one.0 < node)));
                let known = before.next_if(|one| one.0 == node);
                let mut tally = known.map_or_else(Tally::default, |one| one.1);
                add(&mut tally, *weight, node, strength);
                tallies.push((node, tally));
            }
            tallies.extend(before);
        }
        return tallies;
    }
    let mut tallies = vec![Tally::default(); index.len()];
    for (weight, nodes) in &found {
        for &(node, strength) in nodes {
            if let Some(tally) = tallies.get_mut(node as usize) {
                add(tally, *weight, node, strength);
            }
        }
    }
    let numbered = tallies.into_iter().zip(0..);
    numbered
        .filter(|(tally, _)| tally.score > 0.0)
        .map(|(tally, node)| (node, tally))
        .collect()
}

/// Both lists in one, the stronger of two winning.
fn merge(a: &[(NodeId, u8)], b: &[(NodeId, u8)]) -> Vec<(NodeId, u8)> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        match (a.get(i), b.get(j)) {
            (Some(&(x, s)), Some(&(y, t))) if x == y => {
                merged.push((x, s.max(t)));
                i += 1;
                j += 1;
            }
            (Some(&left), Some(&right)) if left.0 < right.0 => {
                merged.push(left);
                i += 1;
            }
            (Some(&left), None) => {
                merged.push(left);
                i += 1;
            }
            (_, Some(&right)) => {
                merged.push(right);
                j += 1;
            }
            (None, None) => break,
        }
    }
    merged
}
