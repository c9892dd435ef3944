//! Results as a client reads them, and what happens to those that are too large.
//!
//! The text is shortened first; structured content stays whole up to its own limit, and
//! then holds a part that still fits what the tool promises. The whole of it is kept and
//! can be read on.

use serde_json::{Value, json, value::RawValue};
use tollgate_core::{
    Block, Condensed, Envelope, Payload, Warning,
    envelope::Nothing,
    print::{self, ObjectText, Print},
};
use tollgate_engine::{Outcome, outline};

use super::{Exchange, Server, era::SERVER_KEY, reply};

/// Tools that read by the piece already.
const EXEMPT: [&str; 2] = ["result.slice", "get_artifact"];
/// Pieces of a large result that are linked one by one.
const MAX_LINKS: usize = 8;
/// How a shortened text makes up for what it leaves out.
const STRATEGY: &str = "summary_with_resource_refs";

/// Whether a native result is to be shortened, because the operator wants it.
pub(super) fn wants_native(server: &Server, outcome: &Outcome) -> bool {
    let data = outcome.envelope.get().data.as_ref();
    server.results.spill_native
        && data.is_some_and(|data| data.raw().len() > server.results.text_bytes)
}

struct CallResult<'a> {
    is_modern: bool,
    content: &'a [Content<'a>],
    envelope: &'a Envelope,
    traceparent: &'a str,
}

impl Print for CallResult<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        if self.is_modern {
            object.text("resultType", "complete");
        }
        object.list("content", self.content);
        object.object("structuredContent", self.envelope);
        object.flag("isError", !self.envelope.ok);
        object.object("_meta", &ResultMeta(self));
    }
}

struct ResultMeta<'a>(&'a CallResult<'a>);

impl Print for ResultMeta<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        object.text("traceparent", self.0.traceparent);
        if self.0.is_modern {
            object.object(SERVER_KEY, &reply::ServerInfo);
        }
    }
}

enum Content<'a> {
    Text(String),
    Block(&'a RawValue),
    Link(Value),
}

impl Content<'_> {
    /// About how long it is in print.
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Block(block) => block.get().len(),
            Self::Link(_) => 256,
        }
    }
}

impl print::Item for Content<'_> {
    fn print(&self, text: &mut String) {
        match self {
            Self::Text(said) => ObjectText::write(text, |object| {
                object.text("type", "text");
                object.text("text", said);
            }),
            Self::Block(block) => text.push_str(block.get()),
            Self::Link(link) => text.push_str(&link.to_string()),
        }
    }
}

/// An envelope as text: compact, without `null` at the top.
pub(super) struct Compact<'a> {
    envelope: &'a Envelope,
    data: Option<&'a Payload>,
    manifest: Option<&'a Value>,
}

impl<'a> Compact<'a> {
    /// All of an envelope but its data.
    pub(super) fn about(envelope: &'a Envelope) -> Self {
        Self {
            envelope,
            data: None,
            manifest: None,
        }
    }
}

impl Print for Compact<'_> {
    fn print(&self, object: &mut ObjectText<'_>) {
        self.envelope
            .print_around(self.data, Nothing::LeftOut, object);
        if let Some(manifest) = self.manifest {
            object.value("mcp_resource_manifest", manifest);
        }
    }
}

/// An ending that is about to be printed.
pub(super) struct Shown {
    pub(super) envelope: Envelope,
    pub(super) blocks: Vec<Block>,
    /// How large all of it is, if the data is only a part and all of it is kept already.
    pub(super) whole: Option<usize>,
    pub(super) traceparent: String,
}

/// Prints the result of a call.
pub(super) async fn result(server: &Server, exchange: &Exchange, shown: Shown) -> String {
    let Shown {
        mut envelope,
        blocks,
        whole,
        traceparent,
    } = shown;
    let spilled = match whole {
        Some(size) => Some(part_of_whole(server, exchange, &mut envelope, size)),
        None => spill(server, exchange, &mut envelope).await,
    };
    let text = match &spilled {
        Some(spilled) => printed(&envelope, Some(&spilled.data), Some(&spilled.manifest)),
        None => printed(&envelope, envelope.data.as_ref(), None),
    };
    let mut content = vec![Content::Text(text)];
    content.extend(
        blocks
            .iter()
            .map(|Block(block)| Content::Block(block.raw_value())),
    );
    content.extend(
        spilled
            .into_iter()
            .flat_map(|it| it.links)
            .map(Content::Link),
    );
    // The text stands in it with escapes, and the envelope once more.
    let size = content.iter().map(Content::size).sum::<usize>();
    let result = CallResult {
        is_modern: exchange.is_modern(),
        content: &content,
        envelope: &envelope,
        traceparent: &traceparent,
    };
    print::printed(&result, size * 5 / 2 + 512)
}

