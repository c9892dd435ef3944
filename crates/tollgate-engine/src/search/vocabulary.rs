//! The terms a catalogue knows, sorted in one block of text: a lookup is a binary search, a shared beginning is a range,
//! and nothing but the text itself takes memory.

use std::ops::Range;

use tollgate_text::edit_distance_within;

/// How many terms are compared with a misspelt word at most.
const MAX_COMPARED: usize = 4_000;
/// How much longer or shorter a term with the same beginning may be.
const MAX_REST: usize = 5;
/// How many near terms stand in for a word the catalogue does not know.
const MAX_NEAR: usize = 4;

/// Sorted, distinct terms; a term's position is its number.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    text: String,
    /// Where each term ends in `text`.
    ends: Vec<u32>,
}

impl Vocabulary {
    /// Takes terms that are sorted and distinct.
    pub(super) fn from_sorted<'term>(terms: impl Iterator<Item = &'term str>) -> Self {
        let mut vocabulary = Self::default();
        for term in terms {
            vocabulary.text.push_str(term);
            vocabulary
                .ends
                .push(u32::try_from(vocabulary.text.len()).unwrap_or(u32::MAX));
        }
        vocabulary.text.shrink_to_fit();
        vocabulary.ends.shrink_to_fit();
        vocabulary
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of `term`, where the catalogue knows it.
    pub(super) fn find(&self, term: &str) -> Option<usize> {
        let at = self.first_not_below(term);
        (at < self.len() && self.term(at) == term).then_some(at)
    }

    /// Terms that `word` begins, that begin `word`, or that differ from it by a slip or two; nearest first.
    pub(super) fn near(&self, word: &str) -> Vec<usize> {
        let length = word.chars().count();
        if length < 4 {
            return Vec::new();
        }
        let allowed = if length >= 8 { 2 } else { 1 };
        let mut found: Vec<(usize, usize, usize)> = Vec::new();
        for at in self.starting_like(word).take(MAX_COMPARED) {
            let term = self.term(at);
            let rest = term.chars().count().abs_diff(length);
            if rest > MAX_REST {
                continue;
            }
            if term.starts_with(word) || (word.starts_with(term) && term.len() >= 5) {
                found.push((rest.min(2), rest, at));
            } else if rest <= allowed
                && let Some(slips) = edit_distance_within(word, term, allowed)
            {
                found.push((slips, rest, at));
            }
        }
        found.sort_unstable();
        found
            .into_iter()
            .take(MAX_NEAR)
            .map(|(_, _, at)| at)
            .collect()
    }

    /// Two known terms that `word` is made of, such as "mind" and "map".
    pub(super) fn halves(&self, word: &str) -> Option<(usize, usize)> {
        (3..word.len().saturating_sub(2)).find_map(|cut| {
            let (left, right) = word.split_at_checked(cut)?;
            let left = self.find(&super::english::stem(left))?;
            Some((left, self.find(&super::english::stem(right))?))
        })
    }

    fn starting_like(&self, word: &str) -> Range<usize> {
        let Some(first) = word.chars().next() else {
            return 0..0;
        };
        let mut buffer = [0; 4];
        let start = self.first_not_below(first.encode_utf8(&mut buffer));
        let next = char::from_u32(u32::from(first) + 1).unwrap_or(char::MAX);
        start..self.first_not_below(next.encode_utf8(&mut buffer))
    }

    fn first_not_below(&self, term: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.term(middle) < term {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn term(&self, at: usize) -> &str {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or_default() as usize;
        let start = if at == 0 { 0 } else { end(at - 1) };
        self.text.get(start..end(at)).unwrap_or_default()
    }
}
