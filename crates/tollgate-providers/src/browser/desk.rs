//! What the tools share: sessions by caller, tabs by id, and what a human is shown.

use std::{path::PathBuf, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use tollgate_browser::{Browser, Error, Keeper as _, Options, Owner, Session, Tab, Target, origin};
use tollgate_core::{
    CallContext, Principal, ProviderError, SessionKey, ToolCall, TrustLevel, toolset::bounds,
};

use super::{
    Settings,
    act::invalid,
    boundary::Fence,
    faults::told,
    profiles::{ProfileName, Profiles, Shelf},
};

/// How long a page may take to say which secrets it holds.
const LEARN: Duration = Duration::from_secs(1);

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
    #[schemars(length(max = bounds::ID))]
    pub(super) session_id: Option<String>,
    #[serde(default)]
    #[schemars(length(max = bounds::ID))]
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
    /// The origin that the caller means; any if he does not say.
    site: Option<String>,
}

/// What a human is shown who is asked to agree.
pub(super) struct Shown {
    pub(super) text: String,
    /// The origin that the call is about.
    pub(super) site: String,
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
        let checked = self.profiles.check();
        checked.map_err(|error| told(Error::NotKept(error.to_string())))?;
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

    /// The session of a call that was served.
    pub(super) async fn served(&self, cx: &CallContext, place: &Place) -> Option<Arc<Session>> {
        let owner = Self::owner(cx);
        match &place.session_id {
            Some(id) => self.browser.session(&owner, id).ok(),
            None => self.browser.known_default(&owner).await,
        }
    }

    pub(super) fn create(
        &self,
        cx: &CallContext,
        options: Options,
    ) -> Result<Arc<Session>, ProviderError> {
        self.browser.create(&Self::owner(cx), options).map_err(told)
    }

    /// Ends the session of a conversation that is over. Sessions that somebody made are not its
    /// own; what other processes kept of it goes too.
    pub(super) async fn leave(&self, over: &SessionKey) {
        for trust in TrustLevel::ALL {
            let owner = Owner {
                principal: profile_owner(trust, &over.principal),
                conversation: over.handle.clone(),
            };
            self.browser.close_default(&owner).await;
            let (principal, conversation) = (&owner.principal, &owner.conversation);
            let ttl = self.settings.limits.headless_ttl;
            let shelf = Shelf::pages(&self.profiles, principal, conversation, ttl);
            // Nothing more can be done for what is not removed now; it is swept later.
            let _ = tokio::task::spawn_blocking(move || shelf.ended()).await;
        }
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
        Ok(Hand::new(session, tab))
    }

