//! How a call ended, as a front end gets it.

use serde::{Deserialize, Serialize};
use tollgate_core::{Block, CallId, Envelope, ErrorCode, InputRequest, Shape};

use crate::sanitize::Clean;

/// A finished call. Waiting for a human is an ending, not a hang.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What the caller sees.
    pub envelope: Clean<Envelope>,
    /// Content blocks beside `data`.
    pub blocks: Clean<Vec<Block>>,
    /// How large the whole of it is, where `data` is only a part and the whole is kept by the call's id.
    pub whole: Option<usize>,
    /// Whether `data` is an upstream's own result.
    pub shape: Shape,
    /// What kind of ending it is.
    pub disposition: Disposition,
    /// The call, to say later that the answer was delivered.
    pub call: CallId,
    /// The trace to go on with, as W3C spells it.
    pub traceparent: String,
    /// Whether the gate wants to know that the answer was delivered.
    pub wants_receipt: bool,
}

/// An ending as it is kept for whoever asks for it later.
#[derive(Serialize, Deserialize)]
struct Kept {
    envelope: Envelope,
    blocks: Vec<Block>,
    shape: Shape,
    call: String,
    traceparent: String,
}

impl Outcome {
    /// The ending, to be kept.
    pub(crate) fn to_keep(&self) -> String {
        let kept = Kept {
            envelope: self.envelope.get().clone(),
            blocks: self.blocks.get().clone(),
            shape: self.shape,
            call: self.call.as_str().to_owned(),
            traceparent: self.traceparent.clone(),
        };
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// An ending that was kept; it was clean when it was.
    pub(crate) fn recalled(text: &str) -> Option<Self> {
        let kept: Kept = serde_json::from_str(text).ok()?;
        let code = kept.envelope.error.as_ref().map(|failure| failure.code);
        Some(Self {
            envelope: Clean::assembled(kept.envelope),
            blocks: Clean::of_blocks(kept.blocks),
            whole: None,
            shape: kept.shape,
            disposition: code.map_or(Disposition::Done, Disposition::of),
            call: CallId(kept.call.into()),
            traceparent: kept.traceparent,
            wants_receipt: false,
        })
    }
}

/// What kind of ending it is; exit codes and statuses follow from it.
#[derive(Debug, Clone, PartialEq)]
pub enum Disposition {
    /// Answered: ok, degraded or empty.
    Done,
    /// The tool, its provider or the gate failed.
    Failed(ErrorCode),
    /// A consent is missing.
    NeedsConsent,
    /// Policy says no.
    Denied,
    /// The tool asks for something first.
    NeedsInput(InputRequest),
}

impl Disposition {
    pub(crate) fn of(code: ErrorCode) -> Self {
        match code {
            ErrorCode::ConfirmationRequired => Self::NeedsConsent,
            ErrorCode::PolicyDenied
            | ErrorCode::PolicyError
            | ErrorCode::CannotBeShown
            | ErrorCode::TrustLevelNotAllowed => Self::Denied,
            ErrorCode::UnknownTool
            | ErrorCode::InactiveTool
            | ErrorCode::MalformedRequest
            | ErrorCode::RequestTooLarge
            | ErrorCode::InvalidArguments
            | ErrorCode::InputRejected
            | ErrorCode::MissingInputs
            | ErrorCode::PlaceholderInArgument
            | ErrorCode::StateRejected
            | ErrorCode::NotFound
            | ErrorCode::BudgetExceeded
            | ErrorCode::CacheMiss
            | ErrorCode::Overloaded
            | ErrorCode::TimedOut
            | ErrorCode::Cancelled
            | ErrorCode::InputRequired
            | ErrorCode::Interrupted
            | ErrorCode::InvalidOutput
            | ErrorCode::OutputTooLarge
            | ErrorCode::ResultTooLarge
            | ErrorCode::Unauthorized
            | ErrorCode::RateLimited
            | ErrorCode::Unavailable
            | ErrorCode::ProviderClosed
            | ErrorCode::ConnectionLost
            | ErrorCode::SpawnFailed
            | ErrorCode::Panicked
            | ErrorCode::ToolFailed
            | ErrorCode::Unsupported
            | ErrorCode::StoreUnavailable
            | ErrorCode::StoreHeld
            | ErrorCode::StateNotAcknowledged
            | ErrorCode::StoreCorrupt
            | ErrorCode::Internal => Self::Failed(code),
        }
    }
}
