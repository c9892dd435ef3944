//! Values that are known for arguments of our prompts and addresses.

use serde_json::{Value, json};
use tollgate_core::{CallContext, ProviderError};

use super::{
    super::{Handle, Page, engine},
    SCHEME,
};
use crate::call::{Viewer, shows, visible_offers};

/// The most values of one completion.
const MAX_VALUES: usize = 100;

pub(in super::super) fn complete(
    handle: &Handle,
    pages: &[Page],
    arguments: &Value,
    cx: &CallContext,
) -> Result<Value, ProviderError> {
    let inner = engine(handle)?;
    let template = arguments["ref"]["uri"].as_str().unwrap_or_default();
    let template = template.strip_prefix(SCHEME).unwrap_or_default();
    let name = arguments["argument"]["name"].as_str().unwrap_or_default();
    let typed = arguments["argument"]["value"].as_str().unwrap_or_default();
    let viewer = Viewer::of_call(cx);
    let catalog = inner.catalog();
    let listed = || {
        catalog
            .listings()
            .filter(|listing| shows(&inner, &viewer, listing))
    };
    let mut known: Vec<String> = match (template.split('/').next(), name) {
        (Some("tools"), "name") => listed()
            .map(|it| catalog.name_of(&it.spec.name, cx.spelling))
            .collect(),
        (Some("toolsets"), "toolset") => listed()
            .flat_map(|listing| listing.spec.toolsets.clone())
            .chain(["all".to_owned()])
            .collect(),
        (Some("prompts"), "name") => visible_offers(&inner, &viewer)
            .prompts
            .into_iter()
            .map(|prompt| prompt.name)
            .collect(),
        (Some("docs"), "page") => pages.iter().map(|page| page.name.to_owned()).collect(),
        _ => Vec::new(),
    };
    known.retain(|value| value.starts_with(typed));
    known.sort();
    known.dedup();
    let total = known.len();
    known.truncate(MAX_VALUES);
    Ok(json!({
        "completion": {"values": known, "total": total, "hasMore": total > MAX_VALUES},
    }))
}
