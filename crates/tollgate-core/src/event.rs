//! What a provider may say while a call is still running.

use serde::Serialize;
use serde_json::Value;

/// Something worth telling before the answer is there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// How far the call has come.
    Progress {
        /// Work done so far.
        done: f64,
        /// All the work there is, if known.
        total: Option<f64>,
        /// A line for people.
        message: Option<String>,
    },
    /// A line of log.
    Log {
        /// How much it matters.
        level: LogLevel,
        /// Who says it.
        logger: Option<String>,
        /// What is said.
        data: Value,
    },
}

/// How much a line of log matters (RFC 5424 names, as MCP uses them).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Only for finding faults.
    Debug,
    /// Ordinary.
    Info,
    /// Ordinary but worth a look.
    Notice,
    /// Something is odd.
    Warning,
    /// Something failed.
    Error,
    /// A part is broken.
    Critical,
    /// Someone must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

/// Where events of a running call go. They pass the door like everything else.
pub trait EventSink: Send + Sync {
    /// Takes one event; must not block.
    fn emit(&self, event: Event);
}

/// For callers that want none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _: Event) {}
}
