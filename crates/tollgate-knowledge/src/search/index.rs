//! Which nodes have which words, and how much each word says about them.
//!
//! A posting is the distance to the next node and a strength, in a few bytes, appended
//! in the order of nodes; nothing is sorted and no word is kept as text.

use std::ops::Range;

use hashbrown::{HashTable, hash_table::Entry};

use crate::{
    base::{Base, NodeId, Target, hash},
    text::{self, Run, Stems},
};

/// How much a word counts, by where it stands.
const KEYWORD: u8 = 8;
const TITLE: u8 = 6;
/// The text of an option says what the node is about that it leads to.
const LED_BY: u8 = 4;
const OPTION: u8 = 1;
const RESPONSE: u8 = 2;
/// From this strength on, the node is named by the word and not only mentions it.
pub(super) const NAMED: u8 = 4;
/// The most options that speak for the node they lead to.
const MOST_LEADS: usize = 8;

/// The fewest nodes that are worth a thread of their own.
const PART: usize = 20_000;
/// The most parts that are indexed at once.
const MOST_PARTS: usize = 4;

/// The words of one base.
#[derive(Debug, Default)]
pub struct Index {
    terms: HashTable<Term>,
    lengths: Vec<u16>,
    usual_length: f32,
}

#[derive(Debug, PartialEq)]
struct Term {
    key: u64,
    count: u32,
    last: NodeId,
    postings: Vec<u8>,
}

