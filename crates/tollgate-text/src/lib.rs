//! Comparing words: what searches and suggestions of all crates share.
//!
//! Invariant: nothing here knows of tools, nodes or pages; functions of text alone, the same in
//! every process.

#![forbid(unsafe_code)]

mod edit_distance;

pub use edit_distance::{edit_distance, edit_distance_within};
