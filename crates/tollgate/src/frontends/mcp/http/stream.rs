//! What was said during one request of an older client, kept so that it can be read again.
//!
//! A connection may break while the request goes on; whoever comes back with the last event
//! it saw reads on from there. What is kept is bounded: beyond that the oldest is lost.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    task::Poll,
};

use tokio::sync::Notify;

use super::super::legacy::locked;

/// The most events of one request that can be read again.
const EVENTS: usize = 1000;
/// The most bytes of them.
const BYTES: usize = 8 << 20;

/// Hears that an event has been read.
type Arrived = Box<dyn FnOnce() + Send>;

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
    /// Wants to hear that the event of this number has been read.
    arrived: Option<(usize, Arrived)>,
}

impl State {
    /// Adds an event; gives its number.
    fn push(&mut self, message: &str) -> usize {
        self.bytes += message.len();
        self.events.push_back(message.into());
        while self.events.len() > EVENTS || (self.bytes > BYTES && self.events.len() > 1) {
            if let Some(gone) = self.events.pop_front() {
                self.bytes -= gone.len();
                self.first += 1;
            }
        }
        self.first + self.events.len() - 1
    }
}

impl Log {
    /// Adds an event.
    pub(super) fn add(&self, message: &str) {
        locked(&self.state).push(message);
        self.changed.notify_waiters();
    }

    /// Adds the last event; `arrived` is called once somebody reads it.
    pub(super) fn finish(&self, message: &str, arrived: Option<Arrived>) {
        {
            let mut state = locked(&self.state);
            let number = state.push(message);
            state.arrived = arrived.map(|arrived| (number, arrived));
            state.ended = true;
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

    /// What `next` waits for, if it is there.
    fn read(&self, seen: usize) -> Poll<Option<(usize, Arc<str>)>> {
        let mut state = locked(&self.state);
        let at = seen.max(state.first);
        let Some(event) = state.events.get(at - state.first).cloned() else {
            return if state.ended {
                Poll::Ready(None)
            } else {
                Poll::Pending
            };
        };
        let arrived = state.arrived.take_if(|(number, _)| *number == at);
        drop(state);
        if let Some((_, arrived)) = arrived {
            arrived();
        }
        Poll::Ready(Some((at, event)))
    }

    /// The event after `seen` others, and its number; `None` when all is said.
    pub(super) async fn next(&self, seen: usize) -> Option<(usize, Arc<str>)> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Poll::Ready(read) = self.read(seen) {
                return read;
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
