//! Deterministic answers for every name it is given, for offline work and rehearsals.
//!
//! The answer depends on the tool and its arguments only, so a rehearsal of a plan
//! gives the same picture every time. Invariant: a stand-in for a tool of ours takes what that
//! tool takes and answers within its output schema; a plan that works with stand-ins reads what
//! it will read.

mod example;

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;
use tollgate_core::{
    Annotations, Answer, Caching, CallContext, Capability, Cost, ErrorCode, Estimate, Payload,
    Provider, ProviderError, Raise, Schema, Spelled, Surface, Telling, ToolCall, ToolName,
    ToolResult, ToolSpec, TrustLevel, Usage,
    canonical::{Form, Node, hex_digest},
};

/// The tools it pretends to be.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// One entry per tool.
    pub tools: Vec<StubTool>,
}

/// One tool it pretends to be.
#[derive(Debug, Clone)]
pub struct StubTool {
    /// The canonical id.
    pub name: ToolName,
    /// What a call could do, if it were real.
    pub capability: Capability,
    /// What a call costs, if it were real.
    pub units: u64,
    /// Whether that cost needs consent.
    pub confirm: bool,
    /// How long a call takes before it answers.
    pub delay: Duration,
    /// A fixed answer instead of an echo.
    pub answer: Option<Map<String, Value>>,
}

impl StubTool {
    /// A free read.
    pub fn new(name: ToolName) -> Self {
        Self {
            name,
            capability: Capability::L0,
            units: 0,
            confirm: false,
            delay: Duration::ZERO,
            answer: None,
        }
    }
}

struct Stub {
    tools: Vec<StubTool>,
    originals: Vec<Arc<dyn Provider>>,
    /// What the tools are that it stands in for, as far as anybody here offers them.
    known: OnceCell<HashMap<ToolName, Original>>,
}

/// What a stand-in has of the tool it stands in for.
struct Original {
    description: String,
    input_schema: Schema,
    output_schema: Option<Schema>,
    telling: Telling,
}

/// Offers whatever it is told to; `originals` may offer the real tools.
pub fn provider(settings: Settings, originals: Vec<Arc<dyn Provider>>) -> impl Provider {
    Stub {
        tools: settings.tools,
        originals,
        known: OnceCell::new(),
    }
}

impl Stub {
    async fn original(&self, name: &ToolName) -> Option<&Original> {
        let known = self.known.get_or_init(|| async { self.look_up().await });
        known.await.get(name)
    }

    /// Asks who offers the real tools; a provider that cannot say has none.
    async fn look_up(&self) -> HashMap<ToolName, Original> {
        let mut known = HashMap::new();
        if self.tools.is_empty() {
            return known;
        }
        for provider in &self.originals {
            for spec in provider.tools().await.unwrap_or_default() {
                if self.tools.iter().any(|tool| tool.name == spec.name) {
                    let original = Original {
                        description: spec.description,
                        input_schema: spec.input_schema,
                        output_schema: spec.output_schema,
                        telling: Telling {
                            respell: spec.telling.respell,
                            ..Telling::default()
                        },
                    };
                    known.entry(spec.name).or_insert(original);
                }
            }
        }
        known
    }
}

#[async_trait]
impl Provider for Stub {
    fn id(&self) -> &str {
        "stub"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        let mut specs = Vec::with_capacity(self.tools.len());
        for tool in &self.tools {
            specs.push(spec(tool, self.original(&tool.name).await));
        }
        Ok(specs)
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == call.tool) else {
            return Err(ProviderError::not_found(format!(
                "no stub for `{}`",
                call.tool
            )));
        };
        if !tool.delay.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(tool.delay) => {}
                () = cx.cancel.cancelled() => return Err(ProviderError::new(
                    ErrorCode::Cancelled,
                    "cancelled while it pretended to work",
                )),
            }
        }
        let original = self.original(&call.tool).await;
        let schema = original.and_then(|original| original.output_schema.as_ref());
        let canonical = Node::of(&call.arguments).map(|node| node.print(Form::Jcs));
        let seed = format!("{}\n{}", call.tool, canonical.unwrap_or_default());
        let data = match (&tool.answer, schema) {
            (Some(answer), _) => Value::Object(answer.clone()),
            (None, Some(schema)) => example::of(schema, &seed),
            (None, None) => json!({
                "stub": true,
                "tool": call.tool.as_str(),
                "arguments": call.arguments.value(),
                "answer_id": &hex_digest(seed.as_bytes())[..16],
            }),
        };
        let mut result = ToolResult::ok(Payload::from(data));
        result.usage = Usage {
            consumed: (tool.units > 0).then_some(tool.units),
        };
        Ok(Answer::Done(result))
    }
}

fn spec(tool: &StubTool, original: Option<&Original>) -> ToolSpec {
    let reads = tool.capability == Capability::L0;
    let anything = || Schema::from(json!({"type": "object"}));
    let about = original.map_or("", |original| original.description.as_str());
    // A fixed answer is the operator's own.
    let output = match (original, &tool.answer) {
        (Some(original), None) => original.output_schema.clone(),
        (Some(_), Some(_)) | (None, _) => None,
    };
    ToolSpec {
        name: tool.name.clone(),
        title: format!("Stand-in for {}", tool.name),
        description: format!(
            "Answers like `{}` would, without doing anything: the same arguments always give the same answer. \
             Use it to rehearse offline. {about}",
            tool.name
        )
        .trim_end()
        .to_owned(),
        input_schema: original.map_or_else(anything, |original| original.input_schema.clone()),
        output_schema: Some(output.unwrap_or_else(anything)),
        annotations: Annotations {
            read_only: reads,
            idempotent: reads,
            ..Annotations::READ
        },
        capability: tool.capability,
        raise: Raise::default(),
        telling: original.map_or_else(Telling::default, |original| original.telling.clone()),
        provider_id: "stub".to_owned(),
        requires_confirm: false,
        timeout_ms: 5_000,
        toolsets: vec!["stub".to_owned()],
        requires_explicit_toolset: false,
        surfaces: Surface::ALL.to_vec(),
        caching: if reads {
            Caching::Session
        } else {
            Caching::Never
        },
        cost: if tool.units == 0 {
            Cost::Free
        } else {
            Cost::Fixed(Estimate {
                estimated: tool.units,
                worst_case: tool.units,
                confirm: tool.confirm,
            })
        },
        trust: TrustLevel::ALL.to_vec(),
        aliases: Vec::new(),
        service_command: None,
        shape: tollgate_core::Shape::Data,
        upstream: None,
        page: None,
        spelled: Spelled::default(),
        more: Map::new(),
        inactive: None,
    }
}
