//! What is known of a tab, changed by events alone.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use super::{
    credentials::Credentials,
    events::LONGEST,
    headers::{Headers, Said},
    logs::{ConsoleEntry, Dialog, NetworkEntry, Recent, cut},
    worlds::Worlds,
};
use crate::protocol::events::Frame;

/// A request that lasts longer is a stream, and nobody waits for it.
pub(crate) const STREAMING: Duration = Duration::from_secs(10);
/// How many documents back are remembered.
const PAST: usize = 16;

/// A frame of the page.
#[derive(Debug, Clone)]
pub(crate) struct KnownFrame {
    /// The conversation it is in: the tab's own, or one of its own.
    pub(crate) session: String,
    pub(crate) parent: Option<String>,
}

/// A way through the history of a tab.
#[derive(Debug)]
pub(crate) struct Journey {
    /// The document it leads to.
    pub(crate) loader: String,
    /// Whether it leads to another place of the document that is shown.
    pub(crate) is_within: bool,
}

/// What is known of a tab.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) url: String,
    pub(crate) main_frame: String,
    pub(crate) session: String,
    /// The document that is shown.
    pub(crate) loader: String,
    /// How often another entry of its history was shown.
    pub(crate) moves: u64,
    /// The document that was asked what it stored because it was to be left.
    pub(crate) parted: Option<String>,
    /// The last way through its history.
    pub(crate) journey: Option<Journey>,
    /// Documents that were shown before.
    pub(crate) past: VecDeque<String>,
    pub(crate) dom_loaded: bool,
    pub(crate) loaded: bool,
    /// What the server answered for the document.
    pub(crate) status: Option<u32>,
    pub(crate) frames: BTreeMap<String, KnownFrame>,
    /// Numbers for frames with a process of their own, for the ids of elements in them.
    pub(crate) numbers: HashMap<String, usize>,
    pub(crate) worlds: Worlds,
    pub(crate) in_flight: HashMap<String, Instant>,
    pub(crate) console: Recent<ConsoleEntry>,
    pub(crate) network: Recent<NetworkEntry>,
    pub(crate) said: Said,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) dialogs: Recent<Dialog>,
    /// Dialogs of this document.
    pub(crate) dialogs_here: u32,
    /// Whether leaving the page is our own wish.
    pub(crate) leaving: bool,
    /// Whether nobody listens to its dialogs any more, because it is about to be left.
    pub(crate) is_unheard: bool,
    /// Whom it is known as where an address said so.
    pub(crate) credentials: Option<Credentials>,
    /// Folders whose files may be shown.
    pub(crate) roots: Arc<[PathBuf]>,
    /// Whether its pages are empty ones of ours, shown to store something for their origins.
    pub(crate) is_stage: bool,
    /// The address that could not be loaded, if the page is the browser's own that says so.
    pub(crate) unreachable: Option<String>,
}

impl State {
    /// The last entry of a request.
    pub(crate) fn requested(&self, id: &str) -> Option<&NetworkEntry> {
        let mut newest_first = self.network.iter().rev();
        newest_first.find(|entry| entry.request_id == id)
    }

    /// The same, to be changed.
    pub(crate) fn request(&mut self, id: &str) -> Option<&mut NetworkEntry> {
        let mut newest_first = self.network.iter_mut().rev();
        newest_first.find(|entry| entry.request_id == id)
    }

    pub(crate) fn new(main_frame: String, session: String, roots: Arc<[PathBuf]>) -> Self {
        let frame = KnownFrame {
            session: session.clone(),
            parent: None,
        };
        Self {
            url: "about:blank".to_owned(),
            frames: BTreeMap::from([(main_frame.clone(), frame)]),
            main_frame,
            session,
            loader: String::new(),
            moves: 0,
            parted: None,
            journey: None,
            past: VecDeque::new(),
            dom_loaded: true,
            loaded: true,
            status: None,
            numbers: HashMap::new(),
            worlds: Worlds::default(),
            in_flight: HashMap::new(),
            console: Recent::new(100),
            network: Recent::new(200),
            said: Said::default(),
            dialog: None,
            dialogs: Recent::new(20),
            dialogs_here: 0,
            leaving: false,
            is_unheard: false,
            credentials: None,
            roots,
            is_stage: false,
            unreachable: None,
        }
    }

    /// A frame shows another document.
    pub(crate) fn navigated(&mut self, session: &str, frame: &Frame) {
        let known = KnownFrame {
            session: session.to_owned(),
            parent: frame
                .parent_id
                .clone()
                .or_else(|| self.frames.get(&frame.id).and_then(|it| it.parent.clone())),
        };
        self.worlds.left(&frame.id);
        let is_main = session == self.session && frame.parent_id.is_none();
        if is_main {
            self.frames.clear();
            self.moves += 1;
            self.main_frame.clone_from(&frame.id);
            self.url = frame.address();
            self.unreachable.clone_from(&frame.unreachable_url);
            self.note_unreachable();
            self.past.push_back(std::mem::take(&mut self.loader));
            if self.past.len() > PAST {
                self.past.pop_front();
            }
            self.loader.clone_from(&frame.loader_id);
            self.dom_loaded = false;
            self.loaded = false;
            self.dialogs_here = 0;
            self.leaving = false;
            self.is_unheard = false;
            // Requests of the document before are of no interest any more.
            let loader = &self.loader;
            self.in_flight.retain(|id, _| id == loader);
        }
        self.frames.insert(frame.id.clone(), known);
    }

