//! A base in the making: entries go in one by one, and links are made at the end, when
//! every node and every slot is known.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use hashbrown::HashTable;

use super::{
    Branch, Choice, ChoiceMore, Link, Node, NodeId, NodeMore, Phrase, Sentences, Slot, Spoken,
    Spot, Target, Text, Word,
    fields::{BRANCH, NODE, OPTION, TOP},
    hash,
};
use crate::{
    problem::{Place, Problem, ProblemCode},
    read::{Entry, Fault, Field, Item, Kind},
    text,
};

/// The most problems that are collected; more would not help anyone.
pub(super) const MAX_PROBLEMS: usize = 200;

/// A base that is being read.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) languages: Vec<String>,
    pub(super) phrases: Vec<Spoken>,
    pub(super) slots: Vec<Slot>,
    pub(super) includes: Vec<(String, Place)>,
    pub(super) problems: Vec<Problem>,
    pub(super) id: Option<String>,
    pub(super) root: Option<(String, Spot)>,
    pub(super) sentences: Sentences,
    pub(super) top_texts: Vec<(Phrase, Spot)>,
    pub(super) keywords: Vec<Text>,
    /// Folded, as what they are looked for in.
    pub(super) synonyms: Vec<Vec<String>>,
    pub(super) texts: String,
    pub(super) files: Vec<Arc<str>>,
    pub(super) nodes: Vec<Node>,
    pub(super) choices: Vec<Choice>,
    pub(super) branches: Vec<Vec<Branch>>,
    pub(super) by_id: HashTable<NodeId>,
    /// The hash of each node's id.
    hashes: Vec<u64>,
    pub(super) raw: Raw,
}

/// What can only be understood at the end.
#[derive(Default)]
pub(super) struct Raw {
    pub(super) choices: Vec<RawLink>,
    pub(super) nodes: Vec<(NodeId, RawLink)>,
    pub(super) branches: Vec<Vec<RawLink>>,
    pub(super) asks: Vec<(NodeId, String, Spot)>,
    pub(super) conditions: Vec<(Owner, String, Spot)>,
    pub(super) sets: Vec<(usize, String, String, Spot)>,
}

#[derive(Clone, Copy)]
pub(super) struct RawLink {
    pub(super) target: RawTarget,
    pub(super) then: Option<Text>,
    pub(super) spot: Spot,
}

#[derive(Clone, Copy)]
pub(super) enum RawTarget {
    /// Nothing was written; an option ends with it, a node goes nowhere.
    Unsaid,
    End,
    Id(Text),
    Branches(u32),
}

#[derive(Clone, Copy)]
pub(super) enum Owner {
    Choice(usize),
    Branch(usize, usize),
}

impl Draft {
    pub(super) fn new() -> Self {
        Self {
            languages: vec![String::new()],
            ..Self::default()
        }
    }

    /// Begins the next file.
    pub(super) fn begin(&mut self, file: &Arc<str>) {
        self.files.push(Arc::clone(file));
    }

    pub(super) fn report(&mut self, code: ProblemCode, place: Place, message: String) {
        let file = self.files.last().cloned().unwrap_or_else(|| Arc::from(""));
        if self.problems.len() < MAX_PROBLEMS {
            self.problems
                .push(Problem::new(code, &file, place, message));
        }
    }

    pub(super) fn spot(&self, place: Place) -> Spot {
        Spot::new(self.files.len().saturating_sub(1), place)
    }

    pub(super) fn report_at(&mut self, code: ProblemCode, spot: Spot, message: String) {
        let (file, place) = spot.named(&self.files);
        if self.problems.len() < MAX_PROBLEMS {
            self.problems
                .push(Problem::new(code, &file, place, message));
        }
    }

    pub(super) fn keep(&mut self, text: &str) -> Text {
        let start = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push_str(text);
        Text {
            start,
            length: u32::try_from(text.len()).unwrap_or(0),
        }
    }

    pub(super) fn kept(&self, text: Text) -> &str {
        let end = text.start as usize + text.length as usize;
        self.texts.get(text.start as usize..end).unwrap_or("")
    }

    /// Takes one entry of a file.
    pub(super) fn take(&mut self, entry: Entry<'_>) -> Result<(), Fault> {
        match entry {
            Entry::Node(field) => self.node(&field),
            Entry::Field(field) => {
                self.known(&field.key, field.place, TOP);
                self.top(&field);
                Ok(())
            }
        }
    }

