//! What a page stored, asked of the page itself before it is left.
//!
//! Events that tell of it follow it by a moment, and those that are not told yet when another
//! process takes over the tab are never told. So whoever leaves for another origin, be it we or
//! the page or a redirect on the way, waits until the page was asked. Where that is not possible
//! (the page comes from a service worker, or the tab closes or crashes) it is noted, and looked up later.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::Tab;
use crate::{
    error::Error,
    page::address,
    protocol::commands::{GetItems, StorageArea},
};

/// How long a page may keep others waiting with what it stored. One that hangs stores nothing.
const PATIENCE: Duration = Duration::from_secs(2);

impl Tab {
    /// Sees to it that what its page stored so far is known; false if it does not say.
    pub(crate) async fn remember(&self) -> bool {
        let Some(origin) = self.origin() else {
            return true;
        };
        let deadline = Instant::now() + PATIENCE;
        let Ok(items) = self.stored(&origin, PATIENCE).await else {
            return false;
        };
        if !self.memory.hears(&origin, &items, deadline).await {
            // Meanwhile it may have stored more, or it is gone.
            let items = self.stored(&origin, PATIENCE).await.unwrap_or(items);
            self.memory.replace(&origin, items);
        }
        true
    }

    /// Whether another process may take over for a page of this address, with what has not been
    /// told yet lost. Pages of one origin follow each other in one, which goes on telling.
    pub(super) fn is_left_for(&self, url: &str) -> bool {
        let origin = self.origin();
        origin.is_some() && origin != address::origin(url)
    }

    /// Asks its page what it stored because it is about to be left.
    pub(crate) async fn take_leave(&self) {
        let loader = self.lock().loader.clone();
        if self.remember().await {
            self.lock().parted = Some(loader);
        }
    }

    /// Its page is gone, perhaps for one of another address. If nobody asked it before, what it
    /// stored last is not known.
    pub(crate) fn left(&self, url: Option<&str>) {
        let Some(origin) = self.origin() else {
            return;
        };
        let goes_on = url.is_some_and(|url| address::origin(url).as_ref() == Some(&origin));
        let is_asked = {
            let mut state = self.lock();
            let loader = state.loader.clone();
            state.parted.replace(loader.clone()) == Some(loader)
        };
        if !goes_on && !is_asked {
            self.memory.lose([origin]);
        }
    }

    /// The origin whose storage its page has; none if the page is ours.
    pub(crate) fn origin(&self) -> Option<String> {
        let state = self.lock();
        let is_web = address::host(&state.url).is_some() && !state.is_stage;
        is_web.then(|| address::origin(&state.url))?
    }

    /// What the page says that its origin stores.
    pub(crate) async fn stored(
        &self,
        origin: &str,
        patience: Duration,
    ) -> Result<BTreeMap<String, String>, Error> {
        let storage_id = StorageArea {
            storage_key: format!("{origin}/"),
            is_local_storage: true,
        };
        let ask = GetItems { storage_id };
        let answer = self.ask_in(&self.session, &ask, patience).await?;
        Ok(answer.entries.into_iter().collect())
    }
}
