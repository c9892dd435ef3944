//! `json.get`: one place of a JSON document.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_core::{CallContext, Payload, ProviderError, Tool, ToolSet};

use super::Shared;

pub(super) fn add(tools: ToolSet<Shared>) -> ToolSet<Shared> {
    tools.tool(
        Tool::read(
            "json.get",
            "Read a place of a JSON document",
            "Reads the value at a JSON pointer (RFC 6901) of a JSON text. \
             Use it to pick one field out of a large answer. \
             Nothing there: `found` is false and the keys nearby are listed. \
             Success: the value. Fails: the text is no JSON.",
        )
        .sets(&["gate"])
        .cached(),
        get,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetArgs {
    /// The JSON text.
    #[schemars(length(max = 1_048_576))]
    json: String,
    /// Such as `/items/0/title`; empty for the whole document.
    #[schemars(length(max = 1000), regex(pattern = r"^(/.*)?$"))]
    pointer: String,
}

#[derive(Serialize, JsonSchema)]
struct Got {
    found: bool,
    value: Value,
    /// Keys of the deepest object on the way that exists.
    keys: Vec<String>,
}

async fn get(_: Arc<Shared>, args: GetArgs, _: CallContext) -> Result<Got, ProviderError> {
    let document = Payload::parse(args.json)
        .map_err(|error| ProviderError::rejected(format!("`json` is {error}")))?;
    let mut reached = document.value();
    let mut found = true;
    for token in args.pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let next = match reached {
            Value::Object(fields) => fields.get(&token),
            Value::Array(items) => token.parse::<usize>().ok().and_then(|at| items.get(at)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        match next {
            Some(next) => reached = next,
            None => {
                found = false;
                break;
            }
        }
    }
    Ok(Got {
        keys: keys(reached),
        value: if found { reached.clone() } else { Value::Null },
        found,
    })
}

fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => fields.keys().take(100).cloned().collect(),
        Value::Array(items) => vec![format!("0..{}", items.len())],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
