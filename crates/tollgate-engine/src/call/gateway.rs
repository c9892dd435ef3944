//! The door: everything a call needs, in one place, behind one method.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, SemaphorePermit, broadcast};
use tokio_util::sync::CancellationToken;
use tollgate_core::{
    CallId, Clock, ErrorCode, Estimate, Principal, Secret, Standing, Store, StoreError, Timestamp,
    store::{Batch, Change},
};

use super::{
    CALL_BY_NAME, Caller, Changed, End, Outcome, Request, Stage, StageProbe, Stop, answer, finish,
    flight::Flights,
    known::KnownArguments,
    not_begun, notices,
    owed::{self, Owed},
    owned::{Owned, Panicked},
};
use crate::{
    catalog::Catalog,
    ids,
    policy::{ApprovalKey, Consent, InsufficientPermit, Policies},
    record::{CacheUse, ENDING, LogEvent, LogLine, LogSink, NoLog, NoSpans, SpanSink, Trail},
    sanitize::Cleaner,
    schema::Pool,
    session::{Lifetime, Opening, SessionError, SessionState, Sessions},
    settings::Settings,
    skills::SkillBoard,
};

/// What a gateway is made of.
pub struct Parts {
    /// Where everything is kept.
    pub store: Arc<dyn Store>,
    /// The tools.
    pub catalog: Catalog,
    /// The rules.
    pub policies: Policies,
    /// What cleans everything.
    pub cleaner: Cleaner,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// The key that binds approvals; the same for all processes of one state.
    pub approval_key: Secret<[u8; 32]>,
    /// Every knob.
    pub settings: Settings,
    /// The skills.
    pub skills: SkillBoard,
    /// Takes log lines.
    pub log: Arc<dyn LogSink>,
    /// Takes spans.
    pub spans: Arc<dyn SpanSink>,
    /// Is told of every stage.
    pub probe: Option<Arc<dyn StageProbe>>,
}

impl Parts {
    /// The parts nobody can do without; nothing is logged.
    pub fn new(
        store: Arc<dyn Store>,
        catalog: Catalog,
        policies: Policies,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            store,
            catalog,
            policies,
            cleaner: Cleaner::shipped(),
            clock,
            approval_key: Secret::new([0; 32]),
            settings: Settings::default(),
            skills: SkillBoard::default(),
            log: Arc::new(NoLog),
            spans: Arc::new(NoSpans),
            probe: None,
        }
    }
}

/// What callers hold in this process, and what was refused or gave way since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    /// Sessions in use.
    pub sessions: usize,
    /// Bytes of kept answers and marks in memory.
    pub memory_bytes: usize,
    /// Kept answers that gave way.
    pub answers_evicted: u64,
    /// Calls that were refused because there were too many sessions.
    pub sessions_refused: u64,
    /// Bodies for replay that were not written.
    pub bodies_left_out: u64,
}

/// The only door to a provider. Cloning it is cheap; all clones are one door.
#[derive(Clone)]
pub struct Gateway(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) catalog: RwLock<Arc<Catalog>>,
    pub(crate) policies: RwLock<Arc<Policies>>,
    pub(crate) cleaner: Cleaner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) approval_key: ApprovalKey,
    pub(crate) settings: Settings,
    pub(crate) skills: SkillBoard,
    pub(crate) sessions: Sessions,
    pub(crate) flights: Flights,
    pub(super) checks: Pool,
    pub(super) known: KnownArguments,
    pub(super) owed: Owed,
    pub(crate) log: Arc<dyn LogSink>,
    pub(crate) spans: Arc<dyn SpanSink>,
    probe: Option<Arc<dyn StageProbe>>,
    pub(super) changes: broadcast::Sender<Changed>,
    /// Held by whoever puts another catalogue together, so that no older one replaces it.
    pub(super) collecting: tokio::sync::Mutex<()>,
    pub(super) followed: Mutex<HashMap<String, usize>>,
    /// The permits that were reported as insufficient.
    pub(super) insufficient_permits: Mutex<Vec<InsufficientPermit>>,
    turns: Semaphore,
    waiting: AtomicUsize,
}

