//! Namespaces made by ourselves: the tier that is meant to be used.

use std::process::Command;

use super::{
    cgroup::Cgroups,
    helper::{Helper, MARK},
    launch::Launch,
    plan::Shape,
    stop::Stop,
    workspace::Workspace,
};
use crate::{
    job::{Job, Report, RunError, Tier},
    runner::Runner,
};

/// Runs jobs in namespaces of their own.
#[derive(Debug)]
pub struct Native {
    helper: Helper,
    cgroups: Cgroups,
}

impl Native {
    /// With this helper, limited by these groups.
    pub fn new(helper: Helper, cgroups: Cgroups) -> Self {
        Self { helper, cgroups }
    }
}

/// The helper as a command.
pub(super) fn command(helper: &Helper) -> Command {
    #[expect(clippy::disallowed_methods, reason = "processes start in this crate")]
    let mut command = Command::new(&helper.0);
    command.arg(MARK);
    command
}

impl Runner for Native {
    fn tier(&self) -> Tier {
        Tier::Native
    }

    fn run(&self, job: &Job, workspace: &Workspace, stop: &Stop) -> Result<Report, RunError> {
        Launch {
            tier: Tier::Native,
            shape: Shape::Native,
            command: command(&self.helper),
            job,
            workspace,
            cgroups: &self.cgroups,
            stop,
            gaps: Vec::new(),
        }
        .run()
    }
}
