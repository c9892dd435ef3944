//! The browser as a process: where it is, how it starts, and what it leaves behind.

pub(crate) mod find;
mod flags;
pub(crate) mod folder;
pub(crate) mod launch;
pub(crate) mod memory;
