//! Stand-ins for what the gate talks to: providers, listeners, provider state.

mod context;
mod events;
mod provider;
pub mod spec;

pub use context::{MemoryState, call_tool, context};
pub use events::Events;
pub use provider::{FakeProvider, Reply, Seen, asks, asks_for, fails, says};
