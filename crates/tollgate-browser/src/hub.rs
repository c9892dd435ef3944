//! Who is told what: events of one browser, handed to the tabs and sessions they are about.
//!
//! Invariant: a page that belongs to no session of ours does not stay open, and a download that
//! belongs to none does not go on.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use crate::{
    protocol::{
        commands::{CancelDownload, CloseTarget, DetachTarget, RunIfWaiting},
        events::{Attached, Detached, DownloadBegins, DownloadProgress},
        pipe::{Connection, Event},
    },
    session::Session,
    tab::Tab,
};

/// How long a worker may take to begin.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where events go.
#[derive(Default)]
pub(crate) struct Hub {
    connection: OnceLock<Connection>,
    routes: Mutex<Routes>,
}

#[derive(Default)]
struct Routes {
    /// Sessions by their contexts.
    contexts: HashMap<String, Weak<Session>>,
    /// Tabs by the conversations about them and their frames.
    tabs: HashMap<String, Arc<Tab>>,
    downloads: HashMap<String, Weak<Session>>,
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is told the conversation, once it has begun.
    pub(crate) fn connect(&self, connection: &Connection) {
        // It begins once.
        let _ = self.connection.set(connection.clone());
    }

    /// Hands what happens in a context to a session.
    pub(crate) fn join(&self, context: &str, session: &Arc<Session>) {
        self.lock()
            .contexts
            .insert(context.to_owned(), Arc::downgrade(session));
    }

    /// A context is gone.
    pub(crate) fn leave(&self, context: &str) {
        self.lock().contexts.remove(context);
    }

    /// The browser is gone, and every page with it.
    pub(crate) fn end(&self) {
        let routes = std::mem::take(&mut *self.lock());
        for tab in routes.tabs.values() {
            tab.end();
        }
    }

    /// Takes an event.
    pub(crate) fn take(&self, event: &Event<'_>) {
        let Some(connection) = self.connection.get() else {
            return;
        };
        match (event.method, event.session) {
            ("Target.attachedToTarget", above) => {
                if let Some(attached) = event.read::<Attached>() {
                    self.attached(connection, above, &attached);
                }
            }
            ("Target.detachedFromTarget", _) => {
                if let Some(detached) = event.read::<Detached>() {
                    self.detached(&detached.session_id);
                }
            }
            ("Browser.downloadWillBegin", None) => {
                if let Some(begins) = event.read::<DownloadBegins>() {
                    self.download(connection, &begins);
                }
            }
            ("Browser.downloadProgress", None) => {
                if let Some(progress) = event.read::<DownloadProgress>() {
                    self.downloading(connection, &progress);
                }
            }
            (_, Some(session)) => {
                let tab = self.lock().tabs.get(session).cloned();
                if let Some(tab) = tab {
                    tab.take(session, event);
                }
            }
            (_, None) => {}
        }
    }

    fn attached(&self, connection: &Connection, above: Option<&str>, attached: &Attached) {
        let info = &attached.target_info;
        let session_id = &attached.session_id;
        match (info.r#type.as_str(), above) {
            ("page", None) => {
                let context = info.browser_context_id.as_ref();
                let session = context.and_then(|id| self.lock().contexts.get(id)?.upgrade());
                let tab = session.and_then(|session| session.adopt(connection, attached));
                match tab {
                    Some(tab) => {
                        self.lock()
                            .tabs
                            .insert(session_id.clone(), Arc::clone(&tab));
                    }
                    None => {
                        let target_id = info.target_id.clone();
                        connection.tell(None, &CloseTarget { target_id });
                    }
                }
            }
            ("iframe", Some(above)) => {
                let tab = self.lock().tabs.get(above).cloned();
                match tab {
                    Some(tab) => {
                        self.lock()
                            .tabs
                            .insert(session_id.clone(), Arc::clone(&tab));
                        tab.frame_moved(&info.target_id, session_id);
                        tab.listen_to(session_id, false);
                    }
                    None => connection.tell(Some(session_id), &RunIfWaiting {}),
                }
            }
            // Workers have nothing to show; what they ask for passes the proxy all the same.
            // They are let go of once they run: let go of earlier, they would wait for ever.
            _ => {
                let (connection, session_id) = (connection.clone(), session_id.clone());
                let above = above.map(str::to_owned);
                tokio::spawn(async move {
                    let run = RunIfWaiting {};
                    // One that is gone has nothing to be let go of.
                    let _ = connection.ask(Some(&session_id), &run, PATIENCE).await;
                    connection.tell(above.as_deref(), &DetachTarget { session_id });
                });
            }
        }
    }

    fn detached(&self, session_id: &str) {
        let tab = self.lock().tabs.remove(session_id);
        let Some(tab) = tab else {
            return;
        };
        if tab.session == session_id {
            tab.left(None);
            tab.end();
            let sessions: Vec<_> = self
                .lock()
                .contexts
                .values()
                .filter_map(Weak::upgrade)
                .collect();
            for session in sessions {
                session.forget(&tab.target);
            }
            self.lock()
                .tabs
                .retain(|_, other| !Arc::ptr_eq(other, &tab));
        } else {
            {
                let mut state = tab.lock();
                state.frames.retain(|_, it| it.session != session_id);
                state.worlds.ended(session_id);
            }
            tab.touch();
        }
    }

    fn download(&self, connection: &Connection, begins: &DownloadBegins) {
        let sessions: Vec<_> = self
            .lock()
            .contexts
            .values()
            .filter_map(Weak::upgrade)
            .collect();
        let owner = sessions
            .into_iter()
            .find(|session| session.has_frame(&begins.frame_id));
        let Some(session) = owner else {
            self.stop_download(connection, &begins.guid);
            return;
        };
        if let Some(forgotten) = session.download(begins) {
            self.stop_download(connection, &forgotten);
        }
        self.lock()
            .downloads
            .insert(begins.guid.clone(), Arc::downgrade(&session));
    }

    fn downloading(&self, connection: &Connection, progress: &DownloadProgress) {
        let is_over = progress.state != "inProgress";
        let owner = {
            let mut routes = self.lock();
            let owner = routes.downloads.get(&progress.guid).and_then(Weak::upgrade);
            if is_over || owner.is_none() {
                routes.downloads.remove(&progress.guid);
            }
            owner
        };
        match owner {
            Some(session) => session.downloading(connection, progress),
            // What came too early to be stopped is stopped with its next piece.
            None if !is_over => self.stop_download(connection, &progress.guid),
            None => {}
        }
    }

    /// Ends a download that belongs to nobody; in which context it is, is not told.
    fn stop_download(&self, connection: &Connection, guid: &str) {
        let contexts: Vec<String> = {
            let mut routes = self.lock();
            routes.downloads.remove(guid);
            routes.contexts.keys().cloned().collect()
        };
        for browser_context_id in contexts {
            let guid = guid.to_owned();
            let cancel = CancelDownload {
                guid,
                browser_context_id,
            };
            connection.tell(None, &cancel);
        }
    }
}
