//! What a tool declares about itself.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    call::Shape,
    identity::{Surface, TrustLevel},
    ledger::Estimate,
    name::ToolName,
    payload::{Payload, PayloadError},
    schema::Schema,
    spelled::Spelled,
    telling::Telling,
};

/// How much a call can change; the order is the order of risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Capability {
    /// Reads, also through our own guarded HTTP client or browser.
    L0,
    /// Writes: files at a path the caller chooses, pages by clicking and typing.
    L1,
    /// Runs code or a program, or has open-ended network access.
    L2,
}

impl Capability {
    /// The level as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
        }
    }

    /// The level with its meaning, for people.
    pub const fn described(self) -> &'static str {
        match self {
            Self::L0 => "L0 (reads)",
            Self::L1 => "L1 (writes)",
            Self::L2 => "L2 (runs code)",
        }
    }

    /// The level as a number, for rules that compare.
    pub const fn rank(self) -> i64 {
        match self {
            Self::L0 => 0,
            Self::L1 => 1,
            Self::L2 => 2,
        }
    }
}

/// What a tool does to the world. These drive policy; they are not hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// Changes nothing anywhere.
    pub read_only: bool,
    /// Doing it twice is doing it once.
    pub idempotent: bool,
    /// May delete, overwrite or submit.
    pub destructive: bool,
    /// Reaches beyond what we control.
    pub open_world: bool,
    /// May carry data out.
    pub sensitive_sink: bool,
}

impl Annotations {
    /// A read of our own world.
    pub const READ: Self = Self {
        read_only: true,
        idempotent: true,
        destructive: false,
        open_world: false,
        sensitive_sink: false,
    };

    /// What must be assumed of a tool that says nothing.
    pub const UNKNOWN: Self = Self {
        read_only: false,
        idempotent: false,
        destructive: true,
        open_world: true,
        sensitive_sink: true,
    };
}

/// Whether, and for how long, an answer may be reused within a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// Every call runs.
    Never,
    /// As long as the session lives.
    Session,
    /// For a while.
    For(Duration),
}

/// Estimates what a call will consume, from its arguments.
pub type Estimator = Arc<dyn Fn(&Map<String, Value>) -> Estimate + Send + Sync>;

/// What calls cost, in the provider's own units.
#[derive(Clone, Default)]
pub enum Cost {
    /// Nothing.
    #[default]
    Free,
    /// The same for every call.
    Fixed(Estimate),
    /// Depends on the arguments.
    Estimated(Estimator),
}

impl Cost {
    /// The estimate for these arguments.
    pub fn estimate(&self, arguments: &Map<String, Value>) -> Estimate {
        match self {
            Self::Free => Estimate::default(),
            Self::Fixed(estimate) => *estimate,
            Self::Estimated(estimator) => estimator(arguments),
        }
    }
}

impl fmt::Debug for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Free => "Free",
            Self::Fixed(_) => "Fixed",
            Self::Estimated(_) => "Estimated",
        })
    }
}

impl Serialize for Cost {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Free => serializer.serialize_str("free"),
            Self::Fixed(estimate) => estimate.serialize(serializer),
            Self::Estimated(_) => serializer.serialize_str("by_arguments"),
        }
    }
}

/// Tells how far arguments raise the capability of one call.
pub type RaiseRule = Arc<dyn Fn(&Map<String, Value>) -> Capability + Send + Sync>;

/// The part of a capability that depends on the arguments.
#[derive(Clone, Default)]
pub struct Raise(Option<RaiseRule>);

impl Raise {
    /// A capability that arguments can raise.
    pub fn by(rule: RaiseRule) -> Self {
        Self(Some(rule))
    }

    /// The capability of this call; never below `base`.
    pub fn apply(&self, base: Capability, arguments: &Map<String, Value>) -> Capability {
        self.0
            .as_ref()
            .map_or(base, |rule| base.max(rule(arguments)))
    }
}

impl fmt::Debug for Raise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "by arguments"
        } else {
            "never"
        })
    }
}

