//! A session that is known again: what was kept is given to a new browser context, and what
//! changes is written down.
//!
//! Writing down follows what pages do by a moment, so that a process that is killed loses no
//! more than that moment.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    PATIENCE, Place, Session,
    kept::{Kept, KeptTab, essential, presentable},
    memory::Memory,
    tabs::{Entry, NEXT_TAB, Slot},
};
use crate::{
    error::Error,
    protocol::{
        WireError,
        commands::{GetCookies, SetCookies},
    },
    tab::{Fresh, Tab},
};

/// How long changes are collected before they are written down.
const COLLECT: Duration = Duration::from_millis(250);
/// How long it is waited before what could not be written down is tried again; twice as long
/// each time.
const AGAIN: Duration = Duration::from_millis(500);
/// The longest of these times.
const SELDOM: Duration = Duration::from_secs(60);
/// How often it is tried when the session ends and there is no later.
const LAST_TRIES: u32 = 3;

impl Session {
    /// What the session would need to be known again, as of now.
    pub async fn kept(&self) -> Result<Kept, Error> {
        self.remember().await;
        self.look_back().await?;
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

    /// Writes down what changed while there still is somebody who knows it.
    pub(super) async fn save_at_last(&self) {
        let mut saved = self.save().await;
        for turn in 1..LAST_TRIES {
            // A browser that does not answer will not do so a moment later.
            if !matches!(saved, Err(Error::NotKept(_))) {
                return;
            }
            sleep(COLLECT * turn).await;
            saved = self.save().await;
        }
    }

    /// Sees to it that what its pages stored so far is known.
    async fn remember(&self) {
        let (_, tabs) = self.list();
        let asked = tabs.into_iter().filter(|(_, tab)| !tab.has_ended());
        let asked = asked.map(|(_, tab)| async move { tab.remember().await });
        asked.collect::<JoinSet<bool>>().join_all().await;
    }

    /// Writes down what is known to have changed.
    async fn write_down(&self) -> Result<(), Error> {
        let _one = self.saving.lock().await;
        let Some(keeper) = self.options.keeper.clone() else {
            return self.look().await;
        };
        // What a browser that does not answer has told so far is worth keeping, too.
        let looked = self.look_back().await.and(self.look().await);
        let (before, now) = {
            let known = self.memory.lock();
            if known.saved == known.now {
                return looked;
            }
            (known.saved.clone(), known.now.clone())
        };
        let kept = now.clone();
        let saved = tokio::task::spawn_blocking(move || keeper.save(&before, &now)).await;
        let saved = saved.unwrap_or_else(|_| Err("it was broken off".to_owned()));
        saved.map_err(Error::NotKept)?;
        self.memory.lock().saved = kept;
        looked
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

/// Writes down what changes, until the session is over. What cannot be written is tried again
/// with the next change, after a while without one, and when the session is closed, where
/// somebody is told.
pub(super) fn follow(session: &Arc<Session>, memory: Arc<Memory>, over: CancellationToken) {
    let session: Weak<Session> = Arc::downgrade(session);
    tokio::spawn(async move {
        let mut again: Option<Duration> = None;
        loop {
            let pause = async {
                match again {
                    Some(pause) => sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = memory.changed.notified() => sleep(COLLECT).await,
                () = pause => {}
                () = over.cancelled() => return,
            }
            let Some(session) = session.upgrade() else {
                return;
            };
            again = match session.write_down().await {
                Ok(()) => None,
                Err(_) => Some(again.map_or(AGAIN, |pause| (pause * 2).min(SELDOM))),
            };
        }
    });
}
