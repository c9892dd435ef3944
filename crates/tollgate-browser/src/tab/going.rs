//! Going somewhere: to an address, or back to a page that was shown before.
//!
//! Invariant: whoever sends a tab somewhere is not outdone by its page. One that leaves at the
//! same moment takes our place, but our wish is the newer one, so it is said again. Whoever sends
//! it somewhere at the same time waits, and so does whoever wants to read what came.

use std::time::Duration;

use tokio::{
    sync::MutexGuard,
    time::{Instant, timeout},
};

use super::{Tab, state::State};
use crate::{
    boundary::Why,
    error::Error,
    page::address,
    protocol::commands::{GoTo, History, Navigate, Navigated, StopLoading},
};

/// How often a page is left that wants to go elsewhere.
const TRIES: u32 = 3;
/// How long the browser may take to begin a way through the history.
const BEGIN: Duration = Duration::from_secs(2);
/// What is said of a request that was given up, by whomever.
const ABORTED: &str = "net::ERR_ABORTED";

/// What is said where the proxy of a session is not found.
const LOST: &str = "net::ERR_PROXY_CONNECTION_FAILED";

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

/// Where to.
struct Way<'w> {
    url: &'w str,
    /// The entry of the history that it is.
    entry: Option<i64>,
}

impl Way<'_> {
    /// Who should have answered, as an error names it.
    fn server(&self) -> String {
        address::host(self.url).unwrap_or_else(|| "it".to_owned())
    }
}

/// The right to send a tab somewhere; nobody else does that while it is held.
pub struct Turn<'t> {
    tab: &'t Tab,
    _held: MutexGuard<'t, ()>,
}

impl Turn<'_> {
    /// Goes to an address.
    pub async fn navigate(&self, url: &str) -> Result<Loaded, Error> {
        address::check(url).map_err(Error::Invalid)?;
        self.tab.introduce(url).await?;
        self.tab.go(Way { url, entry: None }).await
    }

    /// Goes back to the page before; false if there is none.
    pub async fn go_back(&self) -> Result<bool, Error> {
        let history = self.tab.ask(&History {}).await?;
        let before = history.current_index.checked_sub(1);
        let Some(entry) = before.and_then(|index| history.entries.get(index)) else {
            return Ok(false);
        };
        let way = Way {
            url: &entry.url,
            entry: Some(entry.id),
        };
        self.tab.go(way).await?;
        Ok(true)
    }
}

