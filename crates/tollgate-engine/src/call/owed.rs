//! Endings that the store refused, until it takes them.
//!
//! A caller whose ending cannot be written is told so and gets no answer; the ending waits
//! here. It is written before the next call, by a task that tries again and again, and when
//! the gate closes. Invariants: it is written once, however often it is tried; what waits is
//! bounded, and what is lost is said in the log.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};
use tollgate_core::{
    CallId, ErrorCode, StoreError,
    audit::AuditQuery,
    store::{Batch, Change, Session},
};

use super::{Inner, Stop};
use crate::record::Trouble;

/// So many endings, or bytes of them, may wait before calls are turned away; those that run
/// by then may add as many again.
const MOST: Size = Size {
    endings: 1024,
    bytes: 32 << 20,
};
/// After how long the store is first tried again; then after twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A store that refuses so many in a row is left alone for a while.
const PATIENCE: usize = 4;
/// How often the store is tried before the process ends, and for how long in all.
const LAST_TRIES: u32 = 5;
const LAST_TIME: Duration = Duration::from_secs(2);

/// What is owed to the log.
#[derive(Default)]
pub(crate) struct Owed {
    waiting: Mutex<Waiting>,
    /// How many wait, for whoever only wants to know whether there are any.
    count: AtomicUsize,
    /// Whoever writes holds it, so that nothing is written twice at once.
    turn: tokio::sync::Mutex<()>,
    wake: Arc<Notify>,
}

#[derive(Default)]
struct Waiting {
    late: VecDeque<Arc<Late>>,
    bytes: usize,
    /// How often the store was tried, and how often in vain since it last took everything.
    passes: u64,
    failed: u32,
    not_before: Option<Instant>,
    is_tended: bool,
}

/// An entry of the log that is late, and what changes with it.
struct Late {
    call: CallId,
    kind: &'static str,
    batch: Batch,
    bytes: usize,
}

#[derive(Clone, Copy)]
struct Size {
    endings: usize,
    bytes: usize,
}

impl Owed {
    /// Writes what is owed, unless the store was tried in vain just now.
    pub(super) async fn catch_up(&self, inner: &Inner) {
        if self.is_empty() {
            return;
        }
        let not_before = self.waiting().not_before;
        if not_before.is_none_or(|then| Instant::now() >= then) {
            self.pass(inner).await;
        }
    }

    /// Refuses a call that could not be written down either.
    pub(super) fn has_room(&self) -> Result<(), Stop> {
        if self.is_empty() {
            return Ok(());
        }
        let waiting = self.waiting();
        if waiting.late.len() < MOST.endings && waiting.bytes < MOST.bytes {
            return Ok(());
        }
        let message = "nothing was called: too many calls wait to be written down";
        Err(Stop::new(ErrorCode::StoreUnavailable, message))
    }

