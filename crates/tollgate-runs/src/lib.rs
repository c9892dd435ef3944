//! Task runs: templates that say what is done in which order, and the machine that says
//! what comes next.
//!
//! Invariant: nothing here calls anything, waits for anything or knows the time. A run is
//! a value, [`Run::advance`] turns an event into actions, and whoever drives it performs
//! them. So every order of events can be tried without a tool, a store or a clock.

#![forbid(unsafe_code)]

mod expression;
#[doc(hidden)]
pub mod fuzzing;
mod graph;
mod library;
mod machine;
mod read;
mod template;

pub use graph::mermaid;
pub use library::{BuiltIn, Check, Library, Shelf};
pub use machine::{
    Action, Advance, Because, Call, Content, Ending, Event, Key, Need, NewArtifact, Note, Outcome,
    Progress, Record, Run, RunError, Status, StepError, StepState, StepView, Waits,
};
pub use read::{Place, Problem};
pub use template::{CallStep, Group, InnerStep, Retry, Step, StepKind, Template, parse};

/// What a success is worth when nobody says: half of the items.
pub const DEFAULT_THRESHOLD: f64 = 0.5;
