//! What was worked out for arguments that come again, spelled the same.
//!
//! Invariant: everything in here follows from the tool and the text of the arguments
//! alone, never from who calls; and arguments of which something had to be taken out
//! are not kept. The table never grows: a newer entry takes the place of an older one,
//! but only when it comes for the second time, so that what is asked once costs nothing.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use tollgate_core::{Capability, Estimate, Payload};

use super::cache::{KeyOfCall, Place};
use crate::{catalog::Listing, record::CleanArguments};

/// How many arguments are known at once.
const SLOTS: usize = 512;
/// Longer arguments are not kept.
const MAX_BYTES: usize = 2048;

/// All that follows from a tool and its arguments.
pub(super) struct Known {
    pub(super) listing: Weak<Listing>,
    pub(super) arguments: Payload,
    pub(super) clean: Arc<CleanArguments>,
    pub(super) key: KeyOfCall,
    pub(super) place: Option<Place>,
    /// Whether a kept answer is only for calls that ask for it.
    pub(super) on_request: bool,
    pub(super) capability: Capability,
    pub(super) estimate: Estimate,
    pub(super) effect: bool,
}

impl Known {
    /// Where the answer may be kept, if it may be.
    pub(super) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }
}

/// What is known, and what was last seen here without being kept.
#[derive(Default)]
struct Slot {
    known: Mutex<Option<Arc<Known>>>,
    seen: AtomicU64,
}

/// Arguments that were asked with before.
#[derive(Default)]
pub(super) struct KnownArguments {
    hasher: RandomState,
    slots: OnceLock<Box<[Slot]>>,
}

impl KnownArguments {
    pub(super) fn find(&self, listing: &Arc<Listing>, raw: &str) -> Option<Arc<Known>> {
        let slots = self.slots.get()?;
        let (slot, _) = self.slot(slots, Arc::as_ptr(listing), raw)?;
        let known = slot.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.as_ref()?;
        let same = known.listing.as_ptr() == Arc::as_ptr(listing) && known.arguments.raw() == raw;
        same.then(|| Arc::clone(known))
    }

    /// Keeps what was just worked out, if it was worked out before.
    pub(super) fn meet(&self, known: &Arc<Known>) {
        let raw = known.arguments.raw();
        if known.clean.redacted || raw.len() > MAX_BYTES {
            return;
        }
        let empty = || std::iter::repeat_with(Slot::default).take(SLOTS).collect();
        let slots = self.slots.get_or_init(empty);
        if let Some((slot, hash)) = self.slot(slots, known.listing.as_ptr(), raw)
            && slot.seen.swap(hash, Ordering::Relaxed) == hash
        {
            let mut kept = slot.known.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = Some(Arc::clone(known));
        }
    }

    fn slot<'a>(
        &self,
        slots: &'a [Slot],
        tool: *const Listing,
        raw: &str,
    ) -> Option<(&'a Slot, u64)> {
        let hash = self.hasher.hash_one((tool, raw));
        let index = hash.checked_rem(u64::try_from(slots.len()).ok()?)?;
        Some((slots.get(usize::try_from(index).ok()?)?, hash))
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use tollgate_core::{Answer, CallContext, Provider, ProviderError, ToolCall, ToolSpec};

    use super::*;

    struct Nobody;

    #[async_trait]
    impl Provider for Nobody {
        fn id(&self) -> &str {
            "nobody"
        }

        async fn tools(&self) -> Result<Vec<ToolSpec>, ProviderError> {
            Ok(Vec::new())
        }

        async fn call(&self, _: ToolCall, _: CallContext) -> Result<Answer, ProviderError> {
            Err(ProviderError::unavailable("nobody is there"))
        }
    }

    fn listing() -> Arc<Listing> {
        let spec = crate::policy::tests::reader("a.b");
        Arc::new(Listing::new(spec, Arc::new(Nobody)))
    }

    fn known(listing: &Arc<Listing>, raw: &str, redacted: bool) -> Arc<Known> {
        Arc::new(Known {
            listing: Arc::downgrade(listing),
            arguments: Payload::parse(raw.to_owned()).unwrap(),
            clean: Arc::new(CleanArguments {
                text: raw.to_owned(),
                redacted,
                fingerprint: String::new(),
            }),
            key: KeyOfCall {
                text: raw.into(),
                cacheable: false,
            },
            place: None,
            on_request: false,
            capability: Capability::L0,
            estimate: Estimate::default(),
            effect: false,
        })
    }

    #[test]
    fn what_comes_twice_is_known_to_that_tool_alone() {
        let (table, tool, newer) = (KnownArguments::default(), listing(), listing());
        let once = known(&tool, r#"{"a":1}"#, false);
        assert!(table.find(&tool, r#"{"a":1}"#).is_none());
        table.meet(&once);
        assert!(table.find(&tool, r#"{"a":1}"#).is_none());
        table.meet(&once);
        assert!(table.find(&tool, r#"{"a":1}"#).is_some());
        assert!(table.find(&tool, r#"{"a":1.0}"#).is_none());
        // A tool that changed is another one.
        assert!(table.find(&newer, r#"{"a":1}"#).is_none());
    }

    #[test]
    fn secrets_and_long_texts_are_not_kept() {
        let (table, tool) = (KnownArguments::default(), listing());
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_BYTES));
        for (raw, redacted) in [(r#"{"a":1}"#, true), (long.as_str(), false)] {
            for _ in 0..3 {
                table.meet(&known(&tool, raw, redacted));
            }
            assert!(table.find(&tool, raw).is_none(), "{raw:.20}");
        }
    }

    #[test]
    fn what_comes_once_takes_no_place() {
        let (table, tool) = (KnownArguments::default(), listing());
        let kept = known(&tool, r#"{"a":1}"#, false);
        table.meet(&kept);
        table.meet(&kept);
        for number in 0..10 * SLOTS {
            table.meet(&known(&tool, &format!(r#"{{"b":{number}}}"#), false));
        }
        assert!(table.find(&tool, r#"{"a":1}"#).is_some());
    }
}
