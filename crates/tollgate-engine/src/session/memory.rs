//! Clean answers a session holds in memory, bounded in number and bytes.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate_core::{
    Block, CallId, Failure, Payload, ServiceInfo, Shape, Status, Timestamp, ToolResult, Warning,
    canonical::hex_digest,
};

use tollgate_sanitize::placeholder::without_ids;

use crate::sanitize::{Clean, Found};

const MAX_ENTRIES: usize = 1024;
const MAX_BYTES: usize = 16 << 20;

/// A clean answer, as the cache and the record of an effect keep it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) payload: Payload,
    pub(crate) shape: Shape,
    pub(crate) blocks: Vec<Block>,
    pub(crate) status: Status,
    /// Why it is an error, if it is one.
    #[serde(default)]
    pub(crate) failure: Option<Failure>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) service: Option<ServiceInfo>,
    pub(crate) fingerprint: String,
    pub(crate) redacted: bool,
    pub(crate) taint: Vec<Value>,
    /// All of it where the payload is only a part; kept apart, and not with every copy.
    #[serde(skip)]
    pub(crate) whole: Option<Whole>,
}

/// The whole of an answer that shows only a part of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Whole {
    pub(crate) payload: Payload,
    pub(crate) taint: Vec<Value>,
}

impl Kept {
    pub(crate) fn of(clean: Clean<ToolResult>, found: &Found) -> Self {
        let result = clean.into_inner();
        let mut warnings = result.warnings;
        for warning in &found.warnings {
            if !warnings.contains(warning) {
                warnings.push(*warning);
            }
        }
        Self {
            fingerprint: fingerprint(&result.payload),
            payload: result.payload,
            shape: result.shape,
            blocks: result.blocks,
            status: result.status,
            failure: result.failure.map(|failure| *failure),
            warnings,
            service: result.service.map(|service| *service),
            redacted: found.applied,
            taint: found.taint.clone(),
            whole: result.whole.map(|payload| Whole {
                payload: *payload,
                taint: found.taint_of_whole.clone(),
            }),
        }
    }

    /// Something the gate itself says; clean by construction.
    pub(crate) fn ours(payload: Payload) -> Self {
        Self {
            fingerprint: fingerprint(&payload),
            payload,
            shape: Shape::Data,
            blocks: Vec::new(),
            status: Status::Ok,
            failure: None,
            warnings: Vec::new(),
            service: None,
            redacted: false,
            taint: Vec::new(),
            whole: None,
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        matches!(self.status, Status::Ok | Status::Empty)
    }

    fn bytes(&self) -> usize {
        let blocks: usize = self
            .blocks
            .iter()
            .map(|Block(block)| block.raw().len())
            .sum();
        let whole = self.whole.as_ref().map(|it| it.payload.raw().len());
        self.payload.raw().len() + whole.unwrap_or(0) + blocks + 256
    }
}

/// A digest of what was said; the ids of placeholders are no part of that.
fn fingerprint(payload: &Payload) -> String {
    fingerprint_of(payload.raw())
}

/// The same of a text.
pub(crate) fn fingerprint_of(text: &str) -> String {
    hex_digest(without_ids(text).as_bytes())
}

#[derive(Default)]
pub(super) struct Memory {
    entries: HashMap<String, Entry>,
    order: VecDeque<(String, u64)>,
    bytes: usize,
    tick: u64,
}

struct Entry {
    binding: String,
    lasts: Option<Lasts>,
    kept: Arc<Kept>,
    source: Option<Arc<Source>>,
    tick: u64,
}

/// From when to when an answer is good.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lasts {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

impl Entry {
    fn is_fresh(&self, now: Timestamp) -> bool {
        let holds = |lasts: Lasts| now.is_within(lasts.from, lasts.until);
        self.lasts.is_none_or(holds)
    }
}

/// The call whose committed body holds exactly these arguments and this answer, so
/// that calls which get the answer again need not keep another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) call: CallId,
    /// The fingerprint of its arguments.
    pub(crate) input: String,
    /// The fingerprint of its answer.
    pub(crate) output: String,
    pub(crate) at: Timestamp,
}

/// A kept answer, and where its body is.
pub(crate) struct Recalled {
    pub(crate) kept: Arc<Kept>,
    pub(crate) source: Option<Arc<Source>>,
}

impl Memory {
    pub(super) fn has(&self, key: &str, binding: &str, now: Timestamp) -> bool {
        self.entry(key, binding, now).is_some()
    }

    pub(super) fn get(&self, key: &str, binding: &str, now: Timestamp) -> Option<Recalled> {
        self.entry(key, binding, now).map(|entry| Recalled {
            kept: Arc::clone(&entry.kept),
            source: entry.source.clone(),
        })
    }

    fn entry(&self, key: &str, binding: &str, now: Timestamp) -> Option<&Entry> {
        let entry = self.entries.get(key)?;
        (entry.is_fresh(now) && entry.binding == binding).then_some(entry)
    }

    /// Notes where the body of an answer is; another answer in its place has another.
    pub(super) fn locate(&mut self, key: &str, source: Source) {
        if let Some(entry) = self.entries.get_mut(key)
            && entry.kept.fingerprint == source.output
        {
            entry.source = Some(Arc::new(source));
        }
    }

    pub(super) fn by_key(&self, key: &str, now: Timestamp) -> Option<Arc<Kept>> {
        let entry = self.entries.get(key)?;
        entry.is_fresh(now).then(|| Arc::clone(&entry.kept))
    }

    /// Keys and bindings of the answers whose keys begin like this.
    pub(super) fn entries(&self, prefix: &str, now: Timestamp) -> Vec<(String, String)> {
        let fresh = self.entries.iter().filter(|(_, entry)| entry.is_fresh(now));
        fresh
            .filter(|(key, _)| key.starts_with(prefix))
            .map(|(key, entry)| (key.clone(), entry.binding.clone()))
            .collect()
    }

    pub(super) fn put(&mut self, key: &str, binding: &str, lasts: Option<Lasts>, kept: Arc<Kept>) {
        let size = kept.bytes();
        if size > MAX_BYTES / 4 {
            return;
        }
        self.tick += 1;
        self.bytes += size;
        self.order.push_back((key.to_owned(), self.tick));
        let entry = Entry {
            binding: binding.to_owned(),
            lasts,
            kept,
            source: None,
            tick: self.tick,
        };
        if let Some(old) = self.entries.insert(key.to_owned(), entry) {
            self.bytes -= old.kept.bytes();
        }
        while self.entries.len() > MAX_ENTRIES
            || self.bytes > MAX_BYTES
            || self.order.len() > 2 * MAX_ENTRIES
        {
            if !self.drop_oldest() {
                break;
            }
        }
    }

    /// The bytes of all that is kept, with what finds it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.order.len() * 96
    }

    /// Drops the oldest answers until this many bytes are left; says how many went.
    pub(super) fn shrink(&mut self, bytes: usize) -> u64 {
        let before = self.entries.len();
        while self.bytes() > bytes && self.drop_oldest() {}
        (before - self.entries.len()) as u64
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((oldest, tick)) = self.order.pop_front() else {
            return false;
        };
        let entry = self.entries.get(&oldest);
        if entry.is_some_and(|entry| entry.tick == tick)
            && let Some(gone) = self.entries.remove(&oldest)
        {
            self.bytes -= gone.kept.bytes();
        }
        true
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
