//! Who can run a job here, and who shall.
//!
//! Invariant: below the least acceptable tier there is no run at all.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use crate::{
    job::{Choice, Job, Report, RunError, Tier},
    linux::{
        bubblewrap::Bubblewrap, cgroup::Cgroups, fence::Fence, gvisor::Gvisor, helper::Helper,
        native::Native, stop::Stop, workspace::Workspace,
    },
    supervise::Ended,
};

/// A way to run code nobody trusts.
pub trait Runner: Send + Sync + fmt::Debug {
    /// How its sandboxes are built.
    fn tier(&self) -> Tier;

    /// Runs a job to its end and leaves nothing running. Blocks the thread.
    fn run(&self, job: &Job, workspace: &Workspace, stop: &Stop) -> Result<Report, RunError>;
}

/// How a tier stands on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Which one.
    pub tier: Tier,
    /// What limits its runs as a whole, or why it does not work.
    pub state: Result<String, String>,
}

/// Why nothing is run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no sandbox of tier {least} or better works here")]
pub struct Refused {
    /// The least that would have been acceptable.
    pub least: Tier,
    /// What was tried, and why it does not work.
    pub tried: Vec<Standing>,
}

/// Every way there is, each tried once.
#[derive(Debug)]
pub struct Runners {
    root: PathBuf,
    cgroups: Cgroups,
    ways: Vec<Way>,
}

#[derive(Debug)]
struct Way {
    runner: Arc<dyn Runner>,
    state: OnceLock<Result<String, String>>,
}

/// The order in which tiers are taken by themselves.
const ORDER: [Tier; 3] = [Tier::Native, Tier::Bubblewrap, Tier::Landlock];

impl Runners {
    /// The ways of this machine; what is tried is tried in a workspace below `root`.
    pub fn new(helper: &Helper, cgroups: Cgroups, root: impl Into<PathBuf>) -> Self {
        let ways: [Arc<dyn Runner>; 4] = [
            Arc::new(Native::new(helper.clone(), cgroups.clone())),
            Arc::new(Bubblewrap::new(helper.clone(), cgroups.clone())),
            Arc::new(Fence::new(helper.clone(), cgroups.clone())),
            Arc::new(Gvisor::new()),
        ];
        let way = |runner| Way {
            runner,
            state: OnceLock::new(),
        };
        Self {
            root: root.into(),
            cgroups,
            ways: ways.map(way).into(),
        }
    }

    /// How every tier stands, the best first.
    pub fn survey(&self) -> Vec<Standing> {
        let mut all: Vec<Standing> = self.ways.iter().map(|way| self.standing(way)).collect();
        all.sort_by_key(|standing| std::cmp::Reverse(standing.tier));
        all
    }

    /// The runner to use, or why there is none.
    pub fn choose(&self, choice: Choice, least: Tier) -> Result<Arc<dyn Runner>, Refused> {
        let wanted: Vec<Tier> = match choice {
            Choice::Auto => ORDER.into(),
            Choice::Only(tier) => vec![tier],
        };
        let mut tried = Vec::new();
        for tier in wanted {
            let Some(way) = self.ways.iter().find(|way| way.runner.tier() == tier) else {
                continue;
            };
            if tier < least {
                let state = Err(format!("the settings ask for {least} or better"));
                tried.push(Standing { tier, state });
                continue;
            }
            let standing = self.standing(way);
            if standing.state.is_ok() {
                return Ok(Arc::clone(&way.runner));
            }
            tried.push(standing);
        }
        Err(Refused { least, tried })
    }

    fn standing(&self, way: &Way) -> Standing {
        let state = way.state.get_or_init(|| self.attempt(&*way.runner));
        Standing {
            tier: way.runner.tier(),
            state: state.clone(),
        }
    }

    /// Whether a tier works is told by a run, not by what should be there.
    fn attempt(&self, runner: &dyn Runner) -> Result<String, String> {
        let said = |error: &dyn fmt::Display| error.to_string();
        let name = format!("probe-{}-{}", runner.tier(), std::process::id());
        let workspace = Workspace::open(&self.root, &name).map_err(|error| said(&error))?;
        let stop = Stop::new().map_err(|error| said(&error))?;
        let job = Job::new("/usr/bin/env").args(["true"]);
        let ran = runner.run(&job, &workspace, &stop);
        if let Ok(held) = workspace.hold(&stop, Duration::ZERO) {
            // What cannot be removed now is swept another day.
            let _ = workspace.discard(held);
        }
        match ran {
            Ok(report) if report.ended == Ended::Code(0) => Ok(match runner.tier() {
                Tier::Gvisor => "its own limits".to_owned(),
                Tier::Native | Tier::Bubblewrap | Tier::Landlock => self.cgroups.describe(),
            }),
            Ok(report) => Err(format!("a trial ended with {}", report.ended)),
            Err(error) => Err(said(&error)),
        }
    }
}
