//! The stages of the path, for whoever watches a call go by.

use tollgate_core::CallId;

/// A place on the path that a call has just passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The session is there.
    Session,
    /// The tool is known.
    Resolve,
    /// The arguments fit.
    ValidateIn,
    /// It is known whether an answer is kept.
    Peek,
    /// Policy has spoken.
    Permit,
    /// A kept answer was opened.
    OpenCache,
    /// The answer to a question is used up, by a commit of its own.
    UseUp,
    /// The budget is set aside and the intent is written.
    Intent,
    /// The provider has answered.
    Invoke,
    /// The answer fits.
    ValidateOut,
    /// The answer is clean.
    Sanitize,
    /// What a tainted answer said is kept for the other processes of its session.
    Mark,
    /// The ending is written.
    Record,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Self; 13] = [
        Self::Session,
        Self::Resolve,
        Self::ValidateIn,
        Self::Peek,
        Self::Permit,
        Self::OpenCache,
        Self::UseUp,
        Self::Intent,
        Self::Invoke,
        Self::ValidateOut,
        Self::Sanitize,
        Self::Mark,
        Self::Record,
    ];
}

/// Is told of every stage a call passes; crash tests stop the process here.
pub trait StageProbe: Send + Sync {
    /// The call has just passed this stage.
    fn passed(&self, call: &CallId, stage: Stage);
}
