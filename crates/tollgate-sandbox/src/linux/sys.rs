//! System calls that no safe interface offers, each in the smallest wrapper.
//!
//! Invariant: what is forked here has one thread, because the helper never starts another.

#![expect(
    unsafe_code,
    reason = "these calls have no safe interface; each says why it is sound"
)]

use std::{
    ffi::{CStr, CString},
    io,
    mem::{MaybeUninit, size_of},
    os::fd::{FromRawFd, OwnedFd, RawFd},
    ptr,
    time::Duration,
};

use rustix::{
    process::Pid,
    thread::{UnshareFlags, unshare_unsafe},
};

/// Which side of a fork this is.
pub(crate) enum Forked {
    /// The one that was made.
    Child,
    /// The one that made it.
    Parent(Pid),
}

/// Splits this process in two.
pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: the helper has one thread, so the child holds no lock of another and may go on
    // as any program does.
    let forked = unsafe { libc::fork() };
    match Pid::from_raw(forked) {
        Some(child) if forked > 0 => Ok(Forked::Parent(child)),
        None if forked == 0 => Ok(Forked::Child),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, without running what others registered for its end.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: RawFd) -> io::Result<()> {
    // SAFETY: called first thing, before this process has opened anything that it could miss.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) };
    done(closed)
}

/// Has every descriptor from `first` on closed by the next `exec`.
pub(crate) fn close_on_exec_from(first: RawFd) -> io::Result<()> {
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
    // SAFETY: it only sets a flag on descriptors.
    let marked = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            libc::c_uint::MAX,
            CLOSE_RANGE_CLOEXEC,
        )
    };
    done(marked)
}

/// Gives this process namespaces of its own.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: the table of descriptors is never among `flags`, and there is one thread.
    Ok(unsafe { unshare_unsafe(flags & !UnshareFlags::FILES) }?)
}

/// Adds flags to a mount and to everything mounted below it.
pub(crate) fn restrict_mount(target: &CStr, attributes: u64) -> io::Result<()> {
    const AT_RECURSIVE: libc::c_int = 0x8000;
    let wanted = [attributes, 0, 0, 0];
    // SAFETY: `target` ends with a zero and `wanted` is the kernel's `struct mount_attr`: four
    // 64-bit numbers (to set, to clear, propagation, user namespace), whose size is passed.
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target.as_ptr(),
            AT_RECURSIVE,
            ptr::from_ref(&wanted),
            size_of::<[u64; 4]>(),
        )
    };
    done(set)
}

/// Becomes another program; returns only if that fails.
pub(crate) fn exec(program: &CStr, args: &[CString], env: &[CString]) -> io::Error {
    let list = |strings: &[CString]| -> Vec<*const libc::c_char> {
        let ends = [ptr::null()];
        strings.iter().map(|one| one.as_ptr()).chain(ends).collect()
    };
    let (args, env) = (list(args), list(env));
    // SAFETY: both lists end with a null pointer and their strings live until the call ends.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Processor time and peak memory of the children that were waited for, and of theirs.
pub(crate) fn children_usage() -> (Duration, u64) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole `rusage`, for which all zeros is a value.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let span = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.unsigned_abs())
            + Duration::from_micros(time.tv_usec.unsigned_abs())
    };
    let kilobytes = usage.ru_maxrss.unsigned_abs();
    (
        span(usage.ru_utime) + span(usage.ru_stime),
        kilobytes.saturating_mul(1024),
    )
}

/// A descriptor that can be read when a child has ended; the signal itself is held back.
pub(crate) fn watch_children() -> io::Result<OwnedFd> {
    let set = children_ended();
    // SAFETY: `set` is initialised; the descriptor that comes back belongs to nobody yet.
    unsafe {
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let watched = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if watched < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(watched))
    }
}

/// Takes over a descriptor that was handed to this process under this number, and hands it to
/// nobody else.
pub(crate) fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: it only sets a flag on a descriptor, and fails if there is none.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and whoever started us handed it over for this purpose alone.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Holds back the signals that ask a whole terminal or service to end.
pub(crate) fn ignore_requests() -> io::Result<()> {
    let set = signals(&[libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM]);
    // SAFETY: `set` is initialised.
    let held = unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) };
    done(held.into())
}

/// Gives signals back the meaning they have in a fresh program.
pub(crate) fn restore_signals() {
    let none = signals(&[]);
    // SAFETY: no handler of ours is replaced; Rust's start-up ignores a broken pipe, and what is
    // ignored or held back stays so through `exec`.
    unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

fn children_ended() -> libc::sigset_t {
    signals(&[libc::SIGCHLD])
}

fn signals(all: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `sigemptyset` initialises the set before it is used.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in all {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

fn done(answer: libc::c_long) -> io::Result<()> {
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
