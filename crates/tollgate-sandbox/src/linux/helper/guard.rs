//! The first process inside: it starts the program, buries what dies, and takes everything
//! with it when it ends.

use std::{
    fs, io,
    io::Read,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{
        DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process,
        kill_process_group, set_dumpable_behavior, wait as wait_for_any,
    },
};

use super::{
    At, Trouble, confine, end, say,
    sys::{self, Forked},
};
use crate::{
    linux::plan::{Ends, Plan, Said, TERMINATE},
    supervise::Ended,
};

/// How often children that cannot be ended are looked for, and how long that is apart: the
/// list of them is not exact while it changes.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// Starts the program and stays until it has ended, or until nobody wants it any more.
pub(super) fn guard(control: &UnixStream, plan: &Plan, ends: &Ends) -> Result<(), Trouble> {
    // What we know of the outside cannot be looked up by the program.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).at("guard")?;
    let children = sys::watch_children().at("guard")?;
    match sys::fork().at("fork")? {
        Forked::Child => end(control, confine::start(control, plan, ends)),
        Forked::Parent(program) => {
            if let Some(how) = wait(control, &children, program).at("wait")? {
                let (cpu, memory) = sys::children_usage();
                say(control, &Said::Ended { how, cpu, memory });
            }
            Ok(())
        }
    }
}

/// Waits for the program, burying every orphan on the way; `None` when called off.
pub(super) fn wait(
    control: &UnixStream,
    children: &OwnedFd,
    program: Pid,
) -> io::Result<Option<Ended>> {
    loop {
        let mut waited = [
            PollFd::new(control, PollFlags::IN),
            PollFd::new(children, PollFlags::IN),
        ];
        match poll(&mut waited, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !waited[0].revents().is_empty() {
            let mut byte = [0];
            match (&*control).read(&mut byte) {
                Ok(1) if byte[0] == TERMINATE => {
                    let _gone = kill_process_group(program, Signal::TERM).is_err();
                }
                // Whatever else it is, it is the end.
                _ => return Ok(None),
            }
        }
        if !waited[1].revents().is_empty() {
            let _ = rustix::io::read(children, &mut [0_u8; 128]);
            while let Some((dead, status)) = bury()? {
                if dead == program {
                    return Ok(Some(how(status)));
                }
            }
        }
    }
}

fn bury() -> io::Result<Option<(Pid, WaitStatus)>> {
    match wait_for_any(WaitOptions::NOHANG) {
        Ok(dead) => Ok(dead),
        Err(Errno::CHILD) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn how(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Code(-1),
    }
}

/// Ends everything below this process, also what detached itself: it was given to us.
pub(super) fn end_descendants() {
    let me = getpid().as_raw_nonzero();
    let children = PathBuf::from(format!("/proc/{me}/task/{me}/children"));
    let mut attempts = 0;
    while attempts < ATTEMPTS {
        let living = fs::read_to_string(&children).unwrap_or_default();
        let living = living.split_ascii_whitespace();
        let hit = |child: &str| {
            let child = child.parse().ok().and_then(Pid::from_raw);
            child.is_some_and(|child| kill_process(child, Signal::KILL).is_ok())
        };
        let is_any_hit = living.map(hit).fold(false, |any, hit| any | hit);
        // What belongs to another user cannot be ended, and is not waited for.
        let options = if is_any_hit {
            WaitOptions::empty()
        } else {
            WaitOptions::NOHANG
        };
        match wait_for_any(options) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => {
                attempts += 1;
                std::thread::sleep(PAUSE);
            }
            Err(_) => return,
        }
    }
}
