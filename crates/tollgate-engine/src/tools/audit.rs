//! `audit.*`: what this principal's calls left in the log.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tollgate_core::{
    CallContext, ProviderError, Tool, ToolSet,
    audit::{AuditQuery, AuditRow, Place},
    toolset::bounds,
};

use super::{Handle, engine, from_store};

pub(super) fn add(tools: ToolSet<Handle>) -> ToolSet<Handle> {
    tools
        .tool(
            Tool::read(
                "audit.list",
                "List recorded calls",
                "Lists your own recorded calls, newest first: what was called, how it ended, under which rule. \
                 Use it to see what has been done before repeating something. \
                 Nothing recorded yet: an empty list. \
                 Success: the calls. Fails only where the log cannot be read.",
            )
            .sets(&["gate"]),
            list,
        )
        .tool(
            Tool::read(
                "audit.show",
                "Show one recorded call",
                "Shows every audit entry of one of your calls by its call id (`meta.call_id` of its result). \
                 Unknown id: not_found; list first. Success: its entries.",
            )
            .sets(&["gate"]),
            show,
        )
        .tool(
            Tool::read(
                "audit.verify",
                "Verify the audit log",
                "Checks the whole audit log: every hash, every signature, and the anchor. \
                 Success: `whole` is true. Otherwise `problems` says where it is broken; tell the operator. \
                 Fails only where the log cannot be read.",
            )
            .sets(&["gate"]),
            verify,
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArgs {
    /// How many at most.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 200))]
    limit: u32,
    /// Only this tool.
    #[schemars(length(max = bounds::NAME))]
    tool: Option<String>,
    /// Only entries before this place, to page on.
    before: Option<u64>,
}

fn twenty() -> u32 {
    20
}

#[derive(Serialize, JsonSchema)]
struct Entries {
    entries: Vec<Entry>,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    seq: u64,
    /// Where it stands in the chain.
    #[schemars(extend("x-identifier" = true))]
    receipt: String,
    /// What was written down.
    body: Map<String, Value>,
}

fn entry(row: AuditRow) -> Entry {
    let place = Place {
        chain: row.chain.into(),
        seq: row.seq,
        hash: row.hash,
    };
    Entry {
        seq: row.seq,
        receipt: place.receipt(),
        body: serde_json::from_str(&row.body).unwrap_or_default(),
    }
}

async fn list(
    handle: Arc<Handle>,
    args: ListArgs,
    cx: CallContext,
) -> Result<Entries, ProviderError> {
    let query = AuditQuery {
        cursor: args.before,
        limit: args.limit,
        newest_first: true,
        kind: Some("ending".to_owned()),
        tool: args.tool,
        principal: Some(cx.principal.as_str().to_owned()),
        ..AuditQuery::default()
    };
    let rows = engine(&handle)?
        .store
        .records(&query)
        .await
        .map_err(from_store)?;
    Ok(Entries {
        entries: rows.into_iter().map(entry).collect(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShowArgs {
    /// The call id.
    #[schemars(length(min = 1, max = 64))]
    call_id: String,
}

async fn show(
    handle: Arc<Handle>,
    args: ShowArgs,
    cx: CallContext,
) -> Result<Entries, ProviderError> {
    let query = AuditQuery {
        limit: 100,
        call_id: Some(args.call_id.clone()),
        principal: Some(cx.principal.as_str().to_owned()),
        ..AuditQuery::default()
    };
    let rows = engine(&handle)?
        .store
        .records(&query)
        .await
        .map_err(from_store)?;
    if rows.is_empty() {
        let message = format!("no call `{}` of yours is recorded", args.call_id);
        return Err(ProviderError::not_found(message));
    }
    Ok(Entries {
        entries: rows.into_iter().map(entry).collect(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct VerifyArgs {}

#[derive(Serialize, JsonSchema)]
struct Verified {
    /// Whether nothing is wrong.
    whole: bool,
    rows: u64,
    signed_heads: u64,
    /// Up to where the anchor vouches.
    anchored: Option<u64>,
    #[schemars(extend("x-identifier" = true))]
    head: String,
    problems: Vec<String>,
}

async fn verify(
    handle: Arc<Handle>,
    _: VerifyArgs,
    _: CallContext,
) -> Result<Verified, ProviderError> {
    let found = engine(&handle)?.store.verify().await.map_err(from_store)?;
    Ok(Verified {
        whole: found.problems.is_empty(),
        rows: found.rows,
        signed_heads: found.signed_heads,
        anchored: found.anchored,
        head: found.head,
        problems: found.problems,
    })
}
