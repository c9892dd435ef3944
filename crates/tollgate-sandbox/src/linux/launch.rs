//! The parent's half of a run: start the helper, hand it the plan, watch, account.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
    process::{Command, Stdio},
    time::Instant,
};

use rustix::{
    fs::{
        CWD, MemfdFlags, Mode, OFlags, SealFlags, SeekFrom, fcntl_add_seals, memfd_create, openat,
        seek,
    },
    pipe::{PipeFlags, pipe_with},
};

use super::{
    cgroup::{Cgroup, Cgroups},
    plan::{self, EXEC, Ends, Plan, Shape},
    stop::Stop,
    watch::{Attach, Outcome, Watch},
    workspace::Workspace,
};
use crate::{
    job::{Gap, Job, Limit, Limits, Network, Report, RunError, Tier, Usage},
    supervise::Ended,
};

/// Where programs find the workspace, in tiers with a root of their own.
pub(crate) const WORKSPACE: &str = "/workspace";

/// One run, as a tier wants it.
pub(crate) struct Launch<'a> {
    pub(crate) tier: Tier,
    pub(crate) shape: Shape,
    /// The helper, or whoever starts it.
    pub(crate) command: Command,
    pub(crate) job: &'a Job,
    pub(crate) workspace: &'a Workspace,
    pub(crate) cgroups: &'a Cgroups,
    pub(crate) stop: &'a Stop,
    /// What this tier never guarantees.
    pub(crate) gaps: Vec<Gap>,
}

