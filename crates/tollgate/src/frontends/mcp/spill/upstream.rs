//! Results of another server that are too large: its texts are cut to their limit together, its
//! structured content stays whole up to its own limit. The whole result is kept to be read on.

use serde_json::{Value, json, value::RawValue};
use tollgate_core::{Envelope, Fields, Payload};
use tollgate_engine::Outcome;

use super::{
    super::{Exchange, Server, results::NOTICE_BYTES},
    MANIFEST, digest,
    manifest::{self, Whole},
    readers, texts, warn,
};

const CONTENT: &str = "content";
const STRUCTURED: &str = "structuredContent";
/// The part of the text that says where the rest of it is.
const MANIFEST_PART: usize = 4;

/// What stands in the place of a result that is too large.
pub(in super::super) struct CutResult {
    /// What is said of the call.
    pub(in super::super) envelope: Envelope,
    /// All blocks but what is said of the call.
    pub(in super::super) blocks: Vec<String>,
    /// What a program is sent of the structured content, if that is too large.
    pub(in super::super) digest: Option<Payload>,
    /// Whether nothing that fits could be sent.
    pub(in super::super) is_refused: bool,
}

/// Whether a result may have to be cut: most are known not to by their length.
pub(in super::super) fn may_be_too_large(server: &Server, raw: &str) -> bool {
    let results = &server.results;
    raw.len() > results.native_text_bytes.min(results.structured_bytes)
}

/// Cuts what is too large; nothing if all of it is within the limits.
pub(in super::super) async fn cut(
    server: &Server,
    exchange: &Exchange,
    outcome: &Outcome,
    fields: &Fields<'_>,
) -> Option<CutResult> {
    let limit = server.results.native_text_bytes;
    let is_wanted = exchange.said.control.full_text;
    let content = fields.get(CONTENT).filter(|_| !is_wanted);
    let content = content.filter(|content| texts::length(content) > limit);
    let structured = fields.get(STRUCTURED);
    let structured = structured.filter(|it| it.get().len() > server.results.structured_bytes);
    if content.is_none() && structured.is_none() {
        return None;
    }
    let mut envelope = outcome.envelope.get().clone();
    let data = envelope.data.clone()?;
    let id = envelope.meta.call_id.clone();
    let whole = Whole {
        id: &id,
        bytes: data.raw().len(),
        piece: server.results.chunk_bytes,
    };
    let links = whole.links();
    let resources = manifest::entries(&links);
    let room = limit / MANIFEST_PART;
    let said = manifest::manifest(
        Some(&whole),
        Some(readers(server, exchange)),
        &resources,
        room,
    );
    let said = json!({MANIFEST: said}).to_string();
    let room = limit.saturating_sub(said.len() + NOTICE_BYTES);
    let short = content.and_then(|content| texts::cut(content, room));
    if let (Some(short), None) = (&short, structured)
        && short.is_complete
    {
        let blocks = short.blocks.clone();
        return Some(CutResult::new(envelope, blocks));
    }
    warn(&mut envelope);
    let kept = server
        .gateway
        .keep_result(&exchange.caller, &id, &data)
        .await;
    let is_kept = kept.is_ok();
    let part = structured.map(|structured| part(server, &envelope.tool, structured));
    let is_refused = matches!(part, Some(None));
    if is_refused {
        digest::refuse(server, &mut envelope, &whole, is_kept);
    }
    let mut blocks = match short {
        _ if is_refused => Vec::new(),
        Some(short) => short.blocks,
        None => blocks(fields),
    };
    if is_kept {
        if !is_refused {
            blocks.push(texts::plain(&said));
        }
        blocks.extend(links.iter().map(Value::to_string));
    }
    Some(CutResult {
        digest: part.flatten(),
        is_refused,
        ..CutResult::new(envelope, blocks)
    })
}

impl CutResult {
    fn new(envelope: Envelope, blocks: Vec<String>) -> Self {
        Self {
            envelope,
            blocks,
            digest: None,
            is_refused: false,
        }
    }
}

/// The blocks as they came.
fn blocks(fields: &Fields<'_>) -> Vec<String> {
    let content = fields.get(CONTENT).map_or("[]", RawValue::get);
    let blocks = serde_json::from_str::<Vec<&RawValue>>(content).unwrap_or_default();
    blocks.into_iter().map(|it| it.get().to_owned()).collect()
}

/// A part of the structured content that fits the schema of its tool.
fn part(server: &Server, tool: &str, structured: &RawValue) -> Option<Payload> {
    let value: Value = serde_json::from_str(structured.get()).ok()?;
    let fits = |part: &Value| {
        let gateway = &server.gateway;
        gateway.fits_output(tool, &json!({STRUCTURED: part}))
    };
    digest::of(&value, server.results.structured_bytes, fits).map(Payload::from)
}
