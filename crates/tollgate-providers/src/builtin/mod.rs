//! Small tools that need nothing but the machine: text, JSON, hashes, time.
//!
//! Each is a plain function of its arguments, so answers can be kept for a session;
//! only the clock is asked anew every time.

mod hash;
mod json;
mod pattern;
mod text;
mod time;

use tollgate_core::{Provider, SystemClock, ToolSet};

/// Nothing can be set.
#[derive(Debug, Clone, Default)]
pub struct Settings {}

/// What the tools share.
pub(crate) struct Shared {
    clock: SystemClock,
}

/// Offers `text.*`, `json.*`, `hash.*` and `time.*`.
pub fn provider(_: Settings) -> impl Provider {
    let tools = ToolSet::new("builtin", Shared { clock: SystemClock });
    let tools = text::add(tools);
    let tools = json::add(tools);
    let tools = hash::add(tools);
    time::add(tools)
}
