//! Files below folders that the operator names, as resources.
//!
//! Invariant: nothing outside a named folder is ever opened; see `beneath.rs`.

mod open;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tollgate_core::{
    Answer, CallContext, Offers, Payload, Provider, ProviderError, ResourceSpec, TemplateSpec,
    ToolCall, ToolResult, ToolSpec, offer,
};

use crate::{beneath::relative, escape::unescaped};

/// What all addresses begin with.
const SCHEME: &str = "files://";
/// The most of one file that is read.
const MAX_READ: usize = 1 << 20;
/// The longest word that is taken off the end of a file that was cut.
const LAST_WORD: usize = 4096;
/// The most entries of one folder that are shown.
const MAX_ENTRIES: usize = 1000;

/// Which folders can be read.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Folders by name.
    pub roots: BTreeMap<String, PathBuf>,
}

/// The provider.
pub fn provider(settings: Settings) -> impl Provider {
    Files {
        roots: settings.roots,
    }
}

struct Files {
    roots: BTreeMap<String, PathBuf>,
}

#[async_trait]
impl Provider for Files {
    fn id(&self) -> &str {
        "files"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        Ok(Vec::new())
    }

    async fn offers(&self) -> Result<Offers, ProviderError> {
        if self.roots.is_empty() {
            return Ok(Offers::default());
        }
        let folder = |name: &String| {
            let uri = format!("{SCHEME}{name}/");
            ResourceSpec::new(&uri, name, "What this folder holds.", "application/json")
        };
        Ok(Offers {
            resources: self.roots.keys().map(folder).collect(),
            templates: vec![TemplateSpec::new(
                "files://{root}/{+path}",
                "file",
                "A file or folder below a named folder, up to 1 MB of it.",
                "application/octet-stream",
            )],
            completes: true,
            open_world: true,
            ..Offers::default()
        })
    }

    async fn call(&self, call: ToolCall, _: CallContext) -> Result<Answer, ProviderError> {
        let arguments = call.arguments.value();
        let value = match call.tool.as_str() {
            offer::READ => {
                let uri = arguments["uri"].as_str().unwrap_or_default().to_owned();
                let (root, path) = self.place(&uri)?;
                let read = tokio::task::spawn_blocking(move || read(&uri, &root, &path)).await;
                read.map_err(ProviderError::unavailable)??
            }
            offer::COMPLETE => self.complete(&arguments["argument"]),
            other => {
                let message = format!("there is no tool `{other}` here");
                return Err(ProviderError::not_found(message));
            }
        };
        Ok(Answer::Done(ToolResult::ok(Payload::from(value))))
    }
}

impl Files {
    /// The folder and the path below it that an address names.
    fn place(&self, uri: &str) -> Result<(PathBuf, PathBuf), ProviderError> {
        let unknown = || lost(uri);
        let rest = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
        let (root, path) = rest.split_once('/').unwrap_or((rest, ""));
        let root = self.roots.get(root).ok_or_else(unknown)?;
        let path = below(path).ok_or_else(unknown)?;
        Ok((root.clone(), path))
    }

    fn complete(&self, argument: &Value) -> Value {
        let typed = argument["value"].as_str().unwrap_or_default();
        let known = self.roots.keys().filter(|name| name.starts_with(typed));
        let values: Vec<&String> = match argument["name"].as_str() {
            Some("root") => known.collect(),
            Some(_) | None => Vec::new(),
        };
        let total = values.len();
        json!({"completion": {"values": values, "total": total, "hasMore": false}})
    }
}

fn lost(uri: &str) -> ProviderError {
    ProviderError::not_found(format!("there is no file `{uri}`"))
}

/// A path that only leads down; every escape is read once, and what is odd then is refused.
fn below(path: &str) -> Option<PathBuf> {
    relative(&unescaped(path)?)
}

fn read(uri: &str, root: &Path, path: &Path) -> Result<Value, ProviderError> {
    let content = match open::open(root, path, MAX_READ).map_err(|_| lost(uri))? {
        open::Found::Folder(names) => {
            let text = json!({"entries": names}).to_string();
            json!({"uri": uri, "mimeType": "application/json", "text": text})
        }
        open::Found::File { bytes, total } => {
            let mime = mime(path);
            let cut = total > MAX_READ as u64;
            let mut content = json!({"uri": uri, "mimeType": mime});
            match text(&bytes, mime, cut) {
                Some(text) => content["text"] = Value::String(text),
                None => content["blob"] = Value::String(STANDARD.encode(&bytes)),
            }
            if total > MAX_READ as u64 {
                content["_meta"] =
                    json!({"tollgate/truncated": true, "tollgate/total_bytes": total});
            }
            content
        }
    };
    Ok(json!({"contents": [content]}))
}

/// The text of a file that is text: whatever its encoding, so that it can be cleaned.
fn text(bytes: &[u8], mime: &str, cut: bool) -> Option<String> {
    let wide = |of: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|two| of([two[0], two[1]]));
        let text: String = char::decode_utf16(units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        text
    };
    let mut text = match (bytes, std::str::from_utf8(bytes)) {
        ([0xff, 0xfe, ..], _) => wide(u16::from_le_bytes),
        ([0xfe, 0xff, ..], _) => wide(u16::from_be_bytes),
        (_, Ok(text)) => text.to_owned(),
        // Cutting may have split the last character.
        (_, Err(error)) if error.error_len().is_none() && cut => {
            String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
        }
        (_, Err(_)) if is_text(mime) => String::from_utf8_lossy(bytes).into_owned(),
        (_, Err(_)) => return None,
    };
    if cut
        && let Some(end) = text
            .rfind(char::is_whitespace)
            .filter(|end| text.len() - end < LAST_WORD)
    {
        // Half a word could be half a secret that no rule recognises.
        text.truncate(end);
    }
    Some(text)
}

fn is_text(mime: &str) -> bool {
    mime.starts_with("text/")
        || ["json", "xml", "yaml", "toml"]
            .iter()
            .any(|kind| mime.ends_with(kind))
}

fn mime(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "txt" | "log" | "" => "text/plain",
        "md" => "text/markdown",
        "json" => "application/json",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests;
