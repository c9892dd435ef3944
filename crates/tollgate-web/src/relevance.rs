//! How well texts answer a question, by the words they share with it (BM25).

use std::collections::{HashMap, HashSet};

/// How soon more of the same word counts for little, and how much long texts are held back.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// Texts that are compared with one another.
pub(crate) struct Corpus {
    texts: Vec<HashMap<String, usize>>,
    lengths: Vec<usize>,
    mean: f64,
}

impl Corpus {
    pub(crate) fn new(texts: impl IntoIterator<Item = Vec<String>>) -> Self {
        let mut corpus = Self {
            texts: Vec::new(),
            lengths: Vec::new(),
            mean: 1.0,
        };
        for terms in texts {
            corpus.lengths.push(terms.len());
            let mut counts = HashMap::new();
            for term in terms {
                *counts.entry(term).or_insert(0) += 1;
            }
            corpus.texts.push(counts);
        }
        let sum: usize = corpus.lengths.iter().sum();
        corpus.mean = (sum as f64 / corpus.lengths.len().max(1) as f64).max(1.0);
        corpus
    }

    /// How rare a word is among the texts.
    pub(crate) fn weight(&self, term: &str) -> f64 {
        let all = self.texts.len() as f64;
        let with = self.texts.iter().filter(|text| text.contains_key(term));
        let with = with.count() as f64;
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// The score of every text for the words of a question.
    pub(crate) fn scores(&self, question: &[String]) -> Vec<f64> {
        let mut scores = vec![0.0; self.texts.len()];
        let mut seen = HashSet::new();
        for term in question.iter().filter(|term| seen.insert(term.as_str())) {
            let weight = self.weight(term);
            for (place, text) in self.texts.iter().enumerate() {
                let Some(count) = text.get(term).map(|count| *count as f64) else {
                    continue;
                };
                let length = self.lengths[place] as f64 / self.mean;
                let dampened = count + SATURATION * (1.0 - LENGTH + LENGTH * length);
                scores[place] += weight * count * (SATURATION + 1.0) / dampened;
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::terms;

    #[test]
    fn rare_words_and_short_texts_count_more() {
        let corpus = Corpus::new([
            terms("tea and tea and tea"),
            terms("tea with a thermometer"),
            terms("tea, pots, cups, kettles, spoons, tins, filters, with a thermometer"),
            terms("bread"),
        ]);
        let scores = corpus.scores(&terms("thermometer tea"));
        assert!(scores[1] > scores[2] && scores[2] > scores[0]);
        assert_eq!(scores[3], 0.0);
        assert!(corpus.weight("thermometer") > corpus.weight("tea"));
        assert!(Corpus::new([]).scores(&terms("tea")).is_empty());
    }
}