/// What is known of the risk of an upstream server's tool, as document 002 names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    /// It only reads, by the operator's word or by its own where that counts.
    ReadOnly,
    /// It may write.
    Write,
    /// Nobody graded it.
    Unknown,
}

impl RiskLevel {
    /// The level as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Write => "write",
            Self::Unknown => "unknown",
        }
    }
}

/// What is known of an upstream server's tool beside its definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UpstreamTool {
    /// What a call risks.
    pub risk_level: RiskLevel,
    /// How long a call may be silent; progress begins the wait anew.
    #[serde(skip)]
    pub silence_ms: u64,
}

/// The published contract of one tool.
#[derive(Debug, Clone, Serialize)]
pub struct ToolSpec {
    /// The canonical id.
    pub name: ToolName,
    /// A short title for people.
    pub title: String,
    /// What it does, when to use it, what success looks like, the usual failures and what then.
    pub description: String,
    /// JSON Schema 2020-12 of the arguments.
    pub input_schema: Schema,
    /// JSON Schema 2020-12 of `data`.
    pub output_schema: Option<Schema>,
    /// What it does to the world.
    pub annotations: Annotations,
    /// The least a call can do; arguments may raise it.
    pub capability: Capability,
    /// How arguments raise it.
    #[serde(skip)]
    pub raise: Raise,
    /// What it tells of a call that is not made, and of an answer that is too long.
    #[serde(skip)]
    pub telling: Telling,
    /// Who serves it.
    pub provider_id: String,
    /// Whether a human must agree to each call by itself, whatever else holds.
    pub requires_confirm: bool,
    /// How long a call may take.
    pub timeout_ms: u64,
    /// The sets it is listed in.
    pub toolsets: Vec<String>,
    /// Whether it is listed only when one of its sets is asked for by name.
    pub requires_explicit_toolset: bool,
    /// Where it is offered; elsewhere it is unknown.
    pub surfaces: Vec<Surface>,
    /// Whether answers may be reused.
    pub caching: Caching,
    /// What a call costs.
    pub cost: Cost,
    /// Which trust levels may call it.
    pub trust: Vec<TrustLevel>,
    /// Other names it answers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<ToolName>,
    /// The service command behind it, for tools that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_command: Option<String>,
    /// Whether its answers are our `data` or an upstream's own results.
    #[serde(skip_serializing_if = "Shape::is_data")]
    pub shape: Shape,
    /// What is known beside that of the tool of an upstream server.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<UpstreamTool>,
    /// The page that shows its answers, for clients that show pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    /// Whatever else its owner says of it, as clients are listed it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub more: Map<String, Value>,
    /// How its owner spells numbers in all of that, where a tree would not.
    #[serde(skip)]
    pub spelled: Spelled,
    /// Why it cannot be used for the time being. No part of the contract, so no digest of it.
    #[serde(skip)]
    pub inactive: Option<String>,
}

impl ToolSpec {
    /// Prints it with the numbers of its owner as they were spelled.
    pub fn printed(&self) -> Result<Payload, PayloadError> {
        let spelled = Spelled::of_members([
            ("input_schema", self.spelled.member("inputSchema")),
            ("output_schema", self.spelled.member("outputSchema")),
            ("more", self.spelled.clone()),
        ]);
        Payload::parse(spelled.print(&serde_json::to_value(self)?))
    }

    /// Whether a call changes anything, as far as the spec alone can tell.
    pub fn has_side_effects(&self) -> bool {
        !self.annotations.read_only
            || self.annotations.destructive
            || self.annotations.sensitive_sink
            || self.capability > Capability::L0
    }

    /// What a call with these arguments can do.
    pub fn capability_with(&self, arguments: &Map<String, Value>) -> Capability {
        self.raise.apply(self.capability, arguments)
    }

    /// Whether a call with these arguments counts as one that changes something.
    pub fn has_effect_with(&self, arguments: &Map<String, Value>) -> bool {
        self.has_side_effects() || self.capability_with(arguments) > Capability::L0
    }
}
