//! What can be read of the bases, the prompt that begins a session, and the page that
//! shows one where a client can.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::{
    Offers, PromptSpec, ProviderError, ResourceSpec, Spelling, TemplateSpec, ToolName,
};
use tollgate_knowledge::{Base, GraphFormat, GraphOptions, Library, graph};

use super::tools::{INITIATE, NAVIGATE};
use crate::escape::{escaped, unescaped};

const SCHEME: &str = "knowledge://";
const BASES: &str = "knowledge://bases";
/// The page that shows a session with its options as buttons.
pub(super) const PAGE: &str = "ui://tollgate/knowledge";
const PAGE_TYPE: &str = "text/html;profile=mcp-app";
const PAGE_TEXT: &str = include_str!("page.html");
const PROMPT: &str = "guided_session";
/// The most values that are completed at once.
const MOST: usize = 100;
/// The most bytes of one read.
const MAX_READ: usize = 1 << 20;

/// The formats of a graph: how an address ends, what it is, how it is drawn.
const GRAPHS: &[(&str, &str, GraphFormat)] = &[
    ("svg", "image/svg+xml", GraphFormat::Svg),
    ("mmd", "text/vnd.mermaid", GraphFormat::Mermaid),
    ("dot", "text/vnd.graphviz", GraphFormat::Dot),
];

pub(super) fn all(library: &Library) -> Offers {
    let json = "application/json";
    let mut resources = vec![
        ResourceSpec::new(
            BASES,
            "knowledge bases",
            "Every knowledge base, with its address.",
            json,
        ),
        page(),
    ];
    for base in library.bases() {
        let uri = address(base);
        let named = |uri: &str, name: &str, about: &str, mime: &str| ResourceSpec {
            title: Some(base.title("").to_owned()),
            ..ResourceSpec::new(uri, name, about, mime)
        };
        let about = match base.description("") {
            "" => "A knowledge base.",
            about => about,
        };
        resources.push(named(&uri, base.id(), about, json));
        let graph = format!("{uri}/graph.svg");
        let name = format!("{} (graph)", base.id());
        resources.push(named(
            &graph,
            &name,
            "The knowledge base as a picture.",
            "image/svg+xml",
        ));
    }
    Offers {
        base: None,
        resources,
        templates: vec![
            TemplateSpec::new(
                "knowledge://{base}",
                "knowledge base",
                "What a knowledge base is about and what it asks for.",
                json,
            ),
            TemplateSpec::new(
                "knowledge://{base}/nodes/{node}",
                "knowledge node",
                "One step: what is said, in every language, and where each option leads.",
                json,
            ),
            TemplateSpec::new(
                "knowledge://{base}/graph.{format}",
                "knowledge graph",
                "The knowledge base as a picture: `svg`, `mmd` (Mermaid) or `dot` (Graphviz).",
                "text/plain",
            ),
        ],
        prompts: vec![PromptSpec {
            title: Some("Guided session".to_owned()),
            ..PromptSpec::new(
                PROMPT,
                "Walk the user through a consultation that an expert has prepared.",
                &[(
                    "question",
                    "What the user wants to know, word for word.",
                    true,
                )],
            )
        }],
        completes: true,
        open_world: false,
        instructions: None,
    }
}

fn page() -> ResourceSpec {
    let about = "A guided session with its options as buttons, for clients that show pages.";
    let mut more = Map::new();
    more.insert("_meta".to_owned(), json!({"ui": {"prefersBorder": true}}));
    ResourceSpec {
        title: Some("Guided session".to_owned()),
        more,
        ..ResourceSpec::new(PAGE, "guided session page", about, PAGE_TYPE)
    }
}

fn address(base: &Base) -> String {
    format!("{SCHEME}{}", escaped(base.id()))
}

/// Whether an address can be answered without any base.
pub(super) fn is_page(uri: &str) -> bool {
    uri == PAGE
}

/// The page itself.
pub(super) fn read_page() -> Value {
    json!({"contents": [{
        "uri": PAGE, "mimeType": PAGE_TYPE, "text": PAGE_TEXT,
        "_meta": {"ui": {"prefersBorder": true}},
    }]})
}

