//! What every drawing comes down to: steps and the ways between them.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
};

use hashbrown::HashTable;

use crate::{base::hash, quoted};

/// A text, by language; without a name it is in the language of the file.
pub(super) type Said = Vec<(String, String)>;

/// A drawing.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) title: Option<String>,
    /// The step to begin with, where that is known.
    pub(super) first: Option<usize>,
    steps: Vec<Step>,
    by_name: HashTable<usize>,
}

/// One box of it.
#[derive(Debug, Default)]
pub(super) struct Step {
    name: String,
    pub(super) title: Said,
    pub(super) text: Said,
    pub(super) keywords: String,
    ways: Vec<Way>,
    is_reached: bool,
}

/// One arrow.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) id: String,
    pub(super) label: Said,
    pub(super) to: To,
}

/// Where an arrow leads.
#[derive(Debug, Clone)]
pub(super) enum To {
    Step(usize),
    /// A name that no box has.
    Name(String),
    End,
}

/// A text in the language of the file.
pub(super) fn plain(text: &str) -> Said {
    if text.is_empty() {
        return Vec::new();
    }
    vec![(String::new(), text.to_owned())]
}

impl Flow {
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The number of a step, made if there is none of that name.
    pub(super) fn step(&mut self, name: &str) -> usize {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = self.steps.len();
        self.steps.push(Step {
            name: name.to_owned(),
            ..Step::default()
        });
        let steps = &self.steps;
        self.by_name
            .insert_unique(hash(name), number, |at| hash(&steps[*at].name));
        number
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let same = |at: &usize| self.steps[*at].name == name;
        self.by_name.find(hash(name), same).copied()
    }

    pub(super) fn at(&mut self, step: usize) -> &mut Step {
        &mut self.steps[step]
    }

    pub(super) fn add(&mut self, from: usize, way: Way) {
        if let To::Step(to) = way.to
            && to != from
        {
            self.steps[to].is_reached = true;
        }
        self.steps[from].ways.push(way);
    }

    pub(super) fn arrow(&mut self, from: usize, to: usize, label: &str) {
        let way = Way {
            id: String::new(),
            label: plain(label),
            to: To::Step(to),
        };
        self.add(from, way);
    }

    /// In a drawing, a box without words of its own shows its name.
    pub(super) fn named(mut self) -> Self {
        for step in self.steps.iter_mut().filter(|step| step.text.is_empty()) {
            step.text = plain(&step.name);
        }
        self
    }

    /// The step to begin with: one that is called so, else one that nothing leads to.
    fn root(&self) -> usize {
        let called = self.steps.iter().position(|step| {
            let name = step.name.to_lowercase();
            ["root", "start", "begin", "开始"].contains(&name.as_str())
        });
        let free = || self.steps.iter().position(|step| !step.is_reached);
        self.first.or(called).or_else(free).unwrap_or(0)
    }

