//! Results as MCP clients are given them.
//!
//! Clients validate `structuredContent` against the schema they were listed and throw if it
//! does not fit. Invariant: what is sent fits what [`listed_schema`] lists, and what does not
//! is sent as text with `isError`, which no client validates.

mod error;
mod notice;
mod own;
mod upstream;

use serde_json::{Value, json};
use tollgate_core::{ResultForm, ResultView, Shape, ToolSpec};
use tollgate_engine::Outcome;

pub(super) use notice::MOST as NOTICE_BYTES;

use super::{Exchange, Server};

/// The result of a call, printed.
pub(super) async fn printed(
    server: &Server,
    exchange: &Exchange,
    tool: &str,
    outcome: Outcome,
) -> String {
    let is_passed_on = outcome.shape == Shape::Native
        && exchange.caller.results.form == ResultForm::Native
        && outcome.envelope.get().data.is_some();
    if is_passed_on {
        upstream::printed(server, exchange, &outcome).await
    } else {
        // Boxed, so that what is passed on does not carry its room.
        Box::pin(own::printed(server, exchange, tool, outcome)).await
    }
}

/// The schema that a client is listed for the structured content of a tool.
pub(super) fn listed_schema(spec: &ToolSpec, view: ResultView) -> Option<Value> {
    let view = view.of_tool(spec);
    match view.form {
        _ if view.content_only => None,
        ResultForm::Envelope => Some(loose_envelope()),
        ResultForm::Native => {
            let schema = spec.output_schema.as_deref()?;
            if spec.shape != Shape::Data {
                return Some(schema.clone());
            }
            // Clients take no other schema than that of an object.
            (schema["type"] == "object").then(|| outline(schema))
        }
    }
}

/// Which members an answer of a tool of ours always has. It is all that is listed, because a
/// list is read as a whole; `tools.describe` has the schema itself.
fn outline(schema: &Value) -> Value {
    let mut outline = json!({"type": "object"});
    if let Some(required) = schema.get("required") {
        outline["required"] = required.clone();
    }
    outline
}

/// What every envelope fits, errors included; the whole schema is for `tools.describe`.
fn loose_envelope() -> Value {
    json!({
        "type": "object",
        "required": ["ok", "status"],
        "properties": {"ok": {"type": "boolean"}, "status": {"type": "string"}, "data": {}, "error": {}},
    })
}
