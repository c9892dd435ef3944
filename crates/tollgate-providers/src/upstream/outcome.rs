//! Whether a call of a server succeeded, and with which status.
//!
//! Invariant: a result that says it failed is a failure of the call, by MCP's `isError` or by
//! the `status` of the unified `ToolResult` (`status, data, warnings, error, meta`), and clients
//! read it as one. The server's own content stays beside the error as it was written.

use std::{sync::LazyLock, time::Duration};

use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};
use tollgate_core::{
    ErrorCode, Failure, Fields, Payload, ProviderError, Shape, Status, ToolResult, Warning,
};

use super::{excerpt, names::Names, settings::ResultFormat};

/// The fields that a unified result always has.
const UNIFIED: [&str; 5] = ["status", "data", "warnings", "error", "meta"];
/// Tools that an error may name to go on with.
const MAX_NEXT_STEPS: usize = 8;

/// Reads the results of one server.
pub(super) struct Reader<'a> {
    pub(super) server: &'a str,
    pub(super) names: &'a Names,
    pub(super) format: ResultFormat,
    pub(super) shape: Shape,
}

/// What a unified result says.
struct Unified {
    status: Status,
    warnings: Vec<Warning>,
    error: Map<String, Value>,
}

impl Reader<'_> {
    /// The outcome that a result of `tools/call` tells of.
    pub(super) fn outcome(&self, payload: Payload) -> Result<ToolResult, ProviderError> {
        let unified = self.unified(&payload);
        let failed = is_error(&payload);
        if self.format == ResultFormat::ToolResult && unified.is_none() && !failed {
            return Err(self.not_unified());
        }
        let failure = match &unified {
            Some(told) if told.status == Status::Error => Some(self.told(told, &payload)),
            Some(_) | None if failed => Some(self.failed(&payload)),
            Some(_) | None => None,
        };
        let (status, warnings) = unified.map_or((Status::Ok, Vec::new()), |told| {
            (told.status, told.warnings)
        });
        let result = match failure {
            Some(failure) if failed => ToolResult::failed(payload, failure),
            Some(failure) => ToolResult::failed(marked(payload), failure),
            None => ToolResult {
                status,
                ..ToolResult::ok(payload)
            },
        };
        Ok(ToolResult {
            shape: self.shape,
            warnings,
            ..result
        })
    }

    /// What the result says as a unified result, if it is one.
    fn unified(&self, payload: &Payload) -> Option<Unified> {
        if !may_be_unified(payload.raw()) {
            return None;
        }
        let result = payload.value();
        if let Some(structured) = result.get("structuredContent") {
            return self.as_unified(structured);
        }
        let [only] = result.get("content")?.as_array()?.as_slice() else {
            return None;
        };
        let text = only.get("text")?.as_str()?;
        self.as_unified(&serde_json::from_str(text).ok()?)
    }

    fn as_unified(&self, told: &Value) -> Option<Unified> {
        let fields = told.as_object()?;
        let is_whole = UNIFIED.iter().all(|name| fields.contains_key(*name));
        if self.format == ResultFormat::Auto && !is_whole {
            return None;
        }
        let warnings = match fields.get("warnings") {
            None => &[][..],
            Some(warnings) => warnings.as_array()?,
        };
        let error = match fields.get("error") {
            None | Some(Value::Null) => Map::new(),
            Some(error) => error.as_object()?.clone(),
        };
        let mut known: Vec<Warning> = Vec::new();
        for warning in warnings.iter().map(warning) {
            if !known.contains(&warning) {
                known.push(warning);
            }
        }
        Some(Unified {
            status: Status::deserialize(fields.get("status")?).ok()?,
            warnings: known,
            error,
        })
    }

    /// The failure that a unified result describes.
    fn told(&self, told: &Unified, payload: &Payload) -> Failure {
        let error = &told.error;
        let text = |name: &str| {
            let text = error.get(name).and_then(Value::as_str)?;
            Some(excerpt::of(text, excerpt::ABOUT_CALL)).filter(|text| !text.trim().is_empty())
        };
        let retry_after = error.get("retry_after_seconds").and_then(Value::as_u64);
        let message = text("message").map(|said| self.says(&said));
        let mut failed = ProviderError {
            detail: text("detail"),
            suggestion: text("recovery_suggestion"),
            next_steps: self.next_steps(error),
            retry_after: retry_after.map(Duration::from_secs),
            ..ProviderError::new(
                ErrorCode::ToolFailed,
                message.unwrap_or_else(|| self.words(payload)),
            )
        };
        // Theirs may read like one of ours, and would then mean what it does not.
        if let Some(code) = text("code") {
            failed
                .details
                .insert("upstream_code".to_owned(), code.into());
        }
        let mut failure = failed.into_failure(false);
        failure.can_retry = error.get("can_retry") == Some(&Value::Bool(true));
        failure
    }

    /// Tools of the same server, as they are called here.
    fn next_steps(&self, error: &Map<String, Value>) -> Vec<String> {
        let named = error.get("next_steps").and_then(Value::as_array);
        let named = named.into_iter().flatten().filter_map(Value::as_str);
        named
            .filter_map(|own| self.names.tool(own))
            .map(|name| name.as_str().to_owned())
            .take(MAX_NEXT_STEPS)
            .collect()
    }

    /// The failure of a result that only says that it is one.
    fn failed(&self, payload: &Payload) -> Failure {
        ProviderError::new(ErrorCode::ToolFailed, self.words(payload)).into_failure(false)
    }

    /// What a failed result says in words.
    fn words(&self, payload: &Payload) -> String {
        let content = payload.value().get("content").and_then(Value::as_array);
        let texts = content.into_iter().flatten();
        let texts = texts.filter_map(|block| block.get("text").and_then(Value::as_str));
        let said: Vec<&str> = texts.map(str::trim).filter(|it| !it.is_empty()).collect();
        if said.is_empty() {
            let server = self.server;
            return format!("the server `{server}` says that the call failed, and not why");
        }
        self.says(&excerpt::of(&said.join("\n"), excerpt::ABOUT_CALL))
    }

    fn says(&self, said: &str) -> String {
        format!("the server `{}` says: {said}", self.server)
    }

    fn not_unified(&self) -> ProviderError {
        let message = format!(
            "the server `{}` is set to `result_format = \"tool_result\"` and answered without a `status`",
            self.server
        );
        ProviderError::new(ErrorCode::InvalidOutput, message)
    }
}

