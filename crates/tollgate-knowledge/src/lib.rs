//! Guided sessions over knowledge files: reading and checking them, finding where a
//! question enters, and walking from node to node.
//!
//! The crate knows nothing of tools, protocols or stores. Files become a [`Base`], bases
//! become a [`Library`], and a session is a value that [`Library::start`] and
//! [`Library::step`] turn into the next one. Nothing here generates language: every
//! sentence a user reads was written by the author of the files.

#![forbid(unsafe_code)]

mod base;
#[doc(hidden)]
pub mod fuzzing;
mod golden;
mod graph;
mod import;
mod lint;
mod problem;
mod read;
mod schema;
mod search;
mod show;
mod stats;
mod text;
mod walk;

pub use base::{Base, Limits, PackError, Stamp, Unpacked, Value, load, load_text, unpack};
pub use golden::{Conversation, Mismatch, Transcript, conversation_files, conversations};
pub use graph::{Drawn, GraphFormat, GraphOptions, graph};
pub use import::{ImportFormat, Imported, import};
pub use lint::lint;
pub use problem::{Place, Problem, ProblemCode, Severity};
pub use read::{Field, Format, Item, Kind, fields};
pub use schema::schema;
pub use search::Index;
pub use stats::{Ending, Observed, Report};
pub use text::dictionary_is_loaded;
pub use walk::{Library, Matched, Offer, Session, StepError, View};

/// A text in quotes, as JSON and YAML both read it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The beginning of a text, for messages.
pub(crate) fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
