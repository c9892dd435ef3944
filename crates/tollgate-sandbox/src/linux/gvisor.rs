//! gVisor: a kernel of its own in user space, for those who want more than namespaces.
//!
//! `runsc` runs a bundle: a folder with a description and an almost empty root. It limits
//! memory, processes and rights itself; time, output and the workspace are watched as in
//! every other tier.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::{
        fs::{DirBuilderExt, symlink},
        net::UnixStream,
        process::ExitStatusExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    helper::root::{INSIDE_ID, SETTINGS, SYSTEM},
    launch::{WORKSPACE, input, pipe},
    plan::Said,
    stop::Stop,
    watch::{Attach, Outcome, Watch},
    workspace::Workspace,
};
use crate::{
    job::{Gap, Job, Limit, Network, Report, RunError, Tier, Usage},
    supervise::Ended,
};

/// Where distributions put it; `PATH` is the caller's and is not asked.
const PROGRAMS: [&str; 2] = ["/usr/bin/runsc", "/usr/local/bin/runsc"];

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Runs jobs in gVisor.
#[derive(Debug, Default)]
pub struct Gvisor;

impl Gvisor {
    /// With the `runsc` that is installed.
    pub fn new() -> Self {
        Self
    }
}

impl crate::runner::Runner for Gvisor {
    fn tier(&self) -> Tier {
        Tier::Gvisor
    }

    fn run(&self, job: &Job, workspace: &Workspace, stop: &Stop) -> Result<Report, RunError> {
        let since = Instant::now();
        let broken = |error| RunError::build("runsc", error);
        if job.network == Network::Shared {
            let none = io::Error::new(io::ErrorKind::Unsupported, "this tier gives no network");
            return Err(RunError::build("network", none));
        }
        let bundle = Bundle::make(job, workspace).map_err(broken)?;
        let (stdout, out) = pipe().map_err(broken)?;
        let (stderr, err) = pipe().map_err(broken)?;
        let child = bundle
            .command(&["run", "--bundle"])
            .arg(&bundle.folder)
            .arg(&bundle.id)
            .stdin(Stdio::from(input(&job.stdin).map_err(broken)?))
            .stdout(Stdio::from(out))
            .stderr(Stdio::from(err))
            .spawn();
        let child = child.map_err(broken)?;
        let (control, theirs) = UnixStream::pair().map_err(broken)?;
        let outcome = thread::scope(|scope| {
            let process = child.id();
            let listener = theirs.try_clone()?;
            // Called off, it is ended from outside; the one who waits then says so.
            scope.spawn(|| end_when_told(listener, &bundle));
            scope.spawn(move || wait(child, &theirs));
            let watch = Watch {
                process,
                kill: &mut || bundle.delete(),
                control: &control,
                stdout,
                stderr,
                limits: &job.limits,
                stop,
                cgroup: None,
                workspace,
                is_disk_held: false,
                since,
            };
            let outcome = watch.run(Attach::AtOnce);
            drop(control);
            outcome
        });
        let is_root = bundle.is_root;
        drop(bundle);
        let report = report(outcome.map_err(broken)?, job, since)?;
        Ok(Report {
            gaps: gaps(is_root),
            ..report
        })
    }
}

/// What it does not guarantee: processor time is a limit of each process, and without the
/// superuser no control group counts the others.
fn gaps(is_root: bool) -> Vec<Gap> {
    let uncounted = [Gap::MemoryPerProcess, Gap::ProcessesPerUser];
    let mut gaps = vec![Gap::CpuPerProcess, Gap::DiskNotHeld];
    gaps.extend(uncounted.into_iter().filter(|_| !is_root));
    gaps.sort_unstable();
    gaps
}

/// Waits for the one byte to begin, which needs no answer, then for the end of the line.
fn end_when_told(mut line: UnixStream, bundle: &Bundle) {
    let mut byte = [0];
    while matches!(line.read(&mut byte), Ok(1)) {}
    bundle.delete();
}