    /// The store works: what is owed need not wait any longer.
    pub(super) fn hurry(&self) {
        if !self.is_empty() {
            self.wake.notify_one();
        }
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Tries all that waits, once; says whether nothing is left.
    async fn pass(&self, inner: &Inner) -> bool {
        let passes = self.waiting().passes;
        let _turn = self.turn.lock().await;
        let mut left = {
            let waiting = self.waiting();
            // Somebody else has just tried.
            if waiting.passes != passes {
                return waiting.late.is_empty();
            }
            waiting.late.len()
        };
        let mut refused = 0;
        while let Some(late) = self.first().filter(|_| left > 0) {
            left -= 1;
            match write(inner, &late).await {
                Ok(session) => {
                    self.settled();
                    inner.sessions.learn(session);
                }
                Err(error) => {
                    self.put_last();
                    refused += 1;
                    if refused == PATIENCE
                        || matches!(error, StoreError::Busy | StoreError::Held(_))
                    {
                        break;
                    }
                }
            }
        }
        self.passed(inner, refused == 0)
    }

    fn first(&self) -> Option<Arc<Late>> {
        self.waiting().late.front().cloned()
    }

    /// The first is written.
    fn settled(&self) {
        let mut waiting = self.waiting();
        if let Some(late) = waiting.late.pop_front() {
            waiting.bytes -= late.bytes;
        }
        self.count.store(waiting.late.len(), Ordering::Release);
    }

    /// The first stands in nobody's way.
    fn put_last(&self) {
        let mut waiting = self.waiting();
        if let Some(late) = waiting.late.pop_front() {
            waiting.late.push_back(late);
        }
    }

    fn passed(&self, inner: &Inner, is_whole: bool) -> bool {
        let mut waiting = self.waiting();
        waiting.passes += 1;
        if is_whole {
            let was_late = waiting.failed > 0;
            waiting.failed = 0;
            waiting.not_before = None;
            if was_late && waiting.late.is_empty() {
                let message = "the store takes endings again; none is left";
                inner.log.trouble(Trouble::EndingsWritten, message);
            }
        } else {
            waiting.failed = waiting.failed.saturating_add(1);
            waiting.not_before = Some(Instant::now() + pause(waiting.failed));
        }
        waiting.late.is_empty()
    }

    /// Keeps what was refused; if there is no room, says so.
    fn keep(&self, inner: &Inner, late: Late, error: &StoreError) {
        let mut waiting = self.waiting();
        let many = waiting.late.len() >= 2 * MOST.endings;
        if many || waiting.bytes.saturating_add(late.bytes) > 2 * MOST.bytes {
            let message = format!("{} of call {} is lost: {error}", late.kind, late.call);
            inner
                .log
                .trouble(Trouble::EndingsLost, &inner.cleaner.line(&message));
            return;
        }
        if waiting.late.is_empty() {
            let message = format!(
                "{} of call {} is tried again: {error}",
                late.kind, late.call
            );
            inner
                .log
                .trouble(Trouble::EndingsDeferred, &inner.cleaner.line(&message));
        }
        waiting.failed = waiting.failed.max(1);
        waiting.bytes += late.bytes;
        waiting.late.push_back(Arc::new(late));
        self.count.store(waiting.late.len(), Ordering::Release);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps an entry that the store refused, with what changes with it, and sees to it that it
/// is written.
pub(super) fn owe(
    inner: &Arc<Inner>,
    (call, kind): (&CallId, &'static str),
    batch: &Batch,
    error: &StoreError,
) {
    let batch = belated(batch);
    let late = Late {
        call: call.clone(),
        kind,
        bytes: size(&batch),
        batch,
    };
    inner.owed.keep(inner, late, error);
    let mut waiting = inner.owed.waiting();
    if !std::mem::replace(&mut waiting.is_tended, true) {
        tokio::spawn(tend(inner));
    }
}

/// Tries until nothing is left. A gate that is gone is not held up.
fn tend(inner: &Arc<Inner>) -> impl Future<Output = ()> + Send + use<> {
    let (gate, wake) = (Arc::downgrade(inner), Arc::clone(&inner.owed.wake));
    let mut rest = FIRST_PAUSE;
    async move {
        loop {
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = wake.notified() => {}
            }
            let Some(inner) = gate.upgrade() else {
                return;
            };
            inner.owed.pass(&inner).await;
            let mut waiting = inner.owed.waiting();
            if waiting.late.is_empty() {
                waiting.is_tended = false;
                return;
            }
            rest = pause(waiting.failed);
        }
    }
}

fn pause(failed: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failed.saturating_sub(1));
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

/// Tries a last time, before the process ends; says what is left.
pub(super) async fn last_chance(inner: &Arc<Inner>) {
    if inner.owed.is_empty() {
        return;
    }
    let gate = Arc::clone(inner);
    // What is being written goes on, even if nobody waits for it any longer.
    let trying = tokio::spawn(async move {
        for tried in 1..=LAST_TRIES {
            if gate.owed.pass(&gate).await {
                return;
            }
            tokio::time::sleep(pause(tried.min(2))).await;
        }
    });
    drop(tokio::time::timeout(LAST_TIME, trying).await);
    let left = inner.owed.waiting().late.len();
    if left > 0 {
        let message = format!("{left} endings could not be written before the end");
        inner.log.trouble(Trouble::EndingsLost, &message);
    }
}

/// Writes a late entry, unless it is there.
///
/// Where the state no longer fits all that changes with it, less of it is written: what ends
/// the call, and in the end the entry alone. So is the ending of a call that turns out not to
/// have been announced.
async fn write(inner: &Inner, late: &Late) -> Result<Option<Session>, StoreError> {
    let ends = |change: &Change| matches!(change, Change::Settle { .. } | Change::EndIntent(_));
    let needed = |change: &Change| ends(change) || matches!(change, Change::OpenSession(_));
    let forms: [&(dyn Fn(&Change) -> bool + Sync); 3] = [&|_| true, &needed, &|_| false];
    let mut refusal = StoreError::Missing;
    for wanted in forms {
        if is_recorded(inner, &late.call, late.kind).await? {
            return Ok(None);
        }
        match inner.store.commit(with_only(&late.batch, wanted)).await {
            Ok(receipt) => return Ok(receipt.session),
            Err(error) if error.is_refusal() => refusal = error,
            Err(error) => return Err(error),
        }
    }
    Err(refusal)
}

/// Whether the log has an entry of this kind for a call.
pub(super) async fn is_recorded(
    inner: &Inner,
    call: &CallId,
    kind: &'static str,
) -> Result<bool, StoreError> {
    let query = AuditQuery {
        call_id: Some(call.as_str().to_owned()),
        kind: Some(kind.to_owned()),
        limit: 1,
        ..AuditQuery::default()
    };
    Ok(!inner.store.records(&query).await?.is_empty())
}

/// The batch of a call that was not announced after all.
pub(super) fn unannounced(batch: &Batch) -> Batch {
    with_only(batch, &|change| {
        !matches!(change, Change::Settle { .. } | Change::EndIntent(_))
    })
}

/// What of a batch is still right later. Nobody was told of a question or given the answer,
/// and the session's limit may have been set anew.
fn belated(batch: &Batch) -> Batch {
    with_only(batch, &|change| {
        !matches!(
            change,
            Change::AskApproval { .. } | Change::Remember { .. } | Change::Configure { .. }
        )
    })
}

fn with_only(batch: &Batch, wanted: &dyn Fn(&Change) -> bool) -> Batch {
    let changes = batch.changes.iter().filter(|change| wanted(change));
    Batch {
        changes: changes.cloned().collect(),
        audit: batch.audit.clone(),
        durability: batch.durability,
    }
}

/// About how much memory a batch takes.
fn size(batch: &Batch) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let of_change = |change: &Change| {
        if let Change::KeepBody(body) = change {
            text(&body.arguments) + text(&body.data)
        } else if let Change::EndIntent(ending) = change {
            ending.answer.as_ref().map_or(0, Vec::len)
        } else if let Change::PutState { value, .. } = change {
            value.len()
        } else {
            0
        }
    };
    let changes = batch.changes.iter().map(|change| 256 + of_change(change));
    let entries = batch.audit.iter().map(|entry| 256 + entry.body().len());
    changes.sum::<usize>() + entries.sum::<usize>()
}
