//! A tab of our own in which sites show empty pages that no server gave: what they had stored is
//! stored again there, and what they stored last is read there if nobody could ask their pages.
//!
//! Invariant: no server notices anything of it, and nobody gets the tab.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use tokio::time::sleep;

use super::{PATIENCE, Place, Session, memory::Stored};
use crate::{
    error::Error,
    protocol::commands::{CloseTarget, EnableFetch, RequestPattern},
    tab::Tab,
};

/// Stores what was stored before.
const STORE: &str = "(items) => { for (const [name, value] of Object.entries(items)) localStorage.setItem(name, value); }";

/// How often it is looked whether an origin has stored all of what its pages did.
const LOOKS: u32 = 20;
/// So many looks in a row have to see the same; on a busy machine one may see nothing new yet.
const SAME: u32 = 2;
/// How long it is waited between two looks.
const PAUSE: Duration = Duration::from_millis(100);

impl Session {
    /// Stores what pages had stored.
    pub(super) async fn store(&self, place: &Place, origins: &Stored) -> Result<(), Error> {
        let tab = self.raise(place).await?;
        let mut stored = Ok(());
        for (origin, items) in origins {
            stored = match show(&tab, origin).await {
                Ok(true) => tab.run::<()>(STORE, vec![json!(items)]).await,
                Ok(false) => Ok(()),
                Err(error) => Err(error),
            };
            if stored.is_err() {
                break;
            }
        }
        self.strike(&tab);
        stored
    }

    /// Learns what those sites stored whose pages went away before they could be asked.
    pub(super) async fn look_back(&self) -> Result<(), Error> {
        let held = self.place.lock().await;
        let place = held.as_ref();
        let Some(place) = place.filter(|it| it.running.process.is_alive()) else {
            return Ok(());
        };
        let mut unsure = self.memory.take_unsure();
        // Who shows a page of a site is asked in its place.
        for (_, tab) in self.list().1 {
            let origin = tab.origin().filter(|it| unsure.contains(it));
            if let Some(origin) = origin.filter(|_| !tab.has_ended())
                && tab.remember().await
            {
                unsure.remove(&origin);
            }
        }
        if unsure.is_empty() {
            return Ok(());
        }
        let read = self.read_back(place, &mut unsure).await;
        self.memory.put_off(unsure);
        match read {
            // Where there is no room for one tab more, it is done another time.
            Err(Error::Limit(_)) => Ok(()),
            Ok(()) | Err(_) => read,
        }
    }

    /// Takes those off the list that were read.
    async fn read_back(&self, place: &Place, origins: &mut BTreeSet<String>) -> Result<(), Error> {
        let tab = self.raise(place).await?;
        let mut read = Ok(());
        while let Some(origin) = origins.first() {
            match settled(&tab, origin).await {
                Ok(Some(items)) => self.memory.replace(origin, items),
                // Who has no storage has stored nothing.
                Ok(None) | Err(Error::Protocol(_)) => {}
                Err(error) => {
                    read = Err(error);
                    break;
                }
            }
            origins.pop_first();
        }
        self.strike(&tab);
        read
    }

    async fn raise(&self, place: &Place) -> Result<Arc<Tab>, Error> {
        let tab = self.make(place, true).await?;
        tab.lock().is_stage = true;
        let all = RequestPattern {
            url_pattern: "*".into(),
            resource_type: None,
        };
        let patterns = vec![all];
        match tab.ask(&EnableFetch { patterns }).await {
            Ok(_) => Ok(tab),
            Err(error) => {
                self.strike(&tab);
                Err(error)
            }
        }
    }

    fn strike(&self, tab: &Tab) {
        self.forget(&tab.target);
        tab.end();
        let target_id = tab.target.clone();
        tab.connection.tell(None, &CloseTarget { target_id });
    }
}

/// What an origin stores, once that does not change any more: the browser may have much to do with
/// what a page left behind. Nothing if its address is none any more.
async fn settled(tab: &Tab, origin: &str) -> Result<Option<BTreeMap<String, String>>, Error> {
    if !show(tab, origin).await? {
        return Ok(None);
    }
    let mut items = tab.stored(origin, PATIENCE).await?;
    let mut same = 0;
    for _ in 0..LOOKS {
        sleep(PAUSE).await;
        let now = tab.stored(origin, PATIENCE).await?;
        same = if now == items { same + 1 } else { 0 };
        items = now;
        if same == SAME {
            break;
        }
    }
    Ok(Some(items))
}

/// Shows an empty page of an origin; false if its address is none any more, which keeps nobody
/// from the others.
async fn show(tab: &Tab, origin: &str) -> Result<bool, Error> {
    match tab.navigate(&format!("{origin}/")).await {
        Ok(_) => Ok(true),
        Err(Error::Invalid(_) | Error::Load(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
