//! Waiting until a page is as wanted.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::Tab;
use crate::error::Error;

/// How often a condition is looked at again.
const POLL: Duration = Duration::from_millis(100);
/// How long a click may take to begin something.
const SETTLE: Duration = Duration::from_millis(200);
/// How long before its end an action may have begun something.
const ACTING: Duration = Duration::from_millis(300);
/// How long what an action asks the server for is waited for, if it is no page.
const ASKING: Duration = Duration::from_secs(1);
/// How long nothing may be loaded until a page counts as idle.
const IDLE: Duration = Duration::from_millis(500);
/// What scripts ask for themselves, some of them again and again.
const BACKGROUND: &[&str] = &["fetch", "xhr", "eventsource", "websocket", "ping"];

/// Whether a page has come to rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stability {
    /// Whether all of it has.
    pub stable: bool,
    /// Whether no element came or went for long enough.
    pub dom_stable: bool,
    /// How many requests are under way.
    pub network_pending: usize,
    /// `loading`, `interactive` or `complete`.
    pub load_state: &'static str,
}

/// What can be waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitFor {
    /// Time.
    Time(Duration),
    /// An element that a selector finds and that can be seen.
    Selector(String),
    /// That a selector finds nothing that can be seen.
    Hidden(String),
    /// That nothing is being loaded.
    NetworkIdle,
    /// That the address holds this text.
    Address(String),
    /// That the page shows this text.
    Text(String),
}

/// Whether a selector finds something that can be seen, in open shadow trees too.
const VISIBLE: &str = "(selector) => { \
    const look = (root) => { \
        for (const one of root.querySelectorAll(selector)) { \
            if (one.checkVisibility({ visibilityProperty: true })) return true; \
        } \
        for (const one of root.querySelectorAll('*')) { \
            if (one.shadowRoot && look(one.shadowRoot)) return true; \
        } \
        return false; \
    }; \
    return look(document); }";

impl Tab {
    /// Waits a little until the document and its requests are complete.
    pub(super) async fn calm(&self, patience: Duration) -> Result<bool, Error> {
        let calm = self
            .until(Instant::now() + patience, |state| {
                let is_calm = state.loaded && state.is_quiet();
                (is_calm || state.dialog.is_some()).then_some(())
            })
            .await?;
        Ok(calm.is_some())
    }

    /// Lets what an action began come through: a new page, if one is on its way, and otherwise
    /// what comes at once. What was under way before, or asks the server again and again, holds
    /// nobody up.
    pub(crate) async fn settle(&self, loader: &str, patience: Duration) -> Result<(), Error> {
        let now = Instant::now();
        let (since, deadline) = (now.checked_sub(ACTING).unwrap_or(now), now + patience);
        self.until(now + SETTLE, |state| {
            (state.loader != loader || state.dialog.is_some()).then_some(())
        })
        .await?;
        self.until(deadline, |state| {
            let is_there = match state.loader == loader {
                true => true,
                false => state.dom_loaded && state.loading(BACKGROUND) == 0,
            };
            let is_there = is_there && state.departing(since) == 0;
            (is_there || state.dialog.is_some()).then_some(())
        })
        .await?;
        let most = Instant::now() + ASKING;
        let asked = self.lock().begun(since);
        self.until(most.min(deadline), |state| {
            let is_over = asked.iter().all(|id| !state.in_flight.contains_key(id));
            (is_over || state.dialog.is_some()).then_some(())
        })
        .await?;
        // The page that says that another did not come follows in a moment.
        self.until(Instant::now() + SETTLE, |state| {
            let is_said = state.unreachable.is_some() || state.dialog.is_some();
            (is_said || !state.is_lost()).then_some(())
        })
        .await?;
        // Whoever is led to where nothing comes from learns why.
        self.failure().map_or(Ok(()), Err)
    }

