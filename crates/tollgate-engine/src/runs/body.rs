//! What is kept of a run beside its steps.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_core::{
    AskKinds, Principal, SessionKey, Standing, Surface, Timestamp, TrustLevel, store::RunRow,
};
use tollgate_runs::{Note, Status};

use crate::{Caller, session::Lifetime};

/// What is kept of a run beside its steps; its inputs are sealed elsewhere.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Body {
    pub(super) version: String,
    pub(super) digest: String,
    /// The template itself, until the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    pub(super) timeout_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) began: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Timestamp>,
    /// Since when it only waits for somebody's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rests_since: Option<Timestamp>,
    /// How long it did so before, or had nobody who drove it; none of that is its own time.
    #[serde(default)]
    pub(super) rested_ms: u64,
    /// The session the caller named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<String>,
    /// The conversation its steps belong to.
    pub(super) conversation: String,
    pub(super) surface: Surface,
    pub(super) trust: TrustLevel,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<Arc<[String]>>,
    pub(super) standing: Standing,
    /// The call that started it, and its trace.
    pub(super) call: String,
    pub(super) traceparent: String,
    #[serde(default)]
    pub(super) total: usize,
    #[serde(default)]
    pub(super) done: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ErrorShown>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) artifacts: Vec<Note>,
    #[serde(default)]
    pub(super) tainted: bool,
    /// In what way the result is not what the template promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) misfit: Option<String>,
    /// Set where the run is one call that goes on as a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) task: Option<TaskBody>,
}

/// What is known of a call that goes on as a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TaskBody {
    /// The tool, as it was called.
    pub(super) tool: String,
    /// What its client can be asked for.
    pub(super) asks: AskKinds,
}

/// Why a run is no success, in the words of document 004.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ErrorShown {
    /// One sentence.
    pub(super) error: String,
    /// The code.
    pub(super) error_code: String,
    /// What to do now.
    pub(super) recover_hint: String,
    /// Facts for programs.
    pub(super) details: serde_json::Map<String, Value>,
}

impl Body {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// What is left when nothing can be read.
    pub(super) fn unreadable() -> Self {
        Self {
            version: String::new(),
            digest: String::new(),
            source: None,
            timeout_ms: 0,
            began: None,
            ended: None,
            rests_since: None,
            rested_ms: 0,
            session_id: None,
            conversation: String::new(),
            surface: Surface::Cli,
            trust: TrustLevel::Remote,
            scope: None,
            standing: Standing::default(),
            call: String::new(),
            traceparent: String::new(),
            total: 0,
            done: 0,
            result: None,
            error: None,
            artifacts: Vec::new(),
            tainted: false,
            misfit: None,
            task: None,
        }
    }

    /// The row of a run that nobody has taken up yet.
    pub(super) fn queued(
        &self,
        id: String,
        session: SessionKey,
        template: &str,
        now: Timestamp,
        sealed: Vec<u8>,
    ) -> RunRow {
        RunRow {
            id,
            session,
            template: template.to_owned(),
            status: Status::Queued.as_str().to_owned(),
            is_over: false,
            created: now,
            updated: now,
            owner: None,
            fence: 0,
            is_canceled: false,
            is_resting: false,
            record: self.written(),
            sealed: Some(sealed),
        }
    }

    pub(super) fn written(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whoever started the run, for the calls that are made in their name.
    pub(super) fn caller(&self, session: &SessionKey) -> Caller {
        let principal: Principal = session.principal.clone();
        Caller {
            lifetime: if self.standing.is_stored {
                Lifetime::Stored
            } else {
                Lifetime::Process
            },
            trust: self.trust,
            profile: self.standing.profile.clone(),
            skill: self.standing.skill.clone(),
            scope: self.scope.clone(),
            asks: self
                .task
                .as_ref()
                .map_or_else(AskKinds::default, |task| task.asks),
            ..Caller::local(principal, &session.handle, self.surface)
        }
    }

    /// The conversation that ends with the run; one that the caller named goes on.
    pub(super) fn own_conversation(&self, principal: &Principal) -> Option<SessionKey> {
        let is_own = self.session_id.is_none() && self.task.is_none();
        is_own.then(|| SessionKey::new(principal.clone(), self.conversation.as_str()))
    }

    /// A process drives it from now on. It last changed at `updated`, and from then on nobody
    /// drove it, if somebody did before.
    pub(super) fn taken_up(&mut self, updated: Timestamp, now: Timestamp) {
        if self.began.is_none() {
            self.began = Some(now);
        } else if self.rests_since.is_none() {
            self.rested_ms = self.rested_ms.saturating_add(between(updated, now));
        }
    }

    /// It goes on after it has rested, if it did.
    pub(super) fn go_on(&mut self, now: Timestamp) {
        if let Some(since) = self.rests_since.take() {
            self.rested_ms = self.rested_ms.saturating_add(between(since, now));
        }
    }

    /// How long it took, or has taken so far: while it was driven, and did not only wait for
    /// somebody's answer.
    pub(super) fn elapsed_ms(&self, now: Timestamp) -> u64 {
        let from = self.began.unwrap_or(now);
        let until = self.ended.unwrap_or(now);
        let rests = self.rests_since.map_or(0, |since| between(since, until));
        between(from, until)
            .saturating_sub(self.rested_ms)
            .saturating_sub(rests)
    }
}

/// From one time to another in milliseconds; a clock that went back counts nothing.
fn between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}
