//! What is written down of every call: the audit entry, the log line, the span.
//!
//! Invariant: everything here is made of clean values only.

mod entry;
mod log;
mod span;
mod trail;

pub use log::{LogEvent, LogLine, LogSink, NoLog, Trouble};
pub use span::{NoSpans, Span, SpanSink};

pub(crate) use entry::{ENDING, LATE_ANSWER, Note, ending, intent, note};
pub(crate) use trail::{CacheUse, CleanArguments, Trail};