/// What an address stands for.
pub(super) fn read(library: &Library, uri: &str) -> Result<Value, ProviderError> {
    let lost = || {
        let known: Vec<String> = library.bases().iter().map(|base| address(base)).collect();
        let mut error = ProviderError::not_found(format!("there is nothing at `{uri}`"));
        error
            .details
            .insert("knowledge_bases".to_owned(), json!(known));
        error
    };
    if uri == BASES {
        let bases: Vec<Value> = library
            .bases()
            .iter()
            .map(|base| {
                let mut shown = base.describe();
                shown["uri"] = Value::from(address(base));
                shown
            })
            .collect();
        let bases = json!({"knowledge_bases": bases}).to_string();
        return content(uri, "application/json", bases);
    }
    let rest = uri.strip_prefix(SCHEME).ok_or_else(lost)?;
    let (id, below) = rest.split_once('/').unwrap_or((rest, ""));
    let id = unescaped(id).ok_or_else(lost)?;
    let base: &Arc<Base> = library.base(&id).ok_or_else(lost)?;
    if below.is_empty() {
        return content(uri, "application/json", base.describe().to_string());
    }
    if let Some(node) = below.strip_prefix("nodes/") {
        let node = unescaped(node).and_then(|node| base.describe_node(&node));
        let node = node.ok_or_else(lost)?;
        return content(uri, "application/json", node.to_string());
    }
    let ending = below.strip_prefix("graph.").ok_or_else(lost)?;
    let (_, mime, format) = GRAPHS
        .iter()
        .find(|(name, _, _)| *name == ending)
        .ok_or_else(lost)?;
    let drawn = graph(base, *format, &GraphOptions::default()).ok_or_else(lost)?;
    content(uri, mime, drawn.text)
}

/// One read; half a picture is none, so what is too long is refused.
fn content(uri: &str, mime: &str, text: String) -> Result<Value, ProviderError> {
    if text.len() > MAX_READ {
        let bytes = text.len();
        let message = format!("`{uri}` has {bytes} bytes, and one read gives at most {MAX_READ}");
        return Err(ProviderError {
            suggestion: Some(
                "Read single nodes, or let the operator draw a part: `tollgate knowledge graph --from NODE --depth N`."
                    .to_owned(),
            ),
            ..ProviderError::rejected(message)
        });
    }
    Ok(json!({"contents": [{"uri": uri, "mimeType": mime, "text": text}]}))
}

/// The values that go on from what was typed.
pub(super) fn complete(library: &Library, arguments: &Value) -> Value {
    let argument = &arguments["argument"];
    let typed = argument["value"].as_str().unwrap_or_default();
    let starts = |value: &&str| value.starts_with(typed);
    let base = arguments["context"]["arguments"]["base"].as_str();
    let base = base.and_then(unescaped).and_then(|id| library.base(&id));
    let found: Vec<&str> = match argument["name"].as_str() {
        Some("base") => library
            .bases()
            .iter()
            .map(|base| base.id())
            .filter(starts)
            .collect(),
        Some("format") => GRAPHS
            .iter()
            .map(|(name, _, _)| *name)
            .filter(starts)
            .collect(),
        Some("node") => base
            .into_iter()
            .flat_map(|base| base.node_ids())
            .filter(starts)
            .collect(),
        Some(_) | None => Vec::new(),
    };
    let values: Vec<String> = found
        .iter()
        .take(MOST)
        .map(|value| escaped(value))
        .collect();
    json!({"completion": {"values": values, "total": found.len(), "hasMore": found.len() > MOST}})
}

/// The prompt, in the spelling this client knows the tools by.
pub(super) fn prompt(arguments: &Value, spelling: Spelling) -> Result<Value, ProviderError> {
    let name = arguments["name"].as_str().unwrap_or_default();
    if name != PROMPT {
        return Err(ProviderError::not_found(format!(
            "there is no prompt `{name}`"
        )));
    }
    let question = arguments["arguments"]["question"]
        .as_str()
        .unwrap_or_default()
        .trim();
    if question.is_empty() {
        let message = format!("the prompt `{PROMPT}` needs the argument `question`");
        return Err(ProviderError::rejected(message));
    }
    let spelled = |name: &str| {
        ToolName::new(name).map_or_else(|_| name.to_owned(), |name| spelling.of(&name))
    };
    let (initiate, navigate) = (spelled(INITIATE), spelled(NAVIGATE));
    let text = format!(
        "The user asks: {question}\n\n\
         Answer with the consultation that an expert has prepared, step by step:\n\
         1. Call `{initiate}` with the question, word for word, as `user_query`. Keep `session_id`.\n\
         2. Say `response` to the user as it is. Translate it only if the user speaks another language, and add no facts of your own.\n\
         3. If `is_complete` is true, stop here. Otherwise show `options` as a numbered list of their `description`s and wait for the user.\n\
         4. Decide what the user's reply means. If it is one of the options, by number, by name or in other words, its `id` is `selected_option_id`. If it is none of them, or the step asks for something to be told, `selected_option_id` is `provide_more_info` and the reply, word for word, is `user_input`.\n\
         5. Call `{navigate}` with `session_id`, `selected_option_id` and, if there is one, `user_input`. Then go on with 2.\n\
         The user can also go `back`, `restart`, or ask `why`: these are ids that always work. If a call fails, its message says which ids fit, or that a new session has to begin."
    );
    Ok(json!({
        "description": "Walk the user through a consultation that an expert has prepared.",
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }))
}
