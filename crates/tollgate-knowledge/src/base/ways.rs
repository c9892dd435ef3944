//! Whether one node can be reached from another by ways that no condition closes, mostly
//! without looking at what lies between.
//!
//! One pass over the base numbers every node in the order of a walk from the root and finds
//! the circles. After that, nodes of one circle reach each other, a node reaches what the walk
//! found behind it, and whoever reaches the root reaches all that the root does. Circles are
//! numbered when all behind them is, so nothing leads to a higher number, nor to a lower one
//! than the lowest behind it. Only where none of that answers is the graph itself asked, for
//! a bounded number of nodes.

use std::collections::VecDeque;

use hashbrown::HashTable;

use super::{Base, NodeId};

/// A node that the walk has not come to.
const NONE: u32 = u32::MAX;

/// What is known of every node.
#[derive(Debug)]
pub(crate) struct Ways {
    /// When the walk came to it, and when it had seen all behind it.
    spans: Vec<(u32, u32)>,
    /// The circle it is in; one of its own if it is in none.
    circles: Vec<u32>,
    /// The lowest circle that each one leads to.
    lowest: Vec<u32>,
    /// Whether the root reaches it.
    from_root: Vec<bool>,
    /// Whether there are also ways with a condition.
    has_conditions: bool,
}

impl Ways {
    /// Walks the whole base once; nothing recurses.
    pub(crate) fn of(base: &Base) -> Self {
        let count = base.nodes.len();
        let mut ways = Self {
            spans: vec![(NONE, NONE); count],
            circles: vec![NONE; count],
            lowest: Vec::new(),
            from_root: vec![false; count],
            has_conditions: false,
        };
        let mut walk = Walk {
            base,
            time: 0,
            low: vec![NONE; count],
            lowest: vec![NONE; count],
            open: Vec::new(),
        };
        let all = 0..u32::try_from(count).unwrap_or(u32::MAX);
        for start in std::iter::once(base.root).chain(all) {
            if ways.spans[start as usize].0 == NONE {
                walk.from(start, &mut ways);
            }
            if start == base.root {
                for (reached, span) in ways.from_root.iter_mut().zip(&ways.spans) {
                    *reached |= span.0 != NONE;
                }
            }
        }
        ways
    }

    /// Whether a session at one node can come to another; what cannot be told in the steps
    /// that are left is taken for a no.
    pub(crate) fn lead(&self, base: &Base, from: NodeId, to: NodeId, steps: &mut usize) -> bool {
        self.known(base, from, to)
            .unwrap_or_else(|| self.asked(base, from, to, steps))
    }

    /// Whether there are also ways with a condition, of which nothing is known here.
    pub(super) fn has_conditions(&self) -> bool {
        self.has_conditions
    }

    /// The answer, where it needs no look at the graph.
    fn known(&self, base: &Base, from: NodeId, to: NodeId) -> Option<bool> {
        let (a, b) = (from as usize, to as usize);
        let (first, last) = self.spans[a];
        let (here, there) = (self.circles[a], self.circles[b]);
        if here == there || (first..last).contains(&self.spans[b].0) {
            return Some(true);
        }
        if here == self.circles[base.root as usize] {
            return Some(self.from_root[b]);
        }
        let can_be = (self.lowest[here as usize]..here).contains(&there);
        (!can_be).then_some(false)
    }

    /// Looks for a way in the graph itself, past nodes of which nothing is known.
    fn asked(&self, base: &Base, from: NodeId, to: NodeId, steps: &mut usize) -> bool {
        let key = |node: &NodeId| u64::from(*node).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut seen = HashTable::new();
        seen.insert_unique(key(&from), from, key);
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for next in base.free_nodes(node) {
                match self.known(base, next, to) {
                    Some(true) => return true,
                    Some(false) => continue,
                    None => {}
                }
                let is_new = seen.find(key(&next), |known| *known == next).is_none();
                if is_new && *steps > 0 {
                    *steps -= 1;
                    seen.insert_unique(key(&next), next, key);
                    queue.push_back(next);
                }
            }
        }
        false
    }
}

