//! Every error code a caller can see, and the shape it travels in.
//!
//! Codes are a public contract: they are added, never renamed or reused. Adding
//! one is adding one line to the table; the snapshot test makes it deliberate.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

/// A failure as the outside world sees it.
///
/// `message` is written for the caller and holds no stack, secret or path; the
/// cause chain stays with the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The short, stable word for it.
    pub kind: Kind,
    /// The stable code.
    pub code: ErrorCode,
    /// One sentence for people.
    pub message: String,
    /// More of it, where there is more to say.
    pub detail: Option<String>,
    /// What to do now, in one sentence.
    pub recovery_suggestion: Option<String>,
    /// Tools that help, out of those this caller can see.
    pub next_steps: Vec<String>,
    /// Whether sending the same call again is safe and may help.
    pub can_retry: bool,
    /// When.
    pub retry_after_seconds: Option<u64>,
    /// Facts for programs.
    pub details: Map<String, Value>,
    /// A design document's own code, where it fixes one.
    #[serde(rename = "errorCode", skip_serializing_if = "Option::is_none")]
    pub document_code: Option<String>,
    /// What that document calls the suggestion.
    #[serde(rename = "recoverHint", skip_serializing_if = "Option::is_none")]
    pub recover_hint: Option<String>,
    /// Units used although it failed, where the service told; for the ledger alone.
    #[serde(skip)]
    pub consumed: Option<u64>,
}

impl Failure {
    /// A failure with nothing but its code and a sentence.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            kind: Kind(code),
            code,
            message: message.into(),
            detail: None,
            recovery_suggestion: None,
            next_steps: Vec::new(),
            can_retry: code.retry() == Retry::Later,
            // Whoever is told to wait is told how long.
            retry_after_seconds: (code == ErrorCode::Overloaded).then_some(1),
            details: Map::new(),
            document_code: None,
            recover_hint: None,
            consumed: None,
        }
    }

    /// Adds what to do now.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.recovery_suggestion = Some(suggestion.into());
        self
    }

    /// Adds a fact for programs.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds more for people.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

/// The short word for an error, read off its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind(pub ErrorCode);

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.kind())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        ErrorCode::ALL
            .iter()
            .find(|code| code.kind() == text)
            .map(|code| Self(*code))
            .ok_or_else(|| serde::de::Error::custom("unknown kind of error"))
    }
}

/// Whether trying again could help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same call will fail the same way.
    Never,
    /// The call did not happen; wait and repeat it.
    Later,
    /// The call may have happened; repeat it only if that does no harm.
    WhenHarmless,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $name:ident = $kind:literal, $text:literal, $retry:ident, $advice:literal;)*) => {
        /// A stable, machine-readable reason for failure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode {
            $($(#[doc = $doc])* $name,)*
        }

        impl ErrorCode {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code as it appears on every wire and in every log.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The short word for it.
            pub const fn kind(self) -> &'static str {
                match self { $(Self::$name => $kind,)* }
            }

            /// What a caller should do next.
            pub const fn retry(self) -> Retry {
                match self { $(Self::$name => Retry::$retry,)* }
            }

            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*),)* }
            }

            /// What to do about it, in a sentence.
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$name => $advice,)* }
            }

            /// Reads a code back from its text.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

