//! The machine: which event leads to which actions.
//!
//! Invariants: a terminal state is never left; a step that has ended never runs again; no
//! more calls are under way than the template allows; a step runs only after those it
//! waits for have ended.

mod advance;
mod artifacts;
mod fault;
mod judge;
mod run;
mod scope;
mod waiting;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use fault::INTERRUPTED;

pub use artifacts::{Content, NewArtifact};
pub use fault::StepError;
pub use judge::{Ending, RunError};
pub use run::{Progress, Run, StepView};

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits for its turn.
    Queued,
    /// It is under way.
    Running,
    /// All of it worked.
    Succeeded,
    /// Too little of it worked.
    Failed,
    /// Somebody called it off.
    Canceled,
    /// Enough of it worked.
    PartialSuccess,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Canceled,
        Self::PartialSuccess,
    ];

    /// The status as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::PartialSuccess => "partial_success",
        }
    }

    /// Reads back what was kept.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether it is final.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Canceled | Self::PartialSuccess => true,
        }
    }
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It has not begun.
    #[default]
    Pending,
    /// It is under way, or waits to be tried again.
    Running,
    /// It worked.
    Succeeded,
    /// It did not.
    Failed,
    /// It was left out.
    Skipped,
}

impl StepState {
    /// The state as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// Whether it is final.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Skipped => true,
        }
    }
}

/// Why a step was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// Its condition said no.
    Condition,
    /// One that it waits for failed.
    Failure,
    /// The run was called off, ran out of time or had failed.
    Stop,
}

/// Names one call of a run: a step, or a step of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The step.
    pub step: usize,
    /// The item, and the step within it.
    pub item: Option<(usize, usize)>,
}

/// All that is known of one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Record {
    /// Where it stands.
    pub state: StepState,
    /// Attempts that have begun.
    pub attempts: u32,
    /// Why it was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// What the tool answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Arc<Value>>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
    /// What it left behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Note>,
    /// The recorded call of its last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Whether its answer holds text that reads like instructions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// The artifact that holds `data`, if it is too large to be kept here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spilled: Option<String>,
    /// When its first attempt began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_at: Option<i64>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// Its place in the template: step, item, and step of that item.
    pub place: [usize; 3],
    /// The tool it calls, as the template names it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// What it waits for before it can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

impl Record {
    /// Whether an attempt has begun, also one that a crash cut short.
    fn has_begun(&self) -> bool {
        self.attempts > 0 || self.began_at.is_some()
    }

    /// Whether its last attempt failed, and the next one has not begun.
    fn waits_for_retry(&self) -> bool {
        self.state == StepState::Running && self.error.is_some()
    }

    /// Leaves the call out. One that a crash cut short may have happened, and says so.
    fn leave_out(&mut self, because: Because) {
        if because != Because::Stop || !self.has_begun() {
            self.state = StepState::Skipped;
            self.because = Some(because);
            return;
        }
        self.state = StepState::Failed;
        self.error.get_or_insert_with(|| {
            StepError::of_gateway(
                &INTERRUPTED,
                "its process died while it ran, and the run was stopped",
            )
        });
    }
}

/// Whose answer a call waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Need {
    /// A human's, to the question of this id.
    Approval(String),
    /// The caller's, to what the tool asked for.
    Input(Value),
}

/// What a call waits for: it was refused for now, and is made again once it can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waits {
    /// Whose answer is missing.
    #[serde(flatten)]
    pub need: Need,
    /// Since when, in milliseconds.
    pub since: i64,
}

/// An artifact as a run refers to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// Its id.
    pub artifact_id: String,
    /// What it is called.
    pub name: String,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its type for programs.
    pub mime_type: String,
    /// How many bytes.
    pub size: u64,
    /// The digest of its content.
    pub sha256: String,
}

/// Something that happened to a run.
#[derive(Debug, Clone)]
pub enum Event {
    /// Its turn has come, for the first time or again after a crash.
    Begin,
    /// A call ended.
    Ended {
        /// Which.
        key: Key,
        /// How.
        outcome: Box<Outcome>,
        /// When, in milliseconds.
        at: i64,
    },
    /// The time to try a call again has come.
    Due(Key),
    /// A call was not made: somebody has to be asked first.
    Asked {
        /// Which.
        key: Key,
        /// What it waits for.
        waits: Waits,
        /// The recorded call that was refused.
        call: String,
    },
    /// What a call waited for is there: it is made again, as the same attempt.
    Granted(Key),
    /// Somebody wants it called off.
    Cancel,
    /// Its time is up.
    Deadline,
}

/// How a call ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It answered.
    Done {
        /// What.
        data: Arc<Value>,
        /// What was kept of it.
        artifacts: Vec<Note>,
        /// Where `data` is kept if it is large.
        spilled: Option<String>,
        /// Whether it holds text that reads like instructions.
        tainted: bool,
        /// The recorded call.
        call: String,
    },
    /// It failed.
    Failed {
        /// Why.
        error: StepError,
        /// Whether trying again does no harm.
        can_retry: bool,
        /// The recorded call, if it got that far.
        call: Option<String>,
    },
}

/// Something to do now.
#[derive(Debug, Clone)]
pub enum Action {
    /// Make this call.
    Call(Call),
    /// Say [`Event::Due`] after a while.
    Wait {
        /// For which call.
        key: Key,
        /// How long, in milliseconds.
        after_ms: u64,
    },
    /// Say [`Event::Granted`] once the question is answered, or how else it ended.
    Await {
        /// For which call.
        key: Key,
        /// What it waits for.
        waits: Waits,
    },
    /// Nothing is left to do; the run has ended.
    Finish(Box<Ending>),
}

/// A call to make.
#[derive(Debug, Clone)]
pub struct Call {
    /// Which.
    pub key: Key,
    /// Its name in records.
    pub name: String,
    /// The tool.
    pub tool: String,
    /// What it is called with.
    pub arguments: Value,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
}

/// What an event led to.
#[derive(Debug, Default)]
pub struct Advance {
    /// The calls whose record changed; to be kept before the actions are performed, unless those
    /// may be performed again.
    pub changed: Vec<Key>,
    /// What to do.
    pub actions: Vec<Action>,
}

#[cfg(test)]
mod tests;