impl Gateway {
    /// Opens the door.
    pub fn new(parts: Parts) -> Self {
        parts.skills.judge(&parts.catalog);
        let inner = Arc::new(Inner {
            store: parts.store,
            catalog: RwLock::new(Arc::new(parts.catalog)),
            policies: RwLock::new(Arc::new(parts.policies)),
            cleaner: parts.cleaner,
            clock: parts.clock,
            approval_key: ApprovalKey::new(parts.approval_key),
            turns: Semaphore::new(parts.settings.concurrent_calls),
            settings: parts.settings,
            skills: parts.skills,
            sessions: Sessions::new(),
            flights: Flights::default(),
            checks: Pool::default(),
            known: KnownArguments::default(),
            owed: Owed::default(),
            log: parts.log,
            spans: parts.spans,
            probe: parts.probe,
            changes: broadcast::channel(notices::BACKLOG).0,
            collecting: tokio::sync::Mutex::default(),
            followed: Mutex::default(),
            insufficient_permits: Mutex::default(),
            waiting: AtomicUsize::new(0),
        });
        inner.tell_problems(&inner.catalog(), &[]);
        Self(inner)
    }

    /// Takes one call from request to outcome.
    ///
    /// The gate owns the call: dropping this future cancels it in order, and its
    /// ending is written all the same.
    pub async fn call(&self, caller: &Caller, request: Request) -> Outcome {
        let cancel = request.cancel.clone().drop_guard();
        let run = Arc::clone(&self.0).run(caller.clone(), request);
        let outcome = match Owned::new(run).await {
            Ok(outcome) => outcome,
            // Even its ending broke; what it had announced is ended when this process is gone.
            Err(Panicked(cause)) => self.0.lost(caller, &cause),
        };
        cancel.disarm();
        outcome
    }

    /// Writes down a request that could not even be read, and answers it.
    pub async fn refuse(&self, caller: &Caller, code: ErrorCode, message: &str) -> Outcome {
        self.turned_away(caller, "", Stop::new(code, message)).await
    }

    /// Writes down in one entry that so many requests of nobody known were refused for the same
    /// reason.
    pub async fn refuse_many(&self, caller: &Caller, code: ErrorCode, message: &str, count: u64) {
        let mut trail = self.open_nameless(caller);
        trail.count = Some(count);
        let stop = Stop::new(code, message);
        self.0.stopped(caller, &mut trail, stop).await;
    }

    /// Writes down that a call was refused before it began, under the name of its tool.
    pub async fn refuse_call(
        &self,
        caller: &Caller,
        request: &Request,
        code: ErrorCode,
        message: &str,
    ) -> Outcome {
        let tool = self.named_tool(request);
        self.turned_away(caller, &tool, Stop::new(code, message))
            .await
    }

    /// The tool that a request is about: `tools.call` names another one.
    fn named_tool(&self, request: &Request) -> String {
        let catalog = self.catalog();
        let canonical = |name: &str| {
            let found = catalog.find(name);
            found.map_or_else(|| name.to_owned(), |it| it.spec.name.as_str().to_owned())
        };
        let tool = canonical(&request.tool);
        let named = request.arguments.value()["name"].as_str();
        match named.filter(|_| tool == CALL_BY_NAME) {
            Some(named) => canonical(named),
            None => tool,
        }
    }

    async fn turned_away(&self, caller: &Caller, tool: &str, stop: Stop) -> Outcome {
        let request = Request::new(tool, tollgate_core::Payload::empty_object());
        let mut trail = self.0.open_trail(caller, &request);
        self.0.stopped(caller, &mut trail, stop).await
    }

    fn open_nameless(&self, caller: &Caller) -> Box<Trail> {
        let request = Request::new("", tollgate_core::Payload::empty_object());
        self.0.open_trail(caller, &request)
    }

    /// Writes down a request over a limit of its front end, and says when to come back.
    pub async fn overloaded(&self, caller: &Caller, retry_after_seconds: u64) -> Outcome {
        let mut stop = Stop::new(ErrorCode::Overloaded, "too many requests at once");
        stop.failure.retry_after_seconds = Some(retry_after_seconds);
        self.turned_away(caller, "", stop).await
    }

