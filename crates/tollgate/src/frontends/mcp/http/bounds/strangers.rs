//! Refusals of requests whose sender is not known, written down in bounds.
//!
//! Invariant: each refusal is counted once, and there are at most two rows for a kind and a
//! window: one for the first, at once, and one that counts the rest when the window is over.
//! The kinds are fixed messages, so their number is bounded.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tollgate_core::{ErrorCode, Principal, TrustLevel};

use super::super::Web;
use crate::frontends::mcp::caller;

/// How long refusals of one kind are counted together.
const WINDOW: Duration = Duration::from_secs(60);

/// What was refused, and why.
type Kind = (ErrorCode, &'static str);

/// What is counted and not written yet.
#[derive(Default)]
pub(in super::super) struct Strangers(Mutex<HashMap<Kind, Window>>);

struct Window {
    began: Instant,
    count: u64,
}

impl Strangers {
    /// Counts a refusal; whether it is the first of its window.
    fn count(&self, kind: Kind, now: Instant) -> bool {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match windows.get_mut(&kind) {
            Some(window) => {
                window.count += 1;
                false
            }
            None => {
                let began = now;
                windows.insert(kind, Window { began, count: 0 });
                true
            }
        }
    }

    /// The windows that are over, with what they counted after the first.
    fn over(&self, now: Instant, all: bool) -> Vec<(Kind, u64)> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut over = Vec::new();
        windows.retain(|kind, window| {
            let is_over = all || now.saturating_duration_since(window.began) >= WINDOW;
            if is_over && window.count > 0 {
                over.push((*kind, window.count));
            }
            !is_over
        });
        over
    }
}

/// Counts a refusal, and writes it down unless its window has a row already.
pub(in super::super) async fn noted(web: &Web, code: ErrorCode, message: &'static str) {
    web.metrics.refused();
    if web.strangers.count((code, message), Instant::now()) {
        write(web, (code, message), 1).await;
    }
}

/// Writes down what was counted in windows that are over; `all` at the end.
pub(in super::super) async fn flush(web: &Web, all: bool) {
    for (kind, count) in web.strangers.over(Instant::now(), all) {
        write(web, kind, count).await;
    }
}

async fn write(web: &Web, (code, message): Kind, count: u64) {
    let nobody = Principal::from_stored("unauthenticated".to_owned());
    let caller = caller(nobody, "http", TrustLevel::Remote);
    let gateway = &web.server.gateway;
    gateway.refuse_many(&caller, code, message, count).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_two_rows_of_a_kind_and_loses_none() {
        let strangers = Strangers::default();
        let start = Instant::now();
        let kind = (ErrorCode::Unauthorized, "a");
        let other = (ErrorCode::MalformedRequest, "b");
        let rows = |count| (0..count).filter(|_| strangers.count(kind, start)).count();
        assert_eq!(rows(5000), 1);
        assert!(strangers.count(other, start));
        assert_eq!(strangers.over(start + WINDOW / 2, false), []);
        assert_eq!(strangers.over(start + WINDOW, false), [(kind, 4999)]);
        assert!(strangers.count(kind, start + WINDOW), "a new window begins");
        assert_eq!(strangers.over(start + WINDOW, true), []);
    }
}
