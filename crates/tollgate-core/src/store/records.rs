//! What is kept, as plain data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    audit::Hash,
    call::CallId,
    clock::Timestamp,
    identity::SessionKey,
    ledger::{BudgetLedger, ConsumedSource, Estimate},
};

/// A session and its ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Whose, and under which handle.
    pub key: SessionKey,
    /// The most it may consume.
    pub limit: Option<u64>,
    /// The profile in force.
    pub profile: Option<String>,
    /// Everything ever estimated.
    pub estimated: u64,
    /// Everything consumed.
    pub consumed: u64,
    /// Set aside for running calls.
    pub reserved: u64,
    /// Answers that cost nothing.
    pub cache_hits: u64,
    /// The last calls that were not made.
    pub blocked: Vec<Value>,
    /// Where the last consumption figure came from.
    pub source: ConsumedSource,
    /// When it began.
    pub created: Timestamp,
}

impl Session {
    /// A session in which nothing has happened.
    pub fn new(key: SessionKey, created: Timestamp) -> Self {
        Self {
            key,
            limit: None,
            profile: None,
            estimated: 0,
            consumed: 0,
            reserved: 0,
            cache_hits: 0,
            blocked: Vec::new(),
            source: ConsumedSource::None,
            created,
        }
    }

    /// What is left of the limit.
    pub fn remaining(&self) -> Option<u64> {
        let used = self.consumed.saturating_add(self.reserved);
        self.limit.map(|limit| limit.saturating_sub(used))
    }

    /// The ledger as envelopes show it.
    pub fn ledger(&self) -> BudgetLedger {
        BudgetLedger {
            session_estimated: self.estimated,
            session_consumed: self.consumed,
            remaining_limit: self.remaining(),
            blocked_actions: self.blocked.clone(),
            cache_hits: self.cache_hits,
            consumed_source: self.source,
        }
    }
}

/// Finds one clean answer: bound to session, tool, spec, arguments and sanitiser.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    /// The session it belongs to.
    pub session: SessionKey,
    /// The key callers see.
    pub key: String,
    /// What the entry is bound to beyond that: spec digest and sanitiser version.
    pub binding: String,
}

/// A question to a human, and the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Approval {
    /// Short, for typing.
    pub id: String,
    /// The keyed digest of the call it is bound to.
    #[serde(skip)]
    pub digest: Hash,
    /// The tool.
    pub tool: String,
    /// The spec it was asked for.
    pub spec_digest: String,
    /// The session it is bound to.
    pub session: SessionKey,
    /// What the human sees: clean arguments, capability, the rule that asks.
    pub preview: Value,
    /// What it would cost.
    pub estimate: Estimate,
    /// When it was asked.
    pub created: Timestamp,
    /// When the question or the answer ends.
    pub expires: Timestamp,
    /// Where it stands.
    pub state: ApprovalState,
    /// Who decided.
    pub decided_by: Option<String>,
    /// When.
    pub decided_at: Option<Timestamp>,
    /// The call that used it up.
    pub consumed_by: Option<CallId>,
    /// When.
    pub consumed_at: Option<Timestamp>,
}

/// Where an approval stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Nobody has decided.
    Pending,
    /// A human said yes; it works once.
    Granted,
    /// A human said no.
    Denied,
    /// It has been used up.
    Consumed,
}

impl ApprovalState {
    /// The state as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::Consumed => "consumed",
        }
    }

    /// Reads back what the store kept.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "pending" => Some(Self::Pending),
            "granted" => Some(Self::Granted),
            "denied" => Some(Self::Denied),
            "consumed" => Some(Self::Consumed),
            _ => None,
        }
    }
}

impl Approval {
    /// Whether `at` lies between its beginning and its end; see [`Timestamp::is_within`].
    pub fn in_time(&self, at: Timestamp) -> bool {
        at.is_within(self.created, self.expires)
    }
}

/// How many questions may wait for a human at once, and how much they may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalLimits {
    /// Questions that are open.
    pub pending: u64,
    /// Those of one principal.
    pub pending_per_principal: u64,
    /// Bytes that open questions show.
    pub preview_bytes: u64,
    /// Those of one principal.
    pub preview_bytes_per_principal: u64,
}

impl Default for ApprovalLimits {
    fn default() -> Self {
        Self {
            pending: 2000,
            pending_per_principal: 200,
            preview_bytes: 64 << 20,
            preview_bytes_per_principal: 16 << 20,
        }
    }
}

/// Which approvals to list.
#[derive(Debug, Clone, Default)]
pub struct ApprovalFilter {
    /// Only these.
    pub state: Option<ApprovalState>,
    /// At most so many.
    pub limit: u32,
}

