//! What calls cost and what a session has left.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::print::{self, ObjectText, Print};

/// What one call is expected to consume, and the most it could.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The expected units.
    pub estimated: u64,
    /// The most it could come to.
    pub worst_case: u64,
    /// Whether the caller must agree to this cost first.
    #[serde(default)]
    pub confirm: bool,
}

impl Estimate {
    /// A call that costs exactly this much.
    pub const fn exactly(units: u64) -> Self {
        Self {
            estimated: units,
            worst_case: units,
            confirm: false,
        }
    }
}

/// Where the figure for consumed units came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsumedSource {
    /// Nothing was consumed so far.
    #[default]
    None,
    /// The answer said so.
    TokenBucket,
    /// The answer did not say; the estimate stands in.
    EstimatedFallback,
}

impl ConsumedSource {
    /// The source as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::TokenBucket => "token_bucket",
            Self::EstimatedFallback => "estimated_fallback",
        }
    }

    /// Reads back what the store kept; an unknown text is `None`.
    pub fn parse(text: &str) -> Self {
        match text {
            "token_bucket" => Self::TokenBucket,
            "estimated_fallback" => Self::EstimatedFallback,
            _ => Self::None,
        }
    }
}

/// The session's ledger as every envelope shows it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct BudgetLedger {
    /// Everything ever estimated.
    pub session_estimated: u64,
    /// Everything really consumed.
    pub session_consumed: u64,
    /// Limit less consumed less reserved, never below zero; absent without a limit.
    pub remaining_limit: Option<u64>,
    /// Calls that were not made because consent was missing.
    pub blocked_actions: Vec<Value>,
    /// Answers that cost nothing.
    pub cache_hits: u64,
    /// Where the last consumption figure came from.
    pub consumed_source: ConsumedSource,
}

impl BudgetLedger {
    /// The same with the blocked actions of one call only, and how many others there are: the
    /// list grows with the session, and a text has a limit.
    #[must_use]
    pub fn of_call(&self, cache_key: Option<&str>) -> Self {
        let is_own = |action: &&Value| {
            let key = action.get("cache_key").and_then(Value::as_str);
            key.is_some() && key == cache_key
        };
        let mut own: Vec<Value> = self
            .blocked_actions
            .iter()
            .filter(is_own)
            .cloned()
            .collect();
        let others = self.blocked_actions.len() - own.len();
        if others > 0 {
            own.push(Value::from(format!("… {others} more items")));
        }
        Self {
            blocked_actions: own,
            ..self.clone()
        }
    }
}

impl Print for BudgetLedger {
    fn print(&self, object: &mut ObjectText<'_>) {
        object.number("session_estimated", self.session_estimated);
        object.number("session_consumed", self.session_consumed);
        object.maybe_number("remaining_limit", self.remaining_limit);
        if self.blocked_actions.is_empty() {
            object.json("blocked_actions", "[]");
        } else {
            object.value("blocked_actions", &self.blocked_actions);
        }
        object.number("cache_hits", self.cache_hits);
        object.text("consumed_source", self.consumed_source.as_str());
    }
}

impl Serialize for BudgetLedger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        print::serialize(self, serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_shown_its_own_blocked_actions_and_how_many_others_there_are() {
        let action = |key: &str| json!({"tool": "a.write", "cache_key": key});
        let ledger = BudgetLedger {
            session_estimated: 3,
            blocked_actions: vec![action("a"), action("b"), action("c")],
            ..BudgetLedger::default()
        };
        let own = ledger.of_call(Some("b"));
        assert_eq!(own.session_estimated, 3);
        assert_eq!(own.blocked_actions, [action("b"), json!("… 2 more items")]);
        let none = ledger.of_call(None);
        assert_eq!(none.blocked_actions, [json!("… 3 more items")]);
        assert_eq!(
            BudgetLedger::default().of_call(Some("b")),
            BudgetLedger::default()
        );
    }
}
