//! Everything about other processes: how they start, and that none of them outlives us.
//!
//! Invariant: no other crate starts a process, and `unsafe` appears nowhere else.

mod guard;
mod ring;
mod supervise;

pub use ring::Ring;
pub use supervise::{Ended, Program, Supervised, Watch, spawn_supervised};