    /// Says that the caller has the answer to an effect, so that the same call asks again.
    pub async fn delivered(&self, outcome: &Outcome) -> Result<(), StoreError> {
        if !outcome.wants_receipt {
            return Ok(());
        }
        self.arrived(&outcome.call).await
    }

    /// The same, by the call alone, for whoever no longer has the answer.
    pub async fn arrived(&self, call: &CallId) -> Result<(), StoreError> {
        let changes = vec![Change::Delivered { call: call.clone() }];
        self.0
            .store
            .commit(Batch {
                changes,
                ..Batch::default()
            })
            .await
            .map(|_| ())
    }

    /// What callers hold, and what was refused or gave way.
    pub fn holdings(&self) -> Holdings {
        let (sessions, memory_bytes) = self.0.sessions.held();
        let counters = &self.0.sessions.counters;
        Holdings {
            sessions,
            memory_bytes,
            answers_evicted: counters.answers_evicted(),
            sessions_refused: counters.sessions_refused(),
            bodies_left_out: counters.bodies_left_out(),
        }
    }

    /// The tools on offer.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.0.catalog()
    }

    /// The rules in force.
    pub fn policies(&self) -> Arc<Policies> {
        self.0.policies()
    }

    /// Where everything is kept, for front ends that show it.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// What cleans everything.
    pub fn cleaner(&self) -> &Cleaner {
        &self.0.cleaner
    }

    /// What tells the time.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Every knob.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Lets go of every provider, and writes what could not be written before.
    pub async fn close(&self) {
        self.catalog().close().await;
        owed::last_chance(&self.0).await;
    }
}

