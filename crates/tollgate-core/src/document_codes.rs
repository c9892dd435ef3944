//! The error codes of document 004, and which of them stands for an error of ours.
//!
//! Invariant: whatever goes wrong with a tool of that document, or with a step of a run, has one of its codes in `errorCode` or
//! `stepErrorCode`. Our own code, which says more, stands in `details.code`.

use crate::error::{ErrorCode, Failure};

/// An element that is not on the page.
pub const ELEMENT_NOT_FOUND: &str = "ELEMENT_NOT_FOUND";
/// A page that did not come in time.
pub const NAVIGATION_TIMEOUT: &str = "NAVIGATION_TIMEOUT";
/// A browser session that is not there.
pub const SESSION_NOT_FOUND: &str = "SESSION_NOT_FOUND";
/// A page or a browser that died.
pub const PAGE_CRASHED: &str = "PAGE_CRASHED";
/// Arguments that cannot be used.
pub const INVALID_PARAMETER: &str = "INVALID_PARAMETER";
/// Whatever else went wrong.
pub const EXECUTION_ERROR: &str = "EXECUTION_ERROR";
/// A caller who is not trusted enough.
pub const TRUST_LEVEL_NOT_ALLOWED: &str = "TRUST_LEVEL_NOT_ALLOWED";
/// A run that somebody called off.
pub const RUN_CANCELED: &str = "RUN_CANCELED";
/// A run that took too long.
pub const RUN_TIMEOUT: &str = "RUN_TIMEOUT";

/// Every code of the document: those of tools, then those of the run-time.
pub const ALL: [&str; 15] = [
    ELEMENT_NOT_FOUND,
    NAVIGATION_TIMEOUT,
    SESSION_NOT_FOUND,
    PAGE_CRASHED,
    INVALID_PARAMETER,
    EXECUTION_ERROR,
    "TEMPLATE_NOT_FOUND",
    "TEMPLATE_VERSION_UNSUPPORTED",
    TRUST_LEVEL_NOT_ALLOWED,
    "RUN_NOT_FOUND",
    RUN_TIMEOUT,
    RUN_CANCELED,
    "STEP_EXECUTION_FAILED",
    "ARTIFACT_NOT_FOUND",
    "ARTIFACT_EXPIRED",
];

/// Whose codes stand in `errorCode` of a tool's errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ErrorCodes {
    /// Those that the tool sets itself, if any.
    #[default]
    Own,
    /// Those of document 004, and no others.
    Document004,
}

impl ErrorCodes {
    /// Gives an error of a tool of document 004 one of the document's codes and its hint.
    pub fn document(self, failure: &mut Failure) {
        if self == Self::Own {
            return;
        }
        let own = failure.document_code.take();
        let fixed = own.as_deref().and_then(known);
        let code = fixed.unwrap_or_else(|| of(failure.code));
        if fixed.is_none() {
            let ours = failure.code.as_str();
            failure.details.insert("code".to_owned(), ours.into());
        }
        failure.document_code = Some(code.to_owned());
        if failure.recover_hint.is_none() {
            let advice = || failure.code.advice().to_owned();
            let hint = failure.recovery_suggestion.clone().unwrap_or_else(advice);
            failure.recover_hint = Some(hint);
        }
    }
}

/// The code, if it is one of the document's.
pub fn known(code: &str) -> Option<&'static str> {
    ALL.into_iter().find(|known| *known == code)
}

/// The document's code for one of ours.
pub const fn of(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::MalformedRequest
        | ErrorCode::RequestTooLarge
        | ErrorCode::InvalidArguments
        | ErrorCode::InputRejected
        | ErrorCode::MissingInputs
        | ErrorCode::PlaceholderInArgument
        | ErrorCode::NotFound => INVALID_PARAMETER,
        ErrorCode::TrustLevelNotAllowed => TRUST_LEVEL_NOT_ALLOWED,
        ErrorCode::UnknownTool
        | ErrorCode::InactiveTool
        | ErrorCode::StateRejected
        | ErrorCode::PolicyDenied
        | ErrorCode::PolicyError
        | ErrorCode::ConfirmationRequired
        | ErrorCode::CannotBeShown
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
        | ErrorCode::Internal => EXECUTION_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_a_tool_of_the_document_has_one_of_its_codes() {
        for code in ErrorCode::ALL {
            let mut failure = Failure::new(*code, "no");
            failure.document_code = Some("NetworkError".to_owned());
            ErrorCodes::Document004.document(&mut failure);
            let given = failure.document_code.as_deref().unwrap();
            assert!(known(given).is_some(), "{code}: {given}");
            assert_eq!(failure.details["code"], code.as_str());
            assert!(failure.recover_hint.is_some_and(|hint| !hint.is_empty()));
        }
    }

    #[test]
    fn a_code_of_the_document_stays_and_other_tools_keep_their_own() {
        let mut failure = Failure::new(ErrorCode::NotFound, "no").suggest("look");
        failure.document_code = Some(ELEMENT_NOT_FOUND.to_owned());
        ErrorCodes::Document004.document(&mut failure);
        assert_eq!(failure.document_code.as_deref(), Some(ELEMENT_NOT_FOUND));
        assert_eq!(failure.recover_hint.as_deref(), Some("look"));
        assert!(failure.details.is_empty());

        let mut other = Failure::new(ErrorCode::TimedOut, "no");
        other.document_code = Some("Timeout".to_owned());
        let before = other.clone();
        ErrorCodes::Own.document(&mut other);
        assert_eq!(other, before);
    }
}
