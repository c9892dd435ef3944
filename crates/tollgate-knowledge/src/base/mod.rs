//! A knowledge base in memory: what the files say, checked and linked.
//!
//! Texts live in one arena and links are numbers, so that a million nodes fit and walking
//! costs the same whatever the size. A base never changes; a new version is a new value.

mod ahead;
mod condition;
mod draft;
mod fields;
mod linear;
mod link;
mod linking;
mod load;
mod number;
mod pack;
mod slot;
mod slots;
mod spot;
mod ways;
mod words;

use std::sync::{Arc, OnceLock};

use hashbrown::HashTable;

pub(crate) use ahead::Ahead;
pub(crate) use condition::{Condition, Facts};
pub(crate) use link::{Branch, Link, Target};
pub(crate) use load::read_text;
pub use load::{Limits, Stamp, load, load_text};
pub use pack::{PackError, Unpacked, unpack};
pub use slot::Value;
pub(crate) use slot::{Misfit, Pick, Slot, SlotKind};
pub(crate) use spot::Spot;
pub(crate) use words::hash;

use crate::{
    problem::{Place, Problem},
    search::{Index, Synonyms},
};

/// The fields that are read, of each kind of group: the file, a node, an option, a branch,
/// a slot, one of the answers to a choice.
#[cfg(test)]
pub(crate) fn known_fields() -> [&'static [&'static str]; 6] {
    use fields::{BRANCH, NODE, OPTION, PICK, SLOT, TOP};
    [TOP, NODE, OPTION, BRANCH, SLOT, PICK]
}

/// The types a slot can have.
pub(crate) const fn slot_types() -> &'static [&'static str] {
    slots::TYPES
}

/// From so many nodes on, a thread of its own is worth its while.
const LARGE: usize = 20_000;

/// The number of a node.
pub(crate) type NodeId = u32;

/// A piece of the arena.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Text {
    start: u32,
    length: u32,
}

/// A text in one or more languages; none at all is no text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Phrase {
    start: u32,
    count: u16,
}

impl Phrase {
    pub(crate) fn is_none(self) -> bool {
        self.count == 0
    }
}

/// A text in one language, by its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spoken {
    pub(crate) language: u8,
    pub(crate) text: Text,
}

/// One step of a conversation.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: Text,
    pub(crate) title: Phrase,
    pub(crate) response: Phrase,
    pub(crate) options: (u32, u32),
    pub(crate) more: Option<Box<NodeMore>>,
    pub(crate) spot: Spot,
}

/// What few nodes have.
#[derive(Debug)]
pub(crate) struct NodeMore {
    pub(crate) keywords: Vec<Text>,
    pub(crate) ask: Option<u16>,
    pub(crate) link: Option<Link>,
    pub(crate) fallback: Phrase,
    pub(crate) entry: bool,
}

/// One thing a user can choose.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) id: Text,
    pub(crate) description: Phrase,
    pub(crate) link: Link,
    pub(crate) more: Option<Box<ChoiceMore>>,
    pub(crate) spot: Spot,
}

/// What few options have.
#[derive(Debug, Default)]
pub(crate) struct ChoiceMore {
    pub(crate) keywords: Vec<Text>,
    pub(crate) when: Option<Condition>,
    pub(crate) set: Vec<(u16, Value)>,
}

/// Words that mean the same at every node, unless an author uses them for an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Back,
    Restart,
    Why,
    MoreInfo,
}

impl Word {
    pub(crate) const ALL: [Self; 4] = [Self::Back, Self::Restart, Self::Why, Self::MoreInfo];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Back => "back",
            Self::Restart => "restart",
            Self::Why => "why",
            Self::MoreInfo => "provide_more_info",
        }
    }

    pub(crate) fn of(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|word| word.as_str() == id)
    }
}

/// Sentences of a whole base.
#[derive(Debug, Default)]
pub(crate) struct Sentences {
    pub(crate) title: Phrase,
    pub(crate) description: Phrase,
    pub(crate) fallback: Phrase,
    pub(crate) closing: Phrase,
    pub(crate) choose: Phrase,
    /// Descriptions for the words that an author wants listed, in the order of [`Word::ALL`].
    pub(crate) offer: [Phrase; 4],
}

/// A knowledge base.
#[derive(Debug)]
pub struct Base {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) files: Vec<Arc<str>>,
    /// The first one is what a plain text is written in; it may have no name.
    pub(crate) languages: Vec<String>,
    pub(crate) sentences: Sentences,
    /// Every text at the top and in slots, with where it stands.
    pub(crate) top_texts: Vec<(Phrase, Spot)>,
    pub(crate) keywords: Vec<Text>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) branches: Vec<Vec<Branch>>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) synonyms: Synonyms,
    pub(crate) root: NodeId,
    /// Links to nowhere and the like, found while linking.
    pub(crate) noticed: Vec<Problem>,
    texts: String,
    phrases: Vec<Spoken>,
    by_id: HashTable<NodeId>,
    index: OnceLock<Index>,
    ways: OnceLock<ways::Ways>,
}

impl Base {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The first digits of the digest of its files.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How many nodes it has.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The languages it is written in, the first being the one of plain texts.
    pub fn languages(&self) -> &[String] {
        &self.languages
    }

