//! Texts that did not fit into an answer, kept for whoever asked and readable as resources.
//!
//! What is kept was cleaned first; what is read passes the gate and is cleaned by all of its rules.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tollgate_core::{
    Answer, CallContext, Offers, Payload, ProviderError, StoreError, TemplateSpec, ToolResult,
    canonical::hex_digest,
};
use tollgate_sanitize::{Sanitizer, Scope};

use super::tools::Reader;

const BASE: &str = "web://pages/";
/// How long a text is kept.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// How much one reading gives.
const PIECE: usize = 256 << 10;

/// Where a whole text is kept.
#[derive(Serialize, JsonSchema)]
pub(super) struct Kept {
    /// Its address as a resource; `/1`, `/2` and so on behind it read on.
    uri: String,
    /// What it is.
    mime_type: String,
    /// How many bytes it has.
    bytes: usize,
    /// In how many pieces it can be read.
    pieces: usize,
    /// The digest of what is kept.
    #[schemars(extend("x-identifier" = true))]
    sha256: String,
}

/// Keeps a text for a day; the same text is kept once.
pub(super) async fn keep(
    reader: &Reader,
    cx: &CallContext,
    text: &str,
) -> Result<Kept, ProviderError> {
    let clean = Sanitizer::shipped().text(text, &Scope::open_world()).text;
    let sha256 = hex_digest(clean.as_bytes());
    let until = reader.clock.now().plus(KEPT_FOR);
    let kept = cx
        .state
        .compare_and_put(&key(&sha256), None, clean.as_bytes().to_vec(), Some(until))
        .await;
    match kept {
        Ok(_) | Err(StoreError::Conflict) => {}
        Err(error) => return Err(ProviderError::unavailable(error)),
    }
    Ok(Kept {
        uri: format!("{BASE}{sha256}"),
        mime_type: "text/plain".to_owned(),
        bytes: clean.len(),
        pieces: clean.len().div_ceil(PIECE),
        sha256,
    })
}

fn key(digest: &str) -> String {
    format!("page/{digest}")
}

pub(super) fn offers() -> Offers {
    let about = "The whole text of a page that did not fit into the answer of web.fetch, for a day";
    Offers {
        templates: vec![
            TemplateSpec::new("web://pages/{id}", "web_page", about, "text/plain"),
            TemplateSpec::new(
                "web://pages/{id}/{piece}",
                "web_page_piece",
                about,
                "text/plain",
            ),
        ],
        base: Some(BASE.to_owned()),
        open_world: true,
        ..Offers::default()
    }
}

pub(super) async fn read(arguments: &Value, cx: &CallContext) -> Result<Answer, ProviderError> {
    let uri = arguments["uri"].as_str().unwrap_or_default();
    let gone = || ProviderError {
        suggestion: Some("Fetch the page again; its text is kept for a day.".to_owned()),
        next_steps: vec!["web.fetch".to_owned()],
        ..ProviderError::not_found("no such page is kept")
    };
    let name = uri.strip_prefix(BASE).ok_or_else(gone)?;
    let (id, piece) = match name.split_once('/') {
        Some((id, piece)) => (id, piece.parse::<usize>().map_err(|_| gone())?),
        None => (name, 0),
    };
    let found = cx.state.get(&key(id)).await;
    let found = found
        .map_err(ProviderError::unavailable)?
        .ok_or_else(gone)?;
    let text = String::from_utf8(found.value).map_err(ProviderError::unavailable)?;
    let from = piece.saturating_mul(PIECE);
    if piece > 0 && from >= text.len() {
        return Err(gone());
    }
    // Adjoining pieces add up to the whole.
    let start = text.floor_char_boundary(from);
    let end = text.floor_char_boundary(from.saturating_add(PIECE).min(text.len()));
    let payload = Payload::from(json!({
        "contents": [{
            "uri": uri,
            "mimeType": "text/plain",
            "text": &text[start..end],
            "_meta": {
                "tollgate/total_bytes": text.len(),
                "tollgate/pieces": text.len().div_ceil(PIECE),
            },
        }],
    }));
    Ok(Answer::Done(ToolResult::ok(payload)))
}
