//! What is said at a node, as keys of words with a strength for where each stands.
//!
//! A node is also spoken for by the options that lead to it, so its words are not only in
//! its own text; [`super::changes`] relies on there being no other source than those here.

use hashbrown::HashTable;

use crate::{
    base::{Base, Choice, Node, NodeId, Target, hash},
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
pub(super) const MOST_LEADS: usize = 8;

/// The node that an option speaks for.
pub(super) fn spoken_for(choice: &Choice) -> Option<NodeId> {
    match choice.link.target {
        Target::Node(node) => Some(node),
        Target::End | Target::Broken | Target::Branches(_) => None,
    }
}

/// Which options speak for which nodes, in the order of nodes, for the nodes that count.
pub(super) fn leads(base: &Base, counts: impl Fn(NodeId) -> bool) -> Vec<(NodeId, u32)> {
    let choices = base.choices.iter().zip(0..);
    let mut leads: Vec<(NodeId, u32)> = choices
        .filter_map(|(choice, number)| Some((spoken_for(choice)?, number)))
        .filter(|(node, _)| counts(*node))
        .collect();
    leads.sort_unstable();
    leads
}

/// Hands over the words of some nodes, which are given in order.
pub(super) fn each_node(
    base: &Base,
    leads: &[(NodeId, u32)],
    nodes: impl Iterator<Item = NodeId>,
    mut take: impl FnMut(NodeId, &mut [(u64, u8)]),
) {
    let mut gather = Gather {
        stems: Stems::new(),
        known: HashTable::new(),
        words: Vec::new(),
        folded: String::new(),
    };
    let mut rest = leads;
    for number in nodes {
        let before = rest.partition_point(|(target, _)| *target < number);
        rest = &rest[before..];
        let own = rest.iter().take_while(|(target, _)| *target == number);
        let choices = own
            .take(MOST_LEADS)
            .map(|(_, choice)| &base.choices[*choice as usize]);
        gather.node(base, base.at(number), number == base.root, choices);
        take(number, &mut gather.words);
    }
}

struct Gather {
    stems: Stems,
    /// Keys of words that were stemmed before.
    known: HashTable<(u64, u64)>,
    words: Vec<(u64, u8)>,
    folded: String,
}

impl Gather {
    fn node<'b>(
        &mut self,
        base: &'b Base,
        node: &'b Node,
        is_root: bool,
        leads: impl Iterator<Item = &'b Choice>,
    ) {
        self.words.clear();
        for phrase in base.spoken(node.title) {
            self.add(base.text(phrase.text), TITLE);
        }
        for word in base.keywords(node.words()) {
            self.add(word, KEYWORD);
        }
        if is_root {
            // A word for the whole base gives way to a word for one of its nodes.
            for phrase in base.spoken(base.sentences.title) {
                self.add(base.text(phrase.text), LED_BY);
            }
            for word in base.keywords(&base.keywords) {
                self.add(word, LED_BY);
            }
        }
        for phrase in base.spoken(node.response) {
            self.add(base.text(phrase.text), RESPONSE);
        }
        for choice in base.choices(node) {
            for phrase in base.spoken(choice.description) {
                self.add(base.text(phrase.text), OPTION);
            }
        }
        for choice in leads {
            for phrase in base.spoken(choice.description) {
                self.add(base.text(phrase.text), LED_BY);
            }
            for word in base.keywords(choice.words()) {
                self.add(word, KEYWORD);
            }
        }
    }

    fn add(&mut self, words: &str, strength: u8) {
        text::fold_into(&mut self.folded, words);
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
