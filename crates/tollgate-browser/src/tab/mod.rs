//! One tab: what is known of it, and how it is asked.
//!
//! Whoever asks a page never waits for ever: an answer, a dialog that blocks the page, the end
//! of the page and the end of patience all end the wait.

pub(crate) mod act;
mod credentials;
mod events;
pub(crate) mod going;
pub(crate) mod headers;
mod held;
pub(crate) mod keys;
pub(crate) mod load;
pub(crate) mod logs;
pub(crate) mod paint;
pub(crate) mod picture;
pub(crate) mod script;
pub(crate) mod state;
mod stored;
mod veil;
pub(crate) mod worlds;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    boundary::Refusals,
    error::{Error, unless_gone},
    page::view::Views,
    protocol::{Command, WireError, commands, pipe::Connection},
    session::memory::Memory,
};
use logs::Dialog;
use state::State;

/// A page that does not react by then hangs.
const PATIENCE: Duration = Duration::from_secs(15);
/// How much of an address is shown.
const LONGEST_URL: usize = 2000;
/// Where our own scripts run in a page, apart from the page's.
pub(crate) const WORLD: &str = "tollgate";

/// Which requests are held back: those for files, because not all may be shown, and where what
/// pages store is kept those for documents of the tab, until the page that they replace has said
/// what it stored. That takes time, so nobody else waits for it.
fn held_back(is_kept: bool) -> Vec<commands::RequestPattern> {
    let files = commands::RequestPattern {
        url_pattern: "file://*".into(),
        resource_type: None,
    };
    let documents = commands::RequestPattern {
        url_pattern: "*".into(),
        resource_type: Some("Document"),
    };
    let documents = is_kept.then_some(documents);
    [files].into_iter().chain(documents).collect()
}

/// One tab of a session.
pub struct Tab {
    pub(crate) target: String,
    /// The conversation about this tab.
    pub(crate) session: String,
    pub(crate) connection: Connection,
    pub(crate) refusals: Arc<Refusals>,
    pub(crate) times: Times,
    pub(crate) views: Mutex<Views>,
    pub(crate) memory: Arc<Memory>,
    state: Mutex<State>,
    changed: watch::Sender<()>,
    ended: CancellationToken,
    begun: tokio::sync::OnceCell<()>,
    /// Held by whoever sends the tab somewhere.
    turn: tokio::sync::Mutex<()>,
}

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Until a page is there.
    pub(crate) navigation: Duration,
    /// Until its requests have calmed down, after that.
    pub(crate) idle: Duration,
    /// Until a dialog that nobody answers is dismissed.
    pub(crate) dialog: Duration,
}

/// What a new tab is made of.
pub(crate) struct Fresh {
    pub(crate) target: String,
    pub(crate) session: String,
    pub(crate) connection: Connection,
    pub(crate) refusals: Arc<Refusals>,
    pub(crate) times: Times,
    pub(crate) roots: Arc<[std::path::PathBuf]>,
    pub(crate) memory: Arc<Memory>,
}

impl Tab {
    /// A tab whose page has not begun yet; tells the browser what we want to hear of it.
    pub(crate) fn new(fresh: Fresh) -> Arc<Self> {
        let tab = Arc::new(Self::of(fresh));
        tab.listen_to(&tab.session, true);
        tab
    }

    /// A tab that the browser knows nothing of; like one that died, it is loaded when it is used.
    pub(crate) fn asleep(fresh: Fresh, url: &str) -> Arc<Self> {
        let tab = Self::of(fresh);
        url.clone_into(&mut tab.lock().url);
        tab.end();
        Arc::new(tab)
    }

