//! What a run was given, sealed while the run is not over.
//!
//! Inputs can hold what no record may show, and a run must survive its process; so they
//! are kept encrypted, bound to their run, and deleted when it is over.

use tollgate_core::Sealer as _;

use crate::{call::Inner, seal::Seals};

const PURPOSE: &str = "inputs of runs";

/// Seals `plain` for one run; nothing if there is no source of randomness.
pub(super) fn seal(inner: &Inner, run: &str, plain: &[u8]) -> Option<Vec<u8>> {
    let seals = Seals::new(&inner.approval_key, PURPOSE).ok()?;
    seals.seal(run, plain).ok()
}

/// Opens what was sealed for this run and not altered since.
pub(super) fn open(inner: &Inner, run: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let seals = Seals::new(&inner.approval_key, PURPOSE).ok()?;
    seals.open(run, sealed).ok()
}
