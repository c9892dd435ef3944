//! What the browser tells of a tab, taken into its state.

use std::{path::Path, sync::Arc};

use tokio::time::{Instant, sleep};

use super::{
    Tab,
    headers::Headers,
    logs::{ConsoleEntry, Dialog, NetworkEntry, cut, level},
    state::{Journey, KnownFrame},
};
use crate::{
    page::address,
    protocol::{commands, events, pipe::Event},
};

/// The longest text of one entry.
pub(super) const LONGEST: usize = 2000;
/// A document that shows more dialogs than this is not asked about any more.
const MOST_DIALOGS: u32 = 20;
/// The script of one that shows more than this is stopped.
const FAR_TOO_MANY: u32 = 100;

impl Tab {
    /// Takes an event about this tab; `session` is the conversation it came in.
    pub(crate) fn take(self: &Arc<Self>, session: &str, event: &Event<'_>) {
        match event.method {
            "Page.frameNavigated"
            | "Page.navigatedWithinDocument"
            | "Page.frameAttached"
            | "Page.frameDetached"
            | "Page.lifecycleEvent" => self.take_frame(session, event),
            "Page.frameStartedNavigating" => {
                self.take_departing(event);
            }
            "Page.javascriptDialogOpening" => self.take_dialog(event),
            "Page.javascriptDialogClosed" => {
                let accepted = event
                    .read::<events::DialogClosed>()
                    .is_some_and(|it| it.result);
                let how = if accepted { "accepted" } else { "dismissed" };
                let mut state = self.lock();
                if let Some(open) = state.dialog.take() {
                    state.settle_dialog(open.number, how);
                }
            }
            "Network.requestWillBeSent"
            | "Network.responseReceived"
            | "Network.loadingFinished"
            | "Network.loadingFailed"
            | "Network.requestServedFromCache" => {
                self.take_network(event);
                if event.method != "Network.requestWillBeSent" {
                    self.memory.touch();
                }
            }
            "DOMStorage.domStorageItemAdded"
            | "DOMStorage.domStorageItemUpdated"
            | "DOMStorage.domStorageItemRemoved"
            | "DOMStorage.domStorageItemsCleared" => {
                self.memory.take(event);
                return;
            }
            "Runtime.executionContextCreated"
            | "Runtime.executionContextDestroyed"
            | "Runtime.executionContextsCleared" => {
                self.take_world(session, event);
                return;
            }
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" => {
                self.take_console(event);
                return;
            }
            "Inspector.targetCrashed" if session == self.session => {
                self.left(None);
                self.end();
            }
            "Fetch.requestPaused" => {
                self.take_paused(session, event);
                return;
            }
            _ => return,
        }
        self.touch();
    }

    /// A frame has a process of its own from now on. Its document may be there already, so no
    /// event tells of it.
    pub(crate) fn frame_moved(&self, frame: &str, session: &str) {
        let mut state = self.lock();
        let known = state.frames.get(frame).and_then(|it| it.parent.clone());
        let parent = known.unwrap_or_else(|| state.main_frame.clone());
        let moved = KnownFrame {
            session: session.to_owned(),
            parent: Some(parent),
        };
        state.frames.insert(frame.to_owned(), moved);
    }

    fn take_frame(&self, session: &str, event: &Event<'_>) {
        match event.method {
            "Page.frameNavigated" => {
                if let Some(it) = event.read::<events::FrameNavigated>() {
                    if session == self.session && it.frame.parent_id.is_none() {
                        self.left(Some(&it.frame.url));
                    }
                    self.lock().navigated(session, &it.frame);
                    self.memory.touch();
                }
            }
            "Page.navigatedWithinDocument" => {
                if let Some(it) = event.read::<events::WithinDocument>() {
                    let mut state = self.lock();
                    if it.frame_id == state.main_frame {
                        state.url = it.url;
                        state.moves += 1;
                    }
                }
            }
            "Page.frameAttached" => {
                if let Some(it) = event.read::<events::FrameAttached>() {
                    let known = KnownFrame {
                        session: session.to_owned(),
                        parent: Some(it.parent_frame_id),
                    };
                    self.lock().frames.insert(it.frame_id, known);
                }
            }
            "Page.frameDetached" => {
                // A frame that moves into a process of its own is still there.
                if let Some(it) = event.read::<events::FrameDetached>()
                    && it.reason != "swap"
                {
                    self.lock().frames.remove(&it.frame_id);
                }
            }
            _ => {
                if let Some(it) = event.read::<events::LifecycleEvent>() {
                    let mut state = self.lock();
                    if it.frame_id == state.main_frame && it.loader_id == state.loader {
                        match it.name.as_str() {
                            "DOMContentLoaded" => state.dom_loaded = true,
                            "load" => {
                                state.dom_loaded = true;
                                state.loaded = true;
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }

    fn take_dialog(self: &Arc<Self>, event: &Event<'_>) {
        let Some(it) = event.read::<events::DialogOpening>() else {
            return;
        };
        let (number, settle, is_stopped) = {
            let mut state = self.lock();
            state.dialogs_here += 1;
            let number = state.dialogs.total + 1;
            let is_question = it.r#type == "beforeunload";
            let is_stopped =
                !is_question && (state.is_unheard || state.dialogs_here > FAR_TOO_MANY);
            let settle = if state.leaving && is_question {
                Some((true, "accepted"))
            } else if is_stopped || state.dialogs_here > MOST_DIALOGS {
                Some((false, "dismissed"))
            } else {
                None
            };
            let dialog = Dialog {
                number,
                r#type: it.r#type,
                message: cut(&it.message, LONGEST),
                default_value: it.default_prompt.filter(|text| !text.is_empty()),
                url: cut(&it.url, LONGEST),
                handled: settle.map(|(_, how)| how),
            };
            if settle.is_none() {
                state.dialog = Some(dialog.clone());
            }
            state.dialogs.push(dialog);
            (number, settle, is_stopped)
        };
        if is_stopped {
            // Whoever asks without end would never let anyone go.
            self.connection
                .tell(Some(&self.session), &commands::Terminate {});
        }
        if let Some((accept, _)) = settle {
            return self.answer(accept);
        }
        let tab = Arc::downgrade(self);
        let patience = self.times.dialog;
        tokio::spawn(async move {
            sleep(patience).await;
            let Some(tab) = tab.upgrade() else {
                return;
            };
            let is_open = tab
                .lock()
                .dialog
                .as_ref()
                .is_some_and(|it| it.number == number);
            if is_open {
                tab.answer(false);
                tab.lock().settle_dialog(number, "timed_out");
                tab.touch();
            }
        });
    }

    fn answer(&self, accept: bool) {
        let answer = commands::HandleDialog {
            accept,
            prompt_text: None,
        };
        self.connection.tell(Some(&self.session), &answer);
    }

    fn take_network(&self, event: &Event<'_>) {
        let mut state = self.lock();
        match event.method {
            "Network.requestWillBeSent" => {
                let Some(it) = event.read::<events::RequestWillBeSent>() else {
                    return;
                };
                if let Some(redirect) = &it.redirect_response
                    && let Some(entry) = state.request(&it.request_id)
                {
                    entry.status = Some(redirect.status);
                    entry.duration_ms = Some(entry.passed(whole(it.timestamp * 1000.0)));
                }
                state
                    .in_flight
                    .insert(it.request_id.clone(), Instant::now());
                let kind = it.r#type.unwrap_or_default().to_ascii_lowercase();
                let sent = state.said.share(&it.request.headers);
                state.network.push(NetworkEntry {
                    request_id: it.request_id,
                    url: cut(&it.request.url, LONGEST),
                    method: it.request.method,
                    kind,
                    status: None,
                    mime_type: None,
                    begun_ms: whole(it.timestamp * 1000.0),
                    duration_ms: None,
                    size: None,
                    error: None,
                    headers: Headers {
                        sent,
                        received: None,
                    },
                });
            }
            "Network.responseReceived" => {
                let Some(it) = event.read::<events::ResponseReceived>() else {
                    return;
                };
                let is_main = it.frame_id.as_deref() == Some(&state.main_frame);
                if is_main && it.r#type == "Document" && it.request_id == it.loader_id {
                    state.status = Some(it.response.status);
                }
                let received = state.said.share(&it.response.headers);
                if let Some(entry) = state.request(&it.request_id) {
                    entry.status = Some(it.response.status);
                    entry.mime_type = Some(it.response.mime_type).filter(|it| !it.is_empty());
                    entry.headers.received = received;
                }
            }
            _ => {
                let Some(it) = event.read::<events::LoadingEnded>() else {
                    return;
                };
                state.in_flight.remove(&it.request_id);
                if let Some(entry) = state.request(&it.request_id) {
                    // By the browser's clock: its messages may wait for us.
                    entry.duration_ms = Some(entry.passed(whole(it.timestamp * 1000.0)));
                    entry.size = it.encoded_data_length.map(whole);
                    entry.error = it.error_text.or(entry.error.take());
                }
            }
        }
    }

    fn take_console(&self, event: &Event<'_>) {
        let entry = match event.method {
            "Runtime.consoleAPICalled" => event.read::<events::ConsoleCalled>().map(|it| {
                let said: Vec<String> = it.args.iter().map(commands::Remote::said).collect();
                ConsoleEntry {
                    level: level(&it.r#type),
                    text: cut(&said.join(" "), LONGEST),
                    url: None,
                }
            }),
            "Runtime.exceptionThrown" => event.read::<events::Thrown>().map(|it| ConsoleEntry {
                level: "error",
                text: cut(&it.exception_details.said(), LONGEST),
                url: None,
            }),
            _ => event.read::<events::LogAdded>().map(|it| ConsoleEntry {
                level: level(&it.entry.level),
                text: cut(&it.entry.text, LONGEST),
                url: it.entry.url.map(|url| cut(&url, LONGEST)),
            }),
        };
        if let Some(entry) = entry {
            self.lock().console.push(entry);
        }
    }

    fn take_departing(&self, event: &Event<'_>) {
        let Some(it) = event.read::<events::Departing>() else {
            return;
        };
        let mut state = self.lock();
        if it.frame_id != state.main_frame {
            return;
        }
        if let Some(kind) = it.navigation_type.strip_prefix("history") {
            state.journey = Some(Journey {
                loader: it.loader_id,
                is_within: kind == "SameDocument",
            });
        }
        // Whoever was asked before another departure may have stored more since. If the departure
        // is ours and its request is not held back, the page was asked just now.
        let is_held = self.memory.is_kept && address::origin(&it.url).is_some();
        if is_held || !state.leaving {
            state.parted = None;
        }
    }

    /// Requests for files pass if these lie below a root, those for documents once the page that
    /// they replace has been asked. Where pages are ours alone, everything is held back.
    fn take_paused(self: &Arc<Self>, session: &str, event: &Event<'_>) {
        let Some(it) = event.read::<events::RequestPaused>() else {
            return;
        };
        if self.lock().is_stage {
            let empty = commands::FulfillRequest {
                request_id: it.request_id,
                response_code: 200,
                response_headers: vec![commands::Header {
                    name: "content-type",
                    value: "text/html",
                }],
            };
            self.connection.tell(Some(session), &empty);
            return;
        }
        let roots = Arc::clone(&self.lock().roots);
        let is_file = it
            .request
            .url
            .get(..5)
            .is_some_and(|it| it.eq_ignore_ascii_case("file:"));
        if !is_file || is_below(&it.request.url, &roots) {
            let said = self.lock().credentials.clone();
            let go = commands::ContinueRequest {
                request_id: it.request_id,
                headers: said.and_then(|said| said.with(&it.request)),
            };
            let is_ours = it.resource_type == "Document" && it.frame_id == self.lock().main_frame;
            if is_ours && self.is_left_for(&it.request.url) {
                let (tab, session) = (Arc::clone(self), session.to_owned());
                tokio::spawn(async move {
                    tab.take_leave().await;
                    tab.connection.tell(Some(&session), &go);
                });
            } else {
                self.connection.tell(Some(session), &go);
            }
        } else {
            let why = "files outside of the configured folders are not shown";
            self.refusals
                .add("", crate::boundary::Why::Refused(why.to_owned()));
            let stop = commands::FailRequest {
                request_id: it.request_id,
                error_reason: "AccessDenied",
            };
            self.connection.tell(Some(session), &stop);
        }
    }
}

/// Whether a `file:` address leads below one of the roots, links followed.
pub(crate) fn is_below(url: &str, roots: &[std::path::PathBuf]) -> bool {
    let Some(path) = address::file_path(url) else {
        return false;
    };
    let Ok(path) = Path::new(&path).canonicalize() else {
        return false;
    };
    roots
        .iter()
        .filter_map(|root| root.canonicalize().ok())
        .any(|root| path.starts_with(root))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded below, and a size beyond 2^53 is wrong anyway"
)]
fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}
