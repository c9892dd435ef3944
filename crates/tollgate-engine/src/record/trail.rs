//! The facts of one call, collected on its way along the path.
//!
//! Stage types prove that a stage was passed; the trail remembers what it found,
//! so that every ending, wherever it happens, can say all that is known by then.

use std::{sync::Arc, time::Instant};

use tollgate_core::{
    AskKinds, CallId, Capability, Estimate, ResultView, SessionKey, Spelling, Standing, Surface,
    Timestamp, TraceContext, Transport, TrustLevel, audit::Hash,
};

use crate::{call::StepOf, policy::Consent};

/// What the cache had to do with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheUse {
    /// The tool's answers are not kept.
    Off,
    /// There was no answer.
    Miss,
    /// The answer came from the session.
    Hit,
    /// Another call in flight brought it.
    Shared,
    /// The effect had happened; its recorded ending was shown.
    Recorded,
}

impl CacheUse {
    /// Whether the answer is one that was given before.
    pub(crate) const fn is_reuse(self) -> bool {
        match self {
            Self::Off | Self::Miss => false,
            Self::Hit | Self::Shared | Self::Recorded => true,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Miss => "miss",
            Self::Hit => "hit",
            Self::Shared => "shared",
            Self::Recorded => "recorded",
        }
    }
}

/// The facts of one call.
pub(crate) struct Trail {
    pub(crate) call: CallId,
    pub(crate) trace: TraceContext,
    pub(crate) started: Instant,
    pub(crate) at: Timestamp,
    pub(crate) session: SessionKey,
    pub(crate) surface: Surface,
    pub(crate) transport: Transport,
    pub(crate) trust: TrustLevel,
    pub(crate) scope: Option<Arc<[String]>>,
    pub(crate) spelling: Spelling,
    pub(crate) results: ResultView,
    pub(crate) asks: AskKinds,
    pub(crate) profile: Option<Arc<str>>,
    pub(crate) tool: String,
    pub(crate) command: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) spec_digest: Option<String>,
    pub(crate) capability: Option<Capability>,
    pub(crate) idempotent: bool,
    pub(crate) consent: Consent,
    pub(crate) verdict: Option<&'static str>,
    pub(crate) rule: Option<String>,
    pub(crate) arguments: Option<Arc<CleanArguments>>,
    pub(crate) cache_key: Option<Arc<str>>,
    pub(crate) cache: CacheUse,
    pub(crate) estimate: Estimate,
    pub(crate) reserved: Option<u64>,
    pub(crate) intent: bool,
    /// Whether it was announced is not known: the store failed, and may have written it.
    pub(crate) doubtful: bool,
    pub(crate) effect: bool,
    pub(crate) approval: Option<Hash>,
    /// Whether the human's consent is a grant for more than this call.
    pub(crate) by_grant: bool,
    pub(crate) ran: bool,
    pub(crate) attempt: u32,
    /// What calls in the caller's name inherit; the consent is that of the trail.
    pub(crate) standing: Standing,
    /// How many refusals an entry stands for, where they are counted together.
    pub(crate) count: Option<u64>,
    pub(crate) step: Option<Arc<StepOf>>,
}

/// Arguments as they may be written down.
pub(crate) struct CleanArguments {
    pub(crate) text: String,
    pub(crate) redacted: bool,
    pub(crate) fingerprint: String,
}

impl Trail {
    pub(crate) fn duration_micros(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
