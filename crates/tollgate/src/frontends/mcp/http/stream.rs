//! What was said during one request of an older client, kept so that it can be read again.
//!
//! A connection may break while the request goes on; whoever comes back with the last event
//! it saw reads on from there. What is kept is bounded: beyond that the oldest is lost.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use tokio::sync::Notify;

use super::super::legacy::locked;

/// The most events of one request that can be read again.
const EVENTS: usize = 1000;
/// The most bytes of them.
const BYTES: usize = 8 << 20;

/// The events of one request.
#[derive(Default)]
pub(super) struct Log {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    events: VecDeque<Arc<str>>,
    /// The number of the first event that is still there.
    first: usize,
    bytes: usize,
    ended: bool,
}

impl Log {
    /// Adds an event.
    pub(super) fn add(&self, message: &str) {
        {
            let mut state = locked(&self.state);
            state.bytes += message.len();
            state.events.push_back(message.into());
            while state.events.len() > EVENTS || (state.bytes > BYTES && state.events.len() > 1) {
                if let Some(gone) = state.events.pop_front() {
                    state.bytes -= gone.len();
                    state.first += 1;
                }
            }
        }
        self.changed.notify_waiters();
    }

    /// Says that there will be no more.
    pub(super) fn end(&self) {
        locked(&self.state).ended = true;
        self.changed.notify_waiters();
    }

    pub(super) fn is_empty(&self) -> bool {
        locked(&self.state).events.is_empty()
    }

    /// The event after `seen` others, and its number; `None` when all is said.
    pub(super) async fn next(&self, seen: usize) -> Option<(usize, Arc<str>)> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let state = locked(&self.state);
                let at = seen.max(state.first);
                if let Some(event) = state.events.get(at - state.first) {
                    return Some((at, Arc::clone(event)));
                }
                if state.ended {
                    return None;
                }
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_are_read_again_from_any_place() {
        let log = Arc::new(Log::default());
        log.add("one");
        log.add("two");
        assert_eq!(log.next(0).await, Some((0, "one".into())));
        assert_eq!(log.next(1).await, Some((1, "two".into())));
        let waiting = tokio::spawn({
            let log = Arc::clone(&log);
            async move { (log.next(2).await, log.next(3).await) }
        });
        tokio::task::yield_now().await;
        log.add("three");
        log.end();
        assert_eq!(waiting.await.unwrap(), (Some((2, "three".into())), None));
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded() {
        let log = Log::default();
        for number in 0..EVENTS + 10 {
            log.add(&number.to_string());
        }
        assert_eq!(log.next(0).await, Some((10, "10".into())));
    }
}
