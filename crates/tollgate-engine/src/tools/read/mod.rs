//! What can be read at the gate: tools, toolsets, prompts, kept answers, the ledger,
//! the rules, recent calls, documentation and large results by the piece.
//!
//! Invariant: a reader sees what it could see by calling tools, and nothing more.

mod complete;
mod documents;

use serde_json::{Value, json};
use tollgate_core::{CallContext, ProviderError, ResourceSpec, TemplateSpec};

use super::{Handle, Page, engine, result};

pub(super) use complete::complete;

/// What all our addresses begin with.
pub(super) const SCHEME: &str = "tollgate://";
const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";
const PLAIN: &str = "text/plain";
/// The most of one document that is read at once.
const MAX_READ: usize = 1 << 20;

pub(super) fn resources(pages: &[Page]) -> Vec<ResourceSpec> {
    let resource = |path: &str, name: &str, about: &str, mime: &str| {
        ResourceSpec::new(&format!("{SCHEME}{path}"), name, about, mime)
    };
    let mut all = vec![
        resource(
            "tools",
            "tools",
            "Every tool you can see, with its toolsets and risk.",
            JSON,
        ),
        resource(
            "toolsets",
            "toolsets",
            "The toolsets and how many tools each holds.",
            JSON,
        ),
        resource(
            "prompts",
            "prompts",
            "The prompts and their arguments.",
            JSON,
        ),
        resource(
            "session/ledger",
            "ledger",
            "What this session has estimated, consumed and has left.",
            JSON,
        ),
        resource(
            "policy",
            "policy",
            "The rules in force, by id, with their reasons.",
            JSON,
        ),
        resource(
            "audit/recent",
            "recent calls",
            "Your last recorded calls.",
            JSON,
        ),
    ];
    all.extend(pages.iter().map(|page| {
        let path = format!("docs/{}", page.name);
        resource(&path, page.name, page.about, MARKDOWN)
    }));
    all
}

pub(super) fn templates() -> Vec<TemplateSpec> {
    let template = |path: &str, name: &str, about: &str, mime: &str| {
        TemplateSpec::new(&format!("{SCHEME}{path}"), name, about, mime)
    };
    vec![
        template(
            "tools/{name}",
            "tool",
            "Everything one tool declares.",
            JSON,
        ),
        template(
            "toolsets/{toolset}",
            "toolset",
            "The tools of one toolset.",
            JSON,
        ),
        template("prompts/{name}", "prompt", "What one prompt takes.", JSON),
        template(
            "cache/{cache_key}",
            "cached answer",
            "An answer this session has kept, by its cache key.",
            JSON,
        ),
        template(
            "docs/{page}",
            "documentation",
            "A page of the documentation.",
            MARKDOWN,
        ),
        template(
            "results/{id}",
            "large result",
            "A large result, up to 1 MB of it.",
            PLAIN,
        ),
        template(
            "results/{id}/{piece}",
            "piece of a large result",
            "One piece of a large result, counted from 0.",
            PLAIN,
        ),
    ]
}

/// One document as it is answered.
struct Document {
    mime: &'static str,
    text: String,
    meta: Option<Value>,
}

impl Document {
    fn json(value: &Value) -> Self {
        Self {
            mime: JSON,
            text: value.to_string(),
            meta: None,
        }
    }
}

pub(super) async fn read(
    handle: &Handle,
    pages: &[Page],
    arguments: &Value,
    cx: &CallContext,
) -> Result<Value, ProviderError> {
    let uri = arguments["uri"].as_str().unwrap_or_default();
    let unknown = || ProviderError::not_found(format!("there is no resource `{uri}`"));
    let inner = engine(handle)?;
    let path = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
    let (kind, rest) = path.split_once('/').unwrap_or((path, ""));
    let rest = unescaped(rest).ok_or_else(unknown)?;
    let document = match (kind, rest.as_str()) {
        ("tools", "") => Some(documents::tools(&inner, cx)),
        ("tools", name) => documents::tool(&inner, cx, name),
        ("toolsets", "") => Some(documents::toolsets(&inner, cx)),
        ("toolsets", name) => documents::toolset(&inner, cx, name),
        ("prompts", "") => Some(documents::prompts(&inner, cx)),
        ("prompts", name) => documents::prompt(&inner, cx, name),
        ("session", "ledger") => Some(documents::ledger(&inner, cx).await?),
        ("policy", "") => Some(documents::policy(&inner)),
        ("audit", "recent") => Some(documents::recent(&inner, cx).await?),
        ("cache", key) => documents::cached(&inner, cx, key).await?,
        ("docs", name) => pages
            .iter()
            .find(|page| page.name == name)
            .map(|page| Document {
                mime: MARKDOWN,
                text: page.text.to_owned(),
                meta: None,
            }),
        ("results", path) => {
            let (id, piece) = match path.split_once('/') {
                Some((id, piece)) => (id, Some(piece.parse().map_err(|_| unknown())?)),
                None => (path, None),
            };
            let (text, meta) = result::whole_or_piece(&inner, cx, id, piece, MAX_READ).await?;
            Some(Document {
                mime: PLAIN,
                text,
                meta: Some(meta),
            })
        }
        _ => None,
    };
    let document = document.ok_or_else(unknown)?;
    Ok(contents(uri, document))
}

fn contents(uri: &str, mut document: Document) -> Value {
    let total = document.text.len();
    if total > MAX_READ {
        let end = document.text.floor_char_boundary(MAX_READ);
        document.text.truncate(end);
        document.meta = Some(json!({"tollgate/truncated": true, "tollgate/total_bytes": total}));
    }
    let mut content = json!({"uri": uri, "mimeType": document.mime, "text": document.text});
    if let Some(meta) = document.meta {
        content["_meta"] = meta;
    }
    json!({"contents": [content]})
}

/// Reads percent escapes; whatever could climb out of its place is refused.
fn unescaped(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let text = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(text, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    let climbs = text.split(['/', '\\']).any(|part| part == "..");
    let odd = text.contains(['%', '\\', '\0']) || text.starts_with('/');
    (!climbs && !odd).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escape_climbs() {
        assert_eq!(unescaped("a%2Eb"), Some("a.b".to_owned()));
        assert_eq!(unescaped("关"), Some("关".to_owned()));
        for bad in [
            "..",
            "a/../b",
            "%2e%2e",
            "%2E%2e/x",
            "a/%2e./b",
            "/etc",
            "%2fetc",
            "a\\..\\b",
            "%252e%252e",
            "a%00",
            "%zz",
            "%e",
        ] {
            assert_eq!(unescaped(bad), None, "{bad}");
        }
    }
}
