//! Finding the node that a question is about.
//!
//! Deterministic: the same files and the same words give the same answer in every
//! process. Work is bounded, so one question costs about the same at any size: where a word
//! stands in more nodes than may be looked at, those count that it says most about.

mod changes;
mod fit;
mod gather;
mod heard;
mod index;
mod moves;
mod query;
mod synonyms;
mod words;

pub(crate) use fit::{Fit, Fitting, undominated};
pub(crate) use heard::Heard;
pub use index::Index;
use index::{Looked, cost, frequency};
pub(crate) use query::Query;
pub(crate) use synonyms::Synonyms;

use crate::base::{Base, NodeId};

/// How many nodes are asked for the words whose nodes were not all looked at.
const COMPLETED: usize = 16;
/// How much sooner the search ends behind a node that was not named whole.
const MAY_BE_BEHIND: usize = 8;
/// How many hits are put in order first; mostly one of them is it.
const FEW: usize = 8;

/// What a search wants of a node, and how much it may look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Enough {
    /// The part of the question's weight that is enough when a keyword, a title or an
    /// option that leads to the node was said.
    pub(crate) named: f32,
    /// The part that is enough when it is only mentioned there.
    pub(crate) mentioned: f32,
    /// The most postings that are read whole; rare words come first.
    pub(crate) work: usize,
}

impl Enough {
    /// For a first question, which may say a lot around one word that counts.
    pub(crate) const ENTRY: Self = Self {
        named: 0.1,
        mentioned: 0.3,
        work: 300_000,
    };
    /// For words in the middle of a session, which could be about anything.
    pub(crate) const ONWARD: Self = Self {
        named: 0.3,
        mentioned: 0.5,
        work: 500,
    };
    /// For words where something else was asked for: only what is clearly about a node.
    pub(crate) const INSTEAD: Self = Self {
        named: 0.6,
        mentioned: f32::INFINITY,
        work: 500,
    };

    /// The part that is enough for a node that was named, or one that was not.
    fn least(self, named: bool) -> f32 {
        match named {
            true => self.named.min(self.mentioned),
            false => self.mentioned,
        }
    }
}

/// A node that fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hit {
    /// The number of the base.
    pub(crate) base: usize,
    pub(crate) node: NodeId,
    pub(crate) score: f32,
    /// The part of the question's weight that it accounts for.
    pub(crate) covered: f32,
    /// Which of the concepts it has, in the order of the question.
    has: u64,
    /// Whether any of them stands in one of its names.
    named: bool,
}

/// What a node that has some of the words is worth.
#[derive(Clone, Copy, Default)]
struct Tally {
    node: NodeId,
    score: f32,
    covered: f32,
    named: bool,
    /// Which of the concepts it has, as far as there are bits.
    has: u64,
}

impl Tally {
    fn add(&mut self, concept: &Concept<'_>, worth: f32, strength: u8) {
        self.score += concept.weight * worth;
        self.covered += concept.weight;
        self.named |= strength >= gather::NAMED;
        self.has |= concept.bit;
    }
}

/// Something that was said.
struct Concept<'i> {
    weight: f32,
    /// Its place in the question.
    place: usize,
    bit: u64,
    /// The ways to say it, each as words that belong together.
    ways: Vec<Vec<Looked<'i>>>,
    /// Whether not every node that has one of them was looked at.
    is_cut: bool,
}

/// The nodes that are close to the question, best first; roots also if many are closer, as a
/// word for the whole base may have been said.
pub(crate) fn search(bases: &[&Base], query: &Query, enough: Enough, most: usize) -> Vec<Hit> {
    let hits = hits(bases, query, enough);
    let is_root = |hit: &&Hit| bases[hit.base].root == hit.node;
    let roots: Vec<Hit> = hits.iter().filter(is_root).copied().collect();
    let mut found = Vec::new();
    let is_entry = |hit: &Hit| bases[hit.base].at(hit.node).is_entry();
    in_order(hits, most, |hit| {
        if is_entry(&hit) {
            found.push(hit);
        }
        found.len() == most
    });
    let missing = |root: &Hit| is_entry(root) && !found.contains(root);
    let missing: Vec<Hit> = roots.into_iter().filter(missing).collect();
    found.extend(missing);
    found
}

