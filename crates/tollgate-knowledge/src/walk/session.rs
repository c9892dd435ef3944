//! What is kept of a session, and what is shown of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::base::{Base, Facts, NodeId, Value};

/// The most steps that `back` and `why` look back on.
pub(super) const MAX_TRAIL: usize = 200;
/// The most sub-flows inside each other.
pub(super) const MAX_RETURNS: usize = 32;

/// A session between two calls: small, self-contained, made of names and not of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The base it walks in.
    pub base: String,
    /// The version of the base it began with.
    pub version: String,
    /// The language it is answered in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// The node it waits at.
    pub node: String,
    /// Nodes to choose from, when the question fits several; then `node` does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    /// The nodes it was chosen from, so that `back` finds the choice again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chosen_from: Vec<Candidate>,
    /// Where the sub-flows it is in return to, the innermost last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returns: Vec<String>,
    /// What was answered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slots: BTreeMap<String, Value>,
    /// How it came here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trail: Vec<Step>,
    /// Whether it has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complete: bool,
}

/// One of several nodes that fit a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The option that chooses it.
    pub id: String,
    /// Its base.
    pub base: String,
    /// The version of the base that was searched.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The node.
    pub node: String,
}

/// A step that was taken, with what is needed to take it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The node that was left.
    pub node: String,
    /// The option that was chosen; none where the node asked nothing and was passed.
    pub option: String,
    /// What was answered, in the words it is shown in; nothing where an option says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// The sub-flows it was in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returns: Vec<String>,
    /// What the slots that changed held before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slots: BTreeMap<String, Option<Value>>,
}

impl Step {
    /// Whether the user had a say in it.
    pub(super) fn was_asked(&self) -> bool {
        !self.option.is_empty()
    }
}

/// What the agent gets to see: the document's `SessionState` without its id.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// What to tell the user.
    pub response: String,
    /// The name of the step.
    pub current_step: String,
    /// What the user can choose.
    pub options: Vec<Offer>,
    /// Whether the session has ended.
    pub is_complete: bool,
    /// The base that answers.
    pub knowledge_base: String,
    /// Its version.
    pub version: String,
    /// What the words of the user were understood as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<Matched>,
    /// What is wrong with the base at this step, for whoever looks after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// The nodes so far, this one last.
    pub path: Vec<String>,
}

/// One option as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// What to send back.
    pub id: String,
    /// What to show.
    pub description: String,
}

/// What the words of the user were understood as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Matched {
    /// A node that a search found.
    Node,
    /// Several nodes that fit about equally well.
    Several,
    /// Nothing; the beginning of the base.
    Root,
    /// One of the options.
    Option,
    /// The answer to what was asked for.
    Slot,
    /// Nothing; the fallback sentence was said.
    Nothing,
}

impl Matched {
    /// The word that is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Several => "several",
            Self::Root => "root",
            Self::Option => "option",
            Self::Slot => "slot",
            Self::Nothing => "nothing",
        }
    }
}

/// What conditions may look at.
pub(super) struct Known<'a> {
    pub(super) base: &'a Base,
    pub(super) session: &'a Session,
}

impl Facts for Known<'_> {
    fn slot(&self, number: u16) -> Option<&Value> {
        let slot = self.base.slots.get(usize::from(number))?;
        self.session.slots.get(&slot.name)
    }

    fn was_at(&self, node: NodeId) -> bool {
        let id = self.base.id_of(node);
        self.session.trail.iter().any(|step| step.node == id) || self.session.node == id
    }
}

impl Session {
    /// The versions of bases it walks in or can choose from, each with the id of its base.
    pub fn versions(&self) -> impl Iterator<Item = (&str, &str)> {
        let candidates = self.candidates.iter().chain(&self.chosen_from);
        let candidates = candidates.map(|one| (one.base.as_str(), one.version.as_str()));
        let own = (self.base.as_str(), self.version.as_str());
        std::iter::once(own).chain(candidates.filter(move |one| *one != own))
    }

    /// Notes that the node is left, before anything else changes.
    pub(super) fn leave(&mut self, option: &str, said: &str) {
        self.trail.push(Step {
            node: self.node.clone(),
            option: option.to_owned(),
            said: crate::short(said),
            returns: self.returns.clone(),
            slots: BTreeMap::new(),
        });
        if self.trail.len() > MAX_TRAIL {
            self.trail.remove(0);
        }
    }

    /// Sets a slot so that the last step can be taken back.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        let before = self.slots.insert(name.to_owned(), value);
        if let Some(step) = self.trail.last_mut() {
            step.slots.entry(name.to_owned()).or_insert(before);
        }
    }

    /// The words in which a slot was answered, as far back as steps are known.
    pub(super) fn words_for(&self, slot: &str) -> Option<&str> {
        let mut steps = self.trail.iter().rev();
        let step = steps.find(|step| step.slots.contains_key(slot))?;
        Some(step.said.as_str()).filter(|said| !said.is_empty())
    }

    /// Whether there is a question to go back to.
    pub(super) fn has_past(&self) -> bool {
        !self.chosen_from.is_empty() || self.trail.iter().any(Step::was_asked)
    }

    /// Takes the last step back, with the nodes that were passed after it; false if there is
    /// none.
    pub(super) fn undo(&mut self) -> bool {
        while let Some(step) = self.trail.pop() {
            let was_asked = step.was_asked();
            self.node = step.node;
            self.returns = step.returns;
            for (name, before) in step.slots {
                match before {
                    Some(value) => self.slots.insert(name, value),
                    None => self.slots.remove(&name),
                };
            }
            if was_asked {
                return true;
            }
        }
        false
    }
}
