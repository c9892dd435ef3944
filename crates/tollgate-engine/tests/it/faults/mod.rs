//! What goes wrong costs one call, ends it once, and loses nothing.

mod cancel;
mod clock;
mod owed;
mod property;
mod provider;
mod recovery;
mod store;
