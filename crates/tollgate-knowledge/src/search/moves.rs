//! Where the nodes of an earlier version are now, as runs that moved together.
//!
//! Few nodes of a base change at once, and those between them keep their order. So there are
//! few runs, and reading a list of nodes in order costs no memory access for each of them.

use super::changes::NONE;
use crate::base::NodeId;

/// The way from the numbers of one version to those of another, which both ascend.
#[derive(Debug)]
pub(super) struct Moves {
    /// By number before.
    now: Vec<Run>,
    /// By number now.
    before: Vec<Run>,
}

/// Nodes that follow each other in both versions, up to the next run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    from: NodeId,
    /// The other number of the first; none if these nodes are not in the other version.
    to: NodeId,
}

impl Run {
    fn moved(self, node: NodeId) -> NodeId {
        match self.to {
            NONE => NONE,
            to => to + (node - self.from),
        }
    }
}

impl Moves {
    /// Takes the number before of each node, or none, and how many there were.
    pub(super) fn new(before: &[NodeId], size: usize) -> Self {
        let mut now = vec![NONE; size];
        for (node, &number) in (0..).zip(before) {
            if let Some(place) = now.get_mut(number as usize) {
                *place = node;
            }
        }
        Self {
            now: runs(&now),
            before: runs(before),
        }
    }

    /// The number that a node had before, or none.
    pub(super) fn before(&self, node: NodeId) -> NodeId {
        find(&self.before, node)
    }

    /// The number that a node of before has now, or none.
    pub(super) fn now(&self, number: NodeId) -> NodeId {
        find(&self.now, number)
    }

    /// The same for numbers that ascend.
    pub(super) fn each_now(&self) -> impl FnMut(NodeId) -> NodeId {
        let mut rest = self.now.as_slice();
        move |number| {
            if rest.get(1).is_some_and(|next| next.from <= number) {
                let behind = rest.partition_point(|run| run.from <= number);
                rest = &rest[behind - 1..];
            }
            rest.first().map_or(NONE, |run| run.moved(number))
        }
    }
}

fn find(runs: &[Run], node: NodeId) -> NodeId {
    let behind = runs.partition_point(|run| run.from <= node);
    match behind.checked_sub(1) {
        Some(at) => runs[at].moved(node),
        None => NONE,
    }
}

/// Puts numbers together that follow each other.
fn runs(numbers: &[NodeId]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (from, &to) in (0..).zip(numbers) {
        if runs.last().is_none_or(|last| last.moved(from) != to) {
            runs.push(Run { from, to });
        }
    }
    runs.shrink_to_fit();
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_found_both_ways() {
        let before: Vec<NodeId> = vec![NONE, 0, 1, 2, NONE, NONE, 5, 6, 9, 10, NONE, 12];
        let moves = Moves::new(&before, 14);
        assert_eq!(moves.before.len(), 7);
        let mut each = moves.each_now();
        for number in 0..14 {
            let wanted = before.iter().position(|&one| one == number);
            let wanted = wanted.map_or(NONE, |node| NodeId::try_from(node).unwrap());
            assert_eq!(moves.now(number), wanted, "{number}");
            assert_eq!(each(number), wanted, "{number}");
        }
        for (node, &number) in (0..).zip(&before) {
            assert_eq!(moves.before(node), number, "{node}");
        }
    }

    #[test]
    fn numbers_may_be_left_out_on_the_way() {
        let before: Vec<NodeId> = (0..1000).filter(|number| number % 10 != 3).collect();
        let moves = Moves::new(&before, 1000);
        for step in [1, 7, 99, 400] {
            let mut each = moves.each_now();
            for number in (0..1000).step_by(step) {
                assert_eq!(each(number), moves.now(number), "{number}");
            }
        }
        assert_eq!(Moves::new(&[], 0).each_now()(5), NONE);
    }
}