codes! {
    /// No such tool, or none this caller may see. Deliberately the same.
    UnknownTool = "unknown_tool", "tool.gate.resolve.unknown_tool", Never, "Search with `tools.search`, or use one of the names in `details.nearest`.";
    /// The active profile or a missing part turns this tool off.
    InactiveTool = "inactive_tool", "tool.gate.resolve.inactive_tool", Never, "Choose another profile, or another tool; `details.inactive_reason` says why.";
    /// The request itself cannot be read.
    MalformedRequest = "malformed_request", "tool.gate.request.malformed", Never, "Send one JSON object of the documented shape.";
    /// The request is larger than the gate accepts.
    RequestTooLarge = "request_too_large", "tool.gate.request.too_large", Never, "Send less, or pass large content by reference.";
    /// The arguments do not fit the tool's schema.
    InvalidArguments = "invalid_arguments", "tool.gate.input.invalid_arguments", Never, "Correct the arguments listed in `details.problems`; `tools.describe` shows the schema.";
    /// The arguments fit the schema but the tool cannot use them.
    InputRejected = "input_rejected", "tool.provider.input.rejected", Never, "Change the arguments as the message says.";
    /// An argument holds a placeholder whose value is not known in this session.
    PlaceholderInArgument = "placeholder_in_argument", "tool.gate.input.placeholder_in_argument", Never, "Read it again in this session and use the placeholder that is shown then, with its id.";
    /// Inputs are missing that earlier results could give.
    MissingInputs = "missing_inputs", "tool.provider.input.missing_inputs", Never, "Give the fields in `details.missing_inputs`, or hand on an earlier result that has them.";
    /// The answer belongs to no open question: it was altered, used before, has ended or is another's.
    StateRejected = "state_rejected", "tool.gate.input.state_rejected", Never, "Make the call again from the beginning, without the old state.";
    /// What the arguments name does not exist.
    NotFound = "not_found", "tool.provider.input.not_found", Never, "Check the id; list what exists first.";
    /// A rule forbids this call, whoever consents.
    PolicyDenied = "policy_denied", "tool.gate.policy.denied", Never, "Do not repeat it; `tollgate policy explain` shows the rule.";
    /// A rule could not be evaluated, which counts as a denial.
    PolicyError = "policy_error", "tool.gate.policy.evaluation_error", Never, "Tell the operator: the rule in `details.rules` needs fixing.";
    /// The call needs a consent it does not have.
    ConfirmationRequired = "confirmation_required", "tool.gate.policy.confirmation_required", Never, "Ask the human to approve `details.approval_id`, then repeat the same call.";
    /// A human would have to agree to something that cannot be shown as it is.
    CannotBeShown = "cannot_be_shown", "tool.gate.policy.cannot_be_shown", Never, "Keep keys out of the code, or split it into parts that a human can read.";
    /// The caller's side of the connection is not trusted enough for this tool.
    TrustLevelNotAllowed = "trust_level_not_allowed", "tool.gate.policy.trust_level_not_allowed", Never, "Use it locally, or ask the operator for a token with more trust.";
    /// The estimate does not fit what the session has left.
    BudgetExceeded = "budget_exceeded", "tool.gate.budget.exceeded", Never, "Ask for less, or have the limit raised; `details.remaining_limit` says what is left.";
    /// Only the cache was asked, and the answer is not there.
    CacheMiss = "cache_miss", "tool.gate.cache.miss", Never, "Repeat the call without `from_cache`.";
    /// The gate is busy.
    Overloaded = "overloaded", "tool.gate.limits.overloaded", Later, "Wait `retry_after_seconds`, then repeat the call.";
    /// The tool did not answer within its time.
    TimedOut = "timeout", "tool.gate.invoke.timed_out", WhenHarmless, "Ask for less, or repeat it if `can_retry` says so.";
    /// The caller went away or cancelled; what the tool had done by then is not known.
    Cancelled = "cancelled", "tool.gate.invoke.cancelled", WhenHarmless, "Check what happened before repeating a side effect.";
    /// The tool needs an answer from the client that this front end cannot ask for.
    InputRequired = "input_required", "tool.gate.invoke.input_required", Never, "Use a client that can answer questions, or give the missing argument.";
    /// The process died while the call ran; what it had done by then is not known.
    Interrupted = "interrupted", "tool.gate.record.interrupted", WhenHarmless, "Check what happened before repeating a side effect.";
    /// The answer does not fit the tool's own output schema.
    InvalidOutput = "invalid_output", "tool.gate.output.invalid", Never, "Report it to whoever maintains the tool.";
    /// The answer is larger than the gate accepts.
    OutputTooLarge = "output_too_large", "tool.gate.output.too_large", Never, "Ask for less, or for a page of it.";
    /// The answer was made and kept, but is too large to be sent at once, and no part of it fits its schema.
    ResultTooLarge = "result_too_large", "tool.gate.output.result_too_large", Never, "Read it by the piece: `details.uri`, or `result.slice` with `details.result_id`; or ask for less.";
    /// The provider refused our credentials.
    Unauthorized = "unauthorized", "tool.provider.auth.refused", Never, "Tell the operator to check the credentials of this provider.";
    /// The provider asked us to slow down.
    RateLimited = "rate_limited", "tool.provider.limits.rate_limited", Later, "Wait `retry_after_seconds`, then repeat the call.";
    /// The provider is down or answered nonsense.
    Unavailable = "unavailable", "tool.provider.run.unavailable", WhenHarmless, "Try another tool, or later if `can_retry` says so.";
    /// The provider has been closed.
    ProviderClosed = "provider_closed", "tool.provider.run.closed", Never, "Start the gate again.";
    /// The connection to the provider broke during the call.
    ConnectionLost = "connection_error", "tool.provider.run.connection_lost", WhenHarmless, "Repeat it if `can_retry` says so.";
    /// The provider's program could not be started.
    SpawnFailed = "spawn_failed", "tool.provider.run.spawn_failed", Later, "Tell the operator; `tollgate doctor` shows the reason.";
    /// The provider's own code crashed; the gate did not.
    Panicked = "provider_crashed", "tool.provider.run.crashed", WhenHarmless, "Report it; other calls are not affected.";
    /// The tool ran and says that it failed.
    ToolFailed = "tool_failed", "tool.provider.run.failed", Never, "Read the message; it is the tool's own.";
    /// The provider cannot do this here.
    Unsupported = "unsupported", "tool.provider.run.unsupported", Never, "Use another tool; `tollgate doctor` says what is missing.";
    /// The state on disk cannot be written or read.
    StoreUnavailable = "store_unavailable", "tool.gate.store.unavailable", Later, "Nothing was called. Run `tollgate doctor`: disk full, read-only or locked state are shown there.";
    /// A stopped process holds the lock of the state.
    StoreHeld = "store_held", "tool.gate.store.held", Later, "Nothing was called. Let the process that the message names go on (`kill -CONT PID`) or end it; `tollgate doctor` names it too.";
    /// The state is not the one that was acknowledged: rolled back, replaced, or its anchor or a key is not as it should be.
    StateNotAcknowledged = "state_not_acknowledged", "tool.gate.store.not_acknowledged", Never, "Nothing was called. An operator looks with `tollgate doctor`, then restores the right state or accepts this one with `tollgate state accept`.";
    /// The state on disk is damaged.
    StoreCorrupt = "store_corrupt", "tool.gate.store.corrupt", Never, "Stop, keep the files, and run `tollgate audit verify`.";
    /// A fault of ours. The log has the details; the caller does not.
    Internal = "internal", "tool.gate.internal.fault", Never, "Report it with the call id.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("unknown error code"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_four_parts_and_are_distinct() {
        let mut seen = std::collections::BTreeSet::new();
        for code in ErrorCode::ALL {
            let parts: Vec<_> = code.as_str().split('.').collect();
            assert_eq!((parts.len(), parts[0]), (4, "tool"), "{code}");
            assert!(
                seen.insert(code.as_str()) && seen.insert(code.kind()),
                "{code}"
            );
            assert_eq!(ErrorCode::parse(code.as_str()), Some(*code));
        }
    }
}
