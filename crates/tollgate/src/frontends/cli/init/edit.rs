//! What every writer is told, and what it may answer.

use serde_json::{Map, Value};

/// One server to be set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edit<'a> {
    /// The key that holds the servers.
    pub(super) key: &'a str,
    /// The server's name below it.
    pub(super) name: &'a str,
    pub(super) entry: &'a Map<String, Value>,
    pub(super) existing: Existing,
}

/// What becomes of an entry of the same name that says something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    Kept,
    Replaced,
}

/// Why a file stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    /// It cannot be read; the text says where.
    #[error("{0}")]
    Broken(String),
    /// The document, or what holds the servers, is of another kind.
    #[error("the servers are not a table of names")]
    NotATable,
    /// There is another entry of this name.
    #[error("there is an entry of this name that says something else")]
    Differs,
    /// It is written in a way that cannot be edited in one spot.
    #[error("it is written in a way that only a person can edit")]
    ByHand,
}
