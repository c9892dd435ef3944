//! What is run in a sandbox, under which limits, and what came of it.

use std::{collections::BTreeMap, fmt, io, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::supervise::Ended;

/// How a sandbox is built; the order is the order of what it guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Landlock and seccomp around an ordinary process.
    Landlock,
    /// Namespaces made by `bwrap`, with our own confinement inside.
    Bubblewrap,
    /// Namespaces made by ourselves.
    Native,
    /// A kernel of its own in user space.
    Gvisor,
}

impl Tier {
    /// Every tier, the weakest first.
    pub const ALL: [Self; 4] = [Self::Landlock, Self::Bubblewrap, Self::Native, Self::Gvisor];

    /// The tier as it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Bubblewrap => "bubblewrap",
            Self::Native => "native",
            Self::Gvisor => "gvisor",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which tier is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// The best of native, bubblewrap and Landlock that works.
    #[default]
    Auto,
    /// This one or none.
    Only(Tier),
}

/// A guarantee that one run did not have, although the tier usually gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// Memory is limited for each process, not for all of them together.
    MemoryPerProcess,
    /// Processor time is limited for each process, not for all of them together.
    CpuPerProcess,
    /// Processes are counted together with the others of the same user.
    ProcessesPerUser,
    /// The kernel has no Landlock, or it is turned off; the namespaces alone hold.
    NoLandlock,
    /// There is no process table of its own.
    SharedProcesses,
    /// Names of files outside can be seen, but not opened.
    FileNamesVisible,
    /// A signal could reach other processes of the same user.
    SignalsReachOut,
    /// It shares the network of the host, loopback included, because that was asked for.
    NetworkShared,
    /// The workspace is looked at while it grows and the run ended when it is too large;
    /// what is written between two looks, or has no name any more, nothing holds back.
    DiskNotHeld,
}

impl Gap {
    /// The gap as it appears in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MemoryPerProcess => "memory_per_process",
            Self::CpuPerProcess => "cpu_per_process",
            Self::ProcessesPerUser => "processes_per_user",
            Self::NoLandlock => "no_landlock",
            Self::SharedProcesses => "shared_processes",
            Self::FileNamesVisible => "file_names_visible",
            Self::SignalsReachOut => "signals_reach_out",
            Self::NetworkShared => "network_shared",
            Self::DiskNotHeld => "disk_not_held",
        }
    }
}

/// What a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From start to end.
    pub wall: Duration,
    /// Of all its processes together.
    pub cpu: Duration,
    /// Of all its processes together, in bytes; what is in its folders counts where they are
    /// in memory.
    pub memory: u64,
    /// At the same time; threads count.
    pub processes: u32,
    /// Of each stream; what comes after it is dropped, and counted.
    pub output: u64,
    /// Of the workspace, and of each scratch folder.
    pub disk: u64,
    /// In the workspace.
    pub files: u64,
    /// Descriptors a process may hold.
    pub open_files: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            cpu: Duration::from_secs(30),
            memory: 512 << 20,
            processes: 64,
            output: 64 << 10,
            disk: 64 << 20,
            files: 2_000,
            open_files: 512,
        }
    }
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// It took too long and was ended.
    Wall,
    /// It computed too long and was ended.
    Cpu,
    /// It took too much memory, and what took most was ended.
    Memory,
    /// It could not start more processes; it was not ended.
    Processes,
    /// It said too much; the rest is lost, it was not ended.
    Output,
    /// It could write no more; where nothing holds it back, it was ended.
    Disk,
    /// It could make no more files; where nothing holds it back, it was ended.
    Files,
}

impl Limit {
    /// The limit as it appears in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wall => "wall_time",
            Self::Cpu => "cpu_time",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Output => "output",
            Self::Disk => "disk",
            Self::Files => "files",
        }
    }
}

/// Whom a program can speak to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Nobody.
    #[default]
    None,
    /// Whomever the host can reach, by TCP and UDP; it can call and not be called.
    Shared,
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program, by its absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Added to the little environment that every run gets.
    pub env: BTreeMap<String, String>,
    /// Where it starts, below the workspace.
    pub cwd: PathBuf,
    /// What it can read from standard input.
    pub stdin: Vec<u8>,
    /// What it may use.
    pub limits: Limits,
    /// Folders beside `/usr` that it can read.
    pub read_only: Vec<PathBuf>,
    /// Whom it can speak to.
    pub network: Network,
}

impl Job {
    /// A program with nothing but its name.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: PathBuf::new(),
            stdin: Vec::new(),
            limits: Limits::default(),
            read_only: Vec::new(),
            network: Network::None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Report {
    /// How the sandbox was built.
    pub tier: Tier,
    /// What it did not guarantee.
    pub gaps: Vec<Gap>,
    /// How the program ended.
    pub ended: Ended,
    /// The limits it reached.
    pub reached: Vec<Limit>,
    /// What it said.
    pub stdout: Captured,
    /// What it complained about.
    pub stderr: Captured,
    /// What it used.
    pub usage: Usage,
}

impl Report {
    /// Whether a limit was reached.
    pub fn has_reached(&self, limit: Limit) -> bool {
        self.reached.contains(&limit)
    }
}

/// The beginning of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// What was kept.
    pub bytes: Vec<u8>,
    /// How much there was.
    pub total: u64,
}

impl Captured {
    /// Whether something was dropped.
    pub fn is_cut(&self) -> bool {
        self.total > self.bytes.len() as u64
    }

    /// What was kept, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// From start to end, the building of the sandbox included.
    pub wall: Duration,
    /// Of all its processes.
    pub cpu: Duration,
    /// The most at one time; of the largest process, where nothing counts them together.
    pub memory: u64,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The sandbox could not be built, so nothing ran.
    #[error("the sandbox cannot be built: {stage}: {source}")]
    Build {
        /// Where it stopped.
        stage: String,
        /// Why.
        source: io::Error,
    },
    /// The program is not there or cannot be run.
    #[error("{} cannot be started: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The one who wanted it does not any more; it was ended.
    #[error("stopped before it ended")]
    Stopped,
    /// The sandbox went away without a word.
    #[error("the sandbox ended without a report: {0}")]
    Lost(String),
}

impl RunError {
    /// The sandbox could not be built.
    pub(crate) fn build(stage: &str, source: impl Into<io::Error>) -> Self {
        Self::Build {
            stage: stage.to_owned(),
            source: source.into(),
        }
    }
}
