//! One tool call: what was asked, in which circumstances, and what came back.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Timestamp,
    error::Failure,
    event::EventSink,
    identity::{Principal, SessionKey, Surface, Transport, TrustLevel},
    input::{AskKinds, InputRequest, InputResponses},
    ledger::BudgetLedger,
    name::{Spelling, ToolName},
    payload::Payload,
    result_view::ResultView,
    store::ProviderState,
    warning::Warning,
};

/// Identifies one call from front end to audit log.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub Arc<str>);

impl CallId {
    /// The id as it is written everywhere.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A request to run one tool, with the arguments as they were sent.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// This call.
    pub id: CallId,
    /// The canonical id of the tool.
    pub tool: ToolName,
    /// The arguments: a JSON object, checked against the input schema.
    pub arguments: Payload,
}

/// What the caller says about a call, apart from the tool's own arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Control {
    /// The caller agrees to the cost. Never enough for a side effect.
    pub yes: bool,
    /// Answer from the cache or not at all.
    pub from_cache: FromCache,
    /// Say the verdict and the estimate; call nothing.
    pub dry_run: bool,
    /// Answer from a prepared sample.
    pub fixture: Option<String>,
    /// The approval the caller means; it is found by digest anyway.
    pub approval: Option<String>,
    /// Names one intended effect, so that re-issuing it runs it once.
    pub idempotency_key: Option<String>,
    /// Another server's text is wanted whole, however long it is.
    pub full_text: bool,
}

/// Whether a call may only be answered from the cache of its session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "FromCacheText", into = "FromCacheText")]
pub enum FromCache {
    /// The tool may be called.
    #[default]
    No,
    /// Only with an answer to these arguments.
    SameArguments,
    /// Only with the entry of this key, whatever the arguments are.
    Entry(String),
}

impl FromCache {
    /// Whether the tool must not be called.
    pub const fn is_on(&self) -> bool {
        match self {
            Self::No => false,
            Self::SameArguments | Self::Entry(_) => true,
        }
    }

    /// The key of the entry, if the call names one.
    pub fn entry(&self) -> Option<&str> {
        match self {
            Self::Entry(key) => Some(key),
            Self::No | Self::SameArguments => None,
        }
    }
}

/// How it is spelled: a switch, or a key.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FromCacheText {
    Switch(bool),
    Key(String),
}

impl From<FromCacheText> for FromCache {
    fn from(text: FromCacheText) -> Self {
        match text {
            FromCacheText::Switch(false) => Self::No,
            FromCacheText::Switch(true) => Self::SameArguments,
            FromCacheText::Key(key) if key.is_empty() => Self::No,
            FromCacheText::Key(key) => Self::Entry(key),
        }
    }
}

impl From<FromCache> for FromCacheText {
    fn from(from_cache: FromCache) -> Self {
        match from_cache {
            FromCache::No => Self::Switch(false),
            FromCache::SameArguments => Self::Switch(true),
            FromCache::Entry(key) => Self::Key(key),
        }
    }
}

/// W3C trace context as it came in, and as it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceContext {
    /// 32 hex digits.
    pub trace_id: String,
    /// The caller's span, 16 hex digits.
    pub parent: Option<String>,
    /// Our span, 16 hex digits.
    pub span_id: String,
    /// Whether the caller wants it sampled.
    pub sampled: bool,
}

impl TraceContext {
    /// Reads a `traceparent`; anything malformed is no parent at all.
    pub fn parse(traceparent: &str) -> Option<(String, String, bool)> {
        let mut parts = traceparent.trim().split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let hex = |text: &str, length: usize| {
            text.len() == length
                && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                && text.bytes().any(|b| b != b'0')
        };
        let plain = version.len() == 2 && version != "ff" && flags.len() == 2;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        (plain && hex(trace, 32) && hex(span, 16))
            .then(|| (trace.to_owned(), span.to_owned(), flags & 1 == 1))
    }

    /// The `traceparent` to hand on.
    pub fn traceparent(&self) -> String {
        let flags = if self.sampled { "01" } else { "00" };
        ["00-", &self.trace_id, "-", &self.span_id, "-", flags].concat()
    }
}