/// A warning of ours, or the one that stands for those of others.
fn warning(told: &Value) -> Warning {
    let code = told.as_str().or_else(|| told.get("code")?.as_str());
    code.and_then(Warning::parse)
        .unwrap_or(Warning::UpstreamWarning)
}

/// Whether it is worth looking for a unified result; most results need no second look.
fn may_be_unified(raw: &str) -> bool {
    static STATUS: LazyLock<memmem::Finder<'_>> = LazyLock::new(|| memmem::Finder::new("status"));
    STATUS.find(raw.as_bytes()).is_some()
}

/// The same result, saying that it is a failure where clients look for that.
fn marked(payload: Payload) -> Payload {
    let marked = || {
        let mut fields: Fields<'_> = serde_json::from_str(payload.raw()).ok()?;
        fields.set("isError", RawValue::from_string("true".to_owned()).ok()?);
        Payload::from_serialize(&fields).ok()
    };
    marked().unwrap_or_else(|| payload.clone())
}

/// Whether a result says of itself that it is a failure; most need no second look.
pub(super) fn is_error(payload: &Payload) -> bool {
    #[derive(Deserialize)]
    struct Says {
        #[serde(default, rename = "isError")]
        is_error: Value,
    }
    static NAME: LazyLock<memmem::Finder<'_>> =
        LazyLock::new(|| memmem::Finder::new("\"isError\""));
    let raw = payload.raw().as_bytes();
    let said = |place: usize| &raw[place + NAME.needle().len()..];
    let may_be = |place: usize| !said(place).starts_with(b":false");
    NAME.find_iter(raw).any(may_be)
        && serde_json::from_str::<Says>(payload.raw()).is_ok_and(|says| says.is_error == true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(format: ResultFormat, result: &Value) -> Result<ToolResult, ProviderError> {
        let names = Names::new("s", true);
        let reader = Reader {
            server: "s",
            names: &names,
            format,
            shape: Shape::Native,
        };
        reader.outcome(Payload::from(result.clone()))
    }

    fn read(result: &Value) -> ToolResult {
        outcome(ResultFormat::Auto, result).unwrap()
    }

    #[test]
    fn only_a_result_that_says_so_itself_is_a_failure() {
        for (text, failed) in [
            (r#"{"content":[]}"#, false),
            (r#"{"content":[],"isError":false}"#, false),
            (r#"{"content":[],"isError":true}"#, true),
            (r#"{"content":[],"isError" : true}"#, true),
            (r#"{"content":[],"isError": false}"#, false),
            (
                r#"{"structuredContent":{"isError":true},"isError":false}"#,
                false,
            ),
            (
                r#"{"structuredContent":{"isError":false},"isError":true}"#,
                true,
            ),
            (r#"{"structuredContent":{"isError":true}}"#, false),
            (r#"{"content":[{"text":"\"isError\":true"}]}"#, false),
        ] {
            let payload = Payload::parse(text.to_owned()).unwrap();
            assert_eq!(is_error(&payload), failed, "{text}");
        }
    }

    #[test]
    fn the_words_of_a_failed_result_are_its_message() {
        let two = json!({"isError": true, "content": [{"type": "text", "text": "no"}, {"type": "text", "text": "luck"}]});
        let failure = read(&two).failure.unwrap();
        assert_eq!(failure.message, "the server `s` says: no\nluck");
        assert_eq!(failure.code, ErrorCode::ToolFailed);
        let silent = read(&json!({"isError": true, "content": []}));
        let message = silent.failure.unwrap().message;
        assert_eq!(
            message,
            "the server `s` says that the call failed, and not why"
        );
    }

    #[test]
    fn a_unified_result_gives_its_status_and_warnings() {
        let unified = |status: &str| json!({"status": status, "data": {}, "warnings": ["used_cache", "odd", {"code": "odder"}], "error": null, "meta": {}});
        for status in ["ok", "degraded", "empty"] {
            let structured = json!({"content": [], "structuredContent": unified(status)});
            let text = unified(status).to_string();
            let text = json!({"content": [{"type": "text", "text": text}]});
            for result in [structured, text] {
                let read = read(&result);
                assert_eq!(read.status.as_str(), status);
                let expected = [Warning::UsedCache, Warning::UpstreamWarning];
                assert_eq!(read.warnings, expected, "{result}");
                assert_eq!(read.failure, None);
                assert_eq!(read.payload.value(), &result, "it stays as it was");
            }
        }
    }

    #[test]
    fn what_lacks_a_field_is_no_unified_result_unless_the_server_is_set_to_it() {
        for missing in UNIFIED {
            let mut told = json!({"status": "error", "data": {}, "warnings": [], "error": {"message": "no"}, "meta": {}});
            told.as_object_mut().unwrap().remove(missing);
            let result = json!({"content": [], "structuredContent": told});
            assert_eq!(read(&result).status, Status::Ok, "{missing}");
            let set = outcome(ResultFormat::ToolResult, &result);
            let expected = (missing != "status").then_some(Status::Error);
            assert_eq!(set.ok().map(|set| set.status), expected, "{missing}");
        }
    }

    #[test]
    fn the_error_of_a_unified_result_is_the_failure() {
        let told = json!({
            "status": "error", "data": null, "warnings": [], "meta": {},
            "error": {
                "code": "tool.ocr.engine.busy", "message": "engine busy", "detail": "queue full",
                "recovery_suggestion": "wait", "next_steps": ["fast_ocr"], "can_retry": true, "retry_after_seconds": 15,
            },
        });
        let result = read(&json!({"content": [], "structuredContent": told}));
        assert_eq!(result.payload.value()["isError"], true, "clients see it");
        let failure = result.failure.unwrap();
        assert_eq!(failure.message, "the server `s` says: engine busy");
        assert_eq!(failure.detail.as_deref(), Some("queue full"));
        assert_eq!(failure.recovery_suggestion.as_deref(), Some("wait"));
        assert_eq!(failure.next_steps, ["mcp.s.fast_ocr"]);
        assert_eq!(failure.retry_after_seconds, Some(15));
        assert!(failure.can_retry);
        assert_eq!(failure.details["upstream_code"], "tool.ocr.engine.busy");
    }

    #[test]
    fn a_server_that_is_set_to_unified_results_must_give_them() {
        let plain = json!({"content": [{"type": "text", "text": "42"}]});
        let error = outcome(ResultFormat::ToolResult, &plain).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidOutput);
        let failed = json!({"isError": true, "content": [{"type": "text", "text": "crash"}]});
        let failed = outcome(ResultFormat::ToolResult, &failed).unwrap();
        assert_eq!(failed.status, Status::Error);
    }
}
