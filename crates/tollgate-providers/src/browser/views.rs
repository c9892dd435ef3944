//! Pages as agents see them: what matters first, no more than fits, and the rest by cursor.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tollgate_browser::{Content, Element, Error, Section, Tab, by_use, fitting};
use tollgate_core::ProviderError;

use super::{
    faults::told,
    fit::{
        BUDGET, Most, Start, View, left_beside, page, short_dialog, short_metadata, short_title,
        short_url, some, text_page, whole_list, whole_section,
    },
};

/// The longest piece of text.
pub(super) const SECTION: usize = 500;
/// How many pieces of text are shown.
const SECTIONS: usize = 50;
/// How many elements are shown if nobody says how many.
const ELEMENTS: usize = 50;
/// What naming those that are gone may cost, in tokens.
const REMOVED: usize = 300;
/// The same for elements that an intent needs.
const RECOMMENDED: usize = 300;
/// How many links and pictures are shown, and what they may cost.
const LINKS: usize = 50;
const LINK_TOKENS: usize = 360;
const IMAGES: usize = 20;
const IMAGE_TOKENS: usize = 180;

/// What of a page is wanted.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) most: Option<usize>,
    /// What all of it may cost, in tokens.
    pub(super) budget: usize,
    /// Whether all that was asked for is shown, whatever it costs.
    pub(super) is_whole: bool,
    pub(super) visible_only: bool,
    pub(super) cursor: Option<String>,
    pub(super) since: Option<String>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            most: None,
            budget: BUDGET,
            is_whole: false,
            visible_only: true,
            cursor: None,
            since: None,
        }
    }
}

impl Wanted {
    /// Whether it is the first view of a page, which is kept whole if it shows a part.
    fn is_first(&self) -> bool {
        !self.is_whole && self.cursor.is_none()
    }

