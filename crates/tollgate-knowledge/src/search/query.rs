//! A question as concepts: words, each with other ways to say it.

use crate::{
    base::Base,
    text::{self, Run, Stems},
};

/// The most characters of a question that are looked at.
const MAX_CHARACTERS: usize = 1000;
/// The most words of a question that are looked up.
const MAX_WORDS: usize = 64;

/// The words of a question.
pub(crate) struct Query {
    folded: String,
    concepts: Vec<Vec<u64>>,
    /// All keys of the concepts, in order.
    keys: Vec<u64>,
    /// What its words between spaces begin with.
    firsts: Vec<char>,
    /// Whether any of it is written without spaces.
    is_dense: bool,
}

/// Which keys of a question other texts have.
pub(crate) struct Heard<'q> {
    query: &'q Query,
    has: Vec<bool>,
}

impl Heard<'_> {
    /// Whether a word can have the stem of one of the question: stemming leaves the beginning.
    pub(crate) fn can_be(&self, word: &str) -> bool {
        let first = word.chars().next();
        first.is_some_and(|first| self.query.firsts.contains(&first))
    }

    /// Whether characters without spaces between them can be in it.
    pub(crate) fn can_be_dense(&self) -> bool {
        self.query.is_dense
    }

    pub(crate) fn key(&mut self, key: u64) {
        if let Ok(at) = self.query.keys.binary_search(&key) {
            self.has[at] = true;
        }
    }

    /// How many concepts were heard whole.
    pub(crate) fn concepts(&self) -> usize {
        let has = |key: &u64| {
            let at = self.query.keys.binary_search(key);
            at.is_ok_and(|at| self.has[at])
        };
        let concepts = self.query.concepts.iter();
        concepts.filter(|keys| keys.iter().all(has)).count()
    }
}

impl Query {
    pub(crate) fn new(words: &str) -> Self {
        let cut: String = words.chars().take(MAX_CHARACTERS).collect();
        let folded = text::fold(&cut);
        let mut concepts = keys(&folded);
        let mut seen = Vec::new();
        concepts.retain(|keys| {
            let is_new = !seen.contains(keys);
            seen.push(keys.clone());
            is_new
        });
        concepts.truncate(MAX_WORDS);
        let mut firsts: Vec<char> = text::runs(&folded)
            .filter_map(|run| match run {
                Run::Word(word) => word.chars().next(),
                Run::Dense(_) => None,
            })
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        let mut keys = concepts.concat();
        keys.sort_unstable();
        keys.dedup();
        Self {
            is_dense: folded.chars().any(text::is_dense),
            folded,
            concepts,
            keys,
            firsts,
        }
    }

    /// For the words of other texts.
    pub(crate) fn heard(&self) -> Heard<'_> {
        Heard {
            query: self,
            has: vec![false; self.keys.len()],
        }
    }

    /// The concepts of the words themselves, each a list of keys that belong together.
    pub(crate) fn concepts(&self) -> &[Vec<u64>] {
        &self.concepts
    }

    /// The concepts with what the author says means the same.
    pub(super) fn for_base(&self, base: &Base) -> Vec<Vec<Vec<u64>>> {
        let mut concepts: Vec<Vec<Vec<u64>>> = self
            .concepts
            .iter()
            .map(|keys| vec![keys.clone()])
            .collect();
        for group in base.synonyms.said(&self.folded) {
            let alternatives: Vec<Vec<u64>> = group
                .iter()
                .map(|word| keys(word).concat())
                .filter(|keys| !keys.is_empty())
                .collect();
            // The word that was said is one of them; it is replaced and not counted twice.
            concepts.retain(|concept| !alternatives.contains(&concept[0]));
            concepts.push(alternatives);
        }
        concepts.retain(|concept| !concept.is_empty());
        concepts
    }
}

/// The keys of each word that says something.
fn keys(folded: &str) -> Vec<Vec<u64>> {
    let stems = Stems::new();
    let mut found = Vec::new();
    for run in text::runs(folded) {
        match run {
            Run::Word(word) => {
                if !text::is_empty_word(word) {
                    found.push(vec![stems.key(word)]);
                }
            }
            Run::Dense(run) => {
                for word in text::segment(run) {
                    if !text::is_empty_word(word) {
                        found.push(text::pairs(word));
                    }
                }
            }
        }
    }
    found
}
