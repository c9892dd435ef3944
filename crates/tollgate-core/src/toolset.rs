//! A provider whose tools are plain async functions.

pub mod bounds;

use std::{collections::HashMap, future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
use schemars::{JsonSchema, generate::SchemaSettings, transform::transform_subschemas};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    call::{Answer, CallContext, ToolCall, ToolResult},
    identity::{Surface, TrustLevel},
    name::{NameError, ToolName},
    payload::Payload,
    provider::{Provider, ProviderError},
    schema::Schema,
    spec::{Annotations, Caching, Capability, Cost, Raise, ToolSpec},
    telling::Telling,
};

/// How long a tool may take when it does not say.
const DEFAULT_TIMEOUT_MS: u64 = 30_000;

/// Everything a tool declares that its types do not.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The canonical id.
    pub name: &'static str,
    /// A short title for people.
    pub title: &'static str,
    /// What it does, when to use it, what success looks like, the usual failures.
    pub description: &'static str,
    /// What it does to the world.
    pub annotations: Annotations,
    /// The least a call can do.
    pub capability: Capability,
    /// How arguments raise it.
    pub raise: Raise,
    /// Whether answers may be reused.
    pub caching: Caching,
    /// What a call costs.
    pub cost: Cost,
    /// The sets it is listed in.
    pub toolsets: &'static [&'static str],
    /// Whether a human must agree to each call by itself.
    pub confirm: bool,
    /// How long a call may take.
    pub timeout_ms: u64,
    /// The page that shows its answers, for clients that show pages.
    pub page: Option<&'static str>,
    /// What it tells beside its answers.
    pub telling: Telling,
    /// Whether it calls another tool and answers with its result: no schema of its own describes
    /// that, and clients are told that it may do anything. The rules decide about the other tool.
    pub forwards: bool,
}

impl Tool {
    /// A tool that changes nothing and whose answers are not kept.
    pub fn read(name: &'static str, title: &'static str, description: &'static str) -> Self {
        Self {
            name,
            title,
            description,
            annotations: Annotations::READ,
            capability: Capability::L0,
            raise: Raise::default(),
            caching: Caching::Never,
            cost: Cost::Free,
            toolsets: &[],
            confirm: false,
            timeout_ms: DEFAULT_TIMEOUT_MS,
            page: None,
            telling: Telling::default(),
            forwards: false,
        }
    }

    /// A tool that writes.
    pub fn write(name: &'static str, title: &'static str, description: &'static str) -> Self {
        Self {
            annotations: Annotations {
                read_only: false,
                idempotent: false,
                ..Annotations::READ
            },
            capability: Capability::L1,
            ..Self::read(name, title, description)
        }
    }

    /// Puts it into toolsets.
    #[must_use]
    pub fn sets(mut self, toolsets: &'static [&'static str]) -> Self {
        self.toolsets = toolsets;
        self
    }

    /// Lets the session keep answers.
    #[must_use]
    pub fn cached(mut self) -> Self {
        self.caching = Caching::Session;
        self
    }
}

/// Pairs each spec with the function that runs it, so neither can drift.
///
/// The schemas come from the function's own argument and return types.
pub struct ToolSet<S> {
    id: &'static str,
    state: Arc<S>,
    order: Vec<&'static str>,
    tools: HashMap<&'static str, Entry<S>>,
}

struct Entry<S> {
    tool: Tool,
    input: fn() -> Value,
    output: fn() -> Value,
    run: Run<S>,
}

type Run<S> = Box<dyn Fn(Arc<S>, ToolCall, CallContext) -> Reply + Send + Sync>;
type Reply = Pin<Box<dyn Future<Output = Result<Answer, ProviderError>> + Send>>;

/// What a tool function may return: plain data, or a result it shaped itself.
pub enum Output<O> {
    /// The tool's `data`.
    Data(O),
    /// A result with status, warnings, usage or blocks of its own.
    Result(Box<ToolResult>),
}

