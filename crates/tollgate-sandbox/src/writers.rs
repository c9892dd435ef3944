//! Whether another program has a file open for writing.
//!
//! The kernel grants a read lease on a file only while nobody has it open for writing, so asking
//! for one and giving it back is the question. Invariant: a lease is held for two system calls,
//! and its signal is one that does nothing.

#![expect(
    unsafe_code,
    reason = "file leases have no safe interface; the one call says why it is sound"
)]

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd as _, RawFd},
};

/// `F_SETSIG`, which the `libc` crate does not name.
const SET_SIGNAL: libc::c_int = 10;

/// Whether somebody has a file open for writing that was itself opened for reading; nothing if
/// its file system cannot tell, or the file is another user's.
pub fn has_writer(file: &File) -> io::Result<Option<bool>> {
    let file = file.as_raw_fd();
    // Without this, whoever opens the file in between would end us with SIGIO.
    control(file, SET_SIGNAL, libc::SIGURG)?;
    match control(file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            control(file, libc::F_SETLEASE, libc::F_UNLCK)?;
            Ok(Some(false))
        }
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN) => Ok(Some(true)),
            Some(libc::EACCES | libc::EINVAL | libc::EOPNOTSUPP | libc::ENOLCK | libc::ENOSYS) => {
                Ok(None)
            }
            _ => Err(error),
        },
    }
}

fn control(file: RawFd, command: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: these commands take a number, and the descriptor is open for as long as the file
    // that the caller holds.
    let said = unsafe { libc::fcntl(file, command, value) };
    match said {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn a_writer_is_seen_while_it_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "a").unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(has_writer(&file).unwrap(), Some(false));
        let writer = OpenOptions::new().append(true).open(&path).unwrap();
        assert_eq!(has_writer(&file).unwrap(), Some(true));
        drop(writer);
        let _reader = File::open(&path).unwrap();
        assert_eq!(has_writer(&file).unwrap(), Some(false));
    }
}