    fn top(&mut self, field: &Field<'_>) {
        let item = &field.value;
        match &*field.key {
            "id" => {
                let id = self.id(item).map(Cow::into_owned);
                self.id = self.id.take().or(id);
            }
            "language" => {
                if let Some(language) = self.string(item) {
                    self.name_language(language.into_owned());
                }
            }
            "root" => {
                let spot = self.spot(item.place);
                self.root = self.string(item).map(|id| (id.into_owned(), spot));
            }
            "title" => self.sentences.title = self.top_text(item),
            "description" => self.sentences.description = self.top_text(item),
            "fallback" => self.sentences.fallback = self.top_text(item),
            "closing" => self.sentences.closing = self.top_text(item),
            "choose" => self.sentences.choose = self.top_text(item),
            "offer" => self.offer(item),
            "keywords" => {
                let words = self.words(item);
                self.keywords.extend(words);
            }
            "synonyms" => self.synonyms(item),
            "include" => match &item.kind {
                Kind::Text(path) => self.includes.push((path.to_string(), item.place)),
                Kind::List(_) | Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Map(_) => {
                    for one in self.list(item) {
                        if let Some(path) = self.string(one) {
                            self.includes.push((path.into_owned(), one.place));
                        }
                    }
                }
            },
            "slots" => self.slots(item),
            "nodes" => match &item.kind {
                Kind::List(_) => self.wrong(item, "nodes by their ids, as in {\"root\": {…}}"),
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => {
                    self.wrong(item, "nodes by their ids");
                }
            },
            _ => {}
        }
    }

    /// Plain texts are in this language, also those already read.
    fn name_language(&mut self, name: String) {
        if let Some(at) = self.languages.iter().position(|known| *known == name) {
            let old = u8::try_from(at).unwrap_or(0);
            for spoken in &mut self.phrases {
                if spoken.language == old {
                    spoken.language = 0;
                }
            }
            self.languages[at] = String::new();
        }
        self.languages[0] = name;
    }

    fn offer(&mut self, item: &Item<'_>) {
        let names = Word::ALL.map(Word::as_str);
        for field in self.group(item, &names) {
            let phrase = self.top_text(&field.value);
            if let Some(at) = names.iter().position(|name| *name == field.key) {
                self.sentences.offer[at] = phrase;
            }
        }
    }

    /// Words that mean the same: a list of lists, or a word and its likes.
    fn synonyms(&mut self, item: &Item<'_>) {
        if let Kind::Map(fields) = &item.kind {
            for field in fields {
                let likes = self.strings(&field.value);
                let words = std::iter::once(text::fold(&field.key));
                let likes = likes.iter().map(|word| text::fold(word));
                self.synonyms.push(words.chain(likes).collect());
            }
            return;
        }
        for one in self.list(item) {
            let words = self.strings(one);
            let words = words.iter().map(|word| text::fold(word));
            self.synonyms.push(words.collect());
        }
    }

    fn node(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        if self.texts.len() > u32::MAX as usize / 2 || self.choices.len() > u32::MAX as usize / 4 {
            let message = "the base is too large";
            return Err(Fault::new(ProblemCode::Limit, field.place, message));
        }
        let spot = self.spot(field.place);
        let id = self.keep(&field.key);
        if field.key.is_empty() {
            self.complain(
                ProblemCode::Field,
                field.place,
                "a node needs an id".to_owned(),
            );
        }
        if !self.enter(number, id) {
            let message = format!("the node `{}` stands twice", crate::short(&field.key));
            self.complain(ProblemCode::Duplicate, field.place, message);
            return Ok(());
        }
        let mut node = Node {
            id,
            title: Phrase::default(),
            response: Phrase::default(),
            options: (0, 0),
            more: None,
            spot,
        };
        let start = u32::try_from(self.choices.len()).unwrap_or(u32::MAX);
        let (mut next, mut then) = (None, None);
        for field in self.group(&field.value, NODE) {
            let value = &field.value;
            match &*field.key {
                "title" => node.title = self.phrase(value),
                "response" => node.response = self.phrase(value),
                "options" => {
                    let mut ids = BTreeSet::new();
                    for option in self.list(value) {
                        self.choice(option, start as usize, &mut ids);
                    }
                }
                "keywords" => more(&mut node).keywords = self.words(value),
                "fallback" => more(&mut node).fallback = self.phrase(value),
                "entry" => more(&mut node).entry = self.truth(value).unwrap_or(true),
                "ask" => {
                    let spot = self.spot(value.place);
                    if let Some(name) = self.string(value) {
                        self.raw.asks.push((number, name.into_owned(), spot));
                        more(&mut node);
                    }
                }
                "next_node" => next = Some(value),
                "then" => then = Some(value),
                _ => {}
            }
        }
        if next.is_some() || then.is_some() {
            let link = self.link(next, then);
            self.raw.nodes.push((number, link));
        }
        node.options = (start, u32::try_from(self.choices.len()).unwrap_or(start));
        self.nodes.push(node);
        Ok(())
    }

    /// Notes the id of a node; false if there is one of that name.
    fn enter(&mut self, number: NodeId, id: Text) -> bool {
        let Self {
            nodes,
            texts,
            by_id,
            hashes,
            ..
        } = self;
        let kept = |text: Text| {
            let end = text.start as usize + text.length as usize;
            texts.get(text.start as usize..end).unwrap_or("")
        };
        let name = kept(id);
        let of = |node: &NodeId| nodes.get(*node as usize).map_or(name, |node| kept(node.id));
        let own = hash(name);
        if by_id.find(own, |node| of(node) == name).is_some() {
            return false;
        }
        hashes.push(own);
        by_id.insert_unique(own, number, |node| {
            hashes.get(*node as usize).copied().unwrap_or(own)
        });
        true
    }

