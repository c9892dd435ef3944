//! Who may call what: Cedar rules, asked with typed values only.
//!
//! Invariants: a rule that cannot be evaluated denies, because Cedar skips an
//! erring rule and a skipped `forbid` would allow; nothing a caller sends is ever
//! read as anything but plain data; and without a `permit` nothing happens.

mod approval;
mod arguments;
mod compile;
mod decide;
mod entities;
mod explain;
pub(crate) mod fuzzing;
mod lift;
mod memo;
mod mention;
mod number;
mod rewrite;
mod source;
mod summary;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod validate;

use tollgate_core::{Capability, Estimate, Payload, Principal, Surface, ToolSpec, TrustLevel};

pub use self::{
    approval::ApprovalKey,
    compile::Policies,
    explain::{Explanation, Part, RuleNote},
    lift::InsufficientPermit,
    source::{Origin, PolicyError, Problem, Source},
    summary::RuleSummary,
    table::{Case, CaseResult, Expected, Table, TableError},
};

/// The rule named when no rule permits.
pub const DEFAULT_DENY: &str = "default-deny";
/// The rule named when a question could not even be put to the rules.
pub const UNASKABLE: &str = "unaskable";

/// What someone wants to do with what a provider offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Calls a tool.
    Call,
    /// Reads a resource.
    Read,
    /// Takes a prompt.
    GetPrompt,
    /// Completes an argument.
    Complete,
}

impl Action {
    /// Every action.
    pub const ALL: [Self; 4] = [Self::Call, Self::Read, Self::GetPrompt, Self::Complete];

    /// The action as rules spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Read => "read",
            Self::GetPrompt => "get_prompt",
            Self::Complete => "complete",
        }
    }
}

/// Who agreed to a call; the order is the order of weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Consent {
    /// Nobody was asked.
    #[default]
    None = 0,
    /// The caller said yes, which is enough for cost.
    Agent = 1,
    /// A human did.
    Human = 2,
}

impl Consent {
    /// Every grade, least first.
    pub const ALL: [Self; 3] = [Self::None, Self::Agent, Self::Human];

    /// The grade as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Agent => "agent",
            Self::Human => "human",
        }
    }

    /// The grade as a number, for rules that compare.
    pub const fn rank(self) -> i64 {
        match self {
            Self::None => 0,
            Self::Agent => 1,
            Self::Human => 2,
        }
    }

    /// Reads a number back; what is no grade is none.
    pub fn from_rank(rank: i64) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|grade| grade.rank() == rank).unwrap_or_default()
    }
}

/// Everything a rule can look at.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Who calls.
    pub principal: &'a Principal,
    /// What they want to do.
    pub action: Action,
    /// With which tool.
    pub tool: &'a ToolSpec,
    /// What this call can do, its arguments considered.
    pub capability: Capability,
    /// Who agreed so far.
    pub consent: Consent,
    /// How far the caller's side of the connection is trusted.
    pub trust: TrustLevel,
    /// The way the call came in.
    pub surface: Surface,
    /// The active profile.
    pub profile: Option<&'a str>,
    /// The skill on whose behalf the call is made.
    pub skill: Option<&'a str>,
    /// The handle of the session.
    pub session: &'a str,
    /// What the session may still consume, where it has a limit.
    pub budget_left: Option<u64>,
    /// What the call will consume; `confirm` says whether that needs consent.
    pub estimate: Estimate,
    /// Whether the input holds tainted text.
    pub tainted: bool,
    /// The call's own arguments, as they were spelled.
    pub arguments: &'a Payload,
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the call may go on.
    pub decision: Decision,
    /// The rule that decided, or [`DEFAULT_DENY`].
    pub rule: String,
    /// Every rule that had a part in it, in the order they were written.
    pub rules: Vec<String>,
    /// What could not be evaluated, each with its rule.
    pub errors: Vec<String>,
}

/// Whether a call may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow,
    /// Not yet: this is the least consent that would be enough.
    NeedsConsent(Consent),
    /// It may not, whoever agrees.
    Deny,
    /// It may not, because a rule could not be evaluated.
    Error,
}
