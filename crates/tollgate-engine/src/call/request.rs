//! What a front end hands to the door.

use std::{fmt, sync::Arc};

use tokio_util::sync::CancellationToken;
use tollgate_core::{
    AskKinds, Control, EventSink, InputResponses, NoEvents, Payload, Principal, ResultView,
    SessionKey, Spelling, Surface, Transport, TrustLevel, offer,
};

use crate::{
    policy::{Action, Consent},
    session::Lifetime,
};

/// Who calls, and from where.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Whose session, and which.
    pub session: SessionKey,
    /// Whether that session outlives the process.
    pub lifetime: Lifetime,
    /// The way in.
    pub surface: Surface,
    /// How it is connected.
    pub transport: Transport,
    /// How far the other side is trusted.
    pub trust: TrustLevel,
    /// The profile the caller chose.
    pub profile: Option<String>,
    /// The skill it acts under.
    pub skill: Option<String>,
    /// The toolsets outside of which nothing exists for it; `None` is no such limit.
    pub scope: Option<Arc<[String]>>,
    /// What a new session of it may consume, below the operator's own limit.
    pub limit: Option<u64>,
    /// How it reads the names of tools.
    pub spelling: Spelling,
    /// How its client is shown results.
    pub results: ResultView,
    /// What its client can be asked for.
    pub asks: AskKinds,
}

impl Caller {
    /// A process of this user on this machine.
    pub fn local(principal: Principal, handle: &str, surface: Surface) -> Self {
        Self {
            session: SessionKey::new(principal, handle),
            lifetime: Lifetime::Process,
            surface,
            transport: match surface {
                Surface::Cli => Transport::Cli,
                Surface::Jsonl | Surface::Mcp => Transport::Stdio,
            },
            trust: TrustLevel::Local,
            profile: None,
            skill: None,
            scope: None,
            limit: None,
            spelling: Spelling::default(),
            results: match surface {
                Surface::Mcp => ResultView::NATIVE,
                Surface::Cli | Surface::Jsonl => ResultView::ENVELOPE,
            },
            asks: AskKinds::default(),
        }
    }
}

/// One call, as a front end understood it.
#[derive(Clone)]
pub struct Request {
    /// What is wanted: a call, or one of the reads that [`tollgate_core::offer`] names.
    pub action: Action,
    /// The tool, in any spelling it answers to.
    pub tool: String,
    /// The arguments, as sent.
    pub arguments: Payload,
    /// What the caller says about the call.
    pub control: Control,
    /// The caller's trace.
    pub traceparent: Option<String>,
    /// What the caller says to whoever serves the call: fields of an object, as they were spelled.
    pub aside: Option<Arc<str>>,
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
    /// The step of a run that this call is.
    pub step: Option<Arc<StepOf>>,
}

/// The step of a run that a call is. Only the driver of runs makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOf {
    /// The run.
    pub run: String,
    /// The step.
    pub step: String,
    /// The consent the run was started with; it covers this step unless it carries tainted text.
    pub consent: Consent,
    /// The conversation that providers see, if it is not the caller's own.
    pub conversation: Option<String>,
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
            action: Action::Call,
            tool: tool.into(),
            arguments,
            control: Control::default(),
            traceparent: None,
            aside: None,
            responses: None,
            human: None,
            events: Arc::new(NoEvents),
            cancel: CancellationToken::new(),
            attempt: 1,
            step: None,
        }
    }

    /// A read of a resource, a prompt or a completion; the arguments are as sent.
    pub fn look(action: Action, arguments: Payload) -> Self {
        Self {
            action,
            ..Self::new(offered_name(action), arguments)
        }
    }
}

/// The name under which a provider is asked.
pub(crate) const fn offered_name(action: Action) -> &'static str {
    match action {
        Action::Call => "",
        Action::Read => offer::READ,
        Action::GetPrompt => offer::GET_PROMPT,
        Action::Complete => offer::COMPLETE,
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
