//! What a page said and asked for, as much of it as is worth keeping.

use std::collections::VecDeque;

use serde::Serialize;

use super::headers::Headers;

/// A list that forgets its oldest entries.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    kept: VecDeque<T>,
    most: usize,
    /// How many there have been in all.
    pub(crate) total: u64,
}

impl<T> Recent<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            most,
            total: 0,
        }
    }

    pub(crate) fn push(&mut self, entry: T) {
        self.total += 1;
        self.kept.push_back(entry);
        if self.kept.len() > self.most {
            self.kept.pop_front();
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.kept.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.kept.iter_mut()
    }
}

/// Something the console shows.
#[derive(Debug, Clone, Serialize)]
pub struct ConsoleEntry {
    /// `error`, `warn`, `info`, `log` or `debug`.
    pub level: &'static str,
    /// What it says.
    pub text: String,
    /// Where it comes from, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A request of the page.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkEntry {
    /// The browser's number for it.
    #[serde(skip)]
    pub request_id: String,
    /// Where it went.
    pub url: String,
    /// How.
    pub method: String,
    /// What for: `document`, `xhr`, `fetch`, `script`, …
    pub kind: String,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u32>,
    /// What it was answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// How long it took; absent while it lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// When it was sent, by the browser's clock.
    #[serde(skip)]
    pub(crate) begun_ms: u64,
    /// How much came, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was sent and received beside the bodies, secrets left out.
    #[serde(skip)]
    pub headers: Headers,
}

impl NetworkEntry {
    /// How long after it was sent this is, in milliseconds.
    pub(crate) fn passed(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.begun_ms)
    }
}

/// A dialog of the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dialog {
    /// Which one it is, counted from 1 in its tab.
    #[serde(skip)]
    pub number: u64,
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub r#type: String,
    /// What it says.
    pub message: String,
    /// What a prompt suggests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_value: Option<String>,
    /// The page that shows it.
    pub url: String,
    /// How it ended: `accepted`, `dismissed` or `timed_out`; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handled: Option<&'static str>,
}

/// The levels of the console, by the names the protocol has for them.
pub(crate) fn level(name: &str) -> &'static str {
    match name {
        "error" | "assert" => "error",
        "warning" | "warn" => "warn",
        "info" => "info",
        "debug" | "verbose" | "trace" => "debug",
        _ => "log",
    }
}

/// A text of a bounded length.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

impl super::Tab {
    /// What the console shows, and how much there was in all.
    pub fn console(&self) -> (Vec<ConsoleEntry>, u64) {
        let state = self.lock();
        (state.console.iter().cloned().collect(), state.console.total)
    }

    /// What was asked for, and how much there was in all.
    pub fn network(&self) -> (Vec<NetworkEntry>, u64) {
        let state = self.lock();
        (state.network.iter().cloned().collect(), state.network.total)
    }
}
