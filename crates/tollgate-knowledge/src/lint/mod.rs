//! What an author should look at before shipping a base.
//!
//! Nothing here recurses: a chain of a million nodes is as good as any other.

mod conditions;

use hashbrown::HashMap;

use crate::{
    base::{Base, Link, Node, NodeId, Phrase, Spot, Target},
    problem::{Problem, ProblemCode},
    text,
};

/// The most problems that are listed.
const MOST: usize = 500;
/// The most nodes in a row that may pass on without asking.
const MOST_HOPS: usize = 64;

/// Everything that is wrong with a base that can be loaded, in the order of its files.
pub fn lint(base: &Base) -> Vec<Problem> {
    let mut linting = Linting {
        base,
        problems: base.noticed.clone(),
    };
    linting.ways();
    linting.ends();
    linting.languages();
    linting.keywords();
    conditions::check(&mut linting);
    if base.sentences.fallback.is_none() {
        let message = "there is no `fallback`: a sentence for what is not understood";
        linting.at(ProblemCode::NoFallback, Spot::default(), message.to_owned());
    }
    let mut problems = linting.problems;
    problems.sort_by(|a, b| (&a.file, a.place, a.code).cmp(&(&b.file, b.place, b.code)));
    problems.truncate(MOST);
    problems
}

struct Linting<'a> {
    base: &'a Base,
    problems: Vec<Problem>,
}

impl Linting<'_> {
    fn at(&mut self, code: ProblemCode, spot: Spot, message: String) {
        let (file, place) = self.base.place(spot);
        if self.problems.len() < MOST * 4 {
            self.problems
                .push(Problem::new(code, &file, place, message));
        }
    }

    /// Nodes that nothing leads to, and nodes that lead to no end.
    fn ways(&mut self) {
        let base = self.base;
        let numbers = 0..u32::try_from(base.nodes.len()).unwrap_or(u32::MAX);
        let mut reached = vec![false; base.nodes.len()];
        let mut from: Vec<Vec<NodeId>> = vec![Vec::new(); base.nodes.len()];
        for node in numbers.clone() {
            for next in base.next_nodes(node) {
                from[next as usize].push(node);
            }
        }
        spread(&mut reached, vec![base.root], |node| base.next_nodes(node));
        let ends: Vec<NodeId> = numbers
            .clone()
            .filter(|node| can_end(base, base.at(*node)))
            .collect();
        let mut saved = vec![false; base.nodes.len()];
        spread(&mut saved, ends, |node| from[node as usize].clone());
        for node in numbers {
            let (id, spot) = (crate::short(base.id_of(node)), base.at(node).spot);
            if !reached[node as usize] {
                let message = format!("nothing leads from the root to `{id}`");
                self.at(ProblemCode::Unreachable, spot, message);
            }
            if !saved[node as usize] {
                let message = format!("from `{id}` on there is no way to an end");
                self.at(ProblemCode::NoExit, spot, message);
            }
        }
    }

    /// Ends that say nothing, and nodes that pass on for ever.
    fn ends(&mut self) {
        let base = self.base;
        for (node, number) in base.nodes.iter().zip(0..) {
            let id = || crate::short(base.text(node.id));
            if is_leaf(base, node) && node.response.is_none() {
                let message = format!("`{}` ends the session and says nothing", id());
                self.at(ProblemCode::DeadEnd, node.spot, message);
            }
            let mut at: NodeId = number;
            let mut hops = 0;
            while let Some(next) = passes_on(base, base.at(at)) {
                at = next;
                hops += 1;
                if hops > MOST_HOPS {
                    let message = format!("`{}` passes on and on without asking", id());
                    self.at(ProblemCode::Spin, node.spot, message);
                    break;
                }
            }
        }
    }

    fn languages(&mut self) {
        let base = self.base;
        let named = base.languages.iter().zip(0_u8..);
        let named: Vec<(&String, u8)> = named.filter(|(name, _)| !name.is_empty()).collect();
        if named.len() < 2 {
            return;
        }
        let missing = |phrase: Phrase| -> Vec<&str> {
            let spoken = base.spoken(phrase);
            let lacks = |number: u8| spoken.iter().all(|one| one.language != number);
            let named = named.iter().filter(|(_, number)| lacks(*number));
            if spoken.is_empty() {
                return Vec::new();
            }
            named.map(|(name, _)| name.as_str()).collect()
        };
        for node in &base.nodes {
            let choices = base.choices(node).iter();
            let options = choices.map(|choice| (choice.description, choice.spot));
            let own = [(node.response, node.spot), (node.title, node.spot)];
            for (phrase, spot) in own.into_iter().chain(options) {
                let missing = missing(phrase);
                if !missing.is_empty() {
                    let text = crate::short(base.say(phrase, ""));
                    let message = format!("“{text}” is missing in {}", missing.join(", "));
                    self.at(ProblemCode::MissingLanguage, spot, message);
                }
            }
        }
    }

    fn keywords(&mut self) {
        let base = self.base;
        let mut owners: HashMap<String, NodeId, Plain> = HashMap::with_hasher(Plain);
        for (node, number) in base.nodes.iter().zip(0..) {
            for word in base.keywords(node.words()) {
                let owner = *owners.entry(text::fold(word)).or_insert(number);
                if owner != number {
                    let (other, word) = (base.id_of(owner), crate::short(word));
                    let message = format!("`{}` has the keyword `{word}` too", crate::short(other));
                    self.at(ProblemCode::SharedKeyword, node.spot, message);
                }
            }
        }
    }
}

#[derive(Clone)]
struct Plain;

impl std::hash::BuildHasher for Plain {
    type Hasher = std::hash::DefaultHasher;

    fn build_hasher(&self) -> Self::Hasher {
        std::hash::DefaultHasher::new()
    }
}

/// Marks everything that can be reached.
fn spread(seen: &mut [bool], start: Vec<NodeId>, next: impl Fn(NodeId) -> Vec<NodeId>) {
    let mut waiting = start;
    while let Some(node) = waiting.pop() {
        if !std::mem::replace(&mut seen[node as usize], true) {
            waiting.extend(next(node));
        }
    }
}

fn is_leaf(base: &Base, node: &Node) -> bool {
    base.choices(node).is_empty() && base.asked(node).is_none() && node.link().is_none()
}

fn can_end(base: &Base, node: &Node) -> bool {
    let ends = |link: &Link| {
        let mut possible = link.possible(base).into_iter();
        possible.any(|link| matches!(link.target, Target::End | Target::Broken))
    };
    let choices = base.choices(node);
    let answered = base.asked(node).is_some() && node.link().is_none();
    is_leaf(base, node)
        || answered
        || choices.iter().any(|choice| ends(&choice.link))
        || node.link().is_some_and(ends)
}

/// The node that follows without anyone being asked.
fn passes_on(base: &Base, node: &Node) -> Option<NodeId> {
    if !base.choices(node).is_empty() || base.asked(node).is_some() {
        return None;
    }
    match node.link()?.target {
        Target::Node(next) => Some(next),
        Target::End | Target::Broken | Target::Branches(_) => None,
    }
}
