//! What was worked out for arguments that come again, spelled the same.
//!
//! Invariant: everything in here follows from the tool and the text of the arguments
//! alone, never from who calls; and arguments of which something had to be taken out
//! are not kept. The table never grows: a newer entry takes the place of an older one.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
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

type Slot = Mutex<Option<Arc<Known>>>;

/// Arguments that were asked with before, and whose answer was still there.
#[derive(Default)]
pub(super) struct KnownArguments {
    hasher: RandomState,
    slots: OnceLock<Box<[Slot]>>,
}

impl KnownArguments {
    pub(super) fn find(&self, listing: &Arc<Listing>, raw: &str) -> Option<Arc<Known>> {
        let slots = self.slots.get()?;
        let slot = self.slot(slots, Arc::as_ptr(listing), raw)?.lock();
        let slot = slot.unwrap_or_else(PoisonError::into_inner);
        let known = slot.as_ref()?;
        let same = known.listing.as_ptr() == Arc::as_ptr(listing) && known.arguments.raw() == raw;
        same.then(|| Arc::clone(known))
    }

    pub(super) fn keep(&self, known: &Arc<Known>) {
        let raw = known.arguments.raw();
        if known.clean.redacted || raw.len() > MAX_BYTES {
            return;
        }
        let empty = || std::iter::repeat_with(Slot::default).take(SLOTS).collect();
        let slots = self.slots.get_or_init(empty);
        if let Some(slot) = self.slot(slots, known.listing.as_ptr(), raw) {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if !slot.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, known)) {
                *slot = Some(Arc::clone(known));
            }
        }
    }

    fn slot<'a>(&self, slots: &'a [Slot], tool: *const Listing, raw: &str) -> Option<&'a Slot> {
        let hash = self.hasher.hash_one((tool, raw));
        let index = hash.checked_rem(u64::try_from(slots.len()).ok()?)?;
        slots.get(usize::try_from(index).ok()?)
    }
}
