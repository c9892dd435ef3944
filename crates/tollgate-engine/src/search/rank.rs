//! Adds up what each tool says about each concept. A concept counts once however many of its words a tool uses, so a
//! long list of synonyms never outweighs the question.

use super::action::Action;
use super::postings::Postings;
use super::query::{self, Concept};
use super::question::{self, Token};
use super::weights::Weights;
use super::{Hit, Index};
use std::collections::HashMap;

/// How many hits keep their places whatever the spelling of others.
const SETTLED: usize = 3;

/// The tools that answer `query` best, best first.
pub(super) fn search(index: &Index, query: &str, limit: usize) -> Vec<Hit> {
    let tokens = question::tokens(query);
    let concepts = query::concepts(&tokens, index);
    if concepts.is_empty() {
        return Vec::new();
    }
    let mut scores = Tally::new(index).ask(&concepts);
    let wanted = Action::of_request(&tokens);
    for (score, does) in scores.iter_mut().zip(&index.actions) {
        if wanted.is_opposed_to(*does) {
            *score *= index.weights.opposed;
        }
    }
    // Among the words of several clauses any tool finds some of its letters.
    if limit > SETTLED && question::is_one_clause(&tokens) {
        lift_spelled(index, &tokens, &mut scores);
    }
    lift_users(index, &mut scores);
    best(index, &scores, limit)
}

/// Lifts the tools of providers that the user added, to the rank of a tool of ours with the same name at least.
fn lift_users(index: &Index, scores: &mut [f32]) {
    for &(tool, same) in &index.users {
        let same = same.map_or(0.0, |same| get(scores, same));
        if let Some(score) = scores.get_mut(tool) {
            *score = score.max(same) * index.weights.users;
        }
    }
}

/// Lifts the tools that are spelled like the question, and the best hits as much as any, so that they are not passed
/// but for repeats of a name.
fn lift_spelled(index: &Index, tokens: &[Token], scores: &mut [f32]) {
    let mut shares = index.spelling.ask(tokens);
    let settled = best(index, scores, SETTLED);
    let top = settled.first().map_or(0.0, |hit| hit.score);
    for hit in settled {
        if let Some(share) = shares.get_mut(hit.document) {
            *share = 1.0;
        }
    }
    for (score, share) in scores.iter_mut().zip(shares) {
        if *score > 0.0 {
            *score += index.weights.spelled * top * share;
        }
    }
}

/// Sums of one question, one entry a tool or provider.
struct Tally<'index> {
    index: &'index Index,
    /// The best the current concept does, in the text and in the name.
    concept: Best,
    sum: Vec<f32>,
    provider: Vec<f32>,
    /// Rarity of the concepts found in the name, for the share of the name the question covers.
    named: Vec<f32>,
}

impl<'index> Tally<'index> {
    fn new(index: &'index Index) -> Self {
        let zeros = || vec![0.0; index.names.len()];
        let concept = Best {
            score: zeros(),
            in_name: zeros(),
            touched: Vec::new(),
        };
        let provider = vec![0.0; index.providers.documents()];
        Self {
            index,
            concept,
            sum: zeros(),
            provider,
            named: zeros(),
        }
    }

    /// What every tool scores for all concepts together.
    fn ask(mut self, concepts: &[Concept]) -> Vec<f32> {
        let mut asked = 0.0;
        for concept in concepts {
            asked += self
                .concept
                .read(&self.index.tools, concept, &self.index.weights);
            self.concept.drain(|at, score, in_name| {
                bump(&mut self.sum, at, score);
                bump(&mut self.named, at, in_name);
            });
            self.concept
                .read(&self.index.providers, concept, &self.index.weights);
            self.concept
                .drain(|at, score, _| bump(&mut self.provider, at, score));
        }
        (0..self.sum.len())
            .map(|at| self.score(at, asked))
            .collect()
    }

