//! What a front end hands to the door.

use std::{fmt, sync::Arc};

use tokio_util::sync::CancellationToken;
use tollgate_core::{
    Control, EventSink, InputResponses, NoEvents, Payload, Principal, SessionKey, Surface,
    TrustLevel,
};

use crate::session::Lifetime;

/// Who calls, and from where.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whose session, and which.
    pub session: SessionKey,
    /// Whether that session outlives the process.
    pub lifetime: Lifetime,
    /// The way in.
    pub surface: Surface,
    /// How far the other side is trusted.
    pub trust: TrustLevel,
    /// The profile the caller chose.
    pub profile: Option<String>,
    /// The skill it acts under.
    pub skill: Option<String>,
}

impl Caller {
    /// A process of this user on this machine.
    pub fn local(principal: Principal, handle: &str, surface: Surface) -> Self {
        Self {
            session: SessionKey::new(principal, handle),
            lifetime: Lifetime::Process,
            surface,
            trust: TrustLevel::Local,
            profile: None,
            skill: None,
        }
    }
}

/// One call, as a front end understood it.
#[derive(Clone)]
pub struct Request {
    /// The tool, in any spelling it answers to.
    pub tool: String,
    /// The arguments, as sent.
    pub arguments: Payload,
    /// What the caller says about the call.
    pub control: Control,
    /// The caller's trace.
    pub traceparent: Option<String>,
    /// Answers to what the tool asked for before.
    pub responses: Option<InputResponses>,
    /// A human's consent that the front end itself obtained and vouches for.
    pub human: Option<HumanConsent>,
    /// Where progress and log lines go.
    pub events: Arc<dyn EventSink>,
    /// Set when the caller no longer wants the answer.
    pub cancel: CancellationToken,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

/// A human's consent obtained in a dialog that the operator trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HumanConsent {
    /// How it was obtained, for the record.
    pub by: String,
}

impl Request {
    /// A call with nothing but a tool and arguments.
    pub fn new(tool: impl Into<String>, arguments: Payload) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            control: Control::default(),
            traceparent: None,
            responses: None,
            human: None,
            events: Arc::new(NoEvents),
            cancel: CancellationToken::new(),
            attempt: 1,
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("tool", &self.tool)
            .field("control", &self.control)
            .finish_non_exhaustive()
    }
}
