//! What makes the log hard to rewrite: signatures, an anchor elsewhere, a check.

mod anchor;
mod key;
mod verify;

pub(crate) use anchor::{ANCHOR_LOCK, Anchor, Prepared, anchored_hash};
pub(crate) use key::{KEY_FILES, Keyring, Seal, public as public_key, vouches};
pub(crate) use verify::verify;
