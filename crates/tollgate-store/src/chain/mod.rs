//! What makes the log hard to rewrite: signatures, an anchor elsewhere, a check.

mod anchor;
mod key;
mod verify;

pub(crate) use anchor::Anchor;
pub(crate) use key::{Keyring, Seal};
pub(crate) use verify::verify;