/// Tarjan's walk, with a stack of its own.
struct Walk<'a> {
    base: &'a Base,
    time: u32,
    low: Vec<u32>,
    /// The lowest circle behind each node, as far as is known.
    lowest: Vec<u32>,
    open: Vec<NodeId>,
}

impl Walk<'_> {
    fn from(&mut self, start: NodeId, ways: &mut Ways) {
        let mut stack = vec![self.enter(start, ways)];
        while let Some((node, nexts)) = stack.last_mut() {
            let here = *node as usize;
            if let Some(next) = nexts.pop() {
                let at = next as usize;
                if ways.spans[at].0 == NONE {
                    let entered = self.enter(next, ways);
                    stack.push(entered);
                } else if ways.circles[at] == NONE {
                    self.low[here] = self.low[here].min(ways.spans[at].0);
                } else {
                    let lowest = ways.lowest[ways.circles[at] as usize];
                    self.lowest[here] = self.lowest[here].min(lowest);
                }
                continue;
            }
            ways.spans[here].1 = self.time;
            if self.low[here] == ways.spans[here].0 {
                let circle = u32::try_from(ways.lowest.len()).unwrap_or(NONE);
                while let Some(member) = self.open.pop() {
                    ways.circles[member as usize] = circle;
                    if member as usize == here {
                        break;
                    }
                }
                self.lowest[here] = self.lowest[here].min(circle);
                ways.lowest.push(self.lowest[here]);
            }
            stack.pop();
            if let Some((above, _)) = stack.last() {
                let above = *above as usize;
                self.low[above] = self.low[above].min(self.low[here]);
                self.lowest[above] = self.lowest[above].min(self.lowest[here]);
            }
        }
    }

    fn enter(&mut self, node: NodeId, ways: &mut Ways) -> (NodeId, Vec<NodeId>) {
        ways.spans[node as usize].0 = self.time;
        self.low[node as usize] = self.time;
        self.time += 1;
        self.open.push(node);
        ways.has_conditions |= self.base.has_conditions(node);
        (node, self.base.free_nodes(node))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Format, load_text};

    /// Every pair, by the pass and by following every link.
    #[test]
    fn the_pass_says_what_the_graph_says() {
        let ways = [
            (0, 1),
            (1, 2),
            (2, 0),
            (2, 3),
            (3, 4),
            (4, 3),
            (4, 5),
            (1, 6),
            (6, 5),
            (7, 1),
            (8, 8),
        ];
        check(9, &ways);
    }

    /// Graphs without circles are where the pass alone does not always know.
    #[test]
    fn the_pass_and_the_graph_agree_on_many_graphs() {
        let mut state: u64 = 7;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            u32::try_from((state >> 33) % below).unwrap()
        };
        for round in 0..60 {
            let ways: Vec<(u32, u32)> = (0..28)
                .map(|_| (random(16), random(16)))
                .map(|(a, b)| {
                    if round % 2 == 0 {
                        (a.min(b), a.max(b))
                    } else {
                        (a, b)
                    }
                })
                .collect();
            check(16, &ways);
        }
    }

    fn check(count: u32, ways: &[(u32, u32)]) {
        let mut text = String::from("{\"root\": \"n0\", \"nodes\": {");
        for node in 0..count {
            let options: Vec<String> = ways
                .iter()
                .enumerate()
                .filter(|(_, (from, _))| *from == node)
                .map(|(at, (_, to))| format!("{{\"id\": \"o{at}\", \"next_node\": \"n{to}\"}}"))
                .collect();
            text.push_str(&format!(
                "\"n{node}\": {{\"options\": [{}]}},",
                options.join(",")
            ));
        }
        text.push_str("}}");
        let base = load_text("k", &text, Format::Json).unwrap();
        let all = base.ways();
        for from in 0..count {
            let mut reached = vec![from];
            let mut at = 0;
            while let Some(&node) = reached.get(at) {
                let next = ways.iter().filter(|way| way.0 == node).map(|way| way.1);
                let new: Vec<u32> = next.filter(|next| !reached.contains(next)).collect();
                reached.extend(new);
                at += 1;
            }
            for to in (0..count).filter(|to| *to != from) {
                let leads = all.lead(&base, from, to, &mut 1000);
                assert_eq!(leads, reached.contains(&to), "{from} to {to} in {ways:?}");
            }
        }
    }
}
