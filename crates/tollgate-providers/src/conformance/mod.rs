//! What the public MCP conformance suite expects to find on a server.
//!
//! The suite fixes the names and the answers. Everything here goes through the same door as
//! any tool, so passing the suite says something about the gate and not about a stand-in
//! beside it. It is offered only where an operator asks for it.

mod answers;
mod asks;
mod offers;
mod tasks;
mod tools;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use serde_json::Value;
use tollgate_core::{
    Answer, CallContext, Deferral, Notice, NoticeSink, Offers, Payload, Provider, ProviderError,
    Shape, ToolCall, ToolResult, ToolSpec, offer,
};

/// Names it in specs, in the audit log, and as a toolset.
const ID: &str = "conformance";

/// What calls can change.
#[derive(Default)]
struct Fixtures {
    notices: OnceLock<Arc<dyn NoticeSink>>,
    more_tools: AtomicBool,
    more_prompts: AtomicBool,
    updates: AtomicU64,
}

/// Offers everything the suite looks for.
pub fn provider() -> impl Provider {
    Fixtures::default()
}

impl Fixtures {
    fn notice(&self, notice: Notice) {
        if let Some(notices) = self.notices.get() {
            notices.notice(notice);
        }
    }

    /// Changes what is on offer when one of the tools that do so is called.
    fn change(&self, tool: &str) -> Option<Answer> {
        let said = match tool {
            "test_trigger_tool_change" => {
                let before = self.more_tools.fetch_xor(true, Ordering::SeqCst);
                self.notice(Notice::ListsChanged);
                format!("a tool was {}", if before { "removed" } else { "added" })
            }
            "test_trigger_prompt_change" => {
                let before = self.more_prompts.fetch_xor(true, Ordering::SeqCst);
                self.notice(Notice::ListsChanged);
                format!("a prompt was {}", if before { "removed" } else { "added" })
            }
            "test_trigger_resource_update" => {
                let updates = self.updates.fetch_add(1, Ordering::SeqCst) + 1;
                self.notice(Notice::ResourceUpdated(offers::WATCHED.to_owned()));
                format!("the watched resource was updated {updates} times")
            }
            _ => return None,
        };
        Some(answers::text(&said))
    }
}

#[async_trait]
impl Provider for Fixtures {
    fn id(&self) -> &str {
        ID
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        tools::all(self.more_tools.load(Ordering::SeqCst))
    }

    async fn offers(&self) -> Result<Offers, ProviderError> {
        Ok(offers::all(self.more_prompts.load(Ordering::SeqCst)))
    }

    fn deferral(&self, call: &ToolCall, has_answers: bool) -> Deferral {
        tasks::deferral(call.tool.as_str(), has_answers)
    }

    fn watch(&self, notices: Arc<dyn NoticeSink>) {
        // Watching twice is not foreseen; the first watcher stays.
        drop(self.notices.set(notices));
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        let arguments = call.arguments.value();
        let tool = call.tool.as_str();
        match tool {
            offer::READ => return offers::read(arguments, self.updates.load(Ordering::SeqCst)),
            offer::GET_PROMPT => return offers::prompt(arguments, &cx),
            offer::COMPLETE => return Ok(offers::complete(arguments)),
            _ => {}
        }
        if let Some(answer) = self
            .change(tool)
            .or_else(|| asks::call(tool, arguments, &cx))
        {
            return Ok(answer);
        }
        if let Some(answer) = tasks::call(tool, arguments, &cx).await {
            return answer;
        }
        match answers::call(tool, arguments, &cx).await {
            Some(answer) => Ok(answer),
            None => Err(ProviderError::not_found(format!("there is no `{tool}`"))),
        }
    }
}

/// A result in MCP's own form.
fn native(result: Value) -> Answer {
    Answer::Done(ToolResult {
        shape: Shape::Native,
        ..ToolResult::ok(Payload::from(result))
    })
}
