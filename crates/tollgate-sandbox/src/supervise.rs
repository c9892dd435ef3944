//! A child process that is never lost sight of.
//!
//! Each child leads a process group of its own and ends with everything it started. Where a
//! program can keep others (see [`helper`](crate::helper)), a keeper stands between, to whom
//! also those are given who made a session of their own; elsewhere the group has to be enough.
//! The thread that starts a child also waits for it: the parent-death signal is bound to that
//! thread, and would come too early from one that ends before the child.

#[cfg(target_os = "linux")]
use std::os::unix::net::UnixStream;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::{
    io::AsyncReadExt,
    net::unix::pipe,
    sync::{oneshot, watch},
    time::timeout,
};

#[cfg(target_os = "linux")]
use crate::linux::{
    helper::Helper,
    kept::{self, Kept},
};
use crate::{guard, ring::Ring};

/// The thread only starts one process and waits for it.
const STACK: usize = 256 << 10;

/// What to start.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program, looked up in `PATH` of `env` unless it has a slash.
    pub command: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it starts; here, if nowhere is said.
    pub cwd: Option<PathBuf>,
    /// All of its environment; nothing of ours is handed on.
    pub env: BTreeMap<OsString, OsString>,
    /// How much of its standard error is kept.
    pub stderr_bytes: usize,
    /// Whether a keeper stands between, where there is one: what it starts may leave its group.
    /// A program that ends with its streams, and all of whose children do, needs none.
    pub is_kept: bool,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// A running child with its two ends.
#[derive(Debug)]
pub struct Supervised {
    /// What it reads.
    pub stdin: pipe::Sender,
    /// What it says.
    pub stdout: pipe::Receiver,
    /// How it is, and how it is ended.
    pub watch: Watch,
}

/// The most that a child may say on standard error within [`FLOOD_TIME`]; one that says more is ended.
const FLOOD: usize = 256 << 20;
const FLOOD_TIME: Duration = Duration::from_secs(60);
/// What its log says then.
const FLOODED: &str = "\n[ended: it wrote more than 256 MiB to standard error within a minute]\n";

/// Sees how a child is and can end it. Dropping the last one ends the child at once.
#[derive(Debug, Clone)]
pub struct Watch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    group: Pid,
    hold: Hold,
    stderr: Arc<Ring>,
    ending: Ending,
}

/// By what a child is ended.
#[derive(Debug)]
enum Hold {
    /// Its group.
    Group,
    /// Whoever keeps it, and all it started.
    #[cfg(target_os = "linux")]
    Keeper(UnixStream),
}

/// Sees how a child ends without keeping it: dropping the last [`Watch`] ends it all the same.
#[derive(Debug, Clone)]
pub struct Ending(watch::Receiver<Option<Ended>>);

impl Ending {
    /// How it ended, if it has.
    pub fn has_ended(&self) -> Option<Ended> {
        *self.0.borrow()
    }

    /// Waits for its end.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.0.clone();
        let seen = ended.wait_for(Option::is_some).await;
        seen.ok().and_then(|seen| *seen).unwrap_or(Ended::Code(-1))
    }
}

impl Watch {
    /// The child's process id, which is also its group's.
    pub fn pid(&self) -> u32 {
        self.0.group.as_raw_nonzero().get().unsigned_abs()
    }

    /// The end of what it said on standard error.
    pub fn stderr(&self) -> &Arc<Ring> {
        &self.0.stderr
    }

    /// How it ended, if it has.
    pub fn has_ended(&self) -> Option<Ended> {
        self.0.ending.has_ended()
    }

    /// Waits for its end.
    pub async fn ended(&self) -> Ended {
        self.0.ending.ended().await
    }

    /// For whoever wants to know of its end and must not prevent it.
    pub fn ending(&self) -> Ending {
        self.0.ending.clone()
    }

