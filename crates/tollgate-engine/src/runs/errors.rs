//! The errors of document 004, with its codes, hints and details.

use serde_json::{Map, Value};
use tollgate_core::{
    Annotations, Capability, ErrorCode, Failure, ProviderError, StoreError, document_codes,
};
use tollgate_runs::{RunError, StepError};

use super::body::ErrorShown;

/// A code of the document: our own code beside it, and what to do.
pub(super) struct Code {
    ours: ErrorCode,
    theirs: &'static str,
    hint: &'static str,
}

macro_rules! codes {
    ($($name:ident = $theirs:literal, $ours:ident, $hint:literal;)*) => {
        $(pub(super) const $name: Code = Code { ours: ErrorCode::$ours, theirs: $theirs, hint: $hint };)*
    };
}

codes! {
    TEMPLATE_NOT_FOUND = "TEMPLATE_NOT_FOUND", NotFound, "Call `list_task_templates` and use one of those.";
    TEMPLATE_VERSION_UNSUPPORTED = "TEMPLATE_VERSION_UNSUPPORTED", InputRejected, "Use one of the versions in `details.versions`, or name none.";
    TRUST_LEVEL_NOT_ALLOWED = "TRUST_LEVEL_NOT_ALLOWED", TrustLevelNotAllowed, "Use a connection of another trust level, or another template.";
    RUN_NOT_FOUND = "RUN_NOT_FOUND", NotFound, "Check the `runId`; `list_task_runs` shows yours.";
    RUN_TIMEOUT = "RUN_TIMEOUT", TimedOut, "Allow more time with `options.timeoutMs`, or split the task.";
    RUN_CANCELED = "RUN_CANCELED", Cancelled, "Start a new run.";
    STEP_EXECUTION_FAILED = "STEP_EXECUTION_FAILED", ToolFailed, "Look at `details.failedStep` and `details.stepErrorCode`; `get_task_run` shows every step.";
    ARTIFACT_NOT_FOUND = "ARTIFACT_NOT_FOUND", NotFound, "Check the `artifactId`; `get_task_run` lists the artifacts of a run.";
    ARTIFACT_EXPIRED = "ARTIFACT_EXPIRED", NotFound, "Its time is up: start the run again.";
    INVALID_PARAMETER = "INVALID_PARAMETER", InputRejected, "Correct what `details` names.";
}

impl Code {
    /// The error as a tool answers it.
    pub(super) fn error(&self, message: impl Into<String>) -> ProviderError {
        ProviderError {
            suggestion: Some(self.hint.to_owned()),
            document_code: Some(self.theirs.to_owned()),
            ..ProviderError::new(self.ours, message)
        }
    }

    /// The same with facts for programs.
    pub(super) fn with(
        &self,
        message: impl Into<String>,
        facts: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> ProviderError {
        let mut error = self.error(message);
        error.details = details(facts);
        error
    }

    fn shown(
        &self,
        message: String,
        facts: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> ErrorShown {
        ErrorShown {
            error: message,
            error_code: self.theirs.to_owned(),
            recover_hint: self.hint.to_owned(),
            details: details(facts),
        }
    }
}

fn details(facts: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    let facts = facts.into_iter();
    facts.map(|(name, fact)| (name.to_owned(), fact)).collect()
}

/// Why a run is no success, as it is kept and shown.
pub(super) fn of_run(run: &str, error: &RunError) -> ErrorShown {
    let id = || ("runId", Value::from(run));
    match error {
        RunError::Step { failed_step, error } => {
            let mut shown = STEP_EXECUTION_FAILED.shown(
                format!("step `{failed_step}` failed: {}", error.message),
                [
                    id(),
                    ("failedStep", failed_step.as_str().into()),
                    ("stepErrorCode", error.code.as_str().into()),
                ],
            );
            shown.details.extend(error.details());
            shown
        }
        RunError::Timeout => RUN_TIMEOUT.shown("the time of the run was up".to_owned(), [id()]),
        RunError::Canceled => RUN_CANCELED.shown("the run was called off".to_owned(), [id()]),
    }
}

/// A run that could not be driven at all.
pub(super) fn broken(run: &str, reason: &str) -> ErrorShown {
    STEP_EXECUTION_FAILED.shown(
        reason.to_owned(),
        [
            ("runId", run.into()),
            ("failedStep", Value::Null),
            ("stepErrorCode", "EXECUTION_ERROR".into()),
        ],
    )
}

/// A failure of ours as that of a step.
pub(super) fn of_step(code: ErrorCode, message: impl Into<String>) -> StepError {
    StepError {
        own_code: Some(code.as_str().to_owned()),
        kind: Some(code.kind().to_owned()),
        ..StepError::new(document_codes::of(code), message)
    }
}

/// Why a call of a run failed; `is_page` says whether it was to read a page.
pub(super) fn of_call(failure: &Failure, is_page: bool) -> StepError {
    let own = failure.document_code.as_deref();
    let code = match (own.and_then(document_codes::known), failure.code) {
        (Some(known), _) => known,
        (None, ErrorCode::TimedOut) if is_page => document_codes::NAVIGATION_TIMEOUT,
        (None, ErrorCode::Cancelled) => document_codes::RUN_CANCELED,
        (None, code) => document_codes::of(code),
    };
    StepError {
        code: code.to_owned(),
        tool_code: own
            .filter(|own| document_codes::known(own).is_none())
            .map(str::to_owned),
        ..of_step(failure.code, failure.message.clone())
    }
}

/// Whether a tool reads pages of the world outside: the time it takes is theirs.
pub(super) fn reads_pages(capability: Capability, annotations: &Annotations) -> bool {
    capability == Capability::L0 && annotations.read_only && annotations.open_world
}

/// What a kept error is as the answer of a tool.
pub(super) fn answered(shown: &ErrorShown) -> ProviderError {
    let code = [&RUN_TIMEOUT, &RUN_CANCELED]
        .into_iter()
        .find(|code| code.theirs == shown.error_code)
        .unwrap_or(&STEP_EXECUTION_FAILED);
    let mut error = code.error(shown.error.clone());
    error.details = shown.details.clone();
    error
}

pub(super) fn no_run(id: &str) -> ProviderError {
    RUN_NOT_FOUND.with(
        format!("there is no run `{id}` of yours"),
        [("runId", id.into())],
    )
}

pub(super) fn from_store(error: StoreError) -> ProviderError {
    ProviderError::new(error.code(), error.to_string())
}
