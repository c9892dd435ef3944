//! Our side of a keeper: how it is started, asked, and waited for.
//!
//! Invariant: dropping our end of the socket, which dying does as well, ends the program with
//! everything it started.

use std::{
    io::{self, BufRead, BufReader},
    net::Shutdown,
    os::{
        fd::{AsRawFd, BorrowedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, Command},
    sync::OnceLock,
};

use rustix::{
    io::{FdFlags, fcntl_setfd},
    process::Pid,
};

use super::{
    helper::{Helper, keeper::MARK},
    plan::{Said, TERMINATE},
};
use crate::supervise::{Ended, Program, prepare};

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
        how.or(ended_well.then_some(Ended::Signal(libc::SIGKILL)))
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
