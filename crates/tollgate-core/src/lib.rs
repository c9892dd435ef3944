//! The vocabulary of Tollgate: what a tool is, what a call is, what a provider
//! promises, what a store keeps, and every error code a caller can ever see.
//!
//! Invariant: this crate performs no I/O and knows no protocol.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod artifact;
pub mod audit;
pub mod call;
pub mod canonical;
pub mod clock;
pub mod depth;
pub mod document_codes;
pub mod envelope;
pub mod error;
pub mod event;
pub mod fields;
#[doc(hidden)]
pub mod fuzzing;
pub mod identity;
pub mod input;
pub mod ledger;
pub mod name;
pub mod offer;
pub mod payload;
pub mod plan;
pub mod print;
pub mod provider;
pub mod result_view;
pub mod schema;
pub mod secret;
pub mod spec;
pub mod spelled;
pub mod store;
pub mod telling;
pub mod toolset;
pub mod warning;

pub use artifact::{Artifacts, NewContent};
pub use call::{
    Answer, Block, CallContext, CallId, Control, FromCache, ServiceInfo, Shape, Standing, Status,
    ToolCall, ToolResult, TraceContext, Usage,
};
pub use clock::{Clock, HeldClock, SLACK, SystemClock, Timestamp};
pub use document_codes::ErrorCodes;
pub use envelope::{Envelope, Meta};
pub use error::{ErrorCode, Failure, Kind, Retry};
pub use event::{Event, EventSink, LogLevel, NoEvents};
pub use fields::Fields;
pub use identity::{Principal, SessionKey, Surface, Transport, TrustLevel};
pub use input::{AskKinds, InputAsk, InputRequest, InputResponses};
pub use ledger::{BudgetLedger, ConsumedSource, Estimate};
pub use name::{NameError, Spelling, ToolName};
pub use offer::{Notice, NoticeSink, Offers, PromptSpec, ResourceSpec, TemplateSpec};
pub use payload::{Payload, PayloadError};
pub use plan::{Plan, PlannedCall};
pub use provider::{Deferral, Health, Provider, ProviderError};
pub use result_view::{ResultForm, ResultView};
pub use schema::Schema;
pub use secret::{SealError, Sealer, Secret};
pub use spec::{Annotations, Caching, Capability, Cost, Raise, RiskLevel, ToolSpec, UpstreamTool};
pub use spelled::Spelled;
pub use store::{Store, StoreError};
pub use telling::{
    CondenseRule, Condensed, FetchRule, NeedRule, ObjectRule, Rehearsal, Reuse, Telling, fetches,
    object_in,
};
pub use toolset::{Tool, ToolSet};
pub use warning::Warning;
