//! Adds up what each tool says about each concept. A concept counts once however many of its words a tool uses, so a
//! long list of synonyms never outweighs the question.

use super::query::{self, Concept};
use super::{Hit, Index};

/// Scores of all tools for one question; the fields run parallel, one entry a tool or provider.
struct Tally<'index> {
    index: &'index Index,
    /// What the concepts of the current clause add up to.
    clause: Vec<f32>,
    provider: Vec<f32>,
    /// The same, for all clauses.
    whole: Vec<f32>,
    best_clause: Vec<f32>,
    /// Rarity of the concepts found, for the share of the question a tool covers.
    covered: Vec<f32>,
    /// Rarity of the concepts found in the name, for the share of the name the question covers.
    named: Vec<f32>,
    asked: f32,
    scratch: Scratch,
}

/// The best a single concept does in each tool.
#[derive(Default)]
struct Scratch {
    best: Vec<f32>,
    in_name: Vec<f32>,
    touched: Vec<u32>,
}

/// The tools that answer `query` best, best first.
pub(super) fn search(index: &Index, query: &str, limit: usize) -> Vec<Hit> {
    let concepts = query::concepts(query, index);
    let mut tally = Tally::new(index);
    for clause in concepts.chunk_by(|a, b| a.clause == b.clause) {
        for concept in clause {
            tally.add(concept);
        }
        tally.end_clause();
    }
    tally.hits(limit)
}

impl<'index> Tally<'index> {
    fn new(index: &'index Index) -> Self {
        let tools = index.names.len();
        let zeros = || vec![0.0; tools];
        let scratch = Scratch {
            best: zeros(),
            in_name: zeros(),
            touched: Vec::new(),
        };
        let provider = vec![0.0; index.providers.documents()];
        Self {
            index,
            clause: zeros(),
            provider,
            whole: zeros(),
            best_clause: zeros(),
            covered: zeros(),
            named: zeros(),
            asked: 0.0,
            scratch,
        }
    }

    fn add(&mut self, concept: &Concept) {
        let tools = &self.index.tools;
        let limit = concept
            .terms
            .iter()
            .filter(|(_, worth)| *worth >= 1.0)
            .map(|(term, _)| tools.rarity(*term))
            .fold(0.0, f32::max);
        let limit = if limit > 0.0 { limit } else { f32::MAX };
        let mut rarest: f32 = 0.0;
        for &(term, worth) in &concept.terms {
            let value = worth * tools.rarity(term).min(limit);
            rarest = rarest.max(value);
            for occurrence in tools.of(term) {
                self.scratch.note(
                    occurrence.document(),
                    value * occurrence.impact,
                    if occurrence.is_in_name() { value } else { 0.0 },
                );
            }
        }
        self.asked += rarest;
        for at in std::mem::take(&mut self.scratch.touched) {
            let at = at as usize;
            let (best, in_name) = self.scratch.take(at);
            bump(&mut self.clause, at, best);
            bump(&mut self.covered, at, best);
            bump(&mut self.named, at, in_name);
        }
        self.add_to_providers(concept);
    }

    fn add_to_providers(&mut self, concept: &Concept) {
        let providers = &self.index.providers;
        let limit = concept
            .terms
            .iter()
            .filter(|(_, worth)| *worth >= 1.0)
            .map(|(term, _)| providers.rarity(*term))
            .fold(0.0, f32::max);
        let limit = if limit > 0.0 { limit } else { f32::MAX };
        for &(term, worth) in &concept.terms {
            let value = worth * providers.rarity(term).min(limit);
            for occurrence in providers.of(term) {
                self.scratch
                    .note(occurrence.document(), value * occurrence.impact, 0.0);
            }
        }
        for at in std::mem::take(&mut self.scratch.touched) {
            let (best, _) = self.scratch.take(at as usize);
            bump(&mut self.provider, at as usize, best);
        }
    }

    fn end_clause(&mut self) {
        let weight = self.index.weights.provider;
        for (at, provider) in self.index.provider_of.iter().enumerate() {
            let lift = self
                .provider
                .get(*provider as usize)
                .copied()
                .unwrap_or_default()
                * weight;
            let score = self.clause.get(at).copied().unwrap_or_default() + lift;
            bump(&mut self.whole, at, score);
            if let Some(best) = self.best_clause.get_mut(at) {
                *best = best.max(score);
            }
        }
        self.clause.fill(0.0);
        self.provider.fill(0.0);
    }

    fn hits(&self, limit: usize) -> Vec<Hit> {
        let mut hits: Vec<Hit> = (0..self.whole.len())
            .map(|document| Hit {
                document,
                score: self.score(document),
            })
            .filter(|hit| hit.score > 0.0)
            .collect();
        let order = |a: &Hit, b: &Hit| {
            b.score
                .total_cmp(&a.score)
                .then(a.document.cmp(&b.document))
        };
        if limit < hits.len() {
            hits.select_nth_unstable_by(limit, order);
            hits.truncate(limit);
        }
        hits.sort_unstable_by(order);
        hits
    }

    fn score(&self, document: usize) -> f32 {
        let at = |values: &[f32]| values.get(document).copied().unwrap_or_default();
        let weights = &self.index.weights;
        let sum = (1.0 - weights.clause) * at(&self.whole) + weights.clause * at(&self.best_clause);
        let named = at(&self.named);
        let share_of_name = if named > 0.0 {
            (named / at(&self.index.name_rarity)).min(1.0)
        } else {
            0.0
        };
        let covered = if self.asked > 0.0 {
            (at(&self.covered) / self.asked).min(1.0)
        } else {
            0.0
        };
        (sum + weights.name_match * named * share_of_name)
            * (1.0 - weights.coverage + weights.coverage * covered)
    }
}

impl Scratch {
    fn note(&mut self, at: usize, score: f32, in_name: f32) {
        let (Some(best), Some(named)) = (self.best.get_mut(at), self.in_name.get_mut(at)) else {
            return;
        };
        if *best == 0.0 {
            self.touched.push(at as u32);
        }
        *best = best.max(score);
        *named = named.max(in_name);
    }

    fn take(&mut self, at: usize) -> (f32, f32) {
        let best = self
            .best
            .get_mut(at)
            .map(std::mem::take)
            .unwrap_or_default();
        (
            best,
            self.in_name
                .get_mut(at)
                .map(std::mem::take)
                .unwrap_or_default(),
        )
    }
}

fn bump(values: &mut [f32], at: usize, by: f32) {
    if let Some(value) = values.get_mut(at) {
        *value += by;
    }
}