/// A human's standing consent within one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// The session.
    pub session: SessionKey,
    /// What is granted.
    pub scope: GrantScope,
    /// By whom.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Until when.
    pub expires: Timestamp,
}

impl Grant {
    /// Whether `at` lies between its beginning and its end; see [`Timestamp::is_within`].
    pub fn in_time(&self, at: Timestamp) -> bool {
        at.is_within(self.at, self.expires)
    }
}

/// What a standing consent covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// Every call of a tool as long as its spec stays the same.
    Tool {
        /// The canonical id.
        tool: String,
        /// The spec that was shown.
        spec_digest: String,
    },
    /// Every call of a tool that goes to one site.
    Site {
        /// The canonical id.
        tool: String,
        /// The spec that was shown.
        spec_digest: String,
        /// The host.
        site: String,
    },
}

/// A call that is about to happen.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    /// The call.
    pub call: CallId,
    /// The process that runs it.
    pub owner: String,
    /// Its session.
    pub session: SessionKey,
    /// The tool.
    pub tool: String,
    /// Its trace.
    pub trace_id: String,
    /// What was set aside for it.
    pub reserved: u64,
    /// Whether it changes anything.
    pub effect: bool,
    /// The keyed digest of the call, for effects.
    pub digest: Option<Hash>,
    /// The caller's name for the effect.
    pub idempotency_key: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Finds an effect that ran before.
#[derive(Debug, Clone)]
pub struct EffectQuery {
    /// The session it ran in.
    pub session: SessionKey,
    /// The keyed digest of the call; what makes it the same effect.
    pub digest: Hash,
    /// The caller's name for it; with one, delivery and age do not matter.
    pub idempotency_key: Option<String>,
    /// Only effects that began at or after this.
    pub since: Timestamp,
}

/// An effect that ran before.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The call that ran.
    pub call: CallId,
    /// The keyed digest of that call.
    pub digest: Option<Hash>,
    /// What its caller was told; absent while it runs.
    pub answer: Option<Vec<u8>>,
    /// Whether that answer arrived.
    pub delivered: bool,
}

/// Something a human should look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewItem {
    /// Names it.
    pub item_id: String,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Whether it still is.
    pub status: ReviewStatus,
    /// The call it is about.
    pub request_id: String,
    /// In which session.
    pub session_id: String,
    /// Whose.
    pub principal: String,
    /// The tool.
    pub subject: String,
    /// The rules that opened it.
    pub reasons: Vec<String>,
    /// The warnings of the result.
    pub warning_codes: Vec<String>,
    /// A clean preview.
    pub preview: String,
    /// `approve`, `reject` or `note`.
    pub resolution: Option<String>,
    /// What the reviewer says.
    pub note: Option<String>,
    /// When.
    pub resolved_at: Option<Timestamp>,
    /// By whom.
    pub resolved_by: Option<String>,
}

/// Whether an item still waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// It does.
    Open,
    /// It does not.
    Resolved,
}

impl ReviewStatus {
    /// The status as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Resolved => "resolved",
        }
    }
}

/// What replay needs of a call; outside the chain, bound to it by digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The call.
    pub call: CallId,
    /// The clean arguments, if they can be replayed.
    pub arguments: Option<String>,
    /// The clean data, if it can be replayed.
    pub data: Option<String>,
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialKind {
    /// Lets its bearer approve and review.
    Approver,
    /// Lets its bearer call tools over HTTP.
    Bearer,
    /// Lets the dialogs of one installed client count as a human.
    Dialog,
}

impl CredentialKind {
    /// The kind as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approver => "approver",
            Self::Bearer => "bearer",
            Self::Dialog => "dialog",
        }
    }
}

/// A token that was handed out; only its digest is kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Credential {
    /// Names it.
    pub id: String,
    /// The digest of the token.
    #[serde(skip)]
    pub digest: Hash,
    /// What it is for.
    pub kind: CredentialKind,
    /// What the operator calls it.
    pub label: Option<String>,
    /// Toolsets, trust, session limit: whatever its kind allows.
    pub scopes: Value,
    /// When it was made.
    pub created: Timestamp,
    /// When it ends.
    pub expires: Option<Timestamp>,
    /// When it was ended.
    pub revoked: Option<Timestamp>,
}

impl Credential {
    /// Whether it still counts; what ends also begins, see [`Timestamp::is_within`].
    pub fn is_live(&self, at: Timestamp) -> bool {
        let in_time = |expires| at.is_within(self.created, expires);
        self.revoked.is_none() && self.expires.is_none_or(in_time)
    }
}

/// A value of provider state, and which one it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// The value.
    pub value: Vec<u8>,
    /// Its version.
    pub version: u64,
}
