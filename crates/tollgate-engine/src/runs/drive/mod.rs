//! Drives one run: events in, actions out, everything kept in between.

mod made;
mod open;
mod write;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tollgate_core::{
    Cost, Principal, StoreError, Timestamp, ToolSpec,
    store::{Durability, RunChange, RunRow},
};
use tollgate_runs::{Action, Call, CallStep, Event, Key, Outcome, Run, Status, Waits};

use self::made::{Heard, Here, due, ended, heard_from};
use super::{
    Driven, Live, Shared, again,
    body::Body,
    keep::{Kept, fail},
    log::About,
    step::{self, Relay, Surroundings, Wanted},
    waiting,
};
use crate::call::{Inner, Owned, Panicked};

/// How often a run looks whether another process wants it called off.
const LOOK: Duration = Duration::from_millis(500);
/// How long such a look is good for, and how long what quick steps came to may stay unwritten:
/// they do not pay for each.
const FRESH: Duration = Duration::from_millis(20);

/// A run being driven.
struct Drive {
    around: Arc<Surroundings>,
    run: Run,
    fence: u64,
    body: Body,
    live: watch::Sender<Live>,
    events: mpsc::UnboundedSender<Heard>,
    /// Calls under way, to be stopped when the time is up.
    calls: HashMap<Key, CancellationToken>,
    /// What has happened and was not taken note of yet.
    next: VecDeque<Event>,
    /// When it last looked whether another process wants it called off.
    looked: Option<Instant>,
    /// Steps that changed since something was last written.
    changed: BTreeSet<Key>,
    /// Steps that may be made again without a difference to anybody.
    light: BTreeSet<Key>,
    /// When it was last written down; first that this process drives it.
    kept: Option<(Timestamp, tokio::time::Instant)>,
}

/// Drives a claimed run to its end. `row` is as it was before the claim.
pub(super) async fn drive(shared: Arc<Shared>, inner: Arc<Inner>, row: RunRow, driven: Driven) {
    let id = row.id.clone();
    let fence = row.fence + 1;
    let live = driven.live.clone();
    let driving = driving(Arc::clone(&shared), Arc::clone(&inner), row, driven);
    if Owned::new(driving).await.is_err() {
        crashed(&shared, &inner, (&id, fence)).await;
    }
    live.send_modify(|live| live.is_over = true);
    shared
        .driven
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&id);
    shared.moved.send_modify(|moves| *moves += 1);
    shared.wake.notify_one();
}

async fn driving(shared: Arc<Shared>, inner: Arc<Inner>, row: RunRow, driven: Driven) {
    let id = row.id.clone();
    let fence = row.fence + 1;
    let of = (row.template.clone(), row.session.principal.clone());
    match open::open(&shared, &inner, row, &driven.live).await {
        Ok((drive, events)) => drive.run(events, driven.cancel).await,
        Err(open::Unopened { body, reason }) => {
            if let Some(body) = &body {
                leave(&shared, &inner, &of, body).await;
            }
            fail(&shared, &inner, (&id, fence), body, &reason).await;
        }
    }
}

/// Ends the conversation of a run, which nobody drives any more, with those who may have
/// served it.
async fn leave(shared: &Shared, inner: &Inner, of: &(String, Principal), body: &Body) {
    let Some(conversation) = body.own_conversation(&of.1) else {
        return;
    };
    let source = body.source.as_deref().unwrap_or_default();
    let catalog = inner.catalog();
    let tools: Vec<&str> = match shared.followed(&body.digest, &of.0, source) {
        Some(template) => {
            let known =
                |(_, call): (_, &CallStep)| Some(catalog.find(&call.tool)?.spec.name.as_str());
            template.calls().filter_map(known).collect()
        }
        None => catalog.listings().map(|it| it.spec.name.as_str()).collect(),
    };
    again::leave(inner, tools.into_iter(), &conversation).await;
}

