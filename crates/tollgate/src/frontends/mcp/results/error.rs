//! An error as the text of a result: everything a caller needs to go on.

use tollgate_core::{
    Failure,
    print::{self, ObjectText, Print},
};

/// The error object as compact JSON, without `null`.
pub(super) fn text(failure: &Failure) -> String {
    print::printed(&ErrorText(failure), 512)
}

struct ErrorText<'a>(&'a Failure);

impl Print for ErrorText<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        let failure = self.0;
        // Where a document fixes the code, it also fixes four fields, and programs read those.
        if let Some(code) = &failure.document_code {
            object.text("error", &failure.message);
            object.text("errorCode", code);
            object.some_text("recoverHint", failure.recover_hint.as_deref());
            object.value("details", &failure.details);
        }
        object.text("kind", failure.code.kind());
        object.text("code", failure.code.as_str());
        object.text("message", &failure.message);
        object.some_text("detail", failure.detail.as_deref());
        object.some_text(
            "recovery_suggestion",
            failure.recovery_suggestion.as_deref(),
        );
        if !failure.next_steps.is_empty() {
            object.texts("next_steps", failure.next_steps.iter().map(String::as_str));
        }
        object.flag("can_retry", failure.can_retry);
        if let Some(seconds) = failure.retry_after_seconds {
            object.number("retry_after_seconds", seconds);
        }
        if failure.document_code.is_none() && !failure.details.is_empty() {
            object.value("details", &failure.details);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tollgate_core::ErrorCode;

    use super::*;

    fn read(failure: &Failure) -> Value {
        serde_json::from_str(&text(failure)).unwrap()
    }

    #[test]
    fn an_error_is_its_object_without_nulls() {
        let failure = Failure::new(ErrorCode::ConfirmationRequired, "a human must agree")
            .with("approval_id", "ap-1")
            .suggest("Run `tollgate approvals approve ap-1`.");
        let expected = json!({
            "kind": "confirmation_required",
            "code": ErrorCode::ConfirmationRequired.as_str(),
            "message": "a human must agree",
            "recovery_suggestion": "Run `tollgate approvals approve ap-1`.",
            "can_retry": false,
            "details": {"approval_id": "ap-1"},
        });
        assert_eq!(read(&failure), expected);
    }

    #[test]
    fn a_code_of_a_document_comes_with_its_four_fields_at_the_top() {
        let failure = Failure {
            document_code: Some("RUN_NOT_FOUND".to_owned()),
            recover_hint: Some("List the runs.".to_owned()),
            ..Failure::new(ErrorCode::NotFound, "there is no such run").with("runId", "run_1")
        };
        let said = text(&failure);
        let first = r#"{"error":"there is no such run","errorCode":"RUN_NOT_FOUND","recoverHint":"List the runs.","details":{"runId":"run_1"},"#;
        assert!(said.starts_with(first), "{said}");
        assert_eq!(read(&failure)["kind"], "not_found");
        assert_eq!(said.matches("run_1").count(), 1);
    }
}
