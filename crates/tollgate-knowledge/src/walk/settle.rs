//! Coming to rest: from a node on, through what needs no answer, to one that waits or ends.

use super::{
    Matched, Offer, Session, View,
    session::{Known, MAX_RETURNS},
};
use crate::base::{Base, Choice, Link, NodeId, Phrase, Slot, SlotKind, Target, Value, Word};

/// The most nodes that are passed without asking anything.
const MAX_HOPS: usize = 64;
/// What stands between the texts of nodes that are passed.
const BETWEEN: &str = "\n\n";

/// Why a link cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nowhere {
    /// Its author named a node that does not exist.
    Missing,
    /// Too many sub-flows are inside each other.
    TooDeep,
}

/// A session on its way through one base.
pub(super) struct Walk<'a> {
    pub(super) base: &'a Base,
    pub(super) session: Session,
    pub(super) said: Vec<String>,
    pub(super) matched: Option<Matched>,
    /// What is wrong with the base, found on the way.
    pub(super) warning: Option<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(base: &'a Base, session: Session) -> Self {
        Self {
            base,
            session,
            said: Vec::new(),
            matched: None,
            warning: None,
        }
    }

    /// The node the session is at; the root if the base has lost it.
    pub(super) fn here(&self) -> NodeId {
        self.base.node(&self.session.node).unwrap_or(self.base.root)
    }

    pub(super) fn facts(&self) -> Known<'_> {
        Known {
            base: self.base,
            session: &self.session,
        }
    }

    /// The options whose conditions hold.
    pub(super) fn visible(&self, node: NodeId) -> Vec<&'a Choice> {
        let facts = self.facts();
        let shows = |choice: &&Choice| choice.when().is_none_or(|when| when.holds(&facts));
        let base = self.base;
        base.choices(base.at(node)).iter().filter(shows).collect()
    }

    /// Enters a node and goes on until something has to be answered.
    pub(super) fn enter(&mut self, node: NodeId) {
        let mut node = node;
        for _ in 0..MAX_HOPS {
            self.session.node = self.base.id_of(node).to_owned();
            self.say(self.base.at(node).response);
            let asks = self.base.asked(self.base.at(node)).is_some();
            if asks || !self.visible(node).is_empty() {
                return;
            }
            let link = self.base.at(node).link().copied();
            let next = match link.map(|link| self.towards(link)) {
                None => self.finish(),
                Some(Ok(next)) => next,
                Some(Err(why)) => {
                    if why == Nowhere::Missing {
                        let id = crate::short(self.base.id_of(node));
                        self.miss(
                            None,
                            format!("`{id}` leads on to a node that does not exist"),
                        );
                    } else {
                        self.fall_back();
                    }
                    self.session.complete = true;
                    None
                }
            };
            match next {
                Some(next) => {
                    self.session.leave("", "");
                    node = next;
                }
                None => return,
            }
        }
        self.fall_back();
        self.session.complete = true;
    }

    /// Whether the session would be over once it has entered a node.
    pub(super) fn ends_at(&self, node: NodeId) -> bool {
        let mut ahead = Self::new(self.base, self.session.clone());
        ahead.enter(node);
        ahead.session.complete
    }

    /// The node that a link leads to now; none if something ends with it.
    pub(super) fn towards(&mut self, link: Link) -> Result<Option<NodeId>, Nowhere> {
        let link = link.resolve(self.base, &self.facts());
        match link.target {
            Target::Broken | Target::Branches(_) => Err(Nowhere::Missing),
            Target::End => {
                let returned = self.finish();
                if returned.is_none() {
                    self.say(self.base.sentences.closing);
                }
                Ok(returned)
            }
            Target::Node(node) => {
                if let Some(then) = link.then {
                    if self.session.returns.len() >= MAX_RETURNS {
                        return Err(Nowhere::TooDeep);
                    }
                    self.session.returns.push(self.base.id_of(then).to_owned());
                }
                Ok(Some(node))
            }
        }
    }

    /// The end of a sub-flow, with the node that follows it, or of the session.
    fn finish(&mut self) -> Option<NodeId> {
        while let Some(then) = self.session.returns.pop() {
            if let Some(node) = self.base.node(&then) {
                return Some(node);
            }
        }
        self.session.complete = true;
        None
    }

    pub(super) fn say(&mut self, phrase: Phrase) {
        let text = self.base.say(phrase, &self.session.language);
        if !text.is_empty() {
            let text = self.filled(text);
            self.said.push(text);
        }
    }

    /// The author's sentence for what is not understood, the nearest one there is.
    pub(super) fn fall_back(&mut self) {
        let node = self.base.at(self.here());
        let own = node.more.as_ref().map(|more| more.fallback);
        let own = own.filter(|phrase| !phrase.is_none());
        self.say(own.unwrap_or(self.base.sentences.fallback));
    }

    /// Says that there is nothing where a link leads: in the author's words if there are any,
    /// else in the only sentence of ours, as an answer that says nothing would be none.
    pub(super) fn miss(&mut self, option: Option<&str>, warning: String) {
        self.warning = Some(warning);
        let before = self.said.len();
        self.fall_back();
        if self.said.len() > before {
            return;
        }
        let around = self
            .base
            .say(self.base.at(self.here()).response, &self.session.language);
        let sentence = match (option, has_han(option.unwrap_or(around))) {
            (Some(option), true) => format!("“{option}”还没有内容，请选择其他选项。"),
            (Some(option), false) => {
                format!("There is nothing behind “{option}” yet. Please choose another option.")
            }
            (None, true) => "后面还没有内容。".to_owned(),
            (None, false) => "There is nothing further here yet.".to_owned(),
        };
        self.said.push(sentence);
    }

    /// Takes out the options that lead nowhere, and offers a way out where none is left.
    fn only_working(&self, node: NodeId, offers: &mut Vec<Offer>) {
        let base = self.base;
        let leads_nowhere = |offer: &Offer| {
            let mut choices = base.choices(base.at(node)).iter();
            let choice = choices.find(|choice| base.text(choice.id) == offer.id);
            let target = choice.map(|choice| choice.link.resolve(base, &self.facts()).target);
            target == Some(Target::Broken)
        };
        offers.retain(|offer| !leads_nowhere(offer));
        if !offers.is_empty() || self.session.complete {
            return;
        }
        for word in [Word::Back, Word::Restart] {
            if self.makes_sense(word, node) {
                let id = word.as_str().to_owned();
                let description = id.clone();
                offers.push(Offer { id, description });
            }
        }
    }

    /// Puts answers in the place of `{slot}`.
    fn filled(&self, text: &str) -> String {
        if !text.contains('{') || self.session.slots.is_empty() {
            return text.to_owned();
        }
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let named = after.split_once('}').and_then(|(name, tail)| {
                let value = self.session.slots.get(name)?;
                let slot = self.base.slots.iter().find(|slot| slot.name == name)?;
                Some((self.shown(slot, value), tail))
            });
            match named {
                Some((value, tail)) => {
                    filled.push_str(&value);
                    rest = tail;
                }
                None => {
                    filled.push('{');
                    rest = after;
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    /// What the author calls an answer.
    pub(super) fn label(&self, slot: &Slot, value: &Value) -> Option<&'a str> {
        let phrase = match (&slot.kind, value) {
            (SlotKind::Choice(picks), Value::Text(id)) => {
                let pick = picks.iter().find(|pick| pick.id == *id);
                pick.map(|pick| pick.description)
            }
            (SlotKind::YesNo { yes, .. }, Value::Truth(true)) => Some(*yes),
            (SlotKind::YesNo { no, .. }, Value::Truth(false)) => Some(*no),
            (_, _) => None,
        };
        let label = self.base.say(phrase?, &self.session.language);
        (!label.is_empty()).then_some(label)
    }

    /// An answer as its author or its user says it; one that was chosen and has no other name
    /// goes by the id of its option.
    fn shown(&self, slot: &Slot, value: &Value) -> String {
        let said = || self.session.words_for(&slot.name).map(str::to_owned);
        match (self.label(slot, value), value) {
            (Some(label), _) => label.to_owned(),
            (None, Value::Truth(true)) => said().unwrap_or_else(|| "yes".to_owned()),
            (None, Value::Truth(false)) => said().unwrap_or_else(|| "no".to_owned()),
            (None, Value::Number(_) | Value::Text(_)) => value.to_string(),
        }
    }

    /// What can be chosen at a node.
    pub(super) fn offers(&self, node: NodeId) -> Vec<Offer> {
        if self.session.complete {
            return Vec::new();
        }
        let (base, language) = (self.base, self.session.language.as_str());
        let offer = |id: &str, phrase: Phrase| Offer {
            id: id.to_owned(),
            description: match base.say(phrase, language) {
                "" => id.to_owned(),
                text => self.filled(text),
            },
        };
        let mut offers: Vec<Offer> = self
            .visible(node)
            .into_iter()
            .map(|choice| offer(base.text(choice.id), choice.description))
            .collect();
        let mut add = |id: &str, phrase: Phrase| {
            if offers.iter().all(|known| known.id != id) {
                offers.push(offer(id, phrase));
            }
        };
        if let Some((_, slot)) = base.asked(base.at(node)) {
            match &slot.kind {
                SlotKind::Choice(picks) => {
                    for pick in picks {
                        add(&pick.id, pick.description);
                    }
                }
                SlotKind::YesNo { yes, no, .. } => {
                    add("yes", *yes);
                    add("no", *no);
                }
                SlotKind::Text { .. } | SlotKind::Number { .. } | SlotKind::Date { .. } => {
                    add(Word::MoreInfo.as_str(), slot.description);
                }
            }
        }
        for (word, phrase) in Word::ALL.into_iter().zip(base.sentences.offer) {
            if !phrase.is_none() && self.makes_sense(word, node) {
                add(word.as_str(), phrase);
            }
        }
        offers
    }

    /// Whether a word that always works is worth listing at a node.
    pub(super) fn makes_sense(&self, word: Word, node: NodeId) -> bool {
        match word {
            Word::Back | Word::Why => self.session.has_past(),
            Word::Restart => node != self.base.root,
            Word::MoreInfo => true,
        }
    }

    /// The session as it is now, and what is shown of it.
    pub(super) fn done(self) -> (Session, View) {
        let node = self.here();
        let trail = self.session.trail.iter();
        let mut path: Vec<String> = trail.map(|step| step.node.clone()).collect();
        // A session that ends by an option ends at the node that was left.
        if !self.session.complete || path.last() != Some(&self.session.node) {
            path.push(self.session.node.clone());
        }
        let mut options = self.offers(node);
        if self.warning.is_some() {
            self.only_working(node, &mut options);
        }
        let view = View {
            response: self.said.join(BETWEEN),
            current_step: self.base.step_name(node, &self.session.language).to_owned(),
            options,
            is_complete: self.session.complete,
            knowledge_base: self.base.id.clone(),
            version: self.base.version.clone(),
            matched: self.matched,
            warning: self.warning,
            path,
        };
        let mut session = self.session;
        session.version.clone_from(&view.version);
        (session, view)
    }
}

/// Whether a text has Chinese characters.
fn has_han(text: &str) -> bool {
    let is_han = |c: char| matches!(c, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}');
    text.chars().any(is_han)
}
