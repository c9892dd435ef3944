//! Sessions: where one stands, and how a choice or a sentence moves it.
//!
//! A session is a plain value. Starting and stepping are pure: the same library, session
//! and input give the same next session, and nothing is changed in place. So whoever
//! keeps sessions decides alone which of two steps at once wins.

mod enter;
mod free;
mod library;
mod session;
mod settle;
mod step;

pub use library::Library;
pub use session::{Matched, Offer, Session, View};

/// Why a step is not possible, and what to do then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// Nothing was asked.
    #[error("`user_query` is empty")]
    EmptyQuery,
    /// There is no base that could answer.
    #[error("no knowledge base is loaded")]
    NoBase,
    /// The option is not one of those on offer.
    #[error("there is no option `{chosen}` here; there are: {}", valid.join(", "))]
    UnknownOption {
        /// What was chosen.
        chosen: String,
        /// What can be.
        valid: Vec<String>,
    },
    /// Free text was announced but none came.
    #[error("`provide_more_info` needs the user's words in `user_input`")]
    NoInput,
    /// The session has ended.
    #[error("the session is complete")]
    Finished,
    /// The version of the base that the session walks in is no longer there.
    #[error(
        "the knowledge base `{0}` has changed, and the version that this session began with is no longer kept"
    )]
    Gone(String),
}

impl StepError {
    /// A stable name for it.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::EmptyQuery => "empty_query",
            Self::NoBase => "no_base",
            Self::UnknownOption { .. } => "unknown_option",
            Self::NoInput => "no_input",
            Self::Finished => "finished",
            Self::Gone(_) => "gone",
        }
    }
}

#[cfg(test)]
mod asked;
#[cfg(test)]
mod tests;
