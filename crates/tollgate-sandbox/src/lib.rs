//! Everything about other processes: how they start, and that none of them outlives us.
//!
//! Two kinds. [`spawn_supervised`] starts programs the operator trusts and never loses them.
//! A [`Runner`] starts code nobody trusts, in a box of its own, for a limited time.
//!
//! Invariants: no other crate starts a process; `unsafe` appears nowhere else; code of a
//! caller never runs as a bare child, whatever is missing on this machine.

mod guard;
mod job;
#[cfg(target_os = "linux")]
mod linux;
mod ring;
#[cfg(target_os = "linux")]
mod runner;
mod supervise;
#[cfg(target_os = "linux")]
mod writers;

pub use job::{Captured, Choice, Gap, Job, Limit, Limits, Network, Report, RunError, Tier, Usage};
#[cfg(target_os = "linux")]
pub use linux::{
    bubblewrap::Bubblewrap,
    cgroup::Cgroups,
    discard::sweep,
    fence::Fence,
    gvisor::Gvisor,
    helper::{Helper, helper},
    kept::supervise_through,
    native::Native,
    program::{end, give_back_program},
    stop::Stop,
    workspace::{Entry, EntryKind, Held, Purpose, Quota, Workspace, WorkspaceError},
};
pub use ring::Ring;
#[cfg(target_os = "linux")]
pub use runner::{Refused, Runner, Runners, Standing};
pub use supervise::{Ended, Ending, Program, Supervised, Watch, spawn_supervised};
#[cfg(target_os = "linux")]
pub use writers::has_writer;
