//! Which passages answer the question best, and which of them to show.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use super::{
    Evidence, Source, passage,
    quantity::{Quantity, quantities},
};
use crate::{
    relevance::Corpus,
    words::{Word, terms, words},
};

/// A passage below this share of the best one's score is no evidence.
const FLOOR: f64 = 0.25;
/// How much being like what is shown already, or from the same source, counts against a passage.
const SAMENESS: f64 = 0.5;
const CROWDING: f64 = 0.15;
/// From when on two passages say the same, and from when on much the same.
const SAME: f64 = 0.8;
const ALIKE: f64 = 0.4;
/// How much of the question two passages must speak of for the same number to be the same statement.
const ABOUT: f64 = 0.5;

/// A passage with all that is compared.
pub(super) struct Passage<'a> {
    pub(super) source: &'a Source,
    pub(super) quote: &'a str,
    /// In characters.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) terms: HashSet<String>,
    pub(super) quantities: Vec<Quantity>,
    /// How far down in its text it is, from 0 to 1.
    depth: f64,
    /// The share of the question's words it has.
    pub(super) coverage: f64,
    /// The best is 1.
    pub(super) score: f64,
}

/// All passages that have to do with the question, best first.
pub(super) struct Ranked<'a> {
    pub(super) passages: Vec<Passage<'a>>,
    /// The words of the question.
    pub(super) question: Vec<Word>,
    /// The words of the question that some source has.
    pub(super) known: BTreeSet<String>,
}

pub(super) fn rank<'a>(question: &str, sources: &'a [Source]) -> Ranked<'a> {
    let asked = words(question);
    let wanted: BTreeSet<&str> = asked.iter().map(|word| word.term.as_str()).collect();
    let mut passages = Vec::new();
    let mut texts = Vec::new();
    for source in sources.iter().filter(|source| source.is_read()) {
        let mut counted = (0, 0);
        let suspect = joined(&source.suspect);
        for span in passage::passages(&source.text) {
            let next = suspect.partition_point(|bad| bad.end <= span.start);
            if suspect.get(next).is_some_and(|bad| bad.start < span.end) {
                continue;
            }
            let quote = &source.text[span.start..span.end];
            let start = counted.1 + source.text[counted.0..span.start].chars().count();
            let end = start + quote.chars().count();
            counted = (span.end, end);
            let found = terms(quote);
            let terms: HashSet<String> = found.iter().cloned().collect();
            let shared = wanted.iter().filter(|term| terms.contains(**term)).count();
            texts.push(found);
            passages.push(Passage {
                source,
                quote,
                start,
                end,
                terms,
                quantities: quantities(quote),
                depth: span.start as f64 / source.text.len().max(1) as f64,
                coverage: shared as f64 / wanted.len().max(1) as f64,
                score: 0.0,
            });
        }
    }
    let known = wanted.iter().filter(|term| {
        let mut all = texts.iter().flatten();
        all.any(|found| found == *term)
    });
    let known = known.map(|term| (*term).to_owned()).collect();
    let asked_terms: Vec<String> = asked.iter().map(|word| word.term.clone()).collect();
    let scores = Corpus::new(texts).scores(&asked_terms);
    for (passage, score) in passages.iter_mut().zip(scores) {
        let early = 1.0 + 0.2 * (1.0 - passage.depth);
        let first = 1.0 + 0.1 / passage.source.number.max(1) as f64;
        passage.score = score * (0.4 + 0.6 * passage.coverage) * early * first;
    }
    let best = passages
        .iter()
        .map(|passage| passage.score)
        .fold(0.0, f64::max);
    passages.retain(|passage| passage.score > 0.0 && passage.score >= FLOOR * best);
    for passage in &mut passages {
        passage.score /= best;
    }
    passages.sort_by(|one, other| other.score.total_cmp(&one.score));
    Ranked {
        passages,
        question: asked,
        known,
    }
}

