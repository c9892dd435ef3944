//! A session that is known again: what was kept is given to a new browser context, and what
//! changes is written down.
//!
//! Writing down follows what pages do by a moment, so that a process that is killed loses no
//! more than that moment.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use serde_json::json;
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    PATIENCE, Place, Session,
    kept::{Kept, KeptTab, essential, presentable},
    memory::{Memory, Stored},
    tabs::{Entry, NEXT_TAB, Slot},
};
use crate::{
    error::Error,
    protocol::{
        WireError,
        commands::{CloseTarget, EnableFetch, GetCookies, RequestPattern, SetCookies},
    },
    tab::{Fresh, Tab},
};

/// How long changes are collected before they are written down.
const COLLECT: Duration = Duration::from_millis(250);

/// Stores what was stored before.
const STORE: &str = "(items) => { for (const [name, value] of Object.entries(items)) localStorage.setItem(name, value); }";

impl Session {
    /// What the session would need to be known again, as of now.
    pub async fn kept(&self) -> Result<Kept, Error> {
        self.remember().await;
        self.look().await?;
        Ok(self.memory.lock().now.clone())
    }

    /// Reads what was kept, and opens the browser if tabs are to be there again.
    pub async fn awake(self: &Arc<Self>) -> Result<(), Error> {
        if self.options.keeper.is_none() || self.memory.lock().is_loaded {
            return Ok(());
        }
        self.load().await?;
        if !self.memory.lock().now.tabs.is_empty() {
            let mut place = self.place.lock().await;
            self.settled(&mut place).await?;
        }
        Ok(())
    }

    /// Whether a page was loaded anew since the last time somebody asked.
    pub fn was_reopened(&self) -> bool {
        self.reopened.swap(false, Ordering::AcqRel)
    }

    /// Something was done after which cookies may be different.
    pub fn touched(&self) {
        self.memory.touch();
    }

    /// Writes down what changed, if somebody keeps it.
    pub async fn save(&self) -> Result<(), Error> {
        if self.options.keeper.is_some() {
            self.remember().await;
        }
        self.write_down().await
    }

    /// Sees to it that what its pages stored so far is known.
    async fn remember(&self) {
        let (_, tabs) = self.list();
        let asked = tabs.into_iter().filter(|(_, tab)| !tab.has_ended());
        let asked = asked.map(|(_, tab)| async move { tab.remember().await });
        asked.collect::<JoinSet<()>>().join_all().await;
    }

    /// Writes down what is known to have changed.
    async fn write_down(&self) -> Result<(), Error> {
        let _one = self.saving.lock().await;
        self.look().await?;
        let (before, now) = {
            let known = self.memory.lock();
            (known.saved.clone(), known.now.clone())
        };
        let Some(keeper) = self.options.keeper.clone().filter(|_| before != now) else {
            return Ok(());
        };
        let kept = now.clone();
        let saved = tokio::task::spawn_blocking(move || keeper.save(&before, &now)).await;
        let saved = saved.unwrap_or_else(|_| Err("it was broken off".to_owned()));
        saved.map_err(Error::NotKept)?;
        self.memory.lock().saved = kept;
        Ok(())
    }

    async fn load(&self) -> Result<(), Error> {
        if self.memory.lock().is_loaded {
            return Ok(());
        }
        let kept = match self.options.keeper.clone() {
            Some(keeper) => tokio::task::spawn_blocking(move || keeper.load())
                .await
                .unwrap_or_else(|_| Err("it was broken off".to_owned()))
                .map_err(Error::NotKept)?,
            None => Kept::default(),
        };
        let mut known = self.memory.lock();
        if !known.is_loaded {
            known.begin(kept);
        }
        Ok(())
    }

    /// Gives a new context what the one before had, or what was kept.
    pub(super) async fn bring_back(&self, place: &Place) -> Result<(), Error> {
        self.load().await?;
        let now = self.memory.lock().now.clone();
        set_cookies(place, &presentable(&now.cookies)).await?;
        if !now.origins.is_empty() {
            self.store(place, &now.origins).await?;
        }
        let is_first = self.tabs().all.is_empty();
        if is_first {
            for kept in &now.tabs {
                self.lay_down(place, kept)?;
            }
        }
        Ok(())
    }

    /// Stores what pages had stored: each origin is shown as an empty page that no server gave.
    async fn store(&self, place: &Place, origins: &Stored) -> Result<(), Error> {
        let tab = self.make(place).await?;
        let stored = self.store_in(&tab, origins).await;
        self.forget(&tab.target);
        tab.end();
        let target_id = tab.target.clone();
        let connection = &place.running.process.connection;
        connection.tell(None, &CloseTarget { target_id });
        stored
    }

