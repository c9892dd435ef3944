//! What can be read, begun and completed.

use serde_json::{Value, json};
use tollgate_core::{
    Answer, CallContext, Offers, Payload, PromptSpec, ProviderError, ResourceSpec, TemplateSpec,
    ToolResult,
};

use super::{
    answers::IMAGE,
    asks::{Heard, ask, form},
};

/// The resource that changes when it is told to.
pub(super) const WATCHED: &str = "test://watched-resource";

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const TEMPLATE: &str = "test://template/{id}/data";
const TEMPLATE_START: &str = "test://template/";
const TEMPLATE_END: &str = "/data";

pub(super) fn all(more_prompts: bool) -> Offers {
    let mut prompts = vec![
        PromptSpec::new("test_simple_prompt", "A prompt without arguments", &[]),
        PromptSpec::new(
            "test_prompt_with_arguments",
            "A prompt with two arguments",
            &[
                ("arg1", "First test argument", true),
                ("arg2", "Second test argument", true),
            ],
        ),
        PromptSpec::new(
            "test_prompt_with_embedded_resource",
            "A prompt that holds a resource",
            &[("resourceUri", "The resource to hold", true)],
        ),
        PromptSpec::new(
            "test_prompt_with_image",
            "A prompt that holds an image",
            &[],
        ),
        PromptSpec::new(
            "test_input_required_result_prompt",
            "A prompt that asks for its context",
            &[],
        ),
    ];
    if more_prompts {
        prompts.push(PromptSpec::new(
            "test_changing_prompt",
            "A prompt that comes and goes",
            &[],
        ));
    }
    Offers {
        base: None,
        resources: vec![
            ResourceSpec::new(TEXT, "static-text", "A text", "text/plain"),
            ResourceSpec::new(BINARY, "static-binary", "An image", "image/png"),
            ResourceSpec::new(
                WATCHED,
                "watched-resource",
                "A text that changes",
                "text/plain",
            ),
        ],
        templates: vec![TemplateSpec::new(
            TEMPLATE,
            "template",
            "A record by its id",
            "application/json",
        )],
        prompts,
        completes: true,
        open_world: false,
        instructions: None,
    }
}

fn done(value: Value) -> Answer {
    Answer::Done(ToolResult::ok(Payload::from(value)))
}

pub(super) fn read(arguments: &Value, updates: u64) -> Result<Answer, ProviderError> {
    let uri = arguments["uri"].as_str().unwrap_or_default();
    let text =
        |mime_type: &str, text: &str| json!({"uri": uri, "mimeType": mime_type, "text": text});
    let content = match uri {
        TEXT => text(
            "text/plain",
            "This is the content of the static text resource.",
        ),
        WATCHED => text("text/plain", &format!("updated {updates} times")),
        BINARY => json!({"uri": uri, "mimeType": "image/png", "blob": IMAGE}),
        _ => {
            let id = uri
                .strip_prefix(TEMPLATE_START)
                .and_then(|rest| rest.strip_suffix(TEMPLATE_END))
                .filter(|id| !id.is_empty() && !id.contains('/'))
                .ok_or_else(|| ProviderError::not_found("there is no such resource"))?;
            let record = json!({
                "id": id,
                "templateTest": true,
                "data": format!("Data for ID: {id}"),
            });
            text("application/json", &record.to_string())
        }
    };
    Ok(done(json!({"contents": [content]})))
}

pub(super) fn prompt(arguments: &Value, cx: &CallContext) -> Result<Answer, ProviderError> {
    let name = arguments["name"].as_str().unwrap_or_default();
    let given = |name: &str| -> Result<&str, ProviderError> {
        arguments["arguments"][name]
            .as_str()
            .ok_or_else(|| ProviderError::rejected(format!("the argument `{name}` is missing")))
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let contents = match name {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_changing_prompt" => vec![text("This prompt comes and goes.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (given("arg1")?, given("arg2")?);
            let said = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
            vec![text(&said)]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({
                "uri": given("resourceUri")?,
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            });
            vec![
                json!({"type": "resource", "resource": resource}),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            json!({"type": "image", "data": IMAGE, "mimeType": "image/png"}),
            text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => {
            let heard = Heard(cx.responses.as_ref());
            let Some(context) = heard.field("user_context", "context") else {
                let form = form(
                    "What context should the prompt use?",
                    json!({"context": {"type": "string"}}),
                    &["context"],
                );
                return Ok(ask(vec![("user_context", form)], String::new()));
            };
            vec![text(&format!("Begin with this context: {context}"))]
        }
        _ => return Err(ProviderError::not_found("there is no such prompt")),
    };
    let messages = contents
        .into_iter()
        .map(|content| json!({"role": "user", "content": content}));
    Ok(done(json!({"messages": messages.collect::<Vec<_>>()})))
}

pub(super) fn complete(arguments: &Value) -> Answer {
    let begun = arguments["argument"]["value"].as_str().unwrap_or_default();
    let known = ["park", "paris", "party", "test-one", "test-two"];
    let values: Vec<_> = known
        .iter()
        .filter(|word| word.starts_with(begun))
        .collect();
    done(json!({"completion": {"values": values, "total": values.len(), "hasMore": false}}))
}
