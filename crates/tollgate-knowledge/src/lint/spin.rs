//! Nodes that pass on for ever, or for longer than a session follows.
//!
//! Nothing is answered while nodes pass on, so what a branch depends on stays as it is, except
//! for the nodes that were visited: a circle is one if some answers lead round it for ever.

use super::{
    Linting,
    conditions::{filled, some},
};
use crate::{
    base::{Base, Condition, Facts, Node, NodeId, Target, Value},
    problem::ProblemCode,
};

/// The most nodes in a row that may pass on without asking.
const MOST_HOPS: usize = 64;
/// The most nodes before a circle for which answers are tried.
const MOST_TRIED: usize = 1000;

pub(super) fn check(linting: &mut Linting<'_>) {
    let base = linting.base;
    let hops = hops(base);
    let filled = filled(base);
    let mut tried = 0;
    for (node, number) in base.nodes.iter().zip(0..) {
        let spins = match hops[number as usize] {
            Some(hops) => hops > MOST_HOPS,
            None => {
                let conditions = conditions(base, number);
                tried += usize::from(!conditions.is_empty());
                let spins = |facts: &dyn Facts| !comes_to_rest(base, number, facts);
                let is_tried = conditions.is_empty() || tried <= MOST_TRIED;
                is_tried && some(base, &filled, &conditions, spins).unwrap_or(false)
            }
        };
        if spins {
            let id = crate::short(base.text(node.id));
            let message = format!("`{id}` passes on and on without asking");
            linting.at(ProblemCode::Spin, node.spot, message);
        }
    }
}

/// How many nodes are passed from each one at most; nothing where a circle may lie ahead.
fn hops(base: &Base) -> Vec<Option<usize>> {
    let count = base.nodes.len();
    let numbers = 0..u32::try_from(count).unwrap_or(u32::MAX);
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); count];
    let mut open = vec![0_usize; count];
    let mut hops = vec![None; count];
    let mut settled = Vec::new();
    for number in numbers {
        let nexts = passes_on(base, base.at(number));
        open[number as usize] = nexts.len();
        if nexts.is_empty() {
            hops[number as usize] = Some(0);
            settled.push(number);
        }
        for next in nexts {
            before[next as usize].push(number);
        }
    }
    let mut longest = vec![0_usize; count];
    while let Some(node) = settled.pop() {
        let own = hops[node as usize].unwrap_or(0) + 1;
        for &earlier in &before[node as usize] {
            let at = earlier as usize;
            longest[at] = longest[at].max(own);
            open[at] -= 1;
            if open[at] == 0 {
                hops[at] = Some(longest[at]);
                settled.push(earlier);
            }
        }
    }
    hops
}

/// The nodes that may follow without anyone being asked.
fn passes_on(base: &Base, node: &Node) -> Vec<NodeId> {
    if !base.choices(node).is_empty() || base.asked(node).is_some() {
        return Vec::new();
    }
    let links = node.link().map(|link| link.possible(base));
    let targets = links
        .into_iter()
        .flatten()
        .filter_map(|link| match link.target {
            Target::Node(next) => Some(next),
            Target::End | Target::Broken | Target::Branches(_) => None,
        });
    targets.collect()
}

/// What the way from a node on depends on, as far as it is followed.
fn conditions(base: &Base, start: NodeId) -> Vec<&Condition> {
    let (mut found, mut at, mut conditions) = (vec![start], 0, Vec::new());
    while let Some(&node) = found.get(at) {
        at += 1;
        let node = base.at(node);
        if let Some(Target::Branches(number)) = node.link().map(|link| link.target) {
            let branches = base.branches.get(number as usize).into_iter().flatten();
            conditions.extend(branches.filter_map(|branch| branch.when.as_ref()));
        }
        for next in passes_on(base, node) {
            if found.len() < MOST_HOPS && !found.contains(&next) {
                found.push(next);
            }
        }
    }
    conditions
}

/// Whether a session that passes a node stops somewhere.
fn comes_to_rest(base: &Base, start: NodeId, facts: &dyn Facts) -> bool {
    let mut passed = vec![start];
    for _ in 0..=MOST_HOPS {
        let here = *passed.last().unwrap_or(&start);
        if passes_on(base, base.at(here)).is_empty() {
            return true;
        }
        let Some(link) = base.at(here).link() else {
            return true;
        };
        let facts = Passing {
            facts,
            passed: &passed,
        };
        match link.resolve(base, &facts).target {
            Target::Node(next) => passed.push(next),
            Target::End | Target::Broken | Target::Branches(_) => return true,
        }
    }
    false
}

/// What was known before, and the nodes that were passed since.
struct Passing<'a> {
    facts: &'a dyn Facts,
    passed: &'a [NodeId],
}

impl Facts for Passing<'_> {
    fn slot(&self, number: u16) -> Option<&Value> {
        self.facts.slot(number)
    }

    fn was_at(&self, node: NodeId) -> bool {
        self.passed.contains(&node) || self.facts.was_at(node)
    }
}