impl Index {
    /// Indexes a base; a large one in parts at once, which are then put together.
    pub fn build(base: &Base) -> Self {
        let leads = leads(base);
        let count = base.nodes.len();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let parts = threads.min(MOST_PARTS).min(count / PART + 1);
        let size = count.div_ceil(parts).max(1);
        let mut index = if parts == 1 {
            Self::part(base, &leads, 0..count)
        } else {
            std::thread::scope(|scope| {
                let ranges = (0..parts).map(|part| part * size..((part + 1) * size).min(count));
                let leads = &leads;
                let started: Vec<_> = ranges
                    .map(|range| scope.spawn(move || Self::part(base, leads, range)))
                    .collect();
                let mut whole = Self::default();
                for part in started {
                    match part.join() {
                        Ok(part) => whole.join(part),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
                whole
            })
        };
        index.finish();
        index
    }

    /// The words of some nodes.
    fn part(base: &Base, leads: &[(NodeId, u32)], nodes: Range<usize>) -> Self {
        let mut building = Building {
            base,
            stems: Stems::new(),
            known: HashTable::new(),
            words: Vec::new(),
            folded: String::new(),
        };
        let mut index = Self::default();
        let first = leads.partition_point(|(target, _)| (*target as usize) < nodes.start);
        let mut lead = leads[first..].iter().peekable();
        let numbers = nodes.start..;
        for (node, number) in base.nodes[nodes].iter().zip(numbers) {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            building.words.clear();
            for phrase in base.spoken(node.title) {
                building.add(base.text(phrase.text), TITLE);
            }
            for word in base.keywords(node.words()) {
                building.add(word, KEYWORD);
            }
            if number == base.root {
                // A word for the whole base gives way to a word for one of its nodes.
                for word in base.keywords(&base.keywords) {
                    building.add(word, LED_BY);
                }
            }
            for phrase in base.spoken(node.response) {
                building.add(base.text(phrase.text), RESPONSE);
            }
            for choice in base.choices(node) {
                for phrase in base.spoken(choice.description) {
                    building.add(base.text(phrase.text), OPTION);
                }
            }
            let mut taken = 0;
            while let Some((_, choice)) = lead.next_if(|(target, _)| *target == number) {
                if taken < MOST_LEADS {
                    let choice = &base.choices[*choice as usize];
                    for phrase in base.spoken(choice.description) {
                        building.add(base.text(phrase.text), LED_BY);
                    }
                    for word in base.keywords(choice.words()) {
                        building.add(word, KEYWORD);
                    }
                }
                taken += 1;
            }
            index.append(number, &mut building.words);
        }
        index
    }

    /// Puts the words of later nodes behind those of earlier ones.
    fn join(&mut self, part: Self) {
        self.lengths.extend(part.lengths);
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

    fn append(&mut self, node: NodeId, words: &mut [(u64, u8)]) {
        self.lengths
            .push(u16::try_from(words.len()).unwrap_or(u16::MAX));
        words.sort_unstable();
        let mut at = 0;
        while let Some(&(key, _)) = words.get(at) {
            let same = words[at..].iter().take_while(|(other, _)| *other == key);
            let (count, strength) = same.fold((0, 0_u8), |(count, sum), (_, strength)| {
                (count + 1, sum.saturating_add(*strength))
            });
            at += count;
            let found = self
                .terms
                .entry(key, |term| term.key == key, |term| term.key);
            let term = found
                .or_insert_with(|| Term {
                    key,
                    count: 0,
                    last: 0,
                    postings: Vec::new(),
                })
                .into_mut();
            push_number(&mut term.postings, node - term.last);
            term.postings.push(strength);
            term.last = node;
            term.count += 1;
        }
    }

    fn finish(&mut self) {
        for term in self.terms.iter_mut() {
            term.postings.shrink_to_fit();
        }
        let sum: f64 = self.lengths.iter().map(|&length| f64::from(length)).sum();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "an average need not be exact"
        )]
        let usual = (sum / self.lengths.len().max(1) as f64) as f32;
        self.usual_length = usual.max(1.0);
    }

    /// How many nodes it covers.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether it covers none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// How many different words it knows.
    pub fn words(&self) -> usize {
        self.terms.len()
    }

    pub(super) fn relative_length(&self, node: NodeId) -> f32 {
        let length = self.lengths.get(node as usize).copied().unwrap_or(0);
        f32::from(length) / self.usual_length
    }

    fn term(&self, key: u64) -> Option<&Term> {
        self.terms.find(key, |term| term.key == key)
    }

    /// At most how many nodes have all of the keys.
    pub(super) fn frequency(&self, keys: &[u64]) -> usize {
        let counts = keys
            .iter()
            .map(|&key| self.term(key).map_or(0, |term| term.count as usize));
        counts.min().unwrap_or(0)
    }

    /// The nodes that have all of the keys, in order, with the strength of the weakest.
    pub(super) fn find(&self, keys: &[u64]) -> Vec<(NodeId, u8)> {
        let terms: Option<Vec<&Term>> = keys.iter().map(|&key| self.term(key)).collect();
        let Some(mut terms) = terms else {
            return Vec::new();
        };
        terms.sort_by_key(|term| term.count);
        let mut terms = terms.into_iter();
        let Some(first) = terms.next() else {
            return Vec::new();
        };
        let mut found: Vec<(NodeId, u8)> = first.nodes().collect();
        for term in terms {
            let mut others = term.nodes().peekable();
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

    fn nodes(&self) -> impl Iterator<Item = (NodeId, u8)> {
        let mut rest = self.postings.as_slice();
        let mut node = 0;
        std::iter::from_fn(move || {
            let mut distance: u32 = 0;
            let mut shift = 0;
            loop {
                let (&byte, after) = rest.split_first()?;
                rest = after;
                distance |= u32::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
                shift += 7;
            }
            let (&strength, after) = rest.split_first()?;
            rest = after;
            node += distance;
            Some((node, strength))
        })
    }
}

fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push((number as u8 & 0x7f) | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Which options lead to which nodes, in the order of nodes.
fn leads(base: &Base) -> Vec<(NodeId, u32)> {
    let mut leads: Vec<(NodeId, u32)> = base
        .choices
        .iter()
        .zip(0..)
        .filter_map(|(choice, number)| match choice.link.target {
            Target::Node(node) => Some((node, number)),
            Target::End | Target::Broken | Target::Branches(_) => None,
        })
        .collect();
    leads.sort_unstable();
    leads
}

/// The words of one node after the other.
struct Building<'a> {
    base: &'a Base,
    stems: Stems,
    /// Keys of words that were stemmed before.
    known: HashTable<(u64, u64)>,
    words: Vec<(u64, u8)>,
    folded: String,
}

impl Building<'_> {
    fn add(&mut self, words: &str, strength: u8) {
        debug_assert!(!self.base.nodes.is_empty());
        self.folded.clear();
        if words.is_ascii() {
            self.folded.push_str(words);
            self.folded.make_ascii_lowercase();
        } else {
            self.folded = text::fold(words);
        }
        for run in text::runs(&self.folded) {
            match run {
                Run::Word(word) => {
                    let own = hash(word);
                    let (stems, known) = (&self.stems, &mut self.known);
                    let entry = known.entry(own, |pair| pair.0 == own, |pair| pair.0);
                    let key = entry.or_insert_with(|| (own, stems.key(word))).get().1;
                    self.words.push((key, strength));
                }
                Run::Dense(word) => {
                    let mut characters = word.chars().peekable();
                    let is_alone = word.chars().nth(1).is_none();
                    while let Some(first) = characters.next() {
                        if let Some(&second) = characters.peek() {
                            let key = text::pair_key(first, Some(second));
                            self.words.push((key, strength));
                        }
                        if is_alone || strength >= NAMED {
                            let key = text::pair_key(first, None);
                            self.words.push((key, strength));
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, load_text};

    #[test]
    fn parts_put_together_are_the_whole() {
        let mut text = String::from("{\"nodes\": {");
        for node in 0..1000 {
            let (word, next) = (node % 37, (node * 7) % 1000);
            text.push_str(&format!(
                "\"n{node}\": {{\"title\": \"word{word} 天气{word}\", \"options\": [{{\"id\": \"a\", \"description\": \"go{next}\", \"next_node\": \"n{next}\"}}]}},"
            ));
        }
        text.push_str("}}");
        let base = load_text("k", &text, Format::Json).unwrap();
        let leads = leads(&base);
        let whole = Index::part(&base, &leads, 0..1000);
        let mut joined = Index::default();
        for range in [0..1, 1..400, 400..400, 400..999, 999..1000] {
            joined.join(Index::part(&base, &leads, range));
        }
        assert_eq!(joined.lengths, whole.lengths);
        assert_eq!(joined.terms.len(), whole.terms.len());
        for term in &whole.terms {
            assert_eq!(joined.term(term.key), Some(term));
        }
    }
}
