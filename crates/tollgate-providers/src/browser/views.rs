//! Pages as agents see them: what matters first, no more than fits, and the rest by cursor.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tollgate_browser::{Content, Element, Error, Section, Tab, by_use, fitting};
use tollgate_core::ProviderError;

use super::faults::told;

/// What all of a view may cost, in tokens.
const BUDGET: usize = 4000;
/// What is left for everything but the list itself.
const FRAME: usize = 900;
/// The longest piece of text.
pub(super) const SECTION: usize = 500;
/// How many elements are shown if nobody says how many.
const ELEMENTS: usize = 50;
/// How many gone elements are named.
const REMOVED: usize = 100;
/// How many links and pictures are shown.
const LINKS: usize = 50;
const IMAGES: usize = 20;

/// What of a page is wanted.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) most: Option<usize>,
    /// Whether all that was asked for is shown, whatever it costs.
    pub(super) is_whole: bool,
    pub(super) visible_only: bool,
    pub(super) cursor: Option<String>,
    pub(super) since: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    page: PageHead,
    /// The most useful ones, from top to bottom; with `since` only what is new or changed.
    #[schemars(with = "Vec<Value>")]
    elements: Vec<Element>,
    total_elements: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Names this view, for `since`.
    view: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// Ids that are gone since then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<String>,
    #[schemars(with = "Vec<Value>")]
    regions: Vec<tollgate_browser::Region>,
    intents: Vec<&'static str>,
    #[serde(rename = "recommendedByIntent")]
    recommended: Vec<Recommended>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stability: Option<Steady>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pending_dialog: Option<tollgate_browser::Dialog>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct PageHead {
    pub(super) url: String,
    pub(super) title: String,
    pub(super) r#type: &'static str,
    pub(super) summary: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Recommended {
    intent: &'static str,
    suggested_element_ids: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Steady {
    pub(super) stable: bool,
    pub(super) dom_stable: bool,
    pub(super) network_pending: usize,
    pub(super) load_state: &'static str,
}

impl From<tollgate_browser::Stability> for Steady {
    fn from(it: tollgate_browser::Stability) -> Self {
        Self {
            stable: it.stable,
            dom_stable: it.dom_stable,
            network_pending: it.network_pending,
            load_state: it.load_state,
        }
    }
}

/// The page with its elements.
pub(super) async fn info(tab: &Tab, wanted: &Wanted) -> Result<PageInfo, ProviderError> {
    if let Some(dialog) = tab.pending_dialog() {
        return Ok(held(tab, dialog));
    }
    let all = match tab.elements().await {
        Ok(all) => all,
        Err(error) if matches!(error, Error::Dialog(_)) => {
            let dialog = tab.pending_dialog();
            return dialog
                .map(|dialog| held(tab, dialog))
                .ok_or_else(|| told(error));
        }
        Err(error) => return Err(told(error)),
    };
    let overview = tab.overview(&all).await.map_err(told)?;
    let stability = tab
        .stability(std::time::Duration::from_millis(500))
        .await
        .ok();
    let mut shown: Vec<Element> = all
        .into_iter()
        .filter(|it| it.state.visible || !wanted.visible_only)
        .collect();
    by_use(&mut shown);
    let (view, changes) = tab.view_of_elements(&shown, wanted.since.as_deref());
    let total_elements = shown.len();
    let mut removed = Vec::new();
    let since = wanted.since.clone().filter(|_| changes.is_some());
    if let Some(changes) = changes {
        let mut changed = changes.changed.into_iter();
        shown.retain(|_| changed.next().unwrap_or(true));
        removed = changes.removed;
        removed.truncate(REMOVED);
    }
    let (mut elements, truncated, next_cursor) =
        page(shown, wanted, wanted.most.unwrap_or(ELEMENTS))?;
    elements.sort_by_key(|it| (it.bounds.y, it.bounds.x));
    Ok(PageInfo {
        page: PageHead {
            url: tab.url(),
            title: overview.title,
            r#type: overview.r#type,
            summary: overview.summary,
        },
        elements,
        total_elements,
        truncated,
        next_cursor,
        view,
        since,
        removed,
        regions: overview.regions,
        intents: overview.intents.iter().map(|(intent, _)| *intent).collect(),
        recommended: overview
            .intents
            .into_iter()
            .map(|(intent, suggested_element_ids)| Recommended {
                intent,
                suggested_element_ids,
            })
            .collect(),
        stability: stability.map(Steady::from),
        pending_dialog: tab.pending_dialog(),
    })
}

/// A page that a dialog holds shows nothing else.
fn held(tab: &Tab, dialog: tollgate_browser::Dialog) -> PageInfo {
    PageInfo {
        page: PageHead {
            url: tab.url(),
            title: String::new(),
            r#type: "unknown",
            summary: String::new(),
        },
        elements: Vec::new(),
        total_elements: 0,
        truncated: false,
        next_cursor: None,
        view: String::new(),
        since: None,
        removed: Vec::new(),
        regions: Vec::new(),
        intents: Vec::new(),
        recommended: Vec::new(),
        stability: None,
        pending_dialog: Some(dialog),
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageContent {
    title: String,
    url: String,
    /// What the page is about first, in its order, then menus and the like.
    #[schemars(with = "Vec<Value>")]
    sections: Vec<Section>,
    total_sections: usize,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    view: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[schemars(with = "Vec<Value>")]
    links: Vec<tollgate_browser::PageLink>,
    #[schemars(with = "Vec<Value>")]
    images: Vec<tollgate_browser::PageImage>,
    metadata: std::collections::BTreeMap<String, String>,
}

/// The page's text; `most` characters of it if that is said.
pub(super) async fn content(tab: &Tab, wanted: &Wanted) -> Result<PageContent, ProviderError> {
    let content = tab.content(SECTION).await.map_err(told)?;
    let Content {
        title,
        mut sections,
        mut links,
        mut images,
        metadata,
        cut,
    } = content;
    let (view, changes) = tab.view_of_sections(&sections, wanted.since.as_deref());
    let total_sections = sections.len();
    let since = wanted.since.clone().filter(|_| changes.is_some());
    if let Some(changes) = changes {
        let mut changed = changes.changed.into_iter();
        sections.retain(|_| changed.next().unwrap_or(true));
    }
    let (mut sections, mut truncated, mut next_cursor) = page(sections, wanted, usize::MAX)?;
    if let Some(most) = wanted.most {
        let before = sections.len();
        shorten(&mut sections, most);
        if sections.len() < before {
            truncated = true;
            let start: usize = wanted
                .cursor
                .as_deref()
                .and_then(|it| it.parse().ok())
                .unwrap_or(0);
            next_cursor = Some((start + sections.len()).to_string());
        }
    }
    // Links and pictures share what the frame of a view may cost.
    links.truncate(LINKS);
    images.truncate(IMAGES);
    links.truncate(fitting(&links, FRAME * 2 / 5));
    images.truncate(fitting(&images, FRAME / 5));
    let is_rest = wanted.cursor.is_some() || since.is_some();
    if is_rest {
        links.clear();
        images.clear();
    }
    Ok(PageContent {
        title,
        url: tab.url(),
        sections,
        total_sections,
        truncated: truncated || cut,
        next_cursor,
        view,
        since,
        links,
        images,
        metadata,
    })
}

/// Cuts the text of all sections together.
fn shorten(sections: &mut Vec<Section>, most: usize) {
    let mut left = most;
    let mut kept = 0;
    for section in sections.iter_mut() {
        if left == 0 {
            break;
        }
        let length = section.text.chars().count();
        if length > left {
            section.text = section.text.chars().take(left).collect();
        }
        left = left.saturating_sub(length);
        kept += 1;
    }
    sections.truncate(kept);
}

/// As many as fit, beginning at the cursor; whether there are more, and where they begin.
fn page<T: Serialize>(
    all: Vec<T>,
    wanted: &Wanted,
    most: usize,
) -> Result<(Vec<T>, bool, Option<String>), ProviderError> {
    let start: usize = match &wanted.cursor {
        None => 0,
        Some(cursor) => cursor.parse().map_err(|_| {
            let mut error = ProviderError::rejected("`cursor` is one that an earlier answer gave");
            error.document_code = Some("INVALID_PARAMETER".to_owned());
            error
        })?,
    };
    let total = all.len();
    let rest: Vec<T> = all.into_iter().skip(start).collect();
    let fit = match wanted.is_whole {
        true => most,
        false => fitting(&rest, BUDGET - FRAME).min(most),
    };
    let shown: Vec<T> = rest.into_iter().take(fit).collect();
    let end = start.min(total) + shown.len();
    let next = (end < total).then(|| end.to_string());
    Ok((shown, next.is_some(), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_one_another_without_gaps() {
        let all: Vec<String> = (0..1000)
            .map(|it| format!("number {it} {}", "x".repeat(50)))
            .collect();
        let mut seen = Vec::new();
        let mut wanted = Wanted::default();
        loop {
            let (shown, truncated, next) = page(all.clone(), &wanted, usize::MAX).unwrap();
            assert_eq!(truncated, next.is_some());
            seen.extend(shown);
            match next {
                Some(next) => wanted.cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, all);
        wanted.cursor = Some("x".to_owned());
        assert!(page(all.clone(), &wanted, 1).is_err());
        let wanted = Wanted {
            is_whole: true,
            ..Wanted::default()
        };
        let (shown, truncated, _) = page(all, &wanted, 900).unwrap();
        assert!(shown.len() == 900 && truncated);
    }
}
