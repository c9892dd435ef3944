//! The run tools as a provider: they tell their plan, and artifacts can be read.

use std::sync::Arc;

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use tollgate_core::{
    Answer, CallContext, ErrorCodes, Offers, Payload, Plan, Provider, ProviderError, Status,
    TemplateSpec, ToolCall, ToolResult, ToolSet, ToolSpec, TrustLevel, Warning, offer,
};

use super::{Shared, errors, start::RunArgs, tools};

/// What the addresses of artifacts begin with.
pub(super) const ARTIFACTS: &str = "tollgate://artifacts/";
/// The most of one artifact that is read at once as a resource.
const MAX_READ: u64 = 1 << 20;

pub(super) struct RunProvider {
    shared: Arc<Shared>,
    tools: ToolSet<tools::Handle>,
}

impl RunProvider {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            tools: tools::all(shared),
            shared: Arc::clone(shared),
        }
    }

    async fn read(&self, call: &ToolCall, cx: &CallContext) -> Result<Answer, ProviderError> {
        let uri = call.arguments.value()["uri"].as_str().unwrap_or_default();
        let named = uri.strip_prefix(ARTIFACTS).unwrap_or_default();
        let (id, range) = named.split_once('?').unwrap_or((named, ""));
        let range = Range::parse(range)?;
        let inner = self.shared.engine()?;
        let row = self.shared.artifact(&inner, &cx.principal, id).await?;
        let piece = self
            .shared
            .piece(&row, range.offset, range.limit, MAX_READ)
            .await?;
        let is_text = row.mime_type.starts_with("text/") || row.mime_type == "application/json";
        let mut content = json!({"uri": uri, "mimeType": row.mime_type});
        // A piece shorter than one character is bytes, or nobody would ever come past it.
        let is_some = |text: &&str| piece.is_empty() || !text.is_empty();
        let text = whole_characters(&piece).filter(|_| is_text);
        let shown = match text.filter(is_some) {
            Some(text) => {
                content["text"] = text.into();
                text.len()
            }
            None => {
                content["blob"] = STANDARD.encode(&piece).into();
                piece.len()
            }
        };
        let end = range.offset + shown as u64;
        if end < row.size {
            content["_meta"] = json!({
                "tollgate/truncated": true,
                "tollgate/total_bytes": row.size,
                "tollgate/next_offset": end,
            });
        }
        let mut result = ToolResult::ok(Payload::from(json!({"contents": [content]})));
        if row.is_tainted {
            result.status = Status::Degraded;
            result.warnings.push(Warning::TaintedContent);
        }
        Ok(Answer::Done(result))
    }
}

#[async_trait]
impl Provider for RunProvider {
    fn id(&self) -> &str {
        "runs"
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
        let mut specs = self.tools.tools().await?;
        for spec in &mut specs {
            spec.telling.error_codes = ErrorCodes::Document004;
        }
        Ok(specs)
    }

    async fn offers(&self) -> Result<Offers, ProviderError> {
        Ok(Offers {
            templates: vec![TemplateSpec::new(
                &format!("{ARTIFACTS}{{artifactId}}{{?offset,limit}}"),
                "artifact",
                "Something a run left behind, by its `artifactId`; at most 1 MiB at a time. \
                 Go on with `offset` where `_meta` names a `tollgate/next_offset`.",
                "application/octet-stream",
            )],
            // Steps read what strangers wrote, and what they leave behind is read again.
            open_world: true,
            ..Offers::default()
        })
    }

    fn plan(&self, call: &ToolCall, trust: TrustLevel) -> Result<Option<Plan>, ProviderError> {
        if call.tool.as_str() != tools::RUN {
            return Ok(None);
        }
        let args: RunArgs = serde_json::from_str(call.arguments.raw())
            .map_err(|error| ProviderError::rejected(error.to_string()))?;
        self.shared.plan(&args, trust).map(Some)
    }

    async fn call(&self, call: ToolCall, cx: CallContext) -> Result<Answer, ProviderError> {
        match call.tool.as_str() {
            offer::READ => self.read(&call, &cx).await,
            _ => self.tools.serve(call, cx).await,
        }
    }
}

/// Which part of an artifact an address means: all of it, if it does not say.
#[derive(Default)]
struct Range {
    offset: u64,
    limit: Option<u64>,
}

impl Range {
    fn parse(query: &str) -> Result<Self, ProviderError> {
        let mut range = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (name, value.parse::<u64>()) {
                ("offset", Ok(offset)) => range.offset = offset,
                ("limit", Ok(limit)) if limit > 0 => range.limit = Some(limit),
                _ => {
                    let message = format!("`{pair}` is neither an `offset` nor a `limit`");
                    return Err(errors::INVALID_PARAMETER.with(message, [("query", query.into())]));
                }
            }
        }
        Ok(range)
    }
}

/// The text that bytes are, without a last character that was cut in two.
fn whole_characters(bytes: &[u8]) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            let whole = bytes.get(..error.valid_up_to())?;
            std::str::from_utf8(whole).ok()
        }
        Err(_) => None,
    }
}