/// The best node of a base that is wanted, of the first few that fit.
///
/// Whether one is wanted is asked in order and only until one is: a node is far away in
/// memory, and most of those that have some of the words are not among the best. One that
/// was named whole goes before a better one that was not.
pub(crate) fn first(
    base: &Base,
    query: &Query,
    enough: Enough,
    most: usize,
    mut wanted: impl FnMut(NodeId, Fit) -> Option<bool>,
) -> Option<NodeId> {
    let mut fitting = Fitting::new(base, query);
    let (mut found, mut asked): (Option<(Hit, Fit)>, _) = (None, 0);
    in_order(hits(&[base], query, enough), FEW, |hit| {
        if !base.at(hit.node).is_entry() {
            return false;
        }
        let fit = fitting.of(&hit);
        let is_behind = |(best, _): &(Hit, Fit)| !fit.goes_before(&hit, best);
        if found.as_ref().is_some_and(is_behind) {
            asked += MAY_BE_BEHIND;
            return asked >= most;
        }
        match wanted(hit.node, fit) {
            // It does not count.
            None => return false,
            Some(true) => found = Some((hit, fit)),
            Some(false) => asked += 1,
        }
        found.as_ref().is_some_and(|(_, fit)| fit.is_whole()) || asked >= most
    });
    found.map(|(hit, _)| hit.node)
}

/// Every node that has enough of the question, in no order.
fn hits(bases: &[&Base], query: &Query, enough: Enough) -> Vec<Hit> {
    let mut hits = Vec::new();
    let indexes: Vec<&Index> = bases.iter().map(|base| base.index()).collect();
    let nodes: usize = indexes.iter().map(|index| index.len()).sum();
    for (number, base) in bases.iter().enumerate() {
        let weigh = |keys: &[u64]| -> (f32, Vec<Looked<'_>>) {
            let own = indexes[number].look(keys);
            let others = indexes.iter().enumerate().filter(|(at, _)| *at != number);
            let others: usize = others.map(|(_, index)| frequency(&index.look(keys))).sum();
            (rarity(nodes, frequency(&own) + others), own)
        };
        let mut concepts: Vec<Concept<'_>> = query
            .for_base(base)
            .iter()
            .enumerate()
            .map(|(place, ways)| {
                let (weights, ways): (Vec<f32>, Vec<_>) =
                    ways.iter().map(|keys| weigh(keys)).unzip();
                Concept {
                    weight: weights.into_iter().fold(f32::MAX, f32::min),
                    place,
                    bit: 0,
                    ways,
                    is_cut: false,
                }
            })
            .collect();
        concepts.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let total: f32 = concepts.iter().map(|concept| concept.weight).sum();
        let total = total.max(f32::MIN_POSITIVE);
        let places: Vec<usize> = concepts.iter().map(|concept| concept.place).collect();
        for tally in tallies(indexes[number], concepts, enough, total) {
            if tally.covered / total >= enough.least(tally.named) {
                hits.push(Hit {
                    base: number,
                    node: tally.node,
                    score: tally.score,
                    covered: tally.covered / total,
                    has: in_places(tally.has, &places),
                    named: tally.named,
                });
            }
        }
    }
    hits
}

/// Hands the hits over, best first, until it is enough; only as many are put in order.
fn in_order(mut hits: Vec<Hit>, few: usize, mut is_enough: impl FnMut(Hit) -> bool) {
    let order = |a: &Hit, b: &Hit| {
        a.score
            .total_cmp(&b.score)
            .then(b.base.cmp(&a.base))
            .then(b.node.cmp(&a.node))
    };
    // Mostly the best one is enough, and it is found without any order among the others.
    let best = (0..hits.len()).max_by(|&a, &b| order(&hits[a], &hits[b]));
    let Some(best) = best else {
        return;
    };
    if is_enough(hits.swap_remove(best)) {
        return;
    }
    let mut few = few.max(1);
    while !hits.is_empty() {
        let rest = hits.len().saturating_sub(few);
        if rest > 0 {
            hits.select_nth_unstable_by(rest, order);
        }
        let mut next = hits.split_off(rest);
        next.sort_unstable_by(order);
        if next.into_iter().rev().any(&mut is_enough) {
            return;
        }
        few *= 2;
    }
}

fn rarity(nodes: usize, found: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a weight need not be exact")]
    let (nodes, found) = (nodes as f32, found as f32);
    (1.0 + (nodes - found + 0.5).max(0.0) / (found + 0.5)).ln()
}