    async fn store_in(&self, tab: &Tab, origins: &Stored) -> Result<(), Error> {
        tab.lock().is_stage = true;
        let all = RequestPattern {
            url_pattern: "*".to_owned(),
        };
        let patterns = vec![all];
        tab.ask(&EnableFetch { patterns }).await?;
        for (origin, items) in origins {
            match tab.navigate(&format!("{origin}/")).await {
                Ok(_) => tab.run::<()>(STORE, vec![json!(items)]).await?,
                // An address that is none any more keeps nobody from the others.
                Err(Error::Invalid(_) | Error::Load(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Puts a tab into the list that is loaded when it is used.
    fn lay_down(&self, place: &Place, kept: &KeptTab) -> Result<(), Error> {
        let browser = self.browser()?;
        let mut tabs = self.tabs();
        let limits = &browser.settings.limits;
        if tabs.all.len() >= limits.tabs_per_session {
            return Ok(());
        }
        let Some(slot) = Slot::take(&browser.tabs, limits.tabs) else {
            return Ok(());
        };
        let number = kept.id.strip_prefix("tab_").and_then(|it| it.parse().ok());
        NEXT_TAB.fetch_max(number.unwrap_or(0) + 1, Ordering::Relaxed);
        let fresh = Fresh {
            target: format!("kept-{}", kept.id),
            session: String::new(),
            connection: place.running.process.connection.clone(),
            refusals: Arc::clone(&tabs.refusals),
            times: browser.times(),
            roots: Arc::clone(&self.roots),
            memory: Arc::clone(&self.memory),
        };
        tabs.all.push(Entry {
            id: kept.id.clone(),
            tab: Tab::asleep(fresh, &kept.url),
            opener: None,
            is_aside: false,
            _slot: slot,
        });
        if kept.is_active {
            tabs.active = Some(kept.id.clone());
        }
        tabs.mend();
        Ok(())
    }

    /// Takes a look at what no event tells.
    async fn look(&self) -> Result<(), Error> {
        let place = self.place.lock().await;
        let place = place.as_ref();
        let Some(place) = place.filter(|it| it.running.process.is_alive()) else {
            return Ok(());
        };
        let get = GetCookies {
            browser_context_id: place.context.clone(),
        };
        let connection = &place.running.process.connection;
        let cookies = connection.ask(None, &get, PATIENCE).await?.cookies;
        let keeps_tabs = self.options.keeper.as_ref();
        let tabs = match keeps_tabs.is_some_and(|it| it.keeps_tabs()) {
            true => self.whereabouts(),
            false => Vec::new(),
        };
        let mut known = self.memory.lock();
        known.now.cookies = essential(&cookies);
        known.now.tabs = tabs;
        Ok(())
    }

    fn whereabouts(&self) -> Vec<KeptTab> {
        let tabs = self.tabs();
        let own = tabs.all.iter().filter(|entry| !entry.is_aside);
        let all = own.map(|entry| KeptTab {
            is_active: tabs.active.as_ref() == Some(&entry.id),
            url: entry.tab.url(),
            id: entry.id.clone(),
        });
        let is_page = |url: &str| {
            let schemes = ["http:", "https:", "file:"];
            schemes.iter().any(|scheme| url.starts_with(scheme))
        };
        all.filter(|it| is_page(&it.url)).collect()
    }
}

/// Gives cookies back; one that the browser does not take any more does not cost the others.
async fn set_cookies(place: &Place, cookies: &[super::Cookie]) -> Result<(), Error> {
    if cookies.is_empty() {
        return Ok(());
    }
    let connection = &place.running.process.connection;
    let set = |cookies: Vec<super::Cookie>| SetCookies {
        cookies,
        browser_context_id: place.context.clone(),
    };
    match connection.ask(None, &set(cookies.to_vec()), PATIENCE).await {
        Ok(_) => return Ok(()),
        Err(WireError::Refused(_)) => {}
        Err(error) => return Err(error.into()),
    }
    for cookie in cookies {
        match connection
            .ask(None, &set(vec![cookie.clone()]), PATIENCE)
            .await
        {
            Ok(_) | Err(WireError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes down what changes, until the session is over.
pub(super) fn follow(session: &Arc<Session>, memory: Arc<Memory>, over: CancellationToken) {
    let session: Weak<Session> = Arc::downgrade(session);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = memory.changed.notified() => {}
                () = over.cancelled() => return,
            }
            sleep(COLLECT).await;
            let Some(session) = session.upgrade() else {
                return;
            };
            // What cannot be written now is tried again with the next change, and when the
            // session is closed, where somebody is told.
            let _ = session.write_down().await;
        }
    });
}
