//! How much each word says about each node of a base.
//!
//! Most words of a new version are those of the version before. So an index has two parts:
//! the words of an earlier version, shared with it, of which some nodes have moved and some
//! are gone; and the words of the nodes that have changed since. Every count is exact, so an
//! index that grew over many versions answers like one that was made at once.

use std::{ops::Range, sync::Arc};

use hashbrown::HashTable;

use super::{
    changes::{NONE, same_nodes},
    gather::{MOST_LEADS, each_node, leads},
    moves::Moves,
    words::{LONG, Term, Words, best_of, each_word},
};
use crate::base::{Base, NodeId};

/// The fewest nodes that are worth a thread of their own.
const PART: usize = 20_000;
/// The most parts that are indexed at once.
const MOST_PARTS: usize = 4;
/// When one node in so many has changed, an index of one part is made again.
const MOST_CHANGED: usize = 8;
/// Asking for one node costs about as much as reading so many postings.
const SEEK: usize = 32;
/// How fast more of the same word stops counting.
const SATURATION: f32 = 1.2;
/// How much long texts are held back.
const LENGTH: f32 = 0.4;

/// The words of one base.
#[derive(Debug, Default)]
pub struct Index {
    main: Arc<Words>,
    /// How many nodes the main part was made of.
    size: usize,
    /// Where the nodes of the main part are now.
    moves: Option<Moves>,
    /// The words of nodes that are not in the main part.
    late: Words,
    /// How many nodes of the main part that have a word are gone.
    gone: HashTable<(u64, u32)>,
    /// For long words of which the main part does not know all.
    best: HashTable<Best>,
    lengths: Vec<u16>,
    usual_length: f32,
    /// Which options speak for which nodes, in the order of nodes.
    leads: Box<[(NodeId, u32)]>,
}

/// The nodes that a word says most about, in order.
#[derive(Debug)]
struct Best {
    key: u64,
    nodes: Box<[(NodeId, u8)]>,
}

/// A word that was looked up, so that nobody has to look it up again: a large index is far
/// away in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked<'i> {
    key: u64,
    main: Option<&'i Term>,
    late: Option<&'i Term>,
    /// How many nodes have it.
    count: usize,
}

impl Index {
    /// Indexes a base; a large one in parts at once, which are then put together.
    pub(crate) fn build(base: &Base) -> Self {
        let leads = leads(base, |_| true);
        let count = base.nodes.len();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let parts = threads.min(MOST_PARTS).min(count / PART + 1);
        let size = count.div_ceil(parts).max(1);
        let (mut words, lengths) = if parts == 1 {
            part(base, &leads, 0..count)
        } else {
            std::thread::scope(|scope| {
                let ranges = (0..parts).map(|part| part * size..((part + 1) * size).min(count));
                let leads = &leads;
                let started: Vec<_> = ranges
                    .map(|range| scope.spawn(move || part(base, leads, range)))
                    .collect();
                let (mut words, mut lengths) = (Words::default(), Vec::with_capacity(count));
                for part in started {
                    match part.join() {
                        Ok((more, longer)) => {
                            words.join(more);
                            lengths.extend(longer);
                        }
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
                (words, lengths)
            })
        };
        words.finish(Some(&lengths));
        let index = Self {
            main: Arc::new(words),
            size: count,
            lengths,
            leads: leads.into_boxed_slice(),
            ..Self::default()
        };
        index.finished()
    }

    /// Indexes what is not the same as in the version before.
    pub(crate) fn after(base: &Base, before: &Base, old: &Self) -> Self {
        let numbers = same_nodes(base, before);
        let in_main = |number: NodeId| match number {
            NONE => NONE,
            number => old.in_main(number),
        };
        let moved: Vec<NodeId> = numbers.iter().map(|&number| in_main(number)).collect();
        let late = moved.iter().filter(|number| **number == NONE).count();
        let gone = old.size - (moved.len() - late);
        if (late + gone) * MOST_CHANGED > moved.len() {
            return Self::build(base);
        }
        let mut lengths: Vec<u16> = numbers
            .iter()
            .map(|&number| old.lengths.get(number as usize).copied().unwrap_or(0))
            .collect();
        let mut words = Words::default();
        let all = leads(base, |_| true);
        let is_late = |(node, _): &&(NodeId, u32)| moved[*node as usize] == NONE;
        let own: Vec<(NodeId, u32)> = all.iter().filter(is_late).copied().collect();
        let changed = (0..).zip(&moved).filter(|(_, number)| **number == NONE);
        each_node(base, &own, changed.map(|(node, _)| node), |node, said| {
            lengths[node as usize] = length(said);
            words.append(node, said);
        });
        words.finish(None);
        let moves = Moves::new(&moved, old.size);
        let index = Self {
            main: Arc::clone(&old.main),
            size: old.size,
            late: words,
            gone: old.gone_since(before, &moves),
            moves: Some(moves),
            lengths,
            leads: all.into_boxed_slice(),
            ..Self::default()
        };
        index.finished()
    }

    /// What is gone from the main part, given where its nodes are now.
    fn gone_since(&self, before: &Base, moves: &Moves) -> HashTable<(u64, u32)> {
        let is_lost = |node: NodeId| {
            let number = self.in_main(node);
            number != NONE && moves.now(number) == NONE
        };
        let mut gone = self.gone.clone();
        let all = 0..u32::try_from(before.nodes.len()).unwrap_or(NONE);
        let lost = all.filter(|&node| is_lost(node));
        each_node(before, &leads(before, is_lost), lost, |_, said| {
            each_word(said, |key, _| {
                let entry = gone.entry(key, |one| one.0 == key, |one| one.0);
                entry.or_insert((key, 0)).get_mut().1 += 1;
            });
        });
        gone
    }

    /// The number of a node in the main part.
    fn in_main(&self, node: NodeId) -> NodeId {
        match &self.moves {
            None => node,
            Some(moves) => moves.before(node),
        }
    }

    fn finished(mut self) -> Self {
        let sum: f64 = self.lengths.iter().map(|&length| f64::from(length)).sum();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "an average need not be exact"
        )]
        let usual = (sum / self.lengths.len().max(1) as f64) as f32;
        self.usual_length = usual.max(1.0);
        let late = self.late.terms().map(|term| term.key);
        let mut touched: Vec<u64> = self.gone.iter().map(|one| one.0).chain(late).collect();
        touched.sort_unstable();
        touched.dedup();
        touched.retain(|&key| self.count(key) > LONG);
        for key in touched {
            let nodes = self.best_of(self.read(&self.look_up(key)));
            let nodes = nodes.into_boxed_slice();
            let best = Best { key, nodes };
            self.best.insert_unique(key, best, |one| one.key);
        }
        self
    }

