//! Endings as exit codes: one table.

use std::process::ExitCode;

use tollgate_core::ErrorCode;
use tollgate_engine::{Disposition, Outcome};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: it worked.
    Ok,
    /// 1: the tool, its provider or the gate failed.
    ToolError,
    /// 2: the command line, the configuration or the arguments are wrong.
    Usage,
    /// 3: a consent is missing.
    ConsentNeeded,
    /// 4: policy says no.
    Denied,
}

impl Exit {
    /// What the caller of the program is told.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::ToolError => 1,
            Self::Usage => 2,
            Self::ConsentNeeded => 3,
            Self::Denied => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<&Outcome> for Exit {
    fn from(outcome: &Outcome) -> Self {
        match &outcome.disposition {
            Disposition::Done => Self::Ok,
            Disposition::Failed(code) if is_usage(*code) => Self::Usage,
            Disposition::Failed(_) | Disposition::NeedsInput(_) => Self::ToolError,
            Disposition::NeedsConsent => Self::ConsentNeeded,
            Disposition::Denied => Self::Denied,
        }
    }
}

/// Whether no tool was reached because the request itself is wrong.
fn is_usage(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::UnknownTool | ErrorCode::MalformedRequest | ErrorCode::RequestTooLarge
    )
}