    /// Its title, or its id.
    pub fn title(&self, language: &str) -> &str {
        match self.say(self.sentences.title, language) {
            "" => &self.id,
            title => title,
        }
    }

    /// What it is about.
    pub fn description(&self, language: &str) -> &str {
        self.say(self.sentences.description, language)
    }

    /// The ids of its nodes, in the order of the files.
    pub fn node_ids(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| self.text(node.id))
    }

    /// Makes what sessions need besides the nodes, so that none of them waits for it.
    ///
    /// What an earlier version says the same is taken over from it.
    pub fn prepare(&self, before: Option<&Self>) {
        let index = || {
            let old = before.and_then(|before| Some((before, before.index.get()?)));
            match old {
                Some((before, old)) => Index::after(self, before, old),
                None => Index::build(self),
            }
        };
        if self.nodes.len() < LARGE {
            self.ways();
            self.index.get_or_init(index);
            return;
        }
        std::thread::scope(|scope| {
            scope.spawn(|| self.ways());
            self.index.get_or_init(index);
        });
    }

    /// The search index, made when it is first needed.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::build(self))
    }

    /// Which node leads to which without a condition, made when it is first needed.
    pub(crate) fn ways(&self) -> &ways::Ways {
        self.ways.get_or_init(|| ways::Ways::of(self))
    }

    pub(crate) fn text(&self, text: Text) -> &str {
        let end = text.start as usize + text.length as usize;
        self.texts.get(text.start as usize..end).unwrap_or("")
    }

    pub(crate) fn spoken(&self, phrase: Phrase) -> &[Spoken] {
        let end = phrase.start as usize + usize::from(phrase.count);
        self.phrases
            .get(phrase.start as usize..end)
            .unwrap_or_default()
    }

    /// A phrase in a language, or in the one that stands in for it.
    pub(crate) fn say(&self, phrase: Phrase, language: &str) -> &str {
        let spoken = self.spoken(phrase);
        let number = self.languages.iter().position(|name| name == language);
        let exact = spoken
            .iter()
            .find(|one| Some(usize::from(one.language)) == number);
        let plain = || spoken.iter().find(|one| one.language == 0);
        let found = exact.or_else(plain).or_else(|| spoken.first());
        found.map_or("", |one| self.text(one.text))
    }

    /// The language to answer in: that of the text if there is one, else the first.
    pub(crate) fn language_for(&self, text: &str) -> &str {
        let is_han = |c: char| matches!(c, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}');
        let wanted = if text.chars().any(is_han) {
            "zh"
        } else if text.chars().any(|c| c.is_ascii_alphabetic()) {
            "en"
        } else {
            ""
        };
        let fits = |name: &&String| *name == wanted || name.starts_with(&format!("{wanted}-"));
        let found = (!wanted.is_empty()).then(|| self.languages.iter().find(fits));
        found
            .flatten()
            .or_else(|| self.languages.first())
            .map_or("", String::as_str)
    }

    pub(crate) fn node(&self, id: &str) -> Option<NodeId> {
        let same = |&node: &NodeId| {
            let node = self.nodes.get(node as usize);
            node.is_some_and(|node| self.text(node.id) == id)
        };
        self.by_id.find(hash(id), same).copied()
    }

    pub(crate) fn at(&self, node: NodeId) -> &Node {
        // Every number comes from this base, which never changes.
        &self.nodes[node as usize]
    }

    pub(crate) fn id_of(&self, node: NodeId) -> &str {
        self.text(self.at(node).id)
    }

    /// What a node is called: its title, or its id.
    pub(crate) fn step_name(&self, node: NodeId, language: &str) -> &str {
        match self.say(self.at(node).title, language) {
            "" => self.id_of(node),
            title => title,
        }
    }

    pub(crate) fn choices(&self, node: &Node) -> &[Choice] {
        let (start, end) = node.options;
        self.choices
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    pub(crate) fn asked(&self, node: &Node) -> Option<(u16, &Slot)> {
        let number = node.more.as_ref()?.ask?;
        Some((number, self.slots.get(usize::from(number))?))
    }

    pub(crate) fn keywords<'a>(&'a self, words: &'a [Text]) -> impl Iterator<Item = &'a str> {
        words.iter().map(|word| self.text(*word))
    }

    pub(crate) fn place(&self, spot: Spot) -> (Arc<str>, Place) {
        spot.named(&self.files)
    }
}

impl Node {
    pub(crate) fn link(&self) -> Option<&Link> {
        self.more.as_ref()?.link.as_ref()
    }

    pub(crate) fn words(&self) -> &[Text] {
        self.more.as_ref().map_or(&[], |more| &more.keywords)
    }

    pub(crate) fn is_entry(&self) -> bool {
        self.more.as_ref().is_none_or(|more| more.entry)
    }
}

impl Choice {
    pub(crate) fn when(&self) -> Option<&Condition> {
        self.more.as_ref()?.when.as_ref()
    }

    pub(crate) fn words(&self) -> &[Text] {
        self.more.as_ref().map_or(&[], |more| &more.keywords)
    }

    pub(crate) fn sets(&self) -> &[(u16, Value)] {
        self.more.as_ref().map_or(&[], |more| &more.set)
    }
}
