//! What tests of several crates share.

#![forbid(unsafe_code)]

pub mod fakes;
pub mod memory_store;
pub mod mutations;
pub mod store_suite;

pub use fakes::call_tool;
pub use memory_store::{MemoryBlobs, MemoryStore};