fn printed(envelope: &Envelope, data: Option<&Payload>, manifest: Option<&Value>) -> String {
    let compact = Compact {
        envelope,
        data,
        manifest,
    };
    print::printed(&compact, data.map_or(0, |data| data.raw().len()) + 1024)
}

/// What stands in the place of a result that is too large.
struct Spilled {
    data: Payload,
    manifest: Value,
    links: Vec<Value>,
}

async fn spill(server: &Server, exchange: &Exchange, envelope: &mut Envelope) -> Option<Spilled> {
    let data = envelope.data.clone()?;
    let catalog = server.gateway.catalog();
    let listing = catalog.find(&envelope.tool);
    let name = listing.map_or("", |listing| listing.spec.name.as_str());
    if EXEMPT.contains(&name) {
        return None;
    }
    let open_world = listing.is_some_and(|listing| listing.spec.annotations.open_world);
    let longest = server.open_world_text;
    let cut = (open_world && data.raw().len() > longest)
        .then(|| shortened(data.value(), longest))
        .filter(|cut| cut != data.value());
    let large = data.raw().len() > server.results.text_bytes;
    let condensed = listing.and_then(|listing| listing.spec.telling.condensed(data.value()));
    if !large && cut.is_none() {
        return condensed.map(referring);
    }
    let id = envelope.meta.call_id.clone();
    let kept = server
        .gateway
        .keep_result(&exchange.caller, &id, &data)
        .await;
    if !envelope.warnings.contains(&Warning::TruncatedOutput) {
        envelope.warnings.push(Warning::TruncatedOutput);
    }
    let size = data.raw().len();
    if size > server.results.structured_bytes {
        let part = part(server, name, data.value(), server.results.structured_bytes);
        envelope.data = Some(Payload::from(part));
    }
    let (short, files) = condensed.map_or((None, Vec::new()), |it| (Some(it.data), it.resources));
    // One that only names its files is as long as before.
    let short = short.filter(|short| short != data.value());
    let shown = match (short, cut) {
        (Some(short), _) => shortened(&short, longest),
        (None, Some(cut)) if !large => cut,
        (None, Some(_) | None) => outline(&data),
    };
    let links = match kept {
        Ok(()) => links(&id, size, server.results.chunk_bytes),
        Err(_) => Vec::new(),
    };
    let pieces = links
        .iter()
        .map(|link| json!({"uri": link["uri"], "type": "result", "name": link["name"]}));
    let resources: Vec<Value> = files.into_iter().chain(pieces).collect();
    let manifest = json!({
        "strategy": STRATEGY,
        "result_id": id,
        "total_bytes": size,
        "resource_count": resources.len(),
        "resources": resources,
        "read_with": readers(server, exchange),
    });
    Some(Spilled {
        data: Payload::from(shown),
        manifest,
        links,
    })
}

/// The tools that read on, as this client calls them.
fn readers(server: &Server, exchange: &Exchange) -> [String; 2] {
    let catalog = server.gateway.catalog();
    ["result.slice", "result.search"].map(|name| {
        let found = catalog.find(name);
        found.map_or_else(
            || name.to_owned(),
            |listing| exchange.caller.spelling.of(&listing.spec.name),
        )
    })
}

/// An answer that its tool has cut to what fits: it is shown as it is, and says where the whole is.
fn part_of_whole(
    server: &Server,
    exchange: &Exchange,
    envelope: &mut Envelope,
    size: usize,
) -> Spilled {
    if !envelope.warnings.contains(&Warning::TruncatedOutput) {
        envelope.warnings.push(Warning::TruncatedOutput);
    }
    let id = &envelope.meta.call_id;
    Spilled {
        data: envelope
            .data
            .clone()
            .unwrap_or_else(|| Payload::from(Value::Null)),
        manifest: json!({
            "strategy": STRATEGY,
            "result_id": id,
            "total_bytes": size,
            "read_with": readers(server, exchange),
        }),
        links: links(id, size, size),
    }
}