    /// What the list of a view may cost beside everything else.
    fn left_beside<T: Serialize>(&self, frame: &T) -> usize {
        match self.is_whole {
            true => usize::MAX,
            false => left_beside(frame, self.budget),
        }
    }
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
    #[serde(skip_serializing_if = "String::is_empty")]
    view: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// Ids that are gone since then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<String>,
    /// How many more are gone than are named.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    more_removed: Option<usize>,
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
    /// Whether there are more elements than what is kept to be searched; cursors lead to them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    search_cut: bool,
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
pub(super) async fn info(tab: &Tab, wanted: &Wanted) -> Result<View<PageInfo>, ProviderError> {
    let start = Start::of(wanted.cursor.as_deref())?;
    if let Some(dialog) = tab.pending_dialog() {
        return Ok(held(tab, dialog));
    }
    if let Some(why) = tab.failure() {
        return Err(told(why));
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
    let mut shown = all;
    if wanted.visible_only {
        shown.retain(|it| it.state.visible);
    } else {
        let hidden = tab.hidden_elements(&shown).await.map_err(told)?;
        shown.extend(hidden);
    }
    by_use(&mut shown);
    let (view, changes) = tab.view_of_elements(&shown, wanted.since.as_deref());
    let total_elements = shown.len();
    let (mut removed, mut more_removed) = (Vec::new(), None);
    let since = wanted.since.clone().filter(|_| changes.is_some());
    let whole = wanted
        .is_first()
        .then(|| whole_elements(tab, &overview.title, &shown));
    if let Some(changes) = changes {
        let mut changed = changes.changed.into_iter();
        shown.retain(|_| changed.next().unwrap_or(true));
        (removed, more_removed) = some(changes.removed, REMOVED);
    }
    let intents: Vec<&'static str> = overview.intents.iter().map(|(intent, _)| *intent).collect();
    let recommended = overview.intents.into_iter();
    let recommended = recommended.map(|(intent, suggested_element_ids)| Recommended {
        intent,
        suggested_element_ids,
    });
    let mut info = PageInfo {
        page: PageHead {
            url: short_url(tab.url()),
            title: short_title(overview.title),
            r#type: overview.r#type,
            summary: short_title(overview.summary),
        },
        elements: Vec::new(),
        total_elements,
        truncated: false,
        next_cursor: None,
        view,
        since,
        removed,
        more_removed,
        regions: overview.regions,
        intents,
        recommended: some(recommended.collect(), RECOMMENDED).0,
        stability: stability.map(Steady::from),
        pending_dialog: tab.pending_dialog().map(short_dialog),
        search_cut: whole.as_ref().is_some_and(|it| it["cut"] == true),
    };
    let budget = wanted.left_beside(&info);
    let most = wanted.most.unwrap_or(ELEMENTS);
    let (mut elements, next_cursor) = page(shown, start, budget, most);
    elements.sort_by_key(|it| (it.bounds.y, it.bounds.x));
    info.elements = elements;
    info.truncated = next_cursor.is_some();
    info.next_cursor = next_cursor;
    Ok(View {
        whole: whole.filter(|_| info.truncated),
        shown: info,
    })
}

/// All elements of a page, to be searched.
fn whole_elements(tab: &Tab, title: &str, all: &[Element]) -> Value {
    let (elements, is_cut) = whole_list(all.iter().map(|it| {
        let mut whole = json!({"id": it.id, "type": it.r#type, "label": it.label});
        if let Some(value) = &it.state.value {
            whole["value"] = value.as_str().into();
        }
        whole
    }));
    json!({"url": tab.shown_url(), "title": title, "elements": elements, "cut": is_cut})
}

/// A page that a dialog holds shows nothing else.
fn held(tab: &Tab, dialog: tollgate_browser::Dialog) -> View<PageInfo> {
    let shown = PageInfo {
        page: PageHead {
            url: short_url(tab.url()),
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
        more_removed: None,
        regions: Vec::new(),
        intents: Vec::new(),
        recommended: Vec::new(),
        stability: None,
        pending_dialog: Some(short_dialog(dialog)),
        search_cut: false,
    };
    View { shown, whole: None }
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
    #[serde(skip_serializing_if = "String::is_empty")]
    view: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// The first words of sections that are gone since then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    removed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    more_removed: Option<usize>,
    #[schemars(with = "Vec<Value>")]
    links: Vec<tollgate_browser::PageLink>,
    #[schemars(with = "Vec<Value>")]
    images: Vec<tollgate_browser::PageImage>,
    metadata: std::collections::BTreeMap<String, String>,
    /// Whether the page is longer than what is kept to be searched; cursors lead to its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    search_cut: bool,
}

impl PageInfo {
    /// What is left of it when its tab is closed: nobody can go on.
    pub(super) fn of_closed_tab(&mut self) {
        self.view.clear();
        self.next_cursor = None;
    }
}

impl PageContent {
    /// The same for the text.
    pub(super) fn of_closed_tab(&mut self) {
        self.view.clear();
        self.next_cursor = None;
    }
}

/// The page's text; `most` characters of it if that is said.
pub(super) async fn content(
    tab: &Tab,
    wanted: &Wanted,
) -> Result<View<PageContent>, ProviderError> {
    let start = Start::of(wanted.cursor.as_deref())?;
    if let Some(why) = tab.failure() {
        return Err(told(why));
    }
    let content = tab.content_from(SECTION, start.part).await;
    let content = content.map_err(told)?;
    let (view, changes) = tab.view_of_sections(&content.sections, wanted.since.as_deref());
    let whole = wanted.is_first().then(|| whole_content(tab, &content));
    let Content {
        title,
        mut sections,
        mut links,
        mut images,
        metadata,
        cut,
        total,
        ..
    } = content;
    let since = wanted.since.clone().filter(|_| changes.is_some());
    let (mut removed, mut more_removed) = (Vec::new(), None);
    if let Some(changes) = changes {
        let mut changed = changes.changed.into_iter();
        sections.retain(|_| changed.next().unwrap_or(true));
        (removed, more_removed) = some(changes.removed, REMOVED);
    }
    let is_rest = wanted.cursor.is_some() || since.is_some();
    if is_rest {
        links.clear();
        images.clear();
    }
    let most_links = LINKS.min(fitting(&links, LINK_TOKENS));
    let most_images = IMAGES.min(fitting(&images, IMAGE_TOKENS));
    let is_cut_beside = links.len() > most_links || images.len() > most_images;
    links.truncate(most_links);
    images.truncate(most_images);
    let mut shown = PageContent {
        title: short_title(title),
        url: short_url(tab.url()),
        sections: Vec::new(),
        total_sections: total,
        truncated: cut,
        next_cursor: None,
        view,
        since,
        removed,
        more_removed,
        links,
        images,
        metadata: short_metadata(metadata),
        search_cut: whole.as_ref().is_some_and(|it| it["cut"] == true),
    };
    let budget = wanted.left_beside(&shown);
    let most = Most {
        sections: SECTIONS,
        characters: wanted.most.unwrap_or(usize::MAX),
    };
    let (sections, next_cursor) = text_page(sections, start, budget, most);
    // What is not read at once is read by whoever goes on.
    let next_cursor = next_cursor.or_else(|| cut.then(|| start.next_part()));
    let is_part = next_cursor.is_some() || is_cut_beside;
    shown.sections = sections;
    shown.truncated |= next_cursor.is_some();
    shown.next_cursor = next_cursor;
    Ok(View {
        shown,
        whole: whole.filter(|_| is_part),
    })
}

/// All that a page says, to be searched.
fn whole_content(tab: &Tab, content: &Content) -> Value {
    let (sections, is_cut) = whole_list(content.sections.iter().map(whole_section));
    json!({
        "url": tab.shown_url(),
        "title": content.title,
        "sections": sections,
        "links": content.links,
        "images": content.images,
        "metadata": content.metadata,
        "cut": is_cut || content.cut,
    })
}
