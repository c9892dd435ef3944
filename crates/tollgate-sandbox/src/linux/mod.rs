//! The sandboxes of Linux.
//!
//! The parent half starts a helper, hands it a plan and watches ([`launch`], [`watch`],
//! [`cgroup`]). The helper half ([`helper`]) is the same program started again: alone in
//! its process it may change who and where it is, builds the box, and becomes its guard.

pub(crate) mod bubblewrap;
pub(crate) mod cgroup;
pub(crate) mod discard;
pub(crate) mod fence;
pub(crate) mod gvisor;
pub(crate) mod helper;
pub(crate) mod kept;
mod launch;
pub(crate) mod native;
mod plan;
pub(crate) mod program;
pub(crate) mod stop;
mod sys;
mod watch;
pub(crate) mod workspace;
