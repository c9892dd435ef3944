//! What an author should look at before shipping a base.
//!
//! Nothing here recurses: a chain of a million nodes is as good as any other.

mod conditions;
mod spin;

use hashbrown::HashMap;

use crate::{
    base::{Base, Choice, Node, NodeId, Phrase, Spot, Target, hash},
    problem::{Problem, ProblemCode},
    text,
};

/// Signs that look as if they separated keywords where they do not.
const SEPARATORS: [char; 6] = [',', '，', '、', ';', '；', '|'];
/// The most problems that are listed.
const MOST: usize = 500;

/// Everything that is wrong with a base that can be loaded, in the order of its files.
pub fn lint(base: &Base) -> Vec<Problem> {
    let mut linting = Linting {
        base,
        problems: base.noticed.clone(),
    };
    linting.ways();
    linting.ends();
    spin::check(&mut linting);
    linting.languages();
    linting.keywords();
    linting.separators();
    conditions::check(&mut linting);
    if base.sentences.fallback.is_none() {
        let message = "there is no `fallback`: a sentence for what is not understood";
        linting.at(ProblemCode::NoFallback, Spot::default(), message.to_owned());
    }
    if base.sentences.choose.is_none() && base.nodes.len() > 1 {
        let message = "there is no `choose`: a sentence for a question that fits several nodes";
        linting.at(ProblemCode::NoChoose, Spot::default(), message.to_owned());
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
        spread(&mut reached, vec![base.root], |node| base.next_nodes(node));
        let saved = saved(base);
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

    /// Ends that say nothing.
    fn ends(&mut self) {
        let base = self.base;
        for node in &base.nodes {
            if is_leaf(base, node) && node.response.is_none() {
                let id = crate::short(base.text(node.id));
                let message = format!("`{id}` ends the session and says nothing");
                self.at(ProblemCode::DeadEnd, node.spot, message);
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
        for (phrase, spot) in phrases(base) {
            let missing = missing(phrase);
            if !missing.is_empty() {
                let text = crate::short(base.say(phrase, ""));
                let message = format!("“{text}” is missing in {}", missing.join(", "));
                self.at(ProblemCode::MissingLanguage, spot, message);
            }
        }
    }

    /// Keywords that say the same of two nodes, or of two options of one node.
    fn keywords(&mut self) {
        let base = self.base;
        let stems = text::Stems::new();
        let mut nodes: HashMap<Vec<u64>, NodeId, Plain> = HashMap::with_hasher(Plain);
        for (node, number) in base.nodes.iter().zip(0..) {
            for word in base.keywords(node.words()) {
                let owner = *nodes.entry(meaning(&stems, word)).or_insert(number);
                if owner != number {
                    let (other, word) = (base.id_of(owner), crate::short(word));
                    let message = format!("`{}` has the keyword `{word}` too", crate::short(other));
                    self.at(ProblemCode::SharedKeyword, node.spot, message);
                }
            }
            let mut options: HashMap<Vec<u64>, &Choice, Plain> = HashMap::with_hasher(Plain);
            for choice in base.choices(node) {
                for word in base.keywords(choice.words()) {
                    let owner = *options.entry(meaning(&stems, word)).or_insert(choice);
                    if !std::ptr::eq(owner, choice) {
                        let (other, word) = (base.text(owner.id), crate::short(word));
                        let other = crate::short(other);
                        let message = format!("option `{other}` has the keyword `{word}` too");
                        self.at(ProblemCode::SharedKeyword, choice.spot, message);
                    }
                }
            }
        }
    }
}

impl Linting<'_> {
    /// Keywords that are several, written in a way that makes them one.
    fn separators(&mut self) {
        let base = self.base;
        let top = std::iter::once((&base.keywords[..], Spot::default()));
        let nodes = base.nodes.iter().map(|node| (node.words(), node.spot));
        let choices = base
            .choices
            .iter()
            .map(|choice| (choice.words(), choice.spot));
        for (words, spot) in top.chain(nodes).chain(choices) {
            let separates = |word: &&str| word.contains(SEPARATORS);
            for word in base.keywords(words).filter(separates) {
                let word = crate::short(word);
                let message = format!(
                    "the keyword `{word}` is one keyword; in a text `,`, `，` and `、` separate, in a list every entry is one"
                );
                self.at(ProblemCode::KeywordSeparator, spot, message);
            }
        }
    }
}

/// Everything a user can get to read, with where it stands.
fn phrases(base: &Base) -> Vec<(Phrase, Spot)> {
    let mut all = base.top_texts.clone();
    for node in &base.nodes {
        let fallback = node.more.as_ref().map(|more| more.fallback);
        let own = [Some(node.response), Some(node.title), fallback];
        all.extend(own.into_iter().flatten().map(|phrase| (phrase, node.spot)));
        let choices = base.choices(node).iter();
        all.extend(choices.map(|choice| (choice.description, choice.spot)));
    }
    all
}

/// A keyword as a search takes it, so that `Routers` and `router` are one.
fn meaning(stems: &text::Stems, word: &str) -> Vec<u64> {
    let folded = text::fold(word);
    let runs = text::runs(&folded);
    runs.map(|run| match run {
        text::Run::Word(word) => stems.key(word),
        text::Run::Dense(word) => hash(word),
    })
    .collect()
}

#[derive(Clone)]
struct Plain;

impl std::hash::BuildHasher for Plain {
    type Hasher = std::hash::DefaultHasher;

    fn build_hasher(&self) -> Self::Hasher {
        std::hash::DefaultHasher::new()
    }
}

/// Which nodes have a way to an end. A sub-flow is one only together with what follows it.
fn saved(base: &Base) -> Vec<bool> {
    let numbers = 0..u32::try_from(base.nodes.len()).unwrap_or(u32::MAX);
    // For each node those that lead to it, with the other node such a link needs to be saved.
    let mut from: Vec<Vec<(NodeId, Option<NodeId>)>> = vec![Vec::new(); base.nodes.len()];
    let mut waiting = Vec::new();
    for number in numbers {
        let node = base.at(number);
        let choices = base.choices(node).iter().map(|choice| &choice.link);
        for link in choices.chain(node.link()) {
            for link in link.possible(base) {
                match (link.target, link.then) {
                    (Target::Node(target), None) => from[target as usize].push((number, None)),
                    (Target::Node(target), Some(then)) => {
                        from[target as usize].push((number, Some(then)));
                        from[then as usize].push((number, Some(target)));
                    }
                    (Target::End | Target::Broken, _) => waiting.push(number),
                    (Target::Branches(_), _) => {}
                }
            }
        }
        let is_answered = base.asked(node).is_some() && node.link().is_none();
        if is_leaf(base, node) || is_answered {
            waiting.push(number);
        }
    }
    let mut saved = vec![false; base.nodes.len()];
    while let Some(node) = waiting.pop() {
        if std::mem::replace(&mut saved[node as usize], true) {
            continue;
        }
        let before = from[node as usize].iter();
        let enough = before.filter(|(_, other)| other.is_none_or(|other| saved[other as usize]));
        waiting.extend(enough.map(|(before, _)| *before));
    }
    saved
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
