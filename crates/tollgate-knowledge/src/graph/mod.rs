//! A base as a picture: Mermaid, Graphviz or SVG, with the path of a session drawn in.
//!
//! One picture is collected from a base and every format prints that one, so that they
//! cannot disagree. What is drawn is bounded; what had to be left out is counted.

mod dot;
mod layout;
mod mermaid;
mod svg;

use std::collections::VecDeque;

use hashbrown::HashTable;

use crate::base::{Base, Link, NodeId, Target};

/// The most nodes that fit into a picture which anyone can read.
const MOST: usize = 2000;

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// A Mermaid flowchart.
    Mermaid,
    /// A Graphviz digraph.
    Dot,
    /// A drawing that every browser shows.
    Svg,
}

/// What is drawn.
#[derive(Debug, Clone, Copy, Default)]
pub struct GraphOptions<'a> {
    /// The language of the texts.
    pub language: &'a str,
    /// Begin at this node and not at the root; only what it leads to is drawn.
    pub from: Option<&'a str>,
    /// The most steps away from there.
    pub depth: Option<usize>,
    /// The nodes a session went through, in order; the last one is where it stands.
    pub walked: &'a [String],
}

/// A picture and what it leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawn {
    /// The picture in its format.
    pub text: String,
    /// How many nodes it shows.
    pub shown: usize,
    /// How many it leaves out.
    pub left_out: usize,
}

/// Draws a base; nothing if there is no node to begin at.
pub fn graph(base: &Base, format: GraphFormat, options: &GraphOptions<'_>) -> Option<Drawn> {
    let picture = Picture::of(base, options)?;
    let text = match format {
        GraphFormat::Mermaid => mermaid::print(&picture),
        GraphFormat::Dot => dot::print(&picture),
        GraphFormat::Svg => svg::print(&picture),
    };
    Some(Drawn {
        text,
        shown: picture.cards.len(),
        left_out: picture.left_out,
    })
}

/// A base as cards and the ways between them.
struct Picture<'a> {
    title: &'a str,
    version: &'a str,
    cards: Vec<Card<'a>>,
    /// Steps of the session that no line of a card stands for, such as free text.
    jumps: Vec<(usize, usize)>,
    left_out: usize,
}

/// One node.
struct Card<'a> {
    id: &'a str,
    title: &'a str,
    says: &'a str,
    is_root: bool,
    /// The numbers of the steps at which the session was here.
    visits: Vec<usize>,
    is_here: bool,
    lines: Vec<Line>,
}

/// One way out of a node.
struct Line {
    label: String,
    to: To,
    is_walked: bool,
}

/// Where a way leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Card(usize),
    /// Back to here when a sub-flow is over.
    Return(usize),
    End,
    /// To a node that does not exist.
    Nowhere,
    /// To a node that is not drawn.
    Outside,
}

impl<'a> Picture<'a> {
    fn of(base: &'a Base, options: &GraphOptions<'a>) -> Option<Self> {
        let start = match options.from {
            Some(id) => base.node(id)?,
            None => base.root,
        };
        let numbers = chosen(base, start, options);
        let place = Places::new(&numbers);
        let mut cards: Vec<Card<'a>> = numbers
            .iter()
            .map(|&node| {
                let found = base.at(node);
                Card {
                    id: base.id_of(node),
                    title: base.say(found.title, options.language),
                    says: base.say(found.response, options.language),
                    is_root: node == base.root,
                    visits: Vec::new(),
                    is_here: false,
                    lines: lines(base, node, options.language, &place),
                }
            })
            .collect();
        let walked: Vec<Option<usize>> = options
            .walked
            .iter()
            .map(|id| base.node(id).and_then(|node| place.of(node)))
            .collect();
        for (step, card) in walked.iter().enumerate() {
            if let Some(card) = card.and_then(|at| cards.get_mut(at)) {
                card.visits.push(step + 1);
                card.is_here = step + 1 == walked.len();
            }
        }
        let mut jumps = Vec::new();
        for pair in walked.windows(2) {
            let (Some(from), Some(to)) = (pair[0], pair[1]) else {
                continue;
            };
            let leads =
                |line: &&mut Line| matches!(line.to, To::Card(at) | To::Return(at) if at == to);
            match cards[from].lines.iter_mut().find(leads) {
                Some(line) => line.is_walked = true,
                None if from != to => jumps.push((from, to)),
                None => {}
            }
        }
        Some(Self {
            title: base.title(options.language),
            version: base.version(),
            left_out: base.node_count() - cards.len(),
            cards,
            jumps,
        })
    }
}