    fn of(fresh: Fresh) -> Self {
        Self {
            state: Mutex::new(State::new(
                fresh.target.clone(),
                fresh.session.clone(),
                fresh.roots,
            )),
            target: fresh.target,
            session: fresh.session,
            connection: fresh.connection,
            refusals: fresh.refusals,
            times: fresh.times,
            views: Mutex::default(),
            memory: fresh.memory,
            changed: watch::Sender::new(()),
            ended: CancellationToken::new(),
            begun: tokio::sync::OnceCell::new(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Where it is.
    pub fn url(&self) -> String {
        self.lock().url.clone()
    }

    /// Where it is, for whoever reads it: pages make addresses as long as they like.
    pub fn shown_url(&self) -> String {
        logs::cut(&self.lock().url, LONGEST_URL)
    }

    /// What the server answered for the page that is shown; nothing if it was not asked.
    pub fn status(&self) -> Option<u32> {
        self.lock().status
    }

    /// Whether its page holds others.
    pub fn has_frames(&self) -> bool {
        self.lock().frames.len() > 1
    }

    /// Whether its page is gone.
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// The dialog that blocks the page, if one does.
    pub fn pending_dialog(&self) -> Option<Dialog> {
        self.lock().dialog.clone()
    }

    /// Turns on what we want to hear of a page or of a frame with a process of its own.
    pub(crate) fn listen_to(&self, session: &str, is_page: bool) {
        let to = Some(session);
        let connection = &self.connection;
        connection.tell(to, &commands::EnablePage {});
        connection.tell(to, &commands::EnableRuntime {});
        connection.tell(to, &commands::EnableInspector {});
        // Bodies are not read, so none are kept.
        let network = commands::EnableNetwork {
            max_total_buffer_size: Some(0),
            max_resource_buffer_size: Some(0),
        };
        connection.tell(to, &network);
        connection.tell(to, &commands::EnableLog {});
        connection.tell(to, &commands::EnableStorage {});
        connection.tell(to, &commands::Lifecycle { enabled: true });
        let watching = commands::AddScript {
            source: script::WATCHER.to_owned(),
            world_name: WORLD.to_owned(),
            run_immediately: Some(true),
        };
        connection.tell(to, &watching);
        connection.tell(
            to,
            &commands::EnableFetch {
                patterns: held_back(is_page && self.memory.is_kept),
            },
        );
        if is_page {
            connection.tell(to, &commands::FocusEmulation { enabled: true });
        }
        let attach = commands::AutoAttach {
            auto_attach: true,
            wait_for_debugger_on_start: true,
            flatten: true,
        };
        connection.tell(to, &attach);
        connection.tell(to, &commands::RunIfWaiting {});
    }

    /// Waits until its first document has begun: one that is sent on earlier than that dies.
    pub(crate) async fn begun(&self) -> Result<(), Error> {
        let begin = || async { self.ask_anyway(&commands::RunIfWaiting {}).await.map(drop) };
        self.begun.get_or_try_init(begin).await.copied()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every call on it.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    /// Wakes whoever waits for a change.
    pub(crate) fn touch(&self) {
        self.changed.send_replace(());
    }

    /// Asks the page.
    pub(crate) async fn ask<C: Command>(&self, command: &C) -> Result<C::Answer, Error> {
        self.ask_in(&self.session, command, PATIENCE).await
    }

    /// Asks the page, or a frame of it with a process of its own.
    pub(crate) async fn ask_in<C: Command>(
        &self,
        session: &str,
        command: &C,
        patience: Duration,
    ) -> Result<C::Answer, Error> {
        tokio::select! {
            answer = self.connection.ask(Some(session), command, patience) => match answer {
                Ok(answer) => Ok(answer),
                Err(WireError::Silent(method)) if patience == PATIENCE => {
                    // A page that does nothing any more is replaced when it is used again.
                    self.end();
                    Err(WireError::Silent(method).into())
                }
                Err(error) => Err(error.into()),
            },
            () = self.ended.cancelled() => Err(Error::Crashed),
            dialog = self.blocked() => Err(Error::Dialog(dialog.message)),
        }
    }

    /// What a conversation about the page said. A frame that went away meanwhile says nothing; the
    /// page itself has to be there.
    pub(crate) fn heard<T>(
        &self,
        session: &str,
        said: Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if session == self.session {
            return said.map(Some);
        }
        unless_gone(said)
    }

    /// Asks what does not need the page's own attention.
    pub(crate) async fn ask_anyway<C: Command>(&self, command: &C) -> Result<C::Answer, Error> {
        tokio::select! {
            answer = self.connection.ask(Some(&self.session), command, PATIENCE) => Ok(answer?),
            () = self.ended.cancelled() => Err(Error::Crashed),
        }
    }

    /// Waits until a dialog blocks the page.
    pub(crate) async fn blocked(&self) -> Dialog {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(dialog) = self.pending_dialog() {
                return dialog;
            }
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until the state is as wanted; nothing if it is not by `deadline`.
    pub(crate) async fn until<T>(
        &self,
        deadline: Instant,
        wanted: impl Fn(&State) -> Option<T> + Send,
    ) -> Result<Option<T>, Error> {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(found) = wanted(&self.lock()) {
                return Ok(Some(found));
            }
            tokio::select! {
                changed = timeout_at(deadline, changed.changed()) => {
                    if !matches!(changed, Ok(Ok(()))) {
                        return Ok(wanted(&self.lock()));
                    }
                }
                () = self.ended.cancelled() => return Err(Error::Crashed),
            }
        }
    }

    /// Answers the dialog that blocks the page.
    pub async fn handle_dialog(
        &self,
        accept: bool,
        text: Option<String>,
    ) -> Result<Option<Dialog>, Error> {
        let Some(dialog) = self.pending_dialog() else {
            return Ok(None);
        };
        let command = commands::HandleDialog {
            accept,
            prompt_text: text,
        };
        match self.ask_anyway(&command).await {
            Ok(_) => {}
            // Somebody else was quicker.
            Err(Error::Protocol(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        let settled = if accept { "accepted" } else { "dismissed" };
        self.lock().settle_dialog(dialog.number, settled);
        self.touch();
        Ok(Some(Dialog {
            handled: Some(settled),
            ..dialog
        }))
    }

    /// What dialogs there were, the last one last.
    pub fn dialogs(&self) -> Vec<Dialog> {
        self.lock().dialogs.iter().cloned().collect()
    }
}