/// The text of a result that is short enough but refers to files: what to read first, and their addresses.
fn referring(condensed: Condensed) -> Spilled {
    let Condensed { data, resources } = condensed;
    let links = resources.iter().take(MAX_LINKS).map(|file| {
        let mut link = json!({
            "type": "resource_link",
            "uri": file["uri"],
            "name": file["name"],
            "mimeType": file["mimeType"],
        });
        if file["size_bytes"].is_u64() {
            link["size"] = file["size_bytes"].clone();
        }
        link
    });
    let links = links.collect();
    Spilled {
        data: Payload::from(data),
        manifest: json!({
            "strategy": STRATEGY,
            "resource_count": resources.len(),
            "resources": resources,
        }),
        links,
    }
}

/// The whole of it, and its first pieces, as links.
fn links(id: &str, size: usize, piece: usize) -> Vec<Value> {
    let link = |uri: String, name: String, size: usize| {
        json!({
            "type": "resource_link", "uri": uri, "name": name, "mimeType": "text/plain", "size": size,
        })
    };
    let whole = format!("tollgate://results/{id}");
    let pieces = size.div_ceil(piece.max(1));
    let mut links = vec![link(whole.clone(), "whole result".to_owned(), size)];
    if pieces > 1 {
        links.extend((0..pieces.min(MAX_LINKS)).map(|number| {
            let size = piece.min(size - number * piece);
            link(
                format!("{whole}/{number}"),
                format!("piece {} of {pieces}", number + 1),
                size,
            )
        }));
    }
    links
}

/// The same value with long texts cut on a character boundary.
fn shortened(value: &Value, longest: usize) -> Value {
    match value {
        Value::String(text) if text.len() > longest => {
            let end = text.floor_char_boundary(longest);
            Value::String(format!("{}… ({} bytes in all)", &text[..end], text.len()))
        }
        Value::Array(items) => items.iter().map(|item| shortened(item, longest)).collect(),
        Value::Object(fields) => {
            let short = fields
                .iter()
                .map(|(name, value)| (name.clone(), shortened(value, longest)));
            Value::Object(short.collect())
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
    }
}

/// A part of a value that is small enough and still what the tool promises, else nothing.
fn part(server: &Server, tool: &str, value: &Value, limit: usize) -> Value {
    [(20, 1000), (5, 200), (1, 80), (0, 0)]
        .into_iter()
        .map(|(items, text)| thinned(value, items, text))
        .find(|part| part.to_string().len() <= limit / 2 && server.gateway.fits_output(tool, part))
        .unwrap_or(Value::Null)
}

fn thinned(value: &Value, items: usize, text: usize) -> Value {
    match value {
        Value::String(long) if long.len() > text => {
            Value::String(long[..long.floor_char_boundary(text)].to_owned())
        }
        Value::Array(all) => all
            .iter()
            .take(items)
            .map(|item| thinned(item, items, text))
            .collect(),
        Value::Object(fields) => {
            let thin = fields
                .iter()
                .map(|(name, value)| (name.clone(), thinned(value, items, text)));
            Value::Object(thin.collect())
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_on_characters() {
        let value = json!({"a": "关".repeat(10), "b": ["x", "é".repeat(9)]});
        let short = shortened(&value, 10);
        assert_eq!(short["a"], "关关关… (30 bytes in all)");
        assert_eq!(short["b"][0], "x");
        assert_eq!(short["b"][1], "ééééé… (18 bytes in all)");
    }

    #[test]
    fn pieces_are_linked_and_add_up() {
        let links = links("c1", 250, 100);
        let sizes: Vec<_> = links
            .iter()
            .map(|link| link["size"].as_u64().unwrap())
            .collect();
        assert_eq!(sizes, [250, 100, 100, 50]);
        assert_eq!(links[1]["uri"], "tollgate://results/c1/0");
        assert_eq!(super::links("c1", 50, 100).len(), 1);
    }
}
