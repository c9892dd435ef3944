//! Deterministic answers for every name it is given, for offline work and rehearsals.
//!
//! The answer depends on the tool and its arguments only, so a rehearsal of a plan
//! gives the same picture every time.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tollgate_core::{
    Annotations, Answer, Caching, CallContext, Capability, Cost, ErrorCode, Estimate, Payload,
    Provider, ProviderError, Raise, Spelled, Surface, Telling, ToolCall, ToolName, ToolResult,
    ToolSpec, TrustLevel, Usage,
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
}

/// Offers whatever it is told to.
pub fn provider(settings: Settings) -> impl Provider {
    Stub {
        tools: settings.tools,
    }
}

#[async_trait]
impl Provider for Stub {
    fn id(&self) -> &str {
        "stub"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        Ok(self.tools.iter().map(spec).collect())
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
        let data = match &tool.answer {
            Some(answer) => Value::Object(answer.clone()),
            None => {
                let canonical = Node::of(&call.arguments).map(|node| node.print(Form::Jcs));
                let seed = format!("{}\n{}", call.tool, canonical.unwrap_or_default());
                json!({
                    "stub": true,
                    "tool": call.tool.as_str(),
                    "arguments": call.arguments.value(),
                    "answer_id": &hex_digest(seed.as_bytes())[..16],
                })
            }
        };
        let mut result = ToolResult::ok(Payload::from(data));
        result.usage = Usage {
            consumed: (tool.units > 0).then_some(tool.units),
        };
        Ok(Answer::Done(result))
    }
}

fn spec(tool: &StubTool) -> ToolSpec {
    let reads = tool.capability == Capability::L0;
    ToolSpec {
        name: tool.name.clone(),
        title: format!("Stand-in for {}", tool.name),
        description: format!(
            "Answers like `{}` would, without doing anything: the same arguments always give the same answer. \
             Use it to rehearse offline.",
            tool.name
        ),
        input_schema: json!({"type": "object"}).into(),
        output_schema: Some(json!({"type": "object"}).into()),
        annotations: Annotations {
            read_only: reads,
            idempotent: reads,
            ..Annotations::READ
        },
        capability: tool.capability,
        raise: Raise::default(),
        telling: Telling::default(),
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
        page: None,
        spelled: Spelled::default(),
        more: Map::new(),
        inactive: None,
    }
}