impl Launch<'_> {
    /// Runs it to its end, whatever that is; nothing is left running after.
    pub(crate) fn run(mut self) -> Result<Report, RunError> {
        let since = Instant::now();
        let (control, theirs) = UnixStream::pair().map_err(|e| RunError::build("control", e))?;
        let (stdout, out) = pipe().map_err(|e| RunError::build("streams", e))?;
        let (stderr, err) = pipe().map_err(|e| RunError::build("streams", e))?;
        let stdin = input(&self.job.stdin).map_err(|e| RunError::build("streams", e))?;
        let complaints = memfd_create("complaints", MemfdFlags::CLOEXEC)
            .map_err(|e| RunError::build("streams", e))?;
        let workspace = self.workspace.duplicate();
        let ends = Ends {
            stdin,
            stdout: out,
            stderr: err,
            workspace: workspace.map_err(|e| RunError::build("workspace", e))?,
        };
        self.command
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::from(
                complaints
                    .try_clone()
                    .map_err(|e| RunError::build("streams", e))?,
            ));
        let mut child = self
            .command
            .spawn()
            .map_err(|e| RunError::build("helper", e))?;
        // The command keeps a copy of the helper's end; without this we would never see it close.
        self.command.stdin(Stdio::null()).stderr(Stdio::null());
        let cgroup = self.cgroups.make(&self.job.limits);
        self.note_missing(cgroup.as_ref());
        let plan = self.plan(cgroup.is_some());
        let handed = plan::send(&control, &plan, &ends);
        drop(ends);
        let attach = if self.shape == Shape::Inside {
            Attach::WhenReady
        } else {
            Attach::AtOnce
        };
        let watched = handed.and_then(|()| {
            let process = child.id();
            let mut kill = || {
                let _gone = child.kill().is_err();
            };
            Watch {
                process,
                kill: &mut kill,
                control: &control,
                stdout,
                stderr,
                limits: &self.job.limits,
                stop: self.stop,
                cgroup: cgroup.as_ref(),
                workspace: self.workspace,
                is_disk_held: plan.is_disk_held,
                since,
            }
            .run(attach)
        });
        drop(control);
        if watched.is_err() {
            let _gone = child.kill().is_err();
        }
        child.wait().map_err(|e| RunError::build("helper", e))?;
        let outcome = watched.map_err(|e| RunError::build("helper", e))?;
        self.report(outcome, cgroup.as_ref(), since, &complaints)
    }

    /// What nothing counts for all processes together is limited for each, and that is said.
    fn note_missing(&mut self, cgroup: Option<&Cgroup>) {
        if cgroup.is_none() {
            self.gaps.push(Gap::MemoryPerProcess);
        }
        if !cgroup.is_some_and(Cgroup::counts_cpu) {
            self.gaps.push(Gap::CpuPerProcess);
        }
        if cgroup.is_none() && self.shape == Shape::Fence {
            self.gaps.push(Gap::ProcessesPerUser);
        }
        if self.job.network == Network::Shared {
            self.gaps.push(Gap::NetworkShared);
        }
        if !self.is_disk_held() {
            self.gaps.push(Gap::DiskNotHeld);
        }
    }

    /// Whether the workspace is in memory while the program runs: where we make the root, and
    /// where half of the memory is left for the program when the workspace is full.
    fn is_disk_held(&self) -> bool {
        let limits = &self.job.limits;
        self.shape == Shape::Native && limits.disk <= limits.memory / 2
    }

    fn plan(&self, is_memory_counted: bool) -> Plan {
        let workspace = match self.shape {
            Shape::Native | Shape::Inside => PathBuf::from(WORKSPACE),
            Shape::Fence => self.workspace.path().to_owned(),
        };
        Plan {
            shape: self.shape,
            program: self.job.program.clone(),
            args: self.job.args.clone(),
            env: self.job.env.clone(),
            workspace,
            cwd: self.job.cwd.clone(),
            limits: self.job.limits,
            read_only: self.job.read_only.clone(),
            network: self.job.network,
            identity: self.workspace.owner(),
            is_memory_counted,
            is_disk_held: self.is_disk_held(),
        }
    }

    fn report(
        self,
        outcome: Outcome,
        cgroup: Option<&Cgroup>,
        since: Instant,
        complaints: &OwnedFd,
    ) -> Result<Report, RunError> {
        if outcome.is_stopped {
            return Err(RunError::Stopped);
        }
        if let Some((stage, errno)) = outcome.failed {
            let source = io::Error::from_raw_os_error(errno);
            return Err(if stage == EXEC {
                RunError::Start {
                    program: self.job.program.clone(),
                    source,
                }
            } else {
                RunError::Build { stage, source }
            });
        }
        let mut usage = Usage {
            wall: since.elapsed(),
            ..Usage::default()
        };
        let mut reached = outcome.reached;
        let ended = match outcome.ended {
            Some((ended, cpu, memory)) => {
                usage.cpu = cpu;
                usage.memory = memory;
                ended
            }
            // Ended from outside: by us, or by the kernel for want of memory.
            None => Ended::Signal(libc::SIGKILL),
        };
        if let Some(cgroup) = cgroup {
            usage.cpu = usage.cpu.max(cgroup.cpu().unwrap_or_default());
            usage.memory = cgroup.peak().unwrap_or(usage.memory);
            reached.extend(cgroup.has_run_out().then_some(Limit::Memory));
            reached.extend(cgroup.has_refused().then_some(Limit::Processes));
        }
        let limits: &Limits = &self.job.limits;
        let is_over = usage.cpu >= limits.cpu && ended == Ended::Signal(libc::SIGKILL);
        if ended == Ended::Signal(libc::SIGXCPU) || is_over {
            reached.push(Limit::Cpu);
        }
        let is_cut = outcome.stdout.is_cut() || outcome.stderr.is_cut();
        reached.extend(is_cut.then_some(Limit::Output));
        if outcome.ended.is_none() && reached.is_empty() {
            return Err(RunError::Lost(said(complaints)));
        }
        reached.sort_unstable();
        reached.dedup();
        let mut gaps = self.gaps;
        gaps.extend(outcome.gaps);
        gaps.sort_unstable();
        gaps.dedup();
        Ok(Report {
            tier: self.tier,
            gaps,
            ended,
            reached,
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            usage,
        })
    }
}

/// A pipe whose first end never blocks.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// What the program reads, in memory that nobody can change any more.
pub(super) fn input(bytes: &[u8]) -> io::Result<OwnedFd> {
    if bytes.is_empty() {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        return Ok(openat(CWD, "/dev/null", flags, Mode::empty())?);
    }
    let memory = memfd_create("stdin", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(&memory, rest)?;
        rest = &rest[written..];
    }
    seek(&memory, SeekFrom::Start(0))?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&memory, seals)?;
    Ok(memory)
}

/// The first line of what the helper, or whoever starts it, complained about.
fn said(complaints: &OwnedFd) -> String {
    let mut text = vec![0; 512];
    let read = rustix::io::pread(complaints, &mut text[..], 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&text[..read]).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}
