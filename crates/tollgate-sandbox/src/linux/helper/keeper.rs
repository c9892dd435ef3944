//! The process between us and a program that is supervised.
//!
//! Whatever the program starts is given to it when its own parent ends, so a session or a
//! group of its own hides nothing. It holds one end of a socket: a byte asks the program to
//! end, and the end of the socket, which also comes when we are killed, ends everything.
//!
//! Invariant: it says how the program ended only when nothing below it runs any more.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    os::unix::{net::UnixStream, process::CommandExt},
    process::Command,
    time::Duration,
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    pipe::{PipeFlags, pipe_with},
    process::{
        Pid, Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal, setpgid,
    },
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};

use super::{
    guard, say,
    sys::{self, Forked},
};
use crate::linux::{
    plan::{EXEC, Said},
    program::give_back_program,
};

/// The argument that makes this program a keeper; the number of its end of the socket, the
/// program and the arguments follow.
pub(crate) const MARK: &str = "--as-keeper";

/// Keeps the program that the arguments name until it, or whoever wants it, is gone.
pub(super) fn run(mut words: impl Iterator<Item = OsString>) -> io::Result<()> {
    let odd = || io::Error::from(io::ErrorKind::InvalidInput);
    let number = words.next().and_then(|word| word.to_str()?.parse().ok());
    let control = UnixStream::from(sys::inherited(number.ok_or_else(odd)?)?);
    let command = words.next().ok_or_else(odd)?;
    // Whoever ends a whole terminal or service ends us by the socket.
    sys::ignore_requests()?;
    let children = sys::watch_children()?;
    set_child_subreaper(Some(getpid()))?;
    let (failed, failing) = pipe_with(PipeFlags::CLOEXEC)?;
    let keeper = getpid();
    let program = match sys::fork()? {
        Forked::Child => {
            let error = become_program(keeper, &command, words);
            let number = error.raw_os_error().unwrap_or(libc::EIO);
            let _told = std::fs::File::from(failing).write_all(&number.to_ne_bytes());
            sys::leave(127)
        }
        Forked::Parent(program) => program,
    };
    drop(failing);
    let_go_of_streams()?;
    let mut number = [0; 4];
    if std::fs::File::from(failed).read_exact(&mut number).is_ok() {
        let failed = Said::Failed {
            stage: EXEC.to_owned(),
            errno: i32::from_ne_bytes(number),
        };
        say(&control, &failed);
        return Ok(());
    }
    say(&control, &Said::Started(program.as_raw_pid()));
    // There may be many keepers, and all they do from here on is wait.
    let _kept = give_back_program().is_err();
    let ended = guard::wait(&control, &children, program);
    guard::end_descendants();
    if let Some(how) = ended? {
        let (cpu, memory) = (Duration::ZERO, 0);
        say(&control, &Said::Ended { how, cpu, memory });
    }
    Ok(())
}

/// Leads a group of its own and becomes the program; returns only if that fails.
fn become_program(
    keeper: Pid,
    command: &OsString,
    args: impl Iterator<Item = OsString>,
) -> io::Error {
    let prepared = setpgid(None, None)
        .and_then(|()| set_parent_process_death_signal(Some(Signal::KILL)))
        .map_err(io::Error::from);
    if let Err(error) = prepared {
        return error;
    }
    // The keeper may have died before the signal was set.
    if getppid() != Some(keeper) {
        return io::ErrorKind::Interrupted.into();
    }
    if let Err(error) = sys::close_on_exec_from(3) {
        return error;
    }
    sys::restore_signals();
    #[expect(clippy::disallowed_methods, reason = "processes start in this crate")]
    Command::new(command).args(args).exec()
}

/// The ends of the program's streams are the program's alone.
fn let_go_of_streams() -> io::Result<()> {
    let nothing = openat(
        CWD,
        "/dev/null",
        OFlags::RDWR | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    Ok(())
}
