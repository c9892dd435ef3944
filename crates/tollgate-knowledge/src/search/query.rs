//! A question as concepts: words, each with other ways to say it.

use super::heard::{Beginnings, Heard};
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
    begins: Beginnings,
}

impl Query {
    pub(crate) fn new(words: &str) -> Self {
        let end = match words.len() > MAX_CHARACTERS {
            true => words.char_indices().nth(MAX_CHARACTERS),
            false => None,
        };
        let folded = text::fold(end.map_or(words, |(end, _)| &words[..end]));
        let mut concepts: Vec<Vec<u64>> = Vec::new();
        for keys in keys(&folded) {
            if !concepts.contains(&keys) {
                concepts.push(keys);
            }
        }
        concepts.truncate(MAX_WORDS);
        Self {
            begins: Beginnings::of(&folded),
            folded,
            concepts,
        }
    }

    /// For the words of other texts of a base, and what it says means the same.
    pub(crate) fn heard(&self, base: &Base) -> Heard {
        let mut begins = self.begins.clone();
        for group in base.synonyms.said(&self.folded) {
            group.iter().for_each(|word| begins.add(word));
        }
        Heard::new(self.concepts.len(), self.for_base(base), begins)
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
