//! Reads a question into concepts: what is asked for, each with the words it may go by in the catalogue.

use super::Index;
use super::english;
use super::lexicon::{Alternative, Lexicon, MAX_PHRASE, Relation};
use super::question::{self, Kind, Token};
use super::text;

const MAX_CONCEPTS: usize = 64;
/// Words the catalogue does not know that are compared with what it knows.
const MAX_UNKNOWN: usize = 8;

/// One thing asked for.
#[derive(Debug, Default)]
pub(super) struct Concept {
    /// Numbers of the terms that may stand for it, each with what it is worth.
    pub(super) terms: Vec<(usize, f32)>,
}

/// Reads `query` against the vocabulary of `index`; concepts no tool knows are left out.
pub(super) fn concepts(query: &str, index: &Index) -> Vec<Concept> {
    let tokens = question::tokens(query);
    let mut reader = Reader {
        index,
        lexicon: Lexicon::get(),
        unknown: 0,
        concepts: Vec::new(),
    };
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Word => reader.word(&tokens, at),
            Kind::Ideographs => reader.ideographs(&token.text),
            Kind::Stop => reader.phrase(&tokens, at),
        }
        if reader.concepts.len() >= MAX_CONCEPTS {
            break;
        }
    }
    reader.concepts
}

struct Reader<'index> {
    index: &'index Index,
    lexicon: &'static Lexicon,
    unknown: usize,
    concepts: Vec<Concept>,
}

impl Reader<'_> {
    fn word(&mut self, tokens: &[Token], at: usize) {
        let Some(token) = tokens.get(at) else { return };
        let repeated = tokens
            .iter()
            .take(at)
            .any(|earlier| earlier.clause == token.clause && earlier.stem == token.stem);
        if repeated {
            return;
        }
        let mut concept = Concept::default();
        self.add(&mut concept, &token.stem, 1.0);
        self.add_compound(&mut concept, tokens, at);
        self.add_alternatives(&mut concept, self.lexicon.alternatives(&token.stem));
        self.add_phrases(&mut concept, tokens, at);
        if concept.terms.is_empty() && self.unknown < MAX_UNKNOWN {
            self.unknown += 1;
            self.add_near(&mut concept, &token.stem);
        }
        self.finish(concept);
    }

    /// Stop words say nothing one by one, but "how far" does.
    fn phrase(&mut self, tokens: &[Token], at: usize) {
        let mut concept = Concept::default();
        self.add_phrases(&mut concept, tokens, at);
        self.finish(concept);
    }

    /// Adds what the phrases that start here are also called.
    fn add_phrases(&self, concept: &mut Concept, tokens: &[Token], at: usize) {
        let Some(token) = tokens.get(at) else { return };
        let mut phrase = token.stem.clone();
        let same_clause = |next: &&Token| next.clause == token.clause;
        for next in tokens
            .iter()
            .skip(at + 1)
            .take(MAX_PHRASE - 1)
            .take_while(same_clause)
        {
            phrase.push(' ');
            phrase.push_str(&next.stem);
            self.add_alternatives(concept, self.lexicon.alternatives(&phrase));
        }
    }

    /// "mind map" may be written "mindmap" in the catalogue.
    fn add_compound(&self, concept: &mut Concept, tokens: &[Token], at: usize) {
        let (Some(token), Some(next)) = (tokens.get(at), tokens.get(at + 1)) else {
            return;
        };
        if next.kind == Kind::Word && next.clause == token.clause {
            let joined = format!("{}{}", token.text, next.text);
            self.add(concept, &english::stem(&joined), 1.0);
        }
    }

    fn add_near(&self, concept: &mut Concept, word: &str) {
        let worth = self.index.weights.fuzzy;
        if let Some((left, right)) = self.index.vocabulary.halves(word) {
            concept.terms.extend([(left, worth), (right, worth)]);
            return;
        }
        concept.terms.extend(
            self.index
                .vocabulary
                .near(word)
                .into_iter()
                .map(|term| (term, worth)),
        );
    }

    fn add_alternatives(&self, concept: &mut Concept, alternatives: &[Alternative]) {
        let weights = &self.index.weights;
        for alternative in alternatives {
            let worth = match alternative.relation {
                Relation::Synonym => weights.synonym,
                Relation::Translation => weights.translation,
                Relation::Association => weights.association,
            };
            for term in &alternative.terms {
                self.add(concept, term, worth / alternative.terms.len() as f32);
            }
        }
    }

    fn add(&self, concept: &mut Concept, term: &str, worth: f32) {
        if let Some(number) = self.index.vocabulary.find(term) {
            match concept.terms.iter_mut().find(|(known, _)| *known == number) {
                Some((_, known)) => *known = known.max(worth),
                None => concept.terms.push((number, worth)),
            }
        }
    }

    /// Takes the longest words of the word list first; what is left over is matched pair by pair.
    fn ideographs(&mut self, run: &str) {
        let starts: Vec<usize> = run
            .char_indices()
            .map(|(at, _)| at)
            .chain([run.len()])
            .collect();
        let characters = starts.len() - 1;
        let mut at = 0;
        while at < characters && self.concepts.len() < MAX_CONCEPTS {
            let known = (1..=MAX_PHRASE.min(characters - at))
                .rev()
                .find_map(|length| {
                    let word = run.get(*starts.get(at)?..*starts.get(at + length)?)?;
                    let alternatives = self.lexicon.alternatives(word);
                    (!alternatives.is_empty()).then_some((word, length, alternatives))
                });
            let mut concept = Concept::default();
            if let Some((word, length, alternatives)) = known {
                text::pairs(word, |pair| self.add(&mut concept, pair, 1.0));
                self.add_alternatives(&mut concept, alternatives);
                at += length;
            } else {
                let pair = starts.get(at).zip(starts.get(at + 2).or(starts.last()));
                if let Some(pair) = pair.and_then(|(start, end)| run.get(*start..*end)) {
                    self.add(&mut concept, pair, 1.0);
                }
                at += 1;
            }
            self.finish(concept);
        }
    }

    fn finish(&mut self, concept: Concept) {
        if !concept.terms.is_empty() {
            self.concepts.push(concept);
        }
    }
}
