//! The rules in force, in brief, for whoever wants to know what is decided here.

use serde::Serialize;

use super::compile::Policies;

/// One rule in brief.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleSummary {
    /// Its id.
    pub id: String,
    /// Whether it permits or forbids.
    pub effect: &'static str,
    /// Why it is there.
    pub reason: Option<String>,
    /// Whose it is.
    pub origin: &'static str,
}

impl Policies {
    /// Every rule in brief, in the order they were written.
    pub fn rules(&self) -> Vec<RuleSummary> {
        self.rules
            .iter()
            .map(|rule| RuleSummary {
                id: rule.id.clone(),
                effect: if rule.permits { "permit" } else { "forbid" },
                reason: rule.reason.clone(),
                origin: rule.origin.as_str(),
            })
            .collect()
    }
}
