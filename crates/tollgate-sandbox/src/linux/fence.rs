//! Landlock and seccomp around an ordinary process, where namespaces are not to be had.
//!
//! It holds files, sockets and the kernel's riskier calls, but it shares the process table;
//! every report says what is missing.

use super::{
    cgroup::Cgroups, helper::Helper, launch::Launch, native::command, plan::Shape, stop::Stop,
    workspace::Workspace,
};
use crate::{
    job::{Gap, Job, Report, RunError, Tier},
    runner::Runner,
};

/// Runs jobs behind Landlock and seccomp alone.
#[derive(Debug)]
pub struct Fence {
    helper: Helper,
    cgroups: Cgroups,
}

impl Fence {
    /// With this helper, limited by these groups.
    pub fn new(helper: Helper, cgroups: Cgroups) -> Self {
        Self { helper, cgroups }
    }
}

impl Runner for Fence {
    fn tier(&self) -> Tier {
        Tier::Landlock
    }

    fn run(&self, job: &Job, workspace: &Workspace, stop: &Stop) -> Result<Report, RunError> {
        Launch {
            tier: Tier::Landlock,
            shape: Shape::Fence,
            command: command(&self.helper),
            job,
            workspace,
            cgroups: &self.cgroups,
            stop,
            gaps: vec![Gap::SharedProcesses, Gap::FileNamesVisible],
        }
        .run()
    }
}