    /// What a human is shown who is asked to agree: the page, and what is really behind an id.
    pub(super) async fn preview(&self, call: &ToolCall, cx: &CallContext) -> Option<Shown> {
        let place: Place = serde_json::from_str(call.arguments.raw()).ok()?;
        let session = match &place.session_id {
            Some(id) => self.browser.session(&Self::owner(cx), id).ok()?,
            None => self.session(cx, None).await.ok()?,
        };
        let (active, tabs) = session.list();
        let wanted = place.tab_id.or(active)?;
        let (_, tab) = tabs.into_iter().find(|(id, _)| *id == wanted)?;
        let mut text = format!("on {}", tab.shown_url());
        let here = origin(&tab.url()).unwrap_or_else(|| tab.shown_url());
        let arguments = call.arguments.value();
        let field = arguments.get("fields").and_then(|it| it.get(0));
        let id = field.unwrap_or(arguments).get("element_id");
        let Some(id) = id.and_then(|it| it.as_str()) else {
            let site = match call.tool.as_str() {
                "browser.press_key" => tab.focused_site().await.ok(),
                "browser.handle_dialog" => tab.pending_dialog().and_then(|it| origin(&it.url)),
                _ => None,
            };
            let site = site.unwrap_or(here);
            return Some(Shown { text, site });
        };
        let Ok((element, site)) = tab.pointed_at(id).await else {
            text.push_str(&format!(": nothing is called `{id}` there now"));
            return Some(Shown { text, site: here });
        };
        if site != here {
            text.push_str(&format!(", in a frame of {site}"));
        }
        if field.is_none() {
            text.push_str(&format!(": the {} “{}”", element.r#type, element.label));
        }
        Some(Shown { text, site })
    }
}

/// Whose sessions and profiles somebody's are. What a remote caller may not reach, a session of
/// a local one must not bring him.
pub fn profile_owner(trust: TrustLevel, principal: &Principal) -> String {
    format!("{} {principal}", trust.as_str())
}

impl Hand {
    pub(super) fn new(session: Arc<Session>, tab: Arc<Tab>) -> Self {
        let site = None;
        Self { session, tab, site }
    }

    /// Learns what fields for secrets hold, so that nothing of it is said: a script or a log may
    /// have read them. A page that does not answer at once is not waited for.
    pub(super) async fn keep_secrets(&self) {
        let held = timeout(LEARN, self.tab.held_secrets()).await;
        if let Ok(Ok(held)) = held {
            self.session.secrets(held);
        }
    }

    /// Where it is now.
    pub(super) async fn page(&self) -> Result<Page, ProviderError> {
        let title = match self.tab.title().await {
            Ok(title) => title,
            // The page is being replaced, or a dialog holds it; its address is known.
            Err(Error::Protocol(_) | Error::Dialog(_) | Error::Script(_)) => String::new(),
            Err(error) => return Err(told(error)),
        };
        Ok(Page {
            url: self.tab.shown_url(),
            title,
        })
    }

    /// Refuses unless the tab is at the site the caller means. What is in a frame is at the site
    /// of the frame, so there it is decided when the element is known.
    pub(super) fn at(self, url: Option<&str>) -> Result<Self, ProviderError> {
        let Some(url) = url else {
            return Ok(self);
        };
        let hand = Self {
            site: origin(url),
            ..self
        };
        if hand.site.is_some() && hand.tab.has_frames() {
            return Ok(hand);
        }
        hand.at_site(origin(&hand.tab.url()))?;
        Ok(hand)
    }

    /// Refuses unless the whole page is at the site the caller means.
    pub(super) fn wholly_at(self, url: Option<&str>) -> Result<Self, ProviderError> {
        let hand = self.at(url)?;
        hand.at_site(origin(&hand.tab.url()))?;
        Ok(hand)
    }

    /// Refuses unless keys go to the site the caller means.
    pub(super) async fn focused_at(self, url: Option<&str>) -> Result<Self, ProviderError> {
        let hand = self.at(url)?;
        if hand.site.is_some() {
            let site = hand.tab.focused_site().await.map_err(told)?;
            hand.at_site(Some(site))?;
        }
        Ok(hand)
    }

    /// Refuses unless the dialog that is open is one of the site the caller means.
    pub(super) fn asked_at(self, url: Option<&str>) -> Result<Self, ProviderError> {
        let hand = self.at(url)?;
        let asking = hand.tab.pending_dialog().map(|dialog| dialog.url);
        hand.at_site(origin(&asking.unwrap_or_else(|| hand.tab.url())))?;
        Ok(hand)
    }

    fn at_site(&self, site: Option<String>) -> Result<(), ProviderError> {
        if self.site.is_none() || self.site == site {
            return Ok(());
        }
        let mut error = ProviderError::rejected("the tab is at another site than `url` says");
        error.document_code = Some("INVALID_PARAMETER".to_owned());
        let page = site.unwrap_or_else(|| self.tab.shown_url());
        error.details.insert("page".to_owned(), page.into());
        Err(error)
    }

    /// The element with an id, at the site the caller means.
    pub(super) fn target<'t>(&'t self, id: &'t str) -> Target<'t> {
        Target {
            id,
            site: self.site.as_deref(),
        }
    }
}
