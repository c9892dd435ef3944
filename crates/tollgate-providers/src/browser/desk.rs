//! What the tools share: sessions by caller, tabs by id, and what a human is shown.

use std::{path::PathBuf, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tollgate_browser::{Browser, Error, Options, Owner, Session, Tab};
use tollgate_core::{CallContext, Principal, ProviderError, ToolCall, TrustLevel};

use super::{
    Settings,
    act::invalid,
    boundary::Fence,
    faults::told,
    profiles::{ProfileName, Profiles, Shelf},
};

/// What the tools share.
pub(super) struct Desk {
    pub(super) settings: Settings,
    pub(super) browser: Arc<Browser>,
    pub(super) profiles: Arc<Profiles>,
    local: Arc<Fence>,
    remote: Arc<Fence>,
}

// The page a tool is about: the caller's choice, else the caller's own. This is no doc comment
// because it would be repeated in the schema of every tool.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Place {
    #[serde(default)]
    pub(super) session_id: Option<String>,
    #[serde(default)]
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
            profiles: Arc::new(Profiles::new(&settings.root, settings.vault.clone())),
            settings,
            browser,
        }
    }

    fn owner(cx: &CallContext) -> Owner {
        Owner {
            principal: profile_owner(cx.trust, &cx.principal),
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
            keeper: None,
        }
    }

    /// A profile of this caller.
    pub(super) fn profile(
        &self,
        cx: &CallContext,
        name: &str,
    ) -> Result<Arc<Shelf>, ProviderError> {
        let name = ProfileName::new(name).map_err(invalid)?;
        let owner = Self::owner(cx).principal;
        Ok(Arc::new(Shelf::named(&self.profiles, &owner, &name)))
    }

    /// How the session is made that nobody names: one that outlives its process is kept.
    fn own_options(&self, cx: &CallContext) -> Options {
        let mut options = self.options(cx);
        if cx.standing.is_stored && self.profiles.can_keep() {
            let owner = Self::owner(cx);
            let ttl = self.settings.limits.headless_ttl;
            let (principal, conversation) = (&owner.principal, &owner.conversation);
            let shelf = Shelf::pages(&self.profiles, principal, conversation, ttl);
            options.keeper = Some(Arc::new(shelf));
        }
        options
    }

    /// Whether the session of a call that was served had to load its page again. What the call
    /// did is written down soon.
    pub(super) async fn noticed(&self, cx: &CallContext, place: &Place) -> bool {
        let owner = Self::owner(cx);
        let session = match &place.session_id {
            Some(id) => self.browser.session(&owner, id).ok(),
            None => self.browser.known_default(&owner).await,
        };
        session.is_some_and(|session| {
            session.touched();
            session.was_reopened()
        })
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
                    .default_session(&owner, || self.own_options(cx))
                    .await
            }
        };
        let session = session.map_err(told)?;
        session.awake().await.map_err(told)?;
        Ok(session)
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

/// Whose sessions and profiles somebody's are. What a remote caller may not reach, a session of
/// a local one must not bring him.
pub fn profile_owner(trust: TrustLevel, principal: &Principal) -> String {
    format!("{} {principal}", trust.as_str())
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
