//! The embedded store: one SQLite file that several processes share.
//!
//! Invariant: what [`tollgate_core::Store::commit`] acknowledged is in the
//! write-ahead log, linked into one chain with what every other process wrote.

#![forbid(unsafe_code)]

mod blobs;
mod chain;
mod error;
mod settings;
mod sqlite;

pub use blobs::FolderBlobs;
pub use error::OpenError;
pub use settings::{Limits, Retention, Settings};
pub use sqlite::{SqliteStore, schema_sql};
