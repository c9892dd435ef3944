//! What the tools say about themselves.

use serde_json::{Value, json};
use tollgate_core::{
    Annotations, Caching, Capability, Cost, ErrorCode, ProviderError, Raise, Spelled, Surface,
    Telling, ToolName, ToolSpec, TrustLevel,
};

use super::ID;

/// How long a call may take.
const TIMEOUT_MS: u64 = 10_000;
/// How long one may take that is told how long to take.
const SLOW_MS: u64 = 610_000;

/// Tools without arguments, and what they are for.
const PLAIN: &[(&str, &str)] = &[
    ("failing_job", "Fails after a while"),
    ("multi_input", "Asks two things at once, in a task"),
    ("protocol_error_job", "Breaks after a while"),
    ("test_tool_with_task", "Asks first, and goes on as a task"),
    ("test_audio_content", "Answers with a sound"),
    (
        "test_elicitation_sep1034_defaults",
        "Asks with a default for every kind of field",
    ),
    (
        "test_elicitation_sep1330_enums",
        "Asks with every kind of choice",
    ),
    ("test_embedded_resource", "Answers with a resource"),
    ("test_error_handling", "Always fails"),
    ("test_image_content", "Answers with an image"),
    (
        "test_input_required_result_capabilities",
        "Asks for what the client can answer",
    ),
    (
        "test_input_required_result_elicitation",
        "Asks the human for a name",
    ),
    (
        "test_input_required_result_list_roots",
        "Asks for the client's roots",
    ),
    (
        "test_input_required_result_multi_round",
        "Asks twice, one after the other",
    ),
    (
        "test_input_required_result_multiple_inputs",
        "Asks for three things at once",
    ),
    (
        "test_input_required_result_request_state",
        "Asks, and expects its state back",
    ),
    (
        "test_input_required_result_sampling",
        "Asks the client's model",
    ),
    (
        "test_input_required_result_tampered_state",
        "Asks, and expects its state unchanged",
    ),
    ("test_logging_tool", "Logs three lines at once"),
    (
        "test_missing_capability",
        "Cannot do without the client's model",
    ),
    (
        "test_multiple_content_types",
        "Answers with a text, an image and a resource",
    ),
    ("test_reconnection", "Answers after a pause"),
    ("test_simple_text", "Answers with a text"),
    (
        "test_streaming_elicitation",
        "Reports progress, then asks the human",
    ),
    ("test_tool_with_logging", "Logs three lines with pauses"),
    ("test_tool_with_progress", "Reports progress three times"),
    ("test_trigger_prompt_change", "Adds or removes a prompt"),
    (
        "test_trigger_resource_update",
        "Changes the watched resource",
    ),
    ("test_trigger_tool_change", "Adds or removes a tool"),
];

pub(super) fn all(more_tools: bool) -> Result<Vec<ToolSpec>, ProviderError> {
    let nothing = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let plain = PLAIN
        .iter()
        .map(|(name, about)| spec(name, about, nothing.clone()));
    let mut specs = plain.collect::<Result<Vec<_>, _>>()?;
    specs.push(spec("greet", "Greets at once", one("name"))?);
    specs.push(spec(
        "confirm_delete",
        "Asks the human before it would delete",
        one("filename"),
    )?);
    specs.push(ToolSpec {
        timeout_ms: SLOW_MS,
        ..spec("slow_compute", "Takes so many seconds", slow())?
    });
    specs.push(spec(
        "test_sampling",
        "Asks the client's model what it is told",
        one("prompt"),
    )?);
    specs.push(spec(
        "test_elicitation",
        "Asks the human what it is told",
        one("message"),
    )?);
    specs.push(spec(
        "test_header_param",
        "Has an argument that is also a header",
        header(),
    )?);
    specs.push(spec(
        "json_schema_2020_12_tool",
        "Has arguments that only JSON Schema 2020-12 can describe",
        schema(),
    )?);
    if more_tools {
        specs.push(spec("test_changing_tool", "Comes and goes", nothing)?);
    }
    Ok(specs)
}

fn one(argument: &str) -> Value {
    json!({
        "type": "object",
        "properties": {argument: {"type": "string"}},
        "required": [argument],
        "additionalProperties": false,
    })
}

fn slow() -> Value {
    json!({
        "type": "object",
        "properties": {
            "seconds": {"type": "number", "minimum": 0, "maximum": 600},
            "label": {"type": "string"},
        },
        "additionalProperties": false,
    })
}

fn header() -> Value {
    json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
        "additionalProperties": false,
    })
}

/// Every keyword the suite wants to see again, unchanged.
fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {
            "properties": {"contactMethod": {"const": "phone"}},
            "required": ["contactMethod"],
        },
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

fn spec(name: &str, about: &str, input_schema: Value) -> Result<ToolSpec, ProviderError> {
    let name = ToolName::new(name)
        .map_err(|error| ProviderError::new(ErrorCode::Internal, error.to_string()))?;
    Ok(ToolSpec {
        title: about.to_owned(),
        description: format!("{about}, for the conformance suite."),
        input_schema: input_schema.into(),
        output_schema: None,
        annotations: Annotations::READ,
        capability: Capability::L0,
        raise: Raise::default(),
        telling: Telling::default(),
        provider_id: ID.to_owned(),
        requires_confirm: false,
        timeout_ms: TIMEOUT_MS,
        toolsets: vec![ID.to_owned()],
        requires_explicit_toolset: false,
        surfaces: Surface::ALL.to_vec(),
        caching: Caching::Never,
        cost: Cost::Free,
        trust: TrustLevel::ALL.to_vec(),
        aliases: Vec::new(),
        service_command: None,
        shape: tollgate_core::Shape::Native,
        upstream: None,
        page: None,
        spelled: Spelled::default(),
        more: serde_json::Map::new(),
        inactive: None,
        name,
    })
}
