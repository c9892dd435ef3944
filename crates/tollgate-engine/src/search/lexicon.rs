//! Words that mean the same to somebody looking for a tool, in English and Chinese. The lists live in `lexicon.tsv` and
//! come from general knowledge, so that a request in other words, or in another language, still finds its tool.

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
    /// other word of the line, the right by none of the left. An underscore joins the words of a phrase.
    fn parse(lists: &str) -> Self {
        let mut lexicon = Self::default();
        for line in lists.lines().filter(|line| !line.starts_with('#')) {
            let (left, right) = line.split_once('>').unwrap_or((line, ""));
            let left: Vec<(String, Alternative)> = left.split_whitespace().map(entry).collect();
            let right: Vec<(String, Alternative)> = right.split_whitespace().map(entry).collect();
            for (key, _) in &left {
                let known = lexicon.entries.entry(key.clone()).or_default();
                for (other, alternative) in left.iter().chain(&right) {
                    if other != key && !known.contains(alternative) {
                        known.push(alternative.clone());
                    }
                }
            }
        }
        lexicon
    }
}

/// The key a word is found under and the terms it is made of.
fn entry(word: &str) -> (String, Alternative) {
    let mut terms = Vec::new();
    let mut key = String::new();
    let mut push = |part: &str, separator: &str| {
        if !key.is_empty() {
            key.push_str(separator);
        }
        key.push_str(part);
    };
    text::pieces(word, Style::Prose, &mut |piece| match piece {
        Piece::Word(word) => {
            push(text::stem(word), " ");
            terms.push(text::stem(word).to_owned());
        }
        Piece::Ideographs(run) => {
            push(run, "");
            text::pairs(run, |pair| terms.push(pair.to_owned()));
        }
        Piece::Break => {}
    });
    (key, Alternative { terms })
}