/// Ranges in order, those that touch as one.
fn joined(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sorted: Vec<Range<usize>> = ranges.to_vec();
    sorted.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in sorted {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The share of words that two passages have in common.
pub(super) fn likeness(one: &HashSet<String>, other: &HashSet<String>) -> f64 {
    let shared = one.intersection(other).count();
    let all = one.len() + other.len() - shared;
    if all == 0 {
        0.0
    } else {
        shared as f64 / all as f64
    }
}

/// The passages to show: good ones that say different things, from different sources.
pub(super) fn select(ranked: &Ranked<'_>, most: usize) -> Vec<Evidence> {
    let mut chosen: Vec<&Passage<'_>> = Vec::new();
    let mut left: Vec<&Passage<'_>> = ranked.passages.iter().collect();
    while chosen.len() < most {
        left.retain(|passage| {
            let is_same = |one: &&Passage<'_>| likeness(&one.terms, &passage.terms) >= SAME;
            !chosen.iter().any(is_same)
        });
        let gain = |passage: &Passage<'_>| {
            let like = |one: &&Passage<'_>| likeness(&one.terms, &passage.terms);
            let like = chosen.iter().map(like).fold(0.0, f64::max);
            let same_source = chosen
                .iter()
                .filter(|one| one.source.number == passage.source.number);
            passage.score - SAMENESS * like - CROWDING * same_source.count() as f64
        };
        let mut best: Option<(f64, usize)> = None;
        for (place, passage) in left.iter().enumerate() {
            let gain = gain(passage);
            if gain > 0.0 && best.is_none_or(|(known, _)| gain > known) {
                best = Some((gain, place));
            }
        }
        let Some((_, place)) = best else {
            break;
        };
        chosen.push(left.remove(place));
    }
    let evidence = chosen.iter().enumerate().map(|(place, passage)| Evidence {
        number: place + 1,
        source: passage.source.number,
        quote: passage.quote.to_owned(),
        start: passage.start,
        end: passage.end,
        score: (passage.score * 1000.0).round() / 1000.0,
        also: also(passage, &ranked.passages),
    });
    evidence.collect()
}

/// The other sources that say much the same: in like words, or of the same thing with the same number.
fn also(passage: &Passage<'_>, all: &[Passage<'_>]) -> Vec<usize> {
    let agree = |other: &Passage<'_>| {
        let is_about = passage.coverage >= ABOUT && other.coverage >= ABOUT;
        let same = |mine: &Quantity| other.quantities.iter().any(|their| mine.agrees(their));
        is_about && passage.quantities.iter().any(same)
    };
    let alike = all.iter().filter(|other| {
        other.source.number != passage.source.number
            && (likeness(&other.terms, &passage.terms) >= ALIKE || agree(other))
    });
    let numbers: BTreeSet<usize> = alike.map(|other| other.source.number).collect();
    numbers.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(number: usize, text: &str) -> Source {
        Source {
            number,
            url: format!("https://{number}.test/"),
            text: text.to_owned(),
            ..Source::default()
        }
    }

    #[test]
    fn of_two_alike_the_one_further_up_comes_first() {
        let about = "The harbour of Lindholm has a lighthouse";
        let filler = "Nothing of it matters here, and nobody ever asks about any of that at all.\n";
        let text = format!(
            "{filler}{about}, and it is white.\n{}{about}, and it is green.\n{filler}",
            filler.repeat(20)
        );
        let sources = [source(1, &text)];
        let ranked = rank("harbour lighthouse", &sources);
        let quotes: Vec<_> = ranked.passages.iter().map(|one| one.quote).collect();
        assert_eq!(quotes.len(), 2, "{quotes:?}");
        assert!(quotes[0].ends_with("white.") && quotes[1].ends_with("green."));
        assert!(ranked.passages[0].score > ranked.passages[1].score);
        assert!(ranked.passages[0].depth < ranked.passages[1].depth);
    }

    #[test]
    fn what_is_shown_says_different_things_from_different_sources() {
        let sources = [source(1, ""), source(2, ""), source(3, "")];
        let passage = |source: usize, score: f64, quote: &'static str| Passage {
            source: &sources[source - 1],
            quote,
            start: 0,
            end: quote.len(),
            terms: quote.split(' ').map(str::to_owned).collect(),
            quantities: Vec::new(),
            depth: 0.0,
            coverage: 1.0,
            score,
        };
        let ranked = Ranked {
            passages: vec![
                passage(1, 1.0, "a b c d e f"),
                passage(2, 0.95, "a b c d e f"),
                passage(1, 0.9, "g h i j k l"),
                passage(2, 0.85, "a b c d x y"),
                passage(3, 0.8, "m n o p q r"),
            ],
            question: Vec::new(),
            known: BTreeSet::new(),
        };
        let shown = |most| -> Vec<(usize, String)> {
            let chosen = select(&ranked, most).into_iter();
            chosen.map(|one| (one.source, one.quote)).collect()
        };
        let expected = [
            (1, "a b c d e f"),
            (3, "m n o p q r"),
            (1, "g h i j k l"),
            (2, "a b c d x y"),
        ];
        let expected = expected.map(|(source, quote)| (source, quote.to_owned()));
        assert_eq!(
            shown(10),
            expected,
            "the copy is left out, what is new comes first"
        );
        assert_eq!(shown(2), expected[..2]);
    }

    #[test]
    fn ranges_are_joined_in_order() {
        let joined = joined(&[9..12, 0..3, 2..5, 5..6, 20..21]);
        assert_eq!(joined, [0..6, 9..12, 20..21]);
    }
}
