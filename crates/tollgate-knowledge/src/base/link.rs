//! Where a step leads.

use super::{Base, Condition, Facts, NodeId, Spot};

/// Where a step leads, and where a sub-flow returns to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) target: Target,
    /// Set when the target begins a sub-flow: the node that follows its end.
    pub(crate) then: Option<NodeId>,
}

/// The node a link leads to, as far as it can be told beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The session, or the sub-flow, ends.
    End,
    /// A node.
    Node(NodeId),
    /// The author named a node that does not exist.
    Broken,
    /// The first branch that fits, by its place in the base.
    Branches(u32),
}

/// One way of several.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) when: Option<Condition>,
    pub(crate) link: Link,
    pub(crate) spot: Spot,
}

impl Link {
    /// Whether where it leads depends on what was answered.
    pub(super) fn is_computed(self) -> bool {
        matches!(self.target, Target::Branches(_))
    }

    /// An end has nothing that follows it.
    pub(super) fn settled(self) -> Self {
        match self.target {
            Target::End => Self { then: None, ..self },
            Target::Node(_) | Target::Broken | Target::Branches(_) => self,
        }
    }

    /// The link that one of its branches makes of it.
    fn taking(self, branch: &Branch) -> Self {
        let then = branch.link.then.or(self.then);
        Self {
            then,
            ..branch.link
        }
        .settled()
    }

    /// The link that these facts choose; without a fitting branch it is broken.
    pub(crate) fn resolve(self, base: &Base, facts: &dyn Facts) -> Self {
        let Target::Branches(number) = self.target else {
            return self;
        };
        let fits = |branch: &&Branch| branch.when.as_ref().is_none_or(|when| when.holds(facts));
        let branches = base.branches.get(number as usize);
        match branches.and_then(|branches| branches.iter().find(fits)) {
            Some(branch) => self.taking(branch),
            None => Self {
                target: Target::Broken,
                then: None,
            },
        }
    }

    /// The links it can still turn out to be, as far as these facts settle it.
    pub(super) fn open(self, base: &Base, facts: &dyn Facts) -> Vec<Self> {
        let Target::Branches(number) = self.target else {
            return vec![self];
        };
        let mut open = Vec::new();
        for branch in base.branches.get(number as usize).into_iter().flatten() {
            let settled = match &branch.when {
                Some(when) => when.settled(facts),
                None => Some(true),
            };
            if settled != Some(false) {
                open.push(self.taking(branch));
            }
            if settled == Some(true) {
                break;
            }
        }
        open
    }

    /// The nodes it can lead to, and those that sub-flows begun by it return to.
    pub(crate) fn nodes(self, base: &Base) -> impl Iterator<Item = NodeId> {
        let (own, branches) = match self.target {
            Target::Branches(number) => (None, base.branches.get(number as usize)),
            Target::Node(_) | Target::End | Target::Broken => (Some(self), None),
        };
        let branches = branches.into_iter().flatten();
        let branches = branches.map(move |branch| self.taking(branch));
        own.into_iter().chain(branches).flat_map(|link| {
            let target = match link.target {
                Target::Node(node) => Some(node),
                Target::End | Target::Broken | Target::Branches(_) => None,
            };
            target.into_iter().chain(link.then)
        })
    }

    /// Every link it can turn out to be.
    pub(crate) fn possible(self, base: &Base) -> Vec<Self> {
        let Target::Branches(number) = self.target else {
            return vec![self];
        };
        let branches = base.branches.get(number as usize);
        branches
            .into_iter()
            .flatten()
            .map(|branch| self.taking(branch))
            .collect()
    }
}

impl Base {
    /// The nodes that one step can lead to, or a sub-flow begun by it returns to.
    pub(crate) fn next_nodes(&self, node: NodeId) -> Vec<NodeId> {
        let node = self.at(node);
        let links = self.choices(node).iter().map(|choice| &choice.link);
        let links = links.chain(node.link());
        links.flat_map(|link| link.nodes(self)).collect()
    }
}
