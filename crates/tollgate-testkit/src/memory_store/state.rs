//! What a store in memory keeps.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tollgate_core::{
    CallId, SessionKey, Timestamp,
    audit::Hash,
    store::{
        Approval, ArtifactRow, Body, CacheKey, Credential, Effect, Grant, Intent, ReviewItem,
        RunRow, Session, Versioned,
    },
};

/// From when to when an answer is good.
pub(super) type Lasts = (Timestamp, Timestamp);

/// Everything but the log.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// With the place in the order of their use.
    pub(super) sessions: BTreeMap<SessionKey, (u64, Session)>,
    pub(super) uses: u64,
    pub(super) intents: BTreeMap<CallId, Intent>,
    pub(super) effects: Vec<Kept>,
    /// In the order they were asked.
    pub(super) approvals: Vec<Approval>,
    pub(super) grants: Vec<Grant>,
    pub(super) cache: HashMap<CacheKey, (Option<Lasts>, Vec<u8>)>,
    /// In the order they were opened.
    pub(super) reviews: Vec<ReviewItem>,
    pub(super) bodies: BTreeMap<CallId, Body>,
    /// In the order they were made.
    pub(super) credentials: Vec<Credential>,
    pub(super) states: BTreeMap<StateKey, (Option<Timestamp>, Versioned)>,
    pub(super) versions: u64,
    pub(super) dead: BTreeSet<String>,
    /// In the order they were made.
    pub(super) runs: Vec<RunRow>,
    pub(super) run_steps: BTreeMap<(String, String), Vec<u8>>,
    /// In the order they were made.
    pub(super) artifacts: Vec<ArtifactRow>,
}

/// Namespace, principal and key.
pub(super) type StateKey = (String, String, String);

/// An effect, and by what it is found.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) session: SessionKey,
    pub(super) idempotency_key: Option<String>,
    pub(super) at: Timestamp,
    pub(super) effect: Effect,
}

impl State {
    /// The newest approval of a call that `wanted` accepts.
    pub(super) fn approval_of(
        &mut self,
        digest: &Hash,
        wanted: impl Fn(&Approval) -> bool,
    ) -> Option<&mut Approval> {
        self.approvals
            .iter_mut()
            .rev()
            .find(|approval| approval.digest == *digest && wanted(approval))
    }
}
