//! The JSON-line log: exactly the events and fields of document 001, section 6, and words
//! about providers beside them.

use serde::Serialize;

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEvent {
    /// A run or plan is being made.
    AgentPlanStart,
    /// It is made.
    AgentPlanDone,
    /// A call begins.
    AgentToolCall,
    /// A call has ended.
    AgentToolDone,
    /// The review rules found nothing.
    AgentReflectPass,
    /// The review rules want a human to look.
    AgentReflectFail,
    /// Results of a run are being put together.
    AgentAggregateStart,
    /// They are.
    AgentAggregateDone,
    /// A run has its result.
    AgentFinalizeDone,
}

/// One line, with exactly the fields of the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogLine<'a> {
    /// What happened.
    pub event: LogEvent,
    /// In which session.
    pub session_id: &'a str,
    /// In which call.
    pub request_id: &'a str,
    /// Which attempt.
    pub iteration: u32,
    /// With which tool.
    pub tool: &'a str,
    /// `running`, `completed` or `error`.
    pub status: &'static str,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// Why it failed.
    pub error_code: Option<&'static str>,
    /// How many warnings it carries.
    pub warnings_count: Option<usize>,
    /// Who served it.
    pub provider: Option<&'a str>,
    /// Whether it came from the cache.
    pub cache_hit: Option<bool>,
}

/// What happens to the record itself, beside the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The store refused an ending; it is kept, and tried again.
    EndingsDeferred,
    /// What was kept is written.
    EndingsWritten,
    /// More was refused than can be kept.
    EndingsLost,
}

impl Trouble {
    /// The event as the log spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EndingsDeferred => "endings.deferred",
            Self::EndingsWritten => "endings.written",
            Self::EndingsLost => "endings.lost",
        }
    }
}

/// Takes log lines; must not block.
pub trait LogSink: Send + Sync {
    /// Takes one.
    fn write(&self, line: &LogLine<'_>);

    /// Takes what is wrong with a provider beside its calls, in words that are clean already.
    fn warn(&self, event: &'static str, provider: &str, message: &str);
    /// Takes word of a trouble, clean.
    fn trouble(&self, trouble: Trouble, message: &str);
}

/// For those who want none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLog;

impl LogSink for NoLog {
    fn write(&self, _: &LogLine<'_>) {}

    fn warn(&self, _: &'static str, _: &str, _: &str) {}
    fn trouble(&self, _: Trouble, _: &str) {}
}
