//! The gate as a provider: its tools, and what can be read, begun and completed here.

use async_trait::async_trait;
use tollgate_core::{
    Answer, CallContext, Offers, Payload, Provider, ProviderError, ToolCall, ToolResult, ToolSet,
    ToolSpec, offer,
};

use super::{Handle, prompts, read};

/// A page of documentation that can be read as a resource.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Its name in addresses.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Its text, as Markdown.
    pub text: &'static str,
}

pub(super) struct GateProvider {
    tools: ToolSet<Handle>,
    handle: Handle,
    pages: Vec<Page>,
}

impl GateProvider {
    pub(super) fn new(tools: ToolSet<Handle>, handle: Handle, pages: Vec<Page>) -> Self {
        Self {
            tools,
            handle,
            pages,
        }
    }
}

#[async_trait]
impl Provider for GateProvider {
    fn id(&self) -> &str {
        self.tools.id()
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        self.tools.tools().await
    }

    async fn offers(&self) -> Result<Offers, ProviderError> {
        Ok(Offers {
            base: None,
            resources: read::resources(&self.pages),
            templates: read::templates(),
            prompts: prompts::all(),
            completes: true,
            open_world: false,
            instructions: None,
        })
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        let arguments = call.arguments.value();
        let value = match call.tool.as_str() {
            offer::READ => read::read(&self.handle, &self.pages, arguments, &cx).await?,
            offer::GET_PROMPT => prompts::get(arguments, &cx)?,
            offer::COMPLETE => read::complete(&self.handle, &self.pages, arguments, &cx)?,
            _ => return self.tools.serve(call, cx).await,
        };
        Ok(Answer::Done(ToolResult::ok(Payload::from(value))))
    }
}