/// What each node is worth that has enough of the words, or may have.
fn tallies(
    index: &Index,
    mut concepts: Vec<Concept<'_>>,
    enough: Enough,
    total: f32,
) -> Vec<Tally> {
    let mut found = found(index, &mut concepts, enough.work);
    // Each concept was found in the order of nodes, so this only merges.
    found.sort();
    let may_add: f32 = cut(&concepts).map(|concept| concept.weight).sum();
    // Rounding must not cost what has exactly enough its place.
    let least = |named: bool| (enough.least(named || may_add > 0.0) * total - may_add) * 0.999;
    let least = [least(false), least(true)];
    let weights: Vec<f32> = concepts.iter().map(|concept| concept.weight).collect();
    let mut tallies = Vec::with_capacity(found.len());
    let mut rest = found.as_slice();
    while let Some((postings, after)) = next_node(rest) {
        rest = after;
        let (mut covered, mut named) = (0.0, false);
        each_once(postings, |at, strength| {
            covered += weights[at];
            named |= strength >= gather::NAMED;
        });
        // What its words are worth is far away in memory, and few nodes have enough of them.
        if covered < least[usize::from(named)] {
            continue;
        }
        let node = node_of(postings[0]);
        let (mut score, mut has) = (0.0, 0);
        each_once(postings, |at, strength| {
            score += weights[at] * index.worth(node, strength);
            has |= bit(at);
        });
        tallies.push(Tally {
            node,
            score,
            covered,
            named,
            has,
        });
    }
    complete(index, &concepts, &mut tallies);
    tallies
}

/// Stands for a concept, as far as there are bits.
fn bit(concept: usize) -> u64 {
    u32::try_from(concept).map_or(0, |at| 1_u64.checked_shl(at).unwrap_or(0))
}

/// The bits of concepts that are in another order than the question, in its order.
fn in_places(has: u64, places: &[usize]) -> u64 {
    let all = places.iter().enumerate();
    let had = all.filter(|(at, _)| has & bit(*at) != 0);
    had.fold(0, |bits, (_, place)| bits | bit(*place))
}

/// The postings of the next node, and those behind them.
fn next_node(postings: &[u64]) -> Option<(&[u64], &[u64])> {
    let (first, rest) = postings.split_first()?;
    let is_other = |one: &u64| node_of(*one) != node_of(*first);
    let length = 1 + rest.iter().position(is_other).unwrap_or(rest.len());
    postings.split_at_checked(length)
}

/// Hands over every concept of a node once: of several ways to say it the strongest is the
/// last.
fn each_once(postings: &[u64], mut take: impl FnMut(usize, u8)) {
    let mut take = |one: u64| take((one >> 8) as u16 as usize, one as u8);
    if let [only] = postings {
        return take(*only);
    }
    for same in postings.chunk_by(|one, other| one >> 8 == other >> 8) {
        same.last().copied().into_iter().for_each(&mut take);
    }
}

/// A node, the number of a concept, and the strength in one number that sorts in this order.
fn packed(node: NodeId, concept: u16, strength: u8) -> u64 {
    u64::from(node) << 32 | u64::from(concept) << 8 | u64::from(strength)
}

fn node_of(one: u64) -> NodeId {
    (one >> 32) as NodeId
}

/// Looks at the nodes of every concept, or at the best of them when there are too many.
fn found(index: &Index, concepts: &mut [Concept<'_>], mut work: usize) -> Vec<u64> {
    let mut found = Vec::new();
    for (concept, at) in concepts.iter_mut().zip(0_u16..) {
        concept.bit = bit(usize::from(at));
        for words in &concept.ways {
            let cost = cost(words);
            let is_cut = cost > work;
            concept.is_cut |= is_cut;
            work -= if is_cut { 0 } else { cost };
            if let ([word], false) = (&words[..], is_cut) {
                found.reserve(word.count());
                index.each(word, |node, strength| {
                    found.push(packed(node, at, strength));
                });
                continue;
            }
            let nodes = match is_cut {
                true => index.find_best(words),
                false => index.find(words),
            };
            found.extend(nodes.iter().map(|one| packed(one.0, at, one.1)));
        }
    }
    found
}

/// The concepts of which not every node was looked at.
fn cut<'c, 'i>(concepts: &'c [Concept<'i>]) -> impl Iterator<Item = &'c Concept<'i>> {
    let cut = |concept: &&Concept<'_>| concept.is_cut && concept.bit != 0;
    concepts.iter().filter(cut)
}

