//! The end of a draft: names become numbers, conditions are compiled, and what is wrong
//! is reported all at once.

use std::sync::OnceLock;

use super::{
    Base, Link, NodeId, Spot, Target, Text, condition,
    draft::{Draft, MAX_PROBLEMS, Owner, Raw, RawLink, RawTarget, extra, more},
    hash,
};
use crate::{
    problem::{Problem, ProblemCode},
    search::Synonyms,
};

impl Draft {
    /// Links everything; what is wrong makes it fail, except for links to nowhere.
    pub(super) fn finish(mut self, name: &str, version: String) -> Result<Base, Vec<Problem>> {
        let raw = std::mem::take(&mut self.raw);
        self.compile(&raw);
        self.apply(&raw);
        let mut noticed = Vec::new();
        for (at, link) in raw.choices.iter().enumerate() {
            self.choices[at].link = self.linked(link, &mut noticed);
        }
        for (node, link) in &raw.nodes {
            let linked = self.linked(link, &mut noticed);
            if !matches!(link.target, RawTarget::Unsaid) {
                more(&mut self.nodes[*node as usize]).link = Some(linked);
            }
        }
        for (group, links) in raw.branches.iter().enumerate() {
            for (at, link) in links.iter().enumerate() {
                self.branches[group][at].link = self.linked(link, &mut noticed);
            }
        }
        let root = self.root_node();
        if !self.problems.is_empty() {
            self.problems.sort_by_key(|p| (p.file.clone(), p.place));
            return Err(self.problems);
        }
        self.texts.shrink_to_fit();
        self.phrases.shrink_to_fit();
        self.choices.shrink_to_fit();
        self.nodes.shrink_to_fit();
        Ok(Base {
            id: self.id.unwrap_or_else(|| name.to_owned()),
            version,
            files: self.files,
            languages: self.languages,
            sentences: self.sentences,
            top_texts: self.top_texts,
            keywords: self.keywords,
            nodes: self.nodes,
            choices: self.choices,
            branches: self.branches,
            slots: self.slots,
            synonyms: Synonyms::new(self.synonyms),
            root,
            noticed,
            texts: self.texts,
            phrases: self.phrases,
            by_id: self.by_id,
            index: OnceLock::new(),
            ways: OnceLock::new(),
        })
    }

    fn find(&self, id: &str) -> Option<NodeId> {
        let same = |&node: &NodeId| {
            let node = self.nodes.get(node as usize);
            node.is_some_and(|node| self.kept(node.id) == id)
        };
        self.by_id.find(hash(id), same).copied()
    }

    fn root_node(&mut self) -> NodeId {
        let (id, spot) = match self.root.take() {
            Some(root) => root,
            None => ("root".to_owned(), Spot::default()),
        };
        if let Some(node) = self.find(&id) {
            return node;
        }
        if spot.is_somewhere() || self.nodes.is_empty() {
            let message = if self.nodes.is_empty() {
                "there are no nodes".to_owned()
            } else {
                format!("there is no node `{}` to begin with", crate::short(&id))
            };
            self.report_at(ProblemCode::NoRoot, spot, message);
        }
        0
    }

    /// Conditions and values, now that slots and nodes are known.
    fn compile(&mut self, raw: &Raw) {
        for (owner, text, spot) in &raw.conditions {
            let find = |id: &str| self.find(id);
            let names = condition::Names {
                slots: &self.slots,
                node: &find,
            };
            let compiled = condition::compile(text, &names);
            match (compiled, *owner) {
                (Err(message), _) => self.report_at(ProblemCode::Condition, *spot, message),
                (Ok(when), Owner::Choice(at)) => extra(&mut self.choices[at]).when = Some(when),
                (Ok(when), Owner::Branch(group, at)) => {
                    self.branches[group][at].when = Some(when);
                }
            }
        }
    }

    fn apply(&mut self, raw: &Raw) {
        for (node, name, spot) in &raw.asks {
            match self.slot_number(name) {
                Some(number) => more(&mut self.nodes[*node as usize]).ask = Some(number),
                None => self.no_slot(name, *spot),
            }
        }
        for (choice, name, word, spot) in &raw.sets {
            let Some(number) = self.slot_number(name) else {
                self.no_slot(name, *spot);
                continue;
            };
            match self.slots[usize::from(number)].constant(word) {
                Ok(value) => extra(&mut self.choices[*choice]).set.push((number, value)),
                Err(message) => self.report_at(ProblemCode::Field, *spot, message),
            }
        }
    }

    fn slot_number(&self, name: &str) -> Option<u16> {
        let found = self.slots.iter().position(|slot| slot.name == name)?;
        u16::try_from(found).ok()
    }

    fn no_slot(&mut self, name: &str, spot: Spot) {
        let known: Vec<&str> = self.slots.iter().map(|slot| slot.name.as_str()).collect();
        let (name, known) = (crate::short(name), known.join(", "));
        let message = format!("there is no slot `{name}`; there are: {known}");
        self.report_at(ProblemCode::Field, spot, message);
    }

    fn linked(&self, raw: &RawLink, noticed: &mut Vec<Problem>) -> Link {
        let mut notice = |code: ProblemCode, message: String| {
            if noticed.len() < MAX_PROBLEMS {
                let (file, place) = raw.spot.named(&self.files);
                noticed.push(Problem::new(code, &file, place, message));
            }
        };
        let mut find = |text: Text, field: &str| {
            let id = self.kept(text);
            let found = self.find(id);
            if found.is_none() {
                let id = crate::short(id);
                let message = format!("`{field}` leads to `{id}`, which is no node");
                notice(ProblemCode::BrokenLink, message);
            }
            found
        };
        let target = match raw.target {
            RawTarget::Unsaid | RawTarget::End => Target::End,
            RawTarget::Id(text) => find(text, "next_node").map_or(Target::Broken, Target::Node),
            RawTarget::Branches(group) => Target::Branches(group),
        };
        let then = raw.then.and_then(|text| find(text, "then"));
        if raw.then.is_some() && target == Target::End {
            let message = "`then` is never followed: there is no `next_node` that comes before it";
            notice(ProblemCode::UnusedThen, message.to_owned());
        }
        Link { target, then }.settled()
    }
}
