//! The one path a tool call takes.
//!
//! Each stage consumes the type the stage before it made, so leaving one out or
//! changing their order does not compile:
//!
//! ```text
//! Request → Resolved → Valid → Permitted → Announced → ToolResult → Checked → Clean → Outcome
//! ```

mod acquaint;
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
mod placeholders;
mod plan;
mod preview;
mod request;
mod session_store;
mod stage;
mod state;
mod taint;
mod validate;

use std::{future::poll_fn, pin::pin, sync::Arc};

use tollgate_core::{Answer, ErrorCode, Failure, Status, ToolResult};

use crate::{
    catalog::Listing,
    record::{CacheUse, LogEvent, Trail},
    session::{Kept, Object, SessionState},
};

pub use cache::cache_key_of;
pub use consent::SESSION_GRANT;
pub use dialog::DialogError;
pub use following::Following;
pub use gateway::{Gateway, Holdings, Parts};
pub use notices::Changed;
pub use outcome::{Disposition, Outcome};
pub use request::{Caller, HumanConsent, Request, StepOf};
pub use stage::{Stage, StageProbe};

pub(crate) use admit::{CALL_BY_NAME, decision_word};
pub(crate) use cache::{is_marked, is_secret};
pub(crate) use finish::StoredEnding;
pub(crate) use gateway::Inner;
pub(crate) use listing::{Viewer, found, in_force, shows, visible_offers, within};
pub(crate) use owned::{Owned, Panicked, poll_caught};
pub(crate) use validate::{Checked, fingerprint};

use admit::{Permission, Permitted};
use aside::aside;
use cache::Keeping;
use finish::End;
use flight::Seat;
use placeholders::{Echoes, Taking};

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

/// What has to be known of a call when its answer is there.
struct Origin {
    object: Option<Object>,
    echoes: Arc<Echoes>,
}

impl Origin {
    fn of(session: &SessionState, valid: &validate::Valid) -> Self {
        let arguments = validate::as_object(valid.arguments.value());
        Self {
            object: placeholders::object_of(&valid.listing, arguments),
            echoes: Arc::new(Echoes::of(session, valid.restored.as_deref())),
        }
    }

    fn hidden(&self, mut stop: Stop) -> Stop {
        self.echoes.hide_in_failure(&mut stop.failure);
        stop
    }
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
        self.look_at_skills();
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
        self.acquaint(&request).await;
        let resolved = admit::resolve(self, caller, session, request, trail)?;
        self.probe(trail, Stage::Resolve);
        let resolved = placeholders::restore(self, session, resolved, trail).await?;
        let valid = validate::input(self, resolved, trail).await?;
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
                let listing = &permitted.valid().listing;
                let recalled = cache::restated(listing, recalled, trail.transport);
                trail.cache = if waited > 0 {
                    CacheUse::Shared
                } else {
                    CacheUse::Hit
                };
                self.probe(trail, Stage::OpenCache);
                return Ok(Reached::End(Box::new(End::Hit(recalled))));
            }
            if permitted.valid().control.from_cache.is_on() {
                return Err(cache::missed(self, session, permitted.valid()).await?);
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
        validate::with_values(self, permitted.valid()).await?;
        let announced = announce::announce(self, session, permitted, trail).await?;
        self.probe(trail, Stage::Intent);
        let listing = Arc::clone(announced.listing());
        let caching = announced.caching();
        let origin = Origin::of(session, announced.valid());
        trail.ran = true;
        let answer = invoke::run(self, announced, trail, (lead, &origin.echoes)).await;
        let answer = answer.map_err(|stop| origin.hidden(stop))?;
        drop(turn);
        self.probe(trail, Stage::Invoke);
        let result = match answer {
            Answer::Done(result) => self.with_status(trail, result),
            Answer::NeedsInput(mut request) => {
                origin.echoes.hide_in_request(&mut request);
                return Ok(End::NeedsInput(request));
            }
        };
        let usage = result.usage;
        let taken = self.take(trail, session, (&listing, origin), (result, caching), lead);
        taken.await.map_err(|mut stop| {
            // An answer that is no good was paid for all the same.
            stop.failure.consumed = stop.failure.consumed.or(usage.consumed);
            stop
        })
    }

    /// An answer is an error exactly if it says why, and may be repeated only where that does
    /// no harm.
    fn with_status(&self, trail: &Trail, mut result: ToolResult) -> ToolResult {
        if result.status == Status::Error && result.failure.is_none() {
            let message = format!("`{}` says that it failed", trail.tool);
            result.failure = Some(Box::new(Stop::new(ErrorCode::ToolFailed, message).failure));
        }
        if let Some(failure) = &mut result.failure {
            result.status = Status::Error;
            failure.can_retry &= trail.idempotent;
            finish::keep_visible_steps(self, trail, failure);
        }
        result
    }

    /// Checks an answer, cleans it, and checks it again if that changed it.
    async fn checked_and_cleaned(
        &self,
        trail: &Trail,
        listing: &Listing,
        result: ToolResult,
        (taking, echoes): (&Taking<'_>, &Echoes),
    ) -> Result<finish::CleanAnswer, Stop> {
        // The tool has run: a check that there was no room for is no reason to run it again.
        let after_run = |mut stop: Stop| {
            stop.failure.can_retry &= trail.idempotent || !trail.effect;
            stop
        };
        let checked = validate::output(self, listing, result).await;
        let checked = checked.map_err(after_run)?;
        self.probe(trail, Stage::ValidateOut);
        let bytes = checked.bytes();
        let clean = aside(bytes, || {
            finish::clean(self, listing, checked, taking, echoes)
        });
        if clean.found.changed {
            let fits = validate::fits(self, listing, clean.result.get()).await;
            fits.map_err(after_run)?;
        }
        Ok(clean)
    }

    /// Checks and cleans an answer, and lets others have it.
    async fn take(
        &self,
        trail: &Trail,
        session: &SessionState,
        (listing, origin): (&Listing, Origin),
        (result, caching): (ToolResult, Option<Keeping>),
        lead: Option<&flight::Lead>,
    ) -> Result<End, Stop> {
        let usage = result.usage;
        let now = self.clock.now();
        let caching = caching.and_then(|keeping| keeping.for_answer(result.holds_until, now));
        let taking = Taking::new(self, (session, trail), listing, origin.object);
        let echoes = &origin.echoes;
        let cleaning = self.checked_and_cleaned(trail, listing, result, (&taking, echoes));
        let clean = cleaning.await?;
        placeholders::remember(self, session, taking, trail).await?;
        self.probe(trail, Stage::Sanitize);
        let kept = Arc::new(Kept::of(clean.result, &clean.found));
        taint::remember(self, session, &kept, trail).await?;
        if let Some(lead) = lead {
            cache::remember(session, caching.as_ref(), &kept);
            self.sessions.trim(&self.settings.budgets, session);
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