fn wait(mut child: Child, mut line: &UnixStream) {
    let how = child.wait().map_or(Ended::Code(-1), how);
    let ended = Said::Ended {
        how,
        cpu: Duration::ZERO,
        memory: 0,
    };
    // If nobody listens any more, nobody wants to know.
    let _ = line.write_all(ended.line().as_bytes());
    let _ = line.shutdown(std::net::Shutdown::Both);
}

/// It speaks as shells do: beyond 128 is a signal.
fn how(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) if code > 128 && code < 160 => Ended::Signal(code - 128),
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(libc::SIGKILL)),
    }
}

fn report(outcome: Outcome, job: &Job, since: Instant) -> Result<Report, RunError> {
    if outcome.is_stopped {
        return Err(RunError::Stopped);
    }
    let mut reached = outcome.reached;
    let ended = outcome
        .ended
        .map_or(Ended::Signal(libc::SIGKILL), |(how, _, _)| how);
    if ended == Ended::Signal(libc::SIGXCPU) {
        reached.push(Limit::Cpu);
    }
    let is_cut = outcome.stdout.is_cut() || outcome.stderr.is_cut();
    reached.extend(is_cut.then_some(Limit::Output));
    // It never ran, and the reason is all there is on standard error.
    let complaint = outcome.stderr.text();
    if ended == Ended::Code(128) || complaint.starts_with("running container") {
        let first = complaint.lines().next().unwrap_or_default().to_owned();
        return Err(if complaint.contains("no such file") {
            RunError::Start {
                program: job.program.clone(),
                source: io::ErrorKind::NotFound.into(),
            }
        } else {
            RunError::Lost(first)
        });
    }
    Ok(Report {
        tier: Tier::Gvisor,
        gaps: Vec::new(),
        ended,
        reached,
        stdout: outcome.stdout,
        stderr: outcome.stderr,
        usage: Usage {
            wall: since.elapsed(),
            ..Usage::default()
        },
    })
}

/// What `runsc` runs, and where it keeps what it knows of it.
struct Bundle {
    program: &'static str,
    folder: PathBuf,
    id: String,
    is_root: bool,
}

