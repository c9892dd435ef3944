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
    /// The link that these facts choose; without a fitting branch it is broken.
    pub(crate) fn resolve(self, base: &Base, facts: &dyn Facts) -> Self {
        let Target::Branches(number) = self.target else {
            return self;
        };
        let fits = |branch: &&Branch| branch.when.as_ref().is_none_or(|when| when.holds(facts));
        let branches = base.branches.get(number as usize);
        match branches.and_then(|branches| branches.iter().find(fits)) {
            Some(branch) => Self {
                target: branch.link.target,
                then: branch.link.then.or(self.then),
            },
            None => Self {
                target: Target::Broken,
                then: None,
            },
        }
    }

    /// The nodes it can lead to, and those that sub-flows begun by it return to.
    pub(crate) fn nodes(self, base: &Base) -> impl Iterator<Item = NodeId> {
        let (own, branches) = match self.target {
            Target::Branches(number) => (None, base.branches.get(number as usize)),
            Target::Node(_) | Target::End | Target::Broken => (Some(self), None),
        };
        let branches = branches.into_iter().flatten().map(move |branch| Self {
            target: branch.link.target,
            then: branch.link.then.or(self.then),
        });
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
            .map(|branch| Self {
                target: branch.link.target,
                then: branch.link.then.or(self.then),
            })
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
