//! The way back to a client while one of its requests is still running.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tollgate_core::{Event, EventSink, LogLevel, Payload};

use super::rpc;

/// Why the other side did not answer a question of ours.
#[derive(Debug)]
pub(super) enum AskFailed {
    /// This connection cannot carry questions.
    Impossible,
    /// The client is gone, or took too long.
    Silent,
    /// It answered with an error.
    Refused(String),
}

/// Carries messages to the client that made a request.
#[async_trait]
pub(super) trait Outlet: Send + Sync {
    /// Sends a message if there is room; progress and log lines may be lost.
    fn offer(&self, message: String);
    /// Sends a message, waiting for room; says whether the client is still there.
    async fn send(&self, message: String) -> bool;
    /// Asks the client for something, in the middle of its own request.
    async fn ask(&self, method: &str, params: &Payload) -> Result<Payload, AskFailed>;
}

/// Passes on what a running call says.
pub(super) struct Live {
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) token: Option<Value>,
    pub(super) level: Option<LogLevel>,
}

impl EventSink for Live {
    fn emit(&self, event: Event) {
        match event {
            Event::Progress {
                done,
                total,
                message,
            } => {
                let Some(token) = &self.token else { return };
                let mut params = json!({"progressToken": token, "progress": number(done)});
                if let Some(total) = total {
                    params["total"] = number(total);
                }
                if let Some(message) = message {
                    params["message"] = Value::String(message);
                }
                self.outlet
                    .offer(rpc::notification("notifications/progress", &params));
            }
            Event::Log {
                level,
                logger,
                data,
            } => {
                if self.level.is_none_or(|wanted| level < wanted) {
                    return;
                }
                let mut params = json!({"level": level, "data": data});
                if let Some(logger) = logger {
                    params["logger"] = Value::String(logger);
                }
                self.outlet
                    .offer(rpc::notification("notifications/message", &params));
            }
        }
    }
}

/// A number without a point where it needs none; what counts steps is a whole one.
fn number(value: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole numbers of this size are exact in both"
    )]
    let whole = value as i64;
    // Up to here every whole number has a value of its own.
    if value.fract() == 0.0 && whole.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS {
        Value::from(whole)
    } else {
        Value::from(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_in_whole_numbers() {
        for (value, text) in [
            (0.0, "0"),
            (3.0, "3"),
            (-1.0, "-1"),
            (0.5, "0.5"),
            (1e300, "1e+300"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(number(value).to_string(), text);
        }
    }
}
