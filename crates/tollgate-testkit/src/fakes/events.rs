//! A listener that remembers what it was told.

use std::sync::{Mutex, PoisonError};

use tollgate_core::{Event, EventSink};

/// Remembers every event of a running call.
#[derive(Debug, Default)]
pub struct Events(Mutex<Vec<Event>>);

impl Events {
    /// What was said so far, in order.
    pub fn heard(&self) -> Vec<Event> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl EventSink for Events {
    fn emit(&self, event: Event) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(event);
    }
}
