//! What lies ahead of a session: the nodes it can come to by what is open now.
//!
//! Words open no way that its author closed, however many steps away: an option that would be
//! hidden now is not passed, nor a branch that what was answered rules out. A branch that
//! nothing rules out is only a question not asked yet. Ways without conditions are known
//! beforehand; those with one are looked for near the session.

use std::collections::{BTreeSet, HashSet};

use super::{Base, Choice, Facts, NodeId};

/// The nodes ahead of one.
pub(crate) struct Ahead<'b> {
    base: &'b Base,
    here: NodeId,
    /// How many more nodes are looked at.
    steps: usize,
    /// The nodes that an open condition leads to, once they have been looked for.
    opened: Option<Vec<NodeId>>,
}

impl<'b> Ahead<'b> {
    /// Nothing is looked at yet, and later at most so many nodes.
    pub(crate) fn new(base: &'b Base, here: NodeId, steps: usize) -> Self {
        Self {
            base,
            here,
            steps,
            opened: None,
        }
    }

    /// Whether a session can come to a node; what cannot be told is taken for a no.
    pub(crate) fn leads_to(&mut self, node: NodeId, facts: &dyn Facts) -> bool {
        let (base, ways) = (self.base, self.base.ways());
        if ways.lead(base, self.here, node, &mut self.steps) {
            return true;
        }
        if !ways.has_conditions() {
            return false;
        }
        let (here, most) = (self.here, self.steps);
        let opened = self
            .opened
            .get_or_insert_with(|| opened(base, here, facts, most));
        let mut opened = opened.iter();
        opened.any(|from| *from == node || ways.lead(base, *from, node, &mut self.steps))
    }
}

/// The nodes that conditions lead to that hold now, as far as they are near.
fn opened(base: &Base, here: NodeId, facts: &dyn Facts, most: usize) -> Vec<NodeId> {
    let mut seen = HashSet::from([here]);
    let mut opened = BTreeSet::new();
    let (mut found, mut at) = (vec![here], 0);
    while let Some(&node) = found.get(at) {
        at += 1;
        for (next, has_condition) in base.open_nodes(node, facts) {
            if has_condition {
                opened.insert(next);
            }
            if found.len() < most && seen.insert(next) {
                found.push(next);
            }
        }
    }
    opened.into_iter().collect()
}

impl Base {
    /// The nodes that one step can lead to whatever was answered.
    pub(super) fn free_nodes(&self, node: NodeId) -> Vec<NodeId> {
        let node = self.at(node);
        let choices = self.choices(node).iter();
        let choices = choices.filter(|choice| choice.when().is_none());
        let links = choices.map(|choice| &choice.link).chain(node.link());
        let links = links.filter(|link| !link.is_computed());
        links.flat_map(|link| link.nodes(self)).collect()
    }

    /// Whether a step from a node depends on what was answered.
    pub(super) fn has_conditions(&self, node: NodeId) -> bool {
        let node = self.at(node);
        let mut choices = self.choices(node).iter();
        node.link().is_some_and(|link| link.is_computed())
            || choices.any(|choice| choice.when().is_some() || choice.link.is_computed())
    }

    /// The nodes that one step can lead to now, and whether a condition has opened the way.
    fn open_nodes(&self, node: NodeId, facts: &dyn Facts) -> Vec<(NodeId, bool)> {
        let node = self.at(node);
        let shows = |choice: &&Choice| choice.when().is_none_or(|when| when.holds(facts));
        let choices = self.choices(node).iter().filter(shows);
        let choices = choices.map(|choice| (choice.link, choice.when().is_some()));
        let own = node.link().map(|link| (*link, false));
        let links = choices.chain(own).flat_map(|(link, has_condition)| {
            let has_condition = has_condition || link.is_computed();
            let open = link.open(self, facts).into_iter();
            let nodes = open.flat_map(|link| link.nodes(self));
            nodes.map(move |node| (node, has_condition))
        });
        links.collect()
    }
}