    /// Where the request for a page failed is not always told, but the page that says so is there.
    fn note_unreachable(&mut self) {
        let Some(url) = &self.unreachable else {
            return;
        };
        let url = cut(url, LONGEST);
        let error = Some("net::ERR_FAILED".to_owned());
        let mut newest_first = self.network.iter_mut().rev();
        if let Some(entry) = newest_first.find(|it| it.kind == "document" && it.url == url) {
            self.in_flight.remove(&entry.request_id);
            entry.error = entry.error.take().or(error);
            return;
        }
        drop(newest_first);
        self.network.push(NetworkEntry {
            request_id: self.loader.clone(),
            url,
            method: "GET".to_owned(),
            kind: "document".to_owned(),
            status: None,
            mime_type: None,
            begun_ms: 0,
            duration_ms: None,
            size: None,
            error,
            headers: Headers::default(),
        });
    }

    /// Whether nothing that matters is being loaded.
    pub(crate) fn is_quiet(&self) -> bool {
        self.pending() == 0
    }

    /// How many requests are under way that anyone would wait for.
    pub(crate) fn pending(&self) -> usize {
        let is_young = |begun: &&Instant| begun.elapsed() < STREAMING;
        self.in_flight.values().filter(is_young).count()
    }

    /// How many of them are of other kinds than these.
    pub(crate) fn loading(&self, beside: &[&str]) -> usize {
        let is_meant = |(id, begun): &(&String, &Instant)| {
            let kind = self.requested(id).map_or("", |it| it.kind.as_str());
            begun.elapsed() < STREAMING && !beside.contains(&kind)
        };
        self.in_flight.iter().filter(is_meant).count()
    }

    /// How many documents were asked for since then and are not there yet.
    pub(crate) fn departing(&self, since: Instant) -> usize {
        let is_meant = |(id, begun): &(&String, &Instant)| {
            let asked = self.requested(id);
            **begun >= since && asked.is_some_and(|it| it.kind == "document")
        };
        self.in_flight.iter().filter(is_meant).count()
    }

    /// What was asked for since then and is not there yet.
    pub(crate) fn begun(&self, since: Instant) -> Vec<String> {
        let young = self.in_flight.iter().filter(|(_, begun)| **begun >= since);
        young.map(|(id, _)| id.clone()).collect()
    }

    /// Whether the last document that was asked for did not come.
    pub(crate) fn is_lost(&self) -> bool {
        let mut newest_first = self.network.iter().rev();
        let last = newest_first.find(|it| it.kind == "document");
        last.is_some_and(|it| it.error.is_some() && it.status.is_none())
    }

    /// How far the document has come.
    pub(crate) fn load_state(&self) -> &'static str {
        match (self.loaded, self.dom_loaded) {
            (true, _) => "complete",
            (false, true) => "interactive",
            (false, false) => "loading",
        }
    }

    /// Whether a document is shown, or was.
    pub(crate) fn has_shown(&self, loader: &str) -> bool {
        self.loader == loader || self.past.iter().any(|past| past == loader)
    }

    pub(crate) fn settle_dialog(&mut self, number: u64, handled: &'static str) {
        if self
            .dialog
            .as_ref()
            .is_some_and(|open| open.number == number)
        {
            self.dialog = None;
        }
        let found = self.dialogs.iter_mut().find(|it| it.number == number);
        if let Some(dialog) = found
            && dialog.handled.is_none()
        {
            dialog.handled = Some(handled);
        }
    }

    /// A number for a frame with a process of its own.
    pub(crate) fn number(&mut self, session: &str) -> usize {
        let next = self.numbers.len() + 1;
        *self.numbers.entry(session.to_owned()).or_insert(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State::new("main".to_owned(), "own".to_owned(), Arc::from([]))
    }

    fn frame(id: &str, parent: Option<&str>, loader: &str) -> Frame {
        Frame {
            id: id.to_owned(),
            parent_id: parent.map(str::to_owned),
            loader_id: loader.to_owned(),
            url: "http://shop.test/next".to_owned(),
            url_fragment: String::new(),
            unreachable_url: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_lasts_is_not_waited_for() {
        let mut state = state();
        assert!(state.is_quiet());
        state.in_flight.insert("stream".to_owned(), Instant::now());
        tokio::time::advance(Duration::from_millis(9_999)).await;
        state.in_flight.insert("young".to_owned(), Instant::now());
        assert_eq!(state.pending(), 2);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!((state.pending(), state.is_quiet()), (1, false));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(state.is_quiet());
    }

    #[tokio::test(start_paused = true)]
    async fn another_page_begins_anew() {
        let mut state = state();
        state.navigated("own", &frame("main", None, "first"));
        state.dom_loaded = true;
        state.loaded = true;
        state.dialogs_here = 7;
        state.leaving = true;
        state.is_unheard = true;
        for request in ["image", "second"] {
            state.in_flight.insert(request.to_owned(), Instant::now());
        }
        // A frame of the page changes nothing of that.
        state.navigated("own", &frame("inner", Some("main"), "framed"));
        state.navigated("other", &frame("apart", None, "framed"));
        assert_eq!((state.pending(), state.load_state()), (2, "complete"));
        assert_eq!(state.frames.len(), 3);

        state.navigated("own", &frame("main", None, "second"));
        assert_eq!((state.pending(), state.load_state()), (1, "loading"));
        assert!(state.in_flight.contains_key("second"));
        assert_eq!((state.dialogs_here, state.leaving), (0, false));
        assert!(!state.is_unheard);
        assert_eq!(state.url, "http://shop.test/next");
        assert!(state.frames.keys().eq(["main"]));
        assert!(state.has_shown("first") && state.has_shown("second"));
        assert!(!state.has_shown("framed"));
    }
}
