//! The `tollgate` program: configuration, wiring and front ends.
//!
//! Invariant: front ends translate; every rule is the engine's.

#![forbid(unsafe_code)]

pub mod bench;
pub mod config;
pub mod frontends;
#[doc(hidden)]
pub mod fuzzing;
pub mod logfile;
pub mod skills;
pub mod telemetry;
mod templates;
pub mod wire;

mod keepa;
mod keys;
mod pages;
mod reload;
mod upstream;
mod vault;