    fn score(&self, tool: usize, asked: f32) -> f32 {
        let weights = &self.index.weights;
        let provider = get(&self.index.provider_of, tool) as usize;
        let sum = get(&self.sum, tool);
        let lifted = sum + weights.provider * get(&self.provider, provider);
        let named = get(&self.named, tool);
        let of_name = if named > 0.0 {
            (named / get(&self.index.name_rarity, tool)).min(1.0)
        } else {
            0.0
        };
        let covered = if asked > 0.0 {
            (sum / asked).min(1.0)
        } else {
            0.0
        };
        (lifted + weights.name_match * named * of_name) * (1.0 - weights.coverage * (1.0 - covered))
    }
}

/// The best one concept does in each document.
struct Best {
    score: Vec<f32>,
    in_name: Vec<f32>,
    touched: Vec<u32>,
}

impl Best {
    /// Notes where the concept occurs and returns its rarity. A synonym never counts as rarer than the word itself.
    fn read(&mut self, postings: &Postings, concept: &Concept, weights: &Weights) -> f32 {
        let own = concept.terms.iter().filter(|(_, worth)| *worth >= 1.0);
        let own = own
            .map(|(term, _)| postings.rarity(*term))
            .fold(0.0, f32::max);
        let same = concept
            .terms
            .iter()
            .filter(|(_, worth)| *worth >= weights.synonym);
        let pooled = postings.pooled_rarity(same);
        let limit = if own > 0.0 {
            own + (pooled - own).min(0.0) * weights.pool
        } else {
            f32::MAX
        };
        let mut rarest: f32 = 0.0;
        for &(term, worth) in &concept.terms {
            let value = concept.weight * worth * postings.rarity(term).min(limit);
            rarest = rarest.max(value);
            let floor = if worth >= 1.0 { weights.floor } else { 0.0 };
            for occurrence in postings.of(term) {
                let in_name = if occurrence.is_in_name() { value } else { 0.0 };
                self.note(
                    occurrence.document(),
                    value * occurrence.impact.max(floor),
                    in_name,
                );
            }
        }
        rarest
    }

    fn note(&mut self, at: usize, score: f32, in_name: f32) {
        let (Some(best), Some(named)) = (self.score.get_mut(at), self.in_name.get_mut(at)) else {
            return;
        };
        if *best == 0.0 {
            self.touched.push(at as u32);
        }
        *best = best.max(score);
        *named = named.max(in_name);
    }

    /// Hands over what was noted and forgets it.
    fn drain(&mut self, mut sink: impl FnMut(usize, f32, f32)) {
        for at in self.touched.drain(..) {
            let at = at as usize;
            let score = self
                .score
                .get_mut(at)
                .map(std::mem::take)
                .unwrap_or_default();
            sink(
                at,
                score,
                self.in_name
                    .get_mut(at)
                    .map(std::mem::take)
                    .unwrap_or_default(),
            );
        }
    }
}

/// The best hits, a name found before counting less each time it comes again.
fn best(index: &Index, scores: &[f32], limit: usize) -> Vec<Hit> {
    let hits = scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
    let mut hits: Vec<Hit> = hits
        .map(|(document, score)| Hit {
            document,
            score: *score,
        })
        .collect();
    let order = |a: &Hit, b: &Hit| {
        b.score
            .total_cmp(&a.score)
            .then(a.document.cmp(&b.document))
    };
    let kept = limit.saturating_mul(2).saturating_add(8);
    if kept < hits.len() {
        hits.select_nth_unstable_by(kept, order);
        hits.truncate(kept);
    }
    hits.sort_unstable_by(order);
    let mut seen: HashMap<&str, f32> = HashMap::with_capacity(hits.len());
    for hit in &mut hits {
        let name = index.names.get(hit.document).map_or("", AsRef::as_ref);
        let worth = seen.entry(name).or_insert(1.0);
        hit.score *= *worth;
        *worth *= index.weights.repeat;
    }
    hits.sort_unstable_by(order);
    hits.truncate(limit);
    hits
}

fn get<Value: Copy + Default>(values: &[Value], at: usize) -> Value {
    values.get(at).copied().unwrap_or_default()
}

fn bump(values: &mut [f32], at: usize, by: f32) {
    if let Some(value) = values.get_mut(at) {
        *value += by;
    }
}