/// Asks the nodes that are ahead for the concepts whose nodes were not all looked at.
fn complete(index: &Index, concepts: &[Concept<'_>], tallies: &mut [Tally]) {
    if cut(concepts).next().is_none() {
        return;
    }
    for at in foremost(tallies) {
        let tally = &mut tallies[at];
        for concept in cut(concepts) {
            if tally.has & concept.bit != 0 {
                continue;
            }
            let ways = concept.ways.iter();
            let strengths = ways.filter_map(|words| index.weakest(words, tally.node));
            if let Some(strength) = strengths.max() {
                tally.add(concept, index.worth(tally.node, strength), strength);
            }
        }
    }
}

/// The places of the nodes that are ahead.
fn foremost(tallies: &[Tally]) -> Vec<usize> {
    // Of equal scores those that come later are behind: the tallies are in the order of nodes.
    let mut best: Vec<(f32, usize)> = Vec::with_capacity(COMPLETED + 1);
    for (at, tally) in tallies.iter().enumerate() {
        if best.len() == COMPLETED {
            // Most are behind all of them.
            let last = best.last().map_or(f32::MAX, |last| last.0);
            if tally.score.total_cmp(&last).is_le() {
                continue;
            }
            best.pop();
        }
        let place = best.partition_point(|one| one.0.total_cmp(&tally.score).is_ge());
        best.insert(place, (tally.score, at));
    }
    best.into_iter().map(|one| one.1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, load_text};

    /// Every node mentions a router and every second one a cable; some are about them.
    fn base() -> Base {
        let mut text = String::from("{\"nodes\": {");
        for node in 0..4000 {
            let title = match node {
                1234 => "Router cable",
                2500 => "Antenna",
                3001 => "网线接口",
                _ => "",
            };
            let also = if node % 2 == 0 {
                "a cable, 网线"
            } else {
                "接口"
            };
            text.push_str(&format!(
                "\"n{node}\": {{\"title\": \"{title}\", \"response\": \"the router has {also}\"}},"
            ));
        }
        text.push_str("}}");
        load_text("k", &text, Format::Json).unwrap()
    }

    #[test]
    fn what_is_named_is_found_among_many_that_only_mention_it() {
        let base = base();
        for (words, wanted) in [
            ("router cable", 1234),
            ("the cable of my router, please", 1234),
            ("router antenna", 2500),
            ("网线接口", 3001),
        ] {
            for enough in [Enough::ENTRY, Enough::ONWARD] {
                let query = Query::new(words);
                let hits = search(&[&base], &query, enough, 64);
                let best = hits.first().map(|hit| hit.node);
                assert_eq!(best, Some(wanted), "{words}: {enough:?}");
            }
        }
    }

    #[test]
    fn common_words_are_not_read_whole() {
        let base = base();
        let query = Query::new("router");
        let tallied = |work| {
            let concept = |ways: &Vec<Vec<u64>>| Concept {
                weight: 1.0,
                place: 0,
                bit: 0,
                ways: ways.iter().map(|keys| base.index().look(keys)).collect(),
                is_cut: false,
            };
            let concepts = query.for_base(&base).iter().map(concept).collect();
            let enough = Enough {
                named: 0.0,
                mentioned: 0.0,
                work,
            };
            tallies(base.index(), concepts, enough, 1.0).len()
        };
        assert_eq!(tallied(Enough::ENTRY.work), 4000);
        assert!(tallied(Enough::ONWARD.work) < 100);
    }

    #[test]
    fn the_foremost_have_the_best_scores_and_of_equal_ones_the_first_nodes() {
        let tally = |node: NodeId| Tally {
            node,
            score: (node * 7919 % 53) as f32 / 4.0,
            ..Tally::default()
        };
        for count in [0, 1, 15, 16, 17, 40, 900] {
            let tallies: Vec<Tally> = (0..count).map(tally).collect();
            let mut wanted: Vec<usize> = (0..tallies.len()).collect();
            wanted.sort_by(|one, other| tallies[*other].score.total_cmp(&tallies[*one].score));
            wanted.truncate(COMPLETED);
            assert_eq!(foremost(&tallies), wanted, "{count}");
        }
    }
}
