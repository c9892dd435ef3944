//! Reading what runs left behind, piece by piece.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tollgate_core::{CallContext, ProviderError, Warning, toolset::Output};

use super::{Handle, marked};
use crate::runs::artifacts;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ArtifactArgs {
    /// As `get_task_run` lists it.
    #[schemars(length(min = 1, max = 64))]
    artifact_id: String,
    /// Where to begin.
    #[serde(default)]
    offset: u64,
    /// How many bytes at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["artifactId", "mimeType", "size", "data", "complete"]))]
pub(super) struct Piece {
    #[schemars(extend("x-identifier" = true))]
    artifact_id: String,
    /// Its type for programs.
    mime_type: String,
    /// Of all of it.
    size: u64,
    /// This piece, as base64.
    #[schemars(with = "String")]
    data: Box<RawValue>,
    /// Where this piece begins.
    offset: u64,
    /// How long it is.
    bytes_returned: u64,
    /// Whether nothing follows.
    complete: bool,
}

pub(super) async fn artifact(
    shared: Arc<Handle>,
    args: ArtifactArgs,
    cx: CallContext,
) -> Result<Output<Piece>, ProviderError> {
    let inner = shared.engine()?;
    let row = shared
        .artifact(&inner, &cx.principal, &args.artifact_id)
        .await?;
    let most = shared.settings.inline_bytes;
    let bytes = shared.piece(&row, args.offset, args.limit, most).await?;
    let returned = bytes.len() as u64;
    let tainted = row.is_tainted;
    let piece = Piece {
        artifact_id: row.id,
        mime_type: row.mime_type,
        size: row.size,
        data: artifacts::coded(&bytes)?,
        offset: args.offset,
        bytes_returned: returned,
        complete: args.offset + returned >= row.size,
    };
    marked(
        piece,
        Vec::from_iter(tainted.then_some(Warning::TaintedContent)),
    )
}
