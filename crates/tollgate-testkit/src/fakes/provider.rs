//! A provider that does what a test tells it to, and remembers what it was asked.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use serde_json::Value;
use tollgate_core::{
    Answer, CallContext, InputAsk, InputRequest, InputResponses, Payload, Provider, ProviderError,
    SessionKey, ToolCall, ToolResult, ToolSpec,
};

/// What a tool of a [`FakeProvider`] answers.
pub type Reply = Pin<Box<dyn Future<Output = Result<Answer, ProviderError>> + Send>>;

type Run = Box<dyn Fn(ToolCall, CallContext) -> Reply + Send + Sync>;

/// One call as it reached the provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The tool.
    pub tool: String,
    /// The arguments, byte for byte.
    pub arguments: String,
    /// What the provider got back of what it had asked for.
    pub responses: Option<InputResponses>,
    /// The `traceparent` it would hand on.
    pub traceparent: String,
}

/// A scripted provider.
pub struct FakeProvider {
    id: String,
    tools: Vec<(ToolSpec, Run)>,
    seen: Mutex<Vec<Seen>>,
    left: Mutex<Vec<String>>,
    broken: Option<String>,
}

impl FakeProvider {
    /// A provider without tools.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            tools: Vec::new(),
            seen: Mutex::default(),
            left: Mutex::default(),
            broken: None,
        }
    }

    /// A provider that cannot say what it offers.
    pub fn broken(id: impl Into<String>, cause: impl Into<String>) -> Self {
        Self {
            broken: Some(cause.into()),
            ..Self::new(id)
        }
    }

    /// Adds a tool; its spec is made to name this provider.
    #[must_use]
    pub fn tool<F, R>(mut self, spec: ToolSpec, run: F) -> Self
    where
        F: Fn(ToolCall, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Answer, ProviderError>> + Send + 'static,
    {
        let spec = ToolSpec {
            provider_id: self.id.clone(),
            ..spec
        };
        let run: Run = Box::new(move |call, cx| Box::pin(run(call, cx)));
        self.tools.push((spec, run));
        self
    }

    /// Every call that reached it, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Every conversation that it was told the end of, in order.
    pub fn left(&self) -> Vec<String> {
        self.left
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How many calls reached it.
    pub fn count(&self) -> usize {
        self.seen().len()
    }
}

#[async_trait]
impl Provider for FakeProvider {
    fn id(&self) -> &str {
        &self.id
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        match &self.broken {
            Some(cause) => Err(ProviderError::unavailable(cause.clone())),
            None => Ok(self.tools.iter().map(|(spec, _)| spec.clone()).collect()),
        }
    }

    async fn leave(&self, conversation: &SessionKey) {
        self.left
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(conversation.handle.clone());
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        let tool = self.tools.iter().find(|(spec, _)| spec.name == call.tool);
        let Some((_, run)) = tool else {
            return Err(ProviderError::not_found("no such tool here"));
        };
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Seen {
                tool: call.tool.as_str().to_owned(),
                arguments: call.arguments.raw().to_owned(),
                responses: cx.responses.clone(),
                traceparent: cx.trace.traceparent(),
            });
        run(call, cx).await
    }
}

/// Answers this data every time.
pub fn says(data: Value) -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync {
    let payload = Payload::from(data);
    move |_, _| {
        let result = ToolResult::ok(payload.clone());
        Box::pin(async move { Ok(Answer::Done(result)) })
    }
}

/// Fails like this every time.
pub fn fails(
    error: impl Fn() -> ProviderError + Send + Sync,
) -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync {
    move |_, _| {
        let error = error();
        Box::pin(async move { Err(error) })
    }
}

/// Asks the human this once, wants `state` back, and then answers with what it was told.
pub fn asks(
    question: Value,
    state: Vec<u8>,
) -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync {
    asks_for(InputAsk::Elicitation(Payload::from(question)), state)
}

/// The same with a question of any kind.
pub fn asks_for(
    question: InputAsk,
    state: Vec<u8>,
) -> impl Fn(ToolCall, CallContext) -> Reply + Send + Sync {
    move |_, cx| {
        let answer = match cx.responses {
            Some(responses) => {
                let told: BTreeMap<_, _> = responses.answers;
                Payload::from_serialize(&told)
                    .map(|payload| Answer::Done(ToolResult::ok(payload)))
                    .map_err(ProviderError::unavailable)
            }
            None => Ok(Answer::NeedsInput(InputRequest {
                asks: BTreeMap::from([("name".to_owned(), question.clone())]),
                state: state.clone(),
            })),
        };
        Box::pin(async move { answer })
    }
}