    /// The options that speak for a node, by their places in the base.
    pub(super) fn leads_to(&self, node: NodeId) -> impl Iterator<Item = usize> {
        let from = self.leads.partition_point(|(target, _)| *target < node);
        let own = self.leads[from..].iter().take(MOST_LEADS);
        own.take_while(move |(target, _)| *target == node)
            .map(|(_, choice)| *choice as usize)
    }

    /// How many nodes it covers.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether it covers none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// What one word says about one node.
    pub(super) fn worth(&self, node: NodeId, strength: u8) -> f32 {
        let length = self.lengths.get(node as usize).copied().unwrap_or(0);
        let longer = 1.0 - LENGTH + LENGTH * f32::from(length) / self.usual_length;
        let often = f32::from(strength) / 2.0;
        often * (SATURATION + 1.0) / (often + SATURATION * longer)
    }

    /// How many nodes have a word.
    fn count(&self, key: u64) -> usize {
        self.look_up(key).count
    }

    fn look_up(&self, key: u64) -> Looked<'_> {
        let (main, late) = (self.main.term(key), self.late.term(key));
        let of = |term: Option<&Term>| term.map_or(0, |term| term.count);
        let gone = self.gone.find(key, |one| one.0 == key);
        let gone = gone.map_or(0, |one| one.1);
        Looked {
            key,
            main,
            late,
            count: (of(main) + of(late)).saturating_sub(gone) as usize,
        }
    }

    /// Looks up the words that say something together, the rarest first.
    pub(super) fn look(&self, keys: &[u64]) -> Vec<Looked<'_>> {
        let mut looked: Vec<Looked<'_>> = keys.iter().map(|&key| self.look_up(key)).collect();
        looked.sort_by_key(|one| one.count);
        looked
    }

    /// The nodes that have a word, in order.
    fn read(&self, word: &Looked<'_>) -> Vec<(NodeId, u8)> {
        let mut found = Vec::with_capacity(word.count);
        self.each(word, |node, strength| found.push((node, strength)));
        found
    }

    /// Hands over the nodes that have a word, in order, each with its strength.
    pub(super) fn each(&self, word: &Looked<'_>, mut take: impl FnMut(NodeId, u8)) {
        let main = word.main.map(Term::nodes).unwrap_or_default();
        let Some(moves) = &self.moves else {
            return main.for_each(|(node, strength)| take(node, strength));
        };
        let late = word.late.map(Term::nodes).unwrap_or_default();
        let mut late = late.peekable();
        let mut now = moves.each_now();
        for (number, strength) in main {
            let node = now(number);
            if node != NONE {
                while let Some((before, strength)) = late.next_if(|one| one.0 < node) {
                    take(before, strength);
                }
                take(node, strength);
            }
        }
        late.for_each(|(node, strength)| take(node, strength));
    }

    /// How strong a word is at one node.
    fn strength(&self, word: &Looked<'_>, node: NodeId) -> Option<u8> {
        match self.in_main(node) {
            NONE => word.late?.strength(node),
            number => word.main?.strength(number),
        }
    }

    /// The nodes that have all of the words, in order, with the strength of the weakest.
    pub(super) fn find(&self, words: &[Looked<'_>]) -> Vec<(NodeId, u8)> {
        let Some((first, more)) = words.split_first() else {
            return Vec::new();
        };
        let mut found = self.read(first);
        for word in more {
            if word.count > found.len() * SEEK {
                self.narrow(&mut found, word);
                continue;
            }
            let mut others = self.read(word).into_iter().peekable();
            found.retain_mut(|(node, strength)| {
                while others.next_if(|(other, _)| *other < *node).is_some() {}
                match others.peek() {
                    Some((other, more)) if other == node => {
                        *strength = (*strength).min(*more);
                        true
                    }
                    Some(_) | None => false,
                }
            });
        }
        found
    }

    /// Of the nodes that have all of the words some that the rarest one says most about.
    pub(super) fn find_best(&self, words: &[Looked<'_>]) -> Vec<(NodeId, u8)> {
        let Some((first, more)) = words.split_first() else {
            return Vec::new();
        };
        let mut found = self.best(first);
        for word in more {
            self.narrow(&mut found, word);
        }
        found
    }

    /// Keeps the nodes that have one more word, asking for each of them.
    fn narrow(&self, found: &mut Vec<(NodeId, u8)>, word: &Looked<'_>) {
        found.retain_mut(|(node, strength)| match self.strength(word, *node) {
            Some(more) => {
                *strength = (*strength).min(more);
                true
            }
            None => false,
        });
    }

    /// The nodes that a word says most about, in order.
    fn best(&self, word: &Looked<'_>) -> Vec<(NodeId, u8)> {
        if let Some(best) = self.best.find(word.key, |one| one.key == word.key) {
            return best.nodes.to_vec();
        }
        if word.count <= LONG {
            return self.best_of(self.read(word));
        }
        // It is nowhere new and nowhere gone, so the main part knows.
        let best = word.main.map_or(&[][..], Term::best);
        match &self.moves {
            None => best.to_vec(),
            Some(moves) => {
                let mut now = moves.each_now();
                best.iter()
                    .map(|&(node, strength)| (now(node), strength))
                    .collect()
            }
        }
    }

    fn best_of(&self, nodes: Vec<(NodeId, u8)>) -> Vec<(NodeId, u8)> {
        best_of(nodes, |node| {
            self.lengths.get(node as usize).copied().unwrap_or(0)
        })
    }

    /// The strength of the weakest of the words at one node, if it has them all.
    pub(super) fn weakest(&self, words: &[Looked<'_>], node: NodeId) -> Option<u8> {
        let mut weakest = None;
        for word in words {
            let strength = self.strength(word, node)?;
            weakest = Some(weakest.map_or(strength, |known: u8| known.min(strength)));
        }
        weakest
    }
}

impl Looked<'_> {
    /// How many nodes have it.
    pub(super) fn count(&self) -> usize {
        self.count
    }
}

/// At most how many nodes have all of the words.
pub(super) fn frequency(words: &[Looked<'_>]) -> usize {
    words.first().map_or(0, |rarest| rarest.count)
}

/// About how many postings are read to find the nodes that have all of the words.
pub(super) fn cost(words: &[Looked<'_>]) -> usize {
    let most = frequency(words) * SEEK;
    words.iter().map(|word| word.count.min(most)).sum()
}

/// The words of some nodes, and how many each has.
fn part(base: &Base, leads: &[(NodeId, u32)], nodes: Range<usize>) -> (Words, Vec<u16>) {
    let mut words = Words::default();
    let mut lengths = Vec::with_capacity(nodes.len());
    let number = |at: usize| u32::try_from(at).unwrap_or(NONE);
    let numbers = number(nodes.start)..number(nodes.end);
    each_node(base, leads, numbers, |node, said| {
        lengths.push(length(said));
        words.append(node, said);
    });
    (words, lengths)
}

fn length(said: &[(u64, u8)]) -> u16 {
    u16::try_from(said.len()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, load_text};

    /// Nodes in order: id, words, and the node that the only option leads to.
    type Nodes = Vec<(String, String, String)>;

    fn nodes(count: usize) -> Nodes {
        let node = |at: usize| {
            let (word, next) = (at % 37, (at * 7) % count);
            let words = format!("word{word} 天气{word} own{at}");
            (format!("n{at}"), words, format!("n{next}"))
        };
        (0..count).map(node).collect()
    }

    fn base(nodes: &Nodes, root: &str) -> Base {
        let mut text = format!("{{\"root\": \"{root}\", \"keywords\": [\"all\"], \"nodes\": {{");
        for (id, words, next) in nodes {
            text.push_str(&format!(
                "\"{id}\": {{\"title\": \"{words}\", \"options\": [{{\"id\": \"a\", \"description\": \"go {words}\", \"next_node\": \"{next}\"}}]}},"
            ));
        }
        text.push_str("}}");
        load_text("k", &text, Format::Json).unwrap()
    }

    fn assert_same(one: &Index, other: &Index) {
        assert_eq!(one.lengths, other.lengths);
        assert_eq!(one.usual_length.to_bits(), other.usual_length.to_bits());
        let words = |index: &Index| {
            let terms = index.main.terms().chain(index.late.terms());
            let mut keys: Vec<u64> = terms.map(|term| term.key).collect();
            keys.retain(|&key| index.count(key) > 0);
            keys.sort_unstable();
            keys.dedup();
            keys
        };
        assert_eq!(words(one), words(other));
        for key in words(one) {
            let (here, there) = (one.look_up(key), other.look_up(key));
            let nodes = one.read(&here);
            assert_eq!(nodes, other.read(&there));
            assert_eq!(one.count(key), nodes.len());
            assert_eq!(one.find_best(&[here]), other.find_best(&[there]));
            for (node, strength) in nodes {
                assert_eq!(one.strength(&here, node), Some(strength));
                assert_eq!(other.strength(&there, node), Some(strength));
            }
        }
    }

    #[test]
    fn parts_put_together_are_the_whole() {
        let base = base(&nodes(1000), "n0");
        let all = leads(&base, |_| true);
        let (whole, lengths) = part(&base, &all, 0..1000);
        let (mut joined, mut longer) = (Words::default(), Vec::new());
        for range in [0..1, 1..400, 400..400, 400..999, 999..1000] {
            let (words, more) = part(&base, &all, range);
            joined.join(words);
            longer.extend(more);
        }
        assert_eq!(longer, lengths);
        assert_eq!(joined.terms().count(), whole.terms().count());
        for term in whole.terms() {
            assert_eq!(joined.term(term.key), Some(term));
        }
    }

    #[test]
    fn an_index_that_grew_is_the_one_made_at_once() {
        let mut nodes = nodes(3000);
        let mut root = "n0";
        let mut before = base(&nodes, root);
        before.prepare(None);
        for change in 0..8 {
            match change {
                0 => nodes[1500].1 = "quite another 电脑".to_owned(),
                1 => nodes.insert(700, ("new".into(), "word3 fresh".into(), "n5".into())),
                2 => drop(nodes.remove(2000)),
                3 => {
                    let moved = nodes.remove(2500);
                    nodes.insert(10, moved);
                }
                4 => nodes[40].2 = "n41".to_owned(),
                5 => root = "n9",
                6 => nodes[1500].1 = "word1".to_owned(),
                _ => {
                    let moved = nodes.remove(3);
                    nodes.insert(2900, moved);
                }
            }
            let now = base(&nodes, root);
            now.prepare(Some(&before));
            let grown = now.index();
            assert!(Arc::ptr_eq(&grown.main, &before.index().main), "{change}");
            assert!(!grown.late.is_empty(), "{change}");
            assert_same(grown, &Index::build(&now));
            before = now;
        }
    }

    #[test]
    fn when_much_has_changed_all_is_indexed() {
        let mut nodes = nodes(3000);
        let before = base(&nodes, "n0");
        before.prepare(None);
        for node in &mut nodes[..600] {
            node.1.push_str(" more");
        }
        let now = base(&nodes, "n0");
        now.prepare(Some(&before));
        assert!(now.index().late.is_empty());
        assert_same(now.index(), &Index::build(&now));
    }
}