/// What a provider may know about the call it is serving, and how it may speak up.
///
/// Deliberately small: no store, no policy, no session contents.
#[derive(Clone)]
pub struct CallContext {
    /// This call.
    pub call: CallId,
    /// Who calls.
    pub principal: Principal,
    /// The session it belongs to.
    pub session: SessionKey,
    /// The way the call came in.
    pub surface: Surface,
    /// How the caller is connected.
    pub transport: Transport,
    /// How far the caller is trusted.
    pub trust: TrustLevel,
    /// How long the answer may take.
    pub time_left: Duration,
    /// Set when nobody wants the answer any more; stop in order.
    pub cancel: CancellationToken,
    /// Progress and log lines go here.
    pub events: Arc<dyn EventSink>,
    /// All a provider may remember.
    pub state: Arc<dyn ProviderState>,
    /// Where this call stands in a distributed trace.
    pub trace: TraceContext,
    /// What the caller said beside the arguments.
    pub control: Control,
    /// What the caller said that means nothing here and may to whoever serves the call: fields
    /// of an object, as they were spelled.
    pub aside: Option<Arc<str>>,
    /// Answers to what this provider asked for before.
    pub responses: Option<InputResponses>,
    /// The toolsets outside of which nothing exists for the caller.
    pub scope: Option<Arc<[String]>>,
    /// How the caller reads the names of tools.
    pub spelling: Spelling,
    /// How the caller's client is shown results.
    pub results: ResultView,
    /// Things the caller's client can be asked for.
    pub asks: AskKinds,
    /// The profile in force; tools that it turns off are never called.
    pub profile: Option<Arc<str>>,
    /// What calls in the caller's name inherit.
    pub standing: Standing,
    /// What the session has spent, this call's reservation included; to be told, never to decide by.
    pub ledger: BudgetLedger,
    /// The binding of the plan that it was permitted with, where it is made of other calls:
    /// nothing else was agreed to.
    pub agreed: Option<String>,
}

/// What calls that a call makes in its caller's name inherit, beside principal and trust.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Standing {
    /// The consent this call was permitted with: 0 none, 1 the agent's, 2 a human's.
    pub consent: u8,
    /// The profile the caller chose.
    pub profile: Option<String>,
    /// The skill it acts under.
    pub skill: Option<String>,
    /// Whether its session outlives the process.
    pub is_stored: bool,
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("call", &self.call)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// How a provider answers.
#[derive(Debug, Clone)]
pub enum Answer {
    /// It is done.
    Done(ToolResult),
    /// It needs to know something first.
    NeedsInput(InputRequest),
}

/// What a provider hands back, before anyone has checked or cleaned it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The tool's `data`, or the whole result of an upstream server.
    pub payload: Payload,
    /// Whether `payload` is our `data` or an upstream's own result.
    pub shape: Shape,
    /// All of it where `payload` is only what fits: kept for a while, to be searched and read on.
    pub whole: Option<Box<Payload>>,
    /// Images, audio, embedded resources and links, beside `data`.
    pub blocks: Vec<Block>,
    /// What was consumed.
    pub usage: Usage,
    /// How well it went; `error` exactly if there is a failure.
    pub status: Status,
    /// Why the tool failed, where it failed and still has something to show.
    pub failure: Option<Box<Failure>>,
    /// Why it is less than it could be.
    pub warnings: Vec<Warning>,
    /// For tools with a service command.
    pub service: Option<Box<ServiceInfo>>,
    /// When it stops being true, if that is before the tool's answers usually do.
    pub holds_until: Option<Timestamp>,
}

impl ToolResult {
    /// A plain success.
    pub fn ok(payload: Payload) -> Self {
        Self {
            payload,
            shape: Shape::Data,
            whole: None,
            blocks: Vec::new(),
            usage: Usage::default(),
            status: Status::Ok,
            failure: None,
            warnings: Vec::new(),
            service: None,
            holds_until: None,
        }
    }

    /// A failure of the tool, with what it answered nevertheless.
    pub fn failed(payload: Payload, failure: Failure) -> Self {
        Self {
            status: Status::Error,
            failure: Some(Box::new(failure)),
            ..Self::ok(payload)
        }
    }
}

/// What a payload is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// The object the tool's output schema describes.
    #[default]
    Data,
    /// An upstream server's own result, kept as it is.
    Native,
    /// An upstream server's own result, shown within the envelope.
    Wrapped,
}

impl Shape {
    /// Whether it is our own `data`.
    pub fn is_data(&self) -> bool {
        *self == Self::Data
    }
}

/// A content block beside `data`, in MCP's spelling of its fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Block(pub Payload);

/// How well a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As wanted.
    Ok,
    /// Usable, but less than it could be; the warnings say why.
    Degraded,
    /// Nothing found, which is not a failure.
    Empty,
    /// Not usable.
    Error,
}

impl Status {
    /// The status as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Empty => "empty",
            Self::Error => "error",
        }
    }
}

/// What the call consumed, in the provider's own units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Units by the service's own account; absent if it did not say.
    pub consumed: Option<u64>,
}

/// What a tool with a service command says about its request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceInfo {
    /// The request as it was sent, without secrets.
    pub request: Value,
    /// The service's account of its own budget.
    pub token_bucket: Value,
    /// The key of the call once references to earlier results are replaced by what they came to, where that is another
    /// one than that of the arguments as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_strictly() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let (trace, span, sampled) = TraceContext::parse(good).unwrap();
        assert_eq!((trace.len(), span.len(), sampled), (32, 16, true));
        for bad in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceContext::parse(bad), None, "{bad}");
        }
    }
}
