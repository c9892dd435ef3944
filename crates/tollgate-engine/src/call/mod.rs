//! The one path a tool call takes.
//!
//! Each stage consumes the type the stage before it made, so leaving one out or
//! changing their order does not compile:
//!
//! ```text
//! Request → Resolved → Valid → Permitted → Announced → ToolResult → Checked → Clean → Outcome
//! ```

mod admit;
mod announce;
mod answer;
mod aside;
mod cache;
mod closing;
mod consent;
mod deferral;
mod dialog;
mod finish;
mod flight;
mod following;
mod gateway;
mod invoke;
mod known;
mod listing;
mod notices;
mod outcome;
mod owed;
mod owned;
mod plan;
mod request;
mod stage;
mod state;
mod taint;
mod validate;

use std::{future::poll_fn, pin::pin, sync::Arc};

use tollgate_core::{Answer, ErrorCode, Failure, ToolResult};

use crate::{
    catalog::Listing,
    record::{CacheUse, LogEvent, Trail},
    session::{Kept, SessionState},
};

pub use cache::cache_key_of;
pub use dialog::DialogError;
pub use following::Following;
pub use gateway::{Gateway, Parts};
pub use notices::Changed;
pub use outcome::{Disposition, Outcome};
pub use request::{Caller, HumanConsent, Request, StepOf};
pub use stage::{Stage, StageProbe};

pub(crate) use admit::{CALL_BY_NAME, decision_word};
pub(crate) use finish::StoredEnding;
pub(crate) use gateway::Inner;
pub(crate) use listing::{Viewer, found, shows, visible_offers, within};
pub(crate) use owned::{Owned, Panicked, poll_caught};
pub(crate) use validate::{Checked, fingerprint};

use admit::{Permission, Permitted};
use aside::aside;
use cache::Keeping;
use finish::End;
use flight::Seat;

/// How many runs of others a call waits for before it makes its own.
///
/// A run that fails leaves no answer; then one of those who waited runs, and the rest
/// wait for that one, but not as long as it takes all of them to fail.
const MAX_WAITS: usize = 3;

/// Why a call went no further, and what has to be written down with it.
pub(crate) struct Stop {
    pub(crate) failure: Failure,
    pub(crate) ask: Option<Box<tollgate_core::store::Approval>>,
    pub(crate) block: bool,
}

impl Stop {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Failure::new(code, message).suggest(code.advice()).into()
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            ask: None,
            block: false,
        }
    }
}

