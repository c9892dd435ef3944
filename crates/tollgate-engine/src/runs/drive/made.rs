//! One call of a run, until something is heard from it.
//!
//! Invariant: something is heard from every call, also from one that crashed.

use std::{pin::Pin, sync::Arc};

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tollgate_core::{ErrorCode, Timestamp};
use tollgate_runs::{Call, Event, Key, Need, Outcome, Waits};

use super::FRESH;
use crate::{
    call::{Owned, Panicked},
    runs::{
        errors,
        step::{self, Answered, Relay, Surroundings},
        task,
    },
};

/// The call that is made in the driver's own task; others have tasks of their own.
pub(super) type Here = Option<UnderWay>;

/// A call that is under way.
pub(super) type UnderWay = Pin<Box<dyn Future<Output = Heard> + Send>>;

/// What a driver hears from its calls.
pub(super) enum Heard {
    Event(Event),
    /// A call has answered; what is kept of it is the run's to say.
    Answer {
        call: Call,
        data: Arc<Value>,
        tainted: bool,
        id: String,
    },
}

/// Takes a call under way.
pub(super) fn begin(
    around: Arc<Surroundings>,
    call: Call,
    cancel: CancellationToken,
    relay: Arc<Relay>,
) -> UnderWay {
    let key = call.key;
    let making = Owned::new(make(Arc::clone(&around), call, cancel, relay));
    Box::pin(async move {
        let heard = making.await;
        heard.unwrap_or_else(|Panicked(_)| crashed(&around, key))
    })
}

/// Waits for the call that is made here; without one, for ever.
pub(super) async fn heard_from(here: &mut Here) -> Heard {
    match here {
        Some(under_way) => under_way.await,
        None => std::future::pending().await,
    }
}

/// Waits until what changed has stayed unwritten for long enough.
pub(super) async fn due(kept: Option<(Timestamp, Instant)>) {
    if let Some((_, kept)) = kept {
        tokio::time::sleep_until(kept + FRESH).await;
    }
}

/// Makes a call, and says what is heard from it.
async fn make(
    around: Arc<Surroundings>,
    call: Call,
    cancel: CancellationToken,
    relay: Arc<Relay>,
) -> Heard {
    match step::make(&around, &call, cancel, relay).await {
        Answered::Data {
            data,
            tainted,
            call: id,
        } => Heard::Answer {
            call,
            data,
            tainted,
            id,
        },
        Answered::Input { request, call: id } => Heard::Event(Event::Asked {
            key: call.key,
            waits: task::waits(request, &id, around.inner.clock.now().0),
            call: id,
        }),
        Answered::Asked { approval, call: id } => Heard::Event(Event::Asked {
            key: call.key,
            waits: Waits {
                need: Need::Approval(approval),
                since: around.inner.clock.now().0,
            },
            call: id,
        }),
        Answered::Failed(outcome) => Heard::Event(ended(&around, call.key, outcome)),
    }
}

/// What is heard from a call that took its own driver's work down with it.
pub(super) fn crashed(around: &Surroundings, key: Key) -> Heard {
    let failed = Outcome::Failed {
        error: errors::of_step(ErrorCode::Panicked, "the gateway crashed on this step"),
        can_retry: false,
        call: None,
    };
    Heard::Event(ended(around, key, failed))
}

pub(super) fn ended(around: &Surroundings, key: Key, outcome: Outcome) -> Event {
    Event::Ended {
        key,
        outcome: Box::new(outcome),
        at: around.inner.clock.now().0,
    }
}