impl Bundle {
    fn make(job: &Job, workspace: &Workspace) -> io::Result<Self> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "runsc is not installed");
        let found = PROGRAMS.into_iter().find(|path| Path::new(path).exists());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = format!("tollgate-{}-{count}", std::process::id());
        let bundle = Self {
            program: found.ok_or_else(missing)?,
            folder: std::env::temp_dir().join(&id),
            id,
            is_root: rustix::process::geteuid().is_root(),
        };
        fs::DirBuilder::new().mode(0o700).create(&bundle.folder)?;
        bundle.fill(job, workspace)?;
        Ok(bundle)
    }

    fn fill(&self, job: &Job, workspace: &Workspace) -> io::Result<()> {
        let root = self.folder.join("rootfs");
        for folder in ["dev", "etc", "proc", "tmp", "workspace"] {
            fs::create_dir_all(root.join(folder))?;
        }
        let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
        let mut shown = Vec::new();
        for path in SYSTEM.iter().map(Path::new) {
            match fs::read_link(path) {
                Ok(target) => symlink(target, inside(path))?,
                Err(_) if path.is_dir() => {
                    fs::create_dir(inside(path))?;
                    shown.push(path.to_owned());
                }
                Err(_) => {}
            }
        }
        let extra = SETTINGS.iter().map(PathBuf::from);
        for path in extra.chain(job.read_only.iter().cloned()) {
            if path.is_dir() {
                fs::create_dir_all(inside(&path))?;
            } else if path.exists() {
                fs::write(inside(&path), "")?;
            } else {
                continue;
            }
            shown.push(path);
        }
        let user = workspace.owner().unwrap_or(0);
        let name = format!("sandbox:x:{user}:{user}::{WORKSPACE}:/bin/sh\n");
        fs::write(root.join("etc/passwd"), name)?;
        let description = self.description(job, workspace, &shown);
        fs::write(self.folder.join("config.json"), description.to_string())
    }

    fn description(&self, job: &Job, workspace: &Workspace, shown: &[PathBuf]) -> Value {
        // Without the superuser there is one user inside, and it has number 0.
        let user = workspace
            .owner()
            .unwrap_or(if self.is_root { INSIDE_ID } else { 0 });
        let mut args = vec![job.program.to_string_lossy().into_owned()];
        args.extend(job.args.iter().cloned());
        let own = [
            "HOME=/workspace",
            "LANG=C.UTF-8",
            "PATH=/usr/local/bin:/usr/bin:/bin",
            "TMPDIR=/tmp",
            "TZ=UTC",
            "USER=sandbox",
        ];
        let given = job
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let env: Vec<String> = own.map(str::to_owned).into_iter().chain(given).collect();
        let limits = &job.limits;
        let limit = |kind: &str, value: u64| json!({"type": kind, "hard": value, "soft": value});
        let mut mounts = vec![
            json!({"destination": "/proc", "type": "proc", "source": "proc"}),
            json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}),
            json!({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
                   "options": [format!("size={}", limits.disk), "mode=1777"]}),
            json!({"destination": WORKSPACE, "type": "bind", "source": workspace.path(),
                   "options": ["rw", "rbind", "nosuid", "nodev"]}),
        ];
        mounts.extend(shown.iter().map(|path| {
            json!({"destination": path, "type": "bind", "source": path,
                   "options": ["ro", "rbind", "nosuid", "nodev"]})
        }));
        let none: [&str; 0] = [];
        json!({
            "ociVersion": "1.0.0",
            "process": {
                "user": {"uid": user, "gid": user},
                "args": args,
                "env": env,
                "cwd": Path::new(WORKSPACE).join(&job.cwd),
                "noNewPrivileges": true,
                "capabilities": {"bounding": none, "effective": none, "inheritable": none,
                                 "permitted": none, "ambient": none},
                "rlimits": [
                    limit("RLIMIT_CPU", limits.cpu.as_secs().max(1)),
                    limit("RLIMIT_FSIZE", limits.disk),
                    limit("RLIMIT_NOFILE", u64::from(limits.open_files)),
                    limit("RLIMIT_NPROC", u64::from(limits.processes)),
                    limit("RLIMIT_AS", limits.memory.saturating_mul(4)),
                ],
            },
            "root": {"path": "rootfs", "readonly": true},
            "hostname": "sandbox",
            "mounts": mounts,
            "linux": {
                "cgroupsPath": format!("/{}", self.id),
                "resources": {
                    "memory": {"limit": limits.memory.saturating_add(128 << 20)},
                    "pids": {"limit": u64::from(limits.processes) + 512},
                },
                "namespaces": [{"type": "pid"}, {"type": "network"}, {"type": "ipc"},
                               {"type": "uts"}, {"type": "mount"}],
            },
        })
    }

    fn command(&self, verb: &[&str]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "processes start in this crate")]
        let mut command = Command::new(self.program);
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .current_dir("/")
            .arg("--root")
            .arg(self.folder.join("state"))
            .args(["--network=none", "--platform=ptrace"]);
        if !self.is_root {
            command.args(["--rootless", "--ignore-cgroups"]);
        }
        command.args(verb);
        command
    }

    /// Ends whatever runs in it; one that has ended is what was wanted.
    fn delete(&self) {
        let _ = self
            .command(&["delete", "--force"])
            .arg(&self.id)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        self.delete();
        // What is left in the folder for temporary files is the system's to clean.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_lacks_is_said() {
        let words = |is_root| {
            gaps(is_root)
                .into_iter()
                .map(Gap::as_str)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(true), ["cpu_per_process", "disk_not_held"]);
        assert_eq!(
            words(false),
            [
                "memory_per_process",
                "cpu_per_process",
                "processes_per_user",
                "disk_not_held"
            ]
        );
    }
}
