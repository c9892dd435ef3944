//! Reads a question into concepts: what is asked for, each with the words it may go by in the catalogue.

use super::Index;
use super::english;
use super::lexicon::{Alternative, Lexicon, MAX_PHRASE, Relation};
use super::question::{Kind, Token};
use super::text;

const MAX_CONCEPTS: usize = 64;
/// Words the catalogue does not know that are compared with what it knows.
const MAX_UNKNOWN: usize = 8;

/// One thing asked for.
#[derive(Debug)]
pub(super) struct Concept {
    /// Numbers of the terms that may stand for it, each with what it is worth.
    pub(super) terms: Vec<(usize, f32)>,
    /// How much it matters in the question.
    pub(super) weight: f32,
}

impl Concept {
    fn new(weight: f32) -> Self {
        Self {
            terms: Vec::new(),
            weight,
        }
    }
}

/// Reads the `tokens` of a question against the vocabulary of `index`; concepts no tool knows are left out.
pub(super) fn concepts(tokens: &[Token], index: &Index) -> Vec<Concept> {
    let mut reader = Reader {
        index,
        lexicon: Lexicon::get(),
        unknown: 0,
        concepts: Vec::new(),
    };
    // How many of the next tokens belong to a phrase whose meaning is known.
    let mut idle = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if let Some(phrase) = reader.phrase(tokens, at).filter(|phrase| phrase.is_idiom) {
            reader.idiom(&phrase);
            idle = idle.max(phrase.words);
        }
        let part = if idle > 0 {
            index.weights.idiom_part
        } else {
            1.0
        };
        idle = idle.saturating_sub(1);
        match token.kind {
            Kind::Word | Kind::Light | Kind::Argument => reader.word(tokens, at, part),
            Kind::Ideographs => reader.ideographs(&token.text),
            Kind::Stop => reader.asking(token, part),
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

/// A phrase of the word list found in a question.
struct Phrase {
    alternatives: &'static [Alternative],
    words: usize,
    /// Whether its words mean something else apart: "balance sheet" is about no sheet.
    is_idiom: bool,
}

impl Reader<'_> {
    fn word(&mut self, tokens: &[Token], at: usize, part: f32) {
        let Some(token) = tokens.get(at) else { return };
        let repeated = tokens
            .iter()
            .take(at)
            .any(|earlier| earlier.clause == token.clause && earlier.stem == token.stem);
        if repeated {
            return;
        }
        let weights = &self.index.weights;
        let mut concept = Concept::new(
            part * match token.kind {
                Kind::Light => weights.light,
                Kind::Argument => weights.argument,
                Kind::Word | Kind::Stop | Kind::Ideographs => 1.0,
            },
        );
        self.add(&mut concept, &token.stem, 1.0);
        self.add_compound(&mut concept, tokens, at);
        self.add_alternatives(&mut concept, self.lexicon.alternatives(&token.stem));
        if let Some(phrase) = self.phrase(tokens, at).filter(|phrase| !phrase.is_idiom) {
            self.add_alternatives(&mut concept, phrase.alternatives);
        }
        if !concept.terms.iter().any(|(_, worth)| *worth >= 1.0) {
            for (_, worth) in &mut concept.terms {
                *worth = (*worth * self.index.weights.stand_in).min(1.0);
            }
        }
        if concept.terms.is_empty() && token.kind == Kind::Word && self.unknown < MAX_UNKNOWN {
            self.unknown += 1;
            self.add_near(&mut concept, &token.stem);
        }
        self.finish(concept);
    }

    /// Question words say little, but "who" asks for a person.
    fn asking(&mut self, token: &Token, part: f32) {
        let alternatives = self.lexicon.alternatives(&token.stem);
        if !alternatives.is_empty() {
            let mut concept = Concept::new(part * self.index.weights.light);
            self.add_alternatives(&mut concept, alternatives);
            self.finish(concept);
        }
    }

    /// A phrase of the word list stands for what it means; its words alone say less, or nothing where they are idle.
    fn idiom(&mut self, phrase: &Phrase) {
        let mut concept = Concept::new(1.0);
        self.add_alternatives(&mut concept, phrase.alternatives);
        for (_, worth) in &mut concept.terms {
            *worth = (*worth * self.index.weights.idiom).min(1.0);
        }
        self.finish(concept);
    }

    /// The longest phrase of the word list that starts here.
    fn phrase(&self, tokens: &[Token], at: usize) -> Option<Phrase> {
        let token = tokens.get(at)?;
        let same_clause = |next: &&Token| next.clause == token.clause;
        let following = tokens
            .iter()
            .skip(at + 1)
            .take(MAX_PHRASE - 1)
            .take_while(same_clause);
        let mut key = token.stem.clone();
        let mut longest = None;
        for (more, next) in following.enumerate() {
            key.push(' ');
            key.push_str(&next.stem);
            let alternatives = self.lexicon.alternatives(&key);
            if !alternatives.is_empty() {
                let terms = || alternatives.iter().flat_map(|other| &other.terms);
                let is_idiom = !key.split(' ').any(|word| terms().any(|term| term == word));
                longest = Some(Phrase {
                    alternatives,
                    words: more + 2,
                    is_idiom,
                });
            }
        }
        longest
    }

    /// "mind map" may be written "mindmap" in the catalogue.
    fn add_compound(&self, concept: &mut Concept, tokens: &[Token], at: usize) {
        let (Some(token), Some(next)) = (tokens.get(at), tokens.get(at + 1)) else {
            return;
        };
        if matches!(next.kind, Kind::Word | Kind::Light) && next.clause == token.clause {
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
            let mut concept = Concept::new(1.0);
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