/// The smaller of two limits, of which either may be none.
fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Inner {
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn policies(&self) -> Arc<Policies> {
        Arc::clone(&self.policies.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) async fn session(
        &self,
        caller: &Caller,
        at: Timestamp,
    ) -> Result<Arc<SessionState>, SessionError> {
        let opening = Opening {
            lifetime: caller.lifetime,
            limit: least(caller.limit, self.settings.session_limit),
            at,
            budgets: self.settings.budgets,
        };
        self.sessions
            .open(self.store.as_ref(), &caller.session, opening)
            .await
    }

    /// Boxed, because it goes all the way.
    pub(super) fn open_trail(&self, caller: &Caller, request: &Request) -> Box<Trail> {
        let at = self.clock.now();
        Box::new(Trail {
            call: ids::call_id(at),
            trace: ids::trace(request.traceparent.as_deref()),
            started: Instant::now(),
            at,
            session: caller.session.clone(),
            surface: caller.surface,
            transport: caller.transport,
            trust: caller.trust,
            scope: caller.scope.clone(),
            spelling: caller.spelling,
            results: caller.results,
            asks: caller.asks,
            profile: None,
            tool: self.tool_name(&request.tool),
            command: None,
            provider: None,
            spec_digest: None,
            capability: None,
            idempotent: false,
            consent: if request.control.yes {
                Consent::Agent
            } else {
                Consent::None
            },
            verdict: None,
            rule: None,
            arguments: None,
            cache_key: None,
            cache: CacheUse::Off,
            estimate: Estimate::default(),
            reserved: None,
            intent: false,
            doubtful: false,
            effect: false,
            approval: None,
            by_grant: false,
            ran: false,
            attempt: request.attempt,
            standing: Standing {
                consent: 0,
                profile: caller.profile.clone(),
                skill: caller.skill.clone(),
                is_stored: caller.lifetime == Lifetime::Stored,
            },
            step: request.step.clone(),
            count: None,
        })
    }

    /// The name a caller gave, fit to be written down; one of ours is as it is.
    fn tool_name(&self, given: &str) -> String {
        if self.catalog().find(given).is_some() {
            return given.to_owned();
        }
        self.cleaner.preview(&self.cleaner.line(given), 128)
    }

    /// Whether so many bytes may be written for replay or to be read on; counts them if so.
    pub(crate) fn may_write(&self, principal: &Principal, bytes: usize) -> bool {
        let of = (&self.settings.budgets, &self.sessions.counters);
        let bodies = &self.sessions.bodies;
        bodies.take(of, principal, bytes, self.clock.now())
    }

    pub(super) fn probe(&self, trail: &Trail, stage: Stage) {
        if let Some(probe) = &self.probe {
            probe.passed(&trail.call, stage);
        }
    }

    pub(super) fn log(
        &self,
        trail: &Trail,
        event: LogEvent,
        status: &'static str,
        done: Option<&Outcome>,
    ) {
        let envelope = done.map(|outcome| outcome.envelope.get());
        self.log.write(&LogLine {
            event,
            session_id: &trail.session.handle,
            request_id: trail.call.as_str(),
            iteration: trail.attempt,
            tool: &trail.tool,
            status,
            duration_ms: envelope.map(|envelope| envelope.meta.duration_ms),
            error_code: envelope
                .and_then(|envelope| envelope.error.as_ref())
                .map(|failure| failure.code.as_str()),
            warnings_count: envelope.map(|envelope| envelope.warnings.len()),
            provider: trail.provider.as_deref(),
            cache_hit: envelope.map(|envelope| envelope.cache_hit),
        });
    }

    /// Waits for a turn to run a tool; a full queue answers at once, and so does a
    /// call that nobody waits for any more.
    pub(super) async fn turn(
        &self,
        trail: &Trail,
        cancel: &CancellationToken,
    ) -> Result<SemaphorePermit<'_>, Stop> {
        if let Ok(turn) = self.turns.try_acquire() {
            return Ok(turn);
        }
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= self.settings.queued_calls {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            let mut stop = Stop::new(ErrorCode::Overloaded, "the gate is busy");
            stop.failure.retry_after_seconds = Some(1);
            return Err(stop);
        }
        let limit = self.settings.call_timeout.min(Duration::from_secs(60));
        let turn = tokio::select! {
            turn = tokio::time::timeout(limit, self.turns.acquire()) => Some(turn),
            () = cancel.cancelled() => None,
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        let Some(turn) = turn else {
            return Err(not_begun(trail));
        };
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => {
                let message = format!("`{}` waited too long for its turn", trail.tool);
                let mut stop = Stop::new(ErrorCode::Overloaded, message);
                stop.failure.retry_after_seconds = Some(5);
                Err(stop)
            }
        }
    }

    /// How many calls are with their providers.
    pub(super) fn turns_taken(&self) -> usize {
        let left = self.turns.available_permits();
        self.settings.concurrent_calls.saturating_sub(left)
    }

    /// A fault of ours broke a call; its ending is still written, unless it was before.
    pub(super) async fn broken(
        self: &Arc<Self>,
        trail: &mut Trail,
        caller: &Caller,
        cause: &str,
    ) -> Outcome {
        let stop = self.fault(trail, cause);
        match owed::is_recorded(self, &trail.call, ENDING).await {
            Ok(true) => answer::without_store(self, trail, stop),
            Ok(false) | Err(_) => self.stopped(caller, trail, stop).await,
        }
    }

    /// The answer to a call of which nothing more can be written.
    fn lost(&self, caller: &Caller, cause: &str) -> Outcome {
        let request = Request::new("", tollgate_core::Payload::empty_object());
        let trail = self.open_trail(caller, &request);
        answer::unreported(self, &trail, self.fault(&trail, cause))
    }

    fn fault(&self, trail: &Trail, cause: &str) -> Stop {
        let mut stop = Stop::new(ErrorCode::Internal, "the gate itself failed on this call");
        stop.failure.detail = Some(self.cleaner.line(cause));
        if trail.ran && trail.effect {
            stop.failure = stop.failure.with("outcome", "unknown");
        }
        stop
    }

    /// Ends a call that goes no further.
    async fn stopped(self: &Arc<Self>, caller: &Caller, trail: &mut Trail, stop: Stop) -> Outcome {
        match self.session(caller, trail.at).await {
            Ok(session) => finish::finish(self, trail, &session, End::Stopped(stop)).await,
            Err(_) => finish::without_session(self, trail, stop).await,
        }
    }
}
