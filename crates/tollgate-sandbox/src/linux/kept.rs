//! Our side of a keeper: how it is started, asked, and waited for.
//!
//! Invariant: dropping our end of the socket, which dying does as well, ends the program with
//! everything it started.

use std::{
    fs,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, BufRead, BufReader},
    net::Shutdown,
    os::{
        fd::{AsRawFd, BorrowedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, Command},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::{
    io::{FdFlags, fcntl_setfd},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use super::{
    helper::{Helper, keeper::MARK},
    plan::{Said, TERMINATE},
};
use crate::supervise::{Ended, Program, prepare};

/// The variable by which all that a program starts is found again, should its keeper be killed.
const KEPT: &str = "KEPT_BY_TOLLGATE";
/// How often what is left over is looked for; each time it may have started more.
const SEARCHES: usize = 100;

static HELPER: OnceLock<Helper> = OnceLock::new();

/// Says which program keeps those that are supervised; the first word counts. A program whose
/// `main` calls [`helper`](crate::helper) keeps them itself.
pub fn supervise_through(helper: Helper) {
    let _said_before = HELPER.set(helper).is_err();
}

/// Who keeps programs here, if anybody does.
pub(crate) fn helper() -> Option<&'static Helper> {
    HELPER.get()
}

/// A program with its keeper.
pub(crate) struct Kept {
    pub(crate) keeper: Child,
    pub(crate) program: Pid,
    control: BufReader<UnixStream>,
    mark: String,
}

impl Kept {
    pub(crate) fn start(helper: &Helper, program: &Program) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        #[expect(clippy::disallowed_methods, reason = "processes start in this crate")]
        let mut command = Command::new(&helper.0);
        command
            .arg0("tollgate-keeper")
            .arg(MARK)
            .arg(theirs.as_raw_fd().to_string())
            .arg(&program.command);
        prepare(&mut command, program);
        let mark = mark();
        command.env(KEPT, &mark);
        hand_over(&mut command, &theirs);
        let mut keeper = command.spawn()?;
        drop(theirs);
        let mut control = BufReader::new(ours);
        match heard(&mut control) {
            Some(Said::Started(number)) if number > 0 => match Pid::from_raw(number) {
                Some(program) => Ok(Self {
                    keeper,
                    program,
                    control,
                    mark,
                }),
                None => Err(io::ErrorKind::InvalidData.into()),
            },
            other => {
                drop(control);
                keeper.wait()?;
                Err(match other {
                    Some(Said::Failed { errno, .. }) => io::Error::from_raw_os_error(errno),
                    _ => io::Error::other("the keeper ended before the program began"),
                })
            }
        }
    }

    /// A hold on it for whoever wants to end it.
    pub(crate) fn hold(&self) -> io::Result<UnixStream> {
        self.control.get_ref().try_clone()
    }

    /// Stays until nothing of the program runs any more; nothing if the keeper was killed.
    pub(crate) fn wait(mut self) -> Option<Ended> {
        let mut how = None;
        while let Some(said) = heard(&mut self.control) {
            if let Said::Ended { how: ended, .. } = said {
                how = Some(ended);
            }
        }
        let ended_well = self.keeper.wait().is_ok_and(|status| status.success());
        let how = how.or(ended_well.then_some(Ended::Signal(libc::SIGKILL)));
        if how.is_none() {
            end_marked(&self.mark);
        }
        how
    }
}

/// A text that no other program of this machine has in its environment.
fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Nobody has to be kept from guessing it; it has to be another one for each program.
    let random = RandomState::new().build_hasher().finish();
    format!("{}-{count}-{random:016x}", std::process::id())
}

/// Ends every process whose environment has this mark: what a killed keeper can no longer end.
fn end_marked(mark: &str) {
    let wanted = format!("{KEPT}={mark}");
    let is_marked = |process: Pid| {
        let environment = fs::read(format!("/proc/{}/environ", process.as_raw_nonzero()));
        let environment = environment.unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == wanted.as_bytes())
    };
    for _ in 0..SEARCHES {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = entries.filter_map(|it| it.file_name().to_str()?.parse().ok());
        let marked = processes
            .filter_map(Pid::from_raw)
            .filter(|it| is_marked(*it));
        let mut any = false;
        for process in marked {
            // Once it is held its number is nobody else's; then it is looked at again.
            let Ok(held) = pidfd_open(process, PidfdFlags::empty()) else {
                continue;
            };
            if is_marked(process) {
                any |= pidfd_send_signal(&held, Signal::KILL).is_ok();
            }
        }
        if !any {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Asks the program and its group to end.
pub(crate) fn ask(mut control: &UnixStream) {
    // One that is gone is what was wanted.
    let _gone = io::Write::write_all(&mut control, &[TERMINATE]).is_err();
}

/// Ends it with everything it started.
pub(crate) fn end(control: &UnixStream) {
    let _gone = control.shutdown(Shutdown::Write).is_err();
}

fn heard(control: &mut BufReader<UnixStream>) -> Option<Said> {
    let mut line = String::new();
    let read = control.read_line(&mut line).ok()?;
    (read > 0).then(|| Said::parse(line.trim_end())).flatten()
}

/// Leaves this descriptor open in the process that is started.
fn hand_over(command: &mut Command, end: &UnixStream) {
    let number = end.as_raw_fd();
    let keep_open = move || {
        // SAFETY: the descriptor is open in the parent until the child has been started, so
        // the child has it too.
        #[expect(
            unsafe_code,
            reason = "the closure outlives what it borrows by its type only"
        )]
        let end = unsafe { BorrowedFd::borrow_raw(number) };
        Ok(fcntl_setfd(end, FdFlags::empty())?)
    };
    // SAFETY: between fork and exec only `fcntl` runs, which neither allocates nor takes a lock.
    #[expect(unsafe_code, reason = "there is no other way to run code before exec")]
    unsafe {
        command.pre_exec(keep_open);
    }
}
