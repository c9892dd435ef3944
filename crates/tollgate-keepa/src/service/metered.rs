//! Counts what a command costs, however many questions it asks.
//!
//! Invariant: tokens that Keepa took are in the account of the call, whether it ends well or not. What one answer does
//! not tell makes the sum unknown rather than small.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::{Failure, Outcome, Place, Reuse, Saved, Shelf, Target, Told, World};
use crate::{Error, chart::Chart, client::Failed, cost::Budget, request::Request, tool::Profile};

/// What was asked so far.
#[derive(Clone, Copy, Default)]
struct Spent {
    questions: u64,
    told: u64,
    tokens: u64,
}

/// A world that counts.
pub(super) struct Metered<'a, W> {
    world: &'a W,
    spent: Mutex<Spent>,
}

impl<'a, W: World> Metered<'a, W> {
    pub(super) fn new(world: &'a W) -> Self {
        Self {
            world,
            spent: Mutex::default(),
        }
    }

    /// The end of a command with all it cost.
    pub(super) fn settled(
        &self,
        budget: &Budget,
        ended: Result<Outcome, Failure>,
    ) -> Result<Outcome, Failure> {
        let spent = *self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = (spent.told == spent.questions).then_some(spent.tokens);
        let shown = |bucket: &mut Value| {
            if spent.questions > 1 && bucket.is_object() {
                bucket["estimated"] = json!(budget);
                bucket["tokens_consumed"] = json!(whole);
            }
        };
        match ended {
            Ok(mut outcome) if spent.questions > 0 => {
                outcome.consumed = whole;
                shown(&mut outcome.token_bucket);
                Ok(outcome)
            }
            Err(mut failure) if spent.questions > 0 => {
                failure.consumed = whole;
                shown(&mut failure.token_bucket);
                Err(failure)
            }
            ended => ended,
        }
    }
}

impl<W: World> World for Metered<'_, W> {
    fn spent(&self, tokens: Option<u64>) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.questions += 1;
        if let Some(tokens) = tokens {
            spent.told += 1;
            spent.tokens = spent.tokens.saturating_add(tokens);
        }
    }

    async fn ask(&self, request: &Request, reuse: Reuse) -> Result<Told, Failed> {
        self.world.ask(request, reuse).await
    }

    fn load(&self, place: Place<'_>) -> Result<String, Error> {
        self.world.load(place)
    }

    fn names(&self, shelf: Shelf) -> Vec<String> {
        self.world.names(shelf)
    }

    fn samples(&self, folder: &str) -> Result<super::Samples, Error> {
        self.world.samples(folder)
    }

    fn save(&self, target: Target<'_>, bytes: &[u8]) -> Result<Saved, Error> {
        self.world.save(target, bytes)
    }

    fn recall(&self, cache_key: &str) -> Option<Arc<Value>> {
        self.world.recall(cache_key)
    }

    fn recalled(&self) -> Vec<String> {
        self.world.recalled()
    }

    fn now_ms(&self) -> i64 {
        self.world.now_ms()
    }

    fn has_key(&self) -> bool {
        self.world.has_key()
    }

    fn profile(&self) -> Option<Profile> {
        self.world.profile()
    }

    fn roots(&self) -> super::Roots {
        self.world.roots()
    }

    fn ledger(&self) -> Value {
        self.world.ledger()
    }

    async fn evaluate(&self, specs: &str, samples: &str) -> Result<Value, Error> {
        self.world.evaluate(specs, samples).await
    }

    async fn paint(&self, chart: Chart) -> Result<Vec<u8>, Error> {
        self.world.paint(chart).await
    }

    fn progress(&self, done: u64, total: u64, what: &str) {
        self.world.progress(done, total, what);
    }
}
