//! The one thing a provider must be.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::{
    call::{Answer, CallContext, ToolCall},
    error::{ErrorCode, Failure, Retry},
    identity::{SessionKey, TrustLevel},
    offer::{NoticeSink, Offers},
    plan::Plan,
    spec::ToolSpec,
};

/// A source of tools.
///
/// Implementations translate; they do not govern. Visibility, consent,
/// validation, caching, deadlines, redaction and recording have all happened,
/// or will happen, in the engine.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The id that specs and the audit log name it by.
    fn id(&self) -> &str;

    /// The tools on offer right now. Called at start-up and after a change.
    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError>;

    /// Runs one tool. `call.tool` is one that [`Provider::tools`] returned, or one of the
    /// names in [`crate::offer`] if the provider offers something to read.
    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError>;

    /// The keys of a caller's `_meta` that go on to whoever serves its tools. Nothing else of it
    /// leaves the engine, and what does is governed as a part of the call.
    fn forwards_meta(&self) -> &[String] {
        &[]
    }

    /// What a call would do, for whoever is about to be asked for it: what its arguments
    /// alone do not show. It changes nothing. An error ends the call unasked.
    async fn preview(
        &self,
        _call: &ToolCall,
        _cx: &CallContext,
    ) -> Result<Option<String>, ProviderError> {
        Ok(None)
    }

    /// What a call would be made of, where it is made of other calls. Asked before the
    /// rules are; an error refuses the call before anyone has to agree to it.
    fn plan(&self, _call: &ToolCall, _trust: TrustLevel) -> Result<Option<Plan>, ProviderError> {
        Ok(None)
    }

    /// Whether a call is better answered at once and made in the background, for callers who
    /// can ask for its end; `has_answers` says that it brings answers to what was asked before.
    fn deferral(&self, _call: &ToolCall, _has_answers: bool) -> Deferral {
        Deferral::Never
    }

    /// Why it would refuse every call of a tool right now, if it would. Asked before a human
    /// is asked to agree to a call; it does not wait for anything.
    fn refuses(&self, _tool: &str) -> Option<ProviderError> {
        None
    }

    /// Why a tool that would be its own is not there for now, if that is known. Asked about names
    /// that nobody offers; it does not wait for anything.
    fn missing(&self, _tool: &str) -> Option<ProviderError> {
        None
    }

    /// Waits until it knows what it offers, for at most `patience`, if that is not known yet and
    /// `tool` could be one of its own; without a name any tool is wanted, and what failed a
    /// short while ago is not tried again. Says whether it knows more than before.
    async fn acquaint(&self, _tool: Option<&str>, _patience: Duration) -> bool {
        false
    }

    /// What it offers beside tools. Called at start-up and after a change.
    async fn offers(&self) -> Result<Offers, ProviderError> {
        Ok(Offers::default())
    }

    /// Is given the place for its notices, once, before the first call.
    fn watch(&self, _notices: Arc<dyn NoticeSink>) {}

    /// Is told that somebody wants to hear when something it offers changes, or that nobody
    /// does any more. Being told twice is being told once.
    fn follow(&self, _uri: &str, _wanted: bool) {}

    /// Is told that a conversation is over, so that nothing has to be kept for it.
    async fn leave(&self, _conversation: &SessionKey) {}

    /// Whether it could serve a call now.
    async fn health(&self) -> Health {
        Health::Ready
    }

    /// Lets go of everything. Closing twice is closing once.
    async fn close(&self) {}
}

/// Whether a call is better made in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deferral {
    /// It answers soon enough.
    Never,
    /// It takes its time; who can ask for its end later need not wait.
    Possible,
    /// It takes so long that nobody can wait for it.
    Required,
}

/// Whether a provider could serve a call now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Yes.
    Ready,
    /// Partly, for the reason given.
    Degraded(String),
    /// No, for the reason given.
    Down(String),
}

/// Why a provider could not answer.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What the caller sees as the code.
    pub code: ErrorCode,
    /// One sentence for the caller.
    pub message: String,
    /// More of it.
    pub detail: Option<String>,
    /// What to do now.
    pub suggestion: Option<String>,
    /// Tools that help, by canonical id.
    pub next_steps: Vec<String>,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// Facts for programs.
    pub details: Map<String, Value>,
    /// A design document's own code and hint, where it fixes them.
    pub document_code: Option<String>,
    /// Units used although it failed, by the service's own account; absent if it did not say.
    pub consumed: Option<u64>,
    /// The cause, for the log only.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ProviderError {
    /// An error with nothing but its code and a sentence.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            detail: None,
            suggestion: None,
            next_steps: Vec::new(),
            retry_after: None,
            details: Map::new(),
            document_code: None,
            consumed: None,
            source: None,
        }
    }

    /// The arguments make no sense to the tool.
    pub fn rejected(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InputRejected, message)
    }

    /// What the arguments name is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// The service is down, or answered with something unreadable.
    pub fn unavailable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            source: Some(source.into()),
            ..Self::new(ErrorCode::Unavailable, "the service failed")
        }
    }

    /// The failure a caller sees; `idempotent` says whether a repeat does no harm.
    pub fn into_failure(self, idempotent: bool) -> Failure {
        let retry = match self.code.retry() {
            Retry::Never => false,
            Retry::Later => true,
            Retry::WhenHarmless => idempotent,
        };
        let advice = self.code.advice().to_owned();
        let suggestion = self.suggestion.unwrap_or(advice);
        Failure {
            detail: self.detail,
            recover_hint: self.document_code.as_ref().map(|_| suggestion.clone()),
            recovery_suggestion: Some(suggestion),
            next_steps: self.next_steps,
            can_retry: retry,
            retry_after_seconds: self.retry_after.map(|after| after.as_secs().max(1)),
            details: self.details,
            document_code: self.document_code,
            consumed: self.consumed,
            ..Failure::new(self.code, self.message)
        }
    }
}