    /// Waits until nothing is loaded for a while.
    async fn idle(&self, deadline: Instant) -> Result<bool, Error> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.calm(left).await? {
                return Ok(false);
            }
            let asked = self.lock().network.total;
            let rested = Instant::now() + IDLE;
            let stirred = self
                .until(rested.min(deadline), |state| {
                    let is_asking = !state.is_quiet() || state.network.total != asked;
                    is_asking.then_some(())
                })
                .await?;
            if stirred.is_none() {
                return Ok(Instant::now() >= rested);
            }
        }
    }

    /// How the page is this moment.
    pub async fn stability(&self, quiet: Duration) -> Result<Stability, Error> {
        let dom_stable = self.quiet_for(quiet).await? >= quiet;
        let state = self.lock();
        let network_pending = state.pending();
        let load_state = state.load_state();
        Ok(Stability {
            stable: dom_stable && network_pending == 0 && load_state != "loading",
            dom_stable,
            network_pending,
            load_state,
        })
    }

    /// Waits until the page has come to rest, or says how far it is.
    pub async fn wait_for_stable(
        &self,
        patience: Duration,
        quiet: Duration,
    ) -> Result<Stability, Error> {
        let deadline = Instant::now() + patience;
        loop {
            let now = match self.stability(quiet).await {
                // The document changed while it was looked at.
                Err(Error::Protocol(_)) => Stability {
                    stable: false,
                    dom_stable: false,
                    network_pending: 0,
                    load_state: "loading",
                },
                other => other?,
            };
            if now.stable || Instant::now() >= deadline {
                return Ok(now);
            }
            sleep(POLL.min(deadline - Instant::now())).await;
        }
    }

    /// Waits for something; an error if it does not come.
    pub async fn wait_for(&self, what: &WaitFor, patience: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + patience;
        match what {
            WaitFor::Time(time) => {
                sleep(*time).await;
                Ok(())
            }
            WaitFor::NetworkIdle => {
                if self.idle(deadline).await? {
                    Ok(())
                } else {
                    Err(Error::Timeout("the page is still loading".to_owned()))
                }
            }
            WaitFor::Selector(selector) => self.wait_visible(selector, true, deadline).await,
            WaitFor::Hidden(selector) => self.wait_visible(selector, false, deadline).await,
            WaitFor::Address(part) => {
                let is_there = self
                    .until(deadline, |state| {
                        (state.url.contains(part) && state.dom_loaded).then_some(())
                    })
                    .await?;
                let late = || Error::Timeout(format!("the address does not hold `{part}`"));
                is_there.ok_or_else(late)
            }
            WaitFor::Text(part) => self.wait_text(part, deadline).await,
        }
    }

    async fn wait_text(&self, part: &str, deadline: Instant) -> Result<(), Error> {
        const SHOWS: &str = "(part) => (document.body?.innerText ?? '').includes(part)";
        loop {
            match self.run::<bool>(SHOWS, vec![json!(part)]).await {
                Ok(true) => return Ok(()),
                Ok(false) | Err(Error::Protocol(_)) => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= deadline {
                return Err(Error::Timeout(format!("`{part}` is not shown")));
            }
            sleep(POLL).await;
        }
    }

    async fn wait_visible(
        &self,
        selector: &str,
        wanted: bool,
        deadline: Instant,
    ) -> Result<(), Error> {
        loop {
            match self.run::<bool>(VISIBLE, vec![json!(selector)]).await {
                Ok(visible) if visible == wanted => return Ok(()),
                Ok(_) | Err(Error::Protocol(_)) => {}
                Err(Error::Script(why)) => return Err(Error::Invalid(why)),
                Err(error) => return Err(error),
            }
            if Instant::now() >= deadline {
                let what = if wanted {
                    "does not appear"
                } else {
                    "does not go away"
                };
                return Err(Error::Timeout(format!("`{selector}` {what}")));
            }
            sleep(POLL).await;
        }
    }
}
