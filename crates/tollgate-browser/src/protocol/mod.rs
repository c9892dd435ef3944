//! The part of the Chrome DevTools Protocol that is spoken here.

pub(crate) mod commands;
pub(crate) mod events;
pub(crate) mod pipe;

use serde::{Serialize, de::DeserializeOwned};

/// A command, and what it is answered with.
pub(crate) trait Command: Serialize {
    /// Its name on the wire.
    const METHOD: &'static str;
    /// Its answer.
    type Answer: DeserializeOwned + Send;
}

/// Why a command has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum WireError {
    /// The browser is gone.
    #[error("the browser is gone")]
    Gone,
    /// The browser refused it.
    #[error("{0}")]
    Refused(String),
    /// No answer came in time.
    #[error("the browser did not answer {0}")]
    Silent(&'static str),
    /// The answer is not what the protocol says.
    #[error("an answer cannot be read: {0}")]
    Unreadable(String),
}
