//! What a server says that is not the protocol, of which the operator sees the beginning.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::{
    rpc::{self, Heard},
    settings::Journal,
};

/// Characters that are shown.
const SHOWN: usize = 200;
/// How much of it is noted, one after the other.
const NOTED: u32 = 3;

/// Notes what is no message.
pub(super) struct Garbage {
    journal: Option<Arc<dyn Journal>>,
    server: String,
    /// How much of it came since the last message.
    row: AtomicU32,
}

impl Garbage {
    pub(super) fn new(journal: Option<Arc<dyn Journal>>, server: &str) -> Arc<Self> {
        Arc::new(Self {
            journal,
            server: server.to_owned(),
            row: AtomicU32::new(0),
        })
    }

    /// Reads a message; what is none, and not nothing either, is noted.
    pub(super) fn read(&self, text: &[u8]) -> Option<Heard> {
        let heard = rpc::read(text);
        if heard.is_some() {
            self.row.store(0, Ordering::Relaxed);
        } else if !text.trim_ascii().is_empty() {
            let beginning = String::from_utf8_lossy(text).chars().take(SHOWN).collect();
            self.note(beginning);
        }
        heard
    }

    /// Notes what could not even be read.
    pub(super) fn note(&self, shown: String) {
        if self.row.fetch_add(1, Ordering::Relaxed) < NOTED
            && let Some(journal) = &self.journal
        {
            journal.note("mcp.invalid_json", &self.server, &shown);
        }
    }

    /// How much of it came since the last message.
    pub(super) fn row(&self) -> u32 {
        self.row.load(Ordering::Relaxed)
    }
}
