//! Which nodes have which words: a few bytes for each pair, in the order of nodes.
//!
//! A posting is the distance to the next node and a strength; nothing is sorted and no word
//! is kept as text. Long lists have marks on the way, so that one node can be asked for
//! without reading all that stands before it, and a list of the nodes they say most about.

use hashbrown::{HashTable, hash_table::Entry};

use crate::base::NodeId;

/// After so many postings there is a mark.
const STRIDE: usize = 64;
/// A word that more nodes have has a list of the nodes it says most about.
pub(super) const LONG: usize = 256;
/// How many nodes are on that list.
const BEST: usize = 64;

/// The words of some nodes.
#[derive(Debug, Default)]
pub(super) struct Words {
    terms: HashTable<Term>,
}

/// A word, and the nodes that have it.
#[derive(Debug, PartialEq)]
pub(super) struct Term {
    pub(super) key: u64,
    pub(super) count: u32,
    last: NodeId,
    postings: Vec<u8>,
    long: Option<Box<Long>>,
}

/// What makes a long list quick to look at.
#[derive(Debug, Default, PartialEq)]
struct Long {
    marks: Vec<Mark>,
    best: Vec<(NodeId, u8)>,
}

/// A place in the postings, and the node of the posting before it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mark {
    node: NodeId,
    at: u32,
}

impl Words {
    pub(super) fn term(&self, key: u64) -> Option<&Term> {
        self.terms.find(key, |term| term.key == key)
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Takes the words of a node that comes behind all others.
    pub(super) fn append(&mut self, node: NodeId, words: &mut [(u64, u8)]) {
        each_word(words, |key, strength| {
            let found = self
                .terms
                .entry(key, |term| term.key == key, |term| term.key);
            let term = found
                .or_insert_with(|| Term {
                    key,
                    count: 0,
                    last: 0,
                    postings: Vec::new(),
                    long: None,
                })
                .into_mut();
            push_number(&mut term.postings, node - term.last);
            term.postings.push(strength);
            term.last = node;
            term.count += 1;
        });
    }

    /// Puts the words of later nodes behind those of earlier ones.
    pub(super) fn join(&mut self, part: Self) {
        if self.terms.is_empty() {
            self.terms = part.terms;
            return;
        }
        for term in part.terms {
            let key = term.key;
            let same = self.terms.entry(key, |one| one.key == key, |one| one.key);
            match same {
                Entry::Vacant(place) => drop(place.insert(term)),
                Entry::Occupied(mut known) => known.get_mut().extend(&term),
            }
        }
    }

    /// Sets the marks; no more words come. Given how many words each node has, it is noted
    /// which nodes each word says most about.
    pub(super) fn finish(&mut self, lengths: Option<&[u16]>) {
        for term in self.terms.iter_mut() {
            term.postings.shrink_to_fit();
            term.mark();
            if let (Some(lengths), true) = (lengths, term.count as usize > LONG) {
                let length = |node: NodeId| lengths.get(node as usize).copied().unwrap_or(0);
                let best = best_of(term.nodes().collect(), length);
                term.long.get_or_insert_default().best = best;
            }
        }
    }
}

/// Each word once, with the strength of all its places together.
pub(super) fn each_word(words: &mut [(u64, u8)], mut take: impl FnMut(u64, u8)) {
    words.sort_unstable();
    for same in words.chunk_by(|(one, _), (other, _)| one == other) {
        let strength = same
            .iter()
            .fold(0_u8, |sum, (_, more)| sum.saturating_add(*more));
        take(same[0].0, strength);
    }
}

/// The nodes that a word says most about, in order: where it is strong, and little else is said.
pub(super) fn best_of(
    nodes: Vec<(NodeId, u8)>,
    length: impl Fn(NodeId) -> u16,
) -> Vec<(NodeId, u8)> {
    if nodes.len() <= BEST {
        return nodes;
    }
    // One number each, the best ones being the lowest.
    let mut ranks: Vec<u64> = nodes
        .into_iter()
        .map(|(node, strength)| {
            u64::from(!strength) << 48 | u64::from(length(node)) << 32 | u64::from(node)
        })
        .collect();
    ranks.select_nth_unstable(BEST);
    ranks.truncate(BEST);
    let unpacked = |rank: u64| (rank as NodeId, !((rank >> 48) as u8));
    let mut best: Vec<(NodeId, u8)> = ranks.into_iter().map(unpacked).collect();
    best.sort_unstable();
    best
}

impl Term {
    /// Adds the postings of later nodes; only the first of them counts from elsewhere.
    fn extend(&mut self, later: &Self) {
        let Some((first, _)) = later.nodes().next() else {
            return;
        };
        let length = later.postings.iter().position(|byte| byte & 0x80 == 0);
        push_number(&mut self.postings, first - self.last);
        self.postings
            .extend_from_slice(&later.postings[length.map_or(0, |last| last + 1)..]);
        self.last = later.last;
        self.count += later.count;
    }