impl<S: Send + Sync + 'static> ToolSet<S> {
    /// A provider without tools.
    pub fn new(id: &'static str, state: S) -> Self {
        Self::sharing(id, Arc::new(state))
    }

    /// A provider without tools, over a state that others hold too.
    pub fn sharing(id: &'static str, state: Arc<S>) -> Self {
        Self {
            id,
            state,
            order: Vec::new(),
            tools: HashMap::new(),
        }
    }

    /// Adds a tool whose answer is its data.
    #[must_use]
    pub fn tool<A, O, F, R>(self, tool: Tool, run: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send,
        O: Serialize + JsonSchema + Send,
        F: Fn(Arc<S>, A, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ProviderError>> + Send + 'static,
    {
        self.shaped(tool, move |state, args: A, cx| {
            let answer = run(state, args, cx);
            async move { answer.await.map(Output::Data) }
        })
    }

    /// Adds a tool that shapes its result itself.
    #[must_use]
    pub fn shaped<A, O, F, R>(mut self, tool: Tool, run: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send,
        O: Serialize + JsonSchema + Send,
        F: Fn(Arc<S>, A, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Output<O>, ProviderError>> + Send + 'static,
    {
        let run = move |state: Arc<S>, call: ToolCall, cx: CallContext| -> Reply {
            match serde_json::from_str(call.arguments.raw()) {
                Ok(args) => {
                    let answer = run(state, args, cx);
                    Box::pin(async move { to_answer(answer.await?) })
                }
                Err(error) => {
                    Box::pin(async move { Err(ProviderError::rejected(error.to_string())) })
                }
            }
        };
        self.order.push(tool.name);
        let entry = Entry {
            input: schema::<A>,
            output: schema::<O>,
            run: Box::new(run),
            tool,
        };
        self.tools.insert(entry.tool.name, entry);
        self
    }

    fn spec(&self, entry: &Entry<S>) -> Result<ToolSpec, NameError> {
        let tool = &entry.tool;
        Ok(ToolSpec {
            name: ToolName::new(tool.name)?,
            title: tool.title.to_owned(),
            description: tool.description.to_owned(),
            input_schema: Schema::later(entry.input),
            output_schema: (!tool.forwards).then(|| Schema::later(entry.output)),
            annotations: tool.annotations,
            capability: tool.capability,
            raise: tool.raise.clone(),
            telling: tool.telling.clone(),
            provider_id: self.id.to_owned(),
            requires_confirm: tool.confirm,
            timeout_ms: tool.timeout_ms,
            toolsets: tool.toolsets.iter().map(|&set| set.to_owned()).collect(),
            requires_explicit_toolset: false,
            surfaces: Surface::ALL.to_vec(),
            caching: tool.caching,
            cost: tool.cost.clone(),
            trust: TrustLevel::ALL.to_vec(),
            aliases: Vec::new(),
            service_command: None,
            shape: crate::call::Shape::Data,
            upstream: None,
            page: tool.page.map(str::to_owned),
            spelled: crate::spelled::Spelled::default(),
            more: if tool.forwards {
                worst_hints()
            } else {
                Map::new()
            },
            inactive: None,
        })
    }
}

/// What clients are told of a tool that can turn out to be any other.
fn worst_hints() -> Map<String, Value> {
    let hints = json!({
        "readOnlyHint": false,
        "destructiveHint": true,
        "idempotentHint": false,
        "openWorldHint": true,
    });
    Map::from_iter([("annotations".to_owned(), hints)])
}

/// The schema of a type, self-contained and without noise: a model pays for every word.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(without_noise);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("$schema");
    schema.remove("title");
    schema.to_value()
}

/// Takes out what says nothing: that a value which may be absent is null then, and how wide
/// its number is inside the program.
fn without_noise(schema: &mut schemars::Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| format.starts_with("uint")) {
        schema.remove("format");
    }
    transform_subschemas(&mut without_noise, schema);
}

fn to_answer<O: Serialize>(output: Output<O>) -> Result<Answer, ProviderError> {
    let result = match output {
        Output::Data(data) => {
            let payload = Payload::from_serialize(&data).map_err(ProviderError::unavailable)?;
            ToolResult::ok(payload)
        }
        Output::Result(result) => *result,
    };
    Ok(Answer::Done(result))
}

#[async_trait]
impl<S: Send + Sync + 'static> Provider for ToolSet<S> {
    fn id(&self) -> &str {
        self.id
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        self.order
            .iter()
            .filter_map(|name| self.tools.get(name))
            .map(|entry| self.spec(entry).map_err(ProviderError::unavailable))
            .collect()
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        self.serve(call, cx).await
    }
}

impl<S: Send + Sync + 'static> ToolSet<S> {
    /// Runs one of these tools, for a provider that is made of them and of more.
    pub async fn serve(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        let Some(entry) = self.tools.get(call.tool.as_str()) else {
            let message = format!("there is no tool `{}` here", call.tool);
            return Err(ProviderError::not_found(message));
        };
        (entry.run)(Arc::clone(&self.state), call, cx).await
    }
}