    /// The base as YAML.
    pub(super) fn print(&self) -> String {
        let mut out = String::new();
        if let Some(title) = &self.title {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "title: {}", quoted(title));
        }
        let names = self.names();
        let root = &names.steps[self.root()];
        let _ = writeln!(out, "root: {}\nnodes:", quoted(root));
        for (step, id) in self.steps.iter().zip(&names.steps) {
            let _ = writeln!(out, "  {}:", quoted(id));
            let is_renamed = *id != step.name && step.title.is_empty();
            let title = if is_renamed {
                &plain(&step.name)
            } else {
                &step.title
            };
            field(&mut out, "    title", title);
            field(&mut out, "    response", &step.text);
            if !step.keywords.is_empty() {
                let _ = writeln!(out, "    keywords: {}", quoted(&step.keywords));
            }
            self.ways(&mut out, step, &names);
        }
        out
    }

    /// An id for every step, and for every name that none has: its own if that is ASCII, as
    /// agents send ids back, else one that is made.
    fn names(&self) -> Names {
        let mut ids = Ids::default();
        let ways = || self.steps.iter().flat_map(|step| &step.ways);
        let lost = ways().filter_map(|way| match &way.to {
            To::Name(name) => Some(name),
            To::Step(_) | To::End => None,
        });
        let lost: HashSet<&String> = lost.collect();
        let all = self
            .steps
            .iter()
            .map(|step| &step.name)
            .chain(lost.iter().copied());
        ids.taken
            .extend(all.filter(|name| name.is_ascii()).cloned());
        let mut made = |name: &String, kind: &str| match name.is_ascii() {
            true => name.clone(),
            false => ids.free(slug(name), kind),
        };
        let own = self.steps.iter().map(|step| made(&step.name, "node"));
        let steps = own.collect();
        let mut lost: Vec<&String> = lost.into_iter().collect();
        lost.sort_unstable();
        let lost = lost
            .into_iter()
            .map(|name| (name.clone(), made(name, "missing")));
        Names {
            lost: lost.collect(),
            steps,
        }
    }

    fn ways(&self, out: &mut String, step: &Step, names: &Names) {
        if let [Way { label, to, .. }] = step.ways.as_slice()
            && label.is_empty()
        {
            let _ = writeln!(out, "    next_node: {}", names.target(to));
            return;
        }
        if !step.ways.is_empty() {
            out.push_str("    options:\n");
        }
        let mut ids = Ids::default();
        for way in &step.ways {
            let shown = if way.label.is_empty() {
                self.called(&way.to)
            } else {
                way.label.clone()
            };
            let wanted = match way.id.as_str() {
                "" => slug(shown.first().map_or("", |(_, text)| text)),
                id if id.is_ascii() => id.to_owned(),
                id => slug(id),
            };
            let id = ids.free(wanted, if shown.is_empty() { "next" } else { "option" });
            let _ = writeln!(out, "      - id: {}", quoted(&id));
            field(out, "        description", &shown);
            let _ = writeln!(out, "        next_node: {}", names.target(&way.to));
        }
    }

    /// What an arrow without words leads to.
    fn called(&self, to: &To) -> Said {
        let To::Step(at) = to else {
            return Vec::new();
        };
        let step = &self.steps[*at];
        let texts = if step.title.is_empty() {
            &step.text
        } else {
            &step.title
        };
        let first = |text: &String| text.lines().next().unwrap_or_default().to_owned();
        if texts.is_empty() {
            return plain(&step.name);
        }
        let called = texts
            .iter()
            .map(|(language, text)| (language.clone(), first(text)));
        called.collect()
    }
}

fn field(out: &mut String, name: &str, said: &Said) {
    match said.as_slice() {
        [] => {}
        [(language, text)] if language.is_empty() => {
            let _ = writeln!(out, "{name}: {}", quoted(text));
        }
        several => {
            let texts: Vec<String> = several
                .iter()
                .map(|(language, text)| {
                    let language = if language.is_empty() { "und" } else { language };
                    format!("{language}: {}", quoted(text))
                })
                .collect();
            let _ = writeln!(out, "{name}: {{ {} }}", texts.join(", "));
        }
    }
}

/// The ids of steps, by their numbers, and of names that no step has.
struct Names {
    steps: Vec<String>,
    lost: HashMap<String, String>,
}

impl Names {
    fn target(&self, to: &To) -> String {
        match to {
            To::Step(at) => quoted(&self.steps[*at]),
            To::Name(name) => quoted(self.lost.get(name).unwrap_or(name)),
            To::End => "null".to_owned(),
        }
    }
}

/// A short id of a text's ASCII letters and digits.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('_') {
            slug.push('_');
        }
        if slug.len() >= 40 {
            break;
        }
    }
    slug.trim_end_matches('_').to_owned()
}

/// The ids of one list so far.
#[derive(Default)]
struct Ids {
    taken: HashSet<String>,
    /// The last number that each id was given, so that none is tried twice.
    numbers: HashMap<String, u32>,
}

impl Ids {
    /// The id itself, or with a number behind it if it is taken; of an empty one the kind.
    fn free(&mut self, wanted: String, kind: &str) -> String {
        let wanted = match wanted.is_empty() {
            true => kind.to_owned(),
            false => wanted,
        };
        let mut id = wanted.clone();
        while !self.taken.insert(id.clone()) {
            let number = self.numbers.entry(wanted.clone()).or_insert(1);
            *number += 1;
            id = format!("{wanted}_{number}");
        }
        id
    }
}