/// The nodes to draw, nearest first; without a start of its own also what nothing leads to.
fn chosen(base: &Base, start: NodeId, options: &GraphOptions<'_>) -> Vec<NodeId> {
    let mut seen = vec![false; base.node_count()];
    let mut found = Vec::new();
    let mut queue = VecDeque::from([(start, 0)]);
    seen[start as usize] = true;
    while let Some((node, steps)) = queue.pop_front() {
        if found.len() >= MOST {
            return found;
        }
        found.push(node);
        if options.depth.is_some_and(|depth| steps >= depth) {
            continue;
        }
        for next in base.next_nodes(node) {
            if !std::mem::replace(&mut seen[next as usize], true) {
                queue.push_back((next, steps + 1));
            }
        }
    }
    if options.from.is_none() && options.depth.is_none() {
        let lost = seen.iter().zip(0..).filter(|(seen, _)| !**seen);
        found.extend(
            lost.map(|(_, node): (_, NodeId)| node)
                .take(MOST - found.len()),
        );
    }
    found
}

/// Which card stands for which node.
struct Places(HashTable<(NodeId, usize)>);

impl Places {
    fn new(numbers: &[NodeId]) -> Self {
        let mut table = HashTable::with_capacity(numbers.len());
        for (at, &node) in numbers.iter().enumerate() {
            table.insert_unique(key(node), (node, at), |(node, _)| key(*node));
        }
        Self(table)
    }

    fn of(&self, node: NodeId) -> Option<usize> {
        let found = self.0.find(key(node), |(known, _)| *known == node);
        found.map(|(_, at)| *at)
    }
}

fn key(node: NodeId) -> u64 {
    u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Every way out of a node, in the order in which its author wrote them.
fn lines(base: &Base, node: NodeId, language: &str, place: &Places) -> Vec<Line> {
    let found = base.at(node);
    let mut lines = Vec::new();
    let mut add = |label: &str, link: &Link| {
        for (when, link) in ways(base, link) {
            let label = match (label, when.as_str()) {
                (label, "") => label.to_owned(),
                ("", when) => when.to_owned(),
                (label, when) => format!("{label} · {when}"),
            };
            let to = match link.target {
                Target::Node(node) => place.of(node).map_or(To::Outside, To::Card),
                Target::End => To::End,
                Target::Broken | Target::Branches(_) => To::Nowhere,
            };
            lines.push(Line {
                label,
                to,
                is_walked: false,
            });
            if let Some(then) = link.then {
                lines.push(Line {
                    label: "↩".to_owned(),
                    to: place.of(then).map_or(To::Outside, To::Return),
                    is_walked: false,
                });
            }
        }
    };
    for choice in base.choices(found) {
        let said = match base.say(choice.description, language) {
            "" => base.text(choice.id),
            said => said,
        };
        match choice.when() {
            Some(when) => add(&format!("{said} [{}]", when.show(base)), &choice.link),
            None => add(said, &choice.link),
        }
    }
    if let Some(link) = found.link() {
        let asked = base
            .asked(found)
            .map(|(_, slot)| format!("{{{}}}", slot.name));
        add(asked.as_deref().unwrap_or(""), link);
    }
    lines
}

/// Each link that one can turn out to be, with its condition.
fn ways(base: &Base, link: &Link) -> Vec<(String, Link)> {
    let Target::Branches(number) = link.target else {
        return vec![(String::new(), *link)];
    };
    let branches = base.branches.get(number as usize).into_iter().flatten();
    branches
        .zip(link.possible(base))
        .map(|(branch, link)| {
            let when = branch.when.as_ref().map(|when| when.show(base));
            (when.unwrap_or_default(), link)
        })
        .collect()
}

/// The beginning of a text on one line.
fn brief(text: &str, most: usize) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    let flat = flat.join(" ");
    let mut shown: String = flat.chars().take(most).collect();
    if shown.len() < flat.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
