//! Why a step failed: a code of document 004, and what else its failure is called.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Something that goes wrong with whatever tool.
const EXECUTION_ERROR: &str = "EXECUTION_ERROR";
const RUN_CANCELED: &str = "RUN_CANCELED";
const RUN_TIMEOUT: &str = "RUN_TIMEOUT";

/// What the gateway calls a failure: its kind and its code.
pub(super) struct GatewayCode {
    kind: &'static str,
    code: &'static str,
}

/// The process of a call died.
pub(super) const INTERRUPTED: GatewayCode = GatewayCode {
    kind: "interrupted",
    code: "tool.gate.record.interrupted",
};

/// A call needs a consent that it does not have.
pub(super) const CONFIRMATION_REQUIRED: GatewayCode = GatewayCode {
    kind: "confirmation_required",
    code: "tool.gate.policy.confirmation_required",
};

/// Why a step failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StepError {
    /// A code of document 004.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// The gateway's own code, where it says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_code: Option<String>,
    /// The short word for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The code of the tool itself, where it has another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_code: Option<String>,
}

impl StepError {
    /// A failure that the document has a code for.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }

    pub(super) fn of_gateway(named: &GatewayCode, message: &str) -> Self {
        Self {
            own_code: Some(named.code.to_owned()),
            kind: Some(named.kind.to_owned()),
            ..Self::new(EXECUTION_ERROR, message)
        }
    }

    /// Whether it has this name, in upper or lower case.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let others = [&self.own_code, &self.kind, &self.tool_code];
        let mut names = others.into_iter().flatten().chain([&self.code]);
        names.any(|known| known.eq_ignore_ascii_case(name))
    }

    /// A call that was stopped because the time of its run was up.
    pub(super) fn or_late(mut self, is_late: bool) -> Self {
        if is_late && self.code == RUN_CANCELED {
            self.code = RUN_TIMEOUT.to_owned();
        }
        self
    }

    /// What else is known of it, for programs.
    pub fn details(&self) -> Map<String, Value> {
        let others = [("code", &self.own_code), ("toolErrorCode", &self.tool_code)];
        let known = others.into_iter().filter_map(|(name, code)| {
            let code = code.as_deref()?;
            Some((name.to_owned(), Value::from(code)))
        });
        known.collect()
    }

    /// As results show it.
    pub(super) fn shown(&self) -> Value {
        let mut shown = json!({"errorCode": self.code, "message": self.message});
        let details = self.details();
        if !details.is_empty() {
            shown["details"] = Value::Object(details);
        }
        shown
    }
}
