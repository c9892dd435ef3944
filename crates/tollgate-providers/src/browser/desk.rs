//! What the tools share: sessions by caller, tabs by id, and what a human is shown.

use std::{path::PathBuf, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_browser::{Browser, Error, Options, Owner, Session, Tab};
use tollgate_core::{CallContext, ProviderError, ToolCall, TrustLevel};

use super::{Settings, boundary::Fence, faults::told};

/// What the tools share.
pub(super) struct Desk {
    pub(super) settings: Settings,
    pub(super) browser: Arc<Browser>,
    local: Arc<Fence>,
    remote: Arc<Fence>,
}

/// The page a tool is about. Both are the caller's own choice and the default otherwise.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Place {
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub(super) session_id: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub(super) tab_id: Option<String>,
}

/// Where a page is and what it is called.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Page {
    pub(super) url: String,
    pub(super) title: String,
}

/// A tab that is at hand.
pub(super) struct Hand {
    pub(super) session: Arc<Session>,
    pub(super) tab: Arc<Tab>,
}

impl Desk {
    pub(super) fn new(settings: Settings, browser: Arc<Browser>) -> Self {
        Self {
            local: Arc::new(Fence::new(&settings, TrustLevel::Local)),
            remote: Arc::new(Fence::new(&settings, TrustLevel::Remote)),
            settings,
            browser,
        }
    }

    fn owner(cx: &CallContext) -> Owner {
        Owner {
            // What a remote caller may not reach, a session of a local one must not bring him.
            principal: format!("{} {}", cx.trust.as_str(), cx.principal),
            conversation: cx.session.handle.clone(),
        }
    }

    /// How sessions of this caller are made.
    pub(super) fn options(&self, cx: &CallContext) -> Options {
        let is_local = cx.trust == TrustLevel::Local;
        let fence = if is_local { &self.local } else { &self.remote };
        let roots: Vec<PathBuf> = if is_local {
            self.settings.roots.clone()
        } else {
            Vec::new()
        };
        Options {
            is_headless: true,
            ttl: None,
            boundary: fence.clone(),
            roots,
        }
    }

    pub(super) fn create(
        &self,
        cx: &CallContext,
        options: Options,
    ) -> Result<Arc<Session>, ProviderError> {
        self.browser.create(&Self::owner(cx), options).map_err(told)
    }

    /// The session that is named, or the caller's own.
    pub(super) async fn session(
        &self,
        cx: &CallContext,
        id: Option<&str>,
    ) -> Result<Arc<Session>, ProviderError> {
        let owner = Self::owner(cx);
        let session = match id {
            Some(id) => self.browser.session(&owner, id),
            None => {
                self.browser
                    .default_session(&owner, || self.options(cx))
                    .await
            }
        };
        session.map_err(told)
    }

    /// The tab that is named, or the active one, as it is.
    pub(super) async fn hand(
        &self,
        cx: &CallContext,
        place: &Place,
    ) -> Result<Hand, ProviderError> {
        self.reach(cx, place, true).await
    }

    /// The tab that is named, or the active one; `again` says whether a page that died is loaded.
    pub(super) async fn reach(
        &self,
        cx: &CallContext,
        place: &Place,
        again: bool,
    ) -> Result<Hand, ProviderError> {
        let session = self.session(cx, place.session_id.as_deref()).await?;
        let (_, tab) = session
            .tab(place.tab_id.as_deref(), again)
            .await
            .map_err(told)?;
        Ok(Hand { session, tab })
    }

    /// What a human is shown who is asked to agree: the page, and what is really behind an id.
    pub(super) async fn preview(&self, call: &ToolCall, cx: &CallContext) -> Option<String> {
        let place: Place = serde_json::from_str(call.arguments.raw()).ok()?;
        let session = match &place.session_id {
            Some(id) => self.browser.session(&Self::owner(cx), id).ok()?,
            None => self.session(cx, None).await.ok()?,
        };
        let (active, tabs) = session.list();
        let wanted = place.tab_id.or(active)?;
        let (_, tab) = tabs.into_iter().find(|(id, _)| *id == wanted)?;
        let page = format!("on {}", tab.url());
        let arguments = call.arguments.value();
        let Some(id) = arguments.get("element_id").and_then(|it| it.as_str()) else {
            return Some(page);
        };
        match tab.element(id).await {
            Ok(element) => Some(format!(
                "{page}: the {} “{}”",
                element.r#type, element.label
            )),
            Err(_) => Some(format!("{page}: nothing is called `{id}` there now")),
        }
    }
}

impl Hand {
    /// Where it is now.
    pub(super) async fn page(&self) -> Result<Page, ProviderError> {
        let title = match self.tab.title().await {
            Ok(title) => title,
            // The page is being replaced, or a dialog holds it; its address is known.
            Err(Error::Protocol(_) | Error::Dialog(_) | Error::Script(_)) => String::new(),
            Err(error) => return Err(told(error)),
        };
        Ok(Page {
            url: self.tab.url(),
            title,
        })
    }

    /// Refuses unless the tab is at the site the caller means.
    pub(super) fn at(self, url: Option<&str>) -> Result<Self, ProviderError> {
        let Some(url) = url else {
            return Ok(self);
        };
        let origin = |url: &str| {
            let (scheme, rest) = url.split_once("://")?;
            let authority = rest.split(['/', '?', '#']).next()?;
            Some((scheme.to_ascii_lowercase(), authority.to_ascii_lowercase()))
        };
        let here = self.tab.url();
        if origin(url).is_some() && origin(url) == origin(&here) {
            return Ok(self);
        }
        let mut error = ProviderError::rejected("the tab is at another site than `url` says");
        error.document_code = Some("INVALID_PARAMETER".to_owned());
        error.details.insert("page".to_owned(), here.into());
        Err(error)
    }
}
