//! A place to run things, in a sandbox and, for comparison, bare.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use tempfile::TempDir;
use tollgate_sandbox::{
    Bubblewrap, Cgroups, Fence, Gvisor, Helper, Job, Limits, Native, Report, Runner, Stop, Tier,
    Workspace,
};

pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// Whether an interpreter is there; without it there is nothing to show.
pub(crate) fn has_python() -> bool {
    let is_there = fs::exists(PYTHON).unwrap_or(false);
    if !is_there {
        eprintln!("skipped: there is no {PYTHON}");
    }
    is_there
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn helper() -> Helper {
    Helper::program(env!("CARGO_BIN_EXE_tollgate-sandbox-helper"))
}

/// A runner with a folder for its workspaces.
pub(crate) struct Scene {
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) root: TempDir,
    pub(crate) limits: Limits,
    pub(crate) name: &'static str,
}

impl Scene {
    pub(crate) fn new(name: &'static str, runner: impl Runner + 'static) -> Self {
        let root = tempfile::tempdir().unwrap();
        // The weaker tiers find the workspace by its name, as a dropped user.
        fs::set_permissions(root.path(), PermissionsExt::from_mode(0o711)).unwrap();
        Self {
            runner: Arc::new(runner),
            root,
            limits: Limits::default(),
            name,
        }
    }

    pub(crate) fn native() -> Self {
        Self::new("native", Native::new(helper(), Cgroups::find()))
    }

    /// Every tier that works here, and the native one without control groups.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![
            Self::native(),
            Self::new("native, no groups", Native::new(helper(), Cgroups::none())),
            Self::new("landlock", Fence::new(helper(), Cgroups::find())),
        ];
        if fs::exists("/usr/bin/bwrap").unwrap_or(false) {
            let bubblewrap = Bubblewrap::new(helper(), Cgroups::find());
            all.push(Self::new("bubblewrap", bubblewrap));
        } else {
            eprintln!("skipped for bubblewrap: there is no /usr/bin/bwrap");
        }
        all
    }

    /// gVisor, if it is installed.
    pub(crate) fn gvisor() -> Option<Self> {
        let is_there = fs::exists("/usr/bin/runsc").unwrap_or(false);
        is_there.then(|| Self::new("gvisor", Gvisor::new()))
    }

    pub(crate) fn is_fence(&self) -> bool {
        self.runner.tier() == Tier::Landlock
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::open(self.root.path(), "talk").unwrap()
    }

    pub(crate) fn job(&self, code: &str) -> Job {
        let mut job = Job::new(PYTHON).args(["-c", code]);
        job.limits = self.limits;
        job
    }

    pub(crate) fn run(&self, job: &Job) -> Report {
        let stop = Stop::new().unwrap();
        let report = self.runner.run(job, &self.workspace(), &stop);
        report.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    pub(crate) fn python(&self, code: &str) -> Report {
        self.run(&self.job(code))
    }
}

/// What the same program says as a bare child, which is what a sandbox is for.
pub(crate) fn bare(code: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let child = command(PYTHON)
        .args(["-c", code])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&child.stdout).trim().to_owned()
}

pub(crate) fn command(program: &str) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "the bare child is the comparison"
    )]
    let command = Command::new(program);
    command
}

/// A file anyone on the host can read and nobody in a sandbox may.
pub(crate) fn secret() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let path = folder.path().join("secret");
    fs::write(&path, "the secret").unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
    (folder, path)
}
