//! What the log says of runs: that they are made, put together, and have their result.

use tollgate_core::SessionKey;
use tollgate_runs::Status;

use super::{body::Body, tools};
use crate::{
    call::Inner,
    record::{LogEvent, LogLine},
};

/// A run as the log speaks of it.
pub(super) struct About<'a> {
    pub(super) session: &'a SessionKey,
    /// The call that started it.
    pub(super) call: &'a str,
}

impl About<'_> {
    /// Something begins.
    pub(super) fn begins(&self, inner: &Inner, event: LogEvent) {
        self.write(inner, event, "running", None, None);
    }

    /// Something is done.
    pub(super) fn is_done(&self, inner: &Inner, event: LogEvent) {
        self.write(inner, event, "completed", None, None);
    }

    /// The run is over.
    pub(super) fn is_over(&self, inner: &Inner, body: &Body, status: Status) {
        let took = Some(body.elapsed_ms(inner.clock.now()));
        let code = match status {
            Status::Canceled => Some("RUN_CANCELED"),
            Status::Failed if is_late(body) => Some("RUN_TIMEOUT"),
            Status::Failed => Some("STEP_EXECUTION_FAILED"),
            Status::Queued | Status::Running | Status::Succeeded | Status::PartialSuccess => None,
        };
        let word = if code.is_some() { "error" } else { "completed" };
        self.write(inner, LogEvent::AgentFinalizeDone, word, took, code);
    }

    fn write(
        &self,
        inner: &Inner,
        event: LogEvent,
        status: &'static str,
        duration_ms: Option<u64>,
        error_code: Option<&'static str>,
    ) {
        inner.log.write(&LogLine {
            event,
            session_id: &self.session.handle,
            request_id: self.call,
            iteration: 1,
            tool: tools::RUN,
            status,
            duration_ms,
            error_code,
            warnings_count: None,
            provider: Some("runs"),
            cache_hit: None,
        });
    }
}

fn is_late(body: &Body) -> bool {
    let error = body.error.as_ref();
    error.is_some_and(|error| error.error_code == "RUN_TIMEOUT")
}