    fn mark(&mut self) {
        if self.postings.len() < 2 * STRIDE {
            return;
        }
        let mut marks = Vec::with_capacity(self.count as usize / STRIDE);
        let mut nodes = self.nodes();
        while let Some((node, _)) = nodes.nth(STRIDE - 1) {
            let at = self.postings.len() - nodes.rest.len();
            marks.push(Mark {
                node,
                at: u32::try_from(at).unwrap_or(u32::MAX),
            });
        }
        self.long = Some(Box::new(Long {
            marks,
            best: Vec::new(),
        }));
    }

    /// The nodes that it says most about, if it is long.
    pub(super) fn best(&self) -> &[(NodeId, u8)] {
        self.long.as_ref().map_or(&[], |long| &long.best)
    }

    /// The nodes, in order, each with its strength.
    pub(super) fn nodes(&self) -> Nodes<'_> {
        Nodes {
            rest: &self.postings,
            node: 0,
        }
    }

    /// The strength of one node, if it has the word.
    pub(super) fn strength(&self, wanted: NodeId) -> Option<u8> {
        let marks = self.long.as_ref().map_or(&[][..], |long| &long.marks);
        let behind = marks.partition_point(|mark| mark.node < wanted);
        let nodes = match behind.checked_sub(1).map(|at| marks[at]) {
            None => self.nodes(),
            Some(mark) => Nodes {
                rest: self.postings.get(mark.at as usize..).unwrap_or_default(),
                node: mark.node,
            },
        };
        let mut behind = nodes.skip_while(|(node, _)| *node < wanted);
        behind
            .next()
            .filter(|(node, _)| *node == wanted)
            .map(|(_, strength)| strength)
    }
}

/// Reads postings.
#[derive(Debug, Default)]
pub(super) struct Nodes<'a> {
    rest: &'a [u8],
    node: NodeId,
}

impl Iterator for Nodes<'_> {
    type Item = (NodeId, u8);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // Nearly all distances have one byte or two.
        let (distance, strength, rest) = match self.rest {
            [one, strength, rest @ ..] if one & 0x80 == 0 => (u32::from(*one), *strength, rest),
            [one, two, strength, rest @ ..] if two & 0x80 == 0 => {
                let distance = u32::from(one & 0x7f) | u32::from(*two) << 7;
                (distance, *strength, rest)
            }
            bytes => far(bytes)?,
        };
        self.rest = rest;
        self.node += distance;
        Some((self.node, strength))
    }
}

/// Reads a posting of any distance.
fn far(bytes: &[u8]) -> Option<(u32, u8, &[u8])> {
    let mut rest = bytes;
    let (mut distance, mut shift) = (0_u32, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        distance |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    let (&strength, rest) = rest.split_first()?;
    Some((distance, strength, rest))
}

fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push((number as u8 & 0x7f) | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_of_a_long_list_is_found_by_itself() {
        let mut words = Words::default();
        let nodes: Vec<NodeId> = (0..1000).map(|at| at * at % 7 + at * 300).collect();
        for (node, at) in nodes.iter().zip(0_u32..) {
            words.append(*node, &mut [(5, (at % 200) as u8)]);
        }
        words.finish(None);
        let term = words.term(5).unwrap();
        assert_eq!(term.long.as_ref().unwrap().marks.len(), 1000 / STRIDE);
        for (node, at) in nodes.iter().zip(0_u32..) {
            assert_eq!(term.strength(*node), Some((at % 200) as u8), "{node}");
            assert_eq!(term.strength(node + 8), None);
        }
        assert_eq!(term.strength(u32::MAX), None);
    }

    #[test]
    fn distances_of_any_size_are_read_back() {
        let mut words = Words::default();
        let distances = [
            0,
            1,
            127,
            128,
            129,
            16_383,
            16_384,
            2_097_151,
            2_097_152,
            1 << 28,
        ];
        let mut node = 0;
        let mut wanted = Vec::new();
        for (distance, strength) in distances
            .into_iter()
            .zip([0, 1, 127, 128, 255].into_iter().cycle())
        {
            node += distance;
            words.append(node, &mut [(7, strength)]);
            wanted.push((node, strength));
        }
        let found: Vec<(NodeId, u8)> = words.term(7).unwrap().nodes().collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn the_best_are_strong_and_short_and_early() {
        let nodes: Vec<(NodeId, u8)> = (0..500)
            .map(|at| (at * 3, (at * 7 % 11) as u8 * 25))
            .collect();
        let length = |node: NodeId| (node % 17 * 4000) as u16;
        let mut wanted = nodes.clone();
        wanted.sort_by_key(|&(node, strength)| (std::cmp::Reverse(strength), length(node), node));
        wanted.truncate(BEST);
        wanted.sort_unstable();
        assert_eq!(best_of(nodes, length), wanted);
    }
}
