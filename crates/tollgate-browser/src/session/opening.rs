//! Opening tabs, finding them again and closing them.
//!
//! Invariant: a tab keeps its id and its place in the list, also when its page died and is made
//! anew.

use std::sync::{Arc, atomic::Ordering};

use super::{PATIENCE, Place, Session};
use crate::{
    error::Error,
    protocol::{
        WireError,
        commands::{ActivateTarget, CloseTarget, CreateTarget},
    },
    tab::Tab,
};

/// How often a tab is made before that is given up.
const TRIES: u32 = 4;

impl Session {
    /// Opens a tab and makes it the active one.
    pub async fn open(self: &Arc<Self>) -> Result<(String, Arc<Tab>), Error> {
        let (id, tab) = self.open_aside().await?;
        let mut tabs = self.tabs();
        if let Some(entry) = tabs.all.iter_mut().find(|it| it.id == id) {
            entry.is_aside = false;
        }
        tabs.active = Some(id.clone());
        Ok((id, tab))
    }

    /// Opens a tab that nobody gets who does not name it.
    pub async fn open_aside(self: &Arc<Self>) -> Result<(String, Arc<Tab>), Error> {
        let mut place = self.place.lock().await;
        let place = self.settled(&mut place).await?;
        self.check_room()?;
        let tab = self.make(place, false).await?;
        let mut tabs = self.tabs();
        let entry = tabs.all.iter_mut().find(|it| Arc::ptr_eq(&it.tab, &tab));
        let entry = entry.ok_or(Error::Crashed)?;
        entry.is_aside = true;
        Ok((entry.id.clone(), Arc::clone(&tab)))
    }

    fn check_room(&self) -> Result<(), Error> {
        let browser = self.browser()?;
        let limits = &browser.settings.limits;
        if self.tabs().all.len() >= limits.tabs_per_session {
            let most = limits.tabs_per_session;
            return Err(Error::Limit(format!(
                "a session has at most {most} tabs; close one first"
            )));
        }
        if browser.tabs.load(Ordering::Acquire) >= limits.tabs {
            let most = limits.tabs;
            return Err(Error::Limit(format!(
                "all sessions together have at most {most} tabs"
            )));
        }
        Ok(())
    }

