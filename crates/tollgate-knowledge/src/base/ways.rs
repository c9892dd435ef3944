//! Whether one node can be reached from another, mostly without looking at what lies between.
//!
//! One pass over the base numbers every node in the order of a walk from the root and finds
//! the circles. After that, nodes of one circle reach each other, a node reaches what the walk
//! found behind it, and whoever reaches the root reaches all that the root does. Only where
//! none of that answers is the graph itself asked, for a bounded number of nodes.

use std::collections::VecDeque;

use hashbrown::HashTable;

use super::{Base, NodeId};

/// The most nodes that are looked at when nothing else answers.
const MOST: usize = 1000;
/// A node that the walk has not come to.
const NONE: u32 = u32::MAX;

/// What is known of every node.
#[derive(Debug)]
pub(crate) struct Ways {
    /// When the walk came to it, and when it had seen all behind it.
    spans: Vec<(u32, u32)>,
    /// The circle it is in; one of its own if it is in none.
    circles: Vec<u32>,
    /// Whether the root reaches it.
    from_root: Vec<bool>,
}

impl Ways {
    /// Walks the whole base once; nothing recurses.
    pub(crate) fn of(base: &Base) -> Self {
        let count = base.nodes.len();
        let mut ways = Self {
            spans: vec![(NONE, NONE); count],
            circles: vec![NONE; count],
            from_root: vec![false; count],
        };
        let mut walk = Walk {
            base,
            time: 0,
            circles: 0,
            low: vec![NONE; count],
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

    /// Whether a session at one node can come to another.
    pub(crate) fn lead(&self, base: &Base, from: NodeId, to: NodeId) -> bool {
        let (a, b) = (from as usize, to as usize);
        let (first, last) = self.spans[a];
        if self.circles[a] == self.circles[b] || (first..last).contains(&self.spans[b].0) {
            return true;
        }
        if self.circles[a] == self.circles[base.root as usize] {
            return self.from_root[b];
        }
        asked(base, from, to)
    }
}

/// Tarjan's walk, with a stack of its own.
struct Walk<'a> {
    base: &'a Base,
    time: u32,
    circles: u32,
    low: Vec<u32>,
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
                }
                continue;
            }
            ways.spans[here].1 = self.time;
            if self.low[here] == ways.spans[here].0 {
                while let Some(member) = self.open.pop() {
                    ways.circles[member as usize] = self.circles;
                    if member as usize == here {
                        break;
                    }
                }
                self.circles += 1;
            }
            stack.pop();
            if let Some((above, _)) = stack.last() {
                let above = *above as usize;
                self.low[above] = self.low[above].min(self.low[here]);
            }
        }
    }

    fn enter(&mut self, node: NodeId, ways: &mut Ways) -> (NodeId, Vec<NodeId>) {
        ways.spans[node as usize].0 = self.time;
        self.low[node as usize] = self.time;
        self.time += 1;
        self.open.push(node);
        (node, self.base.next_nodes(node))
    }
}

/// Looks for a way in the graph itself.
fn asked(base: &Base, from: NodeId, to: NodeId) -> bool {
    let key = |node: &NodeId| u64::from(*node).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut seen = HashTable::new();
    seen.insert_unique(key(&from), from, key);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for next in base.next_nodes(node) {
            if next == to {
                return true;
            }
            let is_new = seen.find(key(&next), |known| *known == next).is_none();
            if is_new && seen.len() < MOST {
                seen.insert_unique(key(&next), next, key);
                queue.push_back(next);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::{Format, load_text};

    /// Every pair, by the pass and by looking at the graph.
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
        let mut text = String::from("{\"nodes\": {");
        for node in 0..9 {
            let options: Vec<String> = ways
                .iter()
                .filter(|(from, _)| *from == node)
                .map(|(_, to)| format!("{{\"id\": \"o{to}\", \"next_node\": \"n{to}\"}}"))
                .collect();
            text.push_str(&format!(
                "\"n{node}\": {{\"options\": [{}]}},",
                options.join(",")
            ));
        }
        text.push_str("}}");
        let base = load_text("k", &text, Format::Json).unwrap();
        let all = base.ways();
        for from in 0..9 {
            for to in (0..9).filter(|to| *to != from) {
                let found = (all.lead(&base, from, to), super::asked(&base, from, to));
                assert_eq!(found.0, found.1, "{from} to {to}");
            }
        }
    }
}
