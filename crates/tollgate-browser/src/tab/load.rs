//! Going somewhere, and waiting until a page is as wanted.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::Tab;
use crate::{
    boundary::Why,
    error::Error,
    page::address,
    protocol::commands::{GoTo, History, Navigate, Navigated, StopLoading},
};

/// How often a condition is looked at again.
const POLL: Duration = Duration::from_millis(100);
/// How long a click may take to begin something.
const SETTLE: Duration = Duration::from_millis(200);

/// How often a page is left that wants to go elsewhere.
const TRIES: u32 = 3;
/// What is said of a request that was given up, by whomever.
const ABORTED: &str = "net::ERR_ABORTED";

/// How a page came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// Whether it is not all there.
    pub partial: bool,
    /// What the server answered.
    pub status: Option<u32>,
    /// Whether it was a file that is being downloaded instead.
    pub is_download: bool,
}

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
    /// Goes to an address.
    pub async fn navigate(&self, url: &str) -> Result<Loaded, Error> {
        address::check(url).map_err(Error::Invalid)?;
        let seen = self.refusals.count();
        let deadline = Instant::now() + self.times.navigation;
        if let Some(dialog) = self.pending_dialog() {
            // A dialog that nobody answered does not keep anyone on its page.
            self.handle_dialog(dialog.r#type == "beforeunload", None)
                .await?;
        }
        // Pages of one origin follow each other in one process, which goes on telling.
        if address::origin(url) != self.origin() {
            self.remember().await;
        }
        let navigated = match self.depart(url, deadline).await {
            Ok(navigated) => navigated,
            Err(Error::Timeout(_)) => {
                self.connection.tell(Some(&self.session), &StopLoading {});
                return Ok(self.loaded(true));
            }
            Err(Error::Dialog(_)) => return Ok(self.loaded(true)),
            Err(Error::Protocol(why)) => return Err(Error::Invalid(why)),
            Err(error) => return Err(error),
        };
        if navigated.is_download {
            return Ok(Loaded {
                is_download: true,
                ..self.loaded(false)
            });
        }
        if let Some(error) = &navigated.error_text {
            return Err(match self.answered(&navigated) {
                Some(status @ (204 | 205)) => {
                    Error::Load(format!("the server answered {status} and gave no page"))
                }
                Some(_) | None => self.not_loaded(url, seen, error),
            });
        }
        let Some(loader) = navigated.loader_id else {
            return Ok(self.loaded(false));
        };
        let is_there = self
            .until(deadline, |state| {
                let is_there = state.dom_loaded && state.has_shown(&loader);
                (is_there || state.dialog.is_some()).then_some(())
            })
            .await?;
        if is_there.is_none() {
            self.connection.tell(Some(&self.session), &StopLoading {});
            return Ok(self.loaded(true));
        }
        self.calm(self.times.idle).await?;
        Ok(self.loaded(false))
    }

    /// Leaves for an address. A page that wants to leave as well, at the same moment, takes our
    /// place; our wish is the newer one, so it is said again.
    async fn depart(&self, url: &str, deadline: Instant) -> Result<Navigated, Error> {
        let command = Navigate {
            url: url.to_owned(),
        };
        let mut tries = 0;
        loop {
            {
                let mut state = self.lock();
                state.leaving = true;
                state.status = None;
            }
            let patience = deadline.saturating_duration_since(Instant::now());
            let answered = self.ask_in(&self.session, &command, patience).await;
            self.lock().leaving = false;
            tries += 1;
            let is_outdone = answered.as_ref().is_ok_and(|it| {
                let is_ended = it.error_text.as_deref() == Some(ABORTED) && !it.is_download;
                is_ended && self.answered(it).is_none()
            });
            if !is_outdone || tries == TRIES {
                return answered;
            }
        }
    }

    /// What the server answered to the request for a page, if it did.
    fn answered(&self, navigated: &Navigated) -> Option<u32> {
        let loader = navigated.loader_id.as_deref()?;
        self.lock().request(loader)?.status
    }

    /// The boundary's reason, if it has one for a host on the way, is the better one.
    fn not_loaded(&self, url: &str, seen: u64, error: &str) -> Error {
        let mut hosts: Vec<String> = address::host(url).into_iter().collect();
        {
            let state = self.lock();
            let documents = state
                .network
                .iter()
                .rev()
                .filter(|it| it.kind == "document");
            hosts.extend(documents.filter_map(|it| address::host(&it.url)));
        }
        // Files have no host.
        hosts.push(String::new());
        let why = hosts
            .iter()
            .find_map(|host| self.refusals.since(seen, host));
        match why {
            Some(Why::Refused(why)) => Error::Refused(why),
            Some(Why::Failed(why)) => Error::Load(why),
            None => Error::Load(error.trim_start_matches("net::").to_owned()),
        }
    }

    fn loaded(&self, partial: bool) -> Loaded {
        Loaded {
            partial,
            status: self.lock().status,
            is_download: false,
        }
    }

    /// Waits a little until the document and its requests are complete.
    async fn calm(&self, patience: Duration) -> Result<bool, Error> {
        let calm = self
            .until(Instant::now() + patience, |state| {
                let is_calm = state.loaded && state.is_quiet();
                (is_calm || state.dialog.is_some()).then_some(())
            })
            .await?;
        Ok(calm.is_some())
    }

    /// Goes back to the page before; false if there is none.
    pub async fn go_back(&self) -> Result<bool, Error> {
        let history = self.ask(&History {}).await?;
        let before = history.current_index.checked_sub(1);
        let Some(entry) = before.and_then(|index| history.entries.get(index)) else {
            return Ok(false);
        };
        self.remember().await;
        // An address tells nothing: the page before may have the same.
        let moves = {
            let mut state = self.lock();
            state.leaving = true;
            state.moves
        };
        let gone = self.ask(&GoTo { entry_id: entry.id }).await;
        let deadline = Instant::now() + self.times.navigation;
        let there = match gone {
            Ok(_) => {
                self.until(deadline, |state| {
                    let is_there = state.moves != moves && state.dom_loaded;
                    (is_there || state.dialog.is_some()).then_some(())
                })
                .await
            }
            Err(error) => Err(error),
        };
        self.lock().leaving = false;
        there?;
        self.calm(self.times.idle).await?;
        Ok(true)
    }

    /// Lets what an action began come through: a new page, if one is on its way.
    pub(crate) async fn settle(&self, loader: &str, patience: Duration) -> Result<(), Error> {
        let begun = self
            .until(Instant::now() + SETTLE, |state| {
                (state.loader != loader || state.dialog.is_some()).then_some(())
            })
            .await?;
        if begun.is_some() || !self.lock().is_quiet() {
            self.until(Instant::now() + patience, |state| {
                let is_there = state.dom_loaded && state.is_quiet();
                (is_there || state.dialog.is_some()).then_some(())
            })
            .await?;
        }
        Ok(())
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
                if self.calm(patience).await? {
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
