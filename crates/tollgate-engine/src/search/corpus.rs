//! Reads tools out of the JSON shapes they travel in, so that benchmarks and importers index what the gate would.

use super::Document;
use serde_json::Value;

/// Nested objects deeper than this describe data, not the tool.
const MAX_DEPTH: usize = 4;
/// A schema with more properties than this is read in part.
const MAX_PARAMETERS: usize = 200;

/// Reads an array of tools, an MCP `tools/list` result, or its JSON-RPC envelope; `None` where there are no tools.
pub fn documents_from_corpus(json: &Value) -> Option<Vec<Document>> {
    let tools = json
        .as_array()
        .or_else(|| json.get("tools").and_then(Value::as_array))
        .or_else(|| json.pointer("/result/tools").and_then(Value::as_array))?;
    Some(tools.iter().filter_map(document).collect())
}

fn document(tool: &Value) -> Option<Document> {
    let name = tool.get("name").and_then(Value::as_str)?;
    let mut parameters = Vec::new();
    if let Some(schema) = tool
        .get("inputSchema")
        .or_else(|| tool.get("input_schema"))
        .or_else(|| tool.get("parameters"))
    {
        collect(schema, MAX_DEPTH, &mut parameters);
    }
    Some(Document {
        name: name.to_owned(),
        title: first_text(tool, &["/title", "/annotations/title"]),
        description: first_text(tool, &["/description"]),
        parameters,
        groups: texts(tool.get("toolsets").or_else(|| tool.get("groups"))),
        provider: first_text(tool, &["/server", "/provider"]),
        provider_description: first_text(tool, &["/server_description", "/provider_description"]),
        is_users: false,
    })
}

fn first_text(tool: &Value, pointers: &[&str]) -> String {
    pointers
        .iter()
        .find_map(|pointer| tool.pointer(pointer).and_then(Value::as_str))
        .unwrap_or_default()
        .to_owned()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    items
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Gathers property names and descriptions, also of nested objects and of array items.
fn collect(schema: &Value, depth: usize, into: &mut Vec<(String, String)>) {
    if depth == 0 {
        return;
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, property) in properties {
            if into.len() >= MAX_PARAMETERS {
                return;
            }
            into.push((
                name.clone(),
                first_text(property, &["/description", "/title"]),
            ));
            collect(property, depth - 1, into);
        }
    }
    if let Some(items) = schema.get("items") {
        collect(items, depth - 1, into);
    }
}
