//! The one pass over all literals: says where something may be, never whether it is.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind, StartKind};

use crate::rules::{Rules, RulesError};

/// How the replacements begin; also the literal by which a text that was cleaned before is recognised.
pub(crate) const PLACEHOLDER: &str = "[redacted:";

/// What a literal may be the beginning of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// A rule, by index.
    Rule(usize),
    /// A word that tells what the value beside it is.
    Word(Word),
    /// A secret query parameter, up to and including its `=`.
    Parameter,
    /// A URL's `://`.
    Link,
    /// A replacement made earlier.
    Placeholder,
    /// An instruction-like phrase, by index.
    Phrase(usize),
}

/// How much a telling word tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    Weak,
    Key,
    Secret,
    Password,
}

/// A literal found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    literal: usize,
}

impl Hit {
    /// The same hit in a text that begins `offset` bytes later.
    pub(crate) fn shifted(self, offset: usize) -> Hit {
        Hit {
            start: self.start - offset,
            end: self.end - offset,
            literal: self.literal,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Prefilter {
    automaton: AhoCorasick,
    targets: Vec<Vec<Target>>,
}

impl Prefilter {
    pub(crate) fn new(rules: &Rules) -> Result<Self, RulesError> {
        let mut literals = Literals::default();
        for (index, rule) in rules.rules.iter().enumerate() {
            literals.add(&rule.literals, Target::Rule(index));
        }
        let names = &rules.names;
        literals.add(&names.password, Target::Word(Word::Password));
        literals.add(&names.secret, Target::Word(Word::Secret));
        literals.add(&names.key, Target::Word(Word::Key));
        literals.add(&names.weak, Target::Word(Word::Weak));
        for name in &names.url_parameters {
            literals.add(&[format!("{name}=")], Target::Parameter);
        }
        literals.add(&["://".to_owned()], Target::Link);
        literals.add(&[PLACEHOLDER.to_owned()], Target::Placeholder);
        for (index, phrase) in rules.phrases.iter().enumerate() {
            literals.add(&phrase.anchors, Target::Phrase(index));
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .kind(Some(AhoCorasickKind::DFA))
            .prefilter(false)
            .build(&literals.texts)?;
        Ok(Prefilter {
            automaton,
            targets: literals.targets,
        })
    }

    /// All hits, ordered by where they end.
    pub(crate) fn hits<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Hit> + 't {
        self.automaton.find_overlapping_iter(text).map(|found| Hit {
            start: found.start(),
            end: found.end(),
            literal: found.pattern().as_usize(),
        })
    }

    pub(crate) fn targets(&self, hit: Hit) -> &[Target] {
        self.targets.get(hit.literal).map_or(&[], Vec::as_slice)
    }
}

#[derive(Default)]
struct Literals {
    texts: Vec<String>,
    targets: Vec<Vec<Target>>,
    known: std::collections::HashMap<String, usize>,
}

impl Literals {
    fn add(&mut self, literals: &[String], target: Target) {
        for literal in literals {
            let literal = literal.to_lowercase();
            let index = *self.known.entry(literal.clone()).or_insert_with(|| {
                self.texts.push(literal);
                self.targets.push(Vec::new());
                self.texts.len() - 1
            });
            if let Some(targets) = self.targets.get_mut(index)
                && !targets.contains(&target)
            {
                targets.push(target);
            }
        }
    }
}
