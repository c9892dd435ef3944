//! What an operator can turn, as typed values. The binary reads them from files.

use std::{collections::BTreeMap, time::Duration};

use tollgate_core::store::ApprovalLimits;

/// Every knob of the engine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The largest arguments of one call.
    pub argument_bytes: usize,
    /// The largest answer of one call.
    pub result_bytes: usize,
    /// Calls that may run at once.
    pub concurrent_calls: usize,
    /// Calls that may wait for their turn.
    pub queued_calls: usize,
    /// No call may take longer, whatever its spec says.
    pub call_timeout: Duration,
    /// What a new session may consume.
    pub session_limit: Option<u64>,
    /// What callers may hold.
    pub budgets: Budgets,
    /// How long a question to a human, and its answer, stay good.
    pub approval_ttl: Duration,
    /// How long an effect whose answer was not delivered is recognised.
    pub reissue_window: Duration,
    /// How long a grant for a session stays good.
    pub grant_ttl: Duration,
    /// The pieces in which a large result is read.
    pub result_piece: usize,
    /// How long what did not fit into an answer can be read on.
    pub result_keep: Duration,
    /// The largest body kept for replay.
    pub max_body: usize,
    /// Characters of arguments and results shown in the record.
    pub preview: usize,
    /// When a human should look.
    pub review: ReviewRules,
    /// How long a call waits for providers of which nothing is known yet, if nobody else offers
    /// its tool. Zero where clients hear of tools that come later.
    pub acquaint: Duration,
    /// What callers can see.
    pub discovery: Discovery,
    /// Whether runs of templates that no skill names may be made.
    pub other_runs: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            argument_bytes: 1 << 20,
            result_bytes: 16 << 20,
            concurrent_calls: 64,
            queued_calls: 1024,
            call_timeout: Duration::from_secs(600),
            session_limit: None,
            budgets: Budgets::default(),
            approval_ttl: Duration::from_secs(900),
            reissue_window: Duration::from_secs(600),
            grant_ttl: Duration::from_secs(8 * 3600),
            result_piece: 64 << 10,
            result_keep: Duration::from_secs(3600),
            max_body: 64 << 10,
            preview: 200,
            review: ReviewRules::default(),
            acquaint: Duration::ZERO,
            discovery: Discovery::default(),
            other_runs: true,
        }
    }
}

/// What callers may hold, each and all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Sessions in use.
    pub sessions: usize,
    /// Those of one principal.
    pub sessions_per_principal: usize,
    /// Bytes of kept answers, marks and redacted values in memory.
    pub memory_bytes: usize,
    /// Those of one principal.
    pub memory_bytes_per_principal: usize,
    /// Bytes of bodies that are written for replay in a day.
    pub body_bytes_per_day: u64,
    /// Those of one principal.
    pub body_bytes_per_day_per_principal: u64,
    /// Questions that wait for a human.
    pub approvals: ApprovalLimits,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            sessions: 20_000,
            sessions_per_principal: 5000,
            memory_bytes: 256 << 20,
            memory_bytes_per_principal: 128 << 20,
            body_bytes_per_day: 4 << 30,
            body_bytes_per_day_per_principal: 1 << 30,
            approvals: ApprovalLimits::default(),
        }
    }
}

/// When a result opens a review item.
#[derive(Debug, Clone)]
pub struct ReviewRules {
    /// `data.confidence` below this.
    pub confidence_threshold: f64,
    /// As many redactions as this.
    pub heavy_redaction: usize,
    /// As many failed attempts of the same call in a row as this.
    pub exhausted_retries: u32,
    /// Rules that are switched off, by the reason they give.
    pub disabled: Vec<&'static str>,
}

impl Default for ReviewRules {
    fn default() -> Self {
        Self {
            confidence_threshold: 0.80,
            heavy_redaction: 10,
            exhausted_retries: 3,
            disabled: Vec::new(),
        }
    }
}

/// What callers can see, beyond what policy permits.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    /// Only these tools exist, if any are named. Patterns may end in `*`.
    pub allow_tools: Vec<String>,
    /// These do not exist.
    pub exclude_tools: Vec<String>,
    /// The profile of callers that name none.
    pub profile: Option<String>,
    /// What each profile turns off.
    pub profiles: BTreeMap<String, Profile>,
}

/// A named way to work in which some tools are off.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Names of tools or toolsets that are off; patterns may end in `*`. `toolset:<name>`
    /// means the toolset only.
    pub inactive: Vec<String>,
    /// Why, for whoever tries.
    pub reason: String,
}

/// Whether a name fits a pattern that may end in `*`.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

impl Discovery {
    /// Whether the operator lets a tool of this name exist.
    pub(crate) fn shows(&self, name: &str) -> bool {
        let listed = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, name));
        (self.allow_tools.is_empty() || listed(&self.allow_tools)) && !listed(&self.exclude_tools)
    }

    /// Why a tool is off in a profile; `None` if it is on.
    pub(crate) fn inactive(
        &self,
        profile: Option<&str>,
        name: &str,
        toolsets: &[String],
    ) -> Option<&str> {
        let profile = self.profiles.get(profile.or(self.profile.as_deref())?)?;
        let off = profile
            .inactive
            .iter()
            .any(|pattern| match pattern.strip_prefix("toolset:") {
                Some(set) => toolsets.iter().any(|own| fits(set, own)),
                None => fits(pattern, name) || toolsets.iter().any(|own| fits(pattern, own)),
            });
        off.then_some(profile.reason.as_str())
    }
}