/// Ends a run whose driver crashed: this process lives, so nobody else would take it over.
async fn crashed(shared: &Shared, inner: &Inner, (id, fence): (&str, u64)) {
    let row = inner.store.run(id).await.ok().flatten();
    if row.as_ref().is_some_and(|row| row.is_over) {
        return;
    }
    let mut body = None;
    if let Some(row) = row {
        body = Body::read(&row.record).map(Box::new);
        let of = (row.template, row.session.principal);
        if let Some(body) = &body {
            leave(shared, inner, &of, body).await;
        }
    }
    fail(shared, inner, (id, fence), body, "the gate crashed on it").await;
}

/// A driver that is gone, for whatever reason, leaves no call behind.
impl Drop for Drive {
    fn drop(&mut self) {
        self.stop_calls();
    }
}

/// Whether a call that is made twice makes no difference to anybody.
fn is_for_nothing(spec: &ToolSpec, arguments: &Value) -> bool {
    let Some(arguments) = arguments.as_object() else {
        return false;
    };
    let says = &spec.annotations;
    let reads = says.idempotent && !says.open_world && !spec.has_effect_with(arguments);
    let is_free = matches!(spec.cost, Cost::Free) && !spec.requires_confirm;
    reads && is_free
}

impl Drive {
    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Heard>, cancel: CancellationToken) {
        let deadline = tokio::time::sleep(self.time_left());
        tokio::pin!(deadline);
        let mut was_resting = false;
        let mut look = tokio::time::interval(LOOK);
        look.tick().await;
        let mut is_late = false;
        let mut here = None;
        loop {
            while let Some(event) = self.next.pop_front() {
                match self.step(event, &mut here).await {
                    Ok(false) => {}
                    Ok(true) => return self.leave().await,
                    Err(error) => return self.give_up(&error).await,
                }
            }
            let is_resting = self.around.is_resting.load(Ordering::SeqCst);
            if was_resting && !is_resting {
                let end = tokio::time::Instant::now() + self.time_left();
                deadline.as_mut().reset(end);
            }
            was_resting = is_resting;
            tokio::select! {
                Some(heard) = inbox.recv() => self.hear(heard, &cancel).await,
                heard = heard_from(&mut here) => {
                    here = None;
                    self.hear(heard, &cancel).await;
                    // Many quick steps in a row leave others their turn.
                    tokio::task::coop::consume_budget().await;
                }
                () = &mut deadline, if !is_late && !is_resting => {
                    is_late = true;
                    self.stop_calls();
                    self.next.push_back(Event::Deadline);
                }
                () = due(self.kept), if !self.changed.is_empty() => {
                    if let Err(error) = self.keep(None).await {
                        return self.give_up(&error).await;
                    }
                }
                () = cancel.cancelled(), if !self.run.is_canceled() => self.call_off(),
                _ = look.tick(), if !self.run.is_canceled() => {
                    if self.is_called_off(&cancel).await {
                        self.call_off();
                    }
                }
            }
        }
    }

    async fn hear(&mut self, heard: Heard, cancel: &CancellationToken) {
        let event = match heard {
            Heard::Event(event) => event,
            Heard::Answer {
                call,
                data,
                tainted,
                id,
            } => match self.settle(call, (data, tainted, id)) {
                Some(event) => event,
                None => return,
            },
        };
        if let Event::Ended { key, .. } | Event::Asked { key, .. } = &event {
            self.calls.remove(key);
        }
        // Between steps is where a wish to stop is heard.
        if self.is_called_off(cancel).await {
            self.next.push_back(Event::Cancel);
        }
        self.next.push_back(event);
    }

    fn about(&self) -> About<'_> {
        About {
            session: &self.around.session,
            call: &self.body.call,
        }
    }

    /// A conversation of its own ends with the run; one that the caller named goes on.
    async fn leave(&self) {
        let principal = &self.around.session.principal;
        let Some(conversation) = self.body.own_conversation(principal) else {
            return;
        };
        let tools = self.run.template().calls();
        let tools: Vec<&str> = tools.map(|(_, call)| call.tool.as_str()).collect();
        again::leave(&self.around.inner, tools.into_iter(), &conversation).await;
    }

    /// What came of it cannot be kept: it ends here, one way or the other.
    async fn give_up(&self, error: &StoreError) {
        self.stop_calls();
        // Another process has claimed it: nothing of ours counts any more.
        if matches!(error, StoreError::Conflict) {
            return;
        }
        self.leave().await;
        let reason = format!("what it came to could not be kept: {error}");
        let body = Some(Box::new(self.body.clone()));
        let at = (self.around.run.as_str(), self.fence);
        fail(&self.around.shared, &self.around.inner, at, body, &reason).await;
    }

    /// What is left of its time; a clock that jumped gives it no more than all of it.
    fn time_left(&self) -> Duration {
        let all = Duration::from_millis(self.body.timeout_ms);
        let now = self.around.inner.clock.now();
        let gone = self.body.elapsed_ms(now);
        all.saturating_sub(Duration::from_millis(gone))
    }

    async fn is_called_off(&mut self, cancel: &CancellationToken) -> bool {
        if self.run.is_canceled() {
            return false;
        }
        if cancel.is_cancelled() {
            return true;
        }
        if self.looked.is_some_and(|looked| looked.elapsed() < FRESH) {
            return false;
        }
        self.looked = Some(Instant::now());
        let wanted = self.around.inner.store.run_canceled(&self.around.run).await;
        cancel.is_cancelled() || matches!(wanted, Ok(Some(true)))
    }

    /// Between steps is where a run stops; a task has one step only, which is stopped itself.
    fn call_off(&mut self) {
        if self.around.task.is_some() {
            self.stop_calls();
        }
        self.next.push_back(Event::Cancel);
    }

    fn stop_calls(&self) {
        self.calls.values().for_each(CancellationToken::cancel);
    }

    /// Whether what changed may be written with what comes next. If the process dies before
    /// that, the steps in between are made again, so they must be such as only read our own
    /// world and cost nothing: those that changed as well as those that begin.
    fn may_wait(&mut self, next: &[Action]) -> bool {
        let now = self.around.inner.clock.now();
        let is_fresh = self
            .kept
            .is_some_and(|(at, _)| at <= now && now < at.plus(FRESH));
        let was_resting = self.around.is_resting.load(Ordering::SeqCst);
        let is_settled = self.is_known() && !was_resting && self.body.rests_since.is_none();
        let mut begins = !next.is_empty();
        for action in next {
            match action {
                Action::Call(call) if self.is_light(call) => {
                    self.light.insert(call.key);
                }
                Action::Call(call) => {
                    self.light.remove(&call.key);
                    begins = false;
                }
                Action::Wait { .. } | Action::Await { .. } | Action::Finish(_) => begins = false,
            }
        }
        let are_light = self.changed.iter().all(|key| self.light.contains(key));
        is_fresh && is_settled && begins && are_light
    }

    fn is_light(&self, call: &Call) -> bool {
        let catalog = self.around.inner.catalog();
        let listing = catalog.find(&call.tool);
        let is_plain = self.around.task.is_none();
        is_plain && listing.is_some_and(|it| is_for_nothing(&it.spec, &call.arguments))
    }

    /// Takes one event; says whether the run is over.
    async fn step(&mut self, event: Event, here: &mut Here) -> Result<bool, StoreError> {
        let advance = self.run.advance(event);
        let ending = advance.actions.iter().find_map(|action| match action {
            Action::Finish(ending) => Some(ending.as_ref().clone()),
            Action::Call(_) | Action::Wait { .. } | Action::Await { .. } => None,
        });
        self.note(&advance.changed);
        match &ending {
            None if self.may_wait(&advance.actions) => {}
            None => {
                self.keep(None).await?;
                self.rest().await?;
            }
            Some(ending) => {
                self.keep(Some(ending)).await?;
                let inner = &self.around.inner;
                self.about().is_over(inner, &self.body, ending.status);
            }
        }
        self.tell();
        for action in advance.actions {
            match action {
                Action::Call(call) => self.call(call, here),
                Action::Wait { key, after_ms } => self.wait(key, after_ms),
                Action::Await { key, waits } => self.await_answer(key, waits),
                Action::Finish(_) => {}
            }
        }
        Ok(ending.is_some())
    }

    fn tell(&self) {
        let progress = self.run.progress();
        let is_resting = self.around.is_resting.load(Ordering::SeqCst);
        let mut turned = false;
        self.live.send_modify(|live| {
            live.done = progress.done;
            live.total = progress.total;
            turned = live.is_resting != is_resting;
            live.is_resting = is_resting;
        });
        if turned {
            self.around.shared.moved.send_modify(|moves| *moves += 1);
        }
    }

    /// Gives its place to others while it only waits for somebody's answer.
    async fn rest(&mut self) -> Result<(), StoreError> {
        let rests = self.run.is_resting();
        let was = self.around.is_resting.load(Ordering::SeqCst);
        if rests == was && (rests || self.body.rests_since.is_none()) {
            return Ok(());
        }
        let now = self.around.inner.clock.now();
        if rests {
            self.body.rests_since.get_or_insert(now);
        } else {
            self.body.go_on(now);
        }
        let kept = Kept {
            changes: vec![self.around.rest(rests, u32::MAX), self.goes_on(now)],
            durability: Durability::Disk,
            ..Kept::default()
        };
        kept.commit(&self.around.inner).await?;
        self.around.is_resting.store(rests, Ordering::SeqCst);
        if rests {
            self.around.shared.wake.notify_one();
        }
        Ok(())
    }

    /// The run as it is now, which is not over.
    fn goes_on(&self, now: Timestamp) -> RunChange {
        RunChange::Move {
            id: self.around.run.clone(),
            fence: self.fence,
            status: Status::Running.as_str().to_owned(),
            is_over: false,
            record: self.body.written(),
            at: now,
        }
    }

    fn call(&mut self, call: Call, here: &mut Here) {
        let cancel = CancellationToken::new();
        self.calls.insert(call.key, cancel.clone());
        let relay = Arc::new(Relay {
            live: self.live.clone(),
            step: call.name.clone(),
        });
        self.live.send_if_modified(|live| {
            live.message.clone_from(&call.name);
            // Only how far it is wakes those who wait.
            false
        });
        let under_way = made::begin(Arc::clone(&self.around), call, cancel, relay);
        // Steps that follow each other need no task of their own, and no way there and back.
        if here.is_none() && self.calls.len() == 1 {
            *here = Some(under_way);
            return;
        }
        let events = self.events.clone();
        tokio::spawn(async move { drop(events.send(under_way.await)) });
    }

    /// Keeps what an answer leaves behind; then its step has ended, at once if that is nothing.
    fn settle(&self, call: Call, answer: (Arc<Value>, bool, String)) -> Option<Event> {
        let wanted = self.run.artifacts_of(call.key, &answer.0);
        if wanted.is_empty() && !step::is_large(&self.around, &answer.0) {
            let outcome = step::plain(answer);
            return Some(ended(&self.around, call.key, outcome));
        }
        // What a template puts into an artifact may come from any step before it.
        let wanted = Wanted {
            artifacts: wanted,
            is_tainted: answer.1 || self.run.is_tainted(),
        };
        let around = Arc::clone(&self.around);
        let events = self.events.clone();
        tokio::spawn(async move {
            let key = call.key;
            let settling = {
                let around = Arc::clone(&around);
                async move { step::settled(&around, &call, wanted, answer).await }
            };
            let heard = match Owned::new(settling).await {
                Ok(outcome) => Heard::Event(ended(&around, key, outcome)),
                Err(Panicked(_)) => made::crashed(&around, key),
            };
            drop(events.send(heard));
        });
        None
    }

    /// Goes on with a call once somebody has answered for it.
    fn await_answer(&self, key: Key, waits: Waits) {
        let around = Arc::clone(&self.around);
        let events = self.events.clone();
        tokio::spawn(async move {
            let answered = tokio::select! {
                () = events.closed() => return,
                answered = waiting::answered(&around, &waits) => answered,
            };
            let heard = match answered {
                Ok(()) => Heard::Event(Event::Granted(key)),
                Err(error) => {
                    let failed = Outcome::Failed {
                        error,
                        can_retry: false,
                        call: None,
                    };
                    Heard::Event(ended(&around, key, failed))
                }
            };
            drop(events.send(heard));
        });
    }

    fn wait(&self, key: Key, after_ms: u64) {
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = events.closed() => {}
                () = tokio::time::sleep(Duration::from_millis(after_ms)) => {
                    drop(events.send(Heard::Event(Event::Due(key))));
                }
            }
        });
    }
}
