//! Namespaces made by `bwrap`, where it may make them and we may not.
//!
//! It starts with an empty environment and never as the superuser, who could write to the
//! kernel's settings through it. Our helper is the first process inside and does the rest.

use std::{
    fs, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    cgroup::Cgroups,
    helper::{
        Helper, MARK,
        root::{INSIDE_ID, NETWORK, SETTINGS, SYSTEM},
    },
    launch::{Launch, WORKSPACE},
    plan::Shape,
    stop::Stop,
    workspace::Workspace,
};
use crate::{
    job::{Job, Network, Report, RunError, Tier},
    runner::Runner,
};

/// Where distributions put it; `PATH` is the caller's and is not asked.
const PROGRAM: &str = "/usr/bin/bwrap";
/// Where the helper is inside.
const INSIDE: &str = "/helper";

/// Runs jobs in namespaces that `bwrap` makes.
#[derive(Debug)]
pub struct Bubblewrap {
    helper: Helper,
    cgroups: Cgroups,
}

impl Bubblewrap {
    /// With this helper, limited by these groups.
    pub fn new(helper: Helper, cgroups: Cgroups) -> Self {
        Self { helper, cgroups }
    }

    fn command(&self, job: &Job, workspace: &Workspace) -> io::Result<Command> {
        if !Path::new(PROGRAM).exists() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "bwrap is not installed",
            ));
        }
        // Inside of `bwrap`, a link to oneself would lead to `bwrap`.
        let helper = fs::canonicalize(&self.helper.0)?;
        #[expect(clippy::disallowed_methods, reason = "processes start in this crate")]
        let mut command = Command::new(PROGRAM);
        command.args(["--unshare-all", "--unshare-user", "--disable-userns"]);
        command.args(["--die-with-parent", "--new-session", "--as-pid-1"]);
        command.args(["--cap-drop", "ALL", "--hostname", "sandbox"]);
        let id = INSIDE_ID.to_string();
        command.args(["--uid", &id, "--gid", &id]);
        for folder in SYSTEM.iter().map(Path::new) {
            match fs::read_link(folder) {
                Ok(target) => command.arg("--symlink").arg(target).arg(folder),
                Err(_) => command.arg("--ro-bind-try").arg(folder).arg(folder),
            };
        }
        let shared = job.network == Network::Shared;
        if shared {
            command.arg("--share-net");
        }
        let resolving = NETWORK.iter().filter(|_| shared);
        let settings = SETTINGS.iter().chain(resolving).map(PathBuf::from);
        for path in settings.chain(job.read_only.iter().cloned()) {
            command.arg("--ro-bind-try").arg(&path).arg(&path);
        }
        command.args(["--proc", "/proc", "--dev", "/dev"]);
        let size = job.limits.disk.to_string();
        for folder in ["/tmp", "/dev/shm"] {
            command.args(["--size", &size, "--perms", "1777", "--tmpfs", folder]);
        }
        command.arg("--bind").arg(workspace.path()).arg(WORKSPACE);
        command.arg("--ro-bind").arg(helper).arg(INSIDE);
        command.args(["--remount-ro", "/", "--chdir", WORKSPACE]);
        command.args(["--", INSIDE, MARK]);
        if let Some(owner) = workspace.owner() {
            command.gid(owner).uid(owner);
        }
        Ok(command)
    }
}

impl Runner for Bubblewrap {
    fn tier(&self) -> Tier {
        Tier::Bubblewrap
    }

    fn run(&self, job: &Job, workspace: &Workspace, stop: &Stop) -> Result<Report, RunError> {
        Launch {
            tier: Tier::Bubblewrap,
            shape: Shape::Inside,
            command: self
                .command(job, workspace)
                .map_err(|error| RunError::build("bwrap", error))?,
            job,
            workspace,
            cgroups: &self.cgroups,
            stop,
            gaps: Vec::new(),
        }
        .run()
    }
}
