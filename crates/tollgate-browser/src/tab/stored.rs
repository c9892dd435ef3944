//! What a page stored, asked of the page itself before it is left.
//!
//! Events that tell of it follow it by a moment, and those that are not told yet when another
//! process takes over the tab are never told.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::Tab;
use crate::{
    page::address,
    protocol::commands::{GetItems, StorageArea},
};

/// How long a page may keep others waiting with what it stored. One that hangs stores nothing.
const PATIENCE: Duration = Duration::from_secs(2);

impl Tab {
    /// Sees to it that what its page stored so far is known.
    pub(crate) async fn remember(&self) {
        let Some(origin) = self.origin() else {
            return;
        };
        let deadline = Instant::now() + PATIENCE;
        let Some(items) = self.stored(&origin).await else {
            return;
        };
        if self.memory.hears(&origin, &items, deadline).await {
            return;
        }
        // Meanwhile it may have stored more, or it is gone.
        let items = self.stored(&origin).await.unwrap_or(items);
        self.memory.replace(&origin, items);
    }

    /// The origin whose storage its page has; none if the page is ours.
    pub(super) fn origin(&self) -> Option<String> {
        let state = self.lock();
        let is_web = address::host(&state.url).is_some() && !state.is_stage;
        is_web.then(|| address::origin(&state.url))?
    }

    /// Nothing if the page does not say, or has no storage.
    async fn stored(&self, origin: &str) -> Option<BTreeMap<String, String>> {
        let storage_id = StorageArea {
            storage_key: format!("{origin}/"),
            is_local_storage: true,
        };
        let ask = GetItems { storage_id };
        let answer = self.ask_in(&self.session, &ask, PATIENCE).await.ok()?;
        Some(answer.entries.into_iter().collect())
    }
}