    /// Whether somebody stopped it, so that it neither runs nor ends.
    pub fn is_stopped(&self) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()));
        let state = state.unwrap_or_default();
        let state = state.rsplit(')').next().unwrap_or_default().trim_start();
        self.has_ended().is_none() && state.starts_with(['T', 't'])
    }

    /// Ends it with all it started: asked first, then, after `grace`, without asking. Ending twice is
    /// ending once.
    pub async fn end(&self, grace: Duration) -> Ended {
        if !grace.is_zero() {
            self.0.ask();
            // Whoever ignores the request is not asked twice.
            let _obeyed = timeout(grace, self.ended()).await.is_ok();
        }
        self.0.end();
        self.ended().await
    }
}

impl Inner {
    /// Asks the whole group to end.
    fn ask(&self) {
        match &self.hold {
            Hold::Group => self.signal(Signal::TERM),
            #[cfg(target_os = "linux")]
            Hold::Keeper(control) => kept::ask(control),
        }
    }

    /// Ends everything.
    fn end(&self) {
        match &self.hold {
            Hold::Group => self.signal(Signal::KILL),
            #[cfg(target_os = "linux")]
            Hold::Keeper(control) => kept::end(control),
        }
    }

    /// A leader that has been waited for left nobody behind, and its number may be another's.
    fn signal(&self, signal: Signal) {
        if self.ending.has_ended().is_none() {
            hit(self.group, signal);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts a program under supervision; must be called within a runtime. Whoever loses interest
/// before it has started ends it as well.
pub async fn spawn_supervised(program: Program) -> io::Result<Supervised> {
    let (started, starting) = oneshot::channel();
    thread::Builder::new()
        .name("supervisor".to_owned())
        .stack_size(STACK)
        .spawn(move || supervise(&program, started))?;
    let child = starting.await.map_err(io::Error::other)??;
    let lost = || io::Error::other("a stream of the child is missing");
    let says = pipe::Receiver::from_owned_fd(child.stderr.ok_or_else(lost)?)?;
    let (ring, flooded) = (
        Arc::clone(child.watch.stderr()),
        Arc::downgrade(&child.watch.0),
    );
    tokio::spawn(async move {
        if keep(says, &ring).await == Said::TooMuch {
            ring.push(FLOODED.as_bytes());
            if let Some(watch) = flooded.upgrade() {
                watch.end();
            }
        }
        ring.finish();
    });
    Ok(Supervised {
        stdin: pipe::Sender::from_owned_fd(child.stdin.ok_or_else(lost)?)?,
        stdout: pipe::Receiver::from_owned_fd(child.stdout.ok_or_else(lost)?)?,
        watch: child.watch,
    })
}

/// A child as its thread hands it over. It ends with its watch, so that one which nobody takes
/// out of the channel any more is not left behind.
struct Started {
    watch: Watch,
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

impl Started {
    /// With the streams of `process`, which is the child or whoever keeps it.
    fn new(group: Pid, hold: Hold, stderr_bytes: usize, process: &mut Child) -> (Self, End) {
        let (end, ended) = watch::channel(None);
        let inner = Inner {
            group,
            hold,
            stderr: Arc::new(Ring::new(stderr_bytes)),
            ending: Ending(ended),
        };
        let started = Self {
            watch: Watch(Arc::new(inner)),
            stdin: process.stdin.take().map(OwnedFd::from),
            stdout: process.stdout.take().map(OwnedFd::from),
            stderr: process.stderr.take().map(OwnedFd::from),
        };
        (started, end)
    }
}

type Handed = oneshot::Sender<io::Result<Started>>;
type End = watch::Sender<Option<Ended>>;

/// Starts the child, hands its ends over, and stays until it has ended.
fn supervise(program: &Program, started: Handed) {
    #[cfg(target_os = "linux")]
    if let Some(helper) = kept::helper().filter(|_| program.is_kept) {
        return keep_through(helper, program, started);
    }
    let mut child = match start(program) {
        Ok(child) => child,
        Err(error) => return drop(started.send(Err(error))),
    };
    let group = child.id();
    guard::watch(group);
    let leader = Pid::from_child(&child);
    let (handed, end) = Started::new(leader, Hold::Group, program.stderr_bytes, &mut child);
    // What nobody wants is dropped here, and ends.
    drop(started.send(Ok(handed)));
    // Its number stays taken until it is waited for, so nobody else can be hit.
    let seen = waitid(
        WaitId::Pid(leader),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    );
    if seen.is_ok() {
        hit(leader, Signal::KILL);
    }
    let status = child.wait();
    guard::forget(group);
    end.send_replace(Some(how(status)));
}

/// The same through a keeper, which ends everything when nobody holds it.
#[cfg(target_os = "linux")]
fn keep_through(helper: &Helper, program: &Program, started: Handed) {
    let begun = Kept::start(helper, program).and_then(|mut kept| {
        let hold = Hold::Keeper(kept.hold()?);
        let handed = Started::new(kept.program, hold, program.stderr_bytes, &mut kept.keeper);
        Ok((kept, handed))
    });
    let (kept, (handed, end)) = match begun {
        Ok(begun) => begun,
        Err(error) => return drop(started.send(Err(error))),
    };
    let group = kept.program;
    drop(started.send(Ok(handed)));
    let how = kept.wait().unwrap_or_else(|| {
        // Whoever killed the keeper killed the program with it, but not what it started.
        hit(group, Signal::KILL);
        Ended::Signal(Signal::KILL.as_raw())
    });
    end.send_replace(Some(how));
}

/// Signals a whole group; one that is gone is what was wanted.
fn hit(group: Pid, signal: Signal) {
    let _gone = kill_process_group(group, signal).is_err();
}

fn how(status: io::Result<ExitStatus>) -> Ended {
    match status {
        Ok(status) => status
            .signal()
            .map_or_else(|| Ended::Code(status.code().unwrap_or(-1)), Ended::Signal),
        Err(_) => Ended::Code(-1),
    }
}

fn start(program: &Program) -> io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "processes start in this crate")]
    let mut command = Command::new(&program.command);
    prepare(&mut command, program);
    die_with_parent(&mut command);
    command.spawn()
}

/// Gives a command the arguments, the surroundings and the streams of a program, and a group.
pub(crate) fn prepare(command: &mut Command, program: &Program) {
    command
        .args(&program.args)
        .env_clear()
        .envs(&program.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(cwd) = &program.cwd {
        command.current_dir(cwd);
    }
}

/// How a child's standard error ended.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    All,
    TooMuch,
}

/// Has the child killed when the thread that starts it ends.
#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    use rustix::process::{getpid, getppid, set_parent_process_death_signal};

    let parent = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the signal was set.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::ErrorKind::Interrupted.into())
        }
    };
    // SAFETY: between fork and exec only `prctl` and `getppid` run, which neither allocate
    // nor take a lock; an error from them carries no allocation either.
    #[expect(unsafe_code, reason = "there is no other way to run code before exec")]
    unsafe {
        command.pre_exec(prepare);
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with_parent(_: &mut Command) {}

/// Reads standard error to its end and keeps the last of it.
async fn keep(mut says: pipe::Receiver, ring: &Ring) -> Said {
    let mut buffer = [0; 8192];
    let (mut since, mut said) = (Instant::now(), 0);
    while let Ok(read) = says.read(&mut buffer).await {
        if read == 0 {
            break;
        }
        ring.push(&buffer[..read]);
        if since.elapsed() > FLOOD_TIME {
            (since, said) = (Instant::now(), 0);
        }
        said += read;
        if said > FLOOD {
            return Said::TooMuch;
        }
        // A child that never stops must not keep others waiting.
        tokio::task::yield_now().await;
    }
    Said::All
}
