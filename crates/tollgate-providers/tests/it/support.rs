//! The single place these tests touch the API.

use serde_json::Value;
use tollgate_core::{Answer, ErrorCode, Provider, ToolResult};
use tollgate_testkit::{call_tool, fakes::context};

/// Runs a tool: its result, or the code it failed with.
pub(crate) async fn run(
    provider: &dyn Provider,
    tool: &str,
    arguments: Value,
) -> Result<ToolResult, ErrorCode> {
    match call_tool(provider, tool, arguments, context()).await {
        Ok(Answer::Done(result)) => Ok(result),
        Ok(Answer::NeedsInput(_)) => Err(ErrorCode::InputRequired),
        Err(error) => Err(error.code),
    }
}
