//! What can be read and begun beside the tools.

use serde_json::{Value, json};
use tollgate_core::{
    Answer, CallContext, Offers, Payload, PromptSpec, ProviderError, ResourceSpec, Spelling,
    TemplateSpec, ToolName, ToolResult,
};
use tollgate_keepa::{
    Domain, plan, prompts,
    resources::{self, Reader},
    service::Shelf,
    tool::{Profile, TOOLS, Tool},
};

use super::{Shared, serve::shown, world::CallWorld};

/// The most values a completion shows.
const COMPLETED: usize = 100;

pub(super) fn all() -> Offers {
    let resources = resources::STATIC
        .iter()
        .map(|(uri, name, about, mime)| ResourceSpec::new(uri, name, about, mime));
    let templates = resources::TEMPLATES
        .iter()
        .map(|(uri, name, about)| TemplateSpec::new(uri, name, about, "application/json"));
    let prompts = prompts::PROMPTS
        .iter()
        .map(|prompt| PromptSpec::new(prompt.name, prompt.about, prompt.arguments));
    Offers {
        base: None,
        resources: resources.collect(),
        templates: templates.collect(),
        prompts: prompts.collect(),
        completes: true,
        // Samples and answers hold texts from listings.
        open_world: true,
        instructions: None,
    }
}

fn done(value: Value) -> Answer {
    Answer::Done(ToolResult::ok(Payload::from(value)))
}

pub(super) fn read(
    shared: &Shared,
    arguments: &Value,
    cx: &CallContext,
) -> Result<Answer, ProviderError> {
    let uri = arguments["uri"].as_str().unwrap_or_default();
    let world = CallWorld::new(shared, cx);
    let content = Reader::new(&world)
        .read(uri)
        .map_err(|error| shown(error.into()))?;
    let text = if OURS.iter().any(|start| uri.starts_with(start)) {
        spelled(content.text, cx.spelling)
    } else {
        content.text
    };
    Ok(done(json!({
        "contents": [{"uri": uri, "mimeType": content.mime_type, "text": text}],
    })))
}

/// Documents that we write: they name tools as the reader was listed them.
const OURS: [&str; 5] = [
    "keepa://context/",
    "keepa://tools/",
    "keepa://toolsets/",
    "keepa://prompts/",
    "keepa://workflow/",
];

fn spelled(text: String, spelling: Spelling) -> String {
    if spelling != Spelling::Safe {
        return text;
    }
    // Longer names first: some begin like others.
    let mut names: Vec<String> = TOOLS.iter().map(Tool::name).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.into_iter().fold(text, |text, name| {
        let safe = ToolName::new(name.as_str()).map(|name| spelling.of(&name));
        let safe = safe.unwrap_or_else(|_| name.clone());
        let address = format!("keepa://tools/{name}");
        // What is an address stays one.
        let parts: Vec<String> = text
            .split(&address)
            .map(|part| part.replace(&name, &safe))
            .collect();
        parts.join(&address)
    })
}

pub(super) fn prompt(arguments: &Value, cx: &CallContext) -> Result<Answer, ProviderError> {
    let name = arguments["name"].as_str().unwrap_or_default();
    let given = arguments["arguments"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let mut prompt = prompts::get(name, &given).map_err(|error| shown(error.into()))?;
    if let Some(Value::String(text)) = prompt.pointer_mut("/messages/0/content/text") {
        *text = spelled(std::mem::take(text), cx.spelling);
    }
    Ok(done(prompt))
}

/// Values for arguments that have known ones.
pub(super) fn complete(shared: &Shared, arguments: &Value) -> Answer {
    let argument = &arguments["argument"];
    let typed = argument["value"].as_str().unwrap_or_default();
    let about = arguments["ref"]["uri"].as_str().unwrap_or_default();
    let known: Vec<String> = match argument["name"].as_str().unwrap_or_default() {
        "domain" => Domain::ALL
            .iter()
            .map(|one| one.code().to_owned())
            .collect(),
        "profile" => Profile::ALL
            .iter()
            .map(|one| one.name().to_owned())
            .collect(),
        "name" if about.contains("fixtures") => shared.files.names(Shelf::Fixtures),
        "name" if about.contains("tools") => TOOLS.iter().map(Tool::name).collect(),
        "name" if about.contains("prompts") => prompts::PROMPTS
            .iter()
            .map(|one| one.name.to_owned())
            .collect(),
        "name" => plan::NAMES.map(str::to_owned).to_vec(),
        "slug_or_file" => shared.files.names(Shelf::Pages),
        "goal" => ["research", "deal"].map(str::to_owned).to_vec(),
        _ => Vec::new(),
    };
    let lower = typed.to_lowercase();
    let fitting = known
        .into_iter()
        .filter(|one| one.to_lowercase().starts_with(&lower));
    let all: Vec<String> = fitting.collect();
    let total = all.len();
    let shown: Vec<&String> = all.iter().take(COMPLETED).collect();
    done(json!({
        "completion": {"values": shown, "total": total, "hasMore": total > COMPLETED},
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_and_addresses_stay() {
        let text = "keepa.cassettes_promote, keepa.cassettes_promote_and_verify at keepa://tools/keepa.products_get.";
        let safe = spelled(text.to_owned(), Spelling::Safe);
        let expected = "keepa_cassettes_promote, keepa_cassettes_promote_and_verify at keepa://tools/keepa.products_get.";
        assert_eq!(safe, expected);
        assert_eq!(spelled(text.to_owned(), Spelling::Canonical), text);
    }
}