impl From<tollgate_core::StoreError> for Stop {
    fn from(error: tollgate_core::StoreError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

/// Nobody waits any longer for a call that has not begun.
fn not_begun(trail: &Trail) -> Stop {
    let tool = &trail.tool;
    // Where nothing is changed, it makes no difference whether it had begun.
    let mut stop = if trail.effect {
        let message = format!("the call of `{tool}` was cancelled before it began");
        let failure = Failure::new(ErrorCode::Cancelled, message);
        failure.suggest("Nothing has happened.").into()
    } else {
        let message = format!("the call of `{tool}` was cancelled");
        Stop::new(ErrorCode::Cancelled, message)
    };
    stop.failure.can_retry = true;
    stop
}

/// Where opening the cache or running the tool has led.
enum Reached {
    End(Box<End>),
    /// The kept answer that made the call free is no longer there.
    Gone(Box<Permitted>),
}

impl Inner {
    /// Takes one call from request to outcome. Never fails: every way out is an ending, also
    /// that of a call which breaks for a fault of ours.
    async fn run(self: Arc<Self>, caller: Caller, request: Request) -> Outcome {
        let mut trail = self.open_trail(&caller, &request);
        let ran = {
            let mut run = pin!(self.pass(&mut trail, &caller, request));
            poll_fn(|context| poll_caught(run.as_mut(), context)).await
        };
        match ran {
            Ok(outcome) => outcome,
            // What is rare stands in a box: its room would be part of every call.
            Err(Panicked(cause)) => Box::pin(self.broken(&mut trail, &caller, &cause)).await,
        }
    }

    async fn pass(
        self: &Arc<Self>,
        trail: &mut Trail,
        caller: &Caller,
        request: Request,
    ) -> Outcome {
        self.log(trail, LogEvent::AgentToolCall, "running", None);
        self.owed.catch_up(self).await;
        if let Err(stop) = self.owed.has_room() {
            return answer::without_store(self, trail, stop);
        }
        let session = match self.session(caller, trail.at).await {
            Ok(session) => session,
            Err(error) => {
                return Box::pin(finish::without_session(self, trail, error.into())).await;
            }
        };
        self.probe(trail, Stage::Session);
        let end = match self.attempt(trail, &session, caller, request).await {
            Ok(end) => end,
            Err(stop) => End::Stopped(stop),
        };
        finish::finish(self, trail, &session, end).await
    }

    async fn attempt(
        self: &Arc<Self>,
        trail: &mut Trail,
        session: &Arc<SessionState>,
        caller: &Caller,
        request: Request,
    ) -> Result<End, Stop> {
        let resolved = admit::resolve(self, caller, session, request, trail)?;
        self.probe(trail, Stage::Resolve);
        let valid = validate::input(self, resolved, trail)?;
        let failures = trail
            .cache_key
            .as_deref()
            .map_or(0, |key| session.failures(key));
        trail.attempt = trail.attempt.max(failures + 1);
        self.probe(trail, Stage::ValidateIn);
        let peeked = cache::peek(self, session, &valid, trail).await?;
        self.probe(trail, Stage::Peek);
        let mut asked = (valid, peeked);
        loop {
            let (valid, peeked) = asked;
            let permission = admit::permit(self, caller, session, valid, peeked, trail).await?;
            self.probe(trail, Stage::Permit);
            let permitted = match permission {
                Permission::Granted(permitted) => permitted,
                Permission::DryRun(told) => return Ok(End::DryRun(told)),
                Permission::Happened(recorded) => return Ok(End::Recorded(recorded)),
            };
            asked = match self.answer(trail, session, permitted).await? {
                Reached::End(end) => return Ok(*end),
                Reached::Gone(permitted) => permitted.unanswered(),
            };
        }
    }

    /// Opens the cache or runs the tool, once for all who ask the same at the same time.
    async fn answer(
        self: &Arc<Self>,
        trail: &mut Trail,
        session: &Arc<SessionState>,
        permitted: Permitted,
    ) -> Result<Reached, Stop> {
        let mut waited = 0;
        loop {
            if let Some(recalled) = cache::open(self, session, &permitted, trail).await? {
                trail.cache = if waited > 0 {
                    CacheUse::Shared
                } else {
                    CacheUse::Hit
                };
                self.probe(trail, Stage::OpenCache);
                return Ok(Reached::End(Box::new(End::Hit(recalled))));
            }
            if permitted.valid().control.from_cache {
                return Err(cache::missed());
            }
            if permitted.counts_on_answer() {
                return Ok(Reached::Gone(Box::new(permitted)));
            }
            let seat = match permitted.flight_key(session) {
                Some(key) if waited < MAX_WAITS => self.flights.join(key),
                Some(_) | None => Seat::Alone,
            };
            match seat {
                Seat::Follower(done) => {
                    done.wait(&permitted.valid().cancel).await?;
                    waited += 1;
                }
                Seat::Leader(lead) => {
                    let end = self
                        .really_run(trail, session, permitted, Some(&lead))
                        .await;
                    return end.map(Box::new).map(Reached::End);
                }
                Seat::Alone => {
                    let end = self.really_run(trail, session, permitted, None).await;
                    return end.map(Box::new).map(Reached::End);
                }
            }
        }
    }

    async fn really_run(
        self: &Arc<Self>,
        trail: &mut Trail,
        session: &Arc<SessionState>,
        permitted: Permitted,
        lead: Option<&flight::Lead>,
    ) -> Result<End, Stop> {
        // What is made of other calls waits for theirs; it would take the turn they need.
        let turn = match permitted.valid().plan {
            Some(_) => None,
            None => Some(self.turn(trail, &permitted.valid().cancel).await?),
        };
        // Whoever is told that nobody answers has begun already, and may have something to end.
        let ends = permitted.valid().responses.as_ref();
        let ends = ends.is_some_and(|responses| responses.given_up);
        if permitted.valid().cancel.is_cancelled() && !ends {
            return Err(not_begun(trail));
        }
        let announced = announce::announce(self, session, permitted, trail).await?;
        self.probe(trail, Stage::Intent);
        let listing = Arc::clone(announced.listing());
        let caching = announced.caching();
        trail.ran = true;
        let answer = invoke::run(self, announced, trail, lead).await?;
        drop(turn);
        self.probe(trail, Stage::Invoke);
        let result = match answer {
            Answer::Done(result) => result,
            Answer::NeedsInput(request) => return Ok(End::NeedsInput(request)),
        };
        let usage = result.usage;
        let taken = self.take(trail, session, &listing, (result, caching), lead);
        taken.await.map_err(|mut stop| {
            // An answer that is no good was paid for all the same.
            stop.failure.consumed = stop.failure.consumed.or(usage.consumed);
            stop
        })
    }

    /// Checks and cleans an answer, and lets others have it.
    async fn take(
        &self,
        trail: &Trail,
        session: &SessionState,
        listing: &Listing,
        (result, caching): (ToolResult, Option<Keeping>),
        lead: Option<&flight::Lead>,
    ) -> Result<End, Stop> {
        let usage = result.usage;
        let now = self.clock.now();
        let caching = caching.and_then(|keeping| keeping.for_answer(result.holds_until, now));
        let clean = aside(result.payload.raw().len(), || {
            let checked = validate::output(listing, result, self.settings.result_bytes)?;
            self.probe(trail, Stage::ValidateOut);
            finish::clean(self, listing, checked)
        })?;
        self.probe(trail, Stage::Sanitize);
        let kept = Arc::new(Kept::of(clean.result, &clean.found));
        let marked = taint::remember(self, session, &kept, trail).await;
        marked.map_err(|error| answer::withheld(&error, trail))?;
        if let Some(lead) = lead {
            cache::remember(session, caching.as_ref(), &kept);
            lead.answered();
        }
        Ok(End::Answered(finish::Answered {
            kept,
            usage,
            redactions: clean.found.redactions,
            caching,
        }))
    }
}
