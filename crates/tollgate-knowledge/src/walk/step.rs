//! One step of a session: an option, one of the words that always work, or free text.

use super::{
    Library, Matched, Session, StepError, View,
    settle::{Nowhere, Walk},
};
use crate::base::{Choice, Link, NodeId, SlotKind, Target, Value, Word};

impl Library {
    /// Takes one step; the session itself is left as it was.
    pub fn step(
        &self,
        session: &Session,
        chosen: &str,
        input: Option<&str>,
    ) -> Result<(Session, View), StepError> {
        if session.complete {
            return Err(StepError::Finished);
        }
        if !session.candidates.is_empty() {
            return self.choose_candidate(session, chosen, input);
        }
        let base = self.base_of(session)?;
        let mut walk = Walk::new(base, session.clone());
        let here = walk.here();
        let id = chosen.trim();
        let input = input.map(str::trim).filter(|words| !words.is_empty());
        if !walk.choose(here, id, input) {
            match (Word::of(id), input) {
                (Some(Word::MoreInfo), Some(words)) => walk.hear(words),
                (Some(Word::MoreInfo), None) => return Err(StepError::NoInput),
                (Some(Word::Back | Word::Restart | Word::Why) | None, _) => {
                    let offers = walk.offers(here).into_iter();
                    return Err(StepError::UnknownOption {
                        chosen: crate::short(chosen),
                        valid: offers.map(|offer| offer.id).collect(),
                    });
                }
            }
        }
        if walk.is_choosing() {
            return self.choice(&walk.session, None);
        }
        Ok(walk.done())
    }
}

impl<'a> Walk<'a> {
    /// Takes what an id stands for: an option of the author, an answer, or a word that
    /// always works; false if it is none of them.
    pub(super) fn choose(&mut self, here: NodeId, id: &str, input: Option<&str>) -> bool {
        let base = self.base;
        let mut visible = self.visible(here).into_iter();
        if let Some(choice) = visible.find(|choice| base.text(choice.id) == id) {
            self.take(choice, input);
        } else if let Some(value) = self.picked(here, id) {
            self.answer(here, id, value, "");
        } else {
            match Word::of(id) {
                Some(Word::Back) => self.back(),
                Some(Word::Restart) => self.restart(),
                Some(Word::Why) => self.why(),
                Some(Word::MoreInfo) | None => return false,
            }
        }
        true
    }

    /// Whether the session is back where several nodes are to be chosen from.
    fn is_choosing(&self) -> bool {
        !self.session.candidates.is_empty()
    }

    /// Takes an option that is on offer.
    pub(super) fn take(&mut self, choice: &'a Choice, input: Option<&str>) {
        let here = self.here();
        let before = self.session.clone();
        self.session.leave(self.base.text(choice.id), "");
        for (number, value) in choice.sets() {
            let name = &self.base.slots[usize::from(*number)].name;
            self.session.set(name, value.clone());
        }
        if let Some((_, slot)) = self.base.asked(self.base.at(here))
            && let Some(Ok(value)) = input.map(|words| slot.read(words))
        {
            self.session.set(&slot.name, value);
        }
        let id = self.base.text(choice.id);
        let label = match self.base.say(choice.description, &self.session.language) {
            "" => id,
            description => description,
        };
        self.go(choice.link, before, (id, label));
        if self.session.complete && self.said.is_empty() {
            // Without a closing sentence, what was chosen is the last word.
            self.said.push(label.to_owned());
        }
    }

    /// Goes on along a link; one that leads nowhere leaves the session as it was, and the answer
    /// says so. `chosen` is what led to it: its id, and what users see of it.
    fn go(&mut self, link: Link, before: Session, chosen: (&str, &str)) {
        match self.towards(link) {
            Ok(Some(node)) => self.enter(node),
            Ok(None) => {}
            Err(Nowhere::Missing) => {
                self.session = before;
                let (id, node) = (crate::short(chosen.0), crate::short(&self.session.node));
                let what = format!("`{id}` of `{node}` leads to a node that does not exist");
                self.miss(Some(chosen.1), what);
            }
            Err(Nowhere::TooDeep) => {
                self.session = before;
                self.fall_back();
                if self.said.is_empty() {
                    self.repeat();
                }
            }
        }
    }

    /// The value that an option of the slot itself stands for.
    fn picked(&self, node: NodeId, id: &str) -> Option<Value> {
        let (_, slot) = self.base.asked(self.base.at(node))?;
        match (&slot.kind, id) {
            (SlotKind::YesNo { .. }, "yes") => Some(Value::Truth(true)),
            (SlotKind::YesNo { .. }, "no") => Some(Value::Truth(false)),
            (SlotKind::Choice(_), _) => slot.read(id).ok(),
            (
                SlotKind::YesNo { .. }
                | SlotKind::Text { .. }
                | SlotKind::Number { .. }
                | SlotKind::Date { .. },
                _,
            ) => None,
        }
    }

    /// Fills the slot that the node asks for with what was chosen or said, and goes on.
    pub(super) fn answer(&mut self, node: NodeId, option: &str, value: Value, words: &str) {
        let Some((_, slot)) = self.base.asked(self.base.at(node)) else {
            return;
        };
        let before = self.session.clone();
        let label = self.label(slot, &value);
        let said = match (&value, label) {
            (_, Some(label)) => label.to_owned(),
            (Value::Truth(_), None) => words.to_owned(),
            (Value::Number(_) | Value::Text(_), None) => value.to_string(),
        };
        self.session.leave(option, &said);
        self.session.set(&slot.name, value);
        let link = self.base.at(node).link().copied().unwrap_or(Link {
            target: Target::End,
            then: None,
        });
        self.go(link, before, (option, &said));
    }

    /// Back to the question before this one; from the first one to the choice it came from,
    /// or to the root.
    fn back(&mut self) {
        if self.session.undo() {
            return self.repeat();
        }
        self.session.returns.clear();
        self.session.candidates = std::mem::take(&mut self.session.chosen_from);
        if !self.is_choosing() {
            self.enter(self.base.root);
        }
    }

    fn restart(&mut self) {
        self.session.trail.clear();
        self.session.slots.clear();
        self.session.returns.clear();
        self.session.chosen_from.clear();
        self.enter(self.base.root);
    }

    /// The path so far, in the author's own words.
    fn why(&mut self) {
        let (base, language) = (self.base, &self.session.language);
        let mut lines = Vec::new();
        for step in &self.session.trail {
            let Some(node) = base.node(&step.node) else {
                continue;
            };
            if !step.was_asked() {
                lines.push(base.step_name(node, language).to_owned());
                continue;
            }
            let mut choices = base.choices(base.at(node)).iter();
            let choice = match choices.find(|one| base.text(one.id) == step.option) {
                Some(choice) => match base.say(choice.description, language) {
                    "" => &step.option,
                    said => said,
                },
                None if step.said.is_empty() => &step.option,
                None => &step.said,
            };
            lines.push(format!("{} → {choice}", base.step_name(node, language)));
        }
        lines.push(base.step_name(self.here(), language).to_owned());
        self.said = vec![lines.join("\n")];
    }

    /// Says again what the node says.
    pub(super) fn repeat(&mut self) {
        let node = self.here();
        self.say(self.base.at(node).response);
    }

    /// Stays where it is and says the author's sentence for what was not understood.
    pub(super) fn not_understood(&mut self) {
        self.matched = Some(Matched::Nothing);
        self.fall_back();
        if self.said.is_empty() {
            self.repeat();
        }
    }
}