impl Tab {
    /// Waits until nobody else sends the tab somewhere; not so long that no time is left to go.
    pub async fn turn(&self) -> Result<Turn<'_>, Error> {
        let late = |_| {
            let why = "another navigation of this tab is still under way";
            Error::Timeout(why.to_owned())
        };
        let held = timeout(self.times.navigation * 2 / 3, self.turn.lock()).await;
        Ok(Turn {
            tab: self,
            _held: held.map_err(late)?,
        })
    }

    /// Goes to an address, once nobody else sends the tab somewhere.
    pub async fn navigate(&self, url: &str) -> Result<Loaded, Error> {
        self.turn().await?.navigate(url).await
    }

    /// Goes back to the page before; false if there is none.
    pub async fn go_back(&self) -> Result<bool, Error> {
        self.turn().await?.go_back().await
    }

    async fn go(&self, way: Way<'_>) -> Result<Loaded, Error> {
        let seen = self.refusals.count();
        let deadline = Instant::now() + self.times.navigation;
        // Neither a dialog that nobody answered nor the next ones keep anyone on their page.
        self.lock().is_unheard = true;
        let went = self.away(way, (seen, deadline)).await;
        self.lock().is_unheard = false;
        went
    }

    async fn away(&self, way: Way<'_>, (seen, deadline): (u64, Instant)) -> Result<Loaded, Error> {
        if let Some(dialog) = self.pending_dialog() {
            self.handle_dialog(dialog.r#type == "beforeunload", None)
                .await?;
        }
        // Where the request for the next page is held back, this one is asked meanwhile.
        let is_held = self.memory.is_kept && address::origin(way.url).is_some();
        if !is_held && self.is_left_for(way.url) {
            self.take_leave().await;
        }
        let navigated = match self.depart(&way, deadline).await {
            Ok(navigated) => navigated,
            // Nothing of the page came: the one that is shown is another.
            Err(Error::Timeout(_)) => {
                self.connection.tell(Some(&self.session), &StopLoading {});
                let limit = self.times.navigation.as_secs();
                let why = format!("no page came from {} within {limit} s", way.server());
                return Err(Error::Timeout(why));
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
                Some(_) | None => self.not_loaded(way.url, seen, error),
            });
        }
        if let Some(loader) = navigated.loader_id {
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
        }
        self.calm(self.times.idle).await?;
        Ok(self.loaded(false))
    }

    /// Leaves, and says it again if the page leaves as well and takes our place.
    async fn depart(&self, way: &Way<'_>, deadline: Instant) -> Result<Navigated, Error> {
        let mut tries = 0;
        loop {
            {
                let mut state = self.lock();
                state.leaving = true;
                state.status = None;
            }
            let answered = match way.entry {
                None => {
                    let url = way.url.to_owned();
                    let patience = deadline.saturating_duration_since(Instant::now());
                    self.ask_in(&self.session, &Navigate { url }, patience)
                        .await
                }
                Some(entry) => self.travel(entry, deadline).await,
            };
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

    /// Why the page that is shown is none, if it could not be loaded.
    pub fn failure(&self) -> Option<Error> {
        let (url, error) = {
            let state = self.lock();
            let url = state.unreachable.clone()?;
            let asked = state.requested(&state.loader);
            (url, asked.and_then(|it| it.error.clone()))
        };
        let hosts: Vec<String> = address::host(&url).into_iter().collect();
        let error = error.unwrap_or_else(|| "the page could not be loaded".to_owned());
        Some(self.because(&hosts, 0, &error))
    }

    /// Goes to an entry of the history. The browser answers that it will; events tell the rest.
    async fn travel(&self, entry_id: i64, deadline: Instant) -> Result<Navigated, Error> {
        let (moves, loader) = {
            let mut state = self.lock();
            state.journey = None;
            (state.moves, state.loader.clone())
        };
        self.ask(&GoTo { entry_id }).await?;
        let begun = |state: &State| state.journey.as_ref().map(|_| ());
        self.until(Instant::now() + BEGIN, begun).await?;
        let ended = |state: &State| match &state.dialog {
            Some(dialog) => Some(Err(Error::Dialog(dialog.message.clone()))),
            None => travelled(state, moves, &loader).map(Ok),
        };
        let late = || Err(Error::Timeout("the page does not come".to_owned()));
        self.until(deadline, ended).await?.unwrap_or_else(late)
    }

    /// What the server answered to the request for a page, if it did.
    fn answered(&self, navigated: &Navigated) -> Option<u32> {
        let loader = navigated.loader_id.as_deref()?;
        self.lock().requested(loader)?.status
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
        self.because(&hosts, seen, error)
    }

    fn because(&self, hosts: &[String], seen: u64, error: &str) -> Error {
        let why = hosts
            .iter()
            .find_map(|host| self.refusals.since(seen, host));
        match why {
            Some(Why::Refused(why)) => Error::Refused(why),
            Some(Why::Failed(why)) => Error::Load(why),
            // Our own proxy listens as long as the session lives: the browser lost its network
            // process, and with it where the contexts' proxies are.
            None if error == LOST => {
                self.connection.give_up();
                Error::Crashed
            }
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
}

/// How a way through the history ended, once it has; `moves` and `loader` are from before it.
fn travelled(state: &State, moves: u64, loader: &str) -> Option<Navigated> {
    let ended = |loader_id: Option<&String>, error_text: Option<String>| Navigated {
        loader_id: loader_id.cloned(),
        error_text,
        is_download: false,
    };
    let Some(journey) = &state.journey else {
        // Another document came before ours could begin.
        let is_outdone = state.loader != loader;
        return is_outdone.then(|| ended(None, Some(ABORTED.to_owned())));
    };
    if journey.is_within {
        return (state.moves != moves).then(|| ended(None, None));
    }
    let ours = &journey.loader;
    let asked = state.requested(ours);
    // A page that says what went wrong is shown in place of one that was not to be had.
    let is_answered = asked.is_none_or(|it| it.status.is_some() || it.error.is_none());
    if is_answered && state.has_shown(ours) {
        return Some(ended(Some(ours), None));
    }
    let error = asked.and_then(|it| it.error.clone())?;
    Some(ended(Some(ours), Some(error)))
}