    /// Makes a tab, behind the others or in front; one that dies before it has begun (its process
    /// was dying) is made again.
    pub(super) async fn make(&self, place: &Place, is_behind: bool) -> Result<Arc<Tab>, Error> {
        let mut tries = 0;
        loop {
            let tab = self.make_once(place, is_behind).await?;
            tries += 1;
            match tab.begun().await {
                Ok(()) => return Ok(tab),
                Err(Error::Crashed) if tries < TRIES && place.running.process.is_alive() => {
                    self.forget(&tab.target);
                    let target_id = tab.target.clone();
                    let close = CloseTarget { target_id };
                    place.running.process.connection.tell(None, &close);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Tabs of a session lie in one window, of which Chromium draws only the one in front:
    /// drawing all of them costs as much again as loading their pages.
    async fn make_once(&self, place: &Place, is_behind: bool) -> Result<Arc<Tab>, Error> {
        let has_window = self.tabs().all.iter().any(|it| !it.tab.has_ended());
        let mut create = CreateTarget {
            url: "about:blank".to_owned(),
            browser_context_id: place.context.clone(),
            new_window: Some(!has_window),
            background: is_behind.then_some(true),
        };
        let connection = &place.running.process.connection;
        let mut made = connection.ask(None, &create, PATIENCE).await;
        // All there was may have closed itself a moment ago, and its window with it.
        if has_window && matches!(made, Err(WireError::Refused(_))) {
            create.new_window = Some(true);
            made = connection.ask(None, &create, PATIENCE).await;
        }
        let target = made?.target_id;
        // It was attached before it was answered.
        let tabs = self.tabs();
        let found = tabs.all.iter().find(|entry| entry.tab.target == target);
        let found = found.map(|entry| Arc::clone(&entry.tab));
        found.ok_or_else(|| Error::Limit("there are too many tabs".to_owned()))
    }

    /// A tab by its id, or the active one; opened if there is none, and made anew if its page
    /// died. `again` says whether such a page is loaded again.
    pub async fn tab(
        self: &Arc<Self>,
        id: Option<&str>,
        again: bool,
    ) -> Result<(String, Arc<Tab>), Error> {
        let mut held = self.place.lock().await;
        let place = self.settled(&mut held).await?;
        let found = {
            let tabs = self.tabs();
            let wanted = id.or(tabs.active.as_deref());
            let entry = match wanted {
                Some(wanted) => tabs.all.iter().find(|entry| entry.id == wanted),
                None => tabs.all.iter().find(|entry| !entry.is_aside),
            };
            entry.map(|entry| (entry.id.clone(), Arc::clone(&entry.tab)))
        };
        let (id, tab) = match (found, id) {
            (Some(found), _) => found,
            (None, Some(id)) => return Err(Error::TabNotFound(id.to_owned())),
            (None, None) => {
                let tab = self.make(place, false).await?;
                let mut tabs = self.tabs();
                let id = tabs.id_of(&tab).ok_or(Error::Crashed)?;
                tabs.active = Some(id.clone());
                return Ok((id, tab));
            }
        };
        if !tab.has_ended() {
            tab.begun().await?;
            return Ok((id, tab));
        }
        let fresh = self.renew(place, &id, &tab).await?;
        drop(held);
        let url = tab.url();
        if again && !url.starts_with("about:") {
            self.reopened.store(true, Ordering::Release);
            // If another page comes instead, whoever asked sees that one.
            if let Err(error @ Error::Timeout(_)) = fresh.navigate(&url).await {
                return Err(error);
            }
        }
        Ok((id, fresh))
    }

    /// Replaces a page that died.
    async fn renew(&self, place: &Place, id: &str, dead: &Tab) -> Result<Arc<Tab>, Error> {
        let target_id = dead.target.clone();
        place
            .running
            .process
            .connection
            .tell(None, &CloseTarget { target_id });
        // Its place in the list is kept; its seat is not, or there might be none for the next.
        let position = {
            let mut tabs = self.tabs();
            let position = tabs.all.iter().position(|entry| entry.id == id);
            if let Some(position) = position {
                tabs.all.remove(position);
            }
            position
        };
        let fresh = self.make(place, false).await?;
        let mut tabs = self.tabs();
        if let Some(at) = tabs
            .all
            .iter()
            .position(|entry| Arc::ptr_eq(&entry.tab, &fresh))
        {
            let mut entry = tabs.all.remove(at);
            entry.id = id.to_owned();
            let position = position.unwrap_or(tabs.all.len()).min(tabs.all.len());
            tabs.all.insert(position, entry);
        }
        tabs.mend();
        Ok(fresh)
    }

    /// Makes a tab the active one.
    pub async fn switch(self: &Arc<Self>, id: &str) -> Result<Arc<Tab>, Error> {
        let (id, tab) = self.tab(Some(id), true).await?;
        self.tabs().active = Some(id);
        let target_id = tab.target.clone();
        tab.connection.tell(None, &ActivateTarget { target_id });
        Ok(tab)
    }

    /// Closes a tab; says whether any is left.
    pub async fn close_tab(&self, id: &str) -> Result<bool, Error> {
        let open = self.list().1.into_iter().find(|(it, _)| it == id);
        if let Some((_, tab)) = open {
            tab.take_leave().await;
        }
        let (tab, is_last) = {
            let mut tabs = self.tabs();
            let at = tabs.all.iter().position(|entry| entry.id == id);
            let at = at.ok_or_else(|| Error::TabNotFound(id.to_owned()))?;
            let tab = tabs.all.remove(at).tab;
            tabs.mend();
            (tab, tabs.all.is_empty())
        };
        tab.end();
        let target_id = tab.target.clone();
        match tab
            .connection
            .ask(None, &CloseTarget { target_id }, PATIENCE)
            .await
        {
            Ok(_) | Err(WireError::Refused(_) | WireError::Gone) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(!is_last)
    }
}
