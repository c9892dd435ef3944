//! Words that mean the same to somebody looking for a tool, in English and Chinese. The lists live in `lexicon.tsv` and
//! come from general knowledge, so that a request in other words, or in another language, still finds its tool.

use super::english;
use super::text::{self, Piece, Style};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The longest word list entry, in words or ideographs, that is looked for in a query.
pub(super) const MAX_PHRASE: usize = 4;

/// Which words stand for which others.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    /// From a stemmed word, a phrase of stems joined by spaces, or a Chinese word to what it may be called instead.
    entries: HashMap<String, Vec<Alternative>>,
}

/// Another way to say a word, as the terms the index would store for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alternative {
    pub(super) terms: Vec<String>,
    pub(super) relation: Relation,
}

/// How close an alternative comes to the word itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// It says the same.
    Synonym,
    /// It says the same in the other language.
    Translation,
    /// It is what such a word is usually about.
    Association,
}

impl Lexicon {
    /// The built-in lists, read on first use.
    pub(super) fn get() -> &'static Self {
        static LEXICON: OnceLock<Lexicon> = OnceLock::new();
        LEXICON.get_or_init(|| Self::parse(include_str!("lexicon.tsv")))
    }

    /// The alternatives of a stemmed word or phrase, or of a Chinese word.
    pub(super) fn alternatives(&self, key: &str) -> &[Alternative] {
        self.entries.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Reads one concept per line: `a b c` are each other's alternatives; in `a b > c d` the left may be called by any
    /// other word of the line, the right by none of the left. Chinese on the right of English says what the left says.
    /// An underscore joins the words of a phrase.
    fn parse(lists: &str) -> Self {
        let mut lexicon = Self::default();
        for line in lists.lines().filter(|line| !line.starts_with('#')) {
            let (left, right) = line.split_once('>').unwrap_or((line, ""));
            let mut left: Vec<Entry> = left.split_whitespace().map(entry).collect();
            let right = right.split_whitespace().map(entry);
            let (same, about): (Vec<Entry>, Vec<Entry>) = right.partition(|word| word.is_chinese);
            let is_translated = left.iter().all(|word| word.is_chinese);
            left.extend(same);
            let relation = if is_translated {
                Relation::Translation
            } else {
                Relation::Association
            };
            for word in &left {
                let known = lexicon.entries.entry(word.key.clone()).or_default();
                let others = left.iter().filter(|other| other.key != word.key);
                known.extend(others.map(|other| other.beside(word)));
                known.extend(about.iter().map(|other| Alternative {
                    terms: other.terms.clone(),
                    relation,
                }));
            }
        }
        lexicon
    }
}

/// A word of the lists: the key it is found under and the terms it is made of.
struct Entry {
    key: String,
    terms: Vec<String>,
    is_chinese: bool,
}

impl Entry {
    /// What it is to another word for the same.
    fn beside(&self, word: &Self) -> Alternative {
        let relation = if self.is_chinese == word.is_chinese {
            Relation::Synonym
        } else {
            Relation::Translation
        };
        Alternative {
            terms: self.terms.clone(),
            relation,
        }
    }
}

fn entry(word: &str) -> Entry {
    let mut entry = Entry {
        key: String::new(),
        terms: Vec::new(),
        is_chinese: false,
    };
    text::pieces(word, Style::Prose, &mut |piece| match piece {
        Piece::Word(word) => {
            if !entry.key.is_empty() {
                entry.key.push(' ');
            }
            entry.key.push_str(&english::stem(word));
            entry.terms.push(english::stem(word).into_owned());
        }
        Piece::Ideographs(run) => {
            entry.key.push_str(run);
            entry.is_chinese = true;
            text::pairs(run, |pair| entry.terms.push(pair.to_owned()));
        }
        Piece::Break => {}
    });
    entry
}