    /// Takes an option of the node whose options begin at `first` and have ids of these hashes.
    fn choice(&mut self, item: &Item<'_>, first: usize, ids: &mut BTreeSet<u64>) {
        let spot = self.spot(item.place);
        let number = self.choices.len();
        let mut choice = Choice {
            id: Text::default(),
            description: Phrase::default(),
            link: Link {
                target: Target::End,
                then: None,
            },
            more: None,
            spot,
        };
        let (mut next, mut then, mut has_id) = (None, None, false);
        for field in self.group(item, OPTION) {
            let value = &field.value;
            match &*field.key {
                "id" => {
                    if let Some(id) = self.id(value) {
                        let (this, known) = (&self, &self.choices[first..]);
                        let is_same = |other: &Choice| this.kept(other.id) == id;
                        if !ids.insert(hash(&id)) && known.iter().any(is_same) {
                            let message =
                                format!("the option `{}` stands twice", crate::short(&id));
                            self.complain(ProblemCode::Duplicate, value.place, message);
                        }
                        choice.id = self.keep(&id);
                    }
                    has_id = true;
                }
                "description" => choice.description = self.phrase(value),
                "keywords" => extra(&mut choice).keywords = self.words(value),
                "when" => {
                    if let Some(text) = self.string(value) {
                        let spot = self.spot(value.place);
                        let owner = Owner::Choice(number);
                        self.raw.conditions.push((owner, text.into_owned(), spot));
                        extra(&mut choice);
                    }
                }
                "set" => self.sets(value, number, &mut choice),
                "next_node" => next = Some(value),
                "then" => then = Some(value),
                _ => {}
            }
        }
        if !has_id {
            self.complain(
                ProblemCode::Field,
                item.place,
                "an option needs an `id`".to_owned(),
            );
        }
        let link = self.link(next, then);
        self.raw.choices.push(RawLink { spot, ..link });
        self.choices.push(choice);
    }

    fn sets(&mut self, item: &Item<'_>, number: usize, choice: &mut Choice) {
        let Kind::Map(fields) = &item.kind else {
            return self.wrong(item, "slots and their values");
        };
        extra(choice);
        for field in fields {
            if let Some(word) = self.string(&field.value) {
                let spot = self.spot(field.place);
                let set = (number, field.key.to_string(), word.into_owned(), spot);
                self.raw.sets.push(set);
            }
        }
    }

    fn link(&mut self, next: Option<&Item<'_>>, then: Option<&Item<'_>>) -> RawLink {
        let spot = next
            .or(then)
            .map_or_else(Spot::default, |item| self.spot(item.place));
        let then = then
            .filter(|item| item.kind != Kind::Null)
            .and_then(|item| self.id(item))
            .map(|id| self.keep(&id));
        let target = match next.map(|item| (&item.kind, item)) {
            None => RawTarget::Unsaid,
            Some((Kind::Null, _)) => RawTarget::End,
            Some((Kind::List(items), _)) => self.branches(items),
            Some((Kind::Map(_), item)) => self.branches(std::slice::from_ref(item)),
            Some((Kind::Bool(_) | Kind::Number(_) | Kind::Text(_), item)) => match self.id(item) {
                Some(id) => RawTarget::Id(self.keep(&id)),
                None => RawTarget::End,
            },
        };
        RawLink { target, then, spot }
    }

    fn branches(&mut self, items: &[Item<'_>]) -> RawTarget {
        let group = self.branches.len();
        self.branches.push(Vec::new());
        self.raw.branches.push(Vec::new());
        for item in items {
            let spot = self.spot(item.place);
            let (mut next, mut then) = (None, None);
            for field in self.group(item, BRANCH) {
                match &*field.key {
                    "when" => {
                        if let Some(text) = self.string(&field.value) {
                            let owner = Owner::Branch(group, self.branches[group].len());
                            let spot = self.spot(field.value.place);
                            self.raw.conditions.push((owner, text.into_owned(), spot));
                        }
                    }
                    "next_node" if matches!(field.value.kind, Kind::List(_) | Kind::Map(_)) => {
                        self.wrong(&field.value, "the id of a node");
                    }
                    "next_node" => next = Some(&field.value),
                    "then" => then = Some(&field.value),
                    _ => {}
                }
            }
            let link = self.link(next, then);
            self.raw.branches[group].push(RawLink { spot, ..link });
            self.branches[group].push(Branch {
                when: None,
                link: Link {
                    target: Target::End,
                    then: None,
                },
                spot,
            });
        }
        RawTarget::Branches(u32::try_from(group).unwrap_or(u32::MAX))
    }
}

pub(super) fn more(node: &mut Node) -> &mut NodeMore {
    node.more.get_or_insert_with(|| {
        Box::new(NodeMore {
            keywords: Vec::new(),
            ask: None,
            link: None,
            fallback: Phrase::default(),
            entry: true,
        })
    })
}

pub(super) fn extra(choice: &mut Choice) -> &mut ChoiceMore {
    choice.more.get_or_insert_with(Box::default)
}
