//! The process that builds a sandbox around itself.
//!
//! It is this program again, started with [`MARK`]; whoever offers sandboxes calls
//! [`helper`] first thing in `main`. It does one thing and ends, so it may drop its user,
//! change its root and fork, which the program itself never could.
//!
//! Invariant: whatever fails, nothing of the caller runs.

mod carry;
mod confine;
mod filter;
mod guard;
pub(crate) mod keeper;
pub(crate) mod root;

use std::{
    io::{self, Read, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    path::PathBuf,
    process::ExitCode,
};

use rustix::{
    fs::{Gid, Uid},
    process::{
        DumpableBehavior, Signal, set_child_subreaper, set_dumpable_behavior,
        set_parent_process_death_signal, setsid,
    },
    thread::{UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

use super::{
    kept::supervise_through,
    plan::{self, BEGIN, Ends, Plan, Said, Shape},
    sys::{self, Forked},
};
use crate::job::Network;

/// The argument that makes this program a helper.
pub(crate) const MARK: &str = "--as-sandbox-helper";

/// Which program is the helper.
#[derive(Debug, Clone)]
pub struct Helper(pub(crate) PathBuf);

impl Helper {
    /// This very program, even if its file was replaced since; its `main` calls [`helper`].
    pub fn this_program() -> Self {
        Self(PathBuf::from("/proc/self/exe"))
    }

    /// Another program whose `main` calls [`helper`].
    pub fn program(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

/// Runs the helper or a keeper if this process was started as one; otherwise only notes that
/// this program can be both.
pub fn helper() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let mark = words.next().unwrap_or_default();
    let done = if mark == MARK {
        run()
    } else if mark == keeper::MARK {
        keeper::run(words)
    } else {
        supervise_through(Helper::this_program());
        return None;
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// A stage that failed.
struct Trouble {
    stage: &'static str,
    error: io::Error,
}

/// Says where something failed.
trait At<T> {
    fn at(self, stage: &'static str) -> Result<T, Trouble>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, stage: &'static str) -> Result<T, Trouble> {
        self.map_err(|error| Trouble {
            stage,
            error: error.into(),
        })
    }
}

/// Tells the other half; if it is gone, nobody is left to be told.
fn say(mut control: &UnixStream, said: &Said) {
    let _ = control.write_all(said.line().as_bytes());
}

fn complain(control: &UnixStream, trouble: &Trouble) {
    let failed = Said::Failed {
        stage: trouble.stage.to_owned(),
        errno: trouble.error.raw_os_error().unwrap_or(libc::EIO),
    };
    say(control, &failed);
}

fn run() -> io::Result<()> {
    sys::close_from(3)?;
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (plan, ends) = plan::receive(&control)?;
    let built = match plan.shape {
        Shape::Native => native(&control, &plan, ends),
        Shape::Inside => inside(&control, &plan, &ends),
        Shape::Fence => fence(&control, &plan, &ends),
    };
    built.map_err(|trouble| {
        complain(&control, &trouble);
        trouble.error
    })
}

/// Builds everything, then leaves a guard inside and waits for it.
fn native(control: &UnixStream, plan: &Plan, ends: Ends) -> Result<(), Trouble> {
    setsid().at("session")?;
    // After the mounts are ours, `.` is the only way to the workspace for a dropped user.
    rustix::process::fchdir(&ends.workspace).at("workspace")?;
    if let Some(identity) = plan.identity {
        become_user(identity).at("identity")?;
        set_dumpable_behavior(DumpableBehavior::Dumpable).at("identity")?;
    }
    set_parent_process_death_signal(Some(Signal::KILL)).at("parent")?;
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS;
    if plan.network == Network::None {
        flags |= UnshareFlags::NEWNET;
    }
    sys::unshare(flags).at("namespaces")?;
    root::map_user(uid, gid).at("user_map")?;
    root::build(plan)?;
    if plan.is_disk_held
        && let Some(limit) = carry::carry_in(&ends.workspace, &plan.workspace)?
    {
        say(control, &Said::Reached(limit));
        return Ok(());
    }
    if !may_begin(control) {
        return Ok(());
    }
    match sys::fork().at("fork")? {
        Forked::Parent(guard) => {
            // Whoever listens to the program hears its end when we do not hold its streams.
            let Ends { workspace, .. } = ends;
            // Its end is the end of everything inside; how it ended, it has said itself.
            rustix::process::waitpid(Some(guard), rustix::process::WaitOptions::empty())
                .at("wait")?;
            if plan.is_disk_held {
                for limit in carry::carry_out(&workspace, &plan.workspace, &plan.limits)? {
                    say(control, &Said::Reached(limit));
                }
            }
            Ok(())
        }
        Forked::Child => {
            let guarded = set_parent_process_death_signal(Some(Signal::KILL))
                .at("parent")
                .and_then(|()| sys::unshare(UnshareFlags::NEWCGROUP).at("cgroup_namespace"))
                .and_then(|()| root::close(plan))
                .and_then(|()| guard::guard(control, plan, &ends));
            end(control, guarded)
        }
    }
}

/// The namespaces stand and this is their first process.
fn inside(control: &UnixStream, plan: &Plan, ends: &Ends) -> Result<(), Trouble> {
    rustix::process::chdir(&plan.workspace).at("workspace")?;
    say(control, &Said::Ready);
    if !may_begin(control) {
        return Ok(());
    }
    guard::guard(control, plan, ends)
}

/// There is no box but what the program does to itself; we adopt all it leaves behind.
fn fence(control: &UnixStream, plan: &Plan, ends: &Ends) -> Result<(), Trouble> {
    setsid().at("session")?;
    // Whoever is killed takes nobody along: our parent's end is heard on the socket instead.
    set_child_subreaper(Some(rustix::process::getpid())).at("subreaper")?;
    rustix::process::fchdir(&ends.workspace).at("workspace")?;
    if !may_begin(control) {
        return Ok(());
    }
    let guarded = guard::guard(control, plan, ends);
    guard::end_descendants();
    guarded
}

/// Waits for the byte to begin; without a parent there is none.
fn may_begin(mut control: &UnixStream) -> bool {
    let mut byte = [0];
    control.read_exact(&mut byte).is_ok() && byte[0] == BEGIN
}

/// The end of a forked half.
fn end(control: &UnixStream, ended: Result<(), Trouble>) -> ! {
    match ended {
        Ok(()) => sys::leave(0),
        Err(trouble) => {
            complain(control, &trouble);
            sys::leave(1)
        }
    }
}

/// Becomes an ordinary user for good: real, effective and saved, without groups.
fn become_user(id: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}
